//! How SageMaker unpacks the objects of a Pipe channel on their way to the script.

use serde::{Deserialize, Serialize};

/// How a channel's objects are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Compression {
    #[default]
    None,
    /// SageMaker unpacks each object; only a Pipe channel has it.
    Gzip,
}

/// What SageMaker puts around each object of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RecordWrapper {
    #[default]
    None,
    /// Each object becomes one RecordIO record; only a Pipe channel has it.
    RecordIo,
}
