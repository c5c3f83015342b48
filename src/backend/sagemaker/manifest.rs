//! A canary's sample of a channel as a manifest file.
