//! Non-negative least squares for a handful of terms.
//!
//! The optimum is the plain least-squares solution of the terms that are positive in it (the Karush-Kuhn-Tucker
//! conditions: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23). With four terms there are fifteen
//! such sets, so all are tried: no iteration, no tolerance to end it, the same answer on every machine.

/// The least share of a column's norm that must remain after removing the others; else it depends on them.
const INDEPENDENT: f64 = 1e-10;

/// As a share of the targets' sum of squares: fits that differ by less are equal except for rounding.
const ROUNDING: f64 = 1e-26;

/// The fit of `rows * coefficients` to the targets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NonNegative<const K: usize> {
    /// None is negative.
    pub(crate) coefficients: [f64; K],
    /// The sum of squared residuals.
    pub(crate) residual_squares: f64,
    /// The terms in use, ascending.
    support: Vec<usize>,
    /// R of the QR decomposition of their columns: one vector for each column, from the top to the diagonal.
    triangle: Vec<Vec<f64>>,
}

impl<const K: usize> NonNegative<K> {
    /// The best fit with at most `most_terms` terms in use; of equal ones that with the fewest and first terms.
    /// All numbers are finite and small enough to be squared.
    pub(crate) fn fit(rows: &[[f64; K]], targets: &[f64], most_terms: usize) -> Self {
        let columns: Vec<Vec<f64>> = (0..K)
            .map(|term| rows.iter().map(|row| row[term]).collect())
            .collect();
        let total = dot(targets, targets);
        let mut best = Self {
            coefficients: [0.0; K],
            residual_squares: total,
            support: Vec::new(),
            triangle: Vec::new(),
        };
        for support in subsets(K, most_terms) {
            if let Some(fit) = Self::on(support, &columns, targets)
                && fit.residual_squares < best.residual_squares - ROUNDING * total
            {
                best = fit;
            }
        }
        best
    }

    /// Plain least squares on some of the columns, by Gram-Schmidt in its modified form (Björck, Numerical Methods for
    /// Least Squares Problems, 1996, section 2.4). `None` where they depend on each other or a coefficient is negative.
    fn on(support: Vec<usize>, columns: &[Vec<f64>], targets: &[f64]) -> Option<Self> {
        let mut directions: Vec<Vec<f64>> = Vec::new();
        let mut triangle: Vec<Vec<f64>> = Vec::new();
        for &term in &support {
            let mut rest = columns[term].clone();
            let whole = dot(&rest, &rest).sqrt();
            let mut column: Vec<f64> = directions
                .iter()
                .map(|direction| take_out(&mut rest, direction))
                .collect();
            // A second pass removes the rounding errors of the first.
            for (entry, direction) in column.iter_mut().zip(&directions) {
                *entry += take_out(&mut rest, direction);
            }
            let length = dot(&rest, &rest).sqrt();
            if length.is_nan() || length <= INDEPENDENT * whole {
                return None;
            }
            rest.iter_mut().for_each(|value| *value /= length);
            column.push(length);
            triangle.push(column);
            directions.push(rest);
        }
        let mut rest = targets.to_vec();
        let mut solution: Vec<f64> = directions
            .iter()
            .map(|direction| take_out(&mut rest, direction))
            .collect();
        for position in (0..support.len()).rev() {
            solution[position] /= triangle[position][position];
            for above in 0..position {
                solution[above] -= triangle[position][above] * solution[position];
            }
        }
        if !solution.iter().all(|coefficient| *coefficient >= 0.0) {
            return None;
        }
        let mut coefficients = [0.0; K];
        for (term, coefficient) in support.iter().zip(solution) {
            coefficients[*term] = coefficient;
        }
        Some(Self {
            coefficients,
            residual_squares: dot(&rest, &rest),
            support,
            triangle,
        })
    }

    /// How many terms are in use.
    pub(crate) fn terms_in_use(&self) -> f64 {
        self.support.iter().map(|_| 1.0).sum()
    }

    /// x' (A'A)^-1 x over the terms in use: the variance of the fit at `row` in units of the noise's.
    pub(crate) fn leverage(&self, row: &[f64; K]) -> f64 {
        // R' z = x by forward substitution; the answer is the length of z, squared.
        let mut z: Vec<f64> = Vec::new();
        for (term, column) in self.support.iter().zip(&self.triangle) {
            let (diagonal, above) = column.split_last().expect("a column has its diagonal");
            z.push((row[*term] - dot(above, &z)) / diagonal);
        }
        dot(&z, &z)
    }
}

/// All sets of 1 to `most` of `count` things, small sets first.
fn subsets(count: usize, most: usize) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = (1..1_usize << count)
        .map(|mask| (0..count).filter(|bit| mask >> bit & 1 == 1).collect())
        .filter(|set: &Vec<usize>| set.len() <= most)
        .collect();
    sets.sort_by_key(Vec::len);
    sets
}

pub(crate) fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

/// Removes the component along a unit vector from `values`, and returns its length.
fn take_out(values: &mut [f64], direction: &[f64]) -> f64 {
    let length = dot(values, direction);
    for (value, part) in values.iter_mut().zip(direction) {
        *value -= length * part;
    }
    length
}
