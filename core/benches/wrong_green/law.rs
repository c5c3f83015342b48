//! What the truth may be, by family.

/// How the time grows.
pub(crate) struct Law {
    pub(crate) name: &'static str,
    /// Of a fixed part of the full run and a share of the data, in any unit.
    pub(crate) time: fn(f64, f64) -> f64,
}

/// Laws that a verdict should treat alike.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) laws: &'static [Law],
}

macro_rules! laws {
    ($($name:literal: $time:expr),+ $(,)?) => {
        &[$(Law {
            name: $name,
            time: |fixed, x| {
                let growth: fn(f64) -> f64 = $time;
                fixed + (1.0 - fixed) * growth(x) / growth(1.0)
            },
        }),+]
    };
}

/// The slope grows to `times` as much at a share of the data.
fn bend(x: f64, at: f64, times: f64) -> f64 {
    x + (times - 1.0) * (x - at).max(0.0)
}

/// The time grows by `times` the whole line's at a share of the data.
fn jump(x: f64, at: f64, times: f64) -> f64 {
    if x < at { x } else { x + times }
}

pub(crate) const FAMILIES: [Family; 6] = [
    Family {
        name: "near linear",
        laws: laws! {
            "linear": |x| x,
            "x^0.95": |x| x.powf(0.95),
            "x^1.05": |x| x.powf(1.05),
            "x^1.1": |x| x.powf(1.1),
            "n log n, a million rows": |x| x * (1.0 + x.ln() / 1e6_f64.ln()),
            "n log n, a thousand rows": |x| x * (1.0 + x.ln() / 1e3_f64.ln()),
            "steps of 5%": |x| (x * 20.0).ceil(),
            "sine about linear": |x| x * (1.0 + 0.1 * (6.0 * x.ln()).sin()),
        },
    },
    Family {
        name: "powers to 2",
        laws: laws! {
            "x^1.35": |x| x.powf(1.35),
            "x^1.5": |x| x.powf(1.5),
            "x^1.75": |x| x.powf(1.75),
            "x^2": |x| x * x,
            "0.7 x + 0.3 x^2": |x| 0.7 * x + 0.3 * x * x,
            "0.4 x + 0.6 x^2": |x| 0.4 * x + 0.6 * x * x,
            "0.1 x + 0.9 x^2": |x| 0.1 * x + 0.9 * x * x,
        },
    },
    Family {
        name: "above 2",
        laws: laws! {
            "x^2.5": |x| x.powf(2.5),
            "x^3": |x| x.powi(3),
            "x^4": |x| x.powi(4),
            "0.5 x^2 + 0.5 x^3": |x| 0.5 * x * x + 0.5 * x.powi(3),
            "0.6 x + 0.4 x^3": |x| 0.6 * x + 0.4 * x.powi(3),
            "0.3 x + 0.7 x^3": |x| 0.3 * x + 0.7 * x.powi(3),
            "0.05 x + 0.95 x^3": |x| 0.05 * x + 0.95 * x.powi(3),
            "e^3x": |x| (3.0 * x).exp_m1(),
            "e^6x": |x| (6.0 * x).exp_m1(),
            "e^10x": |x| (10.0 * x).exp_m1(),
        },
    },
    Family {
        name: "cliffs to 40%",
        laws: laws! {
            "three times the slope from 10%": |x| bend(x, 0.1, 3.0),
            "three times the slope from 20%": |x| bend(x, 0.2, 3.0),
            "three times the slope from 40%": |x| bend(x, 0.4, 3.0),
            "ten times the slope from 20%": |x| bend(x, 0.2, 10.0),
            "ten times the slope from 40%": |x| bend(x, 0.4, 10.0),
            "jump by half at 10%": |x| jump(x, 0.1, 0.5),
            "jump by half at 25%": |x| jump(x, 0.25, 0.5),
            "jump by one at 40%": |x| jump(x, 0.4, 1.0),
            "hidden: the larger of 0.3 and x": |x| x.max(0.3),
            "hidden: the larger of 0.1 and x^2": |x| (x * x).max(0.1),
        },
    },
    Family {
        name: "cliffs beyond",
        laws: laws! {
            "three times the slope from 50%": |x| bend(x, 0.5, 3.0),
            "ten times the slope from 60%": |x| bend(x, 0.6, 10.0),
            "jump by half at 60%": |x| jump(x, 0.6, 0.5),
            "jump by one at 70%": |x| jump(x, 0.7, 1.0),
        },
    },
    Family {
        name: "levels off",
        laws: laws! {
            "x^0.5": |x| x.sqrt(),
            "x^0.7": |x| x.powf(0.7),
            "x^0.85": |x| x.powf(0.85),
            "plateau from 10%": |x| x.min(0.1),
            "plateau from 30%": |x| x.min(0.3),
            "plateau from 60%": |x| x.min(0.6),
            "saturation, half at 5%": |x| x / (x + 0.05),
            "saturation, half at 30%": |x| x / (x + 0.3),
            "half the slope from 20%": |x| bend(x, 0.2, 0.5),
            "logarithm": |x| (1.0 + 100.0 * x).ln(),
        },
    },
];
