//! `framework: {pytorch: 2.8, python: py312}`: an image of AWS by its framework's version, in place of its address.

use std::sync::LazyLock;

use crate::grammar::distinct;
use crate::instance::{InstanceConfiguration, InstanceType, tables};
use crate::spec::keys::mapping;
use crate::spec::kind::{AnyText, Refined};
use crate::spec::reader::{At, Reader, quoted};

const WAY_OUT: &str =
    "or write the address of an image: `image: ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME:TAG`";

mapping! {
    /// An image of AWS by its framework. Give one framework.
    pub(in crate::spec) struct FrameworkKeys named "Framework" {
        /// The version of PyTorch, such as `2.8`.
        optional pytorch: AnyText;
        /// The version of TensorFlow, such as `2.19`.
        optional tensorflow: AnyText;
        /// The version of SageMaker's scikit-learn, such as `1.4-2`.
        optional sklearn: AnyText;
        /// The version of SageMaker's XGBoost, such as `1.7-1`.
        optional xgboost: AnyText;
        /// The version of Python in the image, such as `py312`. Default: the one that the image has.
        optional python: AnyText;
    }
}

/// The day of the table.
const AS_OF: &str = "2026-11-22";

/// The images of AWS for training.
static FRAMEWORKS: LazyLock<Vec<FrameworkImages>> =
    LazyLock::new(|| table(include_str!("../data/framework_images.txt")));

/// A framework: its key in the spec, the repository of its images, their tags and accounts.
#[derive(Debug, PartialEq)]
struct FrameworkImages {
    name: &'static str,
    repository: &'static str,
    /// What a tag has behind the version: the word for the `processor`, always `cpu`, or `nothing`.
    tag: &'static str,
    /// Versions in their order, each with its Python.
    versions: Vec<(&'static str, &'static str)>,
    registries: Vec<(&'static str, &'static str)>,
}

fn table(text: &'static str) -> Vec<FrameworkImages> {
    let lines = || text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let registries = |column: usize| {
        let regions = lines().filter(|words| words[0] == "region");
        let accounts = regions.map(|words| (words[1], words[column]));
        accounts.filter(|(_, account)| *account != "-").collect()
    };
    let image = |words: Vec<&'static str>| FrameworkImages {
        name: words[1],
        repository: words[2],
        tag: words[3],
        registries: registries(words[4].parse().expect("the table names a column")),
        versions: (words[5..].iter())
            .filter_map(|version| version.split_once('='))
            .collect(),
    };
    let images = lines().filter(|words| words[0] == "image");
    images.map(image).collect()
}

/// The regions of AWS, for suggestions. A region that is not among them may be a newer one, and is only warned of.
pub(in crate::spec) fn regions() -> impl Iterator<Item = &'static str> {
    FRAMEWORKS[0].registries.iter().map(|(region, _)| *region)
}

/// A framework whose image AWS publishes.
#[derive(Debug, Clone, Copy, PartialEq, derive_more::Display)]
#[display("{} {version} {python}", self.images.name)]
pub struct Framework {
    images: &'static FrameworkImages,
    version: &'static str,
    python: &'static str,
}

/// Why there is no image for a machine or in a region.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoImage {
    #[error("no image of {framework} is known in `{region}`, by the table of {AS_OF}")]
    Region { framework: String, region: String },
    #[error(
        "no image of {framework} for {instance_type} is known, whose processors are {processors}"
    )]
    Processors {
        framework: String,
        instance_type: String,
        processors: &'static str,
    },
}

impl Framework {
    /// Its key in the spec.
    pub(super) fn name(&self) -> &'static str {
        self.images.name
    }

    /// The address of the image for a type of machine in a region.
    ///
    /// # Errors
    ///
    /// Where AWS has none, as far as the table knows.
    pub fn image(&self, instance_type: &InstanceType, region: &str) -> Result<String, NoImage> {
        let images = self.images;
        let processor = self.processor(instance_type)?;
        let mut registries = images.registries.iter();
        let Some((_, account)) = registries.find(|(known, _)| *known == region) else {
            return Err(NoImage::Region {
                framework: self.to_string(),
                region: region.to_owned(),
            });
        };
        let tag = match images.tag {
            "nothing" => self.version.to_owned(),
            _ => format!("{}-{processor}-{}", self.version, self.python),
        };
        let china = if region.starts_with("cn-") { ".cn" } else { "" };
        let repository = images.repository;
        Ok(format!(
            "{account}.dkr.ecr.{region}.amazonaws.com{china}/{repository}:{tag}"
        ))
    }

    /// The word for a machine's processors in a tag. A type that is not known is taken for one without GPUs.
    fn processor(&self, instance_type: &InstanceType) -> Result<&'static str, NoImage> {
        let name = instance_type.name();
        let none = |processors| NoImage::Processors {
            framework: self.to_string(),
            instance_type: name.to_owned(),
            processors,
        };
        if instance_type.is_arm() {
            return Err(none("ARM"));
        }
        if name.starts_with("ml.trn") || name.starts_with("ml.inf") {
            return Err(none("AWS's own accelerators"));
        }
        let has_gpu = tables::capacity(instance_type).is_some_and(|capacity| capacity.gpus > 0);
        let is_for_gpu = self.images.tag == "processor" && has_gpu;
        Ok(if is_for_gpu { "gpu" } else { "cpu" })
    }
}

impl Refined for Framework {
    type Of = FrameworkKeys;
    type Value = Self;

    fn refine(keys: FrameworkKeys, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        let named = [
            ("pytorch", keys.pytorch),
            ("tensorflow", keys.tensorflow),
            ("sklearn", keys.sklearn),
            ("xgboost", keys.xgboost),
        ];
        let named = named.into_iter();
        let mut named = named.filter_map(|(name, version)| Some((name, version?)));
        let (Some((name, version)), None) = (named.next(), named.next()) else {
            let help = format!("write one, such as `framework: {{pytorch: 2.8}}`, {WAY_OUT}");
            return reader.refused(at, "needs exactly one framework", help);
        };
        let images = FRAMEWORKS.iter().find(|images| images.name == name)?;
        let Some(found) = version_of(images, &version) else {
            let (quoted, number) = (quoted(version.trim()), as_number(version.trim()));
            // A text without a number is infinitely far from all: the first of them, the newest, is named.
            let number = if number > 0.0 { number } else { f64::INFINITY };
            let far = |(known, _): &&(&str, _)| (as_number(known) - number).abs();
            let nearest = images.versions.iter().rev();
            let (nearest, _) = nearest.min_by(|a, b| far(a).total_cmp(&far(b)))?;
            let message = format!("no image of {name} {quoted} is known, by the table of {AS_OF}");
            let help = format!("the nearest is `{nearest}`, {WAY_OUT}");
            return reader.refused(&at.key(name), message, help);
        };
        if let Some(python) = keys.python.filter(|python| *python != found.python) {
            let (version, python) = (found.version, quoted(&python));
            let said = format!("{name} {version} has no image with {python}");
            let message = format!("{said}, by the table of {AS_OF}");
            let help = format!("write `python: {}`, {WAY_OUT}", found.python);
            reader.refuse(&at.key("python"), message, help);
        }
        Some(found)
    }
}

/// A number that is larger for a newer version: 1004002 for `1.4-2`.
fn as_number(version: &str) -> f64 {
    let parts = version.split(['.', '-']);
    let parts = parts.map(|part| part.parse::<f64>().unwrap_or(0.0));
    let weighed = parts.zip([1e6, 1e3, 1.0]);
    weighed.map(|(part, weight)| part * weight).sum()
}

/// `2.8` is the newest of `2.8.x`.
fn version_of(images: &'static FrameworkImages, written: &str) -> Option<Framework> {
    let is_meant = |version: &str| {
        let rest = version.strip_prefix(written.trim());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    let mut versions = images.versions.iter().rev();
    let (version, python) = versions.find(|(version, _)| is_meant(version))?;
    Some(Framework {
        images,
        version,
        python,
    })
}

impl Reader<'_> {
    /// That there is an image for every machine of the job, in the spec's region where that is written.
    pub(super) fn check_framework(&mut self, at: &At, framework: &Framework) {
        let region = self.region.as_deref().unwrap_or("us-east-1");
        let types = (self.instances.iter()).flat_map(InstanceConfiguration::members);
        let errors = types.filter_map(|(kind, _)| framework.image(kind, region).err());
        for error in distinct(errors) {
            self.refuse(at, error.to_string(), WAY_OUT.trim_start_matches("or "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(name: &str) -> &'static FrameworkImages {
        FRAMEWORKS.iter().find(|it| it.name == name).unwrap()
    }

    fn framework(name: &str, version: &str) -> Framework {
        version_of(images(name), version).unwrap()
    }

    /// The addresses that the Python SDK's `image_uris.retrieve` gives (sagemaker-core 2.27.0).
    #[test]
    fn images_are_those_of_the_sdk() {
        const IMAGES: &str = "\
pytorch 2.8.0 ml.m5.xlarge us-east-1 763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8.0-cpu-py312
pytorch 2.8.0 ml.g5.xlarge eu-south-1 692866216735.dkr.ecr.eu-south-1.amazonaws.com/pytorch-training:2.8.0-gpu-py312
tensorflow 2.19.0 ml.p4d.24xlarge cn-north-1 727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/tensorflow-training:2.19.0-gpu-py312
sklearn 1.4-2 ml.g5.xlarge us-west-2 246618743249.dkr.ecr.us-west-2.amazonaws.com/sagemaker-scikit-learn:1.4-2-cpu-py3
xgboost 1.7-1 ml.m5.xlarge us-east-1 683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1";
        for line in IMAGES.lines() {
            let [name, version, machine, region, address] = line.split(' ').collect::<Vec<_>>()[..]
            else {
                panic!("{line}")
            };
            let found = framework(name, version).image(&machine.parse().unwrap(), region);
            assert_eq!(found.as_deref(), Ok(address));
        }
    }

    #[test]
    fn machines_and_regions_without_an_image_are_named() {
        let torch = framework("pytorch", "2.8.0");
        let image = |machine: &str, region| {
            let found = torch.image(&machine.parse().unwrap(), region);
            found.unwrap_err().to_string()
        };
        assert_eq!(
            image("ml.m6g.large", "us-east-1"),
            "no image of pytorch 2.8.0 py312 for ml.m6g.large is known, whose processors are ARM"
        );
        assert!(image("ml.trn1.2xlarge", "us-east-1").contains("AWS's own accelerators"));
        assert_eq!(
            image("ml.m5.xlarge", "mars-1"),
            format!(
                "no image of pytorch 2.8.0 py312 is known in `mars-1`, by the table of {AS_OF}"
            )
        );
    }

    #[test]
    fn the_table_is_in_order() {
        assert_eq!(FRAMEWORKS.len(), 4);
        for images in FRAMEWORKS.iter() {
            assert!(images.registries.is_sorted(), "{}", images.name);
            assert!(!images.versions.is_empty());
            let is_older = |pair: &[(&str, &str)]| as_number(pair[0].0) < as_number(pair[1].0);
            assert!(images.versions.windows(2).all(is_older), "{}", images.name);
        }
    }
}
