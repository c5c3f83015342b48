//! The comment's marker, its order, and which comment is ours.
