//! Chance, the same on every run.

/// A small generator (xorshift).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(88_172_645_463_325_252 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// One of `0..end`, all as likely.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.bits() % end.max(1)
    }

    /// One of `0..end`, the first ones far more often than the last: about as likely as one over its number.
    pub(crate) fn few(&mut self, end: u64) -> u64 {
        let share = self.bits() as f64 / (1_u64 << 53) as f64;
        ((end as f64 + 1.0).powf(share) as u64).saturating_sub(1).min(end - 1)
    }

    /// A length around `middle`: most within a quarter and four times of it, some a hundred times.
    pub(crate) fn length(&mut self, middle: u64) -> u64 {
        let sum: u64 = (0..4).map(|_| self.below(1 << 16)).sum();
        let exponent = (sum as f64 / f64::from(1 << 17) - 1.0) * 5.0;
        (middle as f64 * exponent.exp2()) as u64 + self.below(16)
    }
}
