//! What the gate writes, and what it refuses to write through.

use std::os::unix::fs::symlink;

use crate::project::Project;

fn quick() -> Project {
    Project::with_script("cat \"$SM_CHANNEL_TRAIN\"/* > \"$SM_MODEL_DIR/model\"\n")
}

#[test]
fn one_run_writes_every_kind_of_report_and_its_measurements_are_read_again() {
    let project = quick();
    let outputs = ["report.json", "report.md", "report.csv"];
    let outputs = outputs.iter().flat_map(|file| ["--output", file]);
    let run = |arguments: &[&str]| project.run(&[&["run", "--all", "--quiet"], arguments].concat());
    let arguments: Vec<&str> = ["--format", "json", "--measurements", "runs.jsonl"]
        .into_iter()
        .chain(outputs)
        .collect();
    assert_eq!(
        run(&arguments).ended_with(0).stdout,
        project.read("report.json")
    );
    assert!(project.read("report.md").contains("sums"));
    assert!(project.read("report.csv").contains("Projected_"));
    assert_eq!(project.read("runs.jsonl").lines().count(), 6);
    // The gate's own folder is ignored by git.
    assert_eq!(project.read(".canary-gate/.gitignore"), "*\n");
    // Nothing is left of the canaries' folders.
    let work = std::fs::read_dir(project.path(".canary-gate/work")).unwrap();
    assert_eq!(work.count(), 0);
    // The table of the seed library.
    run(&["--measurements", "runs.csv"]).ended_with(0);
    let table = project.read("runs.csv");
    let titles = table.lines().next().unwrap();
    assert!(titles.contains("TrainingTimeInSeconds"), "{table}");
    assert_eq!(table.lines().count(), 7);
    project
        .run(&["forecast", "runs.csv"])
        .ended_with(0)
        .reported("sums");
}

#[test]
fn nothing_is_written_through_a_link() {
    let project = quick().file("precious", "keep me");
    symlink("precious", project.path("report.json")).unwrap();
    project
        .run(&["run", "--all", "--output", "report.json"])
        .ended_with(1)
        .complained("report.json is a link; nothing is written through links");
    std::fs::create_dir(project.path("real")).unwrap();
    symlink("real", project.path("reports")).unwrap();
    project
        .run(&["run", "--all", "--output", "reports/report.md"])
        .ended_with(1)
        .complained("reports is a link");
    assert_eq!(project.read("precious"), "keep me");
    // Refused before anything ran.
    assert!(project.recorded("canary").is_empty());
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_anything_runs() {
    let project = quick();
    project
        .run(&["run", "--all", "--output", "no/such/folder/report.md"])
        .ended_with(2)
        .complained("the folder of `no/such/folder/report.md` is not there");
    project
        .run(&["run", "--all", "--output", "report.doc"])
        .ended_with(2)
        .complained("name it .md, .json, .csv or .html");
    project
        .run(&["run", "--all", "--measurements", "runs.txt"])
        .ended_with(2)
        .complained("name it .jsonl or .csv");
    assert!(project.recorded("canary").is_empty());
}

#[test]
fn a_reader_that_closed_the_pipe_is_no_failure() {
    let project = quick();
    let program = env!("CARGO_BIN_EXE_canary-gate");
    let run = project.run_with(&["--version"], |command| {
        *command = std::process::Command::new("sh");
        command.current_dir(project.root()).args([
            "-c",
            &format!("{{ {program} schema spec; echo code $? >&2; }} | head -c 1 > /dev/null"),
        ]);
    });
    assert!(run.stderr.contains("code 0"), "{}", run.seen());
}

#[test]
fn stored_reports_are_rendered_again_and_merged() {
    let project = quick();
    project
        .run(&["run", "--all", "--quiet", "--output", "one.json"])
        .ended_with(0);
    let other = project.read("one.json").replace("\"sums\"", "\"products\"");
    project.write("two.json", &other);
    let merged = project
        .run(&[
            "report", "--from", "one.json", "two.json", "--format", "json",
        ])
        .ended_with(0)
        .json();
    let names: Vec<_> = merged["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["name"].clone())
        .collect();
    assert_eq!(names, ["sums", "products"]);
    project
        .run(&["report", "--from", "one.json", "one.json"])
        .ended_with(2)
        .complained("sums");
    project.write("broken.json", "{\"schema_version\": 1");
    project
        .run(&["report", "--from", "broken.json"])
        .ended_with(2)
        .complained("the report broken.json cannot be read");
    project.write(
        "newer.json",
        &project
            .read("one.json")
            .replacen("\"schema_version\": 1", "\"schema_version\": 99", 1),
    );
    project
        .run(&["report", "--from", "newer.json"])
        .ended_with(2)
        .complained("99");
}

#[test]
fn half_a_line_of_a_killed_gate_spoils_nothing() {
    let project = quick().file("kept.jsonl", "{\"schema_ver");
    project
        .run(&["run", "--all", "--quiet", "--measurements", "kept.jsonl"])
        .ended_with(0);
    let lines = project.read("kept.jsonl");
    assert_eq!(lines.lines().count(), 7, "{lines}");
    for line in lines.lines().skip(1) {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

#[test]
fn one_job_that_cannot_be_checked_does_not_lose_the_others() {
    let job = |name: &str, program: &str| {
        Project::SPEC
            .split("jobs:\n")
            .nth(1)
            .unwrap()
            .replace("  sums:", &format!("  {name}:"))
            .replace("[sh, train.sh]", &format!("[{program}, train.sh]"))
    };
    let spec = format!(
        "version: 1\nbackend: local\njobs:\n{}{}{}",
        job("aa", "sh"),
        job("bb", "no-such-program"),
        job("cc", "sh")
    );
    let project = quick().file("canary-gate.yml", &spec);
    let run = project
        .run(&["run", "--all", "--quiet", "--output", "report.json"])
        .ended_with(1)
        .complained("job `bb`: the command could not be run");
    assert!(
        run.stdout
            .contains("✗ could not check bb: the command could not be run"),
        "{}",
        run.seen()
    );
    let report: serde_json::Value = serde_json::from_str(&project.read("report.json")).unwrap();
    assert_eq!(report["jobs"].as_array().unwrap().len(), 2);
    assert_eq!(report["exit_code"], 1);
    // A report that cannot be written hides no job's trouble.
    project
        .run(&["run", "--all", "--quiet", "--output", "/proc/report.md"])
        .ended_with(1)
        .reported("aa")
        .complained("job `bb`: the command could not be run")
        .complained("could not write /proc/report.md");
}

#[test]
fn a_forecast_from_kept_measurements_is_that_of_the_newest_run() {
    let project = quick();
    // GitHub's numbers of its runs: as texts they sort otherwise than by time.
    let run = |id: &str| {
        let arguments = [
            "run",
            "--all",
            "--quiet",
            "--format",
            "json",
            "--measurements",
            "kept.jsonl",
        ];
        let run = project.run_with(&arguments, |command| {
            command.env("GITHUB_RUN_ID", id);
        });
        run.ended_with(0).json()
    };
    run("9");
    project.write("train.sh", "sleep 0.2\n");
    let newest = run("10");
    let again = project
        .run(&["forecast", "kept.jsonl", "--format", "json"])
        .ended_with(0)
        .json();
    let time = |report: &serde_json::Value| {
        report["jobs"][0]["forecasts"][0]["estimates"]["time_seconds"].clone()
    };
    assert_eq!(time(&newest), time(&again));
    assert!(
        again["jobs"][0]["notes"]
            .to_string()
            .contains("6 measurements of earlier runs are left out; the newest run is 10")
    );
    // The records name the same run.
    let listed = project
        .run(&["history", "list", "--limit", "1", "--format", "json"])
        .json();
    assert_eq!(listed["records"][0]["writer"]["run"], "10");
}

#[test]
fn the_gates_own_folder_is_not_made_through_links() {
    let project = quick();
    std::fs::create_dir(project.path(".canary-gate")).unwrap();
    symlink(
        project.path("elsewhere"),
        project.path(".canary-gate/.gitignore"),
    )
    .unwrap();
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    assert!(!project.path("elsewhere").exists());
    std::fs::remove_dir(project.path(".canary-gate/work")).unwrap();
    symlink(project.root(), project.path(".canary-gate/work")).unwrap();
    project
        .run(&["run", "--all", "--quiet"])
        .ended_with(1)
        .complained("work is a link; nothing is written through links");
}

#[test]
fn an_alternative_that_cannot_be_run_does_not_fail_the_job() {
    let spec = Project::SPEC.replace(
        "instance: local\n",
        "instance: local\n    alternatives: [2x local]\n",
    );
    let project = Project::with_script("if [ $SM_HOST_COUNT = 2 ]; then kill -9 $PPID; fi\n").file(
        "canary-gate.yml",
        &format!("{spec}    budget: {{time: 1h}}\n"),
    );
    project
        .run(&["run", "--all", "--quiet"])
        .ended_with(0)
        .reported("not measured")
        .complained("the probe was killed");
}

#[test]
fn a_report_in_the_checkout_is_no_change() {
    let project = quick().committed();
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.write("report.md", "of an earlier run");
    project
        .run(&["run", "--quiet", "--output", "report.md"])
        .ended_with(0)
        .reported("no job is affected");
}

#[test]
fn a_stored_report_is_judged_by_its_rows() {
    let stored = include_str!("../data/reports/over-budget.json");
    let mut report: serde_json::Value = serde_json::from_str(stored).unwrap();
    report["verdict"] = "within".into();
    report["exit_code"] = 77.into();
    let job = &mut report["jobs"][0];
    job["verdict"] = "within".into();
    job["reason"] = "cost is 1 USD, 49 USD below 50 USD".into();
    job["forecasts"][0]["verdict"] = "within".into();
    for row in job["forecasts"][0]["budget"].as_array_mut().unwrap() {
        row["verdict"] = "within".into();
    }
    let project = Project::empty().file("report.json", &report.to_string());
    let run = project
        .run(&["report", "--from", "report.json"])
        .ended_with(10);
    let run = run
        .reported("churn over budget: cost: over the limit, by this report's own table")
        .reported("contradicted its rows");
    assert!(!run.stdout.contains("within budget"), "{}", run.seen());
}

/// What training costs is for the owner's eyes, but for what somebody asked to have in a report.
#[test]
fn measurements_are_for_the_owner_alone_and_reports_for_whom_the_umask_says() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::with_script("cat $SM_CHANNEL_TRAIN/* > /dev/null\n");
    let gate = env!("CARGO_BIN_EXE_canary-gate");
    for (umask, of_reports) in [("077", 0o600), ("022", 0o644)] {
        let ran = project.shell(&format!(
            "umask {umask}; for kind in jsonl csv; do {gate} run --all --output report.json --output report.html --measurements runs.$kind; done; \
             {gate} history export history.csv; {gate} history export page.html"
        ));
        ran.ended_with(0)
            .complained("wrote report.html\n")
            .complained("wrote page.html\n");
        let mode = |file: &str| project.path(file).metadata().unwrap().permissions().mode() & 0o777;
        for file in ["runs.jsonl", "runs.csv"] {
            assert_eq!(mode(file), 0o600, "{file}");
        }
        for file in ["report.json", "report.html", "history.csv", "page.html"] {
            assert_eq!(mode(file), of_reports, "{file}");
        }
    }
    let quiet = project.run(&["run", "--all", "--quiet", "--output", "report.md"]);
    assert_eq!(quiet.stderr, "");
}

/// A script knows the number of the gate's process.
#[test]
fn a_temporary_file_has_a_name_that_a_script_cannot_guess() {
    let project = Project::empty();
    let root = project.root().display().to_string();
    let take = format!(
        "gate=$(sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/$PPID/stat)\nmkdir -p {root}/.report.json.$gate.tmp\n"
    );
    let project = project
        .file("train.sh", &take)
        .data("data", 100)
        .spec("    budget: {time: 1h}\n");
    project
        .run(&["run", "--all", "--output", "report.json"])
        .ended_with(0);
    assert!(project.path("report.json").is_file());
}

#[test]
fn who_reads_both_outputs_reads_an_error_once() {
    let project = Project::with_script("true\n");
    std::fs::remove_dir_all(project.path("data")).unwrap();
    let gate = env!("CARGO_BIN_EXE_canary-gate");
    let both = project.shell(&format!("{gate} run --all 2>&1 || echo ended with $?"));
    assert_eq!(
        both.stdout.matches("cannot be read").count(),
        1,
        "{}",
        both.seen()
    );
    both.reported("ended with 1\n");
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("the data `data` cannot be read")
        .reported("the data `data` cannot be read");
}

#[test]
fn a_pipe_is_as_wide_as_columns_says() {
    let project = Project::with_script("true\n");
    for arguments in [
        &["plan", "--all"][..],
        &["check"],
        &["validate"],
        &["run", "--all"],
    ] {
        let narrow = project.run_with(arguments, |command| {
            command.env("COLUMNS", "60");
        });
        let widest = narrow.stdout.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(60), "{}", narrow.seen());
    }
}
