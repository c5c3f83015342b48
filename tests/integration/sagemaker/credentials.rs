//! No credentials: who is asked for them, and what is said.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{FIXED, project};
use crate::aws::FakeAws;

/// What listens at the address of the metadata service on a machine that is not AWS's.
struct OtherService {
    address: String,
    asked: Arc<AtomicU32>,
}

impl OtherService {
    fn answering(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicU32::new(0));
        let count = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut line = String::new();
                while reader.read_line(&mut line).unwrap_or(0) > 2 {
                    line.clear();
                }
                count.fetch_add(1, Ordering::Relaxed);
                let answer = format!(
                    "HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                let _ = reader.get_mut().write_all(answer.as_bytes());
            }
        });
        Self { address, asked }
    }

    fn reach(&self, aws: &FakeAws, command: &mut Command) {
        aws.reach(command);
        command
            .env_remove("AWS_ACCESS_KEY_ID")
            .env_remove("AWS_SECRET_ACCESS_KEY")
            .env_remove("AWS_EC2_METADATA_DISABLED")
            .env("AWS_EC2_METADATA_SERVICE_ENDPOINT", &self.address)
            .env("CANARY_GATE_PACE", "0");
    }
}

#[test]
fn a_service_that_is_no_metadata_service_gives_no_credentials() {
    for status in [400, 403, 405] {
        let (project, aws) = project(FIXED);
        let other = OtherService::answering(status);
        let run = project.run_with(&["run", "--all"], |command| other.reach(&aws, command));
        run.ended_with(1)
            .complained("there are no AWS credentials")
            .complained("aws sso login");
        assert!(other.asked.load(Ordering::Relaxed) > 0);
        project
            .run_with(
                &[
                    "init",
                    "--from-job",
                    "churn",
                    "--region",
                    "us-east-1",
                    "new.yml",
                ],
                |command| other.reach(&aws, command),
            )
            .ended_with(1)
            .complained("there are no AWS credentials");
    }
}

#[test]
fn a_profile_that_is_not_there_is_named() {
    let (project, aws) = project(FIXED);
    let other = OtherService::answering(405);
    let run = project.run_with(&["run", "--all"], |command| {
        other.reach(&aws, command);
        command.env("AWS_PROFILE", "nope");
    });
    run.ended_with(1)
        .complained("nor in the profile `nope` of AWS_PROFILE");
}

#[test]
fn in_github_actions_the_machine_is_not_asked() {
    let (project, aws) = project(FIXED);
    let other = OtherService::answering(404);
    let gate = |setting: &str| {
        let run = project.run_with(&["run", "--all"], |command| {
            other.reach(&aws, command);
            command.env("GITHUB_ACTIONS", "true");
            command.env("AWS_EC2_METADATA_DISABLED", setting);
        });
        run.ended_with(1)
            .complained("there are no AWS credentials")
            .complained("AWS_EC2_METADATA_DISABLED: false");
        other.asked.load(Ordering::Relaxed)
    };
    assert_eq!(gate(""), 0);
    assert!(gate("false") > 0);
}
