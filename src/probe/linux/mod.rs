//! The probe on Linux, the one system whose process trees can be measured and ended for certain.

mod cgroup;
mod command;
mod container_host;
mod ending;
mod fewer_rights;
mod gpu;
mod host;
mod host_load;
mod launched;
mod memory;
mod opened;
mod orphans;
mod output;
mod privacy;
mod procfs;
mod resident;
mod run;
mod sandbox;
mod shares;
mod signals;
mod spikes;
mod tree;
mod usage;

use super::*;

pub use command::is_on_path;
pub use host::{host_capacity, host_kind};
pub use host_load::cpu_pressure;
pub use orphans::{adopt_orphans, end_orphans};
pub use privacy::keep_private;
pub use run::run;
