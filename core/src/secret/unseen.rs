//! What a text holds that nobody sees: commands to a terminal, and characters that take no room.

use std::borrow::Cow;

use regex::Captures;

use crate::grammar::pattern;

/// The text without what is not seen: what stands between two of its characters must not part a secret. Line ends and tabs stay.
pub(super) fn without_unseen(text: &str) -> String {
    let is_seen = |c: &char| match c {
        '\n' | '\r' | '\t' => true,
        // Line ends that only some programs know.
        '\u{2028}' | '\u{2029}' => false,
        c => !c.is_control() && !is_invisible(*c),
    };
    let text = without_control_sequences(text);
    text.chars().filter(is_seen).collect()
}

/// The text without what a terminal obeys, by ECMA-48: control sequences, strings up to their terminator (a window title, a hyperlink),
/// and other commands. A string that never ends takes the rest with it.
pub fn without_control_sequences(text: &str) -> Cow<'_, str> {
    let sequences = pattern!(concat!(
        r"(?s)(?:\x1b\[|\x{9b})[ -?]*[@-~]?",
        r"|\x1b[\]PX^_].*?(?:\x07|\x{9c}|\x1b\\|\z)",
        r"|\x1b[ -/].?|\x1b[0-~]?",
    ));
    sequences.replace_all(text, "")
}

/// Nothing in the line is a workflow command.
pub fn without_commands(text: &str) -> String {
    let text = text.replace("##[", "## [");
    // `::error::` counts at the start of a line, and wrapping may put any word there.
    let colons = pattern!("(^| )(::+)");
    let parted = |found: &Captures<'_>| {
        let colons = vec![":"; found[2].len()];
        format!("{}{}", &found[1], colons.join(" "))
    };
    colons.replace_all(&text, parted).into_owned()
}

/// JSON in which control characters, invisible ones and odd line ends are written by their numbers. Such characters stand in texts
/// alone, but for the line ends of the layout, so it means the same.
pub fn visible_json(json: &str) -> String {
    let unseen = pattern!(&format!(r"[{INVISIBLE}\x{{2028}}\x{{2029}}[\p{{Cc}}--\n]]"));
    let numbered = |found: &Captures<'_>| {
        let units = found[0].encode_utf16();
        let numbers = units.map(|unit| format!("\\u{unit:04x}"));
        numbers.collect::<String>()
    };
    unseen.replace_all(json, numbered).into_owned()
}

/// Zero-width, direction-changing, tag and filler characters, in a class of a pattern: Unicode's category Cf and the blank fillers.
const INVISIBLE: &str = r"\p{Cf}\x{34f}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}\x{2065}\x{2800}\x{3164}\x{fe00}-\x{fe0f}\x{ffa0}\x{fff0}-\x{fff8}\x{e0000}-\x{e0fff}";

/// Whether it takes no room.
pub fn is_invisible(character: char) -> bool {
    let invisible = pattern!(&format!("[{INVISIBLE}]"));
    // Most text has none, and is asked for each of its characters.
    character >= '\u{ad}' && invisible.is_match(character.encode_utf8(&mut [0; 4]))
}
