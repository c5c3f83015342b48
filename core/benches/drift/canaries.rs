//! The levels of a history as the program finds them: from canaries, under one law.

use canary_gate_core::drift::chart::{ChartPoint, MOST_CHECKS};
use canary_gate_core::forecast::ratio::levels;
use canary_gate_core::measurement::{Measurement, Outcome};
use canary_gate_core::units::{Bytes, Fraction, Seconds};

use crate::random::Random;
use crate::world::World;

/// Of the data.
const BYTES: u64 = 10 * Bytes::GIB;

/// A history without any change, each check from three canaries of 1, 2 and 3 % each of a job whose time is linear in the data:
/// a full run takes 1,000 seconds, 50 of them without any data.
pub(crate) fn history(world: &World, number: u32) -> Vec<ChartPoint> {
    let mut series = world.series(u64::from(number));
    let mut random = Random(u64::from(number) << 32);
    let records: Vec<Vec<Measurement>> = (0..MOST_CHECKS)
        .map(|_| {
            let session = series.next_session();
            [1_u32, 1, 1, 2, 2, 2, 3, 3, 3]
                .into_iter()
                .map(|percent| {
                    let share = f64::from(percent) / 100.0;
                    let error = session + world.canary_noise * random.normal();
                    canary(share, (50.0 + 950.0 * share) * error.exp())
                })
                .collect()
        })
        .collect();
    let records: Vec<&[Measurement]> = records.iter().map(Vec::as_slice).collect();
    let levels = levels(&records).expect("every record has enough runs on enough sizes");
    let points = levels.into_iter().flatten().map(|level| {
        ChartPoint::new(level.ln_seconds - level.ln_size, level.standard_error)
            .expect("a level is finite")
    });
    points.collect()
}

fn canary(share: f64, seconds: f64) -> Measurement {
    Measurement {
        bytes: Some(Bytes::from_f64(Bytes(BYTES).as_f64() * share)),
        bytes_total: Some(Bytes(BYTES)),
        training_seconds: Some(Seconds(seconds)),
        ..Measurement::without_figures(
            "simulated".to_owned(),
            "ml.m5.2xlarge".parse().expect("a machine's name"),
            Fraction(share),
            Outcome::Completed,
        )
    }
}
