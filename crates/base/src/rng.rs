//! A small seeded generator (SplitMix64, Steele, Lea and Flood, OOPSLA 2014): the same seed gives the same stream on
//! every platform for ever, which recorded seeds in results rely on.

/// A seeded stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of this seed.
    pub const fn new(seed: u64) -> Rng {
        Rng(seed)
    }
    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// A number in `0..bound`; 0 if `bound` is 0. The bias is below bound / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
    /// True with probability `numerator / denominator`.
    #[inline]
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_the_published_one() {
        // First outputs of SplitMix64 for seed 1234567 as given by the reference implementation.
        let mut r = Rng::new(1_234_567);
        assert_eq!([r.next_u64(), r.next_u64()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
