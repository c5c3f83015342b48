//! What is reported of a run that ended.

use std::time::Duration;

use super::WatchedRun;
use crate::measurement::{PeakMemory, Usage};
use crate::probe::{Ending, ProbeReport, SCHEMA_VERSION};
use crate::units::{Bytes, Seconds};

/// Less memory than this decides no budget.
const SMALL: Bytes = Bytes(64 * Bytes::MIB);

impl WatchedRun<'_> {
    pub(super) fn report(
        mut self,
        ending: Ending,
        wall: Duration,
        survivors: usize,
        stuck: usize,
        gpu: Option<(Usage, Option<String>)>,
    ) -> ProbeReport {
        // A last sample, for the resident sets of processes that have ended.
        self.memory
            .observe(&mut self.reader, self.started.elapsed(), &[]);
        let (mut memory, memory_note) = self.memory.peak(self.memory_total);
        if let Some(halted) = self.halted
            && might_have_been_far_higher(&memory)
        {
            memory.is_lower_bound = true;
            self.notes.push(format!(
                "memory was not looked at for {:.1} s, since something halted the probe: it was at least this",
                halted.as_secs_f64()
            ));
        }
        let wall_seconds = Seconds(wall.as_secs_f64());
        let cpu_seconds = self.cpu.total();
        let (gpu, gpu_note) = gpu.unwrap_or_default();
        self.notes.extend(memory_note);
        self.notes.extend(gpu_note);
        if stuck > 0 {
            self.notes.push(format!(
                "{stuck} processes of the command did not end when they were killed"
            ));
        }
        ProbeReport {
            schema_version: SCHEMA_VERSION,
            ending,
            wall_seconds,
            cpu_seconds,
            usage: Usage {
                memory: Some(memory),
                cpu_percent: self.cpu.utilization(cpu_seconds, wall_seconds),
                ..self.load.add_to(gpu, cpu_seconds)
            },
            samples: self.samples,
            opt_ml: self.opt_ml,
            channels_opened: self.channels.opened(),
            container_host: self.container.map(|container| container.host),
            survivors_ended: u32::try_from(survivors.saturating_sub(stuck)).unwrap_or(u32::MAX),
            memory_total: self.memory_total,
            cores: self.cores,
            notes: self.notes,
        }
    }
}

/// Whether what is known of memory between two samples leaves open that it was several times as high.
fn might_have_been_far_higher(memory: &PeakMemory) -> bool {
    let seen = memory.bytes.zip(memory.upper_bound);
    seen.is_some_and(|(bytes, bound)| {
        let open = bound.0.saturating_sub(bytes.0);
        open > bytes.0 && open > SMALL.0
    })
}
