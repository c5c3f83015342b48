use proptest::prelude::*;

use super::*;

fn metric() -> PrintedMetric {
    PrintedMetric::new("step", "step time: (\\S+)").unwrap()
}

fn sought(metric: PrintedMetric) -> Sought {
    Sought {
        step: Some(metric),
        ..Sought::default()
    }
}

/// When the chunks of these tests come.
const NOW: Seconds = Seconds(1.0);

fn printed(text: &[u8]) -> Printed {
    let sought = sought(metric());
    let mut reader = OutputReader::new(&sought);
    reader.read(NOW, text);
    reader.finish()
}

fn of_step(hosts: &[&[Printed; 2]]) -> Result<f64, String> {
    let mut found = PrintedFigures::of_run(&sought(metric()), hosts, true, None);
    let step = found.step_seconds.map(|Seconds(time)| time);
    step.ok_or_else(|| found.notes.remove(0))
}

fn seconds_of(text: &[u8]) -> Option<f64> {
    of_step(&[&[printed(text), Printed::default()]]).ok()
}

#[test]
fn a_step_is_the_median_of_the_numbers_above_0_without_the_first() {
    for (text, expected) in [
        (
            "step time: 9\nstep time: 0.2\nstep time: 0.4\nstep time: 0.3\n",
            Some(0.3),
        ),
        (
            "step time: 9\nstep time: 0.25\nstep time: 0.75\n",
            Some(0.5),
        ),
        ("step time: 9\n", Some(9.0)),
        ("epoch 1\n", None),
        // A carriage return ends a line, and the last line needs no end.
        (
            "step time: 5\rstep time: 1\r\nstep time: 2\rstep time: 3",
            Some(2.0),
        ),
        // The full stop of a sentence is no part of the number.
        (
            "step time: NaN\nstep time: -1\nstep time: 1e999\nstep time: soon\nstep time: 8\nstep time: 0.25.\n",
            Some(0.25),
        ),
    ] {
        assert_eq!(seconds_of(text.as_bytes()), expected, "{text}");
    }
}

/// mpirun brings the lines of all processes to the first host, each piece with its tag.
#[test]
fn a_pattern_from_a_line_s_begin_matches_what_mpirun_tags_and_one_with_a_tag_chooses_a_process() {
    let of = |pattern: &str| {
        let metric = PrintedMetric::new("step", pattern).unwrap();
        let sought = sought(metric);
        let mut reader = OutputReader::new(&sought);
        reader.read(
            NOW,
            b"[1,0]<stdout>:step time: 9\n[1,1]<stderr>:step time: 3\n[1,0]<stdout>:step ti[1,0]<stdout>:me: 5\n",
        );
        reader.finish().0.remove(0).kept
    };
    assert_eq!(of("^step time: ([0-9.]+)$"), [9.0, 3.0, 5.0]);
    assert_eq!(of(r"^\[1,1\]<stderr>:step time: ([0-9.]+)"), [3.0]);
}

#[test]
fn bytes_that_are_no_text_and_endless_lines_do_no_harm() {
    let mut text = b"\xff\xfe step time: 4 \xff\nstep time: 2\n".to_vec();
    text.extend(std::iter::repeat_n(b'x', 10_000_000));
    text.extend(b"step time: 77\nstep time: 2\n");
    assert_eq!(seconds_of(&text), Some(2.0));
    let sought = sought(metric());
    let mut reader = OutputReader::new(&sought);
    reader.read(NOW, &text[..9_000_000]);
    assert_eq!(reader.line.len(), LINE_BYTES);
}

#[test]
fn very_many_numbers_are_thinned_evenly() {
    let mut numbers = Values::default();
    for number in 0..1_000_000_u32 {
        numbers.add(f64::from(number));
        assert!(numbers.kept.len() <= KEPT);
    }
    assert!(numbers.kept.len() > KEPT / 2);
    assert!(
        numbers
            .kept
            .windows(2)
            .all(|pair| pair[1] - pair[0] == 128.0)
    );
    // The level is that of the later half.
    let level = level(&numbers);
    assert!((level.lowest.unwrap() - 750_000.0).abs() <= 128.0);
    assert_eq!(level.values, 500_000);
}

#[test]
fn the_stream_that_says_more_speaks_for_a_host_and_the_slowest_host_for_the_run() {
    let quiet = || printed(b"step time: 7\n");
    let steps = |time: u32| printed(format!("step time: {time}\n").repeat(3).as_bytes());
    assert_eq!(
        of_step(&[&[quiet(), steps(2)], &[steps(3), quiet()]]),
        Ok(3.0)
    );
    assert_eq!(of_step(&[&[Printed::default(), quiet()]]), Ok(7.0));
}

#[test]
fn a_run_without_a_step_time_says_why() {
    for (text, why) in [
        (
            "done\n",
            "no line of the output matched the step metric `step`",
        ),
        (
            "step time: -1\n",
            "the one line that matched the step metric `step` had no number above 0",
        ),
        (
            "step time: -1\nstep time: nan\n",
            "none of the 2 lines that matched the step metric `step` had a number above 0",
        ),
    ] {
        let found = of_step(&[&[printed(text.as_bytes()), Printed::default()]]);
        assert_eq!(found, Err(why.to_owned()));
    }
}

/// Of hosts, parted by `;`, the streams, parted by `/`, as their values; `12x50` is twelve times 50. What comes of them.
fn level_of(hosts: &str) -> String {
    let of_stream = |values: &str| {
        let mut read = Values::default();
        for value in values.split_whitespace() {
            let (times, value) = value.split_once('x').unwrap_or(("1", value));
            (0..times.parse().unwrap()).for_each(|_| read.add(number(value)));
        }
        // Nothing was read of a stream without values.
        let values = if read.count == 0 { vec![] } else { vec![read] };
        Printed(values, PrintedLoops::default())
    };
    let of_host = |host: &str| {
        let (stdout, stderr) = host.split_once('/').unwrap_or((host, ""));
        [stdout, stderr].map(of_stream)
    };
    let hosts: Vec<[Printed; 2]> = hosts.split(';').map(of_host).collect();
    let sought = Sought {
        levels: vec![PrintedMetric::new("rate", r"tok/s: (\S+)").unwrap()],
        ..Sought::default()
    };
    let found = PrintedFigures::of_run(&sought, &hosts.iter().collect::<Vec<_>>(), true, None);
    let level = found.metrics.values().map(|level| {
        let [lowest, highest] = [level.lowest, level.highest].map(|end| end.unwrap_or(f64::NAN));
        format!("{lowest} to {highest} of {}", level.values)
    });
    level.chain(found.notes).collect::<Vec<_>>().join("; ")
}

/// Of hosts that print it the lowest and the highest; a value that is no number may be any.
#[test]
fn the_level_is_the_median_of_the_later_half() {
    for (hosts, level) in [
        ("1 2 3 4 5 90 100 110 95 1e3", "100 to 100 of 5"),
        // The middle one of an odd count is in neither half.
        ("5x1 7 10 20 30 40 50", "30 to 30 of 5"),
        ("5x9 1 2 3 4 nan", "2 to 3 of 5"),
        ("/12x40; 12x50/1; /2; /", "40 to 50 of 6"),
        (
            "5x9 1 2 inf nan soon",
            "1 to NaN of 5; half of the later values of the metric `rate` and more are no finite numbers",
        ),
        (
            "9x1",
            "the metric `rate` has 4 values in the later half of the canary, where 5 are needed",
        ),
        (
            "",
            "fewer than 2 lines of the output matched the metric `rate`",
        ),
    ] {
        assert_eq!(level_of(hosts), level, "{hosts}");
    }
}

#[test]
fn a_run_that_broke_off_is_not_said_to_lack_what_it_prints() {
    let metric = |name, pattern| PrintedMetric::new(name, pattern).unwrap();
    let sought = Sought {
        step: Some(metric("step_time", "step ([0-9.]+) s")),
        levels: vec![metric("tokens_per_second", "tok/s ([0-9.]+)")],
        progress: Some(PrintedMetric::progress("iter (\\d+)").unwrap()),
    };
    let nothing = <[Printed; 2]>::default();
    let notes = |is_completed| {
        let figures = PrintedFigures::of_run(&sought, &[&nothing], is_completed, None);
        figures.notes.len()
    };
    assert_eq!((notes(true), notes(false)), (3, 0));
}

proptest! {
    #[test]
    fn how_the_stream_is_cut_does_not_matter(
        times in prop::collection::vec(0.001_f64..1e6, 0..20),
        cut in 1_usize..40,
    ) {
        let text: String = times.iter().map(|time| format!("avg step time: {time} s\r\n")).collect();
        let sought = sought(metric());
        let mut reader = OutputReader::new(&sought);
        text.as_bytes().chunks(cut).for_each(|chunk| reader.read(NOW, chunk));
        let found = reader.finish();
        prop_assert_eq!(found.0[0].count, times.len() as u64);
        prop_assert_eq!(found, printed(text.as_bytes()));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        printed(&bytes);
    }
}
