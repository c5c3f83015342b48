//! Pages in **HTML**: one file that opens without network and script, light and dark, on paper and on a small screen.
//!
//! [`markup`] is the one door for text, [`page`] the frame, [`plot`] draws, and `palette` has the colours.

mod blocks;
mod figures;
pub mod history_page;
pub mod markup;
mod over_time;
pub mod page;
mod palette;
pub mod plot;
mod report_page;

pub use report_page::render;

#[cfg(test)]
pub(super) mod tests;
