//! Counts of machines: those that canaries run on, and ranges of them to compare.

use super::{Instances, SpecReader};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::spec::CanaryCounts;
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::{At, Located, quoted};
use crate::spec::raw::{self, Plain};

/// A report shows a row for each power of two.
const MOST_OF_A_RANGE: u32 = 512;
/// More than a law of scale-out needs.
const MOST_COUNTS: usize = 8;

impl SpecReader<'_> {
    /// The default, or what is written; what does not suit the job's machines is a problem.
    pub(super) fn counts(
        &mut self,
        counts: Option<Located<raw::List<raw::Count>>>,
        instances: Option<&Instances>,
    ) -> CanaryCounts {
        let Some(counts) = counts else {
            // Hosts on this machine share it, and a recording has the runs that it has.
            return match self.is_on(RunPlace::Cloud) {
                true => CanaryCounts::OneAndAll,
                false => CanaryCounts::AsTheFullRun,
            };
        };
        let machines = instances.map(|(instance, _)| instance);
        let most = match machines {
            None => u32::MAX,
            Some(instance) if instance.single_type().is_none() => {
                self.findings.wrong_with_help(
                    &counts.at,
                    "canaries of instance groups run on all of their machines",
                    "remove `counts`",
                );
                u32::MAX
            }
            Some(instance) if instance.total_count() == 1 => {
                self.findings.wrong_with_help(
                    &counts.at,
                    format!(
                        "`instance` is one machine, {}",
                        quoted(&instance.to_string())
                    ),
                    "remove `counts`, or write `instance: 4x ...`",
                );
                u32::MAX
            }
            Some(instance) => instance.total_count(),
        };
        self.refuse_empty(&counts, "there is no count");
        let (at, count) = (&counts.at, counts.value.0.len());
        (self.findings).at_most(at, count, "counts", MOST_COUNTS, "measured");
        let mut last = 0;
        for count in &counts.value.0 {
            let value = count.value.0;
            if value > most {
                let message = format!("{value} machines; the full run has {most}");
                self.findings.wrong(&count.at, message);
            } else if value <= last {
                self.findings.wrong_with_help(
                    &count.at,
                    format!("{value} does not rise above {last}, the count before"),
                    "write each count once, from small to large",
                );
            }
            last = last.max(value);
        }
        CanaryCounts::Written(counts.plain())
    }

    /// The rows of `1-8x ml.m5.xlarge`: the powers of two times the first, and the last. `None` where the text is no range; empty
    /// where it is a wrong one, which is said.
    pub(super) fn range(&mut self, text: &str, at: &At) -> Option<Vec<InstanceConfiguration>> {
        let (first, last, kind) = range_parts(text)?;
        let kind: InstanceType = match kind.parse() {
            Ok(kind) => kind,
            Err(error) => {
                self.not_an_instance(&error, at);
                return Some(Vec::new());
            }
        };
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            let message = format!("{} has a count that cannot be", quoted(text));
            self.findings.wrong(at, message);
            return Some(Vec::new());
        };
        let problem = match (first, last) {
            (0, _) => Some("begins with no machine".to_owned()),
            (first, last) if first >= last => Some(format!("does not rise from {first} to {last}")),
            (_, last) if last > MOST_OF_A_RANGE => Some(format!(
                "ends with {last}; at most {MOST_OF_A_RANGE} are compared"
            )),
            _ => None,
        };
        if let Some(problem) = problem {
            self.findings.wrong_with_help(
                at,
                format!("the range {} {problem}", quoted(text)),
                format!("write a range such as `1-8x {kind}`, up to {MOST_OF_A_RANGE}, or one count: `4x {kind}`"),
            );
            return Some(Vec::new());
        }
        let powers = std::iter::successors(Some(first), |count| count.checked_mul(2));
        let counts = powers.take_while(|count| *count < last).chain([last]);
        let rows: Vec<InstanceConfiguration> = counts
            .map(|count| InstanceConfiguration::Homogeneous {
                instance_type: kind.clone(),
                count,
            })
            .collect();
        let largest = raw::Machines(format!("{last}x {kind}"));
        self.machines(&largest, at)?;
        Some(rows)
    }

    /// A range stands under `alternatives`, by itself.
    pub(super) fn refuse_range(&mut self, text: &str, at: &At) -> bool {
        let Some((_, last, kind)) = range_parts(text) else {
            return false;
        };
        self.findings.wrong_with_help(
            at,
            format!(
                "{} is a range, and machines that run have one count",
                quoted(text)
            ),
            format!("write one, such as `{last}x {kind}`; a range is an item of `alternatives`"),
        );
        true
    }
}

/// What was meant by counts that are written another way: `1-8x ml.m5.xlarge` for `1..8 x ml.m5.xlarge`, `4x ml.m5.xlarge` for
/// `4 x ml.m5.xlarge`.
pub(super) fn counts_meant(text: &str) -> Option<String> {
    let kind_at = ["ml.", "local"].iter().find_map(|kind| text.find(kind))?;
    let (counts, kind) = text.split_at(kind_at);
    let kind = kind.trim_end();
    let is_between = |character: char| character.is_whitespace() || "-.:x×*–—".contains(character);
    let parts: Vec<&str> = counts
        .split(is_between)
        .filter(|part| !part.is_empty() && *part != "to")
        .collect();
    let numbers: Option<Vec<u32>> = parts.iter().map(|part| part.parse().ok()).collect();
    let is_one = !kind.contains(char::is_whitespace);
    match numbers?.as_slice() {
        [count] if is_one && *count > 0 => Some(format!("{count}x {kind}")),
        [first, last] if is_one && first != last && first.min(last) > &0 => {
            Some(format!("{}-{}x {kind}", first.min(last), first.max(last)))
        }
        _ => None,
    }
}

/// First, last and type of `1-8x ml.m5.xlarge`.
fn range_parts(text: &str) -> Option<(&str, &str, &str)> {
    let (counts, kind) = text.trim().split_once(char::is_whitespace)?;
    let (first, last) = counts.strip_suffix('x')?.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(first) && is_number(last)).then_some((first, last, kind.trim()))
}
