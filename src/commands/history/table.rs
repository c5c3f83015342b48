//! A plain table for a terminal. Its cells may hold hostile text.

use comfy_table::{ContentArrangement, Table};

use crate::report::escape::for_terminal;

/// The lines of a table below `indent`, each cell a piece of one line of at most `limit` characters.
pub(super) fn lines<'a, Row: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = &'a str>,
    rows: impl Iterator<Item = Row>,
    limit: usize,
    indent: &str,
) -> String {
    let mut table = Table::new();
    // Without this the table would ask the process's own terminal.
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
