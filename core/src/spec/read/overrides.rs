//! Known overruns that were agreed to. Whether one has expired is judged where the day is known.

use super::SpecReader;
use crate::metric::Amount;
use crate::spec::problems::{Located, did_you_mean, quoted, write_one_of};
use crate::spec::raw;
use crate::spec::{Bound, Job, LineKind, Override};
use crate::units::UnitError;

impl SpecReader<'_> {
    /// `names` are all jobs of the file, `jobs` those that could be read.
    pub(super) fn overrides(
        &mut self,
        overrides: Located<raw::List<raw::RawOverride>>,
        names: &[String],
        jobs: &[Job],
    ) -> Vec<Override> {
        let mut read: Vec<Override> = Vec::new();
        for raw in overrides.value.0 {
            let at = raw.at.clone();
            let Some(one) = self.one_override(raw.value, names, jobs) else {
                continue;
            };
            if read
                .iter()
                .any(|other| other.job == one.job && other.budget == one.budget)
            {
                self.findings.wrong(
                    &at,
                    format!(
                        "a second override of `{}` for {}",
                        one.budget,
                        quoted(&one.job)
                    ),
                );
            }
            read.push(one);
        }
        read
    }

    fn one_override(
        &mut self,
        raw: raw::RawOverride,
        names: &[String],
        jobs: &[Job],
    ) -> Option<Override> {
        let up_to = match (&raw.up_to, &raw.budget) {
            (Some(up_to), Some(kind)) => self.up_to(up_to, kind.value.0),
            _ => None,
        };
        if let Some(job) = &raw.job {
            let name = job.value.0.as_str();
            if !names.iter().any(|known| known == name) {
                let help = did_you_mean(name, names.iter().map(String::as_str));
                let message = format!("there is no job {}", quoted(name));
                self.findings.push(&job.at, message, help);
            } else if let (Some(kind), Some(job)) =
                (&raw.budget, jobs.iter().find(|job| job.name == name))
            {
                let path = format!("jobs.{name}.budget.{}", kind.value.0);
                let complained = self.findings.is_known(&path);
                let written = job.budget.written().find(|line| line.kind == kind.value.0);
                match (written, up_to, &raw.up_to) {
                    (None, ..) if complained => {}
                    (None, ..) => self.findings.wrong(
                        &kind.at,
                        format!(
                            "the budget of {} has no line `{}`",
                            quoted(name),
                            kind.value.0
                        ),
                    ),
                    (Some(line), Some(limit), Some(up_to)) => {
                        let side = match line.bound {
                            Bound::Max => "above",
                            Bound::Min => "below",
                        };
                        if !line.would_be_widened_by(limit) {
                            self.findings.warn(
                                &up_to.at,
                                format!(
                                    "is not {side} the budget's own limit, so it changes nothing"
                                ),
                            );
                        }
                    }
                    _ => {}
                }
            }
        }
        Some(Override {
            job: raw.job?.value.0,
            budget: raw.budget?.value.0,
            up_to: up_to?,
            until: raw.until?.value.0,
            reason: raw.reason?.value.0,
        })
    }

    /// The ceiling in the unit of its line.
    fn up_to(&mut self, up_to: &Located<raw::AnyQuantity>, kind: LineKind) -> Option<Amount> {
        match kind.unit().parse(&up_to.value.0) {
            Ok(limit) if limit.number > 0.0 => Some(limit),
            Ok(_) => {
                self.findings.wrong(&up_to.at, "a limit is more than 0");
                None
            }
            Err(UnitError {
                problem,
                suggestions,
            }) => {
                let help = write_one_of(&suggestions);
                self.findings.push(&up_to.at, problem, help);
                None
            }
        }
    }
}
