//! Workflow commands: annotations, and job logs that cannot be commands.
