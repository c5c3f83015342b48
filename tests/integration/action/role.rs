//! The role that the action assumes itself: GitHub's token, AWS's credentials, and both again before they end.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};

use super::sagemaker::{ended, on_sagemaker, started};
use super::workflow::{Step, Workflow};
use crate::aws::{FakeAws, Fault, Job, Operation, Polls, Timeline};
use crate::begun::wait_for;
use crate::fake::Server;
use crate::github::Files;
use crate::sagemaker::{FIXED, spec, with_data};

const ROLE: &str = "arn:aws:iam::123456789012:role/canary-gate";
/// What the runner gives to a job with `id-token: write`.
const REQUEST_TOKEN: &str = "request-token-of-the-runner";
/// The last part of every token.
const SIGNATURE: &str = "c2lnbmF0dXJlLW9mLWdpdGh1Yg";

/// GitHub's token service.
struct TokenService {
    server: Server,
    state: Arc<Mutex<Tokens>>,
}

#[derive(Default)]
struct Tokens {
    given: usize,
    /// So many of the next answers have this status.
    refusals: (usize, u16),
    answer: Option<&'static str>,
}

impl TokenService {
    fn start() -> Self {
        let state = Arc::new(Mutex::new(Tokens::default()));
        let router = Router::new().fallback(token).with_state(state.clone());
        Self {
            server: Server::start(router),
            state,
        }
    }

    fn refuses(&self, times: usize, status: u16) {
        self.state.lock().unwrap().refusals = (times, status);
    }

    fn given(&self) -> usize {
        self.state.lock().unwrap().given
    }
}

async fn token(
    State(state): State<Arc<Mutex<Tokens>>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> (StatusCode, String) {
    let mut state = state.lock().unwrap();
    if state.refusals.0 > 0 {
        state.refusals.0 -= 1;
        let status = StatusCode::from_u16(state.refusals.1).unwrap();
        return (status, "<html>no</html>".to_owned());
    }
    let expected = format!("Bearer {REQUEST_TOKEN}");
    if headers["authorization"] != expected.as_str()
        || query.as_deref() != Some("api-version=2.0&audience=sts.amazonaws.com")
    {
        return (StatusCode::UNAUTHORIZED, String::new());
    }
    if let Some(answer) = state.answer {
        return (StatusCode::OK, answer.to_owned());
    }
    state.given += 1;
    let token = format!(
        "eyJhbGciOiJSUzI1NiJ9.eyJqdGkiOjEyMzQ{}.{SIGNATURE}",
        state.given
    );
    (
        StatusCode::OK,
        format!("{{\"count\": 1234, \"value\": \"{token}\"}}"),
    )
}

struct Assuming {
    workflow: Workflow,
    aws: FakeAws,
    tokens: TokenService,
}

impl Assuming {
    fn new() -> Self {
        let (workflow, aws) = on_sagemaker();
        Self::with(workflow, aws)
    }

    fn with(workflow: Workflow, aws: FakeAws) -> Self {
        Self {
            workflow: workflow.input("role-to-assume", ROLE),
            aws,
            tokens: TokenService::start(),
        }
    }

    fn reach(&self, command: &mut Command) {
        self.aws.reach(command);
        command
            .env_remove("AWS_ACCESS_KEY_ID")
            .env_remove("AWS_SECRET_ACCESS_KEY")
            .env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", REQUEST_TOKEN)
            .env(
                "ACTIONS_ID_TOKEN_REQUEST_URL",
                format!("{}/token?api-version=2.0", self.tokens.server.address()),
            );
    }

    fn run(&self) -> Step {
        self.run_with(|_| {})
    }

    fn run_with(&self, prepare: impl FnOnce(&mut Command)) -> Step {
        self.workflow.run_with(|command| {
            self.reach(command);
            prepare(command);
        })
    }
}

#[test]
fn the_role_is_assumed_once_by_a_token_for_aws_and_no_secret_is_printed() {
    let assuming = Assuming::new();
    let step = assuming.run_with(|command| {
        command.arg("-vv");
    });
    let step = step.ended_with(0);
    assert_eq!(step.output("verdict"), "within");
    let clients = assuming.aws.calls(Operation::AssumeRoleWithWebIdentity);
    assert_eq!(clients, 1);
    assert_eq!(assuming.tokens.given(), 1);
    let comment = assuming.workflow.comment();
    let state: Vec<&String> = step.state.values().collect();
    let everything = format!(
        "{}{}{comment}{}{state:?}{:?}",
        step.finished.stdout, step.finished.stderr, step.summary, step.outputs
    );
    for secret in [
        REQUEST_TOKEN,
        SIGNATURE,
        "secret-of-session",
        "token-of-session",
    ] {
        let at = everything.find(secret);
        assert_eq!(at.map(|at| &everything[at.saturating_sub(200)..at]), None);
    }
}

/// At this pace ten minutes are 1.8 s.
#[test]
fn credentials_of_ten_minutes_are_enough_for_a_check_of_three_hours() {
    let hour_each = FIXED.replace("30m", "2h");
    let files = |script: &str| {
        Files::new()
            .with("canary-gate.yml", spec(&hour_each))
            .with("code/train.py", script)
    };
    let workflow = Workflow::between(&files("print(1)"), &files("print(2)"));
    let assuming = Assuming::with(workflow, with_data());
    assuming.aws.sessions_last(Duration::from_millis(1800));
    assuming.aws.polls(Polls::Seconds(60.0));
    #[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
    let hour = |job: &Job| Timeline::completed().training(3600.0 + job.bytes() as f64 * 0.1);
    assuming.aws.train(hour);
    let step = assuming.run_with(|command| {
        command.env("CANARY_GATE_PACE", "0.003");
    });
    step.ended_with(0);
    assert_eq!(assuming.aws.jobs().len(), 3);
    assert_eq!(assuming.aws.late_calls(), 0);
    assert!(assuming.aws.calls(Operation::AssumeRoleWithWebIdentity) > 3);
}

#[test]
fn a_job_that_may_not_ask_for_tokens_is_told_the_permission() {
    let assuming = Assuming::new();
    let step = assuming.run_with(|command| {
        command
            .env_remove("ACTIONS_ID_TOKEN_REQUEST_URL")
            .env_remove("ACTIONS_ID_TOKEN_REQUEST_TOKEN");
    });
    let step = step.ended_with(1);
    step.finished
        .complained("this job may not ask GitHub for an ID token")
        .complained("`permissions: {id-token: write}`");
    assert_eq!(assuming.aws.all_calls(), 0);
}

#[test]
fn a_token_service_that_refuses_or_has_trouble_is_named() {
    for (times, status, code, said) in [
        (9, 403, 1, "GitHub refused GET id-token: 403"),
        (9, 401, 1, "GitHub refused an ID token"),
        (9, 500, 14, "token service gave no usable answer"),
        (2, 502, 0, ""),
    ] {
        let assuming = Assuming::new();
        assuming.tokens.refuses(times, status);
        let step = assuming.run().ended_with(code);
        step.finished.complained(said);
    }
    let assuming = Assuming::new();
    assuming.tokens.state.lock().unwrap().answer = Some("{\"value\": \"\"}");
    let step = assuming.run().ended_with(14);
    step.finished.complained("an answer without a token");
}

#[test]
fn what_sts_refuses_is_said_with_what_to_do() {
    let refused = "Not authorized to perform sts:AssumeRoleWithWebIdentity";
    let provider = "Add the identity provider https://token.actions.githubusercontent.com";
    let expired = "Token expired: current date/time must be before the expiration date/time";
    for (error, message, code, said) in [
        ("AccessDenied", refused, 1, "its trust policy"),
        (
            "InvalidIdentityToken",
            "Incorrect token audience",
            1,
            provider,
        ),
        (
            "ExpiredTokenException",
            expired,
            14,
            "correct the runner's clock",
        ),
    ] {
        let assuming = Assuming::new();
        let fault = Fault::error(error, message);
        let assume = Operation::AssumeRoleWithWebIdentity;
        assuming.aws.fail(assume).with(fault);
        let step = assuming.run().ended_with(code);
        step.finished
            .complained(message)
            .complained(said)
            .complained("role/canary-gate");
        assert_eq!(assuming.aws.calls(assume), 1, "{error}");
    }
}

#[test]
fn the_post_step_assumes_the_role_too() {
    let assuming = Assuming::new();
    assuming.aws.polls(Polls::Nothing);
    let mut child = started(&assuming.workflow, |command| assuming.reach(command));
    wait_for(|| !assuming.aws.in_progress().is_empty());
    child.kill().unwrap();
    let step = ended(&assuming.workflow, child);
    let post = assuming
        .workflow
        .post_step_with(&step, |command| assuming.reach(command));
    post.ended_with(0);
    assert_eq!(assuming.aws.in_progress(), Vec::<String>::new());
}
