//! GitHub: what started the gate, what changed, and where the report goes. The only room that speaks to its API.
//!
//! Reading what GitHub says is pure ([`event`], [`inputs`], [`comment`]); [`client`] sends, and everything that it gives
//! back may be a pull request's own text.

pub mod changes;
pub mod client;
pub mod commands;
pub mod comment;
pub mod contents;
pub mod environment;
pub mod error;
pub mod event;
pub mod inputs;
pub mod outputs;
pub mod posting;
pub mod pull_request;
pub mod token;
pub mod tree;
