//! What a job may cost: the lines of its budget, written and implicit, and drift.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::keys::{Entries, Keys, Map, described, mapping, mapping_schema, read_mapping};
use super::kind::{Definitions, Kind, amount, quantity_schema, words};
use super::reader::{At, Reader, rules};
use super::yaml::{Node, Value};
use super::{FieldRule, Level, LineKind, RunPlace, Training};
use crate::instance::InstanceConfiguration;
use crate::metric::{Amount, MemoryOf, Metric, MetricName, MetricNameError, Unit};
use crate::units::{Fraction, Percent, Seconds, Usd};

/// Whether the limit is an upper or a lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    Max,
    Min,
}

impl Bound {
    /// What is meant of an upper limit, or of a lower one.
    pub fn pick<T>(self, max: T, min: T) -> T {
        match self {
            Self::Max => max,
            Self::Min => min,
        }
    }

    /// Whether a value is on the wrong side of a limit.
    pub fn is_breached_by<T: PartialOrd + Copy>(self, limit: T, value: T) -> bool {
        self.pick(value > limit, value < limit)
    }
}

/// One line of a budget. `limit` is in the unit of the line's estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetLine {
    pub kind: LineKind,
    pub bound: Bound,
    pub limit: Amount,
    pub level: Level,
    /// Of an increase: what it must pass too, in the unit of what increases. Absent of other lines.
    pub at_least: Option<Amount>,
    pub origin: LineOrigin,
    /// Where an override is in force: then `limit` is its ceiling.
    pub overridden: Option<OverrideInForce>,
}

/// A known overrun that was agreed to and counts today.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverrideInForce {
    /// The limit that the budget names, in the unit of the line's estimate.
    pub written_limit: f64,
    /// The last day on which the override counts, UTC, such as `2026-12-31`.
    #[schemars(with = "String")]
    pub until: jiff::civil::Date,
    pub reason: String,
}

impl BudgetLine {
    /// The limit of the implicit lines of memory, a share of the machine's or of the GPU's.
    pub const ALL_MEMORY: Percent = Percent(100.0);

    /// Whether it is an upper limit of `kind` whose breach fails the check.
    fn fails_above(&self, kind: LineKind) -> bool {
        self.kind == kind && self.bound == Bound::Max && self.level == Level::Fail
    }

    /// A line that always holds, without being written.
    fn implicit(kind: impl Into<LineKind>, limit: impl Into<Amount>) -> Self {
        Self {
            kind: kind.into(),
            bound: Bound::Max,
            limit: limit.into(),
            level: Level::Fail,
            at_least: None,
            origin: LineOrigin::Implicit,
            overridden: None,
        }
    }

    /// The limit with its side where that is not the usual one: `50 USD`, `at least 20%`.
    pub fn limit_words(&self) -> String {
        self.words_of(self.limit)
    }

    /// A limit in this line's words: `50 USD`, `at least 20%`.
    pub fn words_of(&self, limit: Amount) -> String {
        let limit = self.kind.exact(limit.number);
        format!("{}{limit}", self.bound.pick("", "at least "))
    }

    /// Whether it lets something pass that another line of its kind does not.
    pub(super) fn is_looser_than(&self, other: &Self) -> bool {
        self.bound != other.bound
            || other.would_be_widened_by(self.limit)
            || self.level > other.level
            || self.at_least > other.at_least
    }

    /// Whether another limit in place of its own would let more pass.
    pub fn would_be_widened_by(&self, limit: Amount) -> bool {
        self.bound.is_breached_by(self.limit, limit)
    }
}

/// Whether a person wrote the line or it always holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOrigin {
    Written,
    /// Memory within the machine and its GPUs, time within `training.max_runtime`.
    Implicit,
}

mapping! {
    /// The limits of the full run. Each line is judged by itself.
    pub struct Budget named "Budget" {
        /// Those that are written in the order of [`LineKind::ALL`], those about what the script prints in the order of the file, then
        /// the implicit ones that no written line covers.
        with lines: Vec<BudgetLine> => FieldRule::BASE.uncounted().at("");
        /// The probability with which a line must hold, more than 50% and less than 100%. Default: 95%.
        plain certainty: Fraction, or Self::DEFAULT_CERTAINTY => FieldRule::BASE.uncounted();
        /// The level of a line that the base exceeds already. Default: warn.
        plain existing_breach: Level, or Level::Warn => FieldRule::BASE.uncounted();
        /// The most that the time of the full run grows with the data, by your word; it holds as long as the canaries do not grow faster, and one does all of the work.
        optional growth: StatedGrowth => FieldRule::BASE.uncounted();
    }
}

words! {
    /// The most that the time of the full run grows with the data, by the owner's word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum StatedGrowth {
        /// Not at all, as of a fixed number of steps.
        "none" None,
        "linear" Linear,
    }
}

impl Budget {
    /// Where none is written: 95 % certain, a 90 % interval.
    pub const DEFAULT_CERTAINTY: Fraction = Fraction(0.95);

    /// That memory fits the machine and its GPUs, and nothing else: what holds where there is no spec.
    pub fn unwritten() -> Self {
        let mut budget = Self::default();
        budget.renew_implicit_lines(None);
        budget
    }

    /// The share of a memory that its strictest line which can fail the check allows.
    pub fn memory_allowed(&self, of: MemoryOf) -> Fraction {
        let share = Metric::share_of(of).into();
        let limits = self.lines.iter().filter(|line| line.fails_above(share));
        let limits = limits.map(|line| line.limit.number);
        Percent(limits.fold(BudgetLine::ALL_MEMORY.0, f64::min)).as_fraction()
    }

    pub fn written(&self) -> impl Iterator<Item = &BudgetLine> {
        let lines = self.lines.iter();
        lines.filter(|line| line.origin == LineOrigin::Written)
    }

    /// The written line of a kind, of which there is at most one.
    pub fn written_line(&self, kind: LineKind) -> Option<&BudgetLine> {
        self.written().find(|line| line.kind == kind)
    }

    /// Puts the implicit lines behind the written ones: memory within the machine and its GPUs, and time within the full run's own
    /// `max_runtime`. One is left out where a written line is as tight and as strict.
    pub fn renew_implicit_lines(&mut self, max_runtime: Option<Seconds>) {
        self.lines.retain(|line| line.origin == LineOrigin::Written);
        let time = max_runtime.map(|limit| BudgetLine::implicit(Metric::Time, limit));
        // No more is used than there is.
        let all_of = |of| BudgetLine::implicit(Metric::share_of(of), BudgetLine::ALL_MEMORY);
        let memory = MemoryOf::ALL.map(all_of);
        for implicit in memory.into_iter().chain(time) {
            let covers =
                |line: &BudgetLine| line.fails_above(implicit.kind) && line.limit <= implicit.limit;
            if !self.lines.iter().any(covers) {
                self.lines.push(implicit);
            }
        }
    }
}

const MAX: &str = "max";
const MIN: &str = "min";

/// The keys of a line's long form.
#[derive(Default)]
struct WrittenLine {
    max: Option<Amount>,
    min: Option<Amount>,
    at_least: Option<Amount>,
    level: Option<Level>,
}

impl LineKind {
    /// The unit of the amount that an increase must pass too; `None` for other lines.
    fn at_least(self) -> Option<Unit> {
        (self.metric().filter(|_| self.is_increase())).map(Metric::unit)
    }

    /// A number with its unit, as an example of a limit from either side.
    fn example(self, number: &str) -> String {
        let sign = (self.unit() == Unit::Percent).then_some("%");
        format!("{number}{}", sign.unwrap_or_default())
    }

    /// Reads a line in either form.
    fn read(self, node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<BudgetLine> {
        let line = match (&node.value, self.form().either_side) {
            (Value::Mapping(_), _) => read_mapping(node, at, reader, |entries, reader| {
                self.take(entries, reader)
            })?,
            // A bare limit does not say which way it goes.
            (_, Some(number)) => {
                let number = self.example(number);
                let wanted = format!("`{{min: {number}}}` or `{{max: {number}}}`");
                return reader.wrong_kind(node, &wanted, at);
            }
            (_, None) => WrittenLine {
                max: Some(amount(self.unit(), node, at, reader)?),
                ..WrittenLine::default()
            },
        };
        reader.line(at, self, &line)
    }

    /// The keys of the long form.
    fn take(self, entries: &mut Entries<'_>, reader: &mut Reader<'_>) -> WrittenLine {
        let is_upper = self.form().either_side.is_none();
        let mut limit = |key, is_required, unit: Unit, doc: String, reader: &mut Reader<'_>| {
            let schema = move |definitions: &mut Definitions| {
                let schema = match unit {
                    Unit::Number => f64::schema(definitions),
                    _ => quantity_schema(unit.written()),
                };
                described(schema, &doc)
            };
            let read = |node: &Node, at: &At, reader: &mut Reader<'_>| match unit {
                Unit::Number => f64::read(node, at, reader).map(|limit| unit.amount(limit)),
                _ => amount(unit, node, at, reader),
            };
            entries.take_with(key, is_required, schema, reader, read)
        };
        let what = match (self.at_least(), self.unit()) {
            (Some(_), _) => "limit, as a share of the base.",
            (None, Unit::Number) => "limit, above 0.",
            (None, _) => "limit.",
        };
        let (upper, lower) = (format!("The upper {what}"), format!("The lower {what}"));
        let max = limit(MAX, is_upper, self.unit(), upper, reader);
        let min = (!is_upper).then(|| limit(MIN, false, self.unit(), lower, reader));
        let at_least = self.at_least().and_then(|unit| {
            let nothing = unit.exact(0.0);
            let doc = format!("The smallest increase that can be a breach. Default: {nothing}.");
            limit("at_least", false, unit, doc, reader)
        });
        let doc = &["Whether a breach fails the check. Default: fail."];
        WrittenLine {
            max,
            min: min.flatten(),
            at_least,
            level: entries.take::<Level>("level", false, doc, reader),
        }
    }

    fn schema(self, definitions: &mut Definitions) -> Json {
        let form = self.form();
        let take = |entries: &mut Entries<'_>, reader: &mut Reader<'_>| self.take(entries, reader);
        let long = mapping_schema(form.name, form.description, definitions, take);
        match form.either_side {
            Some(_) => long,
            None => json!({ "anyOf": [quantity_schema(self.unit().written()), long] }),
        }
    }
}

/// The lines that are written, in the order of [`LineKind::ALL`]; then those about what the script prints, in the order of the file.
impl Keys for Vec<BudgetLine> {
    fn take(entries: &mut Entries<'_>, reader: &mut Reader<'_>) -> Self {
        let lines = LineKind::ALL.into_iter().filter_map(|kind| {
            let schema = move |definitions: &mut Definitions| {
                described(kind.schema(definitions), kind.description())
            };
            let read = |node: &Node, at: &At, reader: &mut Reader<'_>| kind.read(node, at, reader);
            entries.take_with(kind.fixed_key(), false, schema, reader, read)
        });
        let mut lines: Self = lines.collect();
        let doc = &[
            "Limits of what the script prints, by a name of `training.metrics`: of the median of the later half of a run's values.",
        ];
        let printed = entries.take::<Map<PrintedLine>>("metrics", false, doc, reader);
        lines.extend(printed.into_iter().flatten().map(|(_, line)| line));
        lines
    }
}

/// A line about what the script prints, whose key is its name.
pub(super) enum PrintedLine {}

impl Kind for PrintedLine {
    type Value = BudgetLine;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<BudgetLine> {
        // The line is read whatever its name is: all that is wrong is said at once.
        let name = at.last().parse();
        let line = LineKind::Named(name.unwrap_or_else(|_| any_name())).read(node, at, reader);
        if name.is_err() {
            let help = "name the metric so, in `training.metrics` too";
            return reader.refused(&at.own_name(), MetricNameError.to_string(), help);
        }
        line
    }

    fn schema(definitions: &mut Definitions) -> Json {
        LineKind::Named(any_name()).schema(definitions)
    }
}

fn any_name() -> MetricName {
    "name".parse().expect("the word is a name")
}

mapping! {
    /// The increase that a scheduled check reports as drift.
    pub struct DriftPolicy named "Drift" {
        /// The share of the baseline by which the forecast cost may be higher; time where no price is known. Default: 15%.
        plain max: Percent, or Percent(15.0) => FieldRule::BASE.uncounted();
        /// The smallest increase that can be drift, in US dollars. Default: 0 USD.
        plain at_least: Usd, or Usd(0.0) => FieldRule::BASE.uncounted();
    }
}

impl Reader<'_> {
    /// Checks a budget against what the job trains, and puts the implicit lines behind the written ones.
    pub(super) fn budget(&mut self, job: &At, budget: &mut Budget, training: Option<&Training>) {
        let at = job.key("budget");
        // Not said of a training that could not be read.
        let metrics = training.filter(|_| !self.is_wrong(&job.below_by("training.metrics")));
        let share = budget.certainty;
        let has_no_step = metrics.is_some_and(|training| training.step_metric.is_none())
            && !self.is_wrong(&job.below_by("training.step_metric"));
        rules! { self, at;
            refuse "cost_per_step" if has_no_step && self.is_written(&at.key("cost_per_step")) =>
                "a cost per step needs `training.step_metric`",
                "write `metrics: {step: 'step time: ([0-9.]+)'}` and `step_metric: step`";
            refuse "certainty" if share.0 <= 0.5 || share.0 >= 1.0 =>
                format!("a certainty of {share} is out of reach"),
                "write more than 50% and less than 100%, such as `95%`";
        }
        budget.renew_implicit_lines(training.and_then(|training| training.max_runtime));
        // A recording may be of this machine's runs.
        let is_recorded_here = self.is_on(RunPlace::Recorded)
            && (self.instances.first()).is_some_and(InstanceConfiguration::is_local);
        let is_here = self.is_on(RunPlace::This) || is_recorded_here;
        let is_unpriced = is_here && !self.may_have_local_price();
        for line in budget.lines.iter().filter(|_| is_unpriced) {
            let at = at.key(&line.kind.to_string());
            rules! { self, at;
                refuse "" if line.kind.metric().is_some_and(Metric::is_priced) =>
                    "this machine has no price, so its cost is not known",
                    "write `prices: {local: 1.20 USD/h}` at the top, or remove the line";
            }
        }
    }

    fn line(&mut self, at: &At, kind: LineKind, line: &WrittenLine) -> Option<BudgetLine> {
        let either_side = kind.form().either_side;
        let (bound, limit) = match (line.max, line.min, either_side) {
            (Some(max), None, _) => (Bound::Max, max),
            (None, Some(min), _) => (Bound::Min, min),
            (Some(_), Some(_), _) => {
                let message = "one line has one limit: either `max` or `min`";
                self.wrong(&at.key(MIN), message);
                return None;
            }
            (None, None, Some(number)) if !self.is_wrong(at) => {
                let example = kind.example(number);
                let help = format!("write `min: {example}` or `max: {example}`");
                return self.refused(at, "the line has no limit", help);
            }
            // It was complained of.
            (None, None, _) => return None,
        };
        let key = at.key(bound.pick(MAX, MIN));
        // A bare limit is the line itself.
        let limit_at = if self.is_written(&key) { &key } else { at };
        let number = limit.number;
        if kind.unit() == Unit::Percent && either_side.is_some() {
            if number <= 0.0 || number > 100.0 {
                self.wrong(limit_at, "a load is more than 0% and at most 100%");
            }
        } else {
            self.above_0(limit_at, number, "a limit");
            if kind.memory_of().is_some() && number > 100.0 {
                self.warn(limit_at, "is more than a machine has");
            }
        }
        Some(BudgetLine {
            bound,
            level: line.level.unwrap_or(Level::Fail),
            at_least: (kind.at_least()).map(|unit| line.at_least.unwrap_or(unit.amount(0.0))),
            origin: LineOrigin::Written,
            ..BudgetLine::implicit(kind, limit)
        })
    }
}
