//! The probe on Linux, the one system whose process trees can be measured and ended for certain.

mod cgroup;
mod command;
mod container_host;
mod ending;
mod fewer_rights;
mod gpu;
mod host;
mod host_load;
mod memory;
mod opened;
mod output;
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
use cgroup::OwnCgroup;
use tree::Process;

pub use ending::{adopt_orphans, end_orphans};
pub use host::{host_capacity, host_kind};
pub use host_load::cpu_pressure;
pub use run::run;
pub use sandbox::keep_private;
