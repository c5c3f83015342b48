//! Quotas: what a refusal says, and what Service Quotas list.
