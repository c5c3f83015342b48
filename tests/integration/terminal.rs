//! What somebody at a terminal sees: the real binary in a tmux of 80 and of 120 columns.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::project::Project;

/// A tmux server of its own, which ends with it.
struct Tmux<'a> {
    project: &'a Project,
}

impl<'a> Tmux<'a> {
    /// `None` where there is no tmux, which is said.
    fn start(project: &'a Project, columns: u16) -> Option<Self> {
        let tmux = Self { project };
        // A shell with a prompt of nothing, and no configuration of the machine's.
        let size = ["-x", &columns.to_string(), "-y", "60"].map(str::to_owned);
        let mut words: Vec<&str> = vec!["-f", "/dev/null", "new-session", "-d"];
        words.extend(size.iter().map(String::as_str));
        words.push("env -i PATH=\"$PATH\" HOME=\"$HOME\" TERM=screen PS1= sh");
        let Ok(started) = tmux.command(&words) else {
            println!("skipped: tmux is not installed");
            return None;
        };
        assert!(started.status.success(), "{started:?}");
        Some(tmux)
    }

    fn command(&self, words: &[&str]) -> std::io::Result<Output> {
        Command::new("tmux")
            .arg("-S")
            .arg(self.project.path("tmux.socket"))
            .args(words)
            .current_dir(self.project.root())
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", self.project.root())
            .output()
    }

    /// Runs a command to its end, and returns the screen with what scrolled off.
    fn run(&self, arguments: &str) -> String {
        let binary = env!("CARGO_BIN_EXE_canary-gate");
        self.project.write(
            "go.sh",
            &format!("clear\n{binary} {arguments}\necho $? > ended\n"),
        );
        let sent = self.command(&["send-keys", ". ./go.sh", "Enter"]);
        assert!(sent.unwrap().status.success());
        wait_for(&self.project.path("ended"));
        self.screen()
    }

    fn screen(&self) -> String {
        let seen = self.command(&["capture-pane", "-p", "-S", "-500"]).unwrap();
        let seen = String::from_utf8(seen.stdout).unwrap();
        let typed = ". ./go.sh\n";
        let seen = seen.trim().trim_start_matches(typed);
        seen.to_owned() + "\n"
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]);
    }
}

fn wait_for(file: &Path) {
    while fs::read_to_string(file).map_or(true, |text| !text.ends_with("\n")) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A recording of three canaries: what it says is the same on every machine.
fn recorded() -> Project {
    let run = |(share, seconds)| {
        format!(
            r#"{{"schema_version":1,"job":"churn","instance":"local","fraction":{share},"replicate":0,"outcome":{{"kind":"completed"}},"training_seconds":{seconds}}}"#
        )
    };
    let runs = [(0.01, 1.62), (0.03, 4.2), (0.1, 13.4)].map(run).join("\n");
    let spec = "\
version: 1
backend: replay
recording: runs.jsonl
prices: {local: 1.20 USD/h}
jobs:
  churn:
    training: {command: [python3, train.py], channels: {train: {uri: data}}}
    instance: local
    canary: {design: fixed, fractions: [1%, 3%, 10%], replicates: 1, max_share: 100%, max_runtime: 5m}
    budget: {time: 2m, cost: 1 USD}
";
    Project::empty()
        .file("runs.jsonl", &runs)
        .file("canary-gate.yml", spec)
}

#[test]
fn a_run_fits_a_terminal_of_eighty_columns() {
    let project = recorded();
    if let Some(tmux) = Tmux::start(&project, 80) {
        insta::assert_snapshot!("terminal_80", tmux.run("run --all"));
    }
}

#[test]
fn a_run_fits_a_terminal_of_one_hundred_and_twenty_columns() {
    let project = recorded();
    if let Some(tmux) = Tmux::start(&project, 120) {
        insta::assert_snapshot!("terminal_120", tmux.run("run --all --details"));
    }
}

#[test]
fn a_failed_canary_is_a_line_and_the_report_has_the_last_one_of_its_log() {
    let project = Project::with_script("seq 100\necho 'no such column: age' >&2\nexit 3\n");
    if let Some(tmux) = Tmux::start(&project, 80) {
        let seen = tmux.run("run --all");
        assert!(seen.starts_with("sums on local canary 1/"), "{seen}");
        assert!(seen.contains("column: age\n"), "{seen}");
        assert!(
            seen.contains("  its log: .canary-gate/logs/sums-local-1.log\n"),
            "{seen}"
        );
        assert!(!seen.contains("| stdout"), "{seen}");
    }
}

#[test]
fn colours_go_into_a_file_where_they_are_asked_for() {
    let project = recorded();
    let coloured = project.run(&["run", "--all", "--color", "always"]);
    assert!(coloured.stdout.contains("\u{1b}[1;"), "{}", coloured.seen());
    let plain = project.run_with(&["run", "--all"], |command| {
        command.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    });
    assert!(!plain.stdout.contains('\u{1b}'), "{}", plain.seen());
}
