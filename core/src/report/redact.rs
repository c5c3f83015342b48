//! What a report does not say of an account: its id and the ARNs that hold it.

use regex::Captures;

use crate::grammar::pattern;
use crate::secret::mask_shapes;

/// `arn:aws:iam::123456789012:role/Trainer` becomes `arn:…:role/Trainer`, and twelve digits by themselves `…9012`:
/// masking covers a job's log, not what is posted. What is a secret by its look becomes stars.
pub(super) fn redact(text: &str) -> String {
    let text = mask_shapes(text);
    // arn:partition:service:region:account:resource
    let arn = pattern!(r#"arn:aws[^\s"'`,;()<>\[\]{}|]*"#);
    let text = arn.replace_all(&text, |arn: &Captures<'_>| {
        match arn[0].splitn(6, ':').nth(5) {
            Some(resource) => format!("arn:…:{resource}"),
            None => arn[0].to_owned(),
        }
    });
    // Digits, or three groups of four as AWS's console writes an id.
    let digits = pattern!(r"[0-9]{4}-[0-9]{4}-[0-9]+|[0-9]+");
    let shown = digits.replace_all(&text, |found: &Captures<'_>| {
        let (id, place) = (&found[0], found.get_match());
        let is_beside = char::is_ascii_alphanumeric;
        let (ahead, last) = id.split_at(id.rfind('-').map_or(0, |at| at + 1));
        let before = text[..place.start()].chars().rev();
        let before = before.take_while(is_beside).filter(|_| ahead.is_empty());
        let after = text[place.end()..].chars().take_while(is_beside);
        // Not within a hexadecimal key.
        let mut around = before.chain(after).peekable();
        let is_key = around.peek().is_some() && around.all(|c| c.is_ascii_hexdigit());
        match last.len() {
            4 if !ahead.is_empty() => format!("…{last}"),
            12 if !is_key => format!("{ahead}…{}", &last[8..]),
            _ => id.to_owned(),
        }
    });
    shown.into_owned()
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
            ("2024-1126-504606665836", "2024-1126-…5836"),
            ("v2a123456789012", "v2a…9012"),
            ("123456789012x3", "…9012x3"),
            ("arn:aws:", "arn:aws:"),
            ("arn:aws-cn:s3:::bucket, x", "arn:…:bucket, x"),
        ] {
            assert_eq!(redact(hostile), shown);
        }
    }
}
