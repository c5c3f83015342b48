//! The event that started the workflow.
