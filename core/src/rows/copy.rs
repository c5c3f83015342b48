//! From a draw of blocks to a smaller file.

use super::csv::Dialect;
use super::footer::copy_groups;
use super::lines::TextDraw;
use super::members::TarDraw;
use super::output::{Copied, RowOutput};
use super::problem::CopyError;
use super::window::Window;
use super::{RangeSource, RowBlocks, RowLayout, RowSink};

/// Copies drawn blocks of one file, ascending, into a file of the same format.
pub async fn copy_rows<S, K>(
    blocks: &RowBlocks,
    file: usize,
    drawn: &[u32],
    source: &mut S,
    sink: &mut K,
) -> Result<Copied, CopyError<S::Error>>
where
    S: RangeSource,
    K: RowSink<Error = S::Error>,
{
    let row_file = &blocks.files()[file];
    let mut window = Window::new(source, row_file);
    let mut out = RowOutput::new(sink);
    let (dialect, row) = match &row_file.layout {
        RowLayout::Parquet { .. } => return copy_groups(row_file, drawn, source, &mut out).await,
        RowLayout::Tar { .. } => {
            let draw = TarDraw {
                block: blocks.block_size(file).0,
                drawn,
            };
            let copied = draw.copy(&mut window, &mut out).await?;
            out.flush().await?;
            return Ok(copied);
        }
        RowLayout::Records { dialect, row, .. } => (*dialect, *row),
        RowLayout::Lines { row } => (Dialect::LINES, *row),
    };
    let draw = TextDraw {
        dialect,
        header: row_file.first_row(),
        row,
        block: blocks.block_size(file).0,
        blocks: blocks.counts()[file],
        drawn,
    };
    let header = window.read_apart(0..draw.header).await?;
    out.rows(&header).await?;
    let copied = match row_file.is_read_through() {
        true => draw.read_through(&mut window, &mut out).await?,
        false => draw.read_blocks(&mut window, &mut out).await?,
    };
    out.flush().await?;
    Ok(copied)
}
