//! What a step leaves behind: outputs, state, and the step summary.
