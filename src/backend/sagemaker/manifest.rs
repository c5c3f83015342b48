//! The manifest of a canary's channel: which objects of the channel's prefix it gets.
//!
//! A JSON array, first the prefix, then what follows it in each key:
//! `[{"prefix": "s3://bucket/churn/train/"}, "part-000.csv", "2026/part-001.csv"]`. The prefix is the channel's own, so
//! that files lie in the container where they lie in a full run.

use std::io::{self, Write};

/// Writes the manifest of a channel, key by key: there may be a million.
///
/// `uri` is the channel's, read as a folder whether or not it ends in `/`: as a bare prefix `train` would take `train-old/`
/// as well. `keys` stand below it; they keep their folders.
///
/// # Errors
///
/// When `out` fails; when there is no key, which SageMaker refuses; and for an empty key, which would stand for the whole
/// folder and make the canary a full run.
pub(super) fn write<K: AsRef<str>>(
    uri: &str,
    keys: impl IntoIterator<Item = K>,
    mut out: impl Write,
) -> io::Result<()> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
    let slash = if uri.ends_with('/') { "" } else { "/" };
    out.write_all(b"[{\"prefix\":")?;
    serde_json::to_writer(&mut out, &format!("{uri}{slash}"))?;
    out.write_all(b"}")?;
    let mut is_empty = true;
    for key in keys {
        let key = key.as_ref();
        if key.is_empty() {
            return Err(invalid("an object without a name below its prefix"));
        }
        out.write_all(b",\n")?;
        serde_json::to_writer(&mut out, key)?;
        is_empty = false;
    }
    if is_empty {
        return Err(invalid("a manifest without objects"));
    }
    out.write_all(b"]\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn text(uri: &str, keys: &[&str]) -> String {
        let mut out = Vec::new();
        write(uri, keys, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_follow_the_channels_prefix_and_keep_their_folders() {
        assert_eq!(
            text("s3://bucket/train/", &["a.csv", "2026/11/b.csv"]),
            "[{\"prefix\":\"s3://bucket/train/\"},\n\"a.csv\",\n\"2026/11/b.csv\"]\n"
        );
    }

    #[test]
    fn a_prefix_is_read_as_a_folder() {
        assert_eq!(
            text("s3://bucket/train", &["a"]),
            "[{\"prefix\":\"s3://bucket/train/\"},\n\"a\"]\n"
        );
        assert_eq!(
            text("s3://bucket", &["a"]),
            "[{\"prefix\":\"s3://bucket/\"},\n\"a\"]\n"
        );
    }

    #[test]
    fn a_manifest_never_stands_for_everything() {
        for keys in [&[][..], &["a", ""]] {
            let error = write("s3://bucket/train/", keys, Vec::new()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{keys:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            keys in prop::collection::vec("(?s).{1,40}", 1..20),
        ) {
            let mut out = Vec::new();
            write("s3://bucket/a \"b\"/", &keys, &mut out).unwrap();
            let read: Value = serde_json::from_slice(&out).unwrap();
            let mut expected = vec![json!({"prefix": "s3://bucket/a \"b\"/"})];
            expected.extend(keys.into_iter().map(Value::from));
            prop_assert_eq!(read, Value::from(expected));
        }
    }
}
