//! Where keys and passwords lie in a home folder. No cache of a canary is one of these places.

use std::path::Path;

const PLACES: [&str; 16] = [
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".azure",
    ".config",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".kaggle",
    ".databrickscfg",
    ".mozilla",
    ".password-store",
    ".local/share/keyrings",
];

/// Names of files of secrets that lie elsewhere: Hugging Face keeps its token beside the models.
const FILES: [&str; 6] = [
    "token",
    "stored_tokens",
    "credentials",
    "credentials.json",
    "kaggle.json",
    "auth.json",
];

/// Whether a path below the home folder is, lies in, or holds a place of keys and passwords.
pub fn holds_secrets(below: &Path) -> bool {
    PLACES
        .iter()
        .any(|place| below.starts_with(place) || Path::new(place).starts_with(below))
}

/// Whether a real path anywhere on the machine is such a place, seen from the real home folder, or lies in one.
pub fn is_secret_place(real: &Path, home: Option<&Path>) -> bool {
    let below = home.and_then(|home| real.strip_prefix(home).ok());
    let mut names = below.unwrap_or(real).components();
    below.is_some_and(|below| below != "" && holds_secrets(below))
        || names.any(|name| PLACES.iter().any(|place| name.as_os_str() == *place))
}

/// Whether what has this name is a secret, or a folder of secrets.
pub fn is_secret_name(name: &str) -> bool {
    PLACES.contains(&name) || FILES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_where_it_lies_and_by_its_name() {
        let home = Some(Path::new("/home/me"));
        for secret in [
            "/home/me/.ssh",
            "/home/me/.local",
            "/home/you/.aws/sso",
            "/home/me/a/.ssh/x",
        ] {
            assert!(is_secret_place(Path::new(secret), home), "{secret}");
        }
        for open in [
            "/home/me/.cache/hub",
            "/mnt/models",
            "/home/me",
            "/home/me/.sshx",
        ] {
            assert!(!is_secret_place(Path::new(open), home), "{open}");
        }
    }
}
