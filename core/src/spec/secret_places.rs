//! Where keys and passwords lie in a home folder. No cache of a canary is one of these places.

use std::path::Path;

/// A line for each `place` below a home folder, and for each `name` of files of secrets that lie elsewhere: Hugging Face keeps its token
/// beside the models.
const LISTED: &str = include_str!("data/secret_places.txt");

fn places() -> impl Iterator<Item = &'static str> {
    let lines = LISTED.lines();
    lines.filter_map(|line| line.strip_prefix("place "))
}

/// Whether a path below the home folder is, lies in, or holds a place of keys and passwords.
pub fn holds_secrets(below: &Path) -> bool {
    places().any(|place| below.starts_with(place) || Path::new(place).starts_with(below))
}

/// Whether a real path anywhere on the machine is such a place, seen from the real home folder, or lies in one.
pub fn is_secret_place(real: &Path, home: Option<&Path>) -> bool {
    let below = home.and_then(|home| real.strip_prefix(home).ok());
    // A place has one name or several, and may begin anywhere: another user's home is one folder among others.
    let mut ends = std::iter::successors(Some(below.unwrap_or(real).components()), |end| {
        let mut shorter = end.clone();
        shorter.next().map(|_| shorter)
    });
    below.is_some_and(|below| below != "" && holds_secrets(below))
        || ends.any(|end| places().any(|place| end.as_path().starts_with(place)))
}

/// Whether what has this name is a secret, or a folder of secrets.
pub fn is_secret_name(name: &str) -> bool {
    let mut listed = LISTED.lines().filter_map(|line| line.split_once(' '));
    listed.any(|(_, known)| known == name)
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
            "/home/you/.local/share/keyrings",
            "/home/you/.local/share/keyrings/login",
        ] {
            assert!(is_secret_place(Path::new(secret), home), "{secret}");
        }
        for open in [
            "/home/me/.cache/hub",
            "/mnt/models",
            "/home/me",
            "/home/me/.sshx",
            "/home/you/.local/share/models",
        ] {
            assert!(!is_secret_place(Path::new(open), home), "{open}");
        }
    }

    #[test]
    fn files_of_secrets_are_known_by_their_names() {
        for secret in [
            "credentials.toml",
            ".pgpass",
            ".vault-token",
            ".env",
            ".netrc",
        ] {
            assert!(is_secret_name(secret), "{secret}");
        }
        assert!(!is_secret_name("environment"));
    }
}
