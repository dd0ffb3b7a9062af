//! Leaving out samples where more come than are wanted and their source cannot be made to give less.

/// Keeps an even share of what comes.
#[derive(Debug)]
pub(crate) struct Thin {
    wanted_per_s: f64,
    arriving_per_s: f64,
    /// Part of the next sample that is due.
    due: f64,
}

impl Default for Thin {
    /// Keeps everything.
    fn default() -> Thin {
        Thin { wanted_per_s: f64::INFINITY, arriving_per_s: 0.0, due: 0.0 }
    }
}

impl Thin {
    /// Sets the samples wanted a second from now on.
    pub(crate) fn want(&mut self, per_s: f64) {
        self.wanted_per_s = per_s;
    }
    /// Takes note of the samples a second since the last such word. They come in bursts, so several words are averaged.
    pub(crate) fn arrives(&mut self, per_s: f64) {
        let known = self.arriving_per_s > 0.0;
        self.arriving_per_s = if known { self.arriving_per_s * 0.875 + per_s * 0.125 } else { per_s };
    }
    /// How many each of those kept stands for, on average.
    pub(crate) fn stands_for(&self) -> f64 {
        (self.arriving_per_s / self.wanted_per_s).max(1.0)
    }
    /// Whether the next one is kept.
    pub(crate) fn keeps(&mut self) -> bool {
        if self.wanted_per_s >= self.arriving_per_s {
            return true;
        }
        self.due += self.wanted_per_s / self.arriving_per_s;
        let keeps = self.due >= 1.0;
        self.due -= if keeps { 1.0 } else { 0.0 };
        keeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_kept_and_evenly() {
        let mut thin = Thin::default();
        thin.arrives(1e9);
        assert!((0..1000).all(|_| thin.keeps()));
        let mut thin = Thin::default();
        thin.want(30.0);
        (0..100).for_each(|i| thin.arrives(if i % 2 == 0 { 512.0 } else { 0.0 }));
        assert!((200.0..320.0).contains(&thin.arriving_per_s), "bursts are averaged: {}", thin.arriving_per_s);
        thin.arriving_per_s = 256.0;
        let kept: Vec<bool> = (0..2560).map(|_| thin.keeps()).collect();
        let count = |part: &[bool]| part.iter().filter(|k| **k).count();
        assert!((298..=301).contains(&count(&kept)), "{}", count(&kept));
        assert!(kept.chunks(256).all(|c| (29..=31).contains(&count(c))));
        assert!((thin.stands_for() - 256.0 / 30.0).abs() < 1e-9);
        thin.want(256.0);
        assert!((0..1000).all(|_| thin.keeps()) && thin.stands_for() == 1.0);
        assert_eq!(Thin::default().stands_for(), 1.0);
    }
}
