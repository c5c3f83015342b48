//! Live prices, from the price list's answers.
