//! `framework: {pytorch: 2.8, python: py312}`: an image of AWS by its framework's version, in place of its address.

use crate::spec::field::FieldValue;
use std::fmt;

use super::framework_images::{AS_OF, FRAMEWORKS, FrameworkImages, TagForm};
use crate::instance::{InstanceType, tables};
use crate::spec::problems::{At, Located, quoted};
use crate::spec::raw::{AnyText, mapping};
use crate::spec::read::{Instances, SpecReader};

const WAY_OUT: &str =
    "or write the address of an image: `image: ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME:TAG`";

mapping! {
    /// An image of AWS by its framework. Give one framework.
    pub(in crate::spec) struct RawFramework {
        /// The version of PyTorch, such as `2.8`.
        optional pytorch: AnyText,
        /// The version of TensorFlow, such as `2.19`.
        optional tensorflow: AnyText,
        /// The version of SageMaker's scikit-learn, such as `1.4-2`.
        optional sklearn: AnyText,
        /// The version of SageMaker's XGBoost, such as `1.7-1`.
        optional xgboost: AnyText,
        /// The version of Python in the image, such as `py312`. Default: the one that the image has.
        optional python: AnyText,
    }
}

/// A framework whose image AWS publishes.
#[derive(Debug, Clone, Copy)]
pub struct Framework {
    images: &'static FrameworkImages,
    version: &'static str,
    python: &'static str,
}

impl FieldValue for Framework {
    fn said(&self) -> String {
        self.to_string()
    }
}

impl PartialEq for Framework {
    fn eq(&self, other: &Self) -> bool {
        (self.images.name, self.version) == (other.images.name, other.version)
    }
}

impl fmt::Display for Framework {
    /// `pytorch 2.8.0 py312`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.images.name, self.version, self.python)
    }
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
        let tag = match images.form {
            TagForm::DeepLearning | TagForm::CpuOnly => {
                format!("{}-{processor}-{}", self.version, self.python)
            }
            TagForm::Plain => self.version.to_owned(),
        };
        let domain = if region.starts_with("cn-") {
            "amazonaws.com.cn"
        } else {
            "amazonaws.com"
        };
        Ok(format!(
            "{account}.dkr.ecr.{region}.{domain}/{}:{tag}",
            images.repository
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
        Ok(match self.images.form {
            TagForm::DeepLearning if has_gpu => "gpu",
            TagForm::DeepLearning | TagForm::CpuOnly | TagForm::Plain => "cpu",
        })
    }
}

impl SpecReader<'_> {
    pub(super) fn framework(&mut self, raw: Located<RawFramework>) -> Option<Framework> {
        let RawFramework {
            pytorch,
            tensorflow,
            sklearn,
            xgboost,
            python,
        } = raw.value;
        let named = [
            ("pytorch", pytorch),
            ("tensorflow", tensorflow),
            ("sklearn", sklearn),
            ("xgboost", xgboost),
        ];
        let named = named.into_iter();
        let mut named = named.filter_map(|(name, version)| Some((name, version?)));
        let (Some((name, version)), None) = (named.next(), named.next()) else {
            self.findings.wrong_with_help(
                &raw.at,
                "needs exactly one framework",
                format!("write one, such as `framework: {{pytorch: 2.8}}`, {WAY_OUT}"),
            );
            return None;
        };
        let images = FRAMEWORKS.iter().find(|images| images.name == name)?;
        let found = self.framework_version(images, &version)?;
        if let Some(python) = python
            && python.value.0 != found.python
        {
            self.findings.wrong_with_help(
                &python.at,
                format!(
                    "{} {} has no image with {}, by the table of {AS_OF}",
                    images.name,
                    found.version,
                    quoted(&python.value.0)
                ),
                format!("write `python: {}`, {WAY_OUT}", found.python),
            );
        }
        Some(found)
    }

    /// `2.8` is the newest of `2.8.x`.
    fn framework_version(
        &mut self,
        images: &'static FrameworkImages,
        written: &Located<AnyText>,
    ) -> Option<Framework> {
        let text = written.value.0.trim();
        let is_meant = |version: &str| {
            let rest = version.strip_prefix(text);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
        };
        let mut versions = images.versions.iter().rev();
        if let Some((version, python)) = versions.find(|(version, _)| is_meant(version)) {
            return Some(Framework {
                images,
                version,
                python,
            });
        }
        let near = nearest(images, text);
        self.findings.wrong_with_help(
            &written.at,
            format!(
                "no image of {} {} is known, by the table of {AS_OF}",
                images.name,
                quoted(text)
            ),
            format!("the nearest is `{near}`, {WAY_OUT}"),
        );
        None
    }

    /// That there is an image for every machine of the job, in the spec's region where that is written.
    pub(super) fn check_framework(
        &mut self,
        framework: &Framework,
        at: &At,
        instances: Option<&Instances>,
    ) {
        let Some((instance, alternatives)) = instances else {
            return;
        };
        let region = self
            .region
            .clone()
            .unwrap_or_else(|| "us-east-1".to_owned());
        let types = std::iter::once(instance)
            .chain(alternatives)
            .flat_map(|configuration| configuration.members());
        let mut known: Vec<String> = Vec::new();
        for (kind, _) in types {
            if let Err(error) = framework.image(kind, &region)
                && !known.contains(&error.to_string())
            {
                let help = WAY_OUT.trim_start_matches("or ");
                self.findings.wrong_with_help(at, error.to_string(), help);
                known.push(error.to_string());
            }
        }
    }
}

/// `1.4-2` is 1, 4 and 2.
fn numbers(version: &str) -> [f64; 3] {
    let mut parts = version
        .split(['.', '-'])
        .map(|part| part.parse::<f64>().unwrap_or(0.0));
    std::array::from_fn(|_| parts.next().unwrap_or(0.0))
}

/// By the numbers of the version, the first counting most.
fn nearest(images: &FrameworkImages, written: &str) -> &'static str {
    let wanted = numbers(written);
    let distance = |version: &str| {
        let own = numbers(version);
        let parts = own.iter().zip(wanted).zip([1e6, 1e3, 1.0]);
        parts
            .map(|((own, wanted), weight)| (own - wanted).abs() * weight)
            .sum::<f64>()
    };
    let versions = images.versions.iter().map(|(version, _)| *version);
    versions
        .min_by(|one, other| distance(one).total_cmp(&distance(other)))
        .expect("every framework has versions")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framework(name: &str, version: &str) -> Framework {
        let images = FRAMEWORKS
            .iter()
            .find(|images| images.name == name)
            .unwrap();
        let (version, python) = images
            .versions
            .iter()
            .find(|(known, _)| *known == version)
            .unwrap();
        Framework {
            images,
            version,
            python,
        }
    }

    /// The addresses that the Python SDK's `image_uris.retrieve` gives (sagemaker-core 2.27.0).
    #[test]
    fn images_are_those_of_the_sdk() {
        for (name, version, machine, region, address) in [
            (
                "pytorch",
                "2.8.0",
                "ml.m5.xlarge",
                "us-east-1",
                "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8.0-cpu-py312",
            ),
            (
                "pytorch",
                "2.8.0",
                "ml.g5.xlarge",
                "eu-south-1",
                "692866216735.dkr.ecr.eu-south-1.amazonaws.com/pytorch-training:2.8.0-gpu-py312",
            ),
            (
                "tensorflow",
                "2.19.0",
                "ml.p4d.24xlarge",
                "cn-north-1",
                "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/tensorflow-training:2.19.0-gpu-py312",
            ),
            (
                "sklearn",
                "1.4-2",
                "ml.g5.xlarge",
                "us-west-2",
                "246618743249.dkr.ecr.us-west-2.amazonaws.com/sagemaker-scikit-learn:1.4-2-cpu-py3",
            ),
            (
                "xgboost",
                "1.7-1",
                "ml.m5.xlarge",
                "us-east-1",
                "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1",
            ),
        ] {
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
    fn the_nearest_version_is_by_its_numbers() {
        let nearest_of = |name: &str, written: &str| {
            nearest(
                FRAMEWORKS
                    .iter()
                    .find(|images| images.name == name)
                    .unwrap(),
                written,
            )
        };
        assert_eq!(nearest_of("pytorch", "2.12"), "2.10.0");
        assert_eq!(nearest_of("pytorch", "1.9"), "1.13.1");
        assert_eq!(nearest_of("xgboost", "1.6"), "1.5-1");
        assert_eq!(nearest_of("sklearn", "nonsense"), "0.23-1");
    }

    #[test]
    fn the_table_is_in_order() {
        for images in &FRAMEWORKS {
            assert!(images.registries.is_sorted(), "{}", images.name);
            assert!(!images.versions.is_empty());
            let is_older = |pair: &[(&str, &str)]| numbers(pair[0].0) < numbers(pair[1].0);
            assert!(images.versions.windows(2).all(is_older), "{}", images.name);
        }
    }
}
