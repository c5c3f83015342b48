//! The report as a page, made by the real program of reports as hard as they come. `scripts/html` opens what is written here in a
//! browser.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::Project;

const ATTACK: &str =
    "</title></style></svg><script>alert(1)</script><img src=x onerror=alert(1)> \"' & `b`";

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

/// The page of a report.
fn page(name: &str, report: &Value) -> String {
    shown(name, report).page
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

#[test]
fn the_verdict_stands_first_and_figures_show_canaries_law_and_limits() {
    let page = page("over-budget", &report());
    let body = page.split_once("<body>").unwrap().1;
    let verdict = body.find("over budget: cost is 63 USD, 13 USD above 50 USD");
    assert!(verdict.unwrap() < body.find("<table>").unwrap());
    for figure in [
        "Time of a full run",
        "Cost of a full run",
        "Memory of a full run",
        "Time on ml.m5.2xlarge",
    ] {
        assert!(
            body.contains(&format!("<title>{figure}</title>")),
            "{figure}"
        );
    }
    assert!(body.contains("2026-11-02"), "prices have their day");
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
fn a_page_of_five_candidates_is_small() {
    let page = page("five-candidates", &with_candidates(5));
    assert!(page.len() <= 300_000, "{} bytes", page.len());
}

#[test]
fn fifty_candidates_and_a_thousand_canaries_are_a_page() {
    let many = shown("fifty-candidates", &with_candidates(50));
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

#[test]
fn a_report_without_any_forecast_is_a_page() {
    let mut report = report();
    let job = &mut report["jobs"][0];
    job["verdict"] = "failed".into();
    job["reason"] = "every canary failed".into();
    job["forecasts"].as_array_mut().unwrap().truncate(1);
    let forecast = &mut job["forecasts"][0];
    for key in ["phases", "law", "price"] {
        forecast.as_object_mut().unwrap().remove(key);
    }
    forecast["estimates"] = json!({});
    forecast["budget"] = json!([]);
    forecast["verdict"] = "failed".into();
    for run in job["measurements"].as_array_mut().unwrap() {
        run["outcome"] = json!({"kind": "failed", "exit_code": 1, "last_line": ATTACK});
        run.as_object_mut().unwrap().remove("training_seconds");
    }
    job.as_object_mut().unwrap().remove("recommendation");
    (report["verdict"], report["exit_code"]) = ("failed".into(), 13.into());
    let Shown {
        page,
        markdown,
        terminal,
    } = shown("no-forecast", &report);
    assert!(!page.contains("<svg"));
    for text in [page, markdown, terminal] {
        assert!(text.contains("failed in a canary"), "{text}");
    }
    // No job at all.
    report["jobs"] = json!([]);
    (report["verdict"], report["exit_code"]) = ("not_judged".into(), 0.into());
    report["notes"] = json!(["no job is affected"]);
    self::page("no-job", &report);
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

#[test]
fn hostile_names_stay_text_in_the_page_and_in_its_figures() {
    let mut report = with_candidates(5);
    let mut second = report["jobs"][0].clone();
    second["name"] = "second".into();
    report["jobs"].as_array_mut().unwrap().push(second);
    report["notes"] = json!([ATTACK]);
    report["tool_version"] = ATTACK.into();
    let job = &mut report["jobs"][0];
    job["name"] = ATTACK.into();
    job["reason"] = ATTACK.into();
    job["advice"] = json!([ATTACK]);
    job["warnings"] = json!([ATTACK]);
    job["affected_by"] = json!([ATTACK]);
    for forecast in job["forecasts"].as_array_mut().unwrap() {
        if let Some(price) = forecast.get_mut("price") {
            price["source"] = ATTACK.into();
        }
    }
    let page = page("hostile", &report);
    let body = page.split_once("<body>").unwrap().1;
    assert!(!body.contains("<script") && !body.contains("<img"));
    assert!(!body.contains("</style>") && !body.contains("alert(1)>"));
}
