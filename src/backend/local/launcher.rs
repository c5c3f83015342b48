//! The command of a host under a launcher, as AWS's training toolkit starts one: torchrun or mpirun of this machine.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::cluster::ClusterHost;
use super::container::{ADDRESS, Container};
use crate::probe;
use crate::spec::{Job, LauncherKind, ScriptLauncher};

/// A sentence where a job's launcher is not on the PATH that its canaries get.
pub(super) fn missing(job: &Job, environment: &BTreeMap<OsString, OsString>) -> Option<String> {
    let program = job.training.distribution.as_ref()?.program();
    let mut own = job.training.environment.iter();
    let own = own.find_map(|(name, path)| (name == "PATH").then_some(OsStr::new(path)));
    let handed = environment.get(OsStr::new("PATH"));
    let path = own.or(handed.map(OsString::as_os_str));
    let is_there = probe::is_on_path(program.as_ref(), path);
    (!is_there).then(|| {
        format!(
            "`{program}`, which training.distribution asks for, is not on the PATH of this machine, so canaries cannot start here; \
             install it, or put its folder on PATH"
        )
    })
}

impl Container<'_> {
    /// The words that start `command` on this host: under the launcher where it starts processes here.
    pub(super) fn launched(
        &self,
        launcher: &ScriptLauncher,
        mut command: Vec<String>,
    ) -> Vec<String> {
        let (cluster, host, port) = (self.cluster, self.host, self.port);
        let is_meant = |host: &&ClusterHost<'_>| {
            let group = launcher.group.as_ref();
            !cluster.has_named_groups || group.is_none_or(|group| *group == host.group)
        };
        if !is_meant(&host) {
            return command;
        }
        let each = self.capacity.gpus.max(1);
        let (options, command) = match &launcher.kind {
            // No spec of this machine has smddprun.
            LauncherKind::Torchrun | LauncherKind::Smdistributed => {
                let hosts = cluster.hosts.iter().filter(is_meant);
                let rank = hosts.clone().position(|one| one.name == host.name);
                let options = format!(
                    "--nnodes {} --nproc_per_node {each} --master_addr {ADDRESS} --master_port {port} --node_rank {}",
                    hosts.count(),
                    rank.unwrap_or(0)
                );
                // It starts Python itself.
                let script = self.job.training.local.script();
                (options, command.split_off(script.unwrap_or(0)))
            }
            LauncherKind::Mpi(mpi) => {
                let count = mpi.processes_per_host.unwrap_or(each);
                let own = mpi.options.as_deref().unwrap_or_default();
                // As root in CI's containers, and with more processes than cores.
                let options = format!("--allow-run-as-root --oversubscribe -np {count} {own}");
                (options, command)
            }
        };
        let start = [launcher.program()]
            .into_iter()
            .chain(options.split_whitespace());
        start.map(str::to_owned).chain(command).collect()
    }
}
