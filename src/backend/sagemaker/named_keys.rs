//! The manifest of a user's own channel: which objects of a prefix the full run reads. Canaries get a share of them.

use std::collections::BTreeSet;

use aws_sdk_s3::Client;

use crate::aws::s3::{Request, permission};
use crate::aws::s3_uri::{S3Uri, shown};
use crate::grammar::count;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::units::Bytes;

/// A manifest is held in memory; this is some million keys.
const LARGEST: Bytes = Bytes(256 * Bytes::MIB);

const SHAPE: &str =
    "write `[{\"prefix\": \"s3://bucket/images/\"}, \"cats/01.jpg\", \"cats/02.jpg\"]`";

/// The prefix that a manifest names, and what follows it in its keys, which are never none.
type NamedKeys = (S3Uri, BTreeSet<String>);

/// Reads a manifest from S3.
pub(super) async fn read(s3: &Client, field: &str, uri: &S3Uri) -> OutsideResult<NamedKeys> {
    let request = Request::new(s3, field, uri, "read", permission("s3:GetObject", uri));
    let call = s3.get_object().bucket(&uri.bucket).key(&uri.key).send();
    let object = call.await.map_err(|error| request.refused(&error))?;
    let size = object.content_length().map(u64::try_from);
    let shown = shown(&uri.to_string());
    if !matches!(size, Some(Ok(size)) if size <= LARGEST.0) {
        return Err(OutsideError::of(format!(
            "{field}: the manifest {shown} is larger than {LARGEST}"
        ))
        .help("name a prefix in place of it, or split it into several channels"));
    }
    let content = object.body.collect().await.map_err(|_| {
        OutsideError::transient(format!(
            "{field}: the manifest {shown} could not be read to its end"
        ))
        .help("start the check again")
    })?;
    parse(field, uri, &content.into_bytes())
}

fn parse(field: &str, uri: &S3Uri, content: &[u8]) -> OutsideResult<NamedKeys> {
    let wrong = |what: &str| {
        OutsideError::of(format!("{field}: {} {what}", shown(&uri.to_string()))).help(SHAPE)
    };
    let Ok(entries) = serde_json::from_slice::<Vec<serde_json::Value>>(content) else {
        return Err(wrong("is not a manifest, which is one JSON array"));
    };
    let Some(prefix) = entries.first().and_then(|head| head["prefix"].as_str()) else {
        return Err(wrong("does not begin with its prefix"));
    };
    let prefix = S3Uri::read(prefix, field)?;
    let keys = entries[1..].iter().map(|key| key.as_str());
    let keys = keys.map(|key| key.filter(|key| !key.is_empty()).map(str::to_owned));
    match keys.collect::<Option<BTreeSet<String>>>() {
        None => Err(wrong("names something that is not a key")),
        Some(keys) if keys.is_empty() => Err(wrong("names no object")),
        Some(keys) => Ok((prefix, keys)),
    }
}

/// The full run would fail on them.
pub(super) fn missing(field: &str, prefix: &S3Uri, missing: &BTreeSet<String>) -> OutsideError {
    let first = missing.first().map_or("", String::as_str);
    OutsideError::of(format!(
        "{field}: the manifest names {} that {} not there, such as {}",
        count(missing.len(), "object"),
        if missing.len() == 1 { "is" } else { "are" },
        shown(&format!("{prefix}{first}"))
    ))
    .help("write the manifest again, or put the objects back: a full run would fail on them")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(content: &str) -> Result<NamedKeys, String> {
        let uri = S3Uri::read("s3://bucket/train.manifest", "uri").unwrap();
        parse("uri", &uri, content.as_bytes()).map_err(|error| error.what)
    }

    #[test]
    fn keys_follow_the_prefix() {
        let content = r#"[{"prefix": "s3://images/a/"}, "x.jpg", "b/y.jpg", "x.jpg"]"#;
        let (prefix, keys) = parsed(content).unwrap();
        assert_eq!(prefix.to_string(), "s3://images/a/");
        assert_eq!(keys.into_iter().collect::<Vec<_>>(), ["b/y.jpg", "x.jpg"]);
    }

    #[test]
    fn what_is_no_manifest_is_said() {
        for (content, said) in [
            ("{", "is not a manifest"),
            (
                "{\"source-ref\": \"s3://a/b\"}\n{\"source-ref\": \"s3://a/c\"}",
                "is not a manifest",
            ),
            ("[\"x.jpg\"]", "does not begin with its prefix"),
            ("[]", "does not begin with its prefix"),
            (r#"[{"prefix": "s3://images/"}]"#, "names no object"),
            (r#"[{"prefix": "s3://images/"}, 1]"#, "not a key"),
            (r#"[{"prefix": "s3://images/"}, ""]"#, "not a key"),
        ] {
            let error = parsed(content).unwrap_err();
            assert!(error.contains(said), "{content}: {error}");
        }
    }
}
