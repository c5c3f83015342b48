//! The logs of training jobs in CloudWatch Logs: a stream for each host.

use super::SagemakerBackend;
use crate::aws::call::{Call, CallResult};

pub(super) const GROUP: &str = "/aws/sagemaker/TrainingJobs";
/// Pages of a host's log that are read from its beginning: at a megabyte each, enough for a long canary.
pub(super) const MOST_PAGES: usize = 200;

/// A full page, in bytes; each event counts for 26 more.
const PAGE: usize = 1 << 20;
const EVENT: usize = 26;

const STREAMS: Call<'_> = Call("logs:DescribeLogStreams");
pub(super) const EVENTS: Call<'_> = Call("logs:GetLogEvents");

impl SagemakerBackend {
    /// Hands over every line of a host's log with its time in milliseconds since 1970, oldest first, of so many pages; holds one at a
    /// time.
    pub(super) async fn each_log_line(
        &self,
        job: &str,
        host: &str,
        most_pages: usize,
        mut hear: impl FnMut(Option<i64>, &str),
    ) -> CallResult<()> {
        for stream in self.log_streams(job, host).await? {
            let events = self.aws().logs.get_log_events().log_group_name(GROUP);
            let events = events.log_stream_name(stream).start_from_head(true);
            let mut pages = events.into_paginator().send();
            for _ in 0..most_pages {
                let Some(page) = pages.next().await else {
                    break;
                };
                for event in EVENTS.heard(page)?.events() {
                    hear(event.timestamp(), event.message().unwrap_or_default());
                }
            }
        }
        Ok(())
    }

    /// The last lines of a host's log, oldest first: up to about a page of them, a megabyte. A page may be empty, or hold less than
    /// there is, so that only a token which repeats ends the log.
    pub(super) async fn last_log_lines(&self, job: &str, host: &str) -> CallResult<Vec<String>> {
        let mut lines = Vec::new();
        for stream in self.log_streams(job, host).await? {
            // The newest page first.
            let mut pages: Vec<Vec<String>> = Vec::new();
            let (mut bytes, mut token) = (0, None);
            for _ in 0..MOST_PAGES {
                let events = self.aws().logs.get_log_events().log_group_name(GROUP);
                let events = events.log_stream_name(&stream).start_from_head(false);
                let page = EVENTS.heard(events.set_next_token(token.clone()).send().await)?;
                let before = page.next_backward_token;
                let events = page.events.unwrap_or_default().into_iter();
                let page: Vec<String> = events.filter_map(|event| event.message).collect();
                bytes += page.iter().map(|line| line.len() + EVENT).sum::<usize>();
                pages.push(page);
                if before.is_none() || before == token || bytes >= PAGE / 2 {
                    break;
                }
                token = before;
            }
            lines.extend(pages.into_iter().rev().flatten());
        }
        Ok(lines)
    }

    /// The streams of a host; none before it has said anything.
    pub(super) async fn log_streams(&self, job: &str, host: &str) -> CallResult<Vec<String>> {
        let streams = self.aws().logs.describe_log_streams().log_group_name(GROUP);
        // With the hyphen, so that algo-1 is not algo-10 too.
        let streams = streams.log_stream_name_prefix(format!("{job}/{host}-"));
        match STREAMS.heard(streams.send().await) {
            Ok(answer) => {
                let streams = answer.log_streams.unwrap_or_default().into_iter();
                Ok(streams
                    .filter_map(|stream| stream.log_stream_name)
                    .collect())
            }
            // The group comes with the first training job of an account.
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
