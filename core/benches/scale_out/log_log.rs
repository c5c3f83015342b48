//! The log-log line: least squares of ln seconds over ln count and, where sizes differ, ln size.

use canary_gate_core::forecast::Predictive;

use super::table::Run;

/// A column whose sum of squares is below this part of the other's depends on it.
const INDEPENDENT: f64 = 1e-9;

pub(crate) struct LogLogLine {
    /// Means of ln count, ln size and ln seconds.
    center: [f64; 3],
    slopes: [f64; 2],
    /// The inverse of the centred normal matrix of ln count and ln size.
    inverse: [[f64; 2]; 2],
    runs: f64,
    residual_squares: f64,
    degrees_of_freedom: f64,
}

impl LogLogLine {
    /// On two counts or more.
    pub(crate) fn through(runs: &[Run]) -> Self {
        let points: Vec<[f64; 3]> = runs
            .iter()
            .map(|run| [f64::from(run.count), run.size, run.seconds].map(f64::ln))
            .collect();
        let number: f64 = points.iter().map(|_| 1.0).sum();
        let center =
            [0, 1, 2].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / number);
        let product = |one: usize, other: usize| -> f64 {
            points
                .iter()
                .map(|point| (point[one] - center[one]) * (point[other] - center[other]))
                .sum()
        };
        // The normal equations of two centred columns; with one size only the count is left.
        let determinant = product(0, 0) * product(1, 1) - product(0, 1).powi(2);
        let (inverse, terms) = if determinant > INDEPENDENT * product(0, 0).powi(2) {
            let across = -product(0, 1) / determinant;
            let inverse = [
                [product(1, 1) / determinant, across],
                [across, product(0, 0) / determinant],
            ];
            (inverse, 3.0)
        } else {
            ([[1.0 / product(0, 0), 0.0], [0.0, 0.0]], 2.0)
        };
        let slopes = inverse.map(|row| row[0] * product(0, 2) + row[1] * product(1, 2));
        let residual_squares = points
            .iter()
            .map(|point| {
                let along = |axis: usize| slopes[axis] * (point[axis] - center[axis]);
                (point[2] - center[2] - along(0) - along(1)).powi(2)
            })
            .sum();
        Self {
            center,
            slopes,
            inverse,
            runs: number,
            residual_squares,
            degrees_of_freedom: number - terms,
        }
    }

    /// Seconds of one new run, with the textbook's prediction interval (Draper and Smith, Applied Regression Analysis, 3rd ed. 1998,
    /// section 5.3); none, a point alone, where no run is left for the noise.
    pub(crate) fn at(&self, count: u32, size: f64) -> Predictive {
        let [count, size] = [
            f64::from(count).ln() - self.center[0],
            size.ln() - self.center[1],
        ];
        let median = (self.center[2] + self.slopes[0] * count + self.slopes[1] * size).exp();
        if self.degrees_of_freedom < 0.5 {
            return Predictive::log_student_t(median, 0.0, 1.0);
        }
        let [[a, b], [_, d]] = self.inverse;
        let leverage =
            1.0 / self.runs + a * count * count + 2.0 * b * count * size + d * size * size;
        let variance = self.residual_squares / self.degrees_of_freedom * (1.0 + leverage);
        Predictive::log_student_t(median, variance.sqrt(), self.degrees_of_freedom)
    }
}
