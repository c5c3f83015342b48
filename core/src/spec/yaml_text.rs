//! Hostile text, written as YAML.

use std::fmt::Write;

/// A remark is cut after this many characters.
const LONGEST_REMARK: usize = 300;

/// A key or a value of text: as it is where that can mean nothing else, else in double quotes.
pub fn text(text: &str) -> String {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_./@+=:-".contains(&byte))
        && text.starts_with(|first: char| {
            first.is_ascii_alphabetic() || (first.is_ascii_digit() && text.contains('/'))
        })
        && !text.ends_with(':')
        && !is_other_kind(text);
    if is_plain {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// A list in brackets. Commas and brackets end a plain text in it; [`text`] quotes any that holds one.
pub fn list(values: &[impl AsRef<str>]) -> String {
    let values: Vec<String> = values.iter().map(|value| text(value.as_ref())).collect();
    format!("[{}]", values.join(", "))
}

/// The same as [`text`], but a plain number needs no quotes: where text is wanted, it is read as it is written.
pub fn text_or_number(value: &str) -> String {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |text: &str| {
        !text.is_empty() && text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_number =
        all_digits(whole) && all_digits(part) && (whole == "0" || !whole.starts_with('0'));
    if is_number {
        value.to_owned()
    } else {
        text(value)
    }
}

/// Words that some reader of YAML takes for a switch, a number or nothing.
fn is_other_kind(text: &str) -> bool {
    const WORDS: [&str; 11] = [
        "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf",
    ];
    WORDS.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    // A command for a shell is read with its own quotes.
    if text.contains('"') && text.chars().all(|c| matches!(c, ' '..='&' | '('..='~')) {
        return format!("'{text}'");
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            _ if character.is_alphanumeric() => quoted.push(character),
            _ => {
                let code = u32::from(character);
                // Writing to text cannot fail.
                let _ = match code {
                    0..=0xff => write!(quoted, "\\x{code:02x}"),
                    0x100..=0xffff => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Text for behind a `#`: one line, not endless.
pub fn remark(text: &str) -> String {
    let mut characters = text.chars();
    let mut remark: String = characters
        .by_ref()
        .take(LONGEST_REMARK)
        .map(|character| {
            let is_shown = matches!(character, ' '..='~') || character.is_alphanumeric();
            if is_shown { character } else { '?' }
        })
        .collect();
    if characters.next().is_some() {
        remark.push_str("...");
    }
    remark
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::spec;

    proptest! {
        #[test]
        fn any_text_survives_as_yaml(name in "[^\0\r\n\u{85}\u{2028}\u{2029}]{1,30}", value in "[^\0\r\n\u{85}\u{2028}\u{2029}]{0,60}") {
            let text = format!(
                "version: 1\nbackend: sagemaker\njobs:\n  a:\n    training:\n      image: i\n      role: arn:aws:iam::123456789012:role/R\n      \
                 hyperparameters:\n        {}: {}\n      channels: {{train: {{uri: s3://bucket/x/}}}}\n      output: s3://bucket/y/\n    \
                 instance: ml.m5.large\n    budget: {{time: 1h}}\n    # {}\n",
                super::text(&name),
                super::text_or_number(&value),
                super::remark(&value),
            );
            let spec = spec::read("canary-gate.yml", text.as_bytes(), &[]).unwrap();
            prop_assert_eq!(&spec.jobs[0].training.hyperparameters, &[(name, value)]);
        }
    }
}
