//! Hostile text for HTML and SVG, where five characters are more than themselves.

use super::{clean, excerpt, with_code};

/// The text as content of an HTML or SVG element, or within the quotes of an attribute.
pub fn for_html(text: &str, limit: usize) -> String {
    html(&clean(text, limit))
}

/// The same for a sentence of ours, in which backticks set code.
pub fn for_html_with_code(text: &str, limit: usize) -> String {
    let code = |piece: &str| format!("<code>{}</code>", html(piece.trim()));
    with_code(&clean(text, limit), html, code)
}

/// Text of several lines as content of an HTML element that keeps line ends and spaces: at most `lines` lines of `limit`
/// characters; what is left out is counted.
pub fn for_html_block(text: &str, limit: usize, lines: usize) -> String {
    html(&excerpt(text, limit, lines).join("\n"))
}

/// The text for a library that escapes what it draws.
pub fn for_drawing(text: &str, limit: usize) -> String {
    clean(text, limit)
}

/// Clean text, escaped.
fn html(cleaned: &str) -> String {
    let mut escaped = String::with_capacity(cleaned.len());
    for character in cleaned.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}
