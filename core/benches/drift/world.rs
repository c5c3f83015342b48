//! Simulated series of checks whose truth is known.

use super::random::Random;

/// What makes the checks of one job differ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World {
    pub(crate) name: &'static str,
    /// From canary to canary, as a standard deviation of ln y.
    pub(crate) canary_noise: f64,
    /// From check to check: another day, another machine.
    pub(crate) session_noise: f64,
    pub(crate) sessions: Sessions,
}

/// How the noise from check to check comes about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sessions {
    /// Independent and normal, which the chart takes for granted.
    Normal,
    /// Each keeps this part of the one before (a first-order autoregression); as large in all.
    Remembering(f64),
    /// Student-t on 3 degrees of freedom; as large in all.
    HeavyTailed,
}

/// Of each check.
const CANARIES: u32 = 9;

/// What the forecast takes the noise to be before it is measured, and how many canaries' worth that is.
const EXPECTED_NOISE: f64 = 0.05;
const EXPECTED_NOISE_DEGREES_OF_FREEDOM: u32 = 6;

/// One check: the logarithm of its level and its standard error, as they follow from the canaries.
pub(crate) type Drawn = (f64, f64);

/// A series as it goes on.
pub(crate) struct Series {
    world: World,
    random: Random,
    session: Option<f64>,
}

impl World {
    pub(crate) const fn normal(name: &'static str, session_noise: f64) -> Self {
        Self {
            name,
            canary_noise: 0.05,
            session_noise,
            sessions: Sessions::Normal,
        }
    }

    /// Another series for each number.
    pub(crate) fn series(&self, number: u64) -> Series {
        Series {
            world: *self,
            random: Random(number.wrapping_mul(0x2545_f491_4f6c_dd1d)),
            session: None,
        }
    }
}

impl Series {
    /// The next check, where the truth is `level` times that of the reference.
    pub(crate) fn next_at(&mut self, level: f64) -> Drawn {
        let of_mean = 1.0 / f64::from(CANARIES).sqrt();
        let session = self.next_session();
        let error = self.world.canary_noise * of_mean * self.random.normal();
        (
            level.ln() + session + error,
            self.noise_as_measured() * of_mean,
        )
    }

    /// What the next check's day and machine add to ln y of all its canaries.
    pub(crate) fn next_session(&mut self) -> f64 {
        let World {
            session_noise,
            sessions,
            ..
        } = self.world;
        let fresh = match sessions {
            Sessions::Normal | Sessions::Remembering(_) => self.random.normal(),
            // Of variance 1: a Student-t on 3 degrees of freedom has 3.
            Sessions::HeavyTailed => self.random.normal() / self.random.chi_squared(3).sqrt(),
        };
        let session = match (sessions, self.session) {
            (Sessions::Remembering(part), Some(before)) => {
                part * before + (1.0 - part * part).sqrt() * fresh
            }
            _ => fresh,
        };
        self.session = Some(session);
        session_noise * session
    }

    /// From the scatter of the canaries, with the forecast's prior.
    fn noise_as_measured(&mut self) -> f64 {
        let scatter = self.world.canary_noise.powi(2) * self.random.chi_squared(CANARIES - 1);
        let expected = f64::from(EXPECTED_NOISE_DEGREES_OF_FREEDOM) * EXPECTED_NOISE.powi(2);
        let degrees_of_freedom = EXPECTED_NOISE_DEGREES_OF_FREEDOM + CANARIES - 1;
        ((expected + scatter) / f64::from(degrees_of_freedom)).sqrt()
    }
}
