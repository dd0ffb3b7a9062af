//! Reductions: every thread brings a value, and all get what comes of all. A barrier goes with it. Values are put together in the order of
//! threads, so that sums of real numbers are the same every time.
use crate::barrier::{self, Parties};
use crate::host::{Host, Wake};
use crate::memory::region;
use std::sync::atomic::Ordering;

/// What comes of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Sum of whole numbers, modulo 2^64.
    SumOfInts,
    /// The least of signed whole numbers.
    LeastInt,
    /// The greatest of signed whole numbers.
    GreatestInt,
    /// Sum of real numbers, as bits.
    SumOfReals,
    /// The least of real numbers, as bits; what is none if one is.
    LeastReal,
    /// The greatest of real numbers, as bits; what is none if one is.
    GreatestReal,
}

/// Threads asked for different reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixed;

impl Reduction {
    fn of(self, a: u64, b: u64) -> u64 {
        let ints = |choose: fn(i64, i64) -> i64| choose(a as i64, b as i64) as u64;
        let reals = |choose: fn(f64, f64) -> f64| choose(f64::from_bits(a), f64::from_bits(b)).to_bits();
        match self {
            Reduction::SumOfInts => ints(i64::wrapping_add),
            Reduction::LeastInt => ints(i64::min),
            Reduction::GreatestInt => ints(i64::max),
            Reduction::SumOfReals => reals(|a, b| a + b),
            Reduction::LeastReal => reals(|a, b| if a <= b || a.is_nan() { a } else { b }),
            Reduction::GreatestReal => reals(|a, b| if a >= b || a.is_nan() { a } else { b }),
        }
    }
}

/// Waits until all threads of the cluster have brought a value, and gives what comes of all; `slot` is that of all reductions. All see what all
/// wrote before.
///
/// # Errors
/// [`Mixed`].
pub async fn all<H: Host>(host: &H, slot: u32, what: Reduction, value: u64) -> Result<u64, Mixed> {
    let (cluster, layout) = (host.cluster(), host.layout());
    let manager = cluster.manager(slot);
    // Threads of this node have left the turns before, so all threads have brought their values there; who reads the turn before is at the
    // other place.
    let turn = region(host, layout.released(slot)).load(Ordering::Acquire);
    let me = cluster.me.index() * usize::from(cluster.threads) + usize::from(host.thread());
    host.put(manager, layout.term(turn, me), &[what as u64, value], Wake::Nobody).await;
    barrier::wait(host, slot, Parties::All).await;
    let (mut result, mut is_mixed) = (None, false);
    for thread in 0..cluster.all_threads() as usize {
        let mut term = [0; 2];
        host.get(manager, layout.term(turn, thread), &mut term).await;
        is_mixed |= term[0] != what as u64;
        result = Some(result.map_or(term[1], |before| what.of(before, term[1])));
    }
    if is_mixed { Err(Mixed) } else { Ok(result.unwrap_or(value)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_together_as_their_kind_says() {
        let ints = |what: Reduction, a: i64, b: i64| what.of(a as u64, b as u64) as i64;
        assert_eq!(ints(Reduction::SumOfInts, i64::MAX, 1), i64::MIN);
        assert_eq!(ints(Reduction::LeastInt, -1, 1), -1);
        assert_eq!(ints(Reduction::GreatestInt, -1, 1), 1);
        let reals = |what: Reduction, a: f64, b: f64| f64::from_bits(what.of(a.to_bits(), b.to_bits()));
        assert!((reals(Reduction::SumOfReals, 0.5, -2.0) + 1.5).abs() < f64::EPSILON);
        for (what, wanted) in [(Reduction::LeastReal, -2.0), (Reduction::GreatestReal, 0.5)] {
            assert!((reals(what, 0.5, -2.0) - wanted).abs() < f64::EPSILON);
            assert!((reals(what, -2.0, 0.5) - wanted).abs() < f64::EPSILON);
            assert!(reals(what, f64::NAN, 1.0).is_nan() && reals(what, 1.0, f64::NAN).is_nan());
        }
    }
}
