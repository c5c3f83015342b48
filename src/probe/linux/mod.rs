//! The probe on Linux, the one system whose process trees can be measured and ended for certain.

mod cgroup;
mod command;
mod container_host;
mod ending;
mod fewer_rights;
mod gpu;
mod host;
mod launched;
mod memory;
mod opened;
mod orphans;
mod other_work;
mod output;
mod parent;
mod privacy;
mod procfs;
mod resident;
mod run;
mod sandbox;
mod shares;
mod signals;
mod spikes;
#[cfg(test)]
mod tests;
mod tree;
mod usage;

use super::*;

pub use command::is_on_path;
pub use host::{host_capacity, host_kind};
pub use orphans::{adopt_orphans, end_orphans};
pub use other_work::cpu_pressure;
pub use privacy::keep_private;
pub use run::run;
