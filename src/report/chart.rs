//! The fitted law as a Mermaid chart.
