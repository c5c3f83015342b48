//! The action as it is shipped: a workflow of `act`, action.yml, the image of `scripts/image`, and a GitHub of our own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::action::workflow::{ENOUGH, NUMBER, TOO_LITTLE, Workflow, files, spec};
use crate::github::TOKEN;

/// A job whose last step reads what the action gave, whatever became of it.
const JOB: &str = "\
on: pull_request
defaults: {run: {shell: sh}}
jobs:
  gate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: ./
        id: gate
      - if: always()
        env: {OUTPUTS: '${{ toJSON(steps.gate.outputs) }}', REPORT: '${{ steps.gate.outputs.report }}'}
        run: printf '%s\\n' \"$OUTPUTS\"; wc -c < \"$REPORT\"
";

/// What `act` logged of a job.
struct Job {
    output: Output,
    log: Vec<Value>,
}

impl Job {
    /// Runs the workflow on the pull request's event.
    fn run(workflow: &Workflow) -> Self {
        let step = workflow.command();
        let variables: BTreeMap<&OsStr, &OsStr> = step
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let variable = |name: &str| variables[OsStr::new(name)].to_str().unwrap();
        let act = std::env::var("CANARY_GATE_ACT").expect("scripts/test names the program `act`");
        let mut command = Command::new(act);
        command
            .current_dir(workflow.project.root())
            .env("HOME", workflow.project.path(".runner"))
            .args(["pull_request", "--json", "--rm"])
            .args(["--workflows", ".github/workflows/gate.yml"])
            .args(["--eventpath", variable("GITHUB_EVENT_PATH")])
            .args(["--platform", "ubuntu-latest=canary-gate-runner"])
            .args(["--action-offline-mode", "--pull=false"])
            .args(["--network", "host", "--container-daemon-socket", "-"])
            .args(["--secret", &format!("GITHUB_TOKEN={TOKEN}")])
            // What `act` calls GITHUB_SHA.
            .args(["--env", &format!("SHA_REF={}", variable("GITHUB_SHA"))]);
        for name in [
            "GITHUB_API_URL",
            "GITHUB_GRAPHQL_URL",
            "GITHUB_SERVER_URL",
            "GITHUB_REPOSITORY",
            "GITHUB_RUN_ID",
            "GITHUB_RUN_ATTEMPT",
            "CANARY_GATE_PACE",
        ] {
            command.args(["--env", &format!("{name}={}", variable(name))]);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let log = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Self {
            log: log.collect(),
            output,
        }
    }

    #[track_caller]
    fn ended(self, well: bool) -> Self {
        assert_eq!(self.output.status.success(), well, "{}", self.seen());
        self
    }

    fn seen(&self) -> String {
        let lines = self.log.iter().filter_map(|line| line["msg"].as_str());
        let errors = String::from_utf8_lossy(&self.output.stderr);
        format!("{}\n{errors}", lines.collect::<Vec<_>>().join("\n"))
    }

    /// What the runner took as the step's summary.
    #[track_caller]
    fn summary(&self) -> &str {
        let line = self.log.iter().find(|line| line["command"] == "summary");
        let line = line.unwrap_or_else(|| panic!("no summary in\n{}", self.seen()));
        line["content"].as_str().unwrap()
    }

    /// What the last step read: the outputs, and the size of the report that they name.
    #[track_caller]
    fn read_by_the_last_step(&self) -> (Value, usize) {
        let printed = self
            .log
            .iter()
            .filter(|line| line["raw_output"] == true && line["stepID"][0] == "2");
        let printed: String = printed.filter_map(|line| line["msg"].as_str()).collect();
        let read = printed
            .trim()
            .rsplit_once('\n')
            .and_then(|(outputs, bytes)| {
                Some((
                    serde_json::from_str(outputs).ok()?,
                    bytes.trim().parse().ok()?,
                ))
            });
        read.unwrap_or_else(|| panic!("{printed:?} in\n{}", self.seen()))
    }
}

/// Puts the action into the checkout of the pull request, as one that the repository has itself.
fn with_action(workflow: &Workflow) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(repository.join(name)).unwrap();
    // `act` starts post steps without what the step wrote to GITHUB_STATE; a test of its own starts one.
    let action = read("action.yml").replace("  post-entrypoint: /canary-gate-post\n", "");
    assert!(!action.contains("\n  post-"));
    workflow.project.write("action.yml", &action);
    workflow.project.write("Dockerfile", &read("Dockerfile"));
    workflow.project.write(".github/workflows/gate.yml", JOB);
    copy(&repository.join("dist"), &workflow.project.path("dist"));
}

/// With modes, of which that of /tmp counts.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).expect("scripts/image made dist/") {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
}

fn docker(arguments: &[&str]) -> Output {
    Command::new("docker").args(arguments).output().unwrap()
}

/// The image alone, under a name of its own.
fn image(workflow: &Workflow) -> &'static str {
    let name = "canary-gate-chain";
    let folder = workflow.project.root().to_str().unwrap();
    let built = docker(&["build", "--quiet", "--tag", name, folder]);
    assert!(built.status.success(), "{built:?}");
    name
}

/// A container of the image with the variables of a step of the workflow.
fn container(workflow: &Workflow, entry_point: &str, more: &[&str]) -> Command {
    let step = workflow.command();
    let root = workflow.project.root().to_str().unwrap();
    let mut command = Command::new("docker");
    command
        .args(["run", "--rm", "--network", "host", "--workdir", root])
        .args(["--volume", &format!("{root}:{root}")]);
    let variables = step.get_envs().filter_map(|(name, value)| {
        let name = name.to_str()?;
        // The image has neither programs to be found nor a home.
        (!matches!(name, "PATH" | "HOME")).then_some((name, value?.to_str()?))
    });
    for (name, value) in variables {
        command.args(["--env", &format!("{name}={value}")]);
    }
    for variable in more {
        command.args(["--env", variable]);
    }
    command.args(["--entrypoint", entry_point, image(workflow), "action"]);
    command
}

/// What action.yml says of the post step.
fn post_entry_point() -> String {
    let action = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/action.yml")).unwrap();
    let line = action
        .lines()
        .find_map(|line| line.trim().strip_prefix("post-entrypoint: "));
    line.unwrap().to_owned()
}

#[test]
#[ignore = "needs a container engine; scripts/test runs it"]
fn the_job_fails_after_its_comment_and_the_comment_turns_green() {
    let mut workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    with_action(&workflow);
    let red = Job::run(&workflow).ended(false);
    let comment = workflow.github.comments(NUMBER).pop();
    let comment = comment.unwrap_or_else(|| panic!("no comment in\n{}", red.seen()));
    let (marker, text) = comment.body.split_once('\n').unwrap();
    assert!(
        marker.starts_with("<!-- canary-gate v1 spec=canary-gate.yml "),
        "{marker}"
    );
    let (shown, text) = text.split_once('\n').unwrap();
    assert!(shown.starts_with("<!-- canary-gate shown "), "{shown}");
    assert!(
        text.contains("</sub>\n\n### ❌ `xgb_reg` over budget"),
        "{text}"
    );
    assert_eq!(red.summary().trim(), text.trim());
    let (outputs, bytes) = red.read_by_the_last_step();
    assert_eq!(outputs["verdict"], "exceeded");
    assert_eq!(outputs["exit-code"], "10");
    let number = |name: &str| outputs[name].as_str().unwrap().parse::<f64>().unwrap();
    assert!(number("cost-lower") < number("cost-point"));
    assert!(number("cost-point") < number("cost-upper"));
    assert!(number("canary-cost") > 0.0);
    let address = format!("#issuecomment-{}", comment.id);
    assert!(outputs["comment-url"].as_str().unwrap().ends_with(&address));
    assert!(bytes > 1000);

    // The base's budget grew, and the branch was brought up to date.
    workflow.rebase(
        &files(&spec(ENOUGH), "print(1)\n"),
        &files(&spec(ENOUGH), "print(2)\n"),
    );
    workflow.later();
    let green = Job::run(&workflow).ended(true);
    let (outputs, _) = green.read_by_the_last_step();
    assert_eq!(outputs["verdict"], "within");
    assert_eq!(outputs["exit-code"], "0");
    let comments = workflow.github.comments(NUMBER);
    assert_eq!(comments.len(), 1, "{comments:#?}");
    assert_eq!(comments[0].id, comment.id);
    assert!(
        comments[0].body.contains("### ✅ `xgb_reg` within budget"),
        "{}",
        comments[0].body
    );
}

#[test]
#[ignore = "needs a container engine; scripts/test runs it"]
fn the_image_holds_the_program_authorities_and_a_tmp_for_everybody() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    with_action(&workflow);
    let image = image(&workflow);
    let version = docker(&["run", "--rm", "--network", "none", image, "--version"]);
    assert!(version.stdout.starts_with(b"canary-gate "), "{version:?}");
    let tmp = workflow.project.path("dist/tmp");
    assert_eq!(
        fs::metadata(tmp).unwrap().permissions().mode() & 0o7777,
        0o1777
    );
    let layers = docker(&[
        "image",
        "inspect",
        "--format",
        "{{len .RootFS.Layers}}",
        image,
    ]);
    assert_eq!(layers.stdout, b"1\n", "{layers:?}");
}

#[test]
#[ignore = "needs a container engine; scripts/test runs it"]
fn the_post_step_sweeps_and_never_fails_the_job() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    with_action(&workflow);
    // The step before it was killed: it did not say that it ended.
    let post = container(
        &workflow,
        &post_entry_point(),
        &[r#"STATE_begun=[{"jobs": ["xgb_reg"], "spec": "canary-gate.yml", "outputs": {}}]"#],
    )
    .output()
    .unwrap();
    assert!(post.status.success(), "{post:?}");
    let said = String::from_utf8_lossy(&post.stderr);
    assert!(said.contains("stopping what it left"), "{said}");
    // It swept, and ran no gate.
    assert_eq!(workflow.github.comments(NUMBER), []);
}

#[test]
#[ignore = "needs a container engine; scripts/test runs it"]
fn the_post_step_of_a_step_that_never_started_is_no_gate() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    with_action(&workflow);
    let post = container(&workflow, &post_entry_point(), &[])
        .output()
        .unwrap();
    assert!(post.status.success(), "{post:?}");
    assert_eq!(workflow.github.requests(), []);
}
