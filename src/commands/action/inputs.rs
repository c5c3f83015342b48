//! The inputs of the action: what a workflow writes under `with`.
//!
//! The runner sets a variable for each: `INPUT_` and the name in capitals, with hyphens. An input that is not written is empty.

use clap::ValueEnum;
use regex::Regex;

use crate::cli::Inconclusive;
use crate::github::Token;
use crate::grammar;
use crate::report::Report;
use crate::spec::OnInconclusive;
use crate::units::Usd;

/// What the action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ActionCommand {
    Run,
    Detach,
    Collect,
    Drift,
    Report,
    Sweep,
}

/// How the pull request is commented on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CommentPolicy {
    /// One comment is kept up to date.
    Update,
    /// Each run writes a comment of its own and hides the older ones.
    New,
    Off,
}

/// Whether a drift's tracking issue, or the check run, is kept up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Upkeep {
    Update,
    Off,
}

/// All inputs, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Inputs {
    pub(super) command: ActionCommand,
    /// Paths of specs, and patterns of such, from the workspace; empty: the default places.
    pub(super) specs: Vec<String>,
    /// Only these jobs; empty: all affected ones.
    pub(super) jobs: Vec<String>,
    pub(super) token: Option<Token>,
    pub(super) aws_region: Option<String>,
    /// The ARN of the role that the program assumes itself; `None`: credentials are there already.
    pub(super) role_to_assume: Option<String>,
    pub(super) comment: CommentPolicy,
    pub(super) issue: Upkeep,
    pub(super) check_run: Upkeep,
    /// `None`: as in the spec.
    pub(super) strict: Option<bool>,
    pub(super) on_inconclusive: Option<OnInconclusive>,
    /// What becomes of a check of a pull request from a fork, none of whose code is run.
    pub(super) on_fork: Inconclusive,
    /// The most that canaries may cost together; `None`: the jobs' own limits.
    pub(super) max_spend: Option<Usd>,
    /// The most that all checks of a pull request may cost together; `None`: no such limit.
    pub(super) max_spend_per_pull_request: Option<Usd>,
    /// Patterns of files with parts of a report, relative to the workspace; only with [`ActionCommand::Report`].
    pub(super) report_from: Vec<String>,
    /// The pull request, if the event does not name one.
    pub(super) pull_request: Option<u64>,
    /// The name of the status to set in place of a check run; `None`: none is set.
    pub(super) commit_status: Option<String>,
    pub(super) fresh: bool,
    /// The path of the template of the page from the workspace; `None`: ours.
    pub(super) template: Option<String>,
    /// Only with [`ActionCommand::Drift`]: accept the last check as the baseline.
    pub(super) accept: bool,
}

impl Inputs {
    /// Reads the inputs through `variable`, and returns every invalid one, so that all can be corrected at once. An invalid input
    /// has its default value, to be used only for reporting it.
    pub(super) fn read(variable: &dyn Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut reader = InputReader {
            variable,
            errors: Vec::new(),
        };
        let mut inputs = Self {
            command: reader.choice("command").unwrap_or(ActionCommand::Run),
            specs: reader.list("spec", &['\n']),
            jobs: reader.list("jobs", &[',', '\n']),
            token: reader.text("github-token").map(|text| Token::new(&text)),
            aws_region: reader.text("aws-region"),
            role_to_assume: reader.parsed(
                "role-to-assume",
                "the ARN of a role such as `arn:aws:iam::123456789012:role/canary-gate`",
                |text| is_role(text).then(|| text.to_owned()),
            ),
            comment: reader.choice("comment").unwrap_or(CommentPolicy::Update),
            issue: reader.choice("issue").unwrap_or(Upkeep::Update),
            check_run: reader.choice("check-run").unwrap_or(Upkeep::Update),
            strict: reader.truth("strict"),
            on_inconclusive: reader
                .choice::<Inconclusive>("on-inconclusive")
                .map(OnInconclusive::from),
            on_fork: reader.choice("on-fork").unwrap_or(Inconclusive::Pass),
            max_spend: reader.parsed("max-spend", "an amount such as `5 USD`", |text| {
                text.parse().ok()
            }),
            max_spend_per_pull_request: reader.parsed(
                "max-spend-per-pull-request",
                "an amount above 0 such as `20 USD`",
                |text| text.parse().ok().filter(|usd: &Usd| usd.0 > 0.0),
            ),
            report_from: reader.list("report-from", &['\n']),
            pull_request: reader.parsed("pull-request", "the number of a pull request", |text| {
                let number = text.strip_prefix('#').unwrap_or(text).parse().ok();
                number.filter(|number| *number > 0)
            }),
            commit_status: reader.parsed(
                "commit-status",
                "a name of at most 100 characters such as `canary-gate`",
                |text| {
                    let is_name = text.len() <= 100 && !text.chars().any(char::is_control);
                    is_name.then(|| text.to_owned())
                },
            ),
            fresh: reader.truth("fresh").unwrap_or(false),
            template: reader.text("template"),
            accept: reader.truth("accept").unwrap_or(false),
        };
        if !inputs.report_from.is_empty() {
            inputs.command = ActionCommand::Report;
        }
        if inputs.accept && inputs.command != ActionCommand::Drift {
            reader.refuse("accept", "true", "`true` only with `command: drift`");
        }
        if are_many(&inputs.specs) {
            for name in ["jobs", "report-from"] {
                if let Some(found) = reader.text(name) {
                    reader.refuse(name, &found, "written only beside the path of one spec");
                }
            }
        }
        (inputs, reader.errors)
    }
}

/// Names a flag of the command line as the input that does the same, in reasons, advice and help, which quote nobody.
pub(super) fn name_in(report: &mut Report) {
    let flag = "`?--(max-spend-per-pull-request|max-spend|fresh|strict|on-inconclusive)`?";
    let flag = Regex::new(flag).expect("a constant");
    let name = |text: &mut String, as_input: &str| {
        *text = flag.replace_all(text, as_input).into_owned();
    };
    for job in &mut report.jobs {
        // Cells and headings show what a mark of code is made of.
        let cells = job.forecasts.iter_mut();
        let cells = cells.filter_map(|row| row.not_measured.as_mut());
        let plain = cells.chain([&mut job.reason.why]);
        plain.for_each(|text| name(text, "the input $1"));
        let advice = job.advice.iter_mut().chain(&mut job.reason.advice);
        advice.for_each(|text| name(text, "the input `$1`"));
    }
    for help in report.failures.iter_mut().flat_map(|one| &mut one.help) {
        name(help, "the input `$1`");
    }
}

/// Whether the input may name several specs.
pub(super) fn are_many(named: &[String]) -> bool {
    named.len() > 1 || named.iter().any(|one| is_pattern(one))
}

/// By its text alone: a file of that name, which a pull request could add, makes it no path.
pub(super) fn is_pattern(text: &str) -> bool {
    text.starts_with('!') || text.contains(['*', '?', '[', '{'])
}

/// Whether a text is the ARN of an IAM role.
fn is_role(text: &str) -> bool {
    let role = r"^arn:[A-Za-z0-9-]+:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,576}$";
    Regex::new(role).is_ok_and(|role| role.is_match(text))
}

struct InputReader<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    errors: Vec<String>,
}

impl InputReader<'_> {
    fn text(&self, name: &str) -> Option<String> {
        let text = (self.variable)(&format!("INPUT_{}", name.to_uppercase()))?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn list(&self, name: &str, separators: &[char]) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        let parts = text.split(separators).map(str::trim);
        let parts = parts.filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    }

    fn parsed<T>(&mut self, name: &str, expected: &str, parse: fn(&str) -> Option<T>) -> Option<T> {
        let found = self.text(name)?;
        let value = parse(&found);
        if value.is_none() {
            self.refuse(name, &found, expected);
        }
        value
    }

    fn refuse(&mut self, name: &str, found: &str, expected: &str) {
        let wrong = format!("input `{name}` is `{found}`; it can be {expected}");
        self.errors.push(wrong);
    }

    /// One of some names, in either case.
    fn choice<T: ValueEnum>(&mut self, name: &str) -> Option<T> {
        let values = T::value_variants().iter().filter_map(T::to_possible_value);
        let names = Vec::from_iter(values.map(|value| format!("`{}`", value.get_name())));
        self.parsed(name, &grammar::choice(&names), |text| {
            T::from_str(text, true).ok()
        })
    }

    fn truth(&mut self, name: &str) -> Option<bool> {
        self.parsed(name, "`true` or `false`", |text| {
            text.to_ascii_lowercase().parse().ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &[(&str, &str)]) -> (Inputs, Vec<String>) {
        Inputs::read(&|name| {
            let value = written.iter().find(|(known, _)| *known == name);
            value.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn what_is_not_written_has_its_default_and_lists_are_written_as_people_do() {
        // The runner sets every input that `action.yml` knows.
        let (inputs, errors) = read(&[("INPUT_COMMAND", ""), ("INPUT_STRICT", " ")]);
        let default = Inputs {
            command: ActionCommand::Run,
            specs: Vec::new(),
            jobs: Vec::new(),
            token: None,
            aws_region: None,
            role_to_assume: None,
            comment: CommentPolicy::Update,
            issue: Upkeep::Update,
            check_run: Upkeep::Update,
            strict: None,
            on_inconclusive: None,
            on_fork: Inconclusive::Pass,
            max_spend: None,
            max_spend_per_pull_request: None,
            report_from: Vec::new(),
            pull_request: None,
            commit_status: None,
            fresh: false,
            template: None,
            accept: false,
        };
        assert_eq!((&inputs, errors), (&default, Vec::new()));
        let (inputs, errors) = read(&[
            ("INPUT_COMMAND", "drift"),
            ("INPUT_JOBS", "churn, digits\n"),
            ("INPUT_ISSUE", "off"),
            ("INPUT_CHECK-RUN", "off"),
            ("INPUT_STRICT", "True"),
            ("INPUT_REPORT-FROM", "parts/*.json\nmore, odd.json\n"),
            ("INPUT_PULL-REQUEST", "#12"),
            ("INPUT_MAX-SPEND", "2.50 USD"),
            ("INPUT_MAX-SPEND-PER-PULL-REQUEST", "20 USD"),
        ]);
        let written = Inputs {
            // Whatever else it says.
            command: ActionCommand::Report,
            jobs: ["churn", "digits"].map(str::to_owned).into(),
            issue: Upkeep::Off,
            check_run: Upkeep::Off,
            strict: Some(true),
            report_from: ["parts/*.json", "more, odd.json"].map(str::to_owned).into(),
            pull_request: Some(12),
            max_spend: Some(Usd(2.5)),
            max_spend_per_pull_request: Some(Usd(20.0)),
            ..default
        };
        assert_eq!((inputs, errors), (written, Vec::new()));
    }

    #[test]
    fn every_wrong_input_is_named_at_once() {
        let (_, errors) = read(&[
            ("INPUT_COMMAND", "gate"),
            ("INPUT_STRICT", "yes"),
            ("INPUT_MAX-SPEND", "5"),
            ("INPUT_MAX-SPEND-PER-PULL-REQUEST", "-20 USD"),
            ("INPUT_PULL-REQUEST", "0"),
            ("INPUT_ISSUE", "close"),
            ("INPUT_ROLE-TO-ASSUME", "canary-gate"),
            ("INPUT_ACCEPT", "true"),
            ("INPUT_SPEC", "**/canary-gate.yml"),
            ("INPUT_JOBS", "churn"),
        ]);
        assert_eq!(
            errors,
            [
                "input `command` is `gate`; it can be `run`, `detach`, `collect`, `drift`, `report` or `sweep`",
                "input `role-to-assume` is `canary-gate`; it can be the ARN of a role such as `arn:aws:iam::123456789012:role/canary-gate`",
                "input `issue` is `close`; it can be `update` or `off`",
                "input `strict` is `yes`; it can be `true` or `false`",
                "input `max-spend` is `5`; it can be an amount such as `5 USD`",
                "input `max-spend-per-pull-request` is `-20 USD`; it can be an amount above 0 such as `20 USD`",
                "input `pull-request` is `0`; it can be the number of a pull request",
                "input `accept` is `true`; it can be `true` only with `command: drift`",
                "input `jobs` is `churn`; it can be written only beside the path of one spec",
            ]
        );
    }

    #[test]
    fn a_role_is_named_by_its_arn() {
        for good in [
            "arn:aws:iam::123456789012:role/canary-gate",
            "arn:aws-cn:iam::123456789012:role/ci/path/canary_gate@x",
        ] {
            assert!(is_role(good), "{good}");
        }
        for bad in [
            "canary-gate",
            "arn:aws:iam::1234:role/x",
            "arn:aws:iam::123456789012:user/x",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:iam::123456789012:role/x y",
            "arn::iam::123456789012:role/x",
        ] {
            assert!(!is_role(bad), "{bad}");
        }
    }
}
