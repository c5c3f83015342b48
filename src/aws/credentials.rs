//! Where credentials come from, in GitHub Actions not from the machine, which is the runner's and not the workflow's; and whether any
//! were found.

use std::sync::atomic::{AtomicBool, Ordering};

use aws_config::Region;
use aws_config::ecs::EcsCredentialsProvider;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::web_identity_token::WebIdentityTokenCredentialsProvider;
use aws_credential_types::credential_fn::provide_credentials_fn;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};

static WERE_GIVEN: AtomicBool = AtomicBool::new(false);

/// Whether credentials were found for any request of this process.
pub(super) fn were_given() -> bool {
    WERE_GIVEN.load(Ordering::Relaxed)
}

/// Credentials of another provider. The process remembers that it gave some.
pub(super) fn watched(found: SharedCredentialsProvider) -> SharedCredentialsProvider {
    SharedCredentialsProvider::new(provide_credentials_fn(move || {
        let found = found.clone();
        async move {
            let given = found.provide_credentials().await?;
            WERE_GIVEN.store(true, Ordering::Relaxed);
            Ok(given)
        }
    }))
}

/// Turns the metadata service off, and in GitHub Actions on.
const METADATA_DISABLED: &str = "AWS_EC2_METADATA_DISABLED";

/// Whether the machine's metadata service may be asked: everywhere but in GitHub Actions, and there where a person says so.
pub(super) fn may_ask_the_machine(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, wanted: &str| {
        variable(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(wanted))
    };
    !is("GITHUB_ACTIONS", "true") || is(METADATA_DISABLED, "false")
}

/// The SDK's default chain without its last link.
pub(super) async fn without_the_machine(region: Region) -> CredentialsProviderChain {
    let config = ProviderConfig::without_region().with_region(Some(region));
    let profile = ProfileFileCredentialsProvider::builder().configure(&config);
    let web_identity = WebIdentityTokenCredentialsProvider::builder().configure(&config);
    let container = EcsCredentialsProvider::builder().configure(&config);
    CredentialsProviderChain::first_try(
        "Environment",
        EnvironmentVariableCredentialsProvider::new(),
    )
    .or_else("Profile", profile.build())
    .or_else("WebIdentityToken", web_identity.build())
    .or_else("EcsContainer", container.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_github_actions_the_machine_is_asked_only_where_a_person_says_so() {
        let may = |variables: &[(&str, &str)]| {
            may_ask_the_machine(&|name| {
                let found = variables.iter().find(|(own, _)| *own == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(may(&[]));
        assert!(may(&[("AWS_EC2_METADATA_DISABLED", "false")]));
        let actions = ("GITHUB_ACTIONS", "true");
        assert!(!may(&[actions]));
        assert!(!may(&[actions, ("AWS_EC2_METADATA_DISABLED", "")]));
        assert!(!may(&[actions, ("AWS_EC2_METADATA_DISABLED", "true")]));
        assert!(may(&[actions, ("AWS_EC2_METADATA_DISABLED", "False")]));
    }
}
