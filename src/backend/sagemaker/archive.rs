//! A job's source, packed: the same files give the same bytes.
