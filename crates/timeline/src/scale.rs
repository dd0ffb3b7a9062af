//! From places in the order to time.

/// Places in the order, and the picoseconds from the beginning at which they lie; straight lines between them.
#[derive(Clone, Debug)]
pub(crate) struct Scale(Vec<(u64, u64)>);

impl Scale {
    /// Windows of this width that take so many picoseconds each.
    pub(crate) fn new(width: u64, durations_ps: impl IntoIterator<Item = u64>) -> Scale {
        let mut edges: Vec<(u64, u64)> = vec![(0, 0)];
        for (duration, n) in durations_ps.into_iter().zip(1u64..) {
            let before = edges.last().map_or(0, |edge| edge.1);
            edges.push((n.saturating_mul(width), before.saturating_add(duration)));
        }
        Scale(edges)
    }

    /// Picoseconds from the beginning; places beyond the last window lie at its end.
    pub(crate) fn at(&self, place: u64) -> u64 {
        let after = self.0.partition_point(|edge| edge.0 <= place);
        let (Some(&from), to) = (self.0.get(after.saturating_sub(1)), self.0.get(after)) else { return 0 };
        let Some(&to) = to else { return from.1 };
        let part = u128::from(place - from.0) * u128::from(to.1 - from.1) / u128::from((to.0 - from.0).max(1));
        from.1.saturating_add(u64::try_from(part).unwrap_or(u64::MAX))
    }

    /// When the `n`-th window begins and ends.
    pub(crate) fn window(&self, n: usize) -> (u64, u64) {
        (self.0[n].1, self.0[n + 1].1)
    }

    /// When the last one ends.
    pub(crate) fn end(&self) -> u64 {
        self.0.last().map_or(0, |edge| edge.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_on_straight_lines_between_the_edges_of_windows() {
        let scale = Scale::new(10, [100, 0, 50]);
        assert_eq!([0, 5, 10, 15, 20, 22, 30, 99].map(|at| scale.at(at)), [0, 50, 100, 100, 100, 110, 150, 150]);
        assert_eq!(([0, 1, 2].map(|n| scale.window(n)), scale.end()), ([(0, 100), (100, 100), (100, 150)], 150));
        assert_eq!(Scale::new(10, []).at(7), 0);
    }
}
