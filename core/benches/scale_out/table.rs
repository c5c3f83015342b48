//! A table of run times on several counts of instances, in groups that differ in the count and the size of the data alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub(crate) const COUNT: &str = "instance_count";
pub(crate) const SECONDS: &str = "gross_runtime";
/// The size of the data, in whatever unit the table has; the first that is there.
pub(crate) const SIZES: [&str; 4] = ["data_size_MB", "data_size_GB", "data_size", "size"];

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    pub(crate) count: u32,
    /// In the unit of the table; above 0.
    pub(crate) size: f64,
    /// Above 0.
    pub(crate) seconds: f64,
}

/// The runs of one job on one type of machine with one set of parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    /// The values that its runs share, e.g. `r4.2xlarge, features 5`.
    pub(crate) name: String,
    pub(crate) runs: Vec<Run>,
}

/// What is wrong with a table: what, where, what to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TableError(pub(crate) String);

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The groups of a tab-separated table, in the order in which they first appear. Columns are found by name, in any order.
///
/// Every other column is a parameter that distinguishes groups, but for those that follow from the count (totals over the
/// instances, such as `slots`) or rise with the size (such as a number of lines).
pub(crate) fn read(text: &str) -> Result<Vec<Group>, TableError> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(b'\t')
        .from_reader(text.as_bytes());
    let header: Vec<String> = reader
        .headers()
        .map_err(|error| broken(&error))?
        .iter()
        .map(str::to_owned)
        .collect();
    let column = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| header.iter().position(|title| title == name))
            .ok_or_else(|| {
                TableError(format!(
                    "no column {}; the table has {}. Separate columns by tabs and name them in the first line",
                    names.join(" or "),
                    header.join(", ")
                ))
            })
    };
    let (count, size, seconds) = (column(&[COUNT])?, column(&SIZES)?, column(&[SECONDS])?);

    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let positive = |column: usize| {
            let text = &record[column];
            text.parse::<f64>()
                .ok()
                .filter(|number| *number > 0.0 && number.is_finite())
                .ok_or_else(|| bad(line, &header[column], text, "a number above 0"))
        };
        rows.push(Row {
            run: Run {
                count: record[count]
                    .parse()
                    .ok()
                    .filter(|count| *count > 0)
                    .ok_or_else(|| {
                        bad(line, COUNT, &record[count], "a whole number of instances")
                    })?,
                size: positive(size)?,
                seconds: positive(seconds)?,
            },
            values: record.iter().map(str::to_owned).collect(),
        });
    }
    if rows.is_empty() {
        return Err(TableError(
            "the table has no rows below its header".to_owned(),
        ));
    }
    let mut parameters: Vec<usize> = (0..header.len())
        .filter(|column| ![count, size, seconds].contains(column))
        .filter(|column| !rises(&rows, &[], *column, |run| f64::from(run.count)))
        .collect();
    // The column with most values first: a number of lines rises with the size, the length of a line beside it does not.
    let mut by_variety = parameters.clone();
    by_variety.sort_by_key(|column| std::cmp::Reverse(distinct(&rows, *column)));
    for column in by_variety {
        let others: Vec<usize> = (parameters.iter().copied())
            .filter(|other| *other != column)
            .collect();
        if rises(&rows, &others, column, |run| run.size) {
            parameters = others;
        }
    }
    Ok(groups(rows, &header, &parameters))
}

struct Row {
    run: Run,
    values: Vec<String>,
}

impl Row {
    fn key(&self, columns: &[usize]) -> Vec<&str> {
        columns
            .iter()
            .map(|column| self.values[*column].as_str())
            .collect()
    }
}

fn distinct(rows: &[Row], column: usize) -> usize {
    let values: BTreeSet<&str> = rows.iter().map(|row| row.values[column].as_str()).collect();
    values.len()
}

/// Whether a column's numbers rise strictly with a figure of the run among rows that are equal in the words and in
/// `others`, and differ at all: then it says nothing that the figure does not.
fn rises(rows: &[Row], others: &[usize], column: usize, figure: impl Fn(&Run) -> f64) -> bool {
    let words: Vec<usize> = (0..rows[0].values.len())
        .filter(|word| {
            rows.iter()
                .all(|row| row.values[*word].parse::<f64>().is_err())
        })
        .chain(others.iter().copied())
        .collect();
    let mut among: BTreeMap<Vec<&str>, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        let Ok(value) = row.values[column].parse::<f64>() else {
            return false;
        };
        among
            .entry(row.key(&words))
            .or_default()
            .push((figure(&row.run), value));
    }
    let mut differs = false;
    for pairs in among.values_mut() {
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for pair in pairs.windows(2) {
            let [(before, low), (after, high)] = pair else {
                continue;
            };
            if (before == after) != (low == high) || low > high {
                return false;
            }
            differs |= before != after;
        }
    }
    differs
}

fn groups(rows: Vec<Row>, header: &[String], parameters: &[usize]) -> Vec<Group> {
    // Only what differs belongs in a name; a word stands for itself.
    let distinctive: Vec<usize> = (parameters.iter().copied())
        .filter(|column| distinct(&rows, *column) > 1)
        .collect();
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let name = distinctive
            .iter()
            .map(|column| match row.values[*column].parse::<f64>() {
                Ok(_) => format!("{} {}", header[*column], row.values[*column]),
                Err(_) => row.values[*column].clone(),
            })
            .collect::<Vec<String>>()
            .join(", ");
        let name = if name.is_empty() {
            "all runs".to_owned()
        } else {
            name
        };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.runs.push(row.run),
            None => groups.push(Group {
                name,
                runs: vec![row.run],
            }),
        }
    }
    groups
}

fn bad(line: u64, column: &str, text: &str, wanted: &str) -> TableError {
    TableError(format!(
        "line {line}, column {column}: {text:?} is not {wanted}; correct it or leave the row out"
    ))
}

fn broken(error: &csv::Error) -> TableError {
    TableError(format!(
        "not a tab-separated table: {error}; every row needs as many columns as the header"
    ))
}
