//! Random numbers from a seed, the same on every machine.

/// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, fig. 17).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Even in (0, 1): one of 2^32 middles.
    pub(crate) fn uniform(&mut self) -> f64 {
        let high = u32::try_from(self.bits() >> 32).expect("32 bits are left");
        (f64::from(high) + 0.5) / 4_294_967_296.0
    }

    /// Standard normal (Box and Muller, Annals of Mathematical Statistics 29, 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// The sum of `degrees_of_freedom` squared normals.
    pub(crate) fn chi_squared(&mut self, degrees_of_freedom: u32) -> f64 {
        (0..degrees_of_freedom).map(|_| self.normal().powi(2)).sum()
    }
}
