//! Images of one's own that SageMaker starts: a Dockerfile with a program `train`, or with the training toolkit.
//! <https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-algo-dockerfile.html>

use super::find::{Find, FindKind, FoundContainer};
use crate::commands::init::read_file::ReadFile;

pub(super) const KIND: FindKind = FindKind { calls: &[], look };

fn look(file: &ReadFile) -> Vec<Find> {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    if name != "Dockerfile" && !name.starts_with("Dockerfile.") && !name.ends_with(".Dockerfile") {
        return Vec::new();
    }
    let signs = [
        "SAGEMAKER_PROGRAM",
        "sagemaker-training",
        "sagemaker_training",
        "/opt/ml",
        "/opt/program",
        "\"train\"",
    ];
    let Some((line, _)) = file.line_with(&signs) else {
        return Vec::new();
    };
    vec![Find::Container(FoundContainer {
        path: file.path.clone(),
        place: file.place(line),
        folder: file.folder().to_owned(),
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dockerfile_of_training_is_known_by_a_line() {
        let found = look(&ReadFile::whole(
            "container/Dockerfile",
            "FROM python\nCOPY decision_trees /opt/program\n",
        ));
        assert!(
            matches!(&found[..], [Find::Container(found)] if found.place == "container/Dockerfile:2")
        );
        assert!(look(&ReadFile::whole("Dockerfile", "FROM nginx\n")).is_empty());
        assert!(look(&ReadFile::whole("docker.md", "/opt/ml")).is_empty());
    }
}
