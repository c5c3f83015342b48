//! What AWS is asked once in a run of the gate, whatever the number of jobs: who we are, prices, quotas.

use std::collections::BTreeMap;

use crate::instance::{InstanceType, Price};

/// What was learned until now.
#[derive(Debug, Default)]
pub(super) struct KnownFacts {
    /// `None` of a type without a price.
    pub(super) prices: BTreeMap<InstanceType, Option<Price>>,
    /// Why the price list cannot be read; it is not asked again.
    pub(super) no_prices: Option<String>,
    pub(super) quotas: KnownQuotas,
}

/// The account's quotas as far as they were listed: a listing of thousands goes on only where one is not among them yet.
#[derive(Debug, Default)]
pub(super) struct KnownQuotas {
    /// By name.
    pub(super) limits: BTreeMap<String, u32>,
    pub(super) listing: QuotaListing,
    /// Why they cannot be read.
    pub(super) refused: Option<String>,
}

/// How far a listing is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum QuotaListing {
    #[default]
    Start,
    /// The token of the next page.
    At(String),
    /// The account's own are listed, which lack those that nobody has changed; those follow, from this page on.
    Defaults(Option<String>),
    End,
}
