//! Secrets that are known by how they look.

use std::sync::LazyLock;

use regex::Regex;

/// What stands in a secret's place: `***`, between what its pattern captures before and behind it.
const SHOWN: &str = "${1}***${2}";

/// What is a secret by its look alone, wherever it stands.
static SHAPES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let lines = include_str!("shapes.txt").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .map(compiled)
        .collect()
});

/// Names, or parts of them, of nothing but secrets.
const SURE: &str = r"pass(?:word|wd|phrase)|pwd|api[_-]?key|(?:access|secret|private|account|signing)[_-]?key|client[_-]?secret|(?:access|auth|refresh|session|security)[_-]?token";

/// Not `max_tokens`.
static NAMES: LazyLock<Regex> =
    LazyLock::new(|| compiled(&format!("(?i){SURE}|secret|credential|(?:^|[_-])token$")));

/// What a name before it makes a secret. Only the names are looked for in either case: folding the case of the values too would
/// take ten times as long to compile. Only for text of others: `id-token: write` is advice of ours.
static NAMED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    const VALUE: &str =
        r#"(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[^\s"',;&)}\]=][^\s"',;&)}\]]*)"#;
    [
        // `password=…`, `DB_TOKEN = '…'`, `?key=…`
        format!(r"((?i-u:{SURE}|secret|token|credentials?|key|signature)[^\S\n]*=[^\S\n]*){VALUE}"),
        // `password: …`
        format!(r"((?i-u:{SURE})[^\S\n]*:[^\S\n]*){VALUE}"),
        // `"token": "…"`
        format!(r#"((?i-u:{SURE}|secret|token|credentials?)["'][^\S\n]*[:=][^\S\n]*){VALUE}"#),
        // `Authorization: Bearer …`
        r"((?i-u:\b(?:bearer|basic))[^\S\n]+)[A-Za-z0-9._~+/=-]{8,}".to_owned(),
    ]
    .map(|pattern| compiled(&pattern))
    .into()
});

/// Whether the value of a hyperparameter or variable of this name is a secret.
pub fn is_named_so(name: &str) -> bool {
    NAMES.is_match(name)
}

/// Whether it may be one: a key opens something, or is a column.
pub fn may_be_named_so(name: &str) -> bool {
    is_named_so(name) || name.to_ascii_lowercase().ends_with("key")
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles every pattern")
}

/// The text without what is a secret by its own look: keys of AWS, tokens of GitHub and Slack, PEM blocks, and
/// `user:password@` of an address.
pub fn mask_shapes(text: &str) -> String {
    replace_all(&SHAPES, text)
}

/// The text without what is a secret by the name before it: `password=`, `token=`, `key=` and the like.
pub fn mask_named(text: &str) -> String {
    replace_all(&NAMED, text)
}

fn replace_all(shapes: &[Regex], text: &str) -> String {
    let masked = |text: String, shape: &Regex| shape.replace_all(&text, SHOWN).into_owned();
    shapes.iter().fold(text.to_owned(), masked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_shapes_are_hidden() {
        for (text, shown) in [
            ("id AKIAIOSFODNN7EXAMPLE!", "id ***!"),
            ("(ASIAIOSFODNN7EXAMPLE)", "(***)"),
            ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "***"),
            ("ghs_0123456789abcdefghijABCDEFGHIJ012345", "***"),
            ("github_pat_11ABCDEFG0abcdefghij_KLMNOP", "***"),
            ("xoxb-123456789012-abcdefABCDEF", "***"),
            ("hf_AbCdEfGhIjKlMnOpQrStUvWx", "***"),
            (
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl",
                "***",
            ),
            (
                "git clone https://bob:hunter2@example.com/x",
                "git clone https://***@example.com/x",
            ),
            ("redis://:hunter2@db:6379/0", "redis://***@db:6379/0"),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
                "a\n***\nb",
            ),
            // Cut off at its end, and at its start.
            (
                "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nabcd",
                "***\nabcd",
            ),
            (
                "abcdefghijkl\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\nb",
                "***\nb",
            ),
            (
                r#""-----BEGIN KEY-----\nMIIEvQIBADANBgkq\n-----END KEY-----\n""#,
                r#""***\n""#,
            ),
        ] {
            assert_eq!(mask_shapes(text), shown, "{text}");
        }
    }

    #[test]
    fn what_a_name_makes_a_secret_is_hidden() {
        for (text, shown) in [
            ("password=opensesame next", "password=*** next"),
            ("DB_PASSWORD = 'open sesame', 3", "DB_PASSWORD = ***, 3"),
            ("https://x/y?token=abc&n=1", "https://x/y?token=***&n=1"),
            ("connect(key=\"abc\")", "connect(key=***)"),
            (
                r#"{"user": "u", "password": "p\u00e4", "token": "t"}"#,
                r#"{"user": "u", "password": ***, "token": ***}"#,
            ),
            ("{'secret': 'x'}", "{'secret': ***}"),
            ("password: opensesame", "password: ***"),
            (
                "x-amz-security-token:FwoGZXIvYXdzE",
                "x-amz-security-token:***",
            ),
            (
                "Authorization: Bearer abc.def-ghi",
                "Authorization: Bearer ***",
            ),
            (
                "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG",
                "aws_secret_access_key = ***",
            ),
        ] {
            assert_eq!(mask_named(text), shown, "{text}");
            assert_eq!(mask_named(shown), shown, "twice");
        }
    }

    #[test]
    fn plain_words_stay() {
        for text in [
            "KeyError: 'password'",
            "unexpected token: expected a number",
            "The code key of the run",
            "https://example.com:8443/path",
            "mail bob@example.com",
            "256 tokens per second, 12 keys",
            "if monkey == 3",
            "AKIA is a prefix, as is ghp_",
        ] {
            assert_eq!(mask_named(&mask_shapes(text)), text);
        }
    }
}
