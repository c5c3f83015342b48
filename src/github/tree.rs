//! The files of a commit, with their blob ids.
