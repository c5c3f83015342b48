//! `FailureReason`, classed by its prefix: memory, user code, capacity, SageMaker's own error, configuration.
