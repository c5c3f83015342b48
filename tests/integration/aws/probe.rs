//! The probe where no script is really run: the file that is sent, and the line that it would print.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::job::Job;

/// A file with the header of a program for x86-64 that needs no libraries: enough to be sent as the probe.
pub(super) fn static_header() -> PathBuf {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64 + 56, 0);
    for (at, byte) in [(18, 62), (32, 64), (54, 56), (56, 1), (64, 1)] {
        bytes[at] = byte;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join("static-header");
    // Tests run beside each other, and none may find half a file.
    let own = folder.join(format!("static-header-{}", std::process::id()));
    std::fs::write(&own, bytes).unwrap();
    std::fs::rename(&own, &program).unwrap();
    program
}

/// What the probe of a job prints that used this much of its memory; `None` where the job has no probe.
pub(crate) fn line(job: &Job, host: &str, percent: f64) -> Option<String> {
    let mark = job.input["Environment"]["CANARY_GATE_MARK"].as_str()?;
    let total = 16_u64 << 30;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "some gigabytes"
    )]
    let bytes = (total as f64 * percent / 100.0) as u64;
    let report = json!({
        "schema_version": 1,
        "ending": {"kind": "exited", "code": 0},
        "wall_seconds": 10.0,
        "cpu_seconds": 10.0,
        "usage": {
            "memory": {"bytes": bytes, "percent": percent, "source": "cgroup v2 memory.stat"},
            "cpu_percent": {"mean": 25.0, "source": "CPU time of the process tree"},
        },
        "samples": 20,
        "container_host": {"name": host, "group": job.group_of(host)?.name},
        "survivors_ended": 0,
        "memory_total": total,
        "cores": 4.0,
    });
    Some(format!("canary-gate-probe {mark} {report}"))
}
