//! The client: one repository, one token, every call retried or told.
