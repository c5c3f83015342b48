//! Rights that a run needs once money is spent, asked before by calls that cost nothing: each is about a training job that is not there, so
//! that the only news is a denial.

use super::session::JobSession;
use super::{SagemakerBackend, logs};
use crate::aws::call::{CallError, FailureKind};
use crate::backend::AccountAnswer;
use crate::spec::WarmPoolPolicy;

/// By its name a canary, as policies allow them; none has it, since a key stands in the name of each.
const NO_JOB: &str = "cg-no-such-job";

impl SagemakerBackend {
    /// Why warm pools may not be ended; `None` where they may, as far as AWS says.
    pub(super) async fn may_not_end_pools(&self) -> Option<CallError> {
        denied(self.end_kept_machines(NO_JOB).await)
    }

    /// Why logs may not be read.
    async fn may_not_read_logs(&self) -> Option<CallError> {
        if let Some(error) = denied(self.log_streams(NO_JOB, "algo-1").await) {
            return Some(error);
        }
        let events = (self.aws().logs.get_log_events())
            .log_group_name(logs::GROUP)
            .log_stream_name(format!("{NO_JOB}/algo-1-0"));
        denied(logs::EVENTS.heard(events.send().await))
    }
}

impl JobSession<'_> {
    pub(super) async fn ask_rights(&self) -> Vec<AccountAnswer> {
        let right = |name, for_what: &str, denied: Option<CallError>| AccountAnswer {
            name,
            answer: match denied {
                None => Ok(Some(format!("may {for_what}"))),
                Some(error) => Err(error.to_error(for_what)),
            },
        };
        let mut rights = vec![right(
            "logs",
            "read what canaries print",
            self.backend.may_not_read_logs().await,
        )];
        if self.job.canary.warm_pool != WarmPoolPolicy::Off {
            rights.push(right(
                "warm pools",
                "end them",
                self.backend.may_not_end_pools().await,
            ));
        }
        rights
    }
}

fn denied<T>(asked: Result<T, CallError>) -> Option<CallError> {
    asked
        .err()
        .filter(|error| error.kind == FailureKind::Denied)
}
