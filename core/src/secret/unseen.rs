//! What a text holds that nobody sees: commands to a terminal, and characters that take no room.

use std::fmt::Write as _;
use std::iter::Peekable;

/// The text without what is not seen: what stands between two of its characters must not part a secret. Line ends and tabs stay.
pub(super) fn without_unseen(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape_sequence(&mut characters),
            '\u{9b}' => skip_control_sequence(&mut characters),
            '\n' | '\r' | '\t' => seen.push(character),
            // Line ends that only some programs know.
            '\u{2028}' | '\u{2029}' => {}
            _ if character.is_control() || is_invisible(character) => {}
            _ => seen.push(character),
        }
    }
    seen
}

/// What follows ESC, by ECMA-48: a control sequence, a string up to its terminator, or a single character.
pub fn skip_escape_sequence(characters: &mut Peekable<impl Iterator<Item = char>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            skip_control_sequence(characters);
        }
        // Strings (a window title, a hyperlink) end with BEL or ESC \; one that never ends takes the line with it.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            characters.next();
            while let Some(character) = characters.next() {
                if character == '\u{7}' || character == '\u{9c}' {
                    return;
                }
                if character == '\u{1b}' && characters.peek() == Some(&'\\') {
                    characters.next();
                    return;
                }
            }
        }
        Some(' '..='/') => {
            characters.next();
            characters.next();
        }
        Some('0'..='~') => {
            characters.next();
        }
        _ => {}
    }
}

/// Parameters and intermediates, then one final character.
pub fn skip_control_sequence(characters: &mut Peekable<impl Iterator<Item = char>>) {
    while characters.next_if(|c| (' '..='?').contains(c)).is_some() {}
    characters.next_if(|c| ('@'..='~').contains(c));
}

/// JSON in which control characters, invisible ones and odd line ends are written by their numbers. Such characters stand in texts
/// alone, but for the line ends of the layout, so it means the same.
pub fn visible_json(json: String) -> String {
    let is_unseen = |c: char| {
        is_invisible(c) || c.is_control() && c != '\n' || matches!(c, '\u{2028}' | '\u{2029}')
    };
    if !json.chars().any(is_unseen) {
        return json;
    }
    let mut visible = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        if is_unseen(character) {
            for unit in character.encode_utf16(&mut [0; 2]).iter() {
                write!(visible, "\\u{unit:04x}").expect("writing to a string cannot fail");
            }
        } else {
            visible.push(character);
        }
    }
    visible
}

/// Zero-width, direction-changing, tag and filler characters: Unicode's category Cf and the blank fillers.
pub fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
