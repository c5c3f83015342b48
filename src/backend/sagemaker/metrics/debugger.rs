//! Debugger's system metrics: JSON lines in S3, a file a minute and host.
