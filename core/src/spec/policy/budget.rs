//! A job's budget from the base.

use std::collections::BTreeSet;

use super::difference::Differences;
use crate::metric::Amount;
use crate::spec::{Bound, Budget, BudgetLine, Level, LineKind, StatedGrowth};
use crate::units::{Fraction, Percent, Seconds};

/// The base's budget for a full run that the head's `max_runtime` ends. A line that cannot apply to the head's job stays.
pub(super) fn apply_base_budget(
    head: &Budget,
    base: &Budget,
    max_runtime: Option<Seconds>,
    differences: &mut Differences,
) -> Budget {
    let named = (base.written().chain(head.written())).filter(|line| line.kind.metric().is_none());
    let named: BTreeSet<LineKind> = named.map(|line| line.kind).collect();
    for kind in LineKind::ALL.into_iter().chain(named) {
        compare(
            base.written_line(kind),
            head.written_line(kind),
            differences,
        );
    }
    let Budget {
        lines: _,
        certainty,
        existing_breach,
        growth,
    } = head;
    let mut budget = Budget {
        lines: base.lines.clone(),
        certainty: differences.take_amount(
            "the certainty of the budget",
            &base.certainty,
            certainty,
            |Fraction(share)| Percent(share * 100.0).exact(),
        ),
        existing_breach: differences.take(
            "`budget.existing_breach`",
            &base.existing_breach,
            existing_breach,
            |level| level_word(*level).to_owned(),
        ),
        growth: differences.take("`budget.growth`", &base.growth, growth, |growth| {
            growth.map_or("unknown", StatedGrowth::word).to_owned()
        }),
    };
    budget.renew_implicit_lines(max_runtime);
    budget
}

/// Says how one line differs.
fn compare(base: Option<&BudgetLine>, head: Option<&BudgetLine>, differences: &mut Differences) {
    match (base, head) {
        (None, None) => {}
        (None, Some(added)) => differences.say(format!(
            "This pull request adds a budget of {}: {} (counts when merged).",
            added.kind.words(),
            added.limit_words(),
        )),
        (Some(removed), None) => {
            let limit = removed.limit_words();
            differences.say(format!(
                "This pull request takes away the {} budget of {limit} (counts when merged).",
                removed.kind.words(),
            ));
        }
        (Some(base), Some(head)) => {
            let budget = format!("the {} budget", base.kind.words());
            if base.bound != head.bound {
                differences.changes("changes", &budget, &side(base), &side(head));
            } else {
                differences.take_amount(&budget, &base.limit, &head.limit, |limit| {
                    base.words_of(*limit)
                });
            }
            differences.take(
                &format!("the level of {budget}"),
                &base.level,
                &head.level,
                |level| level_word(*level).to_owned(),
            );
            differences.take_amount(
                &format!("`at_least` of {budget}"),
                &base.at_least,
                &head.at_least,
                |amount| amount.map_or(String::new(), Amount::exact),
            );
        }
    }
}

/// With its side, whichever it is.
fn side(line: &BudgetLine) -> String {
    let limit = line.kind.exact(line.limit.number);
    match line.bound {
        Bound::Max => format!("at most {limit}"),
        Bound::Min => format!("at least {limit}"),
    }
}

fn level_word(level: Level) -> &'static str {
    match level {
        Level::Fail => "fail",
        Level::Warn => "warn",
    }
}
