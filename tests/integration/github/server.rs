//! The HTTP port: reads a request, lets it fail where a test says so, else answers, and writes both down.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State as Extracted;
use axum::http::{HeaderMap, Request, Response};
use serde_json::{Value, json};

use super::answers::{Answer, failure};
use super::fault::Fault;
use super::state::{Core, Said};
use super::{TOKEN, routes};

/// Every request to the fake.
pub(super) fn router(core: Arc<Core>) -> Router {
    Router::new().fallback(answer).with_state(core)
}

async fn answer(Extracted(core): Extracted<Arc<Core>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let whole = parts
        .uri
        .path_and_query()
        .map_or("/", |path_and_query| path_and_query.as_str());
    let place = match whole.strip_prefix(core.api_path) {
        _ if whole == core.graphql_path => "/graphql",
        Some(below) if below.starts_with('/') => below,
        _ => return Answer::json(404, &json!({"message": "Not here"})).into_response(),
    };
    let said = Said {
        method: parts.method.to_string(),
        path: place.to_owned(),
        headers: headers_that_matter(&parts.headers),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    let host = parts
        .headers
        .get("host")
        .and_then(|host| host.to_str().ok());
    let origin = format!("http://{}", host.unwrap_or("127.0.0.1"));
    let (fault, answer) = {
        let mut state = core.state();
        state.requests.push(said.clone());
        let fault = state.fault(&said.method, &said.path);
        let here = format!("{origin}{}", core.api_path);
        let usual = match &fault {
            Some(fault) if !fault.is_carried_out() => None,
            _ if !is_let_in(&parts.headers) => Some(failure(401, "Bad credentials")),
            _ => Some(routes::answer(&mut state, &origin, &here, &said)),
        };
        let now = jiff::Timestamp::now().as_second();
        let answer = match (&fault, usual) {
            (Some(fault), _) => fault.answer(now),
            (None, usual) => usual.expect("a request without a fault is answered"),
        };
        (fault, answer)
    };
    write_down(&core, &said, fault.as_ref(), &answer);
    if fault.is_some_and(|fault| fault.is_silent()) {
        // Ends the task of this connection without a word.
        std::panic::resume_unwind(Box::new("the fake hangs up"))
    }
    answer.into_response()
}

fn is_let_in(headers: &HeaderMap) -> bool {
    let mut tokens = headers.get_all("authorization").iter();
    let expected = format!("Bearer {TOKEN}");
    tokens
        .next()
        .is_some_and(|token| token == expected.as_str())
        && tokens.next().is_none()
}

fn headers_that_matter(headers: &HeaderMap) -> BTreeMap<String, String> {
    const MATTER: [&str; 4] = [
        "accept",
        "content-type",
        "user-agent",
        "x-github-api-version",
    ];
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
    let present = MATTER
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), text(name)?)));
    present.collect()
}

fn write_down(core: &Core, said: &Said, fault: Option<&Fault>, answer: &Answer) {
    if matches!(fault, Some(Fault::Text(_))) {
        return;
    }
    let request = json!({
        "method": said.method,
        "path": said.path,
        "headers": said.headers,
        "body": said.body,
    });
    let answer = match fault {
        Some(fault) if fault.is_silent() => Value::Null,
        _ => json!({
            "status": answer.status,
            "headers": answer.headers.iter().cloned().collect::<BTreeMap<_, _>>(),
            "body": String::from_utf8_lossy(&answer.body),
        }),
    };
    let exchange = json!({"request": request, "answer": answer});
    core.exchanges.write(&exchange);
}
