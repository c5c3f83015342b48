//! The client: one repository, one token, every call retried or told.
//!
//! Whatever comes back is bounded: the size of an answer, the number of pages, the waits. Redirects are not followed, so
//! that the token goes nowhere else. A request that reads, changes or deletes is tried again when GitHub has trouble; one
//! that creates is not, for it may have been carried out all the same ([`GithubError::Unsure`]).

use std::fmt;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use jiff::Timestamp;
use octocrab::{Octocrab, OctocrabBuilder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::address::{is_repository, split};
use super::error::{GithubError, Permission};
use super::line::{causes, line, message};
use super::retry::{Refusal, TRIES, backoff};
use super::token::Token;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two pieces of an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// For a request and its whole answer.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The largest JSON answer that is read: GitHub's own largest, a recursive tree and a page of files with their patches,
/// stay well below.
const JSON_LIMIT: usize = 64 << 20;
/// The largest error that is read.
const ERROR_LIMIT: usize = 64 << 10;
/// Items on a page, the most that GitHub gives.
const PER_PAGE: usize = 100;

const JSON: &str = "application/vnd.github+json";
const RAW: &str = "application/vnd.github.raw+json";

/// Where GitHub is, and who asks about which repository.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    /// `GITHUB_API_URL`, such as `https://api.github.com` or `https://ghe.example.com/api/v3`.
    pub api_url: &'a str,
    /// `GITHUB_GRAPHQL_URL`.
    pub graphql_url: &'a str,
    /// `GITHUB_REPOSITORY`, such as `example/models`.
    pub repository: &'a str,
    pub token: &'a Token,
    /// What every wait is multiplied by, from 0 to 1: 1, but in tests.
    pub pace: f64,
}

/// A client for one repository.
#[derive(Clone)]
pub struct Github {
    octocrab: Octocrab,
    authorization: HeaderValue,
    /// Everything up to the repository's own paths, with a slash at the end.
    repository_url: String,
    /// None when it is not on the API's own host, where the token would have to leave.
    graphql_url: Option<String>,
    pace: f64,
}

impl fmt::Debug for Github {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.repository_url;
        formatter.debug_tuple("Github").field(url).finish()
    }
}

/// Whether a list was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListExtent {
    Whole,
    /// There are more pages than were asked for.
    Cut,
}

/// A request, and what is known of its answer beforehand.
struct ApiCall<'a> {
    method: Method,
    url: String,
    /// For messages, and for the permission that it needs: its path below the repository.
    path: &'a str,
    accept: &'static str,
    body: Option<&'a Value>,
    limit: usize,
}

/// An answer of success.
struct ApiResponse {
    headers: HeaderMap,
    body: Vec<u8>,
}

/// Why a try did not succeed.
enum FailedTry {
    Refused(Refusal),
    /// No answer, or not a whole one.
    Broken(String),
    Final(GithubError),
}

impl Github {
    /// A client; nothing is sent yet. Its connections live on the runtime that this runs on, hence the `async`.
    pub async fn new(settings: Settings<'_>) -> Result<Self, GithubError> {
        let wrong = |what, expected| GithubError::Settings { what, expected };
        let (origin, path) = split(settings.api_url).ok_or_else(|| {
            wrong(
                "GITHUB_API_URL",
                "an address such as https://api.github.com",
            )
        })?;
        if !is_repository(settings.repository) {
            return Err(wrong(
                "GITHUB_REPOSITORY",
                "an owner and a name such as example/models",
            ));
        }
        let header = format!("Bearer {}", settings.token.expose());
        let authorization = settings
            .token
            .is_sendable()
            .then(|| HeaderValue::try_from(header));
        let Some(Ok(mut authorization)) = authorization else {
            return Err(wrong("the input github-token", "a token of GitHub"));
        };
        authorization.set_sensitive(true);
        let octocrab = OctocrabBuilder::new()
            .set_connect_timeout(Some(CONNECT_TIMEOUT))
            .set_read_timeout(Some(READ_TIMEOUT))
            .build()
            .map_err(|error| GithubError::NotReachable {
                request: settings.api_url.to_owned(),
                reason: causes(&error),
            })?;
        let graphql = split(settings.graphql_url).filter(|(other, _)| *other == origin);
        Ok(Self {
            octocrab,
            authorization,
            repository_url: format!("{origin}{path}/repos/{}/", settings.repository),
            graphql_url: graphql.map(|(origin, path)| format!("{origin}{path}")),
            pace: settings.pace.clamp(0.0, 1.0),
        })
    }

    /// Reads JSON from a path below the repository, such as `pulls/7`.
    pub async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, GithubError> {
        let call = self.call(Method::GET, path, None);
        let answer = self.send(&call).await?;
        read(&call, &answer.body)
    }

    /// Reads a file's bytes, at most `limit` of them.
    pub async fn get_raw(&self, path: &str, limit: usize) -> Result<Vec<u8>, GithubError> {
        let call = ApiCall {
            accept: RAW,
            limit,
            ..self.call(Method::GET, path, None)
        };
        Ok(self.send(&call).await?.body)
    }

    /// Visits the items of a list, page by page and at most so many pages of 100. A page's items are gone before the next
    /// is read, so what is kept is the visitor's choice.
    pub async fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        most: usize,
        mut visit: impl FnMut(T),
    ) -> Result<ListExtent, GithubError> {
        let sign = if path.contains('?') { '&' } else { '?' };
        for page in 1..=most {
            let mut call = self.call(Method::GET, path, None);
            call.url = format!("{}{sign}per_page={PER_PAGE}&page={page}", call.url);
            let answer = self.send(&call).await?;
            let items: Vec<T> = read(&call, &answer.body)?;
            // Only whether there is a next page is taken from the answer, never where. A page may be short, and yet not the last.
            let is_last = items.len() < PER_PAGE && !has_next(&answer.headers);
            items.into_iter().for_each(&mut visit);
            if is_last {
                return Ok(ListExtent::Whole);
            }
        }
        Ok(ListExtent::Cut)
    }

    /// Creates. An error that is [`GithubError::Unsure`] may come although it was done.
    pub async fn post_json<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, GithubError> {
        let call = self.call(Method::POST, path, Some(body));
        let answer = self.send(&call).await;
        // What cannot be read was carried out nonetheless.
        answer
            .and_then(|answer| read(&call, &answer.body))
            .map_err(|error| match error {
                GithubError::Malformed { .. } | GithubError::TooLarge { .. } => {
                    GithubError::Unsure {
                        request: call.name(),
                        reason: error.to_string(),
                    }
                }
                error => error,
            })
    }

    /// Changes what is there.
    pub async fn patch_json<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, GithubError> {
        let call = self.call(Method::PATCH, path, Some(body));
        let answer = self.send(&call).await?;
        read(&call, &answer.body)
    }

    /// Deletes. What is gone already is [`GithubError::NotFound`], also when an earlier try of this very call did it.
    pub async fn delete(&self, path: &str) -> Result<(), GithubError> {
        let call = self.call(Method::DELETE, path, None);
        self.send(&call).await.map(|_| ())
    }

    /// Asks by GraphQL; the query only reads, so it is tried again like any other reading.
    pub async fn graphql<T: DeserializeOwned>(&self, query: &str) -> Result<T, GithubError> {
        let Some(url) = &self.graphql_url else {
            let (what, expected) = (
                "GITHUB_GRAPHQL_URL",
                "an address on the host of GITHUB_API_URL",
            );
            return Err(GithubError::Settings { what, expected });
        };
        let body = json!({"query": query});
        let call = ApiCall {
            url: url.clone(),
            ..self.call(Method::POST, "graphql", Some(&body))
        };
        let answer = self.send(&call).await?;
        let told: GraphqlAnswer<T> = read(&call, &answer.body)?;
        match (told.data, told.errors.first()) {
            (Some(data), None) => Ok(data),
            (_, Some(error)) => Err(GithubError::Unprocessable {
                request: call.name(),
                message: line(&error.message),
            }),
            (None, None) => Err(call.malformed("it has neither data nor errors")),
        }
    }

    /// Waits before something is tried again by the caller, who has tried so many times.
    pub(super) async fn pause(&self, tried: usize) {
        let tried = u32::try_from(tried).unwrap_or(u32::MAX);
        tokio::time::sleep(backoff(tried).mul_f64(self.pace)).await;
    }

    fn call<'a>(&self, method: Method, path: &'a str, body: Option<&'a Value>) -> ApiCall<'a> {
        ApiCall {
            method,
            url: format!("{}{path}", self.repository_url),
            path,
            accept: JSON,
            body,
            limit: JSON_LIMIT,
        }
    }

    async fn send(&self, call: &ApiCall<'_>) -> Result<ApiResponse, GithubError> {
        let mut tried = 1;
        loop {
            let failure = match tokio::time::timeout(TIMEOUT, self.once(call)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failure)) => failure,
                Err(_) => {
                    FailedTry::Broken(format!("no whole answer within {} s", TIMEOUT.as_secs()))
                }
            };
            let wait = match &failure {
                FailedTry::Final(_) => None,
                FailedTry::Broken(_) => call.is_repeatable().then(|| backoff(tried)),
                FailedTry::Refused(refusal) if call.is_repeatable() || refusal.is_rate_limit() => {
                    refusal.wait(tried)
                }
                FailedTry::Refused(_) => None,
            };
            let Some(wait) = wait.filter(|_| tried < TRIES) else {
                return Err(call.error(failure, tried));
            };
            tokio::time::sleep(wait.mul_f64(self.pace)).await;
            tried += 1;
        }
    }

    async fn once(&self, call: &ApiCall<'_>) -> Result<ApiResponse, FailedTry> {
        let url = Uri::try_from(call.url.as_str());
        let url = url.map_err(|_| FailedTry::Final(call.malformed("its address is not one")))?;
        let builder = Request::builder()
            .method(call.method.clone())
            .uri(url)
            .header(ACCEPT, call.accept)
            .header(AUTHORIZATION, self.authorization.clone());
        let broken = |error: octocrab::Error| FailedTry::Broken(causes(&error));
        let request = self
            .octocrab
            .build_request(builder, call.body)
            .map_err(broken)?;
        let response = self.octocrab.send(request).await.map_err(broken)?;
        let is_success = response.status().is_success();
        let status = response.status().as_u16();
        let limit = if is_success { call.limit } else { ERROR_LIMIT };
        let (parts, body) = Response::into_parts(response);
        let body = match Limited::new(body, limit).collect().await {
            Ok(body) => body.to_bytes().to_vec(),
            // Of an error its status is enough.
            Err(_) if !is_success => Vec::new(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Err(FailedTry::Final(GithubError::TooLarge {
                    request: call.name(),
                    limit,
                    unit: "bytes",
                }));
            }
            Err(error) => return Err(FailedTry::Broken(causes(error.as_ref()))),
        };
        match is_success {
            true => Ok(ApiResponse {
                headers: parts.headers,
                body,
            }),
            false => Err(FailedTry::Refused(refusal(status, &parts.headers, &body))),
        }
    }
}

impl ApiCall<'_> {
    fn name(&self) -> String {
        line(&format!("{} {}", self.method, self.path))
    }

    /// Whether it may be sent again although it may have been carried out.
    fn is_repeatable(&self) -> bool {
        self.method != Method::POST || self.path == "graphql"
    }

    fn malformed(&self, reason: &str) -> GithubError {
        GithubError::Malformed {
            request: self.name(),
            reason: line(reason),
        }
    }

    fn error(&self, failure: FailedTry, tries: u32) -> GithubError {
        let request = self.name();
        let refusal = match failure {
            FailedTry::Final(error) => return error,
            FailedTry::Broken(reason) if self.is_repeatable() => {
                return GithubError::NotReachable { request, reason };
            }
            FailedTry::Broken(reason) => return GithubError::Unsure { request, reason },
            FailedTry::Refused(refusal) => refusal,
        };
        if refusal.is_server_trouble() && !self.is_repeatable() {
            let reason = format!("the answer was {}", refusal.status);
            return GithubError::Unsure { request, reason };
        }
        let needed = Permission::needed(self.method.as_str(), self.path);
        GithubError::refused(request, refusal, needed, tries)
    }
}

#[derive(Deserialize)]
struct GraphqlAnswer<T> {
    data: Option<T>,
    #[serde(default = "Vec::new")]
    errors: Vec<GraphqlMessage>,
}

#[derive(Deserialize)]
struct GraphqlMessage {
    message: String,
}

fn read<T: DeserializeOwned>(call: &ApiCall<'_>, body: &[u8]) -> Result<T, GithubError> {
    serde_json::from_slice(body).map_err(|error| call.malformed(&error.to_string()))
}

fn refusal(status: u16, headers: &HeaderMap, body: &[u8]) -> Refusal {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let reset = || Timestamp::from_second(number("x-ratelimit-reset")?.try_into().ok()?).ok();
    let date = || {
        jiff::fmt::rfc2822::DateTimeParser::new()
            .parse_timestamp(text("date")?)
            .ok()
    };
    Refusal {
        status,
        message: message(body),
        retry_after: number("retry-after"),
        remaining: number("x-ratelimit-remaining"),
        reset: reset(),
        date: date(),
    }
}

fn has_next(headers: &HeaderMap) -> bool {
    let links = headers.get("link").and_then(|links| links.to_str().ok());
    links.is_some_and(|links| links.contains("rel=\"next\""))
}
