//! The names of training jobs: `cg-<job>-<key>-<attempt>`.
