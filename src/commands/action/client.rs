//! The client of GitHub's API, by the action's inputs.

use crate::console::AppError;
use crate::gate::backend;
use crate::github::client::{Github, Settings};
use crate::github::environment::Environment;
use crate::github::inputs::Inputs;

/// The client of the repository's API.
pub(super) fn client(environment: &Environment, inputs: &Inputs) -> Result<Github, AppError> {
    let Some(token) = &inputs.token else {
        return Err(AppError::usage("the input `github-token` is empty")
            .help("leave it out: its default is the workflow's own token, `${{ github.token }}`")
            .during("reading the inputs"));
    };
    let pace = backend::pace()?;
    let settings = Settings {
        api_url: &environment.api_url,
        graphql_url: &environment.graphql_url,
        repository: &environment.repository,
        token,
        pace,
    };
    Ok(Github::new(settings)?)
}
