//! The report as a page, made by the real program of reports as hard as they come. `scripts/html` opens what is written here in a
//! browser.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::Project;

/// Leaves a page for `scripts/html`.
pub(crate) fn leave(name: &str, page: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("html-pages");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.html")), page).unwrap();
}

fn stored(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/reports");
    serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// A report of one job with four configurations.
fn report() -> Value {
    stored("over-budget.json")
}

/// A report as a person may read it.
struct Shown {
    page: String,
    markdown: String,
    terminal: String,
}

fn shown(name: &str, report: &Value) -> Shown {
    let project = Project::empty();
    fs::write(project.path("report.json"), report.to_string()).unwrap();
    let run = project.run(&[
        "report",
        "--from",
        "report.json",
        "--details",
        "--output",
        "report.html",
        "--output",
        "report.md",
    ]);
    let code = i32::try_from(report["exit_code"].as_i64().unwrap()).unwrap();
    let shown = Shown {
        terminal: run.ended_with(code).stdout,
        page: project.read("report.html"),
        markdown: project.read("report.md"),
    };
    leave(name, &shown.page);
    shown
}

/// So many configurations, each with its canaries.
fn with_candidates(count: usize) -> Value {
    let mut report = report();
    let job = &mut report["jobs"][0];
    let (forecast, runs) = (job["forecasts"][0].clone(), job["measurements"].clone());
    for index in job["forecasts"].as_array().unwrap().len()..count {
        let name = format!("{index}x ml.m5.2xlarge");
        let factor = 1.0 + f64::from(u32::try_from(index).unwrap());
        let mut another = forecast.clone();
        another["instance"] = name.clone().into();
        for end in ["point", "lower", "upper"] {
            for (metric, factor) in [
                ("time_seconds", 1.5 / factor),
                ("cost_usd", 1.0 + factor / 20.0),
            ] {
                let value = another["estimates"][metric][end].as_f64().unwrap();
                another["estimates"][metric][end] = (value * factor).into();
            }
        }
        job["forecasts"].as_array_mut().unwrap().push(another);
        for run in &runs.as_array().unwrap()[..3] {
            let mut run = run.clone();
            run["instance"] = name.clone().into();
            job["measurements"].as_array_mut().unwrap().push(run);
        }
    }
    report
}

/// The band about the law needs them; a record of the history does not.
#[test]
fn a_run_reports_the_time_between_its_canaries_and_the_full_run() {
    let project = Project::with_script("sleep 0.1\n");
    let arguments = [
        "run",
        "--all",
        "--output",
        "report.json",
        "--output",
        "report.html",
    ];
    project.run(&arguments).ended_with(0);
    let report: Value = serde_json::from_str(&project.read("report.json")).unwrap();
    let forecast = &report["jobs"][0]["forecasts"][0];
    let by_share = forecast["time_by_share"].as_array().unwrap();
    let (first, last) = (&by_share[0], by_share.last().unwrap());
    assert!(first["share"].as_f64().unwrap() < 0.02 && last["share"] == 1.0);
    for end in ["point", "lower", "upper"] {
        assert_eq!(last[end], forecast["estimates"]["time_seconds"][end]);
    }
    let page = project.read("report.html");
    assert!(page.contains("The band is the interval of one new run of that size"));
    let records = "grep --recursive --files-with-matches --include='*-forecast-*'";
    let of_history = |word: &str| project.shell(&format!("{records} {word} .canary-gate/local"));
    of_history("time_seconds").ended_with(0);
    of_history("time_by_share").ended_with(1);
}

#[test]
fn fifty_candidates_and_a_thousand_canaries_are_a_page() {
    let many = shown("fifty-candidates", &with_candidates(50));
    let five = shown("five-candidates", &with_candidates(5)).page;
    assert!(five.len() <= 300_000, "{} bytes", five.len());
    let left_out = "The first 16 of 49 configurations are drawn; the tables have all.";
    assert!(many.page.contains(left_out));
    let fits = many.page.find("What would fit");
    let table = many.page.find("<table>");
    assert!(
        fits.unwrap() < table.unwrap(),
        "what to do is on the first screen"
    );
    for text in [&many.markdown, &many.terminal] {
        assert!(text.contains("49x ml.m5.2xlarge"), "{text}");
    }
    let mut report = report();
    let runs = report["jobs"][0]["measurements"].as_array_mut().unwrap();
    let one = runs[0].clone();
    for index in 0..1000 {
        let mut run = one.clone();
        run["replicate"] = index.into();
        run["training_seconds"] = (240.0 + f64::from(index % 50)).into();
        run["step_seconds"] = 0.02.into();
        runs.push(run);
    }
    let many = shown("thousand-canaries", &report);
    assert!(many.page.len() < 1_500_000, "{} bytes", many.page.len());
    for text in [&many.page, &many.markdown, &many.terminal] {
        assert!(text.contains("1005 runs"), "{text}");
    }
}

/// As the first version of the program wrote it.
#[test]
fn a_report_of_the_first_version_is_shown_as_one_of_today() {
    let shown = shown("first-version", &stored("first-version.json"));
    for text in [&shown.page, &shown.markdown, &shown.terminal] {
        assert!(
            text.contains("cost is 63 USD, 13 USD above 50 USD"),
            "{text}"
        );
        assert!(text.contains("6x ml.m5.4xlarge"), "{text}");
    }
}

#[test]
fn a_report_of_no_more_than_its_schema_demands_is_shown() {
    let run = |outcome: &Value| {
        json!({"schema_version": 1, "job": "churn", "instance": "local", "fraction": 0.01,
            "replicate": 0, "outcome": outcome})
    };
    let report = json!({
        "schema_version": 1, "tool_version": "", "generated_at": "2026-11-21T09:14:07Z",
        "verdict": "unknown", "exit_code": 14,
        "jobs": [{
            "name": "churn", "verdict": "unknown", "reason": "no canary measured the time",
            "instance": "local",
            "forecasts": [{"instance": "local", "verdict": "unknown"}],
            "measurements": [run(&json!({"kind": "completed"})), run(&json!({"kind": "timed_out"}))],
            "spend": {"canary_seconds": 0.0},
        }],
    });
    let Shown {
        page,
        markdown,
        terminal,
    } = shown("least", &report);
    assert!(!page.contains("<svg"));
    for text in [page, markdown, terminal] {
        assert!(text.contains("no canary measured the time"), "{text}");
    }
}
