//! [`Spread`]: how far a new run may lie from the point.

use std::f64::consts::FRAC_PI_2;

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// From here a Student-t is indistinguishable from a normal, and its quantile would lose digits.
const NORMAL_FROM: f64 = 1e7;

/// From 2 to so many whole degrees of freedom the distribution function is a short series.
const SERIES_TO: f64 = 100.0;

/// How far a new run may lie from the point: scale and degrees of freedom of a Student-t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::forecast) struct Spread {
    /// Not negative; 0 is a quantity known exactly.
    pub(in crate::forecast) scale: f64,
    /// Positive; infinite for a normal.
    pub(in crate::forecast) degrees_of_freedom: f64,
}

impl Spread {
    pub(in crate::forecast) const fn new(scale: f64, degrees_of_freedom: f64) -> Self {
        Self {
            scale,
            degrees_of_freedom,
        }
    }

    pub(super) fn normal(scale: f64) -> Self {
        Self::new(scale, f64::INFINITY)
    }

    /// The spread of the sum of two independent errors, as one Student-t whose degrees of freedom follow the
    /// Welch-Satterthwaite equation (Satterthwaite, Biometrics Bulletin 2, 1946, eq. 17).
    pub(in crate::forecast) fn and(self, other: Self) -> Self {
        let scale = self.scale.hypot(other.scale);
        if scale == 0.0 {
            return self;
        }
        // Shares of the variance, so that no square can overflow or vanish.
        let own = (self.scale / scale).powi(2);
        let others = (other.scale / scale).powi(2);
        let doubt =
            own.powi(2) / self.degrees_of_freedom + others.powi(2) / other.degrees_of_freedom;
        Self::new(scale, 1.0 / doubt)
    }

    /// The spread with an independent uncertainty of scale `doubt` added to the variance, on the same degrees of freedom: the
    /// uncertainty is assumed to be known no better than the noise.
    pub(in crate::forecast) fn with_doubt(mut self, doubt: f64) -> Self {
        self.scale = (self.scale * self.scale + doubt * doubt).sqrt();
        self
    }

    pub(in crate::forecast) fn quantile(self, p: f64) -> f64 {
        if self.scale == 0.0 || p == 0.5 {
            return 0.0;
        }
        if self.degrees_of_freedom >= NORMAL_FROM {
            return self.scale * Normal::standard().inverse_cdf(p);
        }
        // One Newton step on the tail corrects statrs's quantile, which is off by 2e-6 for 100,000 degrees of freedom.
        let (student, tail) = (self.student(), p.min(1.0 - p));
        let rough = student.inverse_cdf(tail).abs();
        let distance = rough + (student.sf(rough) - tail) / student.pdf(rough);
        self.scale * if p < 0.5 { -distance } else { distance }
    }

    /// P(the error is above `distance`).
    pub(in crate::forecast) fn chance_above(self, distance: f64) -> f64 {
        self.around(distance)[1]
    }

    /// P(the error is below `distance`), P(it is above), and the density there; a spread of 0 is never beyond its own point.
    pub(super) fn around(self, distance: f64) -> [f64; 3] {
        if self.scale == 0.0 {
            return [distance > 0.0, distance < 0.0, false].map(f64::from);
        }
        let z = distance / self.scale;
        let (beyond, density) = match self.degrees_of_freedom {
            NORMAL_FROM.. => (Normal::standard().sf(z.abs()), Normal::standard().pdf(z)),
            freedom @ 2.0..=SERIES_TO if freedom.fract() == 0.0 => student_tail(z.abs(), freedom),
            _ => (self.student().sf(z.abs()), self.student().pdf(z)),
        };
        match z < 0.0 {
            true => [beyond, 1.0 - beyond, density / self.scale],
            false => [1.0 - beyond, beyond, density / self.scale],
        }
    }

    fn student(self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.degrees_of_freedom)
            .expect("degrees of freedom are positive by construction")
    }
}

/// P(T > `t`) of a Student-t with 2 or more whole degrees of freedom, `t` not negative, and the density: a finite series, and thirty times
/// faster than the incomplete beta function (Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4), by
/// which all forecasts of a job would take twice as long. Exact to 1e-16, so that a tail below 1e-12 has few digits.
fn student_tail(t: f64, degrees_of_freedom: f64) -> (f64, f64) {
    // Of the angle whose tangent is t over the root of the degrees of freedom; the square of a huge t is still a number.
    let t = t.min(1e100);
    let cosine_square = degrees_of_freedom / (t * t + degrees_of_freedom);
    let (root, cosine) = (degrees_of_freedom.sqrt(), cosine_square.sqrt());
    let sine = t / root * cosine;
    // From the last term on, each 1 more than its part of the next; and the last term itself.
    let (mut sum, mut last) = (1.0, 1.0);
    let mut index = degrees_of_freedom - 2.0;
    while index > 1.0 {
        let factor = cosine_square * ((index - 1.0) / index);
        sum = 1.0 + sum * factor;
        last *= factor;
        index -= 2.0;
    }
    // The part in the middle, and its derivative by the angle.
    let slope = (degrees_of_freedom - 1.0) * last * cosine;
    let (central, slope) = match index == 0.0 {
        // Of an even number.
        true => (sine * sum, slope),
        false => (
            (sine.atan2(cosine) + sine * cosine * sum) / FRAC_PI_2,
            slope * cosine / FRAC_PI_2,
        ),
    };
    let tail = ((1.0 - central) / 2.0).max(0.0);
    (tail, slope * cosine_square / (2.0 * root))
}
