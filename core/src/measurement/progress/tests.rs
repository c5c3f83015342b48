use super::*;

const ESCAPE: (char, &str) = ('␛', "\x1b");

/// The counts of each line, the innermost first: its loop, what is done, of how much.
#[test]
fn a_line_is_read_by_the_first_format_that_it_is_of() {
    let lines = include_str!("lines.txt").lines().map(|line| {
        let seen = formats::counts(&line.replace(ESCAPE.0, ESCAPE.1)).into_iter();
        let words = seen.map(|seen| {
            let total = seen.total.map_or("?".to_owned(), |total| total.to_string());
            format!(
                "\n    {}, `{}`: {} of {total}",
                seen.format, seen.label, seen.done
            )
        });
        format!("{line}{}", words.collect::<String>())
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

/// What is made of lines, each with its seconds, in a run of `end` seconds.
fn made_of(lines: &[(f64, String)], pattern: Option<&str>, end: f64) -> String {
    let pattern = pattern.map(|pattern| PrintedMetric::progress(pattern).unwrap());
    let [nothing, mut loops] = [(); 2].map(|()| PrintedLoops::default());
    for (at, line) in lines {
        loops.hear(Seconds(*at), line, pattern.as_ref());
    }
    let streams = [&nothing, &loops];
    let Some(made) = JobProgress::of_host(streams, Some(Seconds(end))) else {
        return "nothing".to_owned();
    };
    let points = &made.points;
    assert!(points.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1));
    assert!(points.len() <= POINTS + 1);
    let ends = [points.first(), points.last()].into_iter().flatten();
    let ends = ends.map(|(at, done)| format!(", {done} at {}", at.0));
    let total = made.total.map_or("?".to_owned(), |total| total.to_string());
    let why = made
        .spoilt()
        .map_or(String::new(), |why| format!(" ({why})"));
    format!(
        "{}{}{why}",
        made.format,
        ends.collect::<String>() + " of " + &total
    )
}

#[test]
fn recordings_of_full_runs_are_read() {
    let recorded = |recording: &str| {
        let (head, rows) = recording.split_once('\n').unwrap();
        let head: serde_json::Value = serde_json::from_str(head).unwrap();
        let lines = rows.lines().map(|row| serde_json::from_str(row).unwrap());
        let made = made_of(
            &lines.collect::<Vec<_>>(),
            None,
            head["seconds"].as_f64().unwrap(),
        );
        format!("{}\n{made}\n", head["what"])
    };
    let recordings = [
        include_str!("../../../../benches/progress/jax_steps.jsonl"),
        include_str!("../../../../benches/progress/lightning_fit.jsonl"),
        include_str!("../../../../benches/progress/torch_tqdm.jsonl"),
        include_str!("../../../../benches/progress/transformers_trainer.jsonl"),
    ];
    insta::assert_snapshot!(recordings.map(recorded).join("\n"));
}

macro_rules! outputs {
    ($($name:literal)+) => {[$(
        ($name, include_str!(concat!("../../../../tests/data/progress/", $name, ".txt")))
    ),+]};
}

/// As if each line came a tenth of a second after the one before.
#[test]
fn real_output_of_libraries_is_read() {
    let outputs = outputs! {
        "catboost" "epoch_of" "iteration_of_with_tail" "keras" "lightgbm" "lightgbm_early_stopping"
        "sklearn_gradient_boosting" "sklearn_hist_gradient_boosting" "sklearn_mlp" "step_of" "tqdm"
        "tqdm_per_epoch" "xgboost" "xgboost_every_tenth"
    };
    let made = outputs.map(|(name, output)| {
        let lines = output.split(['\n', '\r', '\u{8}']).zip(1_u32..);
        let lines = lines.map(|(line, tenth)| (f64::from(tenth) / 10.0, line.to_owned()));
        let lines = lines.collect::<Vec<_>>();
        format!(
            "{name}\n    {}",
            made_of(
                &lines,
                None,
                crate::units::count_as_float(lines.len()) / 10.0
            )
        )
    });
    insta::assert_snapshot!(made.join("\n"));
}

/// `$ 3 x 40`: epochs and steps, a tenth of a second each from the first second on, in a run of 14 seconds; `at 9`, `ceil`: when the
/// lines come; `by`: the spec's pattern. Lines of each step, of each epoch's first and last, and of those of one epoch.
#[test]
fn loops_are_told_apart_and_what_spoils_them_is_said() {
    let made = include_str!("series.txt").split("## ").skip(1).map(|case| {
        let (name, case) = case.split_once("\n$ ").unwrap();
        let (head, templates) = case.split_once('\n').unwrap();
        let (head, pattern) = head
            .split_once(" by ")
            .map_or((head, None), |it| (it.0, Some(it.1)));
        let mut head = head.split(' ');
        let [epochs, steps] =
            [(); 2].map(|()| head.find_map(|word| word.parse::<u32>().ok()).unwrap());
        let comes = head.collect::<Vec<_>>();
        let mut lines = Vec::new();
        for all in 1..=epochs * steps {
            let (epoch, step) = ((all - 1) / steps + 1, (all - 1) % steps + 1);
            let at = match comes[..] {
                ["at", at] => at.parse().unwrap(),
                ["ceil"] => f64::from(all + 9).div_euclid(10.0) + 1.0,
                _ => f64::from(all + 9) / 10.0,
            };
            for template in templates.lines() {
                let (when, template) = template.split_once(' ').unwrap_or_default();
                let is_epochs = when == epoch.to_string() || when == "each";
                if is_epochs || when == "first" && step == 1 || when == "last" && step == steps {
                    let names = ["{e}", "{e0}", "{s}", "{s0}", "{all}"].into_iter();
                    let named = names.zip([epoch, epoch - 1, step, step - 1, all]);
                    let line = template.replace(ESCAPE.0, ESCAPE.1);
                    lines.push((
                        at,
                        named.fold(line, |line, (name, value)| {
                            line.replace(name, &value.to_string())
                        }),
                    ));
                }
            }
        }
        format!("{name}\n    {}", made_of(&lines, pattern, 14.0))
    });
    insta::assert_snapshot!(made.collect::<Vec<_>>().join("\n"));
}

#[test]
fn memory_is_bounded_whatever_is_printed() {
    let mut loops = PrintedLoops::default();
    for line in 0..3000_u32 {
        let label = "x".repeat(usize::try_from(line % 100).unwrap());
        let line = (
            f64::from(line),
            format!("{label} 5%|█ | {line}/3000 [00:01<00:04, 9.9it/s]"),
        );
        loops.hear(Seconds(line.0), &line.1, None);
    }
    let is_short = |one: &Loop| one.points.kept.len() <= POINTS && one.first.label.len() <= 40;
    assert!(loops.0.len() == LOOPS && loops.0.iter().all(is_short));
}
