//! `history list`, `show` and `export`, over records that were written by hand.

use serde_json::{Value, json};

use crate::project::{Finished, Project};

const KEY: &str = "3f9c2e1d8a7054b6c1f2e3d4a5b6c7d83f9c2e1d8a7054b6c1f2e3d4a5b6c7d8";

/// A record, at a minute of 2026-11-21.
struct Record {
    scope: &'static str,
    minute: u32,
    value: Value,
}

fn record(minute: u32, content: &Value) -> Record {
    Record {
        scope: "main",
        minute,
        value: json!({
            "schema_version": 1,
            "tool_version": "0.1.0",
            "recorded_at": format!("2026-11-21T{:02}:{:02}:07Z", minute / 60, minute % 60),
            "job": "churn",
            "writer": {"event": "push", "command": "run", "branch": "main", "run_url": "https://github.com/acme/churn/actions/runs/7"},
            "commit": "8d1f0c7a5b3e9d2c4f6a8b0e1d3c5a7f9b2d4e6f",
            "code_key": KEY,
            "data_key": KEY,
            "content": content,
        }),
    }
}

fn measurement(fraction: f64) -> Value {
    json!({
        "schema_version": 1, "job": "churn", "instance": "ml.m5.2xlarge", "fraction": fraction, "replicate": 0,
        "attempt": 0, "outcome": {"kind": "completed"}, "training_seconds": 61.5, "cost": 0.0079,
        "ended_at": "2026-11-21T08:00:00Z",
    })
}

fn estimate(point: f64) -> Value {
    json!({"point": point, "lower": point * 0.9, "upper": point * 1.2, "level": 0.9})
}

fn canary(minute: u32, fraction: f64) -> Record {
    record(
        minute,
        &json!({"kind": "canary", "canary_key": KEY, "measurement": measurement(fraction)}),
    )
}

fn forecast(minute: u32) -> Record {
    record(
        minute,
        &json!({
            "kind": "forecast", "verdict": "within", "is_baseline": true,
            "measurements": [measurement(0.01), measurement(0.05)],
            "forecasts": [
                {
                    "instance": "ml.m5.2xlarge", "verdict": "within",
                    "estimates": {"time_seconds": estimate(9000.0), "cost_usd": estimate(1.15), "memory_percent": estimate(40.0)},
                    "price": {"usd_per_hour": 0.461, "source": "spec", "evidence": "spec"},
                },
                {"instance": "ml.c5.4xlarge", "verdict": "not_judged", "not_measured": "needs up to 3.20 USD"},
            ],
        }),
    )
}

impl Record {
    fn of_pull_request(mut self, number: u64) -> Self {
        self.scope = "pr/12";
        self.value["writer"]["event"] = json!("pull_request");
        self.value["writer"]["pull_request"] = json!(number);
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.value);
        self
    }

    /// As the name of its file has it.
    fn id(&self) -> String {
        format!("{:016x}", self.minute)
    }

    fn path(&self) -> String {
        let kind = self.value["content"]["kind"].as_str().unwrap();
        format!(
            "{}/churn/20261121T{:02}{:02}07.000Z-{kind}-{}-{}.json",
            self.scope,
            self.minute / 60,
            self.minute % 60,
            &KEY[..16],
            self.id()
        )
    }
}

const SPEC: &str = "\
version: 1
backend: local
jobs:
  churn:
    training: {command: [sh, train.sh], channels: {train: {uri: data}}}
    instance: local
    budget: {time: 1h}
";

fn project(records: &[Record]) -> Project {
    let project = Project::empty().file("canary-gate.yml", SPEC);
    for record in records {
        keep(&project, ".canary-gate", record);
    }
    project
}

fn keep(project: &Project, folder: &str, record: &Record) {
    let path = format!("{folder}/{}", record.path());
    project.write(&path, &format!("{}\n", record.value));
}

fn lines(finished: &Finished) -> Vec<&str> {
    finished.stdout.lines().collect()
}

#[test]
fn a_list_is_a_line_for_each_record_newest_first() {
    let project = project(&[
        canary(481, 0.01),
        canary(482, 0.05),
        forecast(483),
        forecast(600).of_pull_request(12).with(|value| {
            value["content"]["verdict"] = json!("exceeded");
            value["content"]["is_baseline"] = json!(false);
        }),
    ]);
    let listed = project.run(&["history", "list"]).ended_with(0);
    insta::assert_snapshot!("history_list", listed.seen());
    let narrow = ["120", "80"].map(|columns| {
        let narrow = project.run_with(&["history", "list"], |command| {
            command.env("COLUMNS", columns);
        });
        narrow.stdout
    });
    insta::assert_snapshot!("history_list_narrow", narrow.join("---\n"));
    let id = forecast(483).id();
    let page = ["history", "show", &id, "--format", "terminal"];
    let shown = project.run(&page).ended_with(0);
    insta::assert_snapshot!("history_show", shown.seen());
    let exported = project.run(&["history", "export"]).ended_with(0);
    insta::assert_snapshot!("history_export", exported.seen());
}

#[test]
fn a_list_says_how_many_it_leaves_out_and_names_what_is_damaged() {
    let project = project(&[canary(1, 0.01), canary(2, 0.02), forecast(3)]);
    let two = project
        .run(&["history", "list", "--limit", "2"])
        .ended_with(0)
        .reported("1 more record not shown");
    assert_eq!(lines(&two).len(), 5);
    project.write(
        &format!(".canary-gate/{}", canary(2, 0.02).path()),
        "{\"schema",
    );
    let rest = project
        .run(&["history", "list", "--format", "json"])
        .ended_with(0)
        .complained("warning: skipped an unreadable record of the history: ")
        .complained("cut short");
    assert_eq!(rest.json()["records"].as_array().unwrap().len(), 2);
    assert_eq!(rest.json()["damaged"].as_array().unwrap().len(), 1);
}

#[test]
fn an_empty_history_is_no_failure() {
    let project = project(&[]);
    project
        .run(&["history", "list"])
        .ended_with(0)
        .reported("there is no record yet");
    let exported = project.run(&["history", "export"]).ended_with(0);
    assert_eq!(lines(&exported).len(), 1);
    assert!(!project.path(".canary-gate").exists());
}

#[test]
fn a_record_is_shown_whole_by_its_id_or_its_name() {
    let project = project(&[canary(1, 0.01), forecast(3)]);
    let wanted = forecast(3);
    let path = wanted.path();
    let name = path.rsplit('/').next().unwrap();
    for id in [
        wanted.id().as_str(),
        name,
        name.trim_end_matches(".json"),
        &path,
        &format!(".canary-gate/{path}"),
        &format!("./{name}"),
        project
            .path(&format!(".canary-gate/{path}"))
            .to_str()
            .unwrap(),
    ] {
        let shown = project.run(&["history", "show", id]).ended_with(0);
        assert_eq!(shown.json()["commit"], wanted.value["commit"]);
        assert_eq!(
            shown.json()["content"]["measurements"],
            wanted.value["content"]["measurements"]
        );
    }
}

#[test]
fn an_unknown_id_is_an_error_with_what_is_near_it_and_a_damaged_one_with_why() {
    let project = project(&[canary(1, 0.01), forecast(3)]);
    project
        .run(&["history", "show", "0000000000000030"])
        .ended_with(2)
        .complained("0000000000000003");
    project
        .run(&["history", "show", "something else"])
        .ended_with(2)
        .complained("history list");
    project.write(&format!(".canary-gate/{}", forecast(3).path()), "");
    project
        .run(&["history", "show", &forecast(3).id()])
        .ended_with(1)
        .complained("it is empty");
}

#[test]
fn as_many_as_asked_for_are_listed_though_newer_ones_are_damaged() {
    let project = project(&[canary(1, 0.01), canary(2, 0.02), forecast(3), forecast(4)]);
    for damaged in [forecast(3), forecast(4)] {
        project.write(&format!(".canary-gate/{}", damaged.path()), "{");
    }
    let one = project
        .run(&["history", "list", "--limit", "1"])
        .ended_with(0)
        .reported(&canary(2, 0.02).id())
        .reported("1 more record not shown; `--limit 4` shows all");
    assert!(!one.stdout.contains(&canary(1, 0.01).id()));
    let all = project
        .run(&["history", "list", "--limit", "4"])
        .ended_with(0)
        .reported(&canary(1, 0.01).id());
    assert!(!all.stdout.contains("not shown"), "{}", all.stdout);
    for damaged in [canary(1, 0.01), canary(2, 0.02)] {
        project.write(&format!(".canary-gate/{}", damaged.path()), "{");
    }
    project
        .run(&["history", "list"])
        .ended_with(0)
        .reported("none of the records can be read");
}

#[test]
fn an_unknown_job_is_an_error_with_those_that_are_known() {
    let gone = forecast(1).with(|value| {
        value["job"] = json!("gone");
        for run in value["content"]["measurements"].as_array_mut().unwrap() {
            run["job"] = json!("gone");
        }
    });
    let project = project(&[]);
    let path = gone.path().replace("/churn/", "/gone/");
    project.write(&format!(".canary-gate/{path}"), &gone.value.to_string());
    for command in ["list", "export"] {
        project
            .run(&["history", command, "--job", "nope"])
            .ended_with(2)
            .complained("no record of a job `nope`")
            .complained("churn, gone");
        // One that is gone from the spec is shown, and one that has no record yet is no mistake.
        let listed = project.run(&["history", command, "--job", "gone"]);
        listed.ended_with(0).reported(&gone.id());
        project
            .run(&["history", command, "--job", "churn"])
            .ended_with(0);
    }
    project
        .run(&["history", "list", "--job", "churn"])
        .reported("there is no record of the job `churn` yet");
    let pull_request = in_actions(&project, &["history", "list", "--job", "churn"]);
    pull_request
        .ended_with(0)
        .reported("no record of the job `churn` that this run (`pr/12`) may read");
}

#[test]
fn a_record_of_a_newer_version_is_not_called_damaged() {
    let newer = forecast(1).with(|value| value["schema_version"] = json!(2));
    let project = project(std::slice::from_ref(&newer));
    let shown = project
        .run(&["history", "show", &newer.id()])
        .ended_with(1)
        .complained("newer canary-gate (schema 2)")
        .complained("nothing is wrong with the record");
    let text = shown.seen();
    assert!(
        !text.contains("damaged") && !text.contains("remove"),
        "{text}"
    );
}

#[test]
fn accepted_checks_are_told_apart_in_a_list() {
    let check = |minute, is_baseline: bool, drifted: Option<bool>| {
        forecast(minute).with(|value| {
            value["writer"]["command"] = json!("drift");
            value["content"]["is_baseline"] = json!(is_baseline);
            value["content"]["drifted"] = json!(drifted);
        })
    };
    project(&[
        check(1, true, None),
        check(2, false, Some(true)),
        check(3, true, Some(true)),
    ])
    .run(&["history", "list"])
    .ended_with(0)
    .reported("check for drift, baseline  ")
    .reported("check for drift, drifted  ")
    .reported("check for drift, drifted, accepted  ");
}

#[test]
fn an_export_is_of_the_format_that_its_file_is_named_for() {
    let project = project(&[canary(1, 0.01)]);
    let export = |more: &[&str]| project.run(&[&["history", "export"], more].concat());
    export(&["-o", "out.jsonl"]).ended_with(0);
    assert!(project.read("out.jsonl").starts_with('{'));
    export(&["-o", "out.csv"]).ended_with(0);
    assert!(project.read("out.csv").starts_with("recorded_at,"));
    export(&["-o", "seed.csv", "--format", "seed"]).ended_with(0);
    for (name, format) in [("a.jsonl", "csv"), ("a.jsonl", "seed"), ("a.csv", "jsonl")] {
        export(&["-o", name, "--format", format])
            .ended_with(2)
            .complained("--format")
            .complained(name);
        assert!(!project.path(name).exists());
    }
}

#[test]
fn json_shows_what_cannot_be_seen_and_means_the_same() {
    let hostile = "a\u{9b}31m\u{202e}b\u{200b}\u{7f}\u{1b}\u{e0041}é\n";
    let record = forecast(1).with(|value| value["commit"] = json!(hostile));
    let id = record.id();
    let project = project(&[record]);
    for arguments in [
        &["history", "show", &id][..],
        &["history", "list", "--format", "json"],
    ] {
        let shown = project.run(arguments).ended_with(0);
        let plain = |character: char| {
            character == '\n' || character == 'é' || (' '..='~').contains(&character)
        };
        assert!(shown.stdout.chars().all(plain), "{}", shown.stdout);
        let value = shown.json();
        let commit = [&value["commit"], &value["records"][0]["commit"]];
        assert!(commit.contains(&&json!(hostile)), "{}", shown.stdout);
    }
}

#[test]
fn a_canary_is_exported_once_though_forecasts_rest_on_it() {
    let project = project(&[canary(1, 0.01), canary(2, 0.05), forecast(3), forecast(4)]);
    let exported = project
        .run(&["history", "export", "--format", "jsonl"])
        .ended_with(0);
    assert_eq!(lines(&exported).len(), 2);
    let seed = project
        .run(&[
            "history", "export", "--format", "seed", "--output", "runs.csv",
        ])
        .ended_with(0);
    assert_eq!(seed.stdout, "");
    let table = project.read("runs.csv");
    assert_eq!(table.lines().count(), 3);
    assert!(table.starts_with("TrainingJobStatus,"), "{table}");
    // What is exported can be forecast from.
    project
        .run(&["forecast", "runs.csv", "--format", "json"])
        .reported("churn");
}

#[test]
fn hostile_text_is_harmless_wherever_it_is_shown() {
    let hostile = "\u{1b}[2J\n::error::owned\u{9b}31m\u{202e}";
    let huge = forecast(3).with(|value| {
        value["commit"] = json!(hostile);
        value["writer"]["branch"] = json!(format!("=cmd|' /C calc'!A0{hostile}"));
        value["writer"]["run_url"] = json!("x".repeat(100_000));
        let first = &mut value["content"]["forecasts"][0];
        first["estimates"]["time_seconds"] =
            json!({"point": 1e300, "lower": -1e300, "upper": 1e308, "level": 0.9});
        first["estimates"]["cost_usd"] =
            json!({"point": 1e300, "lower": 0, "upper": 1e308, "level": 0.9});
        value["content"]["forecasts"][1]["not_measured"] = json!(hostile.repeat(50));
    });
    let failed = canary(4, 1e-300).with(|value| {
        value["content"]["measurement"]["outcome"] =
            json!({"kind": "failed", "exit_code": -2_147_483_648, "last_line": hostile});
        value["content"]["measurement"]["replicate"] = json!(u32::MAX);
    });
    let ids = [huge.id(), failed.id()];
    let project = project(&[huge, failed]);
    let mut seen = vec![project.run(&["history", "list"]).ended_with(0)];
    for id in &ids {
        let page = ["history", "show", id.as_str(), "--format", "terminal"];
        seen.push(project.run(&page).ended_with(0));
    }
    seen.push(project.run(&["history", "export"]).ended_with(0));
    for finished in &seen {
        let text = finished.seen();
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{text}");
        assert!(
            !text.lines().any(|line| line.trim_start().starts_with("::")),
            "{text}"
        );
        assert!(!text.contains(",=cmd"), "{text}");
        assert!(text.lines().all(|line| line.len() < 2000), "{text}");
    }
    project
        .run(&["history", "export", "--format", "jsonl"])
        .ended_with(0);
    project
        .run(&["history", "export", "--format", "seed"])
        .ended_with(0);
}

/// As a step of GitHub Actions on a pull request.
fn in_actions(project: &Project, arguments: &[&str]) -> Finished {
    project.run_with(arguments, |command| {
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", "pull_request")
            .env("GITHUB_REF", "refs/pull/12/merge");
    })
}

#[test]
fn a_pull_request_sees_its_own_records_and_those_of_the_default_branch() {
    let mut other = forecast(4);
    other.scope = "pr/13";
    let project = project(&[forecast(1), forecast(2).of_pull_request(12), other]);
    let seen = in_actions(&project, &["history", "list", "--format", "json"]).ended_with(0);
    assert_eq!(seen.json()["count"], 2);
    let all = project.run(&["history", "list", "--format", "json"]);
    assert_eq!(all.json()["count"], 3);
}

#[test]
fn a_history_that_git_tracks_is_refused_everywhere() {
    let spec = SPEC.replace("backend:", "history: records\nbackend:");
    let project = Project::empty().file("canary-gate.yml", &spec);
    keep(&project, "records", &forecast(1));
    let project = project.committed();
    for seen in [
        project.run(&["history", "list"]),
        in_actions(&project, &["history", "list"]),
    ] {
        seen.ended_with(2).complained("git rm -r --cached records");
    }
    project.git(&["rm", "-r", "--quiet", "--cached", "records"]);
    in_actions(&project, &["history", "list"]).ended_with(0);
}

#[test]
fn a_history_behind_a_link_is_refused_where_git_or_somebody_else_owns_it() {
    let spec = SPEC.replace("backend:", "history: records\nbackend:");
    let project = Project::empty().file("canary-gate.yml", &spec);
    keep(&project, "committed/below", &forecast(1));
    let project = project.committed();
    std::os::unix::fs::symlink("committed/below", project.path("records")).unwrap();
    in_actions(&project, &["history", "list"])
        .ended_with(2)
        .complained("git tracks committed/below");
    std::fs::remove_file(project.path("records")).unwrap();
    // The link itself is a file of the commit.
    std::fs::create_dir(project.path("untracked")).unwrap();
    std::os::unix::fs::symlink("untracked", project.path("records")).unwrap();
    project.commit("link");
    in_actions(&project, &["history", "list"])
        .ended_with(2)
        .complained("git tracks records");
    std::fs::remove_file(project.path("records")).unwrap();
    std::os::unix::fs::symlink("/tmp", project.path("records")).unwrap();
    project
        .run(&["history", "list"])
        .ended_with(2)
        .complained("leads outside the checkout");
}
