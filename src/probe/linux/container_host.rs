//! Who the container is among the hosts of a training job: what SageMaker wrote for it before anything started.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ContainerHost;

/// Where SageMaker lays the container's folders out, and the variable that names another place, as its training toolkit has it.
const BASE: &str = "/opt/ml";
const BASE_VARIABLE: &str = "SAGEMAKER_BASE_DIR";
const FILE: &str = "input/config/resourceconfig.json";
/// Hundreds of hosts fit many times.
const LARGEST: u64 = 1 << 20;
/// What SageMaker allows for the name of a group.
const LONGEST_NAME: usize = 64;

/// The container that the probe runs in.
pub(super) struct TrainingContainer {
    pub(super) host: ContainerHost,
    /// What stands for `/opt/ml`.
    pub(super) base: PathBuf,
}

impl TrainingContainer {
    /// `None` where no training job's file says who it is.
    pub(super) fn here() -> Option<Self> {
        let base = std::env::var_os(BASE_VARIABLE).map_or_else(|| BASE.into(), PathBuf::from);
        Self::below(&base)
    }

    fn below(base: &Path) -> Option<Self> {
        #[derive(Deserialize)]
        struct ResourceConfig {
            current_host: String,
            current_group_name: Option<String>,
            current_instance_group: Option<String>,
        }
        let mut content = Vec::new();
        let file = File::open(base.join(FILE)).ok()?;
        file.take(LARGEST).read_to_end(&mut content).ok()?;
        let config: ResourceConfig = serde_json::from_slice(&content).ok()?;
        let is_name = |name: &String| !name.is_empty() && name.len() <= LONGEST_NAME;
        let group = config.current_group_name.or(config.current_instance_group);
        Some(Self {
            host: ContainerHost {
                name: Some(config.current_host).filter(is_name)?,
                group: group.filter(is_name),
            },
            base: base.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Option<(String, Option<String>)> {
        let base = base_with(content);
        let host = TrainingContainer::below(base.path())?.host;
        Some((host.name, host.group))
    }

    fn base_with(content: &str) -> tempfile::TempDir {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(base.path().join("input/config")).unwrap();
        std::fs::write(base.path().join(FILE), content).unwrap();
        base
    }

    #[test]
    fn a_host_knows_its_name_and_its_group() {
        let of_group = r#"{"current_host": "algo-2", "current_group_name": "dnn", "hosts": ["algo-1", "algo-2"]}"#;
        let dnn = Some(("algo-2".to_owned(), Some("dnn".to_owned())));
        assert_eq!(read(of_group), dnn);
        assert_eq!(
            read(&of_group.replace("_group_name", "_instance_group")),
            dnn
        );
        assert_eq!(
            read(r#"{"current_host": "algo-1"}"#),
            Some(("algo-1".to_owned(), None))
        );
    }

    #[test]
    fn what_is_no_such_file_says_nothing() {
        for content in [
            "",
            "{",
            "[]",
            "{}",
            r#"{"current_host": 1}"#,
            r#"{"current_host": ""}"#,
        ] {
            assert_eq!(read(content), None, "{content}");
        }
        assert!(TrainingContainer::below(Path::new("/nowhere/at/all")).is_none());
        let long = "g".repeat(65);
        let host = read(&format!(
            r#"{{"current_host": "algo-1", "current_group_name": "{long}"}}"#
        ));
        assert_eq!(host, Some(("algo-1".to_owned(), None)));
    }
}
