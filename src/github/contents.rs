//! A file of the repository as it stands at a commit.
