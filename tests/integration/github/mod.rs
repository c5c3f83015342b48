//! A GitHub of our own, and what the program says to it.
