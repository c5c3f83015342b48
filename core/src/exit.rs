//! Exit codes of outcomes. A failed budget and a failed tool have different codes.

use crate::spec::OnInconclusive;
use crate::verdict::Verdict;

/// The tool failed, or its environment needs a correction.
pub const TOOL_FAILED: u8 = 1;
/// Wrong usage, or an invalid spec.
pub const USAGE: u8 = 2;
pub const EXCEEDED: u8 = 10;
pub const AT_RISK: u8 = 11;
/// The training drifted from its baseline.
pub const DRIFT: u8 = 12;
/// The training code failed in a canary.
pub const FAILED: u8 = 13;
pub const UNKNOWN: u8 = 14;
pub const INTERRUPTED: u8 = 130;
pub const TERMINATED: u8 = 143;

/// Whether a person or a signal ended the run.
pub fn is_interruption(code: u8) -> bool {
    matches!(code, INTERRUPTED | TERMINATED)
}

/// Which uncertain outcomes fail the check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Strictness {
    /// Whether at_risk fails the check.
    pub strict: bool,
    pub on_inconclusive: OnInconclusive,
}

impl Strictness {
    /// Where what is unknown is the doing of the change.
    #[must_use]
    pub fn without_passing(self) -> Self {
        Self {
            on_inconclusive: OnInconclusive::Fail,
            ..self
        }
    }
}

/// The code of one outcome.
pub fn code(verdict: Verdict, strictness: Strictness) -> u8 {
    match verdict {
        Verdict::Exceeded => EXCEEDED,
        Verdict::Failed => FAILED,
        Verdict::Unknown if strictness.on_inconclusive == OnInconclusive::Fail => UNKNOWN,
        Verdict::AtRisk if strictness.strict => AT_RISK,
        Verdict::Unknown | Verdict::AtRisk | Verdict::Within | Verdict::NotJudged => 0,
    }
}

/// Codes of outcomes, worst first.
const WORST_FIRST: [u8; 5] = [EXCEEDED, FAILED, UNKNOWN, DRIFT, AT_RISK];

/// The worst of several codes: an outcome's if there is one, else the first that is not 0.
pub fn worst(codes: &[u8]) -> u8 {
    WORST_FIRST
        .into_iter()
        .find(|worst| codes.contains(worst))
        .or_else(|| codes.iter().copied().find(|&code| code != 0))
        .unwrap_or(0)
}

/// The code of a whole run: the worst of its outcomes' codes and `troubles`, the codes of errors and [`DRIFT`]. [`UNKNOWN`]
/// among the troubles counts as an unknown outcome.
pub fn code_of_run(
    verdicts: impl IntoIterator<Item = Verdict>,
    troubles: impl IntoIterator<Item = u8>,
    strictness: Strictness,
) -> u8 {
    let troubles = troubles.into_iter().map(|trouble| match trouble {
        UNKNOWN => code(Verdict::Unknown, strictness),
        trouble => trouble,
    });
    let outcomes = verdicts.into_iter().map(|one| code(one, strictness));
    worst(&troubles.chain(outcomes).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: Strictness = Strictness {
        strict: true,
        on_inconclusive: OnInconclusive::Fail,
    };
    const LENIENT: Strictness = Strictness {
        strict: false,
        on_inconclusive: OnInconclusive::Pass,
    };

    #[test]
    fn each_outcome_has_its_documented_code() {
        let codes = |strictness| {
            [
                Verdict::Exceeded,
                Verdict::Failed,
                Verdict::Unknown,
                Verdict::AtRisk,
                Verdict::Within,
                Verdict::NotJudged,
            ]
            .map(|verdict| code(verdict, strictness))
        };
        assert_eq!(codes(STRICT), [10, 13, 14, 11, 0, 0]);
        assert_eq!(codes(LENIENT), [10, 13, 0, 0, 0, 0]);
    }

    #[test]
    fn codes_rank_as_their_outcomes_do() {
        for (codes, expected) in [
            (vec![0, 0], 0),
            (vec![AT_RISK, DRIFT], DRIFT),
            (vec![DRIFT, UNKNOWN], UNKNOWN),
            (vec![UNKNOWN, FAILED], FAILED),
            (vec![FAILED, EXCEEDED], EXCEEDED),
            (vec![0, TOOL_FAILED], TOOL_FAILED),
            (vec![TOOL_FAILED, EXCEEDED], EXCEEDED),
        ] {
            assert_eq!(worst(&codes), expected);
        }
    }

    #[test]
    fn trouble_that_passes_hides_no_outcome_and_no_other_trouble() {
        use Verdict::{Exceeded, Within};
        for (verdict, troubles, strict, lenient) in [
            (Within, vec![], 0, 0),
            (Within, vec![UNKNOWN], 14, 0),
            (Exceeded, vec![UNKNOWN], 10, 10),
            (Within, vec![TOOL_FAILED, UNKNOWN], 14, 1),
            (Exceeded, vec![TOOL_FAILED], 10, 10),
            (Within, vec![USAGE], 2, 2),
            (Within, vec![DRIFT], 12, 12),
            (Within, vec![DRIFT, TOOL_FAILED], 12, 12),
            (Within, vec![DRIFT, UNKNOWN], 14, 12),
        ] {
            let code = |strictness| code_of_run([verdict], troubles.clone(), strictness);
            assert_eq!((code(STRICT), code(LENIENT)), (strict, lenient));
        }
    }

    #[test]
    fn the_worst_outcome_with_a_code_decides() {
        let verdicts = [Verdict::Within, Verdict::AtRisk, Verdict::Unknown];
        assert_eq!(code_of_run(verdicts, [], STRICT), UNKNOWN);
        // Unknown passes here, so the strict at_risk below it decides.
        let strict_but_passing = Strictness {
            on_inconclusive: OnInconclusive::Pass,
            ..STRICT
        };
        assert_eq!(code_of_run(verdicts, [], strict_but_passing), AT_RISK);
        assert_eq!(code_of_run([], [], STRICT), 0);
    }
}
