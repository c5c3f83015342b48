//! Whether the machines of a canary are kept for the next one.

use crate::units::Seconds;

/// What `canary.warm_pool` asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmPoolPolicy {
    /// A pool where it makes a check shorter for little money.
    Auto,
    /// None; always so on a backend that has none.
    Off,
    /// A pool for each configuration, kept for so long after a canary, from a second to an hour.
    KeepAlive(Seconds),
}

impl WarmPoolPolicy {
    /// As a spec says it.
    pub fn words(self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Off => "off".to_owned(),
            Self::KeepAlive(time) => format!("keep_alive {}", time.exact()),
        }
    }
}
