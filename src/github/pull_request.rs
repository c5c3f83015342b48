//! A pull request as the API tells it.
