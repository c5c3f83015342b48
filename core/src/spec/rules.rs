//! What differs in a spec from backend to backend.

/// What a backend makes of a spec.
pub(super) struct Rules {
    pub(super) data: DataRule,
    pub(super) machines: MachineRule,
    pub(super) recording: RecordingRule,
    pub(super) probe: ProbeRule,
    /// Whether a job's name may have underscores.
    pub(super) names_have_underscores: bool,
    /// Where nothing is written.
    pub(super) parallel: u32,
    /// Whether training is bound by SageMaker's own limits: 28 days, and values as long as it promises to take.
    pub(super) limits: LimitRule,
    /// Whether canaries can run in warm pools.
    pub(super) has_warm_pools: bool,
}

impl Rules {
    /// For backends to start from, and where the backend could not be read: nothing that depends on it is checked.
    pub(super) const ANY: Self = Self {
        data: DataRule::Any,
        machines: MachineRule::Any,
        recording: RecordingRule::Ignored,
        probe: ProbeRule::Ignored,
        names_have_underscores: false,
        parallel: 1,
        limits: LimitRule::None,
        has_warm_pools: false,
    };
}

/// Where the objects of channels lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataRule {
    /// On this machine.
    Files,
    /// In S3, or in a file system of AWS.
    Cloud,
    Any,
}

/// Which machines a backend has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MachineRule {
    /// `local`, which all canaries share.
    This,
    /// SageMaker's instance types.
    Cloud,
    Any,
}

/// What becomes of the key `recording`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordingRule {
    Needed,
    Refused,
    Ignored,
}

/// What becomes of the key `canary.probe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeRule {
    Served,
    /// Every canary has the probe.
    Always,
    Ignored,
}

/// Whose limits a training has to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitRule {
    Sagemaker,
    None,
}
