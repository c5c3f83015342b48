//! The least IAM policy that a spec needs.
