//! The program's own format: one measurement per line, as JSON, append-only.

use std::collections::HashSet;

use serde_json::Value;

use super::{MOST_ROWS, MeasurementTable, TableError, TableProblem, sound, without_mark};
use crate::measurement::{Measurement, SCHEMA_VERSION};
use crate::secret::unseen::visible_json;

/// Reads one measurement per line; blank lines are skipped.
///
/// A last line that is cut short, as by a killed writer, is only a note. Any other line that is not a measurement is a
/// problem, as is a measurement of a newer version.
pub fn read_json_lines(text: &str) -> Result<MeasurementTable, TableError> {
    let text = without_mark(text);
    if is_report(text) {
        return Err(TableError::Report);
    }
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let lines: Vec<(u64, &str)> = lines.collect();
    if lines.is_empty() {
        return Err(TableError::Empty);
    }
    if lines.len() > MOST_ROWS {
        return Err(TableError::TooLong);
    }
    let mut problems = Vec::new();
    let mut measurements = Vec::with_capacity(lines.len());
    let mut notes = Vec::new();
    for (index, (line, json)) in lines.iter().enumerate() {
        let is_last = index + 1 == lines.len();
        match read_line(json) {
            Ok(measurement) => measurements.push(measurement),
            // A single damaged line is not a truncated record but another kind of file.
            Err(BadLine::Damaged { what, is_cut })
                if is_last && (index > 0 || is_cut && !text.ends_with('\n')) =>
            {
                notes.push(format!(
                    "line {line}: the last line is damaged and left out; its writer was probably killed ({what})"
                ));
            }
            Err(BadLine::Impossible(what) | BadLine::Damaged { what, .. }) => {
                problems.push(TableProblem::of(*line, None, what));
            }
        }
    }
    notes.extend(keep_each_once(&mut measurements));
    keep_what_is_shown(&mut measurements);
    let table = MeasurementTable {
        measurements,
        notes,
        about_jobs: None,
    };
    table.unless(problems)
}

/// A failure was passed over only where the lines show it: on the smallest size alone, with a larger one that completed.
fn keep_what_is_shown(measurements: &mut [Measurement]) {
    let is_shown = |run: &Measurement| {
        let is_beside = |other: &&Measurement| other.job == run.job && other.is_on(&run.instance);
        let mut others = measurements.iter().filter(is_beside);
        let is_larger = |other: &Measurement| other.fraction > run.fraction;
        let is_like = |other: &Measurement| other.fraction == run.fraction && other.passed_over;
        let stands = |other: &Measurement| is_larger(other) || is_like(other);
        run.passed_over
            && others.clone().all(stands)
            && others.any(|other| is_larger(other) && other.is_completed())
    };
    let shown: Vec<bool> = measurements.iter().map(is_shown).collect();
    for (run, is_shown) in measurements.iter_mut().zip(shown) {
        run.passed_over = is_shown;
    }
}

/// Keeps the later of two lines about the same training job, as a gate writes that was killed and restarted. Returns a note
/// about it.
fn keep_each_once(measurements: &mut Vec<Measurement>) -> Option<String> {
    let all = measurements.len();
    let mut seen = HashSet::new();
    measurements.reverse();
    measurements.retain(|run| (run.training_job.clone()).is_none_or(|job| seen.insert(job)));
    measurements.reverse();
    let twice = all - measurements.len();
    (twice > 0).then(|| {
        format!("of several lines with the same training job only the last one counts; lines left out: {twice}")
    })
}

/// One measurement as one line with its line end.
pub fn to_json_line(measurement: &Measurement) -> String {
    let mut line = serde_json::to_string(measurement)
        .expect("a measurement is made of plain fields with text for keys");
    line.push('\n');
    visible_json(&line)
}

/// Why a line is rejected.
enum BadLine {
    /// A measurement of a newer version, or one with an impossible value.
    Impossible(String),
    /// No measurement at all; where it is cut, its JSON ends early.
    Damaged { what: String, is_cut: bool },
}

fn read_line(json: &str) -> Result<Measurement, BadLine> {
    match serde_json::from_str::<Measurement>(json) {
        Ok(measurement) => {
            let odd =
                || sound::odd_value(&measurement).map(|(field, what)| format!("{field}: {what}"));
            match newer(measurement.schema_version).or_else(odd) {
                Some(what) => Err(BadLine::Impossible(what)),
                None => Ok(measurement),
            }
        }
        Err(error) => Err(match version(json).and_then(newer) {
            Some(what) => BadLine::Impossible(what),
            None if error.is_eof() => BadLine::Damaged {
                what: "the line is cut short; expected one whole JSON object".to_owned(),
                is_cut: true,
            },
            // The line number is always 1; what is quoted is escaped.
            None => {
                let shown: String = plain_words(&error).chars().take(160).collect();
                let (what, at) = (shown.escape_debug(), error.column());
                BadLine::Damaged {
                    what: format!("not a measurement: {what}, at character {at}"),
                    is_cut: false,
                }
            }
        }),
    }
}

/// Whether the whole text is one JSON object with jobs, as `run --output report.json` writes it.
fn is_report(text: &str) -> bool {
    // Measurements have no such key, so they are not parsed twice.
    text.trim_start().starts_with('{')
        && text.contains("\"jobs\"")
        && serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("jobs").is_some())
}

/// The version of a line, which may be in a newer format.
fn version(json: &str) -> Option<u32> {
    let value: Value = serde_json::from_str(json).ok()?;
    let version = value.get("schema_version")?.as_u64()?;
    Some(u32::try_from(version).unwrap_or(u32::MAX))
}

fn newer(version: u32) -> Option<String> {
    (version > SCHEMA_VERSION).then(|| {
        format!(
            "written by a newer canary-gate (schema version {version}, this one reads up to {SCHEMA_VERSION}); \
             update canary-gate"
        )
    })
}

/// A JSON parser's complaint without its position and without the names of this program's types:
/// `invalid type: null, expected an object`.
pub fn plain_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(what, _)| what);
    // The quoted input comes before the last `expected`, and may contain anything.
    match what.rsplit_once("expected ") {
        Some((before, wanted)) => {
            let wanted = match wanted.split(' ').next() {
                Some("struct" | "internally" | "map") => "an object",
                Some("enum" | "variant") => "one of the known words",
                Some("u8" | "u32" | "u64") => "a whole number from 0",
                Some("i32" | "i64") => "a whole number",
                Some("f64") => "a number",
                Some("string") => "text",
                Some("sequence") => "a list",
                _ => wanted,
            };
            format!("{before}expected {wanted}")
        }
        None => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{Outcome, PeakMemory};
    use crate::units::Bytes;

    const ONE: &str = r#"{"schema_version":1,"job":"digits","instance":"local","fraction":0.01,"replicate":0,"outcome":{"kind":"completed"},"training_seconds":0.7}"#;

    fn complaint(text: &str) -> String {
        read_json_lines(text).unwrap_err().to_string()
    }

    #[test]
    fn a_training_job_that_was_measured_twice_counts_once() {
        let of = |job: &str, seconds: f64| {
            ONE.replace("0.7}", &format!(r#"{seconds},"training_job":"{job}"}}"#))
        };
        let text = format!(
            "{}\n{}\n{}\n{ONE}\n{ONE}\n",
            of("cg-a-0", 1.0),
            of("cg-b-0", 2.0),
            of("cg-a-0", 3.0)
        );
        let table = read_json_lines(&text).unwrap();
        let times: Vec<f64> = table
            .measurements
            .iter()
            .filter_map(|run| run.training_seconds.map(|time| time.0))
            .collect();
        assert_eq!(times, [2.0, 3.0, 0.7, 0.7]);
        assert!(table.notes[0].ends_with("left out: 1"), "{:?}", table.notes);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut run = read_json_lines(ONE).unwrap().measurements.remove(0);
        run.bytes = Some(Bytes(1_000_000));
        run.bytes_total = Some(Bytes(100_000_000));
        run.usage.memory = Some(PeakMemory {
            bytes: Some(Bytes(50_000_000)),
            source: "cgroup".to_owned(),
            ..PeakMemory::default()
        });
        run.outcome = Outcome::Failed {
            exit_code: Some(1),
            last_line: Some("first\nsecond \u{1b}[31m".to_owned()),
        };
        let text = to_json_line(&run);
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(text.ends_with("}\n"));

        let twice = format!("\u{feff}{text}\r\n{text}");
        let table = read_json_lines(&twice).unwrap();
        assert_eq!(table.measurements, [run.clone(), run]);
        assert_eq!(table.notes, Vec::<String>::new());
    }

    #[test]
    fn a_cut_last_line_is_a_note_and_the_rest_counts() {
        let cut = &ONE[..ONE.len() / 2];
        let table = read_json_lines(&format!("{ONE}\n{ONE}\n{cut}")).unwrap();
        assert_eq!(table.measurements.len(), 2);
        assert_eq!(
            table.notes,
            [
                "line 3: the last line is damaged and left out; its writer was probably killed (the line is cut short; expected one whole JSON object)"
            ]
        );

        let alone = read_json_lines(cut).unwrap();
        assert_eq!((alone.measurements.len(), alone.notes.len()), (0, 1));

        let whole_without_line_end = read_json_lines(ONE).unwrap();
        assert_eq!(whole_without_line_end.measurements.len(), 1);
    }

    #[test]
    fn every_damaged_line_in_the_middle_is_named() {
        let cut = &ONE[..20];
        assert_eq!(
            complaint(&format!("{cut}\n\n{ONE}\nnull\n{ONE}\n")),
            "the table has 2 problems\n  \
             line 1: the line is cut short; expected one whole JSON object\n  \
             line 4: not a measurement: invalid type: null, expected an object, at character 4"
        );
    }

    #[test]
    fn another_file_is_refused_and_what_it_holds_is_escaped() {
        let text = complaint("{\"schema_version\":1,\"job\":\"x\",\"instance\":\"\\u001b[31m\"}");
        assert!(text.starts_with("the table has a problem\n  line 1: not a measurement: "));
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(complaint("job,seconds\n").contains("line 1: not a measurement"));
        assert_eq!(read_json_lines(" \n\n"), Err(TableError::Empty));
    }

    #[test]
    fn no_name_of_a_type_of_ours_is_shown() {
        for (line, words) in [
            (
                "[1]",
                "invalid length 1, expected an object, at character 3",
            ),
            (
                "\"x\"",
                "invalid type: string \\\"x\\\", expected an object, at character 3",
            ),
            ("{}", "missing field `schema_version`, at character 2"),
            (
                &ONE.replacen("\"fraction\":0.01", "\"fraction\":\"1%\"", 1),
                "invalid type: string \\\"1%\\\", expected a number, at character 69",
            ),
            (
                &ONE.replacen("\"outcome\"", "\"phases\":3,\"outcome\"", 1),
                "invalid type: integer `3`, expected an object, at character 94",
            ),
        ] {
            let text = complaint(&format!("{line}\n"));
            assert!(
                text.ends_with(&format!("line 1: not a measurement: {words}")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_report_is_called_one_and_a_newer_version_is_refused_even_where_its_form_is_unknown() {
        for report in [
            "{\"schema_version\":1,\"jobs\":[]}",
            "{\n  \"jobs\": []\n}\n",
        ] {
            assert_eq!(read_json_lines(report), Err(TableError::Report));
        }
        let newer = "written by a newer canary-gate (schema version 2, this one reads up to 1); update canary-gate";
        let same_form = ONE.replace("\"schema_version\":1", "\"schema_version\":2");
        for line in [same_form.as_str(), "{\"schema_version\":2,\"runs\":[]}"] {
            let said = complaint(&format!("{ONE}\n{line}\n"));
            assert_eq!(said, format!("the table has a problem\n  line 2: {newer}"));
        }
    }

    #[test]
    fn values_that_measure_nothing_are_refused() {
        let refusals = [
            ("\"digits\"", "\"\""),
            ("0.7", r#"0.7,"cost":-2"#),
            ("0.7", r#"0.7,"cost":1e9"#),
            ("0.7", r#"0.7,"reused":{"age_days":1,"saved_usd":1e300}"#),
            ("0.01", "0"),
            ("0.7", "-1"),
            ("0.7", r#"0.7,"work":0,"work_total":50"#),
            ("0.7", r#"0.7,"work":60,"work_total":50"#),
            ("0.7", r#"0.7,"bytes":5,"bytes_total":4"#),
            ("0.7", r#"0.7,"bytes":5,"bytes_total":10"#),
            ("0.7", r#"0.7,"usage":{"memory":{"percent":145,"source":"x"}}"#),
            ("0.7", r#"0.7,"usage":{"cpu_percent":{"mean":50,"p99":780,"source":"x"}}"#),
            ("0.7", r#"0.7,"usage":{"gpu_percent":{"mean":-1,"source":"x"}}"#),
            ("0.7", r#"0.7,"hosts":[{"host":"algo-1","bytes":1,"usage":{"io_wait_percent":{"mean":101,"source":"x"}}}]"#),
            ("0.7", "1e999"),
        ]
        .map(|(from, to)| complaint(&format!("{}\n", ONE.replacen(from, to, 1))));
        insta::assert_snapshot!(refusals.join("\n"));
    }
}
