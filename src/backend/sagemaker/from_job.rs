//! An existing training job as a commented spec, for `init --from-job`.
