//! Unchanged inputs are never paid for twice: canaries of earlier runs stand for those of a new one.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::cases;
use crate::project::{Finished, Project};

/// A job whose every start leaves a line in a file beside the project, with a price so that it saves something.
struct Counted {
    project: Project,
    starts: tempfile::NamedTempFile,
}

const SPEC: &str = "\
version: 1
backend: local
prices: {local: 3600 USD/h}
jobs:
  sums:
    paths: [train.sh, '!**/*.md']
    training:
      command: [sh, train.sh]
      channels:
        train: {uri: data}
      environment: {DEPTH: '5'}
    instance: local
    canary: {design: fixed, max_share: 10000%, fractions: [1%, 2%, 3%], replicates: 2, max_runtime: 1m, spend_limit: 9000 USD}
    budget: {cost: 50000 USD}
";

impl Counted {
    fn new() -> Self {
        Self::with_script("")
    }

    fn with_script(more: &str) -> Self {
        let starts = tempfile::NamedTempFile::new().unwrap();
        let script = format!("echo start >> {}\n{more}", starts.path().display());
        let project = Project::empty()
            .file("canary-gate.yml", SPEC)
            .file("train.sh", &script)
            .file("notes.md", "what we thought")
            .data("data", 100)
            .file(".gitignore", ".canary-gate/\n")
            .committed();
        Self { project, starts }
    }

    fn run(&self, more: &[&str]) -> Finished {
        let arguments = ["run", "--all", "--quiet", "--format", "json"];
        self.project.run(&[&arguments[..], more].concat())
    }

    /// How many canaries were started since the last time that this was asked.
    fn started(&self) -> usize {
        let count = fs::read_to_string(self.starts.path())
            .unwrap()
            .lines()
            .count();
        fs::write(self.starts.path(), "").unwrap();
        count
    }

    fn records(&self) -> Vec<PathBuf> {
        let folder = self.project.path(".canary-gate/local/sums");
        let mut files: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        files
    }

    /// Makes all records so many hours older.
    fn age(&self, hours: i64) {
        for path in self.records() {
            let text = fs::read_to_string(&path).unwrap();
            let mut record: Value = serde_json::from_str(&text).unwrap();
            let measurement = &mut record["content"]["measurement"];
            if let Some(ended) = measurement.get_mut("ended_at") {
                let then: jiff::Timestamp = ended.as_str().unwrap().parse().unwrap();
                let earlier = then - jiff::SignedDuration::from_hours(hours);
                *ended = Value::String(earlier.to_string());
                fs::write(&path, record.to_string()).unwrap();
            }
        }
    }

    fn edit_spec(&self, from: &str, to: &str) {
        assert!(SPEC.contains(from));
        self.project
            .write("canary-gate.yml", &SPEC.replace(from, to));
    }
}

fn measurements(report: &Value) -> &Vec<Value> {
    report["jobs"][0]["measurements"].as_array().unwrap()
}

#[test]
fn a_script_that_the_command_names_by_its_whole_path_counts() {
    let counted = Counted::new();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    let script = |more: &str| {
        let start = counted.project.read("train.sh");
        fs::write(elsewhere.path(), format!("{start}{more}")).unwrap();
    };
    let command = format!("[sh, {}]", elsewhere.path().display());
    let spec = SPEC.replace("[sh, train.sh]", &command);
    counted.project.write("canary-gate.yml", &spec);
    counted.project.commit("a script elsewhere");
    for (more, starts) in [("", 6), ("", 0), ("sleep 0.01\n", 6)] {
        script(more);
        counted.run(&[]).ended_with(0);
        assert_eq!(counted.started(), starts, "{more:?}");
    }
}

#[test]
fn the_same_inputs_are_measured_once() {
    let counted = Counted::new();
    let first = counted.run(&[]).ended_with(0).json();
    assert_eq!(counted.started(), 6);
    let second = counted.run(&[]).ended_with(0).json();
    assert_eq!(counted.started(), 0);
    for run in measurements(&second) {
        assert!(run["reused"]["age_days"].as_f64().unwrap() < 1.0, "{run}");
        assert!(run["reused"]["saved_usd"].as_f64().unwrap() > 0.0, "{run}");
        assert!(run.get("cost").is_none(), "{run}");
    }
    assert_eq!(
        first["jobs"][0]["forecasts"][0]["estimates"],
        second["jobs"][0]["forecasts"][0]["estimates"]
    );
    assert!(second["jobs"][0]["spend"].get("canary_usd").is_none());
    counted
        .project
        .run(&["run", "--all", "--quiet"])
        .ended_with(0)
        .reported("all from earlier runs (the newest less than an hour old), which saved");
}

#[test]
fn what_changes_what_a_canary_does_is_measured_anew_and_nothing_else_is() {
    let counted = Counted::new();
    let project = &counted.project;
    for case in cases::read(include_str!("cases/reuse.txt")) {
        project.write("canary-gate.yml", &case.edited(SPEC));
        for write in case.all("write") {
            let (file, content) = write.split_once(' ').unwrap();
            project.write(file, content);
        }
        for append in case.all("append") {
            let (file, more) = append.split_once(' ').unwrap();
            project.write(file, &format!("{}\n{more}\n", project.read(file)));
        }
        for edit in case.all("edit data") {
            let (from, to) = edit.split_once(" => ").unwrap();
            let data = project.read("data/part-099.csv");
            project.write("data/part-099.csv", &data.replace(from, to));
        }
        for days in case.all("days") {
            counted.age(24 * days.parse::<i64>().unwrap());
        }
        for folder in case.all("without") {
            fs::remove_dir_all(project.path(folder)).unwrap();
        }
        let more: Vec<&str> = case.all("run").collect();
        counted.run(&more).ended_with(0);
        assert_eq!(
            counted.started().to_string(),
            case.one("starts"),
            "{}",
            case.name
        );
    }
}

#[test]
fn a_canary_that_was_handed_another_variable_is_another() {
    let counted = Counted::new();
    let run = |value: &str| {
        let arguments = ["run", "--all", "--quiet", "--pass-env", "MODE"];
        let run = counted.project.run_with(&arguments, |command| {
            command.env("MODE", value);
        });
        run.ended_with(0);
        counted.started()
    };
    assert_eq!([run("slow"), run("slow"), run("fast")], [6, 0, 6]);
}

#[test]
fn prices_are_always_todays() {
    let counted = Counted::new();
    let cost = |report: &Value| {
        report["jobs"][0]["forecasts"][0]["estimates"]["cost_usd"]["point"]
            .as_f64()
            .unwrap()
    };
    let before = cost(&counted.run(&[]).ended_with(0).json());
    counted.edit_spec("3600 USD/h", "7200 USD/h");
    counted.edit_spec("3600 USD/h", "7200 USD/h");
    let after = cost(&counted.run(&[]).json());
    assert!((after / before - 2.0).abs() < 1e-9, "{before} {after}");
}

#[test]
fn a_gate_that_was_killed_goes_on_where_it_was() {
    let counted = Counted::with_script(
        "if [ $(wc -l < \"$COUNT\") -eq 4 ]; then\n\
         kill -9 $(cut -d' ' -f4 < /proc/$PPID/stat)\nexec sleep 600\nfi\n",
    );
    // The script's parent is the probe, whose parent is the gate; without it the probe ends the script.
    let spec = SPEC.replace(
        "DEPTH: '5'",
        &format!("COUNT: '{}'", counted.starts.path().display()),
    );
    counted.project.write("canary-gate.yml", &spec);
    let killed = counted.run(&[]);
    assert_eq!(killed.code, -1, "{}", killed.seen());
    fs::write(counted.starts.path(), "").unwrap();
    let report = counted.run(&[]).ended_with(0).json();
    assert_eq!(counted.started(), 3);
    let reused = measurements(&report)
        .iter()
        .filter(|run| run.get("reused").is_some());
    assert_eq!(reused.count(), 3);
}

#[test]
fn a_damaged_record_is_named_and_its_canary_run_again() {
    let counted = Counted::new();
    counted.run(&[]).ended_with(0);
    counted.started();
    let records = counted.records();
    let canary = |path: &&PathBuf| path.to_string_lossy().contains("-canary-");
    let damaged = records.iter().find(canary).unwrap();
    let text = fs::read_to_string(damaged).unwrap();
    fs::write(damaged, &text[..text.len() / 2]).unwrap();
    let name = damaged.file_name().unwrap().to_str().unwrap();
    counted.run(&[]).ended_with(0).complained(name);
    assert_eq!(counted.started(), 1);
}

#[test]
fn two_gates_at_once_lose_nothing() {
    // The first canary of each waits for that of the other.
    let counted = Counted::new();
    let starts = counted.starts.path().display();
    let script = format!(
        "echo start >> {starts}\nwhile [ $(wc -l < {starts}) -lt 2 ]; do sleep 0.01; done\n"
    );
    counted.project.write("train.sh", &script);
    let arguments = ["run", "--all", "--quiet", "--format", "json"];
    let both: Vec<_> = (0..2)
        .map(|_| {
            counted
                .project
                .gate(&arguments)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut gate in both {
        assert!(gate.wait().unwrap().success());
    }
    let forecasts = counted
        .records()
        .iter()
        .filter(|path| path.to_string_lossy().contains("-forecast-"))
        .count();
    assert_eq!(forecasts, 2);
    assert!(counted.started() >= 6);
    counted.run(&[]).ended_with(0);
    assert_eq!(counted.started(), 0);
}

#[test]
fn the_same_objects_drawn_for_another_fraction_count_once_for_it() {
    let counted = Counted::new();
    counted.run(&[]).ended_with(0);
    counted.started();
    counted.edit_spec("fractions: [1%, 2%, 3%]", "fractions: [1.2%, 2.2%, 3.3%]");
    let report = counted.run(&[]).ended_with(0).json();
    assert_eq!(counted.started(), 0);
    let percent = |run: &Value| (run["fraction"].as_f64().unwrap() * 1000.0).round() / 10.0;
    let percents: Vec<f64> = measurements(&report).iter().map(percent).collect();
    assert_eq!(percents, [1.2, 2.2, 3.3, 1.2, 2.2, 3.3]);
}

#[test]
fn a_history_that_cannot_be_written_costs_nothing() {
    let counted = Counted::new();
    counted.edit_spec("backend: local", "backend: local\nhistory: records");
    counted.project.write("records", "a file");
    counted.run(&[]).ended_with(1).complained("records");
    assert_eq!(counted.started(), 0);
}

/// A canary of one job may rewrite the source of the next.
#[test]
fn a_source_that_changes_while_canaries_run_gets_no_further_canary() {
    for with_git in [true, false] {
        let job = SPEC.split_once("jobs:\n").unwrap().1;
        let other = job
            .replace("  sums:", "  totals:")
            .replace("train.sh", "other.sh");
        let project = Project::empty()
            .file("canary-gate.yml", &format!("{SPEC}{other}"))
            .file("train.sh", "echo 'echo fast' > \"$TOP/other.sh\"\n")
            .file("other.sh", "echo slow\n")
            .data("data", 100)
            .file(".gitignore", ".canary-gate/\n");
        let top = format!("TOP: '{}'", project.root().display());
        project.write(
            "canary-gate.yml",
            &project.read("canary-gate.yml").replace("DEPTH: '5'", &top),
        );
        let project = if with_git {
            project.committed()
        } else {
            project
        };
        project
            .run(&["run", "--all", "--quiet"])
            .ended_with(1)
            .complained("other.sh has changed since this run read it");
        let of_other = project
            .recorded("canary")
            .into_iter()
            .filter(|run| run["job"] == "totals");
        assert_eq!(of_other.count(), 0);
    }
}

/// What a canary may get is in the key: the mode, odd names, and what links lead to.
#[test]
fn each_part_of_what_counts_is_measured_anew() {
    let script =
        "[ ! -x flag ] || exit 3\ncat '\"quoted\"' lib/x.py \"$(printf 'cr\\r')\" > /dev/null\n";
    let counted = Counted::with_script(script);
    counted.edit_spec("[train.sh, '!**/*.md']", "['**', '!**/*.md']");
    let cr = "cr\r";
    for (name, content) in [
        ("flag", "1"),
        ("\"quoted\"", "1"),
        (cr, "1"),
        ("shared/x.py", "1"),
    ] {
        counted.project.write(name, content);
    }
    std::os::unix::fs::symlink("shared", counted.project.path("lib")).unwrap();
    counted.project.commit("odd names");
    let runs = || {
        counted.run(&[]).ended_with(0);
        counted.started()
    };
    assert_eq!([runs(), runs()], [6, 0]);
    for name in ["\"quoted\"", cr, "shared/x.py"] {
        counted.project.write(name, "2");
        assert_eq!(runs(), 6, "{name:?}");
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(counted.project.path("flag"), mode).unwrap();
    counted.run(&[]).ended_with(13);
    assert_eq!(counted.started(), 1);
}

#[test]
fn what_does_not_count_is_not_there_to_read() {
    let counted = Counted::with_script("cat ./notes.md\n");
    counted.edit_spec("[train.sh, '!**/*.md']", "['**', '!**/*.md']");
    counted
        .run(&[])
        .ended_with(13)
        .reported("for `paths` leaves it out");
    counted.edit_spec("[train.sh, '!**/*.md']", "['**']");
    counted.run(&[]).ended_with(0);
}

#[test]
fn without_git_canaries_are_kept_shown_and_exported_and_never_reused() {
    let project = Project::with_script("sleep 0.01\n");
    for kept in [6, 12] {
        project.run(&["run", "--all", "--quiet"]).ended_with(0);
        assert_eq!(project.recorded("canary").len(), kept);
    }
    project
        .run(&["history", "list"])
        .ended_with(0)
        .reported("canary 1%");
    let exported = project.run(&["history", "export", "--format", "jsonl"]);
    assert_eq!(exported.stdout.lines().count(), 12, "{}", exported.seen());
}

#[test]
fn what_the_gate_was_asked_to_write_is_no_code() {
    let counted = Counted::new();
    let all = SPEC.replace("[train.sh, '!**/*.md']", "['**']");
    counted.project.write("canary-gate.yml", &all);
    counted.project.commit("everything is code");
    let run = || {
        let outputs = ["--output", "report.html", "--output", "report.json"];
        let arguments = [&outputs[..], &["--measurements", "canaries.csv"]].concat();
        counted.run(&arguments).ended_with(0);
        counted.started()
    };
    assert_eq!([run(), run()], [6, 0]);
    // What is tracked is a file like any other.
    counted.project.commit("with outputs");
    assert_eq!(run(), 6);
}
