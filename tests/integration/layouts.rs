//! The layouts of docs/make-it-fit.md, each as its user runs it: real libraries, real data, a forecast, then the full run.
//!
//! How good each forecast was is printed, not judged: `scripts/layouts` shows it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::project::Project;

/// Makes the layout's data, checks it as a pull request is checked, and runs the full training. The measurements of its canaries.
fn canaries_of(layout: &str) -> Vec<Value> {
    let project = Project::empty();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/layouts");
    let files = fs::read_dir(examples.join(layout)).unwrap();
    let files = files.map(|file| file.unwrap().path());
    for path in files.filter(|path| path.is_file()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        project.write(
            &format!("{layout}/{name}"),
            &fs::read_to_string(&path).unwrap(),
        );
    }
    let in_the_layout = |command: &mut Command| {
        let python = std::env::var("CANARY_GATE_LAYOUTS_PYTHON")
            .expect("scripts/layouts names the folder of a Python with the layouts' packages");
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{python}:{path}"));
        command.current_dir(project.path(layout));
    };
    if project.path(layout).join("make_data.py").exists() {
        let mut maker = Command::new("python3");
        in_the_layout(&mut maker);
        let made = maker.arg("make_data.py").output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }

    let report = project
        .run_with(&["run", "--all", "--format", "json"], in_the_layout)
        .ended_with(0)
        .json();
    let full_run = project
        .run_with(&["actuals", "--run", "--quiet"], in_the_layout)
        .ended_with(0);
    println!("\n{layout}\n{}", full_run.stdout);
    assert_eq!(full_run.stdout.matches("Actual / forecast").count(), 1);
    report["jobs"][0]["measurements"]
        .as_array()
        .unwrap()
        .clone()
}

/// The shares of the data that the canaries held, smallest first, each once.
fn shares(canaries: &[Value]) -> Vec<f64> {
    let share = |canary: &Value| {
        let of = |part: &str, whole: &str| Some(canary[part].as_f64()? / canary[whole].as_f64()?);
        let drawn = of("bytes", "bytes_total").or_else(|| of("objects", "objects_total"));
        drawn.unwrap_or_else(|| canary["fraction"].as_f64().unwrap())
    };
    let mut shares: Vec<f64> = canaries.iter().map(share).collect();
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    shares
}

/// The smallest canary has about one per cent of the data. Of 36 months it holds one at least, which is more: it is said, and the
/// real share counts.
#[test]
#[ignore = "needs Python packages; scripts/layouts installs them"]
fn a_layout_is_sampled_finely() {
    let layout = std::env::var("CANARY_GATE_LAYOUT").expect("scripts/layouts names one");
    let shares = shares(&canaries_of(&layout));
    let smallest = match layout.as_str() {
        "months" => 0.02..0.04,
        _ => 0.005..0.03,
    };
    assert!(shares.len() >= 2, "{shares:?}");
    assert!(smallest.contains(&shares[0]), "{shares:?}");
}

#[test]
fn the_first_line_of_a_layout_names_its_packages() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/layouts");
    let packages = fs::read_to_string(examples.join("requirements.txt")).unwrap();
    let packages = packages.lines().filter_map(|line| line.split_once("=="));
    let packages: Vec<&str> = packages.map(|(name, _)| name).collect();
    let layouts = fs::read_dir(examples).unwrap().map(|one| one.unwrap());
    for layout in layouts.filter(|one| one.path().is_dir()) {
        let spec = fs::read_to_string(layout.path().join("canary-gate.yml")).unwrap();
        let first = spec.lines().next().unwrap();
        for file in fs::read_dir(layout.path()).unwrap() {
            let code = fs::read_to_string(file.unwrap().path()).unwrap_or_default();
            let code = code.replace("from PIL ", "import pillow ");
            let code = code.replace("from sklearn.", "import scikit-learn.");
            for name in &packages {
                let is_needed = code.contains(&format!("import {name}"));
                assert!(!is_needed || first.contains(name), "{name}: {first}");
            }
        }
    }
}
