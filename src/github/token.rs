//! A token that prints as stars.

use derive_more::Debug;

/// What lets the program in at GitHub. It is sent, and never printed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[debug("Token(***)")]
pub struct Token(String);

impl Token {
    /// A token as it was given; blanks and line ends around it are not part of it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The token itself, for the place that sends it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it can stand in a header at all.
    pub(super) fn is_sendable(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_prints_as_stars() {
        let token = Token::new("ghs_secret\n");
        assert_eq!(format!("{token:?}"), "Token(***)");
        assert_eq!(token.expose(), "ghs_secret");
    }

    #[test]
    fn what_would_break_a_header_is_not_sendable() {
        assert!(Token::new(" ghs_secret ").is_sendable());
        for text in ["", " \n", "two words", "two\r\nlines", "Umläut"] {
            assert!(!Token::new(text).is_sendable(), "{text:?}");
        }
    }
}
