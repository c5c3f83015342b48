//! The pure parts of `benches/scale_out.rs`: how it reads a table, and how it scores.

#[path = "../../benches/scale_out/score.rs"]
mod score;
#[path = "../../benches/scale_out/table.rs"]
mod table;

use score::{Method, Score};
use table::{Run, read};

/// Two types and a parameter, on 1 to 6 instances with three sizes, by the exact law 10 + 60 size / n.
fn exact() -> String {
    let mut text = String::from(
        "seconds_per\tgross_runtime\tslots\tmachine_type\tlines\tdata_size_MB\tinstance_count\n",
    );
    for machine in ["a.large", "b.large"] {
        for parameter in [5, 10] {
            for count in [1_u32, 2, 3, 4, 6] {
                for size in [1_u32, 2, 4] {
                    let seconds = 10.0 + 60.0 * f64::from(size) / f64::from(count);
                    let (slots, lines) = (8 * count, 1000 * size);
                    text += &format!(
                        "{parameter}\t{seconds}\t{slots}\t{machine}\t{lines}\t{size}\t{count}\n"
                    );
                }
            }
        }
    }
    text
}

fn problem(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn columns_are_found_by_name_and_totals_do_not_part_groups() {
    let groups = read(&exact()).unwrap();
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "seconds_per 5, a.large",
            "seconds_per 10, a.large",
            "seconds_per 5, b.large",
            "seconds_per 10, b.large"
        ]
    );
    assert!(groups.iter().all(|group| group.runs.len() == 15));
    assert_eq!(
        groups[0].runs[0],
        Run {
            count: 1,
            size: 1.0,
            seconds: 70.0
        }
    );
}

#[test]
fn a_law_is_forecast_without_error_where_dividing_misses_it() {
    let mut sum = Score::default();
    for group in read(&exact()).unwrap() {
        let score = Score::of(&group).unwrap();
        // 4 and 6 instances with size 4: a single repetition of each.
        assert_eq!((score.errors.len(), score.runs), (2, 2));
        assert!(score.error(Method::Ernest)[2] < 1e-9);
        assert_eq!(score.coverage(), 1.0);
        assert!(score.ratio() > 1.0);
        // From 3 instances, on which the large size takes 90 s: 67.5 s and 45 s, each up to 90 s; it takes 70 and 50.
        let (coverage, ratio) = score.assumed.coverage_and_ratio().unwrap();
        assert_eq!(coverage, 1.0);
        let middle = ((4.0_f64 / 3.0).powi(2) + 4.0) / 2.0;
        assert!((ratio - middle).abs() < 1e-6, "{ratio}");
        // Dividing 50 s of size 2 on 3 gives 75 s and 50 s, where it takes 70 and 50.
        let divided = (75.0_f64 / 70.0).ln();
        assert!((score.error(Method::Divide)[2] - divided).abs() < 1e-9);
        sum.add(&score);
    }
    assert_eq!((sum.errors.len(), sum.runs), (8, 8));
}

#[test]
fn the_log_log_line_forecasts_a_power_law_without_error() {
    let mut text = String::from("instance_count\tsize\tgross_runtime\n");
    for count in [2_u32, 4, 8, 16] {
        for size in [1_u32, 2, 4, 8] {
            let seconds = 100.0 * f64::from(size).powf(0.8) / f64::from(count).sqrt();
            text += &format!("{count}\t{size}\t{seconds}\n");
        }
    }
    let score = Score::of(&read(&text).unwrap()[0]).unwrap();
    assert_eq!(score.errors.len(), 4);
    assert!(score.error(Method::LogLog)[2] < 1e-9);
    assert!(score.error(Method::Ernest)[2] > 0.01);
}

#[test]
fn a_table_that_cannot_be_read_says_what_where_and_what_to_do() {
    assert_eq!(
        problem("instance_count\tgross_runtime\n1\t2\n"),
        "no column data_size_MB or data_size_GB or data_size or size; the table has instance_count, gross_runtime. Separate \
         columns by tabs and name them in the first line"
    );
    let header = "instance_count\tdata_size_MB\tgross_runtime\n";
    assert_eq!(
        problem(&format!("{header}2\t10\tsoon\n")),
        "line 2, column gross_runtime: \"soon\" is not a number above 0; correct it or leave the row out"
    );
    assert_eq!(
        problem(&format!("{header}2\t10\t1\n1.5\t10\t1\n")),
        "line 3, column instance_count: \"1.5\" is not a whole number of instances; correct it or leave the row out"
    );
    assert!(problem(&format!("{header}2\t10\n")).contains("as many columns as the header"));
    assert_eq!(problem(header), "the table has no rows below its header");
}

#[test]
fn a_group_that_cannot_be_scored_says_what_it_lacks() {
    let lack = |rows: &str| {
        let text = format!("instance_count\tdata_size_MB\tgross_runtime\n{rows}");
        Score::of(&read(&text).unwrap()[0]).unwrap_err()
    };
    assert_eq!(
        lack("1\t10\t9\n2\t10\t5\n"),
        "2 counts of instances; it takes three, two to fit and one to forecast"
    );
    assert_eq!(
        lack("1\t10\t9\n2\t10\t5\n4\t10\t3\n"),
        "2 completed runs on 2 counts of instances; a forecast of scale-out needs at least 3 on 2"
    );
}
