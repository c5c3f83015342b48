//! `iam-policy`: the least privileges for the spec, as JSON; calls nothing.

use crate::backend::sagemaker::iam_policy::{self, Grantee};
use crate::cli::SpecArguments;
use crate::console::{AppError, AppResult, print};
use crate::workspace::{Project, environment_region};

pub(crate) fn iam_policy(spec: &SpecArguments, grantee: Grantee) -> AppResult<u8> {
    let project = Project::as_it_stands(spec)?;
    let policy = iam_policy::policy(&project.spec, environment_region().as_deref(), grantee)
        .ok_or_else(|| {
            let backend = project.spec.backend;
            let what = format!("a spec with `backend: {backend}` needs no permission in AWS");
            AppError::usage(what).help("name a spec with `backend: sagemaker` with `--spec FILE`")
        })?;
    print(&format!("{policy:#}\n"))?;
    Ok(0)
}
