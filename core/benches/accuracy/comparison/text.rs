//! The comparison for a reader: a table for each quantity, the figures in sum, and what has no forecast.

use std::fmt::Write as _;

use canary_gate_core::units::{Bytes, Seconds};
use comfy_table::{CellAlignment, Table, presets};

use super::score::Scored;
use super::seed::Resamples;
use super::summary::{Errors, Intervals};
use super::{Comparison, Quantity, Row};

/// Longer names are cut, so that the table fits a terminal of 100 columns.
const NAME_LIMIT: usize = 16;

const ABSENT: &str = "–";

const EXPLANATION: &str = "\
error: ln(forecast / median of the full runs); in: single full runs inside the 90 % interval;
u/l: its upper over its lower end; score: interval score of ln, smaller is better;
spent: canary seconds, those of the seed library's nine being 1; by default the full run being 1
";

impl Comparison {
    /// Ends with a blank line.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for quantity in [Quantity::Time, Quantity::Memory] {
            let _ = writeln!(text, "{}\n", quantity.title());
            push_table(&mut text, &self.workload_table(quantity));
        }
        text.push_str(
            "In sum: size of the error, full runs inside, median upper/lower, mean score\n\n",
        );
        push_table(&mut text, &self.sum_table());
        text.push_str(EXPLANATION);
        for caution in self.cautions() {
            let _ = writeln!(text, "{caution}");
        }
        text.push('\n');
        text
    }

    fn workload_table(&self, quantity: Quantity) -> Table {
        let mut table = table([
            "\nWorkload",
            "\nFull run",
            "Seed\nerror",
            "Fixed\nerror",
            "\nin",
            "\nu/l",
            "\nscore",
            "Default\nerror",
            "\nin",
            "\nu/l",
            "\nscore",
            "\nspent",
        ]);
        for row in &self.rows {
            let mut cells = vec![
                short(&row.name),
                quantity.shown(*row.full.get(quantity)),
                row.seed_cell(quantity),
            ];
            cells.extend(scored_cells(row.fixed.get(quantity)));
            cells.extend(scored_cells(row.default.get(quantity)));
            cells.push(format!("{:.2}", row.spent.default));
            table.add_row(cells);
        }
        table
    }

    fn sum_table(&self) -> Table {
        let summary = self.summary();
        let mut table = table([
            "", "", "median", "mean", "max", "in", "u/l", "score", "spent",
        ]);
        let [spent, of_full_run] = [&summary.adaptive, &summary.default]
            .map(|chosen| format!("{:.2}", chosen.spend_ratio));
        for quantity in [Quantity::Time, Quantity::Memory] {
            let of_seed = errors_cells(summary.seed.get(quantity));
            let of_fixed = intervals_cells(summary.fixed.get(quantity));
            let of_adaptive = intervals_cells(summary.adaptive.quantities.get(quantity));
            let of_default = intervals_cells(summary.default.quantities.get(quantity));
            for (method, cells, spent) in [
                ("default", of_default, &*of_full_run),
                ("seed", of_seed, "1.00"),
                ("fixed", of_fixed, "1.00"),
                ("adaptive", of_adaptive, &spent),
            ] {
                let mut row = vec![quantity.title().to_owned(), method.to_owned()];
                row.extend(cells);
                row.resize(8, String::new());
                row.push(spent.to_owned());
                table.add_row(row);
            }
        }
        table
    }

    /// What has no forecast, and why; and where the seed's method is not quite itself.
    fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        for row in &self.rows {
            let name = row.name.escape_debug();
            for quantity in [Quantity::Time, Quantity::Memory] {
                let title = quantity.title().to_lowercase();
                match row.seed.get(quantity) {
                    None => cautions.push(format!(
                        "no seed forecast of the {title} of {name}: its line is not above 0, or the canaries have one size"
                    )),
                    Some(seed) if seed.resamples == Resamples::Plain => cautions.push(format!(
                        "* seed forecast of the {title} of {name}: no resample rose with size; the plain bootstrap stands in"
                    )),
                    Some(_) => {}
                }
                for (method, scored) in [
                    ("fixed", &row.fixed),
                    ("adaptive", &row.adaptive),
                    ("default", &row.default),
                ] {
                    if let Err(reason) = scored.get(quantity) {
                        cautions.push(format!(
                            "no {method} forecast of the {title} of {name}: {reason}"
                        ));
                    }
                }
            }
        }
        cautions
    }
}

impl Quantity {
    fn title(self) -> &'static str {
        match self {
            Self::Time => "Time",
            Self::Memory => "Memory",
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Self::Time => Seconds(value).to_string(),
            Self::Memory => Bytes::from_f64(value).to_string(),
        }
    }
}

impl Row {
    fn seed_cell(&self, quantity: Quantity) -> String {
        match self.seed.get(quantity) {
            None => ABSENT.to_owned(),
            Some(seed) if seed.resamples == Resamples::Plain => {
                format!("*{:+.2}", seed.log_error)
            }
            Some(seed) => format!("{:+.2}", seed.log_error),
        }
    }
}

fn scored_cells(scored: &Result<Scored, String>) -> [String; 4] {
    match scored {
        Ok(scored) => [
            format!("{:+.2}", scored.log_error),
            format!("{}/{}", scored.inside, scored.scores.len()),
            ratio(scored.ratio),
            format!("{:.2}", scored.mean_score()),
        ],
        Err(_) => std::array::from_fn(|_| ABSENT.to_owned()),
    }
}

fn errors_cells(errors: &Errors) -> Vec<String> {
    [errors.median, errors.mean, errors.max]
        .map(|error| figure(error, |error| format!("{error:.3}")))
        .to_vec()
}

fn intervals_cells(intervals: &Intervals) -> Vec<String> {
    let mut cells = errors_cells(&intervals.errors);
    cells.extend([
        figure(intervals.coverage, |share| format!("{:.0}%", share * 100.0)),
        figure(intervals.ratio, ratio),
        figure(intervals.score, |score| format!("{score:.2}")),
    ]);
    cells
}

fn figure(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), show)
}

/// An interval may be absurdly wide.
fn ratio(ratio: f64) -> String {
    if ratio < 1000.0 {
        format!("{ratio:.2}")
    } else {
        format!("{ratio:.0e}")
    }
}

fn short(name: &str) -> String {
    let name = name.escape_debug().to_string();
    if name.chars().count() <= NAME_LIMIT {
        return name;
    }
    let start: String = name.chars().take(NAME_LIMIT - 1).collect();
    format!("{start}…")
}

fn table<const COLUMNS: usize>(header: [&str; COLUMNS]) -> Table {
    let mut table = Table::new();
    table
        .force_no_tty()
        .load_style(presets::NOTHING)
        .set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn push_table(text: &mut String, table: &Table) {
    for line in table.lines() {
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    text.push('\n');
}
