//! What the runner of GitHub Actions tells a step by its variables.
