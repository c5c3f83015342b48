//! The pure parts of `benches/scale_out.rs`: how it reads a table, and how it scores.

#[path = "../../core/benches/scale_out/ernest.rs"]
mod ernest;
#[path = "../../core/benches/scale_out/log_log.rs"]
mod log_log;
#[path = "../../core/benches/scale_out/non_negative.rs"]
mod non_negative;
#[path = "../../core/benches/scale_out/score.rs"]
mod score;
#[path = "../../core/benches/scale_out/table.rs"]
mod table;

use canary_gate::forecast::scale_out::{COUNT_PRIOR, Load, ScaleOutRun};
use log_log::LogLogLine;
use non_negative::NonNegative;
use score::{Method, Score, Split};
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

/// Of the cells in the upper halves.
fn score_of(text: &str) -> Score {
    let groups = read(text).unwrap();
    Score::of(&groups[0], Split::LowerHalves, usize::MAX, &COUNT_PRIOR).unwrap()
}

fn largest_error(score: &Score, method: Method) -> f64 {
    score.of_method(method).error().unwrap()[2]
}

#[test]
fn a_law_is_forecast_without_error() {
    let mut sum = Score::default();
    for group in read(&exact()).unwrap() {
        let score = Score::of(&group, Split::LowerHalves, usize::MAX, &COUNT_PRIOR).unwrap();
        // 4 and 6 instances with size 4: a single repetition of each.
        let ernest = score.of_method(Method::Ernest);
        assert_eq!((ernest.errors.len(), ernest.runs), (2, 2));
        assert_eq!(ernest.coverage(), 1.0);
        assert!(ernest.ratio() > 1.0);
        // All runs are inside, so it is the mean width.
        assert!((ernest.interval_score() / ernest.ratio().ln() - 1.0).abs() < 0.1);
        assert!(largest_error(&score, Method::Ernest) < 1e-9);
        let weighed = largest_error(&score, Method::Weighed);
        assert!(weighed < 0.05, "{weighed}");
        // From 3 instances, on which the large size takes 90 s: 67.5 s and 45 s, each up to 90 s; it takes 70 and 50.
        let assumed = score.of_method(Method::Assumed);
        assert_eq!(assumed.coverage(), 1.0);
        let middle = ((4.0_f64 / 3.0).powi(2) + 4.0) / 2.0;
        assert!((assumed.ratio() - middle).abs() < 1e-6);
        sum.add(&score);
    }
    let sum = sum.of_method(Method::Ernest);
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
    let score = score_of(&text);
    assert_eq!(score.of_method(Method::LogLog).errors.len(), 4);
    assert!(largest_error(&score, Method::LogLog) < 1e-9);
    assert!(largest_error(&score, Method::Ernest) > 0.01);
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
            let score = Score::of(group, split, repeats, &COUNT_PRIOR).unwrap();
            let line = score.of_method(Method::LogLog);
            assert_eq!((line.errors.len(), line.runs), (4, 12));
            assert!(largest_error(&score, Method::LogLog) < 1e-9);
        }
    }
    let small_sizes = Score::of(group, Split::SmallSizes, 1, &COUNT_PRIOR).unwrap();
    let weighed = small_sizes.of_method(Method::Weighed);
    assert_eq!((weighed.errors.len(), weighed.runs), (5, 15));
}

/// numpy 2 and scipy 1.17.1: `nnls` on the rows weighted by nearness, the delta method by `linalg.inv`, `stats.t.ppf`.
#[test]
fn ernests_point_and_interval_are_those_of_the_formulas() {
    let runs = [
        (1, 1.0, 100.0),
        (1, 0.5, 55.0),
        (2, 1.0, 55.0),
        (2, 0.5, 33.0),
        (4, 1.0, 36.0),
        (4, 0.5, 26.0),
        (8, 1.0, 32.0),
        (8, 0.5, 27.0),
    ]
    .map(|(hosts, share, seconds)| ScaleOutRun {
        load: Load::even(hosts, share),
        seconds,
    });
    let answer = ernest::forecast(&runs, Load::even(4, 1.0)).unwrap();
    assert!((answer.median() / 36.140_765_734_626_23 - 1.0).abs() < 1e-10);
    assert!((answer.quantile(0.95) / 42.202_466_076_720_44 - 1.0).abs() < 1e-9);
}

/// numpy 2.4.6 and scipy 1.17.1: `linalg.lstsq` and `linalg.inv` on the logarithms, `stats.t.ppf`.
#[test]
fn the_lines_interval_is_the_textbooks() {
    let run = |(count, size, seconds)| Run {
        count,
        size,
        seconds,
    };
    let runs = [
        (1, 1.0, 100.0),
        (2, 1.0, 60.0),
        (4, 1.0, 33.0),
        (2, 2.0, 110.0),
        (4, 2.0, 64.0),
    ]
    .map(run);
    let answer = LogLogLine::through(&runs).at(8, 4.0);
    assert!((answer.median() - 69.563_372_593).abs() < 1e-6);
    assert!((answer.quantile(0.95) - 80.443_043_629).abs() < 1e-4);
    let one_size = LogLogLine::through(&runs[..3]).at(8, 1.0);
    assert!((one_size.median() - 19.233_973_055).abs() < 1e-6);
    assert!((one_size.quantile(0.95) - 28.966_877_881).abs() < 1e-4);
    // Two points leave nothing for the noise.
    let exact = LogLogLine::through(&runs[..2]).at(4, 1.0);
    assert!((exact.quantile(0.95) - 36.0).abs() < 1e-9);
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

const ROWS: [[f64; 4]; 5] = [
    [1.0, 2.0, 3.0, 4.0],
    [2.0, 1.0, 0.0, 1.0],
    [1.0, 1.0, 1.0, 1.0],
    [4.0, 3.0, 2.0, 2.0],
    [0.0, 1.0, 3.0, -1.0],
];

/// scipy 1.17.1, `optimize.nnls`: coefficients and the norm of the residual.
#[test]
fn the_coefficients_are_those_of_scipy() {
    for (targets, coefficients, norm) in [
        (
            [1.0, 2.0, 3.0, 4.0, 5.0],
            [0.5635359116022098, 0.0, 0.9668508287292819, 0.0],
            3.6655782747607204,
        ),
        (
            [4.0, -1.0, 2.0, -3.0, 1.0],
            [0.0, 0.0, 0.33933933933933946, 0.22822822822822816],
            4.998498272980094,
        ),
        ([-1.0, -2.0, -3.0, -4.0, -5.0], [0.0; 4], 7.416198487095663),
        (
            [10.0, 5.0, 4.0, 15.0, 3.0],
            [
                0.6739526411657568,
                3.6302367941712195,
                0.0,
                0.4972677595628413,
            ],
            1.0331482294988343,
        ),
    ] {
        let fit = NonNegative::fit(&ROWS, &targets, 4);
        for (own, scipys) in fit.coefficients.iter().zip(coefficients) {
            assert!((own - scipys).abs() < 1e-12, "{:?}", fit.coefficients);
        }
        assert!((fit.residual_squares.sqrt() - norm).abs() < 1e-12);
    }
}

/// The mean of four values doubts itself by a quarter of their variance; a line through x = 1, 2, 3 at its end by
/// 1/3 + 1/2.
#[test]
fn leverage_is_that_of_the_textbook() {
    let mean = NonNegative::fit(&[[1.0]; 4], &[1.0, 2.0, 3.0, 4.0], 1);
    assert!((mean.leverage(&[1.0]) - 0.25).abs() < 1e-12);
    let line = NonNegative::fit(&[[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]], &[3.0, 5.0, 7.5], 2);
    assert!((line.leverage(&[1.0, 3.0]) - (1.0 / 3.0 + 0.5)).abs() < 1e-12);
}
