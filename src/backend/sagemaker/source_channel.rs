//! The source as files on a channel, as the Python SDK v3 hands it over: below `/opt/ml/input/data/<channel>/`.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::archive::{self, Packed};
use super::placing::output;
use super::session::JobSession;
use crate::backend::BackendError;
use crate::spec::{
    Channel, ChannelDraw, ChannelSample, Compression, DataType, Distribution, InputMode,
    RecordWrapper,
};

/// Where sources and the probe are kept, below a job's output, under their hash.
pub(super) const SOURCES: &str = "cg-source/";
/// Uploads at a time.
const UPLOADS: usize = 16;

/// A channel that every canary gets whole, in File mode.
pub(super) fn whole_channel(name: &str, uri: String) -> Channel {
    Channel {
        name: name.to_owned(),
        uri,
        data_type: DataType::default(),
        mode: InputMode::File,
        content_type: None,
        distribution: Distribution::FullyReplicated,
        compression: Compression::None,
        record_wrapper: RecordWrapper::None,
        sample: ChannelSample::Whole,
        draw: ChannelDraw::default(),
        groups: Vec::new(),
    }
}

impl JobSession<'_> {
    /// Uploads the files of a packed source, once under its hash, and names the channel that brings them.
    pub(super) async fn place_source(
        &self,
        name: &str,
        packed: &Packed,
    ) -> Result<Box<Channel>, BackendError> {
        let folder = output(self.job)?.below(&format!("{SOURCES}{}/files/", packed.sha256_hex));
        // Those of the archive: a file may have changed since it was packed, and the place is named by what was packed.
        let files = archive::unpack(packed)?;
        let put = async |(name, content): (String, Vec<u8>)| {
            let place = folder.below(&name);
            self.keep(&place, content, "application/octet-stream").await
        };
        let uploads = stream::iter(files).map(put).buffer_unordered(UPLOADS);
        uploads.try_collect::<()>().await?;
        Ok(Box::new(whole_channel(name, folder.to_string())))
    }
}
