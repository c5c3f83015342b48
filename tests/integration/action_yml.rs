//! What action.yml says holds: the program reads its inputs, the docs show them, and the example workflows use no others.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::action::workflow::{ENOUGH, Workflow, spec};

const DOCS: &str = include_str!("../../docs/action.md");

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

fn action() -> Value {
    yaml(&fs::read_to_string(repository().join("action.yml")).unwrap())
}

fn names(of: &Value) -> Vec<&str> {
    of.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The rows of the table whose head begins with this word.
fn table(head: &str) -> Vec<&'static str> {
    let start = DOCS.find(&format!("| {head} |")).unwrap();
    let rows = DOCS[start..].lines().skip(2);
    rows.take_while(|line| line.starts_with('|')).collect()
}

#[test]
fn the_docs_show_every_input_and_output_as_it_is_described() {
    let action = action();
    let inputs = action["inputs"].as_object().unwrap();
    let rows = inputs.iter().map(|(name, input)| {
        let default = match input["default"].as_str() {
            Some(default) => format!("`{default}`"),
            None => String::new(),
        };
        let description = input["description"].as_str().unwrap();
        format!("| `{name}` | {default} | {description} |")
    });
    assert_eq!(table("input"), rows.collect::<Vec<_>>());
    let outputs = action["outputs"].as_object().unwrap();
    let rows = outputs.iter().map(|(name, output)| {
        let description = output["description"].as_str().unwrap();
        format!("| `{name}` | {description} |")
    });
    assert_eq!(table("output"), rows.collect::<Vec<_>>());
}

/// The defaults of action.yml are inputs too: with all of them the program does what it does without.
#[test]
fn the_program_takes_the_defaults() {
    let action = action();
    let mut workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    for (name, input) in action["inputs"].as_object().unwrap() {
        if name != "github-token" {
            workflow = workflow.input(name, input["default"].as_str().unwrap_or_default());
        }
    }
    let step = workflow.run().ended_with(0);
    let outputs = names(&action["outputs"]);
    for name in step.outputs.keys() {
        assert!(
            outputs.contains(&name.as_str()),
            "action.yml has no output {name}"
        );
    }
    assert_eq!(step.outputs.len(), outputs.len(), "{:?}", step.outputs);
}

#[test]
fn the_examples_use_what_there_is() {
    let action = action();
    let inputs = names(&action["inputs"]);
    let mut steps = 0;
    for file in fs::read_dir(repository().join("examples/workflows")).unwrap() {
        let path = file.unwrap().path();
        let workflow = yaml(&fs::read_to_string(&path).unwrap());
        assert_eq!(
            workflow["permissions"],
            serde_json::json!({}),
            "{}",
            path.display()
        );
        for job in workflow["jobs"].as_object().unwrap().values() {
            // A workflow that is called has at most what its caller grants.
            if job["uses"].is_string() {
                let called = repository().join("examples/workflows/organization.yml");
                let called = yaml(&fs::read_to_string(called).unwrap());
                assert_eq!(job["permissions"], called["jobs"]["gate"]["permissions"]);
                continue;
            }
            for step in job["steps"].as_array().unwrap() {
                let uses = step["uses"].as_str().unwrap_or_default();
                if !uses.contains("/canary-gate@") {
                    continue;
                }
                steps += 1;
                for (name, value) in step["with"].as_object().into_iter().flatten() {
                    assert!(
                        inputs.contains(&name.as_str()),
                        "{}: {name}",
                        path.display()
                    );
                    let served = ["run", "detach", "collect", "drift", "report", "sweep"];
                    let served = served.map(Value::from);
                    assert!(
                        name != "command" || served.contains(value),
                        "{}",
                        path.display()
                    );
                }
            }
        }
    }
    assert!(steps >= 6, "{steps}");
}
