//! The probe in the container: how it gets in, and its JSON line found in the log.
//!
//! The probe is this program itself, where it is linked statically. It comes into the container beside the source (script
//! mode) or through a channel of its own (plain image), and whatever keeps it from running there, the training runs on.
//!
//! The line is marked with a nonce that each job gets in its environment and that the script's own environment lacks.
//! That keeps a script from being taken for the probe by accident, or by a copied log. It does not stop one that is out
//! to deceive: the probe is closed to it, but the toolkit that started both is not, and its role may describe its training
//! job. Such a script decides by itself what it uses, too.

use std::collections::BTreeMap;

use super::SHARES;
use crate::measurement::Usage;
use crate::measurement::mpirun_tags::without_tags;
use crate::probe::{self, MARKED_LINE, ProbeReport};

/// The probe's file, in the source archive and in the channel.
pub(in crate::backend) const FILE: &str = "canary-gate-probe";
/// What `sagemaker_program` names; a module name, since a source with a `setup.py` is started as one.
pub(in crate::backend) const ENTRY_FILE: &str = "canary_gate_entry.py";
/// The text of [`ENTRY_FILE`]. It is the same for every job, so that sources keep their hash.
pub(in crate::backend) const ENTRY: &str = include_str!("entry.py");
/// The variable that names the script which [`ENTRY_FILE`] starts.
pub(in crate::backend) const ENTRY_VARIABLE: &str = "CANARY_GATE_ENTRY_POINT";
/// The channel of a plain image that brings the probe, in File mode.
pub(in crate::backend) const CHANNEL: &str = "canary-gate";

/// What the API takes of a container's entry point, and of its arguments.
const MOST_WORDS: usize = 100;
const LONGEST_WORD: usize = 256;
/// The script's text is one word.
const START: &str = "\
p=/tmp/canary-gate-probe;\
if cp /opt/ml/input/data/canary-gate/canary-gate-probe $p&&chmod 755 $p&&$p probe --output /dev/null -- /bin/sh -c :;\
then exec $p probe --grace 110s -- \"$@\";fi;\
unset CANARY_GATE_MARK;exec \"$@\"";

/// Longer lines are not the probe's.
const LONGEST_LINE: usize = 64 << 10;

/// `ContainerEntrypoint` of a plain image: runs the command that is its arguments under the probe, or by itself where the probe cannot
/// run. The image needs `/bin/sh`.
pub(in crate::backend) const ENTRYPOINT: [&str; 4] = ["/bin/sh", "-c", START, "canary-gate"];

/// Whether a plain image's command can be the arguments of [`ENTRYPOINT`]. Else the job runs without a probe.
pub(in crate::backend) fn takes_command(command: &[String]) -> bool {
    let mut lengths = command.iter().map(|word| word.chars().count());
    (1..=MOST_WORDS).contains(&command.len())
        && lengths.all(|length| (1..=LONGEST_WORD).contains(&length))
}

/// What [`ENTRY`] writes where it starts the script without the probe, and what follows if a launcher is the reason.
const REFUSAL: &str = "canary-gate: not measured by the probe: ";
const LAUNCHER: &str = "a launcher does not say which process is the first of its host";

/// Why the wrapper did not start the probe, by the log; `None` if that does not say so. Never the log's own words, which may be
/// the script's.
pub(in crate::backend) fn refusal<'a>(
    lines: impl IntoIterator<Item = &'a str>,
) -> Option<&'static str> {
    let mut lines = lines.into_iter();
    let why = lines.find_map(|line| line.split_once(REFUSAL).map(|(_, why)| why))?;
    Some(match why.starts_with(LAUNCHER) {
        true => LAUNCHER,
        false => "it cannot run in the container",
    })
}

/// Finds the probes' reports in the log of `host`, by the host that each is of: mpirun hands what all hosts print to the first one's
/// log. Of each the last marked line counts: the probe writes when all others have ended. What this program's probe would not write
/// is no report.
pub(in crate::backend) fn find_reports<'a>(
    lines: impl IntoIterator<Item = &'a str>,
    mark: &str,
    host: &str,
) -> BTreeMap<String, ProbeReport> {
    let start = format!("{MARKED_LINE} {mark} ");
    let reports = lines.into_iter().filter_map(|line| {
        let line = without_tags(line);
        let report = read_report(line.split_once(&start)?.1)?;
        let own = report.container_host.as_ref();
        Some((own.map_or(host, |own| &own.name).to_owned(), report))
    });
    reports.collect()
}

/// A line of the probe; `None` where it is too long, of a newer version, or holds a value that cannot be.
fn read_report(json: &str) -> Option<ProbeReport> {
    let json = Some(json).filter(|json| json.len() <= LONGEST_LINE)?;
    let report: ProbeReport = serde_json::from_str(json).ok()?;
    let is_known = report.schema_version <= probe::SCHEMA_VERSION;
    (is_known && report.impossible_value().is_none()).then_some(report)
}

/// What a host used, by its probe's report.
pub(in crate::backend) fn usage(report: &ProbeReport) -> Usage {
    let from = |source: &mut String| *source = format!("probe in the container, {source}");
    let mut usage = Usage {
        other_memory: Vec::new(),
        other_gpu_memory: Vec::new(),
        memory_seen_from: None,
        ..report.usage.clone()
    };
    for (.., slot) in SHARES {
        if let Some(share) = slot(&mut usage) {
            from(&mut share.source);
        }
    }
    let peaks = [&mut usage.memory, &mut usage.gpu_memory].into_iter();
    for memory in peaks.flatten() {
        from(&mut memory.source);
    }
    if let (Some(memory), Some(total)) = (&mut usage.memory, report.memory_total) {
        memory.upper_bound = memory.upper_bound.map(|bound| bound.min(total));
    }
    usage
}

#[cfg(test)]
mod tests;
