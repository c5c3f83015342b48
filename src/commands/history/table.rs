//! A plain table for a terminal. Cells may hold hostile text.

use comfy_table::{ContentArrangement, Table};

use crate::report::escape::for_terminal;

/// The lines of a table, indented by `indent`; each cell is cut to one line of at most `limit` characters.
pub(super) fn lines<'a, Row: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = &'a str>,
    rows: impl Iterator<Item = Row>,
    limit: usize,
    indent: &str,
) -> String {
    let mut table = Table::new();
    // Otherwise the table would adapt to the process's terminal.
    table.force_no_tty();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header.into_iter().collect::<Vec<_>>());
    for row in rows {
        let cells = row.into_iter().map(|cell| for_terminal(&cell, limit));
        table.add_row(cells.collect::<Vec<_>>());
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines = table.lines();
    lines
        .map(|line| format!("{indent}{}\n", line.trim_end()))
        .collect()
}
