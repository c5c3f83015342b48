//! [`S3Uri`]: a bucket and a key or key prefix.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::outside_error::{OutsideError, OutsideResult};

/// The longest key that S3 allows, in bytes.
pub(crate) const LONGEST_KEY: usize = 1024;
/// The most characters of a key in an error.
const KEY_SHOWN: usize = 200;

/// `s3://bucket/key`; the key may be empty. As it is displayed it is raw text: messages have `shown`.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("s3://{bucket}/{key}")]
pub struct S3Uri {
    pub bucket: String,
    /// A key or key prefix.
    pub key: String,
}

impl S3Uri {
    /// `field` is the spec field that holds the text.
    pub fn read(text: &str, field: &str) -> OutsideResult<Self> {
        text.strip_prefix("s3://")
            .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
            .filter(|(bucket, _)| !bucket.is_empty())
            .map(|(bucket, key)| Self {
                bucket: bucket.to_owned(),
                key: key.to_owned(),
            })
            .ok_or_else(|| {
                OutsideError::of(format!("{field}: `{}` is not an S3 URI", shown(text)))
                    .help("write `s3://BUCKET/PREFIX/`")
            })
    }

    /// The same place as a folder: a key that is not empty ends with `/`.
    pub fn as_folder(&self) -> Self {
        self.below("")
    }

    /// The URI of `path` in this place, taken as a folder.
    pub fn below(&self, path: &str) -> Self {
        let key = match self.key.as_str() {
            "" => path.to_owned(),
            folder if folder.ends_with('/') => format!("{folder}{path}"),
            folder => format!("{folder}/{path}"),
        };
        Self {
            bucket: self.bucket.clone(),
            key,
        }
    }
}

/// A key for messages: one line, without control characters, of limited length.
pub(crate) fn shown(key: &str) -> String {
    let mut escaped = key.escape_debug();
    let text: String = escaped.by_ref().take(KEY_SHOWN).collect();
    match escaped.next() {
        Some(_) => format!("{text}…"),
        None => text,
    }
}

/// All but what has no meaning anywhere: letters, digits, `-` and `_`.
pub(crate) const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_');
const UNRESERVED: AsciiSet = PLAIN.remove(b'.').remove(b'~').remove(b'/');

/// A key for a header or a query: all but unreserved characters and `/` as `%XX`.
pub(crate) fn encoded(key: &str) -> String {
    utf8_percent_encode(key, &UNRESERVED).to_string()
}

/// A key from a listing with `encoding-type=url`, in which a space is a plus. `None` if it is not UTF-8.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    Some(decoded.ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_uri_is_a_bucket_and_a_key() {
        let read = |text| S3Uri::read(text, "f").map(|uri| (uri.bucket, uri.key));
        let pair = |bucket: &str, key: &str| (bucket.to_owned(), key.to_owned());
        assert_eq!(read("s3://b/a/c/").unwrap(), pair("b", "a/c/"));
        assert_eq!(read("s3://b").unwrap(), pair("b", ""));
        for bad in ["b/a", "s3:///a", "file://b/a", "s3://"] {
            assert_eq!(read(bad).unwrap_err().help, "write `s3://BUCKET/PREFIX/`");
        }
    }

    #[test]
    fn a_folder_is_one_with_and_without_a_slash() {
        for (folder, key) in [("s3://b/a", "a/x"), ("s3://b/a/", "a/x"), ("s3://b", "x")] {
            assert_eq!(S3Uri::read(folder, "f").unwrap().below("x").key, key);
        }
    }

    #[test]
    fn a_key_is_shown_in_one_line() {
        assert_eq!(shown("a\nb\u{1b}[2J"), "a\\nb\\u{1b}[2J");
        assert_eq!(shown(&"x".repeat(1024)).chars().count(), KEY_SHOWN + 1);
    }

    #[test]
    fn keys_are_encoded_as_s3_wants_them_and_decoded_as_it_writes_them() {
        assert_eq!(encoded("a b/ü+%.csv"), "a%20b/%C3%BC%2B%25.csv");
        assert_eq!(decoded("a+b/%c3%BC%2B%25.csv").unwrap(), "a b/ü+%.csv");
        assert_eq!(decoded("%ff"), None);
    }

    proptest! {
        #[test]
        fn every_key_survives(key in any::<String>()) {
            prop_assert_eq!(decoded(&encoded(&key)).unwrap(), key);
        }
    }
}
