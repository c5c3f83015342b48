//! CloudWatch: one series for each host and metric, a point a minute.
