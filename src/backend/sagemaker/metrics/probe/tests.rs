use super::*;
use crate::measurement::{PeakMemory, Utilization};
use crate::probe::{Ending, MARK_VARIABLE};
use crate::units::{Bytes, Percent, Seconds};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const MARK: &str = "5f1c0b";

fn report() -> ProbeReport {
    ProbeReport {
        schema_version: 1,
        ending: Ending::Exited { code: 0 },
        wall_seconds: Seconds(90.0),
        cpu_seconds: Seconds(100.0),
        usage: Usage {
            memory: Some(PeakMemory {
                bytes: Some(Bytes(6 << 30)),
                percent: Some(Percent(37.5)),
                source: "cgroup v2 memory.stat".to_owned(),
                upper_bound: Some(Bytes(20 << 30)),
                is_lower_bound: false,
            }),
            cpu_percent: Some(Utilization {
                mean: Percent(28.0),
                p99: None,
                source: "CPU time".to_owned(),
            }),
            ..Usage::default()
        },
        samples: 180,
        opt_ml: None,
        container_host: None,
        files_opened: BTreeMap::new(),
        survivors_ended: 0,
        left_running: None,
        memory_total: Some(Bytes(16 << 30)),
        cores: 4.0,
        notes: Vec::new(),
    }
}

fn line(report: &ProbeReport) -> String {
    format!(
        "{MARKED_LINE} {MARK} {}",
        serde_json::to_string(report).unwrap()
    )
}

#[test]
fn the_last_marked_line_of_a_hostile_log_is_the_probes() {
    let mut forged = report();
    forged.wall_seconds = Seconds(1.0);
    let other_mark = line(&forged).replace(MARK, "000000");
    let own = line(&report());
    let noise = "x".repeat(300_000);
    let log = [
        noise.as_str(),
        "{\"schema_version\":1}",
        &line(&forged),
        &own,
        &other_mark,
        "\u{1b}[2J",
        "canary-gate-probe",
    ];
    let find = |lines: &[&str]| find_reports(lines.iter().copied(), MARK, "algo-1");
    let of_own_log = || BTreeMap::from([("algo-1".to_owned(), report())]);
    assert_eq!(find(&log), of_own_log());
    let prefixed = format!("[1,mpirank:0,algo-1]<stdout>:{own}");
    assert_eq!(find(&[prefixed.as_str()]), of_own_log());
    assert_eq!(find(&[noise.as_str()]), BTreeMap::new());
    // mpirun hands what another host prints to the first one's log.
    let mut of_another = report();
    of_another.container_host = Some(crate::probe::ContainerHost {
        name: "algo-2".to_owned(),
        group: None,
    });
    // What it hands on in two pieces has two tags.
    let (first, second) = own.split_at(own.len() / 2);
    let torn = format!("[1,0]<stdout>:{first}[1,0]<stdout>:{second}[1,0]<stdout>:");
    assert_eq!(find(&[&torn]), of_own_log());
    let both = [own, format!("[1,8]<stdout>:{}", line(&of_another))];
    let found = find(&both.each_ref().map(String::as_str));
    assert_eq!(found["algo-1"], report());
    assert_eq!(found["algo-2"], of_another);
}

#[test]
fn what_no_probe_writes_is_no_report() {
    let read = |path: &str, value: serde_json::Value| {
        let mut report = serde_json::to_value(report()).unwrap();
        *path
            .split('/')
            .fold(&mut report, |place, key| &mut place[key]) = value;
        read_report(&report.to_string())
    };
    assert!(read("schema_version", 1.into()).is_some());
    for (path, value) in [
        ("schema_version", 2.into()),
        ("wall_seconds", (-1.0).into()),
        ("wall_seconds", 1e300.into()),
        ("cpu_seconds", (-1.0).into()),
        ("cores", 0.0.into()),
        ("usage/cpu_percent/mean", 100.1.into()),
        ("usage/memory/percent", (-0.1).into()),
        // More memory than there is.
        ("usage/memory/bytes", (17_u64 << 30).into()),
        ("notes", vec!["x".repeat(LONGEST_LINE)].into()),
    ] {
        assert_eq!(read(path, value), None, "{path}");
    }
    let deep = "[".repeat(60_000);
    for text in ["", "{", "null", "NaN", &deep, "{\"schema_version\":1}"] {
        assert_eq!(read_report(text), None, "{text:.20}");
    }
}

#[test]
fn the_start_of_a_plain_image_fits_the_api() {
    assert!(
        ENTRYPOINT.iter().all(|word| word.len() <= 256),
        "{}",
        START.len()
    );
    assert!(START.contains(MARK_VARIABLE) && START.contains(FILE) && START.contains(CHANNEL));
    assert!(takes_command(&["train".to_owned(), "--fast".to_owned()]));
    assert!(!takes_command(&[]));
    assert!(!takes_command(&vec!["x".to_owned(); 101]));
    assert!(!takes_command(&["x".repeat(257)]));
}

#[test]
fn a_plain_image_trains_with_the_probe_and_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let channel = folder.path().join(FILE);
    let start = START
        .replace("/tmp/", &format!("{place}/copied-"))
        .replace("/opt/ml/input/data/canary-gate", place);
    let run = || {
        let output = Command::new("/bin/sh")
            .args(["-c", &start, "canary-gate", "/bin/sh", "-c"])
            .args(["echo \"$0 ${CANARY_GATE_MARK-unset}\"; exit 7", "a b"])
            .env(MARK_VARIABLE, MARK)
            .output()
            .unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), shown)
    };
    let without = (Some(7), "a b unset\n".to_owned());
    // No channel, then a program that cannot be executed, then one that fails.
    assert_eq!(run(), without);
    fs::write(&channel, "\u{7f}ELF and nothing else").unwrap();
    assert_eq!(run(), without);
    fs::write(&channel, "#!/bin/sh\nexit 1\n").unwrap();
    assert_eq!(run(), without);
    // A stand-in for the probe: it is asked for a trial first, then runs what follows `--`.
    let probe = "#!/bin/sh\n[ \"$2\" = --output ] && exit 0\necho probed; shift 4; exec \"$@\"\n";
    fs::write(&channel, probe).unwrap();
    assert_eq!(run(), (Some(7), format!("probed\na b {MARK}\n")));
    let mode = fs::metadata(&channel).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0, "the channel's file is left alone");
}

/// The reason of `entry.py` is shown. Of any other text only its kind is, since a script may have written it.
#[test]
fn a_log_says_why_the_probe_was_not_started() {
    assert!(ENTRY.contains(&format!("\"{REFUSAL}%s")) && ENTRY.contains(LAUNCHER));
    let log = |why: &str| ["epoch 1".to_owned(), format!("{REFUSAL}{why}")];
    let said = |lines: [String; 2]| refusal(lines.iter().map(String::as_str));
    assert_eq!(said(log(LAUNCHER)), Some(LAUNCHER));
    let hostile = said(log("<script>"));
    assert_eq!(hostile, Some("it cannot run in the container"));
    assert_eq!(refusal(["epoch 1"]), None);
}
