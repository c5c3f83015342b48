//! Many gates, and many jobs: what AWS is asked, and how patiently.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{FIXED, created, gate, project, spec};
use crate::aws::{FakeAws, Fault, Operation, Timeline};
use crate::project::Project;

/// Starts so many gates of different changes at once, where the account creates one job a second. Returns how many ended well.
fn gates_at_once(count: usize, pace: f64) -> usize {
    let aws: FakeAws = super::with_data();
    aws.train(|_| Timeline::completed());
    aws.quota("ml.m5.xlarge for training job usage", 1000.0);
    aws.one_create_in(Duration::from_secs(1).mul_f64(pace));
    let begin = Instant::now();
    let gates: Vec<(Project, std::process::Child)> = (0..count)
        .map(|number| {
            let spec = spec(FIXED).replace("epochs: 5", &format!("epochs: {number}"));
            let project = Project::empty()
                .file("canary-gate.yml", &spec)
                .file("code/train.py", "print('trained')\n");
            let mut command = project.gate(&["run", "--all"]);
            aws.reach(&mut command);
            command.env("CANARY_GATE_PACE", pace.to_string());
            let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
            (project, child.unwrap())
        })
        .collect();
    let mut said = String::new();
    let mut well = 0;
    for (_, gate) in gates {
        let output = gate.wait_with_output().unwrap();
        well += usize::from(output.status.code() == Some(0));
        said.push_str(&String::from_utf8(output.stderr).unwrap());
    }
    let throttled: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("throttled"))
        .collect();
    println!(
        "{well} of {count} gates ended with 0, {} creates throttled, {:.0} s at pace 1\n{}",
        aws.calls(Operation::CreateTrainingJob) - created(&aws).len() as u64,
        begin.elapsed().as_secs_f64() / pace,
        throttled.first().unwrap_or(&"")
    );
    well
}

#[test]
fn twenty_gates_at_once_all_get_their_turn() {
    assert_eq!(gates_at_once(20, 0.05), 20);
}

#[test]
#[ignore = "takes minutes: twenty gates as fast as in life"]
fn twenty_gates_in_real_time() {
    assert_eq!(gates_at_once(20, 1.0), 20);
}

#[test]
fn what_hangs_is_given_up() {
    for operation in [
        Operation::GetCallerIdentity,
        Operation::CreateTrainingJob,
        Operation::DescribeTrainingJob,
    ] {
        let (project, aws) = project(FIXED);
        aws.fail(operation).with(Fault::Silent);
        let run = project.run_with(&["run", "--all"], |command| {
            aws.reach(command);
            command.env("CANARY_GATE_PACE", "0.005");
        });
        println!("{}", run.seen());
        run.ended_with(14).complained("AWS gave no usable answer");
    }
}

#[test]
fn many_jobs_ask_for_prices_quotas_and_identity_once() {
    let (project, aws) = project(FIXED);
    let one = project.read("canary-gate.yml");
    let (head, job) = one.split_once("  churn:\n").unwrap();
    let types = [
        "ml.m5.xlarge",
        "ml.m5.2xlarge",
        "ml.c5.xlarge",
        "ml.g5.xlarge",
    ];
    let jobs: String = (0..8)
        .map(|number| {
            let job = job.replace("ml.m5.xlarge", types[number % 4]);
            format!("  churn{number}:\n{job}")
        })
        .collect();
    project.write("canary-gate.yml", &format!("{head}{jobs}"));
    aws.page_size(10);
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let calls = [
        Operation::GetCallerIdentity,
        Operation::GetProducts,
        Operation::ListServiceQuotas,
    ]
    .map(|operation| aws.calls(operation));
    assert_eq!(calls[0..2], [1, 4]);
    // Never a page twice.
    assert!(calls[2] <= 4, "{calls:?}");
}
