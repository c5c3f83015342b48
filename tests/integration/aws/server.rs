//! The one HTTP port: which service a request is for, and how that service writes answers and errors.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use serde_json::{Value, json};

use super::fault::{Fault, Refusal};
use super::operation::Operation;
use super::prices::OfferFile;
use super::{Core, cbor, cloudwatch, logs, prices, quotas, sagemaker, sessions};

/// How a service writes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Protocol {
    Json,
    Cbor,
    Query,
    S3,
}

/// A request that was read.
struct Call {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

impl Call {
    /// Whether its address or its body holds a text.
    fn says(&self, text: &str) -> bool {
        let address = self.uri.to_string();
        address.contains(text) || String::from_utf8_lossy(&self.body).contains(text)
    }
}

/// Every request to the fake.
pub(super) fn router(core: Arc<Core>) -> Router {
    Router::new().fallback(answer).with_state(core)
}

async fn answer(State(core): State<Arc<Core>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let call = Call {
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
        body,
    };
    if call.uri.path().starts_with("/offers/") {
        return offer_file(&core, call.uri.path());
    }
    let (protocol, operation) = recognized(&call);
    let input = read(protocol, &call.body);
    if let (Some(operation), Some(input)) = (operation, &input) {
        core.exchanges.input(operation, input);
    }
    let fault = core.count(operation, |text| call.says(text));
    if let Some(Fault::Dropped) = fault {
        hang_up();
    }
    if let Some(Fault::Silent) = fault {
        std::future::pending::<()>().await;
    }
    let signed = call.headers.get("authorization");
    let signed = signed.and_then(|value| value.to_str().ok());
    let ended = signed
        .zip(operation)
        .and_then(|(signed, operation)| core.state().sessions.refusal(signed, operation));
    let refusal = fault
        .as_ref()
        .zip(operation)
        .and_then(|(fault, operation)| fault.refusal(operation))
        .or(ended);
    let response = match (refusal, &fault) {
        (Some(refusal), _) => refused(protocol, &refusal),
        (None, Some(Fault::Page(status))) => {
            let page = "<html><body>Bad Gateway</body></html>";
            written(*status, "text/html", page)
        }
        _ if protocol == Protocol::S3 => s3(&core, call).await,
        _ => match operation.zip(input) {
            Some((operation, input)) => done(&core, protocol, operation, &input),
            None => {
                let message = "the fake does not know the operation, or cannot read its body";
                refused(
                    protocol,
                    &Refusal::new("UnknownOperationException", message),
                )
            }
        },
    };
    if let Some(Fault::AnswerLost) = fault {
        hang_up();
    }
    response
}

/// What AWS publishes of its prices, which nobody signs for.
fn offer_file(core: &Core, path: &str) -> Response<Body> {
    let state = core.state();
    let (status, mut text) = prices::offer_file(&state, path);
    match &state.offer_file {
        OfferFile::Sound => {}
        OfferFile::Cut => text.truncate(text.len() / 2),
        OfferFile::Edited(edits) => {
            for (from, to) in edits {
                assert!(text.contains(from), "{from} in {text}");
                text = text.replace(from, to);
            }
        }
        OfferFile::Bytes(bytes) => {
            let mut response = written(status, "application/json", endless());
            response
                .headers_mut()
                .insert("content-length", (*bytes).into());
            return response;
        }
        OfferFile::Silent => return written(status, "application/json", endless()),
    }
    written(status, "application/json", text)
}

/// A body whose first byte never comes.
fn endless() -> Body {
    let nothing = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
    Body::from_stream(nothing)
}

/// Ends the task of this connection without a word: no answer is sent, and no panic message printed.
fn hang_up() -> ! {
    std::panic::resume_unwind(Box::new("the fake hangs up"))
}

fn recognized(call: &Call) -> (Protocol, Option<Operation>) {
    let last = |text: &str, separator: char| {
        let name = text.rsplit(separator).next().unwrap_or_default();
        Operation::named(name)
    };
    if let Some(target) = call.headers.get("x-amz-target") {
        let target = target.to_str().unwrap_or_default();
        return (Protocol::Json, last(target, '.'));
    }
    if call.uri.path().starts_with("/service/") {
        let speaks = call.headers.get("smithy-protocol");
        let operation = speaks.filter(|name| *name == "rpc-v2-cbor");
        return (
            Protocol::Cbor,
            operation.and_then(|_| last(call.uri.path(), '/')),
        );
    }
    if call.body.starts_with(b"Action=") {
        let body = String::from_utf8_lossy(&call.body);
        let first = body.split('&').next().unwrap_or_default();
        return (Protocol::Query, last(first, '='));
    }
    let operation = Operation::of_s3(&call.method, &call.uri, &call.headers);
    (Protocol::S3, operation)
}

/// The request's body, keys as on the wire; `None` of S3, and where it cannot be read.
fn read(protocol: Protocol, body: &Bytes) -> Option<Value> {
    match protocol {
        Protocol::Json => serde_json::from_slice(body).ok(),
        Protocol::Cbor => cbor::decode(body).ok(),
        Protocol::Query => Some(sessions::parameters(body)),
        Protocol::S3 => None,
    }
}

/// Does what is asked.
fn done(core: &Core, protocol: Protocol, operation: Operation, input: &Value) -> Response<Body> {
    let output = match operation.service() {
        "sagemaker" => sagemaker::answer(core, operation, input),
        "cloudwatch" => cloudwatch::answer(&core.state(), input),
        "logs" => logs::answer(&mut core.state(), operation, input),
        "pricing" => prices::answer(&core.state(), input),
        "service-quotas" => quotas::answer(&core.state(), operation, input),
        _ => sessions::answer(core, operation, input),
    };
    match output {
        Ok(output) => {
            core.exchanges.output(operation, &output);
            given(protocol, operation, &output)
        }
        Err(refusal) => refused(protocol, &refusal),
    }
}

fn given(protocol: Protocol, operation: Operation, output: &Value) -> Response<Body> {
    match protocol {
        Protocol::Cbor => {
            let mut response = written(200, "application/cbor", cbor::encode(output));
            mark_as_cbor(&mut response);
            response
        }
        Protocol::Query => written(200, "text/xml", sessions::xml(operation, output)),
        _ if output.is_null() => written(200, "application/x-amz-json-1.1", ""),
        _ => written(200, "application/x-amz-json-1.1", output.to_string()),
    }
}

fn refused(protocol: Protocol, refusal: &Refusal) -> Response<Body> {
    let Refusal {
        status,
        code,
        message,
    } = refusal;
    let (said_code, said_message) = (escaped(code), escaped(message));
    match protocol {
        Protocol::Json => {
            let body = json!({"__type": code, "message": message});
            written(*status, "application/x-amz-json-1.1", body.to_string())
        }
        Protocol::Cbor => {
            let kind = format!("com.amazonaws.cloudwatch#{code}");
            let body = cbor::encode(&json!({"__type": kind, "message": message}));
            let mut response = written(*status, "application/cbor", body);
            mark_as_cbor(&mut response);
            response
        }
        Protocol::Query => written(
            *status,
            "text/xml",
            format!(
                "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>\
                 <Code>{said_code}</Code><Message>{said_message}</Message></Error><RequestId>1</RequestId></ErrorResponse>"
            ),
        ),
        Protocol::S3 => written(
            *status,
            "application/xml",
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{said_code}</Code>\
                 <Message>{said_message}</Message><RequestId>1</RequestId></Error>"
            ),
        ),
    }
}

fn mark_as_cbor(response: &mut Response<Body>) {
    let value = "rpc-v2-cbor".parse().expect("a header's text");
    response.headers_mut().insert("smithy-protocol", value);
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn written(status: u16, content_type: &str, body: impl Into<Body>) -> Response<Body> {
    Response::builder()
        .status(StatusCode::from_u16(status).expect("a test names a real status"))
        .header("content-type", content_type)
        .header("x-amzn-requestid", "00000000-0000-0000-0000-000000000000")
        .body(body.into())
        .expect("the header texts are fixed")
}

async fn s3(core: &Core, call: Call) -> Response<Body> {
    if let Some(region) = core.s3.other_region(&call.method, &call.uri, &call.headers) {
        let refusal = Refusal {
            status: 301,
            code: "PermanentRedirect".to_owned(),
            message: "The bucket you are attempting to access must be addressed using the specified endpoint. Please \
                      send all future requests to this endpoint."
                .to_owned(),
        };
        return in_region(refused(Protocol::S3, &refusal), &region);
    }
    let region = core.s3.region(&call.uri);
    let is_bucket = call.method == Method::HEAD || call.method == Method::GET;
    let mut request = Request::new(s3s::Body::from(call.body));
    *request.method_mut() = call.method;
    *request.uri_mut() = call.uri;
    *request.headers_mut() = call.headers;
    let response = match core.s3_service.call(request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => written(500, "text/plain", format!("{error:?}")),
    };
    match region {
        Some(region) if is_bucket => in_region(response, &region),
        _ => response,
    }
}

fn in_region(mut response: Response<Body>, region: &str) -> Response<Body> {
    let value = region.parse().expect("a region is a header's text");
    response.headers_mut().insert("x-amz-bucket-region", value);
    response
}
