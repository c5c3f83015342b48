//! The client: one repository or project, one token, every call retried or reported.
//!
//! The size of an answer, the number of pages and the waits are bounded. Redirects are not followed, so that the token is sent
//! nowhere else. A request that reads, changes or deletes is repeated after a server error; one that creates is not, since it
//! may have been carried out ([`ForgeErrorKind::Unsure`](super::error::ForgeErrorKind::Unsure)).

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, HeaderMap, HeaderValue, USER_AGENT};
use http::{Request, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use octocrab::{Octocrab, OctocrabBuilder};
use reqwest::{Client, redirect};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::address::{is_repository, split};
use super::line::{causes, line, message};
use super::retry::{Refusal, TRIES, backoff};
use super::service::{GITHUB, Service};
use super::{Author, Environment, ForgeError, Token};
use crate::code::Tree;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest wait between two parts of an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time for a request and its whole answer.
const TIMEOUT: Duration = Duration::from_secs(120);

const OUR_NAME: &str = concat!("canary-gate/", env!("CARGO_PKG_VERSION"));

/// The largest JSON answer that is read. GitHub's largest, a recursive tree and a page of files with patches, are far smaller.
const JSON_LIMIT: usize = 64 << 20;
/// The largest error answer that is read.
const ERROR_LIMIT: usize = 64 << 10;
/// Items per page, GitHub's maximum.
const PER_PAGE: usize = 100;

const RAW: &str = "application/vnd.github.raw+json";

/// A client for one repository of a service.
#[derive(Debug, Clone)]
pub struct Forge {
    pub(super) service: &'static Service,
    octocrab: Octocrab,
    authorization: HeaderValue,
    /// A factor on every wait.
    pace: f64,
    /// Everything up to its own paths, with a slash at the end.
    root: String,
    /// `None` if there is none, or if it is on another host than the API, where the token must not be sent.
    graphql_url: Option<String>,
    /// What was read by the ids of commits, trees and blobs, which does not change: answers by their addresses, and trees.
    answers: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    pub(super) trees: Arc<Mutex<BTreeMap<String, Arc<Tree>>>>,
    /// Whose token this is, once that is known.
    pub(super) identity: Arc<Mutex<Option<Author>>>,
    /// Whether the token is an app's own, which writes as the app.
    pub(super) is_of_app: bool,
}

/// The forge of the action. What only GitHub has is written so.
pub type Github = Forge;

/// A request, and the limits of its answer.
pub(super) struct ApiCall<'a> {
    pub(super) service: &'static Service,
    pub(super) method: &'static str,
    pub(super) url: String,
    /// The path below the repository, for messages and for the permission that it needs.
    pub(super) path: &'a str,
    pub(super) accept: &'static str,
    pub(super) body: Option<&'a Value>,
    pub(super) limit: usize,
}

/// A try that failed, and how long to wait before the next; `None` where no other would help, or it might be carried out twice.
type FailedTry = (ForgeError, Option<Duration>);

impl Github {
    /// A client of the repository that the workflow runs for; sends nothing, and needs a runtime. `pace`, from 0 to 1, is a factor on
    /// every wait; 1 outside tests.
    pub fn new(of: &Environment, token: &Token, pace: f64) -> Result<Self, ForgeError> {
        let wrong = ForgeError::settings;
        let example = "an address such as https://api.github.com";
        let (origin, path) = split(&of.api_url).ok_or_else(|| wrong("GITHUB_API_URL", example))?;
        if !is_repository(&of.repository) {
            let example = "an owner and a name such as example/models";
            return Err(wrong("GITHUB_REPOSITORY", example));
        }
        if !token.is_sendable() {
            return Err(wrong("the input github-token", "a token of GitHub"));
        }
        let root = format!("{origin}{path}/repos/{}/", of.repository);
        let graphql = split(&of.graphql_url).filter(|(other, _)| *other == origin);
        Ok(Self {
            graphql_url: graphql.map(|(origin, path)| format!("{origin}{path}")),
            is_of_app: token.expose().starts_with("ghs_"),
            ..Self::at(&GITHUB, root, token, pace)?
        })
    }

    /// A client that reads another repository by the environment's token, which `variable` knows.
    pub fn reading(
        repository: &str,
        variable: &dyn Fn(&str) -> Option<String>,
        pace: f64,
    ) -> Result<Self, ForgeError> {
        let mut tokens = ["GH_TOKEN", "GITHUB_TOKEN", "INPUT_GITHUB-TOKEN"].into_iter();
        let token = tokens.find_map(variable);
        let token = token.ok_or_else(|| ForgeError::settings("GH_TOKEN", "set"))?;
        let api = variable("GITHUB_API_URL");
        let api = api.unwrap_or_else(|| "https://api.github.com".to_owned());
        let root = format!("{}/repos/{repository}/", api.trim_end_matches('/'));
        Self::at(&GITHUB, root, &Token::new(&token), pace)
    }

    /// A client of a service's API, of which `root` ends with a slash; sends nothing, and needs a runtime. It goes by the proxy that the
    /// environment names, as AWS's clients do: `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either spelling. Redirects are not
    /// followed, which could take a token to somebody else.
    pub(super) fn at(
        service: &'static Service,
        root: String,
        token: &Token,
        pace: f64,
    ) -> Result<Self, ForgeError> {
        let unusable = |why: String| service.not_reachable(&root, &why);
        let authorization = HeaderValue::try_from(format!("{}{}", service.token.1, token.expose()));
        let mut authorization =
            authorization.map_err(|_| unusable("the token cannot be sent".to_owned()))?;
        authorization.set_sensitive(true);
        let http = Client::builder().connect_timeout(CONNECT_TIMEOUT);
        let http = http.read_timeout(READ_TIMEOUT).timeout(TIMEOUT);
        let http = http.redirect(redirect::Policy::none()).build();
        let http = http.map_err(|error| unusable(causes(&error)))?;
        let octocrab = OctocrabBuilder::new()
            .add_header(USER_AGENT, OUR_NAME.to_owned())
            .build_with_reqwest(http)
            .map_err(|error| unusable(causes(&error)))?;
        Ok(Self {
            service,
            octocrab,
            authorization,
            pace: pace.clamp(0.0, 1.0),
            root,
            graphql_url: None,
            answers: Arc::default(),
            trees: Arc::default(),
            identity: Arc::default(),
            is_of_app: false,
        })
    }

    /// Reads JSON from a path below the repository, such as `pulls/7`.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        self.send_json("GET", path, None).await
    }

    /// Reads JSON, creates or changes something. What a POST creates may exist all the same after
    /// [`Unsure`](super::error::ForgeErrorKind::Unsure).
    pub async fn send_json<T: DeserializeOwned>(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, ForgeError> {
        let call = self.call(method, path, body);
        call.read(self.send(&call).await?.body())
    }

    /// Reads JSON from a path of objects' ids, whose answer does not change: once.
    pub(super) async fn get_fixed<T: DeserializeOwned>(&self, path: &str) -> Result<T, ForgeError> {
        let call = self.call("GET", path, None);
        call.read(&self.fixed(&call).await?)
    }

    /// Reads bytes from such a path, at most `limit` of them: once.
    pub(super) async fn get_raw(&self, path: &str, limit: usize) -> Result<Vec<u8>, ForgeError> {
        let call = ApiCall {
            accept: RAW,
            limit,
            ..self.call("GET", path, None)
        };
        self.fixed(&call).await
    }

    async fn fixed(&self, call: &ApiCall<'_>) -> Result<Vec<u8>, ForgeError> {
        let mut answers = self.answers.lock().await;
        if let Some(known) = answers.get(&call.url) {
            return Ok(known.clone());
        }
        let answer = self.send(call).await?.into_body();
        answers.insert(call.url.clone(), answer.clone());
        Ok(answer)
    }

    /// Visits the items of a list, page by page; one of more than so many pages of 100 is an error. A page's items are dropped before
    /// the next is read, so only what the visitor keeps stays in memory.
    pub async fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        most: usize,
        mut visit: impl FnMut(T),
    ) -> Result<(), ForgeError> {
        let sign = if path.contains('?') { '&' } else { '?' };
        let mut call = self.call("GET", path, None);
        let list = call.url.clone();
        for page in 1..=most {
            call.url = format!("{list}{sign}per_page={PER_PAGE}&page={page}");
            let answer = self.send(&call).await?;
            let items: Vec<T> = call.read(answer.body())?;
            // Whether there is a next page comes from the answer, but never its address. A short page need not be the last.
            let links = text_of(answer.headers(), "link");
            let has_next = links.is_some_and(|links| links.contains("rel=\"next\""));
            let is_last = items.len() < PER_PAGE && !has_next;
            items.into_iter().for_each(&mut visit);
            if is_last {
                return Ok(());
            }
        }
        let most = most * PER_PAGE;
        Err(self.service.too_large(&call.name(), most, "entries"))
    }

    /// Deletes something. [`NotFound`](super::error::ForgeErrorKind::NotFound) means that it does not exist, also if an earlier
    /// attempt of this call deleted it.
    pub async fn delete(&self, path: &str) -> Result<(), ForgeError> {
        let call = self.call("DELETE", path, None);
        self.send(&call).await.map(|_| ())
    }

    /// Sends a GraphQL query, or a mutation that may be carried out twice: it is repeated like a reading request.
    pub async fn graphql<T: DeserializeOwned>(
        &self,
        query: &str,
        variables: &Value,
    ) -> Result<T, ForgeError> {
        let Some(url) = &self.graphql_url else {
            let expected = "an address on the host of GITHUB_API_URL";
            return Err(ForgeError::settings("GITHUB_GRAPHQL_URL", expected));
        };
        let body = json!({"query": query, "variables": variables});
        let call = ApiCall {
            url: url.clone(),
            ..self.call("POST", "graphql", Some(&body))
        };
        let answer = self.send(&call).await?;
        let mut answer: Value = call.read(answer.body())?;
        let error = &answer["errors"][0];
        if !error.is_null() {
            let message = line(error["message"].as_str().unwrap_or_default());
            return Err(call.service.unprocessable(&call.name(), &message));
        }
        let data = answer.get_mut("data").map(Value::take);
        let data = data.filter(|data| !data.is_null());
        let data = data.ok_or_else(|| serde::de::Error::custom("neither data nor errors"));
        let read = data.and_then(serde_json::from_value);
        read.map_err(|error| call.malformed(&error))
    }

    pub(super) fn call<'a>(
        &self,
        method: &'static str,
        path: &'a str,
        body: Option<&'a Value>,
    ) -> ApiCall<'a> {
        ApiCall {
            service: self.service,
            method,
            url: format!("{}{path}", self.root),
            path,
            accept: self.service.accept,
            body,
            limit: JSON_LIMIT,
        }
    }

    pub(super) async fn wait(&self, wait: Duration) {
        tokio::time::sleep(wait.mul_f64(self.pace)).await;
    }

    /// The answer, or the last failure.
    pub(super) async fn send(&self, call: &ApiCall<'_>) -> Result<Response<Vec<u8>>, ForgeError> {
        let mut tried = 1;
        loop {
            match self.once(call, tried).await {
                Ok(answer) => return Ok(answer),
                Err((_, Some(wait))) if tried < TRIES => self.wait(wait).await,
                Err((error, _)) => return Err(error),
            }
            tried += 1;
        }
    }

    async fn once(&self, call: &ApiCall<'_>, tried: u32) -> Result<Response<Vec<u8>>, FailedTry> {
        let broken = |error: &(dyn Error + 'static)| call.broken(tried, &cause(error));
        // octocrab names the version of the API.
        let request = Request::builder()
            .method(call.method)
            .uri(&call.url)
            .header(ACCEPT, call.accept)
            .header(self.service.token.0, &self.authorization);
        let request = self.octocrab.build_request(request, call.body);
        let request = request.map_err(|error| broken(&error))?;
        let response = self.octocrab.execute(request).await;
        let (parts, body) = response.map_err(|error| broken(&error))?.into_parts();
        let is_success = parts.status.is_success();
        let limit = if is_success { call.limit } else { ERROR_LIMIT };
        let body = match Limited::new(body, limit).collect().await {
            Ok(body) => body.to_bytes().to_vec(),
            // The status of an error is enough.
            Err(_) if !is_success => Vec::new(),
            Err(error) if error.is::<LengthLimitError>() => {
                let error = call.service.too_large(&call.name(), limit, "bytes");
                return Err((call.unread(error), None));
            }
            Err(error) => return Err(broken(&*error)),
        };
        if is_success {
            return Ok(Response::from_parts(parts, body));
        }
        let status = parts.status.as_u16();
        Err(call.refused(tried, &refusal(status, &parts.headers, &body)))
    }
}

impl ApiCall<'_> {
    fn name(&self) -> String {
        line(&format!("{} {}", self.method, self.path))
    }

    /// Whether it may be repeated even if it was carried out: of equal checks of a commit the last counts.
    fn is_repeatable(&self) -> bool {
        let (room, _) = self.path.split_once('/').unwrap_or((self.path, ""));
        self.method != "POST" || ["graphql", "statuses", "check-runs"].contains(&room)
    }

    fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, ForgeError> {
        serde_json::from_slice(body).map_err(|error| self.malformed(&error))
    }

    fn malformed(&self, error: &serde_json::Error) -> ForgeError {
        self.unread(self.service.malformed(&self.name(), &error.to_string()))
    }

    /// The error of an answer that cannot be read; the request was carried out all the same.
    fn unread(&self, error: ForgeError) -> ForgeError {
        match self.is_repeatable() {
            true => error,
            false => self.service.unsure(&self.name(), &error.to_string()),
        }
    }

    /// The failure of a try that got no answer, or an incomplete one.
    fn broken(&self, tried: u32, reason: &str) -> FailedTry {
        if !self.is_repeatable() {
            return (self.service.unsure(&self.name(), reason), None);
        }
        let error = self.service.not_reachable(&self.name(), reason);
        (error, Some(backoff(tried)))
    }

    fn refused(&self, tried: u32, refusal: &Refusal) -> FailedTry {
        if refusal.is_server_trouble() && !self.is_repeatable() {
            return self.broken(tried, &format!("the answer was {}", refusal.status));
        }
        let error = self.service.refused(self.method, self.path, refusal, tried);
        (error, refusal.wait(tried))
    }
}

/// The causes below reqwest's own words, which hold the whole address.
fn cause(error: &(dyn Error + 'static)) -> String {
    let mut chain = std::iter::successors(Some(error), |error| (*error).source());
    let of_reqwest = chain.find(|error| error.is::<reqwest::Error>());
    let cause = of_reqwest.and_then(|error| error.source());
    causes(cause.unwrap_or(error))
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn refusal(status: u16, headers: &HeaderMap, body: &[u8]) -> Refusal {
    let text = |name: &str| text_of(headers, name);
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let reset = || Timestamp::from_second(number("x-ratelimit-reset")?.try_into().ok()?).ok();
    let date = || DateTimeParser::new().parse_timestamp(text("date")?).ok();
    Refusal {
        status,
        message: message(body),
        retry_after: number("retry-after"),
        remaining: number("x-ratelimit-remaining"),
        reset: reset(),
        date: date(),
    }
}
