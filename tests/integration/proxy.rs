//! One rule for proxies: GitHub and AWS are both reached by the proxy that the environment names, and by none where it says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, Response, StatusCode};

use crate::action::sagemaker::on_sagemaker;
use crate::action::workflow::{ENOUGH, Workflow, spec};
use crate::fake::Server;

/// How many requests went through, by the address that they were for.
type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

/// A proxy that counts. It opens no tunnel.
struct Proxy {
    server: Server,
    counts: Counts,
}

impl Proxy {
    fn start() -> Self {
        let counts = Counts::default();
        let router = Router::new()
            .fallback(forward)
            .with_state(Arc::clone(&counts));
        Self {
            server: Server::start(router),
            counts,
        }
    }

    fn address(&self) -> &str {
        self.server.address()
    }

    fn count(&self, address: &str) -> usize {
        let counts = self.counts.lock().unwrap();
        let address = address.trim_start_matches("http://").split('/').next();
        counts.get(address.unwrap()).copied().unwrap_or(0)
    }

    fn total(&self) -> usize {
        self.counts.lock().unwrap().values().sum()
    }
}

async fn forward(State(counts): State<Counts>, request: Request) -> Response<Body> {
    let target = request.uri().authority().map(ToString::to_string);
    let target = target.unwrap_or_default();
    *counts.lock().unwrap().entry(target).or_default() += 1;
    let answer = |status| Response::builder().status(status);
    if request.method() == Method::CONNECT {
        return answer(StatusCode::BAD_GATEWAY).body(Body::empty()).unwrap();
    }
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let sent = client
        .request(parts.method, parts.uri.to_string())
        .headers(parts.headers)
        .body(body)
        .send()
        .await
        .unwrap();
    let mut answer = answer(sent.status());
    *answer.headers_mut().unwrap() = sent.headers().clone();
    answer
        .body(Body::from(sent.bytes().await.unwrap()))
        .unwrap()
}

#[test]
fn github_and_aws_are_asked_through_the_proxy_in_either_spelling() {
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        let proxy = Proxy::start();
        let (workflow, aws) = on_sagemaker();
        let workflow = workflow.variable(name, proxy.address());
        workflow
            .run_with(|command| aws.reach(command))
            .ended_with(0);
        let of_github = proxy.count(&workflow.github.api_url());
        assert_eq!(of_github, workflow.github.requests().len(), "{name}");
        let of_aws = proxy.total() - of_github;
        assert_eq!(of_aws, usize::try_from(aws.all_calls()).unwrap(), "{name}");
        assert!(of_github > 0 && of_aws > 0, "{name}");
    }
}

#[test]
fn a_host_that_no_proxy_names_is_asked_directly() {
    for name in ["NO_PROXY", "no_proxy"] {
        let proxy = Proxy::start();
        let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH))
            .variable("ALL_PROXY", proxy.address())
            .variable(name, "example.com,127.0.0.1");
        workflow.run().ended_with(0);
        assert_eq!(proxy.total(), 0, "{name}");
        assert!(!workflow.github.requests().is_empty());
    }
}

#[test]
fn what_is_encrypted_goes_through_a_tunnel_of_the_proxy() {
    for name in ["HTTPS_PROXY", "https_proxy"] {
        let proxy = Proxy::start();
        let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH))
            .variable(name, proxy.address())
            .variable("GITHUB_API_URL", "https://github.example.com/api/v3");
        let step = workflow.run().ended_with(14);
        assert!(proxy.count("github.example.com:443") > 0, "{name}");
        assert_eq!(workflow.github.requests(), []);
        assert!(
            step.summary.contains("could not be reached"),
            "{}",
            step.summary
        );
    }
}
