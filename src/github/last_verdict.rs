//! The last verdict, which stays below a comment that has none: while canaries run, and where a run was cancelled.

use super::marker::{Marker, MarkerState};

/// Stands before it, unseen. Text from outside never has it: the report shows `<` as a character.
const SEPARATOR: &str = "<!-- canary-gate: the last verdict -->";
const FOLD_END: &str = "</details>";

/// Opens the fold of the last verdict while the next one is being measured.
pub(super) const FOLDED: &str = "<details>";
/// The same where there will be no other: it is shown as it was.
pub(super) const UNFOLDED: &str = "<details open>";

/// The verdict in a comment of ours, without its marker; `None` if it has none.
pub(super) fn verdict_in(comment: &str) -> Option<&str> {
    let marker = Marker::of(comment)?;
    let (_, text) = comment.split_once('\n')?;
    match text.split_once(SEPARATOR) {
        Some((_, kept)) => {
            let (_, kept) = kept.split_once("</summary>\n\n")?;
            kept.trim_end().strip_suffix(FOLD_END).map(str::trim_end)
        }
        None if marker.state == MarkerState::Running => None,
        None => Some(text.trim_end()),
    }
}

/// `text` with the verdict below it, in at most `limit` bytes: what is folded in the verdict goes first, then the verdict.
pub(super) fn with_verdict(text: &str, verdict: &str, opening: &str, limit: usize) -> String {
    let of = commit_of(verdict).map_or(String::new(), |commit| format!(", of {commit}"));
    let plain = verdict.split("\n<details>").next().unwrap_or(verdict);
    let whole = |verdict: &str| {
        let text = text.trim_end();
        format!(
            "{text}\n\n{SEPARATOR}\n{opening}<summary>The last verdict{of}</summary>\n\n{verdict}\n\n{FOLD_END}\n"
        )
    };
    let texts = [verdict, plain].into_iter().map(whole);
    let mut fitting = texts.filter(|text| text.len() <= limit);
    fitting.next().unwrap_or_else(|| text.to_owned())
}

/// The commit in the last line of a report.
fn commit_of(verdict: &str) -> Option<&str> {
    let line = verdict
        .lines()
        .rev()
        .find(|line| line.starts_with("<sub>"))?;
    let commit = line.strip_prefix("<sub>")?.split(' ').next()?;
    let is_commit = commit.len() == 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINAL: &str = "<!-- canary-gate v1 spec=a.yml order=2026-11-21T09:14:07Z/4821/1 -->";
    const STUB: &str =
        "<!-- canary-gate v1 spec=a.yml order=2026-11-21T09:44:07Z/4822/1 state=running -->";
    const VERDICT: &str = "### ✅ within\n\n| table |\n\n<details><summary>Canaries</summary>\n\nx\n\n</details>\n\n<sub>3f9c2e1 · run 4821</sub>";

    #[test]
    fn a_verdict_goes_from_comment_to_comment_until_there_is_another() {
        let first = format!("{FINAL}\n{VERDICT}\n");
        assert_eq!(verdict_in(&first), Some(VERDICT));
        let stub = with_verdict("### ⏳ measuring\n", VERDICT, FOLDED, 10_000);
        assert!(
            stub.contains("<details><summary>The last verdict, of 3f9c2e1</summary>\n\n### ✅"),
            "{stub}"
        );
        let stub = format!("{STUB}\n{stub}");
        assert_eq!(verdict_in(&stub), Some(VERDICT));
        let ended = with_verdict("### ❌ cancelled", VERDICT, UNFOLDED, 10_000);
        assert!(ended.contains("<details open><summary>"), "{ended}");
        assert_eq!(verdict_in(&format!("{FINAL}\n{ended}")), Some(VERDICT));
        // A first run has none to keep.
        assert_eq!(verdict_in(&format!("{STUB}\n### ⏳ measuring")), None);
        assert_eq!(verdict_in("what somebody wrote"), None);
    }

    #[test]
    fn what_does_not_fit_goes_without_its_folds_and_then_altogether() {
        let long = format!("### ✅ within\n\n<details>{}</details>", "x".repeat(5000));
        let short = with_verdict("stub", &long, FOLDED, 1000);
        assert!(
            short.contains("### ✅ within") && !short.contains("xxx"),
            "{short}"
        );
        assert_eq!(with_verdict("stub", &long, FOLDED, 50), "stub");
    }
}
