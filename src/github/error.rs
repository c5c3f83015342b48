//! Why GitHub could not be asked or told, and what to do.
