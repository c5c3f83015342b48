//! The objects of a channel, listed page by page.
