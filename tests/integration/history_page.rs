//! `history export page.html`: all jobs of a history on one page.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::aws::FakeAws;
use crate::history_command::SPEC;
use crate::html::leave;
use crate::project::{Finished, Project};

const KEY: &str = "3f9c2e1d8a7054b6c1f2e3d4a5b6c7d83f9c2e1d8a7054b6c1f2e3d4a5b6c7d8";

/// The path of a record in the history, and the record.
type Kept = (String, Value);

/// Of a minute of yesterday: what is old needs attention.
fn kept(scope: &str, job: &str, minute: i64, content: &Value) -> Kept {
    let yesterday = Timestamp::now() - jiff::SignedDuration::from_hours(24);
    let first = yesterday.strftime("%Y-%m-%dT00:00:00Z").to_string();
    let first: Timestamp = first.parse().unwrap();
    let at = first + jiff::SignedDuration::from_mins(minute);
    let kind = content["kind"].as_str().unwrap();
    let path = format!(
        "{scope}/{job}/{}-{kind}-{}-{minute:016x}.json",
        at.strftime("%Y%m%dT%H%M%S.000Z"),
        &KEY[..16]
    );
    let record = json!({
        "schema_version": 1,
        "tool_version": "0.1.0",
        "recorded_at": at.to_string(),
        "job": job,
        "writer": {"event": "push", "command": "run", "branch": "main"},
        "code_key": KEY,
        "content": content,
    });
    (path, record)
}

fn canary(scope: &str, job: &str, minute: i64, cost: f64) -> Kept {
    let run = json!({
        "schema_version": 1, "job": job, "instance": "ml.m5.2xlarge", "fraction": 0.01, "replicate": minute.unsigned_abs(),
        "outcome": {"kind": "completed"}, "training_seconds": 60.0, "cost": cost,
    });
    let content = json!({"kind": "canary", "canary_key": KEY, "measurement": run});
    kept(scope, job, minute, &content)
}

fn forecast(scope: &str, job: &str, minute: i64, verdict: &str, cost: f64) -> Kept {
    let estimate = |point: f64| json!({"point": point, "lower": point * 0.9, "upper": point * 1.2, "level": 0.9});
    let content = json!({
        "kind": "forecast", "verdict": verdict, "measurements": [],
        "forecasts": [{
            "instance": "ml.m5.2xlarge", "verdict": verdict,
            "estimates": {"time_seconds": estimate(cost * 7200.0), "cost_usd": estimate(cost)},
        }],
    });
    kept(scope, job, minute, &content)
}

fn records() -> Vec<Kept> {
    vec![
        canary("main", "churn", 1, 0.25),
        forecast("main", "churn", 2, "within", 50.0),
        canary("main", "ranker", 3, 0.5),
        forecast("main", "ranker", 4, "exceeded", 90.0),
        canary("pr/12", "churn", 5, 2.0),
        forecast("pr/12", "churn", 6, "exceeded", 500.0),
    ]
}

fn project(records: &[Kept]) -> Project {
    let project = Project::empty().file("canary-gate.yml", SPEC);
    for (path, record) in records {
        project.write(&format!(".canary-gate/{path}"), &record.to_string());
    }
    project
}

fn page_in_actions(project: &Project, event: &str, reference: &str) -> String {
    let head = project.read(".git/refs/heads/main");
    project
        .run_with(&["history", "export", "page.html"], |command| {
            command
                .env("GITHUB_ACTIONS", "true")
                .env("GITHUB_EVENT_NAME", event)
                .env("GITHUB_SHA", head.trim())
                .env("GITHUB_REF", reference);
        })
        .ended_with(0);
    project.read("page.html")
}

/// The page's text up to its tables.
fn answer(page: &str) -> &str {
    let (_, header) = page.split_once("<header>").unwrap();
    header.split_once("</header>").unwrap().0
}

fn exported(project: &Project, arguments: &[&str]) -> Finished {
    project.run(&[&["history", "export"], arguments].concat())
}

#[test]
fn all_jobs_of_a_history_are_on_one_page() {
    let project = project(&records());
    let said = exported(&project, &["page.html"]).ended_with(0);
    assert_eq!(said.stdout, "");
    let page = project.read("page.html");
    assert!(page.starts_with("<!doctype html>"), "{page}");
    let answer = answer(&page);
    assert!(answer.contains("1 of 2 jobs needs attention"), "{answer}");
    let first = "<tbody><tr><td class=\"text\"><a href=\"#job-ranker\">ranker</a>";
    assert!(answer.contains(first), "{answer}");
    // The pull request's money counts, and its forecast does not.
    assert!(answer.contains("2.75 USD"), "{answer}");
    assert!(!page.contains("500 USD"), "{page}");
    assert!(!page.contains("<script") && !page.contains("://"), "{page}");
    let again = exported(&project, &["--format", "html"]).ended_with(0);
    assert!(again.stdout.starts_with("<!doctype html>"));
    exported(&project, &["out.json", "--format", "html"]).ended_with(0);
    assert!(project.read("out.json").starts_with("<!doctype html>"));
    exported(&project, &["page.html", "--output", "other.html"]).ended_with(2);
    // Of one job alone.
    exported(&project, &["page.html", "--job", "churn"]).ended_with(0);
    let page = project.read("page.html");
    assert!(
        page.contains("1 of 1 job within budget") && !page.contains("ranker"),
        "{page}"
    );
}

#[test]
fn the_default_branch_shows_what_pull_requests_paid_and_a_pull_request_its_own() {
    let mut records = records();
    records.push(canary("pr/13", "churn", 7, 32.0));
    let project = project(&records)
        .file(".canary-gate/.gitignore", "*")
        .committed();
    let of_main = page_in_actions(&project, "schedule", "refs/heads/main");
    assert!(answer(&of_main).contains("35 USD"), "{}", answer(&of_main));
    let own = page_in_actions(&project, "pull_request", "refs/pull/12/merge");
    assert!(answer(&own).contains("2.75 USD"), "{}", answer(&own));
}

/// Of the first version, of today, and of one to come.
#[test]
fn a_history_of_several_versions_is_one_page() {
    let project = Project::with_script("sleep 0.1\n");
    let mut old = forecast("main", "churn", 1, "within", 50.0);
    let writer = old.1["writer"].as_object_mut().unwrap();
    writer.remove("branch");
    let mut newer = forecast("main", "later", 2, "within", 70.0);
    newer.1["schema_version"] = json!(2);
    let mut of_newer_run = canary("main", "churn", 3, 0.25);
    of_newer_run.1["content"]["measurement"]["schema_version"] = json!(2);
    for (path, record) in [old, newer, of_newer_run] {
        project.write(&format!(".canary-gate/{path}"), &record.to_string());
    }
    project.run(&["run", "--all", "--quiet"]);
    exported(&project, &["page.html"])
        .ended_with(0)
        .complained("newer canary-gate");
    let page = project.read("page.html");
    leave("history-several-versions", &page);
    for job in ["churn", "sums"] {
        assert!(page.contains(&format!("id=\"job-{job}\"")), "{page}");
    }
    assert!(!page.contains("id=\"job-later\""), "{page}");
    let said = "2 records that could not be read";
    assert!(answer(&page).contains(said), "{}", answer(&page));
}

#[test]
fn a_prefix_in_s3_that_several_specs_share_is_one_page() {
    let aws = FakeAws::start();
    aws.make_bucket("records");
    for (path, record) in records() {
        aws.put_object("records", &format!("team/gate/{path}"), record.to_string());
    }
    let spec = SPEC.replace("backend:", "history: s3://records/team/gate\nbackend:");
    let project = Project::empty().file("canary-gate.yml", &spec);
    project
        .run_with(&["history", "export", "page.html"], |command| {
            aws.reach(command);
        })
        .ended_with(0);
    let page = project.read("page.html");
    let answer = answer(&page);
    // `ranker` is in no spec here.
    assert!(
        answer.contains("<a href=\"#job-ranker\">ranker</a>"),
        "{answer}"
    );
    assert!(answer.contains("2.75 USD"), "{answer}");
}
