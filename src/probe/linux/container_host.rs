//! Who the container is among the hosts of a training job: what SageMaker wrote for it before anything started.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ContainerHost;

/// Where SageMaker lays the container's folders out, and the variable that names another place, as its training toolkit has it.
const BASE: &str = "/opt/ml";
const BASE_VARIABLE: &str = "SAGEMAKER_BASE_DIR";
const FILE: &str = "input/config/resourceconfig.json";
/// Hundreds of hosts fit many times.
const LARGEST: u64 = 1 << 20;
/// What SageMaker allows for the name of a group.
const LONGEST_NAME: usize = 64;

/// The container that the probe runs in, and what stands for `/opt/ml` there. `None` where no training job's file says who it is.
pub(super) fn here() -> Option<(ContainerHost, PathBuf)> {
    let base = std::env::var_os(BASE_VARIABLE).map_or_else(|| BASE.into(), PathBuf::from);
    Some((below(&base)?, base))
}

fn below(base: &Path) -> Option<ContainerHost> {
    #[derive(Deserialize)]
    struct ResourceConfig {
        current_host: String,
        current_group_name: Option<String>,
        current_instance_group: Option<String>,
    }
    let config: ResourceConfig = config(base, FILE)?;
    let is_name = |name: &String| !name.is_empty() && name.len() <= LONGEST_NAME;
    let group = config.current_group_name.or(config.current_instance_group);
    Some(ContainerHost {
        name: Some(config.current_host).filter(is_name)?,
        group: group.filter(is_name),
    })
}

/// What SageMaker wrote into a file below `base`; `None` where it is not there, or is another file.
pub(super) fn config<T: DeserializeOwned>(base: &Path, file: &str) -> Option<T> {
    let mut content = Vec::new();
    let file = File::open(base.join(file)).ok()?;
    file.take(LARGEST).read_to_end(&mut content).ok()?;
    serde_json::from_slice(&content).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_knows_its_name_and_its_group() {
        let of_group = r#"{"current_host": "algo-2", "current_group_name": "dnn", "hosts": ["algo-1", "algo-2"]}"#;
        let other_name = of_group.replace("_group_name", "_instance_group");
        let long = of_group.replace("dnn", &"g".repeat(65));
        for (content, expected) in [
            (of_group, Some(("algo-2", Some("dnn")))),
            (&other_name, Some(("algo-2", Some("dnn")))),
            (&long, Some(("algo-2", None))),
            (r#"{"current_host": "algo-1"}"#, Some(("algo-1", None))),
            ("", None),
            ("{", None),
            ("[]", None),
            ("{}", None),
            (r#"{"current_host": 1}"#, None),
            (r#"{"current_host": ""}"#, None),
        ] {
            let base = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(base.path().join("input/config")).unwrap();
            std::fs::write(base.path().join(FILE), content).unwrap();
            let found = below(base.path());
            let expected = expected.map(|(name, group)| ContainerHost {
                name: name.to_owned(),
                group: group.map(str::to_owned),
            });
            assert_eq!(found, expected, "{content}");
        }
        assert!(below(Path::new("/nowhere/at/all")).is_none());
    }
}
