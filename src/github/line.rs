//! Texts from outside as one line of bounded length, for messages.

use serde_json::Value;

use crate::report::escape::for_terminal;

/// An error with its causes, outermost first, without causes that its text already contains.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let below = std::iter::successors(error.source(), |cause| (*cause).source());
    let text = below.fold(error.to_string(), |text, cause| match cause.to_string() {
        said if text.contains(&said) => text,
        new => format!("{text}: {new}"),
    });
    line(&text)
}

/// A text from outside as one line of bounded length, which is no command to the runner.
pub(super) fn line(text: &str) -> String {
    const LONGEST: usize = 300;
    for_terminal(text, LONGEST)
}

/// A text in at most `room` bytes: where it is longer, its beginning in whole lines, with `end` below.
pub(super) fn cut(text: &str, room: usize, end: &str) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let fitting = &text[..text.floor_char_boundary(room.saturating_sub(end.len()))];
    let whole = fitting.rfind('\n').unwrap_or(fitting.len());
    format!("{}{end}", &fitting[..whole])
}

/// The message of GitHub's error, with the first detailed message below it.
pub(super) fn message(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let first = &body["errors"][0];
    let finer = first.as_str().or_else(|| first["message"].as_str());
    // GitLab names some errors otherwise.
    let names = ["message", "error_description", "error"];
    match (names.iter().find_map(|name| body[*name].as_str()), finer) {
        (Some(message), Some(finer)) => line(&format!("{message}: {finer}")),
        (Some(message), None) => line(message),
        (None, _) => "without a message".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_its_message_and_the_first_finer_one() {
        assert_eq!(message(br#"{"message": "Not Found"}"#), "Not Found");
        let finer = br#"{"message": "Validation Failed", "errors": [{"message": "Body cannot be blank"}, {}]}"#;
        assert_eq!(message(finer), "Validation Failed: Body cannot be blank");
        let text = br#"{"message": "Validation Failed", "errors": ["too long"]}"#;
        assert_eq!(message(text), "Validation Failed: too long");
        for nothing in [&b""[..], b"<html>", b"[]", b"7", b"{\"errors\": 7}"] {
            assert_eq!(message(nothing), "without a message");
        }
    }
}
