//! The probe in the container: how it gets in, and its JSON line found in the log.
