//! The pure parts of `benches/scale_out.rs`: how it reads a table, and how it scores.

#[path = "../../benches/scale_out/score.rs"]
mod score;
#[path = "../../benches/scale_out/table.rs"]
mod table;

use score::{Method, Score, Split};
use table::read;

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

fn largest_error(score: &Score, method: Method) -> f64 {
    score.of_method(method).error().unwrap()[2]
}

#[test]
fn a_law_is_forecast_without_error() {
    let mut sum = Score::default();
    for group in read(&exact()).unwrap() {
        let score = Score::of(&group, Split::LowerHalves, usize::MAX).unwrap();
        // 4 and 6 instances with size 4: a single repetition of each.
        let law = score.of_method(Method::Weighed);
        assert_eq!((law.errors.len(), law.runs), (2, 2));
        assert!(law.coverage() == 1.0 && law.ratio() > 1.0);
        let weighed = largest_error(&score, Method::Weighed);
        assert!(weighed < 0.05, "{weighed}");
        // From 3 instances, on which the large size takes 90 s: 67.5 s and 45 s, each up to 90 s; it takes 70 and 50.
        let assumed = score.of_method(Method::Assumed);
        assert_eq!(assumed.coverage(), 1.0);
        let middle = ((4.0_f64 / 3.0).powi(2) + 4.0) / 2.0;
        assert!((assumed.ratio() - middle).abs() < 1e-6);
        sum.add(&score);
    }
    let sum = sum.of_method(Method::Weighed);
    assert_eq!((sum.errors.len(), sum.runs), (8, 8));
}

/// 100 / n on 2, 4, 8 and 16 instances with two sizes: from 2 and 4, each size by itself or both in one fit.
#[test]
fn the_smallest_count_and_four_are_the_measured_ones() {
    let mut text = String::from("instance_count\tsize\tgross_runtime\n");
    for count in [2_u32, 4, 6, 8, 16] {
        for size in [1_u32, 2] {
            let seconds = f64::from(100 * size) / f64::from(count);
            text += &format!("{count}\t{size}\t{seconds}\n").repeat(3);
        }
    }
    let group = &read(&text).unwrap()[0];
    for split in [Split::EachSize, Split::AllSizes] {
        for repeats in [1, 2, usize::MAX] {
            let score = Score::of(group, split, repeats).unwrap();
            let law = score.of_method(Method::Weighed);
            assert_eq!((law.errors.len(), law.runs), (4, 12));
        }
    }
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
