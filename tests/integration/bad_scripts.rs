//! Training code that misbehaves: its failure is a result, and nothing of it is left running.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::project::{Finished, Project};

/// Whether any process still holds `marker` in its command line.
fn is_running(marker: &str) -> bool {
    let output = Command::new("ps")
        .args(["-A", "-o", "args"])
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).contains(marker)
}

#[test]
fn a_failing_script_is_a_result_with_its_last_line() {
    let project = Project::with_script("echo loading\necho 'no such column: age' >&2\nexit 3\n");
    let run = project.run(&["run", "--all"]).ended_with(13);
    assert!(
        run.stdout
            .contains("the training code ended with exit code 3 in the 1% canary"),
        "{}",
        run.seen()
    );
    assert!(run.stdout.contains("no such column: age"), "{}", run.seen());
    // The tail goes to the job log, and nothing more is launched after a failure.
    assert!(run.stderr.contains("| stdout: loading"), "{}", run.seen());
    assert_eq!(project.recorded("canary").len(), 1);
}

#[test]
fn the_whole_log_of_a_failed_canary_is_in_a_file() {
    let project = Project::with_script("seq 1000\nprintf 'a\\033[2Jb\\n' >&2\nls -aR .\nexit 3\n");
    let run = project.run(&["run", "--all"]).ended_with(13);
    run.complained("  its log: .canary-gate/logs/sums-local-1.log\n")
        .reported("  log       .canary-gate/logs/sums-local-1.log\n");
    let folder = project.path(".canary-gate/logs").metadata().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&folder.permissions());
    assert_eq!(mode & 0o777, 0o700);
    let log = project.read(".canary-gate/logs/sums-local-1.log");
    assert!(log.starts_with("stdout: 1\nstdout: 2\n"), "{log}");
    assert!(log.contains("stdout: 1000\n"), "{log}");
    assert!(log.ends_with("stderr: ab\n"), "{log}");
    // The next run has its own in their place, and none is part of the code, though no git says so.
    project.write(".canary-gate/logs/other-1.log", "of an earlier run");
    project.run(&["run", "--all"]).ended_with(13);
    assert!(!project.path(".canary-gate/logs/other-1.log").exists());
    let log = project.read(".canary-gate/logs/sums-local-1.log");
    assert!(!log.contains("canary-gate/logs"), "{log}");
}

/// The third is the first that fails.
#[test]
fn a_log_has_the_number_of_its_canary_in_the_progress() {
    let project = Project::with_script(
        "test $(ls $SM_CHANNEL_TRAIN | wc -l) -lt 3 || { echo too many; exit 4; }\n",
    );
    let run = project.run(&["run", "--all"]).ended_with(13);
    run.complained("sums on local canary 3/6  3% #1  failed (exit code 4)")
        .reported("Canary 3 ended with exit code 4, with 3.1% of the data: too many\n")
        .reported("  log       .canary-gate/logs/sums-local-3.log\n");
    assert!(
        project
            .read(".canary-gate/logs/sums-local-3.log")
            .contains("too many")
    );
}

#[test]
fn a_log_folder_that_links_elsewhere_is_refused_and_the_report_is_made() {
    let project = Project::with_script("echo no\nexit 3\n").file("elsewhere/kept.log", "mine");
    std::fs::create_dir(project.path(".canary-gate")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", project.path(".canary-gate/logs")).unwrap();
    let run = project.run(&["run", "--all"]).ended_with(13);
    run.complained("warning: the log is not kept: ")
        .complained("| stdout: no");
    assert_eq!(project.read("elsewhere/kept.log"), "mine");
}

#[test]
fn the_failure_file_speaks_for_the_script() {
    let project = Project::with_script(
        "echo 'ran out of patience' > \"$SM_OUTPUT_DIR/failure\"\necho bye\nexit 1\n",
    );
    project
        .run(&["run", "--all"])
        .ended_with(13)
        .reported("ran out of patience");
}

#[test]
fn hostile_last_lines_do_not_reach_the_terminal_raw() {
    let project = Project::with_script("printf '\\033[2J\\033]0;owned\\007 gone' >&2\nexit 1\n");
    let run = project.run(&["run", "--all"]).ended_with(13);
    assert!(
        !run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'),
        "{}",
        run.seen()
    );
}

#[test]
fn a_command_that_is_not_there_is_ours_to_say() {
    let project = Project::with_script("true");
    project.write(
        "canary-gate.yml",
        &Project::SPEC.replace("[sh, train.sh]", "[no-such-program, train.sh]"),
    );
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("no-such-program")
        .complained("training.command");
}

#[test]
fn a_command_without_permission_is_ours_to_say() {
    let project = Project::with_script("true");
    project.write(
        "canary-gate.yml",
        &Project::SPEC.replace("[sh, train.sh]", "[./train.sh]"),
    );
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("not executable");
}

#[test]
fn a_script_that_forks_and_exits_leaves_nothing_running() {
    let project = Project::with_script("(sleep 4177 &) ; setsid sleep 4177 & exit 0\n");
    project.run(&["run", "--all"]);
    assert!(!is_running("sleep 4177"));
}

/// While the probe is halted nobody looks at memory; what was seen beside that keeps no line within.
#[test]
fn memory_that_was_used_while_the_probe_was_halted_is_not_within() {
    let script = "import os, signal, time\n\
        os.kill(os.getppid(), signal.SIGSTOP)\n\
        held = bytearray(b'x') * (300 << 20)\n\
        time.sleep(2.5)\n\
        del held\n\
        os.kill(os.getppid(), signal.SIGCONT)\n\
        time.sleep(0.2)\n";
    let spec = Project::SPEC
        .replace("[sh, train.sh]", "[python3, train.py]")
        .replace("replicates: 2", "replicates: 1");
    let project = Project::empty()
        .file("train.py", &format!("{}{script}", Project::READS_IN_PYTHON))
        .data("data", 100)
        .file(
            "canary-gate.yml",
            &format!("{spec}    budget: {{memory: 90%}}\n"),
        );
    let report = project
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .json();
    let job = &report["jobs"][0];
    assert_eq!(job["verdict"], "at_risk", "{report:#}");
    for run in job["measurements"].as_array().unwrap() {
        assert_eq!(run["usage"]["memory"]["is_lower_bound"], true, "{run:#}");
        assert!(
            run["notes"].to_string().contains("was not looked at"),
            "{run:#}"
        );
    }
}

#[test]
fn a_script_that_ignores_sigterm_is_ended_at_its_limit() {
    let project = Project::with_script("trap '' TERM\nwhile :; do sleep 4178; done\n");
    let spec = Project::SPEC.replace("max_runtime: 1m", "max_runtime: 1s");
    project.write(
        "canary-gate.yml",
        &format!("{spec}    budget: {{time: 1h}}\n"),
    );
    let run = project.run(&["run", "--all"]).ended_with(14);
    assert!(run.stdout.contains("timed out"), "{}", run.seen());
    assert!(!is_running("sleep 4178"));
}

#[test]
fn a_script_that_prints_a_gigabyte_is_no_trouble() {
    let project =
        Project::with_script("head -c 1000000000 /dev/zero | tr '\\0' 'x'\necho\nexit 1\n");
    let run = project.run(&["run", "--all"]).ended_with(13);
    assert!(
        run.stdout.len() < 20_000 && run.stderr.len() < 300_000,
        "{} {}",
        run.stdout.len(),
        run.stderr.len()
    );
}

/// The gate runs in a memory cgroup of 200 MiB, where one may be made, so that the kernel really ends the script.
#[test]
fn a_script_that_eats_all_memory_fails_the_memory_line() {
    let cgroup = format!(
        "/sys/fs/cgroup/memory/canary-gate-test-{}",
        std::process::id()
    );
    let made = std::fs::create_dir(&cgroup)
        .and_then(|()| std::fs::write(format!("{cgroup}/memory.limit_in_bytes"), "200M"));
    if let Err(error) = made {
        eprintln!("skipped: no memory cgroup can be made here: {error}");
        return;
    }
    let project =
        Project::with_script("exec python3 -c 'held = bytearray(b\"x\") * (400 << 20)'\n");
    let program = env!("CARGO_BIN_EXE_canary-gate");
    let run = project.run_with(&[], |command| {
        let script = format!("echo $$ > {cgroup}/cgroup.procs && exec {program} run --all");
        *command = Command::new("sh");
        command.args(["-c", &script]).current_dir(project.root());
    });
    std::fs::remove_dir(&cgroup).unwrap();
    let run = run.ended_with(10);
    assert!(run.stdout.contains("out of memory"), "{}", run.seen());
}

#[test]
fn a_memory_limit_that_a_script_set_itself_is_its_own_failure() {
    let project =
        Project::with_script("ulimit -v 200000\nexec python3 -c 'x = bytearray(1 << 30)'\n");
    project
        .run(&["run", "--all"])
        .ended_with(13)
        .reported("MemoryError");
}

#[test]
fn a_script_that_kills_its_probe_leaves_nothing_running() {
    for (script, left) in [
        (
            "sleep 0.2; kill -9 $PPID; sleep 5181 & sleep 5182",
            "sleep 518",
        ),
        (
            "kill -9 $PPID; exec >/dev/null 2>&1 </dev/null; sleep 5283",
            "sleep 5283",
        ),
    ] {
        let project = Project::with_script(script);
        project
            .run(&["run", "--all"])
            .ended_with(1)
            .complained("the probe was killed")
            .complained("job `sums`");
        assert!(!is_running(left));
        assert_eq!(
            std::fs::read_dir(project.path(".canary-gate/work"))
                .unwrap()
                .count(),
            0
        );
    }
}

/// The probe speaks with the gate through a socket that the script has no descriptor of.
#[test]
fn a_report_that_a_script_writes_is_not_believed() {
    let report = r#"{"schema_version":1,"ending":{"kind":"exited","code":0},"wall_seconds":0.001,"cpu_seconds":1e300,"usage":{"memory":{"bytes":5,"percent":-5.0,"source":"forged"}},"samples":0,"survivors_ended":0,"cores":1.0}"#;
    let forge = format!(
        "for to in ../probe.json /dev/stdin /dev/fd/3 /proc/$PPID/fd/0; do echo '{report}' > $to; done; true\n"
    );
    let project = Project::with_script(&forge);
    project.run(&["run", "--all"]).ended_with(0);
    for measured in project.recorded("canary") {
        let memory = &measured["usage"]["memory"];
        assert_ne!(memory["source"], "forged");
        assert!(memory["percent"].as_f64().unwrap() > 0.0);
    }
    // A probe that was killed says nothing.
    Project::with_script(&format!("{forge}kill -9 $PPID\n"))
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("the probe was killed");
}

/// The gate's environment has tokens. Tried where nothing else protects it: without capabilities, which let root trace
/// everything, and without user namespaces, which keep a canary apart where they are allowed.
#[test]
fn a_script_cannot_look_into_the_gate_or_the_probe() {
    let script = "\
for pid in $PPID $(sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/$PPID/stat); do
  for file in environ fd/0 mem; do
    if (exec 3< /proc/$pid/$file) 2>/dev/null; then echo $pid $file is open; exit 3; fi
  done
done
";
    let bare = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all \"$0\" run --all";
    let project = Project::with_script(script);
    let gate = project.gate(&[]);
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "sh", "-c", bare])
        .arg(gate.get_program())
        .current_dir(project.root())
        .env("SECRET_TOKEN", "ghs_0123456789");
    let output = command.output().unwrap();
    if String::from_utf8_lossy(&output.stderr).contains("unshare failed") {
        eprintln!("skipped: this machine allows no user namespaces");
        return;
    }
    Finished::new(&output, project.root()).ended_with(0);
}

#[test]
fn the_environment_of_a_job_steers_its_command_and_not_the_probe() {
    let project = Project::with_script("[ $CANARY_GATE_QUIET = loud ] && nvidia-smi\n");
    project.write("bin/nvidia-smi", "#!/bin/sh\necho $PPID >> $STARTED\n");
    let program = project.path("bin/nvidia-smi");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let spec = project.read("canary-gate.yml");
    let environment = format!(
        "      environment: {{PATH: 'bin:/usr/bin:/bin', CANARY_GATE_QUIET: loud, STARTED: {}}}\n",
        project.path("started").display()
    );
    let command = "      command: [sh, train.sh]\n";
    project.write(
        "canary-gate.yml",
        &spec.replace(command, &format!("{command}{environment}")),
    );
    project.run(&["run", "--all"]).ended_with(0);
    // By each of the six canaries, and by no probe.
    assert_eq!(project.read("started").lines().count(), 6);
}

#[test]
fn a_canary_that_was_ended_at_its_limit_shows_the_limit_and_not_what_ending_it_took() {
    let project = Project::with_script("trap 'sleep 0.7; exit 0' TERM\nsleep 60 &\nwait\n");
    let spec = project.read("canary-gate.yml");
    project.write(
        "canary-gate.yml",
        &spec.replace("max_runtime: 1m", "max_runtime: 1s"),
    );
    let run = project.run(&["run", "--all"]);
    assert!(
        run.stderr.contains("timed out after 1.0s"),
        "{}",
        run.seen()
    );
}

#[test]
fn a_script_that_covers_up_what_it_wrote_to_large_data_is_caught() {
    let rewrite = "\
for f in $SM_CHANNEL_TRAIN/*; do
  touch -r $f ../before
  printf evil | dd of=$f conv=notrunc 2>/dev/null
  touch -r ../before $f
done
";
    let read = "cat $SM_CHANNEL_TRAIN/* > /dev/null\n";
    for (script, code) in [(rewrite, 1), (read, 0)] {
        let project = Project::empty().file("train.sh", script).spec("");
        let spec = project.read("canary-gate.yml");
        project.write(
            "canary-gate.yml",
            // Canaries at the same time link and unlink the same files.
            &spec.replace("replicates: 2", "replicates: 2, parallel: 3"),
        );
        for index in 0..20 {
            project.write(&format!("data/part-{index:02}.bin"), &"x".repeat(2 << 20));
        }
        let run = project.run(&["run", "--all"]).ended_with(code);
        let caught = run.stderr.contains("was changed while a canary used it");
        assert_eq!(caught, code == 1, "{}", run.seen());
    }
}

#[test]
fn a_script_that_writes_to_large_data_is_caught() {
    let project = Project::empty()
        .file(
            "train.sh",
            "for f in \"$SM_CHANNEL_TRAIN\"/*; do echo more >> \"$f\"; done\n",
        )
        .spec("");
    for index in 0..20 {
        project.write(&format!("data/part-{index:02}.bin"), &"x".repeat(2 << 20));
    }
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("was changed while a canary used it")
        .complained("never to its channels");
}

#[test]
fn folders_without_permissions_are_removed_all_the_same() {
    let project = Project::with_script("mkdir -p a/b; touch a/b/x; chmod 000 a\n");
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    assert_eq!(
        std::fs::read_dir(project.path(".canary-gate/work"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_script_cannot_see_the_callers_environment_unless_it_is_passed() {
    let project = Project::with_script("test -z \"$SECRET_TOKEN\" || { echo leaked; exit 1; }\n");
    project
        .run_with(&["run", "--all", "--quiet"], |command| {
            command.env("SECRET_TOKEN", "hush");
        })
        .ended_with(0);
    let asked = project.run_with(
        &["run", "--all", "--quiet", "--pass-env", "SECRET_TOKEN"],
        |command| {
            command.env("SECRET_TOKEN", "hush");
        },
    );
    asked.ended_with(13);
    project
        .run(&["run", "--all", "--pass-env", "NOT_SET"])
        .ended_with(2)
        .complained("`--pass-env NOT_SET`: the variable is not set");
}

#[test]
fn a_script_cannot_change_the_source_or_small_data() {
    let project = Project::with_script(
        "echo spoiled > train.sh\nfor f in \"$SM_CHANNEL_TRAIN\"/*; do : > \"$f\"; done\n",
    );
    let before = project.read("data/part-000.csv");
    project.run(&["run", "--all", "--quiet"]);
    assert_eq!(project.read("data/part-000.csv"), before);
    assert!(
        project
            .read("train.sh")
            .contains("\necho spoiled > train.sh\n")
    );
}

/// What a shell limits, and what the gate says of it.
#[test]
fn a_limit_of_the_shell_is_no_riddle() {
    let project = Project::with_script("true");
    let gate = env!("CARGO_BIN_EXE_canary-gate");
    project
        .shell(&format!("ulimit -s 256; {gate} run --all"))
        .ended_with(0);
    project
        .shell(&format!("ulimit -f 1; {gate} run --all --fresh"))
        .ended_with(1)
        .complained("File too large");
}

#[test]
fn a_canary_that_puts_a_link_in_place_of_the_gate_s_folder_has_nothing_written_through_it() {
    let project = Project::with_script("true").file("away/kept", "");
    let (root, away) = (project.root().display(), project.path("away"));
    let script = format!(
        "cd {root}; mv .canary-gate moved.$$; ln -s {} .canary-gate",
        away.display()
    );
    project.write("train.sh", &script);
    let refused = project.run(&["run", "--all"]).ended_with(1);
    assert!(refused.seen().contains("is a link"), "{}", refused.seen());
    assert_eq!(
        std::fs::read_dir(away).unwrap().count(),
        1,
        "{}",
        refused.seen()
    );
}

#[test]
fn a_dead_gate_s_folder_goes_even_if_its_canary_took_the_lock_away() {
    let project = Project::with_script("true").file(".canary-gate/work/2147483646-0/left", "");
    project.run(&["run", "--all"]).ended_with(0);
    assert!(!project.path(".canary-gate/work/2147483646-0").exists());
}
