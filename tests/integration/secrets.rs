//! Secrets in what training code says: nothing that is kept or shown has them.

use std::fs;
use std::path::Path;

use crate::project::{Finished, Project};

const SECRET: &str = "s3cr.t+value$$9";

/// Says its secret in every way: whole, over a line end, as its last word; and others of known shapes.
const TALKATIVE: &str = r#"
printf 'connecting with %s\n' "$API_SECRET"
printf '%.9s\n' "$API_SECRET"; printf '%s\n' "$API_SECRET" | cut -c10-
echo 'key AKIAIOSFODNN7EXAMPLE https://bob:hunter22@example.com/x password=opensesame'
printf -- '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n'
echo "denied for $API_SECRET, ghp_0123456789abcdefghijABCDEFGHIJ012345, arn:aws:iam::123456789012:role/T, account 123456789012" >&2
exit 1
"#;

const TOLD: [&str; 8] = [
    "s3cr.t",
    "value$$9",
    "lue$$9",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_0123",
    "hunter22",
    "opensesame",
    "MIIEvQIBADANBgkq",
];

/// Every file that a run wrote, with its text.
pub(crate) fn written(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(written(&path));
        } else {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            all.push((path.display().to_string(), text));
        }
    }
    all
}

fn assert_untold(project: &Project, seen: &str) {
    let mut texts = written(&project.path(".canary-gate"));
    texts.extend(written(&project.path("out")));
    texts.push(("the terminal".to_owned(), seen.to_owned()));
    for (place, text) in texts {
        for secret in TOLD {
            assert!(!text.contains(secret), "{secret} in {place}:\n{text}");
        }
    }
}

const EVERYWHERE: &str = "run --all --pass-env API_SECRET --output out/report.json --output out/report.md --output out/report.csv \
                          --measurements out/measured.jsonl";

/// A run of a script that has the secret, which writes everything that a run writes and is told nowhere.
fn run_everywhere(script: &str) -> (Project, Finished) {
    let project = Project::with_script(script).file("out/.keep", "");
    let words: Vec<&str> = EVERYWHERE.split_whitespace().collect();
    let run = project.run_with(&words, |command| {
        command.env("API_SECRET", SECRET);
    });
    let run = run.ended_with(13);
    assert_untold(&project, &run.seen());
    (project, run)
}

#[test]
fn what_training_code_tells_of_secrets_is_kept_and_shown_nowhere() {
    let (project, run) = run_everywhere(TALKATIVE);
    let run = run.reported("denied for ***, ***, arn:…:role/T");
    assert!(
        run.stderr.contains("| stdout: connecting with ***"),
        "{}",
        run.seen()
    );
    let log = project.read(".canary-gate/logs/sums-local-1.log");
    assert!(log.contains("stdout: connecting with ***"), "{log}");
    let report = project.read("out/report.json");
    assert!(!report.contains("123456789012"), "{report}");
    assert!(report.contains("account …9012"), "{report}");
}

#[test]
fn the_failure_file_tells_no_secret_either_also_where_it_is_cut() {
    // SageMaker takes 1,024 characters of it: the secret stands across that place.
    let script = "{ head -c 1015 /dev/zero | tr '\\0' x; printf '%s and more' \"$API_SECRET\"; } > \"$SM_OUTPUT_DIR/failure\"\nexit 1\n";
    let (project, _) = run_everywhere(script);
    assert!(project.read("out/report.json").contains("xxx***"));
}

#[test]
fn a_token_that_the_gate_holds_is_told_by_nobody() {
    // The gate's environment may be read by a process of its user.
    let script = "tr '\\0' '\\n' < /proc/$GATE/environ 2>/dev/null >&2\necho 'token was gate-token-4711' >&2\nexit 1\n";
    let project = Project::with_script(script).file("out/.keep", "");
    let run = project.run_with(&["run", "--all"], |command| {
        command.env("GITHUB_TOKEN", "gate-token-4711");
    });
    let run = run.ended_with(13).reported("token was ***");
    assert!(!run.seen().contains("gate-token"), "{}", run.seen());
}
