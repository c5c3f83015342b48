//! For tests: one request to SageMaker and its answer, through the real client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use aws_sdk_sagemaker::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sagemaker::{Client, Config};

/// Lets `call` make one request and answers it. Returns the request's body and the result of the call.
pub(super) fn exchange<T, F>(answer: &str, call: impl FnOnce(Client) -> F) -> (String, T)
where
    F: Future<Output = T>,
{
    let answer = answer.to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        let mut stream = reader.into_inner();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(body).unwrap()
    });
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .build();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let result = runtime.block_on(call(Client::from_conf(config)));
    (server.join().unwrap(), result)
}
