//! Which configurations would fit the budget: the cheapest and the fastest.
