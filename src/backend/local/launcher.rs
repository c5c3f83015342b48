//! The command of a host under a launcher, as AWS's training toolkit starts one: torchrun or mpirun of this machine.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::cluster::{Cluster, ClusterHost};
use crate::instance::Capacity;
use crate::probe;
use crate::spec::{Job, LauncherKind, ScriptLauncher};

/// The address of every host: all hosts are processes of this machine.
pub(super) const ADDRESS: &str = "127.0.0.1";

/// Whether the launcher starts processes on this host.
pub(super) fn is_for(
    launcher: &ScriptLauncher,
    cluster: &Cluster<'_>,
    host: &ClusterHost<'_>,
) -> bool {
    let group = launcher.group.as_ref();
    !cluster.has_named_groups || group.is_none_or(|group| *group == host.group)
}

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

/// The words that start `command` on a host, whose script is the word at `script`. The launcher's hosts meet at `port`.
pub(super) fn command(
    launcher: &ScriptLauncher,
    cluster: &Cluster<'_>,
    host: &ClusterHost<'_>,
    (mut command, script): (Vec<String>, Option<usize>),
    port: u16,
    capacity: &Capacity,
) -> Vec<String> {
    let each = capacity.gpus.max(1);
    let (options, command) = match &launcher.kind {
        // No spec of this machine has smddprun.
        LauncherKind::Torchrun | LauncherKind::Smdistributed => {
            let hosts = cluster.hosts.iter();
            let hosts = hosts.filter(|host| is_for(launcher, cluster, host));
            let rank = hosts.clone().position(|one| one.name == host.name);
            let options = format!(
                "--nnodes {} --nproc_per_node {each} --master_addr {ADDRESS} --master_port {port} --node_rank {}",
                hosts.count(),
                rank.unwrap_or(0)
            );
            // It starts Python itself.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::MpiOptions;
    use crate::units::Bytes;

    fn launched(kind: LauncherKind, instance: &str) -> Vec<String> {
        let cluster = Cluster::of(&instance.parse().unwrap());
        let launcher = ScriptLauncher {
            kind,
            group: cluster.has_named_groups.then(|| "dnn".to_owned()),
        };
        let capacity = Capacity {
            vcpus: 4,
            memory: Bytes(8 * Bytes::GIB),
            gpus: 2,
            gpu_memory: None,
        };
        let hosts = (cluster.hosts.iter()).filter(|host| is_for(&launcher, &cluster, host));
        let words = ["python3", "-u", "train.py", "--lr", "1"].map(str::to_owned);
        let of_host = |host: &ClusterHost<'_>| {
            let words = (words.to_vec(), Some(2));
            command(&launcher, &cluster, host, words, 7777, &capacity).join(" ")
        };
        hosts.map(of_host).collect()
    }

    #[test]
    fn torchrun_starts_the_script_on_each_host_of_its_group_and_mpirun_the_whole_command() {
        let mpi = LauncherKind::Mpi(MpiOptions {
            processes_per_host: Some(3),
            options: Some("-x A=1".to_owned()),
        });
        let of = |nodes: u32, rank: u32| {
            format!(
                "torchrun --nnodes {nodes} --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 7777 --node_rank {rank} train.py --lr 1"
            )
        };
        let groups = "data: 1x local + dnn: 2x local";
        assert_eq!(launched(LauncherKind::Torchrun, "local"), [of(1, 0)]);
        assert_eq!(
            launched(LauncherKind::Torchrun, groups),
            [of(2, 0), of(2, 1)]
        );
        assert_eq!(
            launched(mpi, "local"),
            ["mpirun --allow-run-as-root --oversubscribe -np 3 -x A=1 python3 -u train.py --lr 1"]
        );
    }
}
