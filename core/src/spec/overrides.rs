//! Overrides on a given day: which are in force, how they change a budget, and the notes about them.

use jiff::civil::Date;

use super::{BudgetLine, Job, LineOrigin, Override, OverrideInForce, OverrideState, Spec};

impl Override {
    /// Its effect on `job` on `today` (UTC), given the written line. The last day counts.
    pub fn state(&self, job: &Job, today: Date) -> OverrideState {
        let Some(line) = job.budget.written_line(self.budget) else {
            return OverrideState::NoLine;
        };
        if today > self.until {
            OverrideState::Expired
        } else if line.would_be_widened_by(self.up_to) {
            OverrideState::InForce
        } else {
            OverrideState::NoWider
        }
    }

    /// The note for a report; `None` if it has no effect.
    fn note(&self, line: &BudgetLine, state: OverrideState) -> Option<String> {
        let words = self.budget.words();
        let written = line.limit_words();
        let until = self.until;
        match state {
            OverrideState::InForce => Some(format!(
                "An override is in force: until {until} the {words} budget is {}, where {written} is written. The reason: {}",
                line.words_of(self.up_to),
                self.reason,
            )),
            OverrideState::Expired => Some(format!(
                "The override of the {words} budget, {}, expired on {until}; {written} counts, as is written.",
                line.words_of(self.up_to),
            )),
            OverrideState::NoWider | OverrideState::NoLine => None,
        }
    }
}

impl Spec {
    /// Applies the overrides in force on `today` (UTC) to the budgets, and returns a note for each of these and of the expired
    /// ones: the job's name and a sentence, in the order of the overrides.
    ///
    /// Call it only once: the limits must be the written ones.
    pub fn apply_overrides(&mut self, today: Date) -> Vec<(String, String)> {
        let mut notes = Vec::new();
        for agreed in &self.overrides {
            let Some(job) = self.jobs.iter_mut().find(|job| job.name == agreed.job) else {
                continue;
            };
            let state = agreed.state(job, today);
            let mut lines = job.budget.lines.iter_mut();
            let Some(line) =
                lines.find(|line| line.origin == LineOrigin::Written && line.kind == agreed.budget)
            else {
                continue;
            };
            let note = agreed.note(line, state);
            notes.extend(note.map(|note| (agreed.job.clone(), note)));
            if state == OverrideState::InForce {
                line.overridden = Some(OverrideInForce {
                    written_limit: line.limit.number,
                    until: agreed.until,
                    reason: agreed.reason.clone(),
                });
                line.limit = agreed.up_to;
            }
        }
        // A line that is wider now may no longer cover the implicit one: the machine does not have more memory.
        for job in &mut self.jobs {
            job.budget.renew_implicit_lines(job.training.max_runtime);
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{SpecSource, read};
    use crate::units::{Percent, Usd};

    fn spec(text: &str) -> Spec {
        let source = SpecSource {
            name: "canary-gate.yml",
            bytes: text.as_bytes(),
        };
        read(source, &[]).unwrap_or_else(|errors| panic!("{}", errors.render(false, 100)))
    }

    fn with(budget: &str, overrides: &str) -> Spec {
        spec(&format!(
            "version: 1\nbackend: local\nprices: {{local: 1 USD/h}}\njobs:\n  churn:\n    training: {{command: [sh, train.sh], max_runtime: 4h, channels: {{train: {{uri: data}}}}}}\n    instance: local\n    budget: {{{budget}}}\noverrides:\n  - {{job: churn, {overrides}}}\n"
        ))
    }

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    fn lines(spec: &Spec) -> Vec<String> {
        let lines = spec.jobs[0].budget.lines.iter();
        lines
            .map(|line| format!("{} {}", line.kind, line.limit_words()))
            .collect()
    }

    #[test]
    fn an_override_counts_up_to_its_last_day() {
        let written = with(
            "cost: 50 USD",
            "budget: cost, up_to: 90 USD, until: 2026-12-31, reason: agreed",
        );
        let mut before = written.clone();
        let notes = before.apply_overrides(day("2026-12-31"));
        assert_eq!(lines(&before)[0], "cost 90 USD");
        assert_eq!(
            notes,
            [(
                "churn".to_owned(),
                "An override is in force: until 2026-12-31 the cost budget is 90 USD, where 50 USD is written. The reason: agreed".to_owned()
            )]
        );
        let overridden = before.jobs[0].budget.lines[0].overridden.as_ref().unwrap();
        assert_eq!(overridden.written_limit, 50.0);

        let mut after = written.clone();
        let notes = after.apply_overrides(day("2027-01-01"));
        assert_eq!(after, written);
        assert_eq!(
            notes[0].1,
            "The override of the cost budget, 90 USD, expired on 2026-12-31; 50 USD counts, as is written."
        );
    }

    #[test]
    fn the_override_of_a_lower_limit_is_a_floor() {
        let mut spec = with(
            "cpu_utilization: {min: 40%}",
            "budget: cpu_utilization, up_to: 20%, until: 2026-12-31, reason: agreed",
        );
        let notes = spec.apply_overrides(day("2026-12-01"));
        assert_eq!(lines(&spec)[0], "cpu_utilization at least 20%");
        assert!(
            notes[0].1.contains(
                "the CPU utilization budget is at least 20%, where at least 40% is written"
            )
        );
    }

    #[test]
    fn an_override_never_tightens() {
        let written = with(
            "cost: 50 USD",
            "budget: cost, up_to: 40 USD, until: 2026-12-31, reason: agreed",
        );
        let mut spec = written.clone();
        assert!(spec.apply_overrides(day("2026-12-01")).is_empty());
        assert_eq!(spec, written);
    }

    /// The machine has no more memory for it, and the job is ended at its limit all the same.
    #[test]
    fn an_override_does_not_lift_what_always_holds() {
        let mut spec = with(
            "time: 2h",
            "budget: time, up_to: 8h, until: 2026-12-31, reason: agreed",
        );
        assert_eq!(lines(&spec), ["time 2h", "memory 100%", "gpu_memory 100%"]);
        spec.apply_overrides(day("2026-12-01"));
        assert_eq!(
            lines(&spec),
            ["time 8h", "memory 100%", "gpu_memory 100%", "time 4h"]
        );
    }

    #[test]
    fn an_override_of_an_increase_moves_its_share_and_leaves_its_amount() {
        let mut spec = with(
            "cost_increase: {max: 20%, at_least: 5 USD}",
            "budget: cost_increase, up_to: 40%, until: 2026-12-31, reason: agreed",
        );
        let notes = spec.apply_overrides(day("2026-12-01"));
        assert!(
            notes[0]
                .1
                .contains("the cost increase budget is +40%, where +20% is written"),
            "{}",
            notes[0].1
        );
        let line = &spec.jobs[0].budget.lines[0];
        assert_eq!(line.limit, Percent(40.0).into());
        assert_eq!(line.at_least, Some(Usd(5.0).into()));
    }
}
