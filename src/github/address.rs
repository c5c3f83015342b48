//! Checks the parts of an API address: base, repository and object id.

/// Whether a text is an owner and a repository name that GitHub allows, such as `example/models`.
pub(super) fn is_repository(text: &str) -> bool {
    text.split_once('/').is_some_and(|(owner, name)| {
        is_name(owner, b"-_") && is_name(name, b"-_.") && name != "." && name != ".."
    })
}

/// Whether a text is a name of letters, digits and these others, so that it cannot lead to another address.
pub(super) fn is_name(text: &str, others: &[u8]) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || others.contains(&byte);
    (1..=100).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The scheme and authority of an address such as `https://ghe.example.com/api/v3`, and its path without a slash at its end.
/// `None` if it has another scheme, a user, a query, a fragment, or invalid characters.
pub(super) fn split(address: &str) -> Option<(&str, &str)> {
    let rest = address
        .strip_prefix("https://")
        .or_else(|| address.strip_prefix("http://"))?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%".contains(&byte);
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() || !rest.bytes().all(is_plain) {
        return None;
    }
    let (origin, path) = address.split_at(address.len() - rest.len() + host.len());
    Some((origin, path.trim_end_matches('/')))
}

/// Whether a text is the id of a Git object: SHA-1, or SHA-256 where a repository uses it.
pub fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_an_owner_and_a_name() {
        for good in ["example/models", "a/b", "some-org_x/.github", "o/a.b-c_d"] {
            assert!(is_repository(good), "{good}");
        }
        for bad in [
            "", "models", "a/b/c", "/b", "a/", "a/..", "a/.", "a b/c", "a/b?x", "a/b#x", "a%2Fb/c",
            "a/b\n", "ä/b",
        ] {
            assert!(!is_repository(bad), "{bad}");
        }
    }

    #[test]
    fn an_address_keeps_its_path() {
        for (address, origin, path) in [
            ("https://api.github.com", "https://api.github.com", ""),
            (
                "https://ghe.example.com/api/v3/",
                "https://ghe.example.com",
                "/api/v3",
            ),
            ("http://127.0.0.1:4010", "http://127.0.0.1:4010", ""),
        ] {
            assert_eq!(split(address), Some((origin, path)));
        }
        let bad = " api.github.com https:// https:///api ftp://host https://user@host https://host?x https://host#x";
        for bad in bad.split(' ').chain(["https://ho st"]) {
            assert_eq!(split(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_object_id_is_hexadecimal_and_whole() {
        assert!(is_object_id("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"));
        for bad in [
            "",
            "main",
            "e69de29",
            "../../../../../../../../../../../../../x",
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c539g",
        ] {
            assert!(!is_object_id(bad), "{bad}");
        }
    }
}
