//! Published series of fit times, which others measured: each family of them is forecast with the constants that score best on all other
//! families and on the measured workloads.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::comparison::score::{Scored, mean, median};
use crate::left_out::{Fit, LeftOutWorkload, MEMORY, TIME, cases, left_out_priors};
use crate::simulated::measured;

/// The columns that name a series are all but the last three: the rows in millions, the repeat, and the seconds.
const OF_A_RUN: usize = 3;
/// What a family is, and its column.
const FAMILIES: [(&str, usize); 2] = [("library", 1), ("machine", 0)];
/// The rows of the full run, in millions.
const ALL_ROWS: f64 = 10.0;

/// The series of a table such as `machine_table,library,...,million_rows,repeat,seconds`, each named by its family. The full run is that of
/// all rows; the smaller ones are its canaries.
fn series(table: &str, family: usize) -> Vec<LeftOutWorkload> {
    let mut all: BTreeMap<Vec<String>, [Vec<_>; 2]> = BTreeMap::new();
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    for row in reader.records() {
        let row = row.expect("the table is well-formed");
        let number = |column: usize| -> f64 { row[column].parse().expect("it is a number") };
        let names = row.len() - OF_A_RUN;
        let key = row.iter().take(names).map(ToOwned::to_owned).collect();
        let [canaries, full] = all.entry(key).or_default();
        let share = number(names) / ALL_ROWS;
        let to = if share < 1.0 { canaries } else { full };
        to.push(measured(share, to.len(), number(names + 2)));
    }
    let with_full = all.into_iter().filter(|(_, [_, full])| !full.is_empty());
    let workloads = with_full
        .map(|(key, [canaries, full])| LeftOutWorkload::once(key[family].clone(), canaries, full));
    workloads.collect()
}

fn row(name: &str, constants: &str, fits: &[&Fit]) -> String {
    let all = |figure: fn(&Scored) -> f64| -> Vec<f64> {
        fits.iter().map(|fit| figure(&fit.scored)).collect()
    };
    let runs = |fit: &&Fit| fit.scored.scores.len();
    let inside: usize = fits.iter().map(|fit| fit.scored.inside).sum();
    let errors = all(|one| one.log_error.abs());
    format!(
        "{name:<22} {constants:<9} {:>6} {:>6.3} {:>6.3} {:>+6.3} {:>6.1}% {:>6.2} {:>6} {:>6.2}\n",
        fits.len(),
        median(&errors),
        mean(&errors),
        mean(&all(|one| one.log_error)),
        100.0 * crate::left_out::float(inside)
            / crate::left_out::float(fits.iter().map(runs).sum()),
        median(&all(|one| one.ratio)),
        fits.iter().filter(|fit| fit.is_above).count(),
        mean(&all(Scored::mean_score)),
    )
}

/// Ends with an error where the file cannot be read.
pub(crate) fn each_family_by_what_the_others_teach(file: &str) {
    #[expect(clippy::disallowed_methods, reason = "a bench reads its file")]
    let table = std::fs::read_to_string(file).expect("the file can be read");
    let mut text = format!(
        "{:<22} {:<9} {:>6} {:>6} {:>6} {:>6} {:>7} {:>6} {:>6} {:>6}\n",
        "left out",
        "constants",
        "series",
        "median",
        "mean",
        "signed",
        "inside",
        "u/l",
        "above",
        "score"
    );
    for (kind, column) in FAMILIES {
        let mut all = cases();
        let first = all.len();
        all.extend(series(&table, column));
        let shipped = vec![TIME.shipped; all.len()];
        let mut tried = vec![("shipped", shipped)];
        if !std::env::args().any(|word| word == "--shipped") {
            let [others, _] = left_out_priors(&all, [&TIME, &MEMORY]);
            tried.push(("others'", others));
        }
        for (name, priors) in &tried {
            let pairs = all.iter().zip(priors).skip(first);
            let fits: Vec<(&str, Fit)> = pairs
                .filter_map(|(case, prior)| Some((&*case.name, case.fit(0, &TIME, prior)?)))
                .collect();
            let mut families: BTreeMap<&str, Vec<&Fit>> = BTreeMap::new();
            for (family, fit) in &fits {
                families.entry(family).or_default().push(fit);
            }
            for (family, fits) in &families {
                text += &row(family, name, fits);
            }
            let every: Vec<&Fit> = fits.iter().map(|(_, fit)| fit).collect();
            let _ = writeln!(text, "{}", row(&format!("each {kind}"), name, &every));
        }
    }
    print!("{text}");
}
