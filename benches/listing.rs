//! What it takes to list a million objects on S3 and to plan canaries over them: time and peak memory, with those of
//! `aws s3 ls --recursive` beside them where `aws` is on PATH.
//!
//! `cargo bench --bench listing` starts itself three times: a responder that makes up pages of keys, a lister that measures
//! itself, and the orchestra. A page takes 60 ms. The aim: 10 s and 250 MB in all. It asserts nothing. `LISTING_OBJECTS` changes the
//! number, `LISTING_KEYS=random` makes keys of which little is alike, `LISTING_KEYS=flat` numbered ones in one folder.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench starts processes, reads the clock and /proc"
)]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use axum::extract::{RawQuery, State};
use canary_gate::aws::Aws;
use canary_gate::backend::sagemaker::listing;
use canary_gate::canary::{ChannelData, Dataset};
use canary_gate::instance::Offer;
use canary_gate::plan::{self, Alternatives, KnownBefore, PlannedRuns};
use canary_gate::spec;

const OBJECTS: usize = 1_000_000;
const PAGE: usize = 1000;
const MONTHS: usize = 12;
/// Of every page, as the round trip and S3's own time are.
const DELAY: Duration = Duration::from_millis(60);

const SPEC: &str = "
version: 1
backend: sagemaker
region: us-east-1
jobs:
  churn:
    training:
      image: 683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1
      role: arn:aws:iam::123456789012:role/SageMakerTraining
      channels: {train: {uri: 's3://bucket/train/'}}
      output: s3://bucket/output/
    instance: ml.m5.2xlarge
    alternatives: [ml.c5.4xlarge, ml.m5.4xlarge]
    canary: {design: fixed, fractions: [1%, 2%, 3%, 5%, 10%, 20%, 50%]}
";

fn main() {
    match env::var("LISTING_ROLE").as_deref() {
        Ok("responder") => respond(),
        Ok(_) => list(),
        Err(_) => compare(),
    }
}

fn objects() -> usize {
    let asked = env::var("LISTING_OBJECTS").ok();
    asked.map_or(OBJECTS, |asked| asked.parse().expect("a number"))
}

/// Ends a process it started, however this one ends.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn compare() {
    let this = env::current_exe().expect("this program has a path");
    let mut responder = Started(
        Command::new(&this)
            .env("LISTING_ROLE", "responder")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts"),
    );
    let mut endpoint = String::new();
    let said = responder.0.stdout.take().expect("it is piped");
    BufReader::new(said)
        .read_line(&mut endpoint)
        .expect("the responder says where it is");
    println!("{} objects on {}", objects(), endpoint.trim());
    let with_endpoint = |mut command: Command| {
        command
            .env("AWS_ENDPOINT_URL", endpoint.trim())
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
        command
    };
    let mut lister = with_endpoint(Command::new(&this));
    lister.env("LISTING_ROLE", "lister");
    let lister = lister.spawn().map(Started).expect("this program starts");
    watch("canary-gate, listing and plan", lister);

    let mut aws = with_endpoint(Command::new("aws"));
    aws.args(["s3", "ls", "--recursive", "s3://bucket/train/"])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    match aws.spawn() {
        Ok(aws) => watch("aws s3 ls --recursive", Started(aws)),
        Err(error) => println!("aws s3 ls --recursive: skipped, `aws` does not start: {error}"),
    }
}

/// Waits for a process and prints its time and its peak memory, read again and again while it is there.
fn watch(name: &str, mut process: Started) {
    let started = Instant::now();
    let mut peak = 0.0_f64;
    let status = loop {
        if let Some(now) = peak_mb(&process.0.id().to_string()) {
            peak = peak.max(now);
        }
        if let Some(status) = process.0.try_wait().expect("it can be waited for") {
            break status;
        }
        thread::sleep(Duration::from_millis(10));
    };
    println!(
        "{name}: {:.1} s, peak {peak:.1} MB, {status}",
        started.elapsed().as_secs_f64()
    );
}

/// In millions of bytes.
fn peak_mb(process: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts")
}

fn list() {
    let started = Instant::now();
    let step = |what: &str| {
        println!(
            "  {what}: after {:.1} s, peak {:.1} MB",
            started.elapsed().as_secs_f64(),
            peak_mb("self").unwrap_or_default()
        );
    };
    let runtime = runtime();
    let spec = spec::read("canary-gate.yml", SPEC.as_bytes(), &[]).expect("the spec is valid");
    let job = &spec.jobs[0];
    let channel = &job.training.channels[0];
    let aws = runtime
        .block_on(Aws::load("us-east-1", 1.0, None))
        .expect("no endpoint is empty");
    step("clients");
    let listed = runtime.block_on(listing::list(&aws.s3, "train", channel));
    let objects = listed.expect("the responder answers").objects;
    step(&format!("{} objects listed", objects.len()));
    let dataset = Dataset {
        channels: vec![ChannelData::new(&channel.name, true, objects)],
    };
    let plan = plan::plan(
        job,
        &dataset,
        &Offer::unknown,
        Alternatives::Measure,
        KnownBefore::default(),
    );
    let plan = plan.expect("a million objects can be planned");
    let PlannedRuns::Fixed(runs) = plan.runs() else {
        panic!("the spec asks for the fixed design");
    };
    let drawn: usize = (runs.iter()).map(|run| run.channels[0].objects.len()).sum();
    step(&format!(
        "{} canaries with {drawn} objects and {} alternatives planned",
        runs.len(),
        plan.all.len() - 1
    ));
}

/// Answers until its standard input ends, which it does with the process that started it.
fn respond() {
    let runtime = runtime();
    thread::spawn(move || {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
            let listener = listener.expect("a port is free");
            let address = listener.local_addr().expect("it is bound");
            println!("http://{address}");
            io::stdout().flush().expect("somebody listens");
            let router = axum::Router::new().fallback(page).with_state(objects());
            axum::serve(listener, router).await
        })
    });
    let mut rest = Vec::new();
    // An error is an end too.
    let _ = io::stdin().read_to_end(&mut rest);
}

/// Keys are those of an index, in order.
fn key(index: usize, objects: usize) -> String {
    match env::var("LISTING_KEYS").as_deref() {
        // Sorted in its first half, without an order in its second.
        Ok("random") => {
            let rest = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!(
                "train/{:016x}{rest:016x}.jpeg",
                index * (usize::MAX / objects)
            )
        }
        Ok("flat") => format!("train/part-{index:07}.parquet"),
        _ => {
            let month = index * MONTHS / objects + 1;
            format!("train/year=2026/month={month:02}/part-{index:07}.parquet")
        }
    }
}

/// The index of the first key after a text.
fn index_after(text: &str, objects: usize) -> usize {
    let (mut low, mut high) = (0, objects);
    while low < high {
        let middle = low.midpoint(high);
        match key(middle, objects).as_str() > text {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

/// What a query has encoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend(parts.next().unwrap_or_default().bytes());
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).expect("keys are text")
}

async fn page(State(objects): State<usize>, RawQuery(query): RawQuery) -> String {
    tokio::time::sleep(DELAY).await;
    let query = query.unwrap_or_default();
    let parameter = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        Some(decoded(pairs.find(|(own, _)| *own == name)?.1))
    };
    let prefix = parameter("prefix").unwrap_or_default();
    let token = parameter("continuation-token").map(|token| token.parse().expect("a token"));
    let after = parameter("start-after").unwrap_or_default();
    let mut index: usize = token.unwrap_or_else(|| index_after(&after, objects));
    let has_folders = parameter("delimiter").is_some();
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>bucket</Name><Prefix>train/</Prefix><EncodingType>url</EncodingType>".to_owned();
    let mut count = 0;
    let mut more = false;
    while index < objects {
        let key = key(index, objects);
        let Some(rest) = key.strip_prefix(&prefix) else {
            break;
        };
        if count == PAGE {
            more = true;
            break;
        }
        count += 1;
        if let Some((folder, _)) = rest.split_once('/').filter(|_| has_folders) {
            let folder = format!("{prefix}{folder}/");
            let written = folder.replace('=', "%3D");
            write!(
                text,
                "<CommonPrefixes><Prefix>{written}</Prefix></CommonPrefixes>"
            )
            .expect("text can be written to");
            index = index_after(&format!("{folder}\u{10ffff}"), objects);
            continue;
        }
        let size = 100_000_000 + index * 7919 % 50_000_000;
        let written = key.replace('=', "%3D");
        write!(
            text,
            "<Contents><Key>{written}</Key><LastModified>2026-01-31T10:20:30.000Z</LastModified><ETag>&quot;{index:032x}&quot;</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        )
        .expect("text can be written to");
        index += 1;
    }
    write!(
        text,
        "<KeyCount>{count}</KeyCount><MaxKeys>{PAGE}</MaxKeys><IsTruncated>{more}</IsTruncated>"
    )
    .expect("text can be written to");
    if more {
        write!(
            text,
            "<NextContinuationToken>{index}</NextContinuationToken>"
        )
        .expect("text can be written to");
    }
    text.push_str("</ListBucketResult>");
    text
}
