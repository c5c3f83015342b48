//! The inputs of the action.
