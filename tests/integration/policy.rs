//! Policy from the base's spec under `--base`, and overrides.

use crate::project::{Finished, Project};

/// The job `sums` with these keys, committed on `main`; the change happens on a branch of its own.
fn on_main(spec: &str) -> Project {
    let project = Project::empty()
        .file("train.sh", "true")
        .file("canary-gate.yml", spec)
        .data("data", 100)
        .committed();
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project
}

/// A pull request that changes one spec into another.
fn changed(base: &str, head: &str) -> Project {
    let project = on_main(base);
    project.write("canary-gate.yml", head);
    project.commit("change the spec");
    project
}

fn planned(project: &Project) -> Finished {
    project.run(&["plan", "--base", "main"]).ended_with(0)
}

fn sums(more: &str) -> String {
    format!("{}{more}", Project::SPEC)
}

/// Every note of the report.
fn notes(report: &serde_json::Value) -> Vec<String> {
    let jobs = report["jobs"].as_array().unwrap().iter();
    let of_jobs = jobs.flat_map(|job| [&job["notes"], &job["policy"]["notes"]]);
    let of_run = [&report["notes"], &report["policy"]["notes"]];
    let all = of_run.into_iter().chain(of_jobs);
    let notes = all.filter_map(|notes| notes.as_array()).flatten();
    let texts = notes.filter_map(|note| note.as_str());
    texts.map(str::to_owned).collect()
}

#[track_caller]
fn says(report: &serde_json::Value, text: &str) {
    let notes = notes(report);
    assert!(
        notes.iter().any(|note| note.contains(text)),
        "no {text:?} in {notes:#?}"
    );
}

fn judged(project: &Project) -> Finished {
    project.run(&["run", "--base", "main", "--format", "json"])
}

fn limit_of(report: &serde_json::Value, line: &str) -> f64 {
    let rows = report["jobs"][0]["forecasts"][0]["budget"].as_array();
    let row = rows.unwrap().iter().find(|row| row["line"] == line);
    row.unwrap()["limit"].as_f64().unwrap()
}

#[test]
fn a_raise_of_a_budget_is_named_and_counts_only_when_merged() {
    let project = changed(
        &sums("    budget: {time: 1h}\n"),
        &sums("    budget: {time: 2h}\n"),
    );
    let report = judged(&project).ended_with(0).json();
    says(
        &report,
        "This pull request raises the time budget from 1h to 2h (counts when merged).",
    );
    assert_eq!(limit_of(&report, "time"), 3600.0);
    assert_eq!(report["policy"]["source"], "main");
    assert_eq!(report["policy"]["sha"].as_str().unwrap().len(), 40);
    // Without a base the file counts as it is.
    let report = project
        .run(&["run", "--all", "--format", "json"])
        .ended_with(0)
        .json();
    assert_eq!(limit_of(&report, "time"), 7200.0);
    assert_eq!(report["policy"]["source"], "work tree");
    assert!(!notes(&report).concat().contains("pull request"));
}

#[test]
fn the_base_decides_also_where_the_change_is_not_committed() {
    let project = on_main(&sums("    budget: {time: 1h}\n"));
    project.write("canary-gate.yml", &sums(""));
    planned(&project).reported("takes away the time budget, 1h");
}

#[test]
fn a_new_job_is_capped_and_a_removed_one_is_reported() {
    let base = sums("    budget: {time: 1h}\n").replace("jobs:", "prices: {local: 1 USD/h}\njobs:");
    let project = on_main(&base);
    // With other code and other data, and looked after elsewhere: it is no renamed one.
    project.write("totals/train.sh", "true");
    let project = project.data("numbers", 100);
    let renamed = base
        .replace("  sums:", "  totals:\n    paths: [totals/**]")
        .replace("      command:", "      source_dir: totals\n      command:")
        .replace("max_runtime: 1m}", "max_runtime: 1m, spend_limit: 80 USD}")
        .replace("uri: data", "uri: numbers");
    project.write("canary-gate.yml", &renamed);
    project.commit("another job");
    let planned = planned(&project)
        .reported("This pull request removes job sums from the spec, so nothing of it is checked.")
        .reported("its canaries may cost at most 5 USD, not the 80 USD that it asks for");
    assert!(planned.stdout.contains("of 5.00 USD"), "{}", planned.seen());
    for (flag, variable, cap) in [("2 USD", "9", "2 USD"), ("", "9", "9 USD")] {
        let mut arguments = vec!["plan", "--base", "main"];
        if !flag.is_empty() {
            arguments.extend(["--max-spend", flag]);
        }
        project
            .run_with(&arguments, |command| {
                command.env("CANARY_GATE_MAX_SPEND", variable);
            })
            .ended_with(0)
            .reported(&format!("its canaries may cost at most {cap}, not"));
    }
    project
        .run(&["plan", "--max-spend", "0"])
        .ended_with(2)
        .complained("more than 0");
}

#[test]
fn editing_paths_away_does_not_leave_the_gate() {
    let project = on_main(&sums("    paths: [train.sh]\n"));
    project.write("canary-gate.yml", &sums("    paths: [other.sh]\n"));
    project.write("train.sh", "true # changed");
    project.commit("look elsewhere");
    project.write("changed.txt", "train.sh\n");
    let with_list = ["plan", "--changed-files", "changed.txt"];
    project
        .run(&with_list)
        .ended_with(0)
        .reported("no job is affected");
    project
        .run(&[&with_list[..], &["--base", "main"]].concat())
        .ended_with(0)
        .reported("sums · 6 canaries on local, because train.sh changed");
}

#[test]
fn a_spec_that_moves_keeps_its_policy() {
    for (from, to) in [
        ("canary-gate.yml", ".github/canary-gate.yml"),
        (".github/canary-gate.yml", "canary-gate.yml"),
    ] {
        let project = Project::empty()
            .file("train.sh", "true")
            .file(from, &sums("    budget: {time: 1h}\n"))
            .data("data", 100)
            .committed();
        project.git(&["checkout", "--quiet", "-b", "change"]);
        project.git(&["rm", "--quiet", from]);
        project.write(to, &sums("    budget: {time: 2h}\n"));
        project.commit("move the spec");
        let planned = planned(&project);
        let commit = project.run(&["run", "--base", "main", "--format", "json"]);
        assert_eq!(limit_of(&commit.json(), "time"), 3600.0);
        planned
            .reported(&format!("is {from}, that of this pull request is {to}."))
            .reported("raises the time budget from 1h to 2h");
        // The old place is the spec as well.
        project.write("changed.txt", &format!("{from}\n"));
        project
            .run(&["plan", "--base", "main", "--changed-files", "changed.txt"])
            .ended_with(0)
            .reported(&format!("because {from} changed"));
    }
}

/// A change could remove the strict one of two specs.
#[test]
fn the_base_is_asked_for_the_spec_that_it_would_use_itself() {
    let project = Project::empty()
        .file("train.sh", "true")
        .file("canary-gate.yml", &sums("    budget: {time: 1h}\n"))
        .file(".github/canary-gate.yml", &sums("    budget: {time: 9h}\n"))
        .data("data", 100)
        .committed();
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.git(&["rm", "--quiet", "canary-gate.yml"]);
    project.commit("only the other");
    planned(&project).reported("raises the time budget from 1h to 9h");
    // Named, it is the one.
    let named = "plan --base main --all --spec .github/canary-gate.yml".split(' ');
    let named = project.run(&named.collect::<Vec<_>>()).ended_with(0);
    assert!(!named.stdout.contains("pull request"), "{}", named.seen());
}

#[test]
fn without_a_spec_at_the_base_the_changes_own_stands_in() {
    let project = Project::empty()
        .file("README.md", "")
        .committed()
        .file("train.sh", "true")
        .file("canary-gate.yml", &sums("    budget: {time: 1h}\n"))
        .data("data", 100);
    let report = judged(&project).ended_with(0).json();
    says(&report, "There is no spec on main (");
    says(&report, "so this pull request's own policy stands in");
    says(&report, "its canaries may cost at most 5 USD");
    assert_eq!(report["policy"]["source"], "work tree");
}

/// A change must not take its own policy because the base's broke.
#[test]
fn a_spec_of_the_base_that_cannot_be_read_is_unknown() {
    let invalid = "version: 1\nbackend: nowhere\njobs: {}\n".to_owned();
    let too_large = "#".repeat((1 << 20) + 1);
    for (spec, why) in [
        (invalid, "nowhere"),
        (too_large, "the file is larger than 1 MiB"),
    ] {
        let project = on_main(&spec);
        let own = overridden("9999-12-31").replace("jobs:", "on_inconclusive: pass\njobs:");
        project.write("canary-gate.yml", &own);
        let report = judged(&project).ended_with(14).json();
        assert_eq!(report["verdict"], "unknown");
        let reason = report["jobs"][0]["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("the spec canary-gate.yml on main ("),
            "{reason}"
        );
        assert!(reason.contains(why), "{reason}");
        assert!(
            reason.contains("fix that spec in a pull request of its own"),
            "{reason}"
        );
        assert_eq!(report["policy"]["source"], "main");
        assert!(!project.path(".canary-gate").exists(), "nothing is run");
        let notes = notes(&report).concat();
        assert!(!notes.contains("override"), "{notes}");
        // Whoever starts the gate may say otherwise.
        let lenient = ["run", "--base", "main", "--on-inconclusive", "pass"];
        project.run(&lenient).ended_with(0);
    }
}

/// A price of next to nothing would make any number of hours fit under the cap.
#[test]
fn without_a_spec_at_the_base_listed_machines_cost_what_aws_says() {
    let spec = sums("").replace(
        "jobs:",
        "prices: {local: 1 USD/h, ml.p4d.24xlarge: 0.001 USD/h}\njobs:",
    );
    let project = Project::empty()
        .file("README.md", "")
        .committed()
        .file("train.sh", "true")
        .file("canary-gate.yml", &spec)
        .data("data", 100);
    let planned = project.run(&["run", "--base", "main", "--format", "json"]);
    says(
        &planned.json(),
        "No spec of the base confirms the prices that this pull request sets for ml.p4d.24xlarge (0.001 USD/h); AWS's own prices are used.",
    );
}

/// `ml` becomes a link to where the change's own spec lies.
#[test]
fn a_folder_that_becomes_a_link_keeps_its_policy() {
    let in_ml = |budget: &str| {
        let spec = sums(budget).replace("uri: data", "uri: /data");
        spec.replace("train.sh]", "train.sh]\n      source_dir: .")
    };
    let project = Project::empty()
        .file("ml/train.sh", "true")
        .file("ml/canary-gate.yml", &in_ml("    budget: {time: 1h}\n"))
        .data("data", 100)
        .committed();
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.git(&["mv", "ml", "ml2"]);
    std::os::unix::fs::symlink("ml2", project.path("ml")).unwrap();
    project.write("ml2/canary-gate.yml", &in_ml("    budget: {time: 9h}\n"));
    project.commit("a link");
    let whole = project.path("ml/canary-gate.yml");
    for named in [
        "ml/canary-gate.yml",
        "./ml/../ml//canary-gate.yml",
        "ml2/../ml/canary-gate.yml",
        whole.to_str().unwrap(),
    ] {
        project
            .run(&["plan", "--base", "main", "--spec", named])
            .ended_with(0)
            .reported("raises the time budget from 1h to 9h");
    }
    // From within the folder, by the name that the shell has for it.
    project
        .run_with(&["plan", "--base", "main"], |command| {
            let folder = project.path("ml");
            command.env("PWD", &folder).current_dir(folder);
        })
        .ended_with(0)
        .reported("raises the time budget from 1h to 9h");
}

#[test]
fn a_new_job_on_machines_without_a_price_of_the_base_is_unknown() {
    let project = on_main(&sums("    budget: {time: 1h}\n"));
    let more = sums("    budget: {time: 1h}\n").replace("jobs:", "prices: {local: 1 USD/h}\njobs:");
    let (_, job) = Project::SPEC.split_once("jobs:\n").unwrap();
    let job = job.replace("sums:", "totals:");
    project.write(
        "canary-gate.yml",
        &format!("{more}{job}    budget: {{cost: 1 USD}}\n"),
    );
    project.commit("another job, and a price for it");
    let report = judged(&project).ended_with(14).json();
    let totals = &report["jobs"][1];
    assert_eq!(totals["name"], "totals");
    assert_eq!(totals["verdict"], "unknown");
    let reason = totals["reason"].as_str().unwrap();
    assert!(reason.contains("price"), "{reason}");
}

#[test]
fn a_link_at_the_base_is_not_followed() {
    let project = Project::empty()
        .file("train.sh", "true")
        .file("elsewhere.yml", &sums("    budget: {time: 1h}\n"))
        .data("data", 100);
    std::os::unix::fs::symlink("elsewhere.yml", project.path("canary-gate.yml")).unwrap();
    let project = project.committed();
    std::fs::remove_file(project.path("canary-gate.yml")).unwrap();
    project.write("canary-gate.yml", &sums("    budget: {time: 2h}\n"));
    planned(&project).reported("is a symbolic link in that commit");
}

#[test]
fn another_backend_is_unknown_and_no_word_lets_it_pass() {
    let recorded = "version: 1\nbackend: replay\nrecording: runs.csv\n";
    let replayed = |more: &str| {
        Project::SPEC.replace("version: 1\nbackend: local\n", &format!("{recorded}{more}"))
    };
    let pass = sums("").replace("jobs:", "on_inconclusive: pass\njobs:");
    let project = changed(&replayed(""), &pass);
    let report = judged(&project).ended_with(14).json();
    assert_eq!(report["verdict"], "unknown");
    let reason = report["jobs"][0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the backend changes from replay to local"),
        "{reason}"
    );
    assert!(!project.path(".canary-gate").exists(), "nothing is run");
    planned(&project).reported("sums · unknown: the backend changes from replay to local");

    let lenient = changed(&replayed("on_inconclusive: pass\n"), &sums(""));
    judged(&lenient).ended_with(14);
    let flag = "run --base main --on-inconclusive pass".split(' ');
    lenient.run(&flag.collect::<Vec<_>>()).ended_with(14);
}

#[test]
fn what_the_base_does_not_allow_is_refused() {
    let project = on_main(&sums("").replace("jobs:", "allowed_instances: [local]\njobs:"));
    let open = sums("").replace("instance: local", "instance: 2x local");
    project.write("canary-gate.yml", &open);
    project.commit("two processes");
    project.run(&["plan", "--base", "main"]).ended_with(0);

    let closed = on_main(&sums("").replace("jobs:", "allowed_instances: [\"ml.*\"]\njobs:"));
    // Its own list refused it before: the base is not valid, so nothing can be judged.
    closed.write("canary-gate.yml", &sums(""));
    closed
        .run(&["plan", "--base", "main"])
        .ended_with(0)
        .reported("sums · unknown: the spec canary-gate.yml on main (");
}

#[test]
fn a_merge_commit_is_compared_with_its_first_parent() {
    let project = on_main(&sums("    paths: [train.sh]\n"));
    project.write("README.md", "of the change");
    project.commit("change");
    project.git(&["checkout", "--quiet", "main"]);
    project.write("train.sh", "true # by somebody else");
    project.commit("main goes on");
    // As GitHub does for a pull request.
    project.git(&["checkout", "--quiet", "--detach"]);
    project.git(&[
        "merge",
        "--quiet",
        "--no-ff",
        "--message",
        "merge",
        "change",
    ]);
    let not_affected = |project: &Project| {
        project
            .run(&["plan", "--base", "main"])
            .ended_with(0)
            .reported("no job is affected: 1 file changed from main to the work tree");
    };
    not_affected(&project);
    // And also when the base has gone on since.
    project.git(&["branch", "merged"]);
    project.git(&["checkout", "--quiet", "main"]);
    project.write("train.sh", "true # once more");
    project.commit("main goes on again");
    project.git(&["checkout", "--quiet", "--detach", "merged"]);
    not_affected(&project);
}

/// A budget of cost that every run passes, with an override of it.
fn overridden(until: &str) -> String {
    let spec = sums("    budget: {cost: 0.0000001 USD}\n");
    // Canaries of half the data: what far smaller ones take on a busy machine says nothing of a limit so large.
    let spec = spec.replace("jobs:", "prices: {local: 10 USD/h}\njobs:");
    let spec = spec.replace("[1%, 2%, 3%]", "[10%, 20%, 50%]");
    format!(
        "{spec}overrides:\n  - {{job: sums, budget: cost, up_to: 90 USD, until: {until}, reason: \"agreed with <b>finance</b>\"}}\n"
    )
}

#[test]
fn an_override_in_force_is_the_ceiling_and_is_named() {
    let project = on_main(&overridden("9999-12-31"));
    let finished = project
        .run(&["run", "--all", "--format", "json"])
        .ended_with(0);
    let report = finished.json();
    let row = &report["jobs"][0]["forecasts"][0]["budget"][0];
    assert_eq!(row["limit"], 90.0);
    assert_eq!(row["verdict"], "within");
    assert_eq!(
        row["override"],
        serde_json::json!({
            "written_limit": 0.000_000_1,
            "until": "9999-12-31",
            "reason": "agreed with <b>finance</b>"
        })
    );
    let markdown = project
        .run(&["run", "--all", "--format", "markdown"])
        .stdout;
    assert!(markdown.contains("An override is in force: until 9999-12-31"));
    assert!(!markdown.contains("<b>"), "{markdown}");
    let valid = project.run(&["validate"]).ended_with(0);
    assert!(!valid.stderr.contains("overrides"), "{}", valid.seen());
}

#[test]
fn an_expired_override_does_not_count_and_is_said() {
    let project = on_main(&overridden("2020-02-29"));
    let report = project
        .run(&["run", "--all", "--format", "json"])
        .ended_with(10)
        .json();
    assert_eq!(limit_of(&report, "cost"), 0.000_000_1);
    let row = &report["jobs"][0]["forecasts"][0]["budget"][0];
    assert!(row.get("override").is_none());
    says(&report, "The override of the cost budget, 90 USD, expired");
    project
        .run(&["validate"])
        .ended_with(0)
        .complained("warning: overrides[0]: expired on 2020-02-29");
}

#[test]
fn an_override_that_a_change_brings_for_itself_does_not_count() {
    let with = overridden("9999-12-31");
    let (without, _) = with.split_once("overrides:").unwrap();
    let project = changed(without, &with);
    let report = judged(&project).ended_with(10).json();
    says(
        &report,
        "This pull request sets the override of the cost budget to 90 USD until 9999-12-31 (agreed with <b>finance</b>) (counts when merged).",
    );
    // Once it is merged it counts for the next change.
    project.git(&["checkout", "--quiet", "main"]);
    project.git(&["merge", "--quiet", "change"]);
    project.git(&["checkout", "--quiet", "-b", "next"]);
    project.write("train.sh", "true # next");
    project.commit("next");
    let report = judged(&project).ended_with(0).json();
    says(&report, "An override is in force: until 9999-12-31");
}

#[test]
fn a_base_needs_a_checkout() {
    let project = Project::with_script("true");
    project
        .run(&["run", "--all", "--base", "main"])
        .ended_with(2)
        .complained("`--base` takes policy from a commit");
}

#[test]
fn a_design_that_is_no_forecast_is_an_error_also_where_unknown_passes() {
    for canary in [
        "design: fixed, fractions: [1%], replicates: 1",
        "design: fixed, fractions: [1%, 2%], replicates: 1",
        "fractions: [1%]",
    ] {
        let spec = Project::SPEC.replace(
            "design: fixed, max_share: 10000%, fractions: [1%, 2%, 3%], replicates: 2",
            canary,
        );
        let project = on_main(&format!(
            "on_inconclusive: pass\n{spec}    budget: {{time: 1h}}\n"
        ));
        project
            .run(&["run", "--all"])
            .ended_with(2)
            .complained("a forecast needs at least 3 runs on 2 sizes")
            .complained("canary.fractions");
        project.run(&["plan", "--all"]).ended_with(2);
    }
}

#[test]
fn a_renamed_job_keeps_its_policy() {
    let base = sums("    budget: {time: 0.001s}\n");
    let agreed = "overrides:\n  - {job: sums, budget: time, up_to: 0.002s, until: 2999-12-31, reason: agreed}\n";
    let renamed = base
        .replace("  sums:", "  totals:\n    paths: [\"**\", \"!docs/**\"]")
        .replace("time: 0.001s", "time: 9h");
    let project = changed(&format!("{base}{agreed}"), &renamed);
    let report = judged(&project).ended_with(10).json();
    says(
        &report,
        "This job is not in the base. Its `source_dir` is that of job sums, which this pull request removes, so the policy of sums counts.",
    );
    says(&report, "takes away the override of the time budget");
    assert_eq!(limit_of(&report, "time"), 0.002);
    let notes = notes(&report).join("\n");
    assert!(!notes.contains("nothing of it is checked"), "{notes}");
}

#[test]
fn a_renamed_job_is_affected_by_what_affected_the_old_one() {
    let project = on_main(&sums("    paths: [train.sh]\n"));
    let renamed = sums("    paths: [other.sh]\n").replace("  sums:", "  totals:");
    project.write("canary-gate.yml", &renamed);
    project.write("changed.txt", "train.sh\n");
    project
        .run(&["plan", "--changed-files", "changed.txt", "--base", "main"])
        .ended_with(0)
        .reported("totals · 6 canaries on local, because train.sh changed");
}

/// Whoever may edit what is replayed decides what it says.
#[test]
fn a_recording_that_a_change_edits_is_named() {
    let spec = Project::SPEC.replace("backend: local", "backend: replay\nrecording: runs.csv")
        + "    budget: {time: 1h}\n";
    let rows = |seconds: u32| {
        let sizes = [1, 2, 3].map(|size| format!("sums,{size}%,{seconds}\n").repeat(2));
        format!(
            "workload,fraction_requested,wall_seconds\n{}",
            sizes.concat()
        )
    };
    let project = Project::empty()
        .file("canary-gate.yml", &spec)
        .file("runs.csv", &rows(60))
        .committed();
    let run = || project.run(&["run", "--all", "--quiet", "--base", "main"]);
    let unchanged = run();
    assert!(
        !unchanged.stdout.contains("The recording"),
        "{}",
        unchanged.seen()
    );
    project.write("runs.csv", &rows(1));
    run().reported("The recording runs.csv is another than that of main (");
    std::fs::rename(project.path("runs.csv"), project.path("other.csv")).unwrap();
    project.write("canary-gate.yml", &spec.replace("runs.csv", "other.csv"));
    run().reported("The recording other.csv is not on main (");
}

#[test]
fn a_change_is_checked_with_the_bases_design() {
    let base = sums("    budget: {time: 1h}\n");
    let design = "fractions: [1%, 2%, 3%], replicates: 2";
    let weaker = base.replace(design, "fractions: [1%], replicates: 1");
    let report = judged(&changed(&base, &weaker)).ended_with(0).json();
    let measured = report["jobs"][0]["measurements"].as_array();
    assert_eq!(measured.unwrap().len(), 6);
}
