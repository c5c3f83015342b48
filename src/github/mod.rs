//! GitHub: what started the gate, what changed, and the report's destination: a comment, or the tracking issue of a drift; and
//! GitLab, where it is a note. The only room that uses their APIs.
//!
//! Reading GitHub's data is pure ([`event`], [`marker`]); [`client`] sends requests, and everything that it returns
//! may be a pull request's own text.

pub mod accept_label;
mod address;
pub mod author;
pub mod client;
pub mod commands;
pub mod commit;
pub mod environment;
pub mod error;
pub mod event;
pub mod gitlab;
pub mod head_check;
pub mod id_token;
pub mod last_verdict;
mod line;
pub mod marker;
#[expect(
    clippy::disallowed_methods,
    reason = "an edge: appends to the files that the runner names"
)]
pub mod outputs;
pub mod posts;
pub mod publication;
pub mod pull_request;
mod retry;
mod service;
pub mod shown_overrun;
pub mod token;

pub use address::is_object_id;
pub use author::Author;
pub use client::{Forge, Github};
pub use commands::{Annotation, AnnotationLevel};
pub use environment::Environment;
pub use error::{ForgeError, ForgeErrorKind};
pub use event::GithubEvent;
pub use gitlab::MergeRequest;
pub use head_check::{CheckState, HeadCheck, HeadCheckKind};
pub use id_token::IdTokenService;
pub use marker::{Marker, MarkerKind, Order};
pub use posts::PostPlace;
pub use publication::{
    Intent, OlderComments, PostText, Publication, PublicationOutcome, Published,
};
pub use pull_request::PullRequest;
pub use shown_overrun::ShownOverrun;
pub use token::Token;
