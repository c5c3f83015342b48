//! The cases of `tests/scenarios`: each a small project, commands in it, and what they say.
//!
//! `## TITLE` begins a case: a project of the local job `sums` with 100 data files. `### PATH` and the lines below it are a file of it;
//! `$ COMMAND` is run by a shell, in which `$PYTHON` may have pyarrow and `$REPOSITORY` is this repository. What is written so before the
//! first case, each case begins with. The lines below a command say
//! (`tests/scenarios/bin` has programs that make recordings and look into reports)
//!
//! - `? CODE`: its exit code; 0 without.
//! - `> WORDS` and `! WORDS`: what stands on standard output and on standard error, where all white space is one space.
//! - `- WORDS`: what stands on neither.
//! - `~ WORDS`: where they stand on either, this machine cannot do what the case needs, and its rest is skipped.

use std::path::Path;

use crate::project::Project;

fn run(text: &str) {
    let (start, cases) = text.split_once("\n## ").unwrap();
    let is_step = |line: &&str| line.starts_with("### ") || line.starts_with("$ ");
    let steps = || start.trim_end().lines().skip_while(|line| !is_step(line));
    for case in cases.split("\n## ") {
        let (title, body) = case.split_once('\n').unwrap();
        let project = Project::with_script("true\n");
        let mut lines = steps().chain(body.trim_end().lines()).peekable();
        while let Some(line) = lines.next() {
            let below: Vec<&str> =
                std::iter::from_fn(|| lines.next_if(|line| !is_step(line))).collect();
            if let Some(path) = line.strip_prefix("### ") {
                project.write(path, &(below.join("\n") + "\n"));
                continue;
            }
            let command = line.strip_prefix("$ ");
            let command = command.unwrap_or_else(|| panic!("{title}: `{line}` is no command"));
            if !is_as_said(&project, title, command, &below) {
                break;
            }
        }
    }
}

/// Runs a command and fails unless it is as is said. False where this machine cannot run it.
fn is_as_said(project: &Project, title: &str, command: &str, said: &[&str]) -> bool {
    let gate = Path::new(env!("CARGO_BIN_EXE_canary-gate"))
        .parent()
        .unwrap();
    let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = format!(
        "PATH={}:{repository}/tests/scenarios/bin:$PATH; PYTHON={python}; REPOSITORY={repository}",
        gate.display(),
        repository = env!("CARGO_MANIFEST_DIR")
    );
    let ran = project.shell(&format!("{found}; {command}"));
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    let (out, err) = (words.join(" "), ran.words());
    let on_either = |words: &str| out.contains(words) || err.contains(words);
    let mut code = 0;
    for line in said {
        let is_so = match line.split_at(2) {
            ("~ ", words) if on_either(words) => {
                eprintln!("{title}: skipped: {words}");
                return false;
            }
            ("~ ", _) => true,
            ("? ", number) => {
                code = number.parse().unwrap();
                true
            }
            ("> ", words) => says(&out, words),
            ("! ", words) => says(&err, words),
            ("- ", words) => !on_either(words),
            _ => panic!("{title}: `{line}` says nothing"),
        };
        assert!(is_so, "{title}: {command}: {line}\n{}", ran.seen());
    }
    assert_eq!(ran.code, code, "{title}: {command}\n{}", ran.seen());
    true
}

/// Whether a text has these words. A number at their ends is a whole number: `6` is not said by `16`.
fn says(text: &str, words: &str) -> bool {
    let both_digits = |one: Option<char>, other: Option<char>| {
        one.zip(other)
            .is_some_and(|(one, other)| one.is_ascii_digit() && other.is_ascii_digit())
    };
    text.match_indices(words).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + words.len()..]);
        let is_cut = both_digits(before.chars().next_back(), words.chars().next())
            || both_digits(words.chars().next_back(), after.chars().next());
        !is_cut
    })
}

macro_rules! files {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            run(include_str!(concat!("../scenarios/", stringify!($name), ".txt")));
        }
    )*};
}

files!(
    adaptive,
    bad_data,
    bad_scripts,
    base,
    caches,
    change,
    container,
    counts,
    data_root,
    draw,
    drift,
    gpu_candidates,
    gpu_memory,
    groups,
    history,
    local_groups,
    logs_and_limits,
    offline,
    outcomes,
    private_data,
    probe,
    probe_entry,
    recommendation,
    replay,
    reuse,
    rows,
    samples,
    share,
    steps,
    work
);
