//! A token that prints as stars.
