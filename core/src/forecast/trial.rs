//! The door of the bench `prior`: what it makes forecasts of by another prior than the shipped one.

pub use super::law::FamilyWeights;
pub use super::posterior::{Observation, Posterior, Prior};
pub use super::prior::{MEMORY, TIME};
pub use super::runs::Runs;
