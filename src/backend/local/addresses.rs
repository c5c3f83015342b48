//! Loopback addresses for the hosts of a run, so that two processes of this machine can listen at the same port as two machines can.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};

use super::cluster::{Cluster, ClusterHost};

/// A socket at this address of a block says that a gate has taken it. The kernel frees it with the gate.
const RESERVED: (u8, u16) = (254, 7776);

/// A block of 127.0.0.0/8 that no other run of this machine has: 127.1.0.1 for algo-1, 127.1.0.2 for algo-2, and so on.
#[derive(Debug)]
pub(super) struct Addresses {
    block: Option<(u8, u8)>,
    _taken: Option<UdpSocket>,
}

impl Addresses {
    /// Takes the first block that is free. Where the machine has no loopback network all hosts have 127.0.0.1.
    pub(super) fn take() -> Self {
        let (last, port) = RESERVED;
        for (second, third) in
            (1..=u8::MAX).flat_map(|second| (0..=u8::MAX).map(move |third| (second, third)))
        {
            match UdpSocket::bind((Ipv4Addr::new(127, second, third, last), port)) {
                Ok(socket) => {
                    return Self {
                        block: Some((second, third)),
                        _taken: Some(socket),
                    };
                }
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(_) => break,
            }
        }
        Self {
            block: None,
            _taken: None,
        }
    }

    pub(super) fn of(&self, host: &ClusterHost) -> Ipv4Addr {
        // At most 64 processes are started.
        match (self.block, u8::try_from(host.number)) {
            (Some((second, third)), Ok(number)) => Ipv4Addr::new(127, second, third, number),
            _ => Ipv4Addr::LOCALHOST,
        }
    }

    /// What a host finds in its `/etc/hosts` before the machine's own lines.
    pub(super) fn hosts_file(&self, cluster: &Cluster, of_machine: &str) -> String {
        let own = cluster.hosts.iter();
        let own = own.map(|host| format!("{} {}\n", self.of(host), host.name));
        own.collect::<String>() + of_machine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_of_two_runs_has_an_address_of_its_own() {
        let cluster = Cluster::of(&"2x local".parse().unwrap());
        let (one, other) = (Addresses::take(), Addresses::take());
        let all = [&one, &other].map(|run| run.hosts_file(&cluster, "127.0.0.1 localhost\n"));
        let mut addresses: Vec<&str> = all
            .iter()
            .flat_map(|file| file.lines().take(2))
            .map(|line| line.split(' ').next().unwrap())
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 4, "{all:?}");
        assert!(
            all[0].ends_with(" algo-2\n127.0.0.1 localhost\n"),
            "{all:?}"
        );
    }
}
