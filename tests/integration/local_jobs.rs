//! Several jobs on one machine: one after another, or at once where `canary.parallel` says so.

use crate::project::{Finished, Project};

/// Each canary leaves a mark while it runs, looks for that of another job `LOOKS` times, and says so where it sees one.
const SCRIPT: &str = "\
mkdir -p 'ROOT/running'
touch \"ROOT/running/$1-$$\"
for look in $(seq LOOKS); do
    if [ -e ROOT/met ] || ls ROOT/running | grep -qv \"^$1-\"; then
        touch ROOT/met
        break
    fi
    sleep 0.05
done
rm \"ROOT/running/$1-$$\"
";

/// Two jobs like that.
fn two_jobs(canary: &str, looks: u32) -> (Project, Finished) {
    let project = Project::with_script("");
    let root = project.root().display().to_string();
    let script = SCRIPT.replace("ROOT", &root);
    project.write("train.sh", &script.replace("LOOKS", &looks.to_string()));
    let one = project.read("canary-gate.yml");
    let (head, job) = one.split_once("  sums:\n").unwrap();
    let job = job.replace("replicates: 2", &format!("replicates: 1{canary}"));
    let jobs: String = ["first", "second"]
        .map(|name| {
            let command = format!("[sh, train.sh, {name}]");
            format!("  {name}:\n{}", job.replace("[sh, train.sh]", &command))
        })
        .concat();
    project.write("canary-gate.yml", &format!("{head}{jobs}"));
    let finished = project.run(&["run", "--all", "--format", "json"]);
    (project, finished)
}

const BESIDE: &str =
    "Canaries of other jobs ran on this machine at the same time, which inflates their times";

#[test]
fn jobs_on_one_machine_run_one_after_another() {
    let (project, finished) = two_jobs("", 4);
    assert!(!project.path("met").exists(), "{}", finished.seen());
    assert!(!finished.stdout.contains(BESIDE), "{}", finished.seen());
}

#[test]
fn where_both_jobs_let_two_canaries_run_they_run_at_once_and_the_report_says_so() {
    let (project, finished) = two_jobs(", parallel: 2", 600);
    assert!(project.path("met").exists(), "{}", finished.seen());
    for job in finished.json()["jobs"].as_array().unwrap() {
        assert!(
            job["notes"].to_string().contains(BESIDE),
            "{}",
            job["notes"]
        );
    }
}
