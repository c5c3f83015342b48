//! The data of a training job's channels, as SageMaker finds them in S3.

use serde_json::Value;

use super::s3::Store;

/// One channel and the objects that it holds.
#[derive(Debug, Clone)]
pub(crate) struct Channel {
    pub(super) name: String,
    pub(super) config: Value,
    pub(super) files: Vec<ChannelFile>,
    /// The text of its manifest, if it has one.
    pub(super) manifest: Option<String>,
}

/// One object of a channel.
#[derive(Debug, Clone)]
pub(super) struct ChannelFile {
    pub(super) bucket: String,
    pub(super) key: String,
    /// Where it lies below the channel's folder.
    pub(super) path: String,
    pub(super) size: u64,
}

impl Channel {
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// Every channel of a CreateTrainingJob request with its objects; else why the download fails.
pub(super) fn channels(store: &Store, input: &Value) -> Result<Vec<Channel>, String> {
    let configs = input["InputDataConfig"].as_array();
    configs
        .into_iter()
        .flatten()
        .map(|config| channel(store, config))
        .collect()
}

fn channel(store: &Store, config: &Value) -> Result<Channel, String> {
    let source = &config["DataSource"]["S3DataSource"];
    let uri = source["S3Uri"].as_str().unwrap_or_default();
    let mut channel = Channel {
        name: text(&config["ChannelName"]),
        config: config.clone(),
        files: Vec::new(),
        manifest: None,
    };
    // A file system is not listed from S3.
    if source.is_null() {
        return Ok(channel);
    }
    if source["S3DataType"] == "ManifestFile" {
        let (bucket, key) = split(uri)?;
        let manifest = store.get(bucket, key);
        let manifest = manifest.ok_or(format!("NoSuchKey: {uri}"))?;
        let manifest = String::from_utf8(manifest.to_vec())
            .map_err(|_| format!("Failed to parse the manifest {uri}"))?;
        channel.files = manifest_files(store, &manifest, uri)?;
        channel.manifest = Some(manifest);
    } else {
        let (bucket, prefix) = split(uri)?;
        // In life a FastFile prefix has to name a whole folder.
        if config["InputMode"] == "FastFile" && !prefix.is_empty() && !prefix.ends_with('/') {
            return Err(format!("partial S3 prefix is not supported: {uri}"));
        }
        let folder = |key: &str| match key[prefix.len()..].starts_with('/') {
            // `s3://data/train` names the folder as `s3://data/train/` does: the Python SDK v3 leaves the slash out.
            true => prefix.len() + 1,
            false => prefix.rfind('/').map_or(0, |slash| slash + 1),
        };
        channel.files = store
            .list(bucket, prefix)
            .into_iter()
            .filter(|(key, _)| !key.ends_with('/'))
            .map(|(key, size)| ChannelFile {
                bucket: bucket.to_owned(),
                path: key[folder(&key)..].to_owned(),
                key,
                size,
            })
            .collect();
    }
    if channel.files.is_empty() {
        return Err(format!("No S3 objects found under S3 URL \"{uri}\""));
    }
    Ok(channel)
}

fn manifest_files(store: &Store, manifest: &str, uri: &str) -> Result<Vec<ChannelFile>, String> {
    let wrong = || format!("Failed to parse the manifest {uri}");
    let entries: Vec<Value> = serde_json::from_str(manifest).map_err(|_| wrong())?;
    let (head, suffixes) = entries.split_first().ok_or_else(wrong)?;
    let (bucket, prefix) = split(head["prefix"].as_str().ok_or_else(wrong)?)?;
    suffixes
        .iter()
        .map(|suffix| {
            let suffix = suffix.as_str().ok_or_else(wrong)?;
            let key = format!("{prefix}{suffix}");
            let content = store.get(bucket, &key);
            let content = content.ok_or(format!("NoSuchKey: s3://{bucket}/{key}"))?;
            Ok(ChannelFile {
                bucket: bucket.to_owned(),
                path: suffix.to_owned(),
                key,
                size: super::size(content.len()),
            })
        })
        .collect()
}

/// Bucket and key of `s3://bucket/key`.
pub(super) fn split(uri: &str) -> Result<(&str, &str), String> {
    let rest = uri
        .strip_prefix("s3://")
        .ok_or(format!("not an S3 address: {uri}"))?;
    Ok(rest.split_once('/').unwrap_or((rest, "")))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
