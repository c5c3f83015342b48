//! What a report does not say of an account: its id and the ARNs that hold it.

use crate::secret::mask_shapes;

const ACCOUNT_ID_DIGITS: usize = 12;

/// `arn:aws:iam::123456789012:role/Trainer` becomes `arn:…:role/Trainer`, and twelve digits by themselves `…9012`:
/// masking covers a job's log, not what is posted. What is a secret by its look becomes stars.
pub(super) fn redact(text: &str) -> String {
    let text = mask_shapes(text);
    let text = text.as_str();
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("arn:aws") {
        shown.push_str(&rest[..start]);
        let arn = &rest[start..];
        let end = arn
            .find(|c: char| c.is_whitespace() || "\"'`,;()<>[]{}|".contains(c))
            .unwrap_or(arn.len());
        // arn:partition:service:region:account:resource
        match arn[..end].splitn(6, ':').nth(5) {
            Some(resource) => {
                shown.push_str("arn:…:");
                shown.push_str(resource);
            }
            None => shown.push_str(&arn[..end]),
        }
        rest = &arn[end..];
    }
    shown.push_str(rest);
    shorten_account_ids(&shown)
}

/// Twelve digits, or three groups of four with hyphens as AWS's console writes them; not those within a hexadecimal key.
fn shorten_account_ids(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let is_part = |c: char| c.is_ascii_digit() || c == '-';
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        shown.push_str(&rest[..start]);
        let tail = &rest[start..];
        let end = tail.find(|c| !is_part(c)).unwrap_or(tail.len());
        let run = &tail[..end];
        let groups: Vec<&str> = run.split('-').collect();
        let last = groups.len() - 1;
        let is_in_a_key = |index| {
            let before = if index == 0 {
                word_at_end(&rest[..start])
            } else {
                ""
            };
            let after = if index == last {
                word_at_start(&tail[end..])
            } else {
                ""
            };
            let mut around = before.chars().chain(after.chars()).peekable();
            around.peek().is_some() && around.all(|c| c.is_ascii_hexdigit())
        };
        let mut index = 0;
        while index < groups.len() {
            if index > 0 {
                shown.push('-');
            }
            let grouped = groups[index..].iter().take(3);
            if groups.len() - index >= 3 && grouped.clone().all(|group| group.len() == 4) {
                shown.push('…');
                shown.push_str(groups[index + 2]);
                index += 3;
                continue;
            }
            match groups[index] {
                id if id.len() == ACCOUNT_ID_DIGITS && !is_in_a_key(index) => {
                    shown.push('…');
                    shown.push_str(&id[ACCOUNT_ID_DIGITS - 4..]);
                }
                other => shown.push_str(other),
            }
            index += 1;
        }
        rest = &tail[end..];
    }
    shown.push_str(rest);
    shown
}

fn word_at_end(text: &str) -> &str {
    &text[text
        .trim_end_matches(|c: char| c.is_ascii_alphanumeric())
        .len()..]
}

fn word_at_start(text: &str) -> &str {
    &text[..text.len()
        - text
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric())
            .len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_ids_and_arns_are_shortened() {
        for (hostile, shown) in [
            (
                "cannot assume arn:aws:iam::123456789012:role/Trainer now",
                "cannot assume arn:…:role/Trainer now",
            ),
            ("account 123456789012.", "account …9012."),
            ("account 1234-5678-9012, see", "account …9012, see"),
            ("1234-5678 12345-6789-0123", "1234-5678 12345-6789-0123"),
            (
                "2026-11-21 sagemaker-us-east-1-123456789012",
                "2026-11-21 sagemaker-us-east-1-…9012",
            ),
            ("1234567890123", "1234567890123"),
            (
                "canary-504606665836b3b2-a6f8504606665836.json",
                "canary-504606665836b3b2-a6f8504606665836.json",
            ),
            ("account504606665836x", "account…5836x"),
            ("arn:aws:", "arn:aws:"),
            ("arn:aws-cn:s3:::bucket, x", "arn:…:bucket, x"),
        ] {
            assert_eq!(redact(hostile), shown);
        }
    }
}
