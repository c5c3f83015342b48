//! The files that a change touches, by the API.
