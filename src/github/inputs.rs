//! The inputs of the action: what a workflow writes under `with`.
//!
//! The runner sets a variable for each: `INPUT_` and the name in capitals, with hyphens. An input that is not written is empty.

use crate::grammar;
use crate::spec::OnInconclusive;
use crate::units::Usd;

use super::token::Token;

/// What the action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionCommand {
    Run,
    Detach,
    Collect,
    Sweep,
    Report,
    Drift,
}

impl ActionCommand {
    const NAMES: [(&'static str, Self); 6] = [
        ("run", Self::Run),
        ("detach", Self::Detach),
        ("collect", Self::Collect),
        ("drift", Self::Drift),
        ("report", Self::Report),
        ("sweep", Self::Sweep),
    ];
}

/// Whether a drift's tracking issue is kept up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuePolicy {
    Update,
    Off,
}

/// How the pull request is commented on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentPolicy {
    /// One comment is kept up to date.
    Update,
    /// Each run writes a comment of its own and hides the older ones.
    New,
    Off,
}

/// The result for a pull request from a fork, none of whose code is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFork {
    Pass,
    Fail,
}

/// All inputs, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    pub command: ActionCommand,
    /// The spec's path from the workspace; `None`: the default places.
    pub spec: Option<String>,
    /// Only these jobs; empty: all affected ones.
    pub jobs: Vec<String>,
    pub token: Option<Token>,
    pub aws_region: Option<String>,
    /// The ARN of the role that the program assumes itself; `None`: credentials are there already.
    pub role_to_assume: Option<String>,
    pub comment: CommentPolicy,
    pub issue: IssuePolicy,
    /// `None`: as in the spec.
    pub strict: Option<bool>,
    pub on_inconclusive: Option<OnInconclusive>,
    pub on_fork: OnFork,
    /// The most that canaries may cost together; `None`: the jobs' own limits.
    pub max_spend: Option<Usd>,
    /// The most that all checks of a pull request may cost together; `None`: no such limit.
    pub max_spend_per_pull_request: Option<Usd>,
    /// Patterns of files with parts of a report, relative to the workspace; empty: the gate runs here.
    pub report_from: Vec<String>,
    /// The pull request, if the event does not name one.
    pub pull_request: Option<u64>,
    /// The name of the status to set on the pull request's head; `None`: none is set.
    pub commit_status: Option<String>,
    pub fresh: bool,
    /// The path of the template of the page from the workspace; `None`: ours.
    pub template: Option<String>,
    /// Only with [`ActionCommand::Drift`]: accept the last check as the baseline.
    pub accept: bool,
}

/// An invalid input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("input `{name}` is `{found}`; it can be {expected}")]
pub struct InputError {
    pub name: &'static str,
    pub found: String,
    pub expected: String,
}

impl Inputs {
    /// Reads the inputs through `variable`, and returns every invalid one, so that all can be corrected at once. An invalid input
    /// has its default value, to be used only for reporting it.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> (Self, Vec<InputError>) {
        let mut reader = InputReader {
            variable,
            errors: Vec::new(),
        };
        let inputs = Self {
            command: reader
                .choice("command", &ActionCommand::NAMES)
                .unwrap_or(ActionCommand::Run),
            spec: reader.text("spec"),
            jobs: reader.list("jobs", &[',', '\n']),
            token: reader.text("github-token").map(|text| Token::new(&text)),
            aws_region: reader.text("aws-region"),
            role_to_assume: reader.parsed(
                "role-to-assume",
                "the ARN of a role such as `arn:aws:iam::123456789012:role/canary-gate`",
                |text| is_role(text).then(|| text.to_owned()),
            ),
            comment: reader
                .choice(
                    "comment",
                    &[
                        ("update", CommentPolicy::Update),
                        ("new", CommentPolicy::New),
                        ("off", CommentPolicy::Off),
                    ],
                )
                .unwrap_or(CommentPolicy::Update),
            issue: reader
                .choice(
                    "issue",
                    &[("update", IssuePolicy::Update), ("off", IssuePolicy::Off)],
                )
                .unwrap_or(IssuePolicy::Update),
            strict: reader.truth("strict"),
            on_inconclusive: reader.choice(
                "on-inconclusive",
                &[
                    ("fail", OnInconclusive::Fail),
                    ("pass", OnInconclusive::Pass),
                ],
            ),
            on_fork: reader
                .choice("on-fork", &[("pass", OnFork::Pass), ("fail", OnFork::Fail)])
                .unwrap_or(OnFork::Pass),
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
                let digits = text.strip_prefix('#').unwrap_or(text);
                let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
                let number = is_number.then(|| digits.parse().ok()).flatten();
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
        if inputs.accept && inputs.command != ActionCommand::Drift {
            reader.errors.push(InputError {
                name: "accept",
                found: "true".to_owned(),
                expected: "`true` only with `command: drift`".to_owned(),
            });
        }
        (inputs, reader.errors)
    }
}

/// Whether a text is the ARN of an IAM role.
fn is_role(text: &str) -> bool {
    let Some((partition, rest)) = text
        .strip_prefix("arn:")
        .and_then(|rest| rest.split_once(":iam::"))
    else {
        return false;
    };
    let Some((account, name)) = rest.split_once(":role/") else {
        return false;
    };
    let is_of = |text: &str, others: &[u8]| {
        let mut bytes = text.bytes();
        !text.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || others.contains(&byte))
    };
    is_of(partition, b"-")
        && account.len() == 12
        && account.bytes().all(|byte| byte.is_ascii_digit())
        && name.len() <= 576
        && is_of(name, b"+=,.@_/-")
}

struct InputReader<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    errors: Vec<InputError>,
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
        parts
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn parsed<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let found = self.text(name)?;
        let value = parse(&found);
        if value.is_none() {
            self.errors.push(InputError {
                name,
                found,
                expected: expected.to_owned(),
            });
        }
        value
    }

    /// One of some names, in either case.
    fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&'static str, T)]) -> Option<T> {
        let names: Vec<String> = choices
            .iter()
            .map(|(choice, _)| format!("`{choice}`"))
            .collect();
        self.parsed(name, &grammar::choice(&names), |text| {
            let mut choices = choices.iter();
            let found = choices.find(|(choice, _)| choice.eq_ignore_ascii_case(text));
            found.map(|(_, value)| *value)
        })
    }

    fn truth(&mut self, name: &'static str) -> Option<bool> {
        self.choice(name, &[("true", true), ("false", false)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &[(&str, &str)]) -> (Inputs, Vec<InputError>) {
        Inputs::read(&|name| {
            let value = written.iter().find(|(known, _)| *known == name);
            value.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn what_is_not_written_has_its_default() {
        // The runner sets every input that `action.yml` knows.
        let (inputs, errors) = read(&[("INPUT_COMMAND", ""), ("INPUT_STRICT", " ")]);
        assert_eq!(errors, []);
        assert_eq!(inputs.command, ActionCommand::Run);
        assert_eq!(inputs.comment, CommentPolicy::Update);
        assert_eq!(inputs.issue, IssuePolicy::Update);
        assert_eq!(inputs.on_fork, OnFork::Pass);
        assert_eq!(inputs.max_spend, None);
        assert_eq!((inputs.strict, inputs.fresh), (None, false));
        assert!(!inputs.accept);
        assert_eq!(inputs.spec, None);
    }

    #[test]
    fn lists_are_written_as_people_write_them() {
        let (inputs, errors) = read(&[
            ("INPUT_JOBS", "churn, digits\n"),
            ("INPUT_REPORT-FROM", "parts/*.json\nmore, odd.json\n"),
            ("INPUT_PULL-REQUEST", "#12"),
            ("INPUT_MAX-SPEND", "2.50 USD"),
            ("INPUT_MAX-SPEND-PER-PULL-REQUEST", "20 USD"),
        ]);
        assert_eq!(errors, []);
        assert_eq!(inputs.jobs, ["churn", "digits"]);
        assert_eq!(inputs.report_from, ["parts/*.json", "more, odd.json"]);
        assert_eq!(inputs.pull_request, Some(12));
        assert_eq!(inputs.max_spend, Some(Usd(2.5)));
        assert_eq!(inputs.max_spend_per_pull_request, Some(Usd(20.0)));
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
        ]);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "input `command` is `gate`; it can be `run`, `detach`, `collect`, `drift`, `report` or `sweep`",
                "input `issue` is `close`; it can be `update` or `off`",
                "input `strict` is `yes`; it can be `true` or `false`",
                "input `max-spend` is `5`; it can be an amount such as `5 USD`",
                "input `max-spend-per-pull-request` is `-20 USD`; it can be an amount above 0 such as `20 USD`",
                "input `pull-request` is `0`; it can be the number of a pull request",
            ]
        );
    }

    #[test]
    fn drift_can_be_checked_without_an_issue() {
        let (inputs, errors) = read(&[("INPUT_COMMAND", "drift"), ("INPUT_ISSUE", "off")]);
        assert_eq!(errors, []);
        assert_eq!(inputs.command, ActionCommand::Drift);
        assert_eq!(inputs.issue, IssuePolicy::Off);
    }

    #[test]
    fn only_a_drift_can_be_accepted() {
        let (inputs, errors) = read(&[("INPUT_COMMAND", "drift"), ("INPUT_ACCEPT", "true")]);
        assert_eq!((inputs.accept, errors), (true, Vec::new()));
        let (_, errors) = read(&[("INPUT_ACCEPT", "true")]);
        assert_eq!(
            errors[0].to_string(),
            "input `accept` is `true`; it can be `true` only with `command: drift`"
        );
    }

    #[test]
    fn the_token_is_never_printed() {
        let (inputs, _) = read(&[("INPUT_GITHUB-TOKEN", "ghs_secret")]);
        assert!(!format!("{inputs:?}").contains("secret"));
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
