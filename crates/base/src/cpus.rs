//! Sets of processors as sched_setaffinity(2) has them.

/// A set of processors of the recorded machine, numbered as its kernel numbers them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuMask {
    /// Bit i of word w is processor 64 w + i; the last word is not 0.
    words: Vec<u64>,
}

impl CpuMask {
    /// Words of the largest set that is kept.
    pub const WORDS_MAX: usize = 32;

    /// From words, least processors first; what lies above [`CpuMask::WORDS_MAX`] words is left out.
    pub fn from_words(words: &[u64]) -> CpuMask {
        let mut words = words[..words.len().min(CpuMask::WORDS_MAX)].to_vec();
        while words.last() == Some(&0) {
            words.pop();
        }
        CpuMask { words }
    }
    /// The words, none of them 0 at the end.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
    /// How many there are.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|w| w.count_ones()).sum()
    }
    /// Whether this one is among them.
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|w| w >> (cpu % 64) & 1 == 1)
    }
    /// The processors, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.words.len() as u32 * 64).filter(|&cpu| self.contains(cpu))
    }
}

/// Where a thread was told to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// Processors of the recorded machine, as its kernel numbers them. Never empty.
    pub cpus: CpuMask,
    /// Whether the program asked for it, be it for the thread's creator; else its process was started so.
    pub asked: bool,
}

impl FromIterator<u32> for CpuMask {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> CpuMask {
        let mut words = vec![0u64; CpuMask::WORDS_MAX];
        for cpu in cpus {
            if let Some(word) = words.get_mut(cpu as usize / 64) {
                *word |= 1 << (cpu % 64);
            }
        }
        CpuMask::from_words(&words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let cpus = [0u32, 3, 63, 64, 200];
        let mask: CpuMask = cpus.into_iter().collect();
        assert_eq!(mask.iter().collect::<Vec<_>>(), cpus);
        assert_eq!((mask.count(), mask.words().len()), (5, 4));
        assert_eq!(CpuMask::from_words(&[1, 0, 0]), CpuMask::from_words(&[1]));
        assert!(CpuMask::from_words(&[0, 0]).is_empty());
        assert!([9_999u32].into_iter().collect::<CpuMask>().is_empty(), "beyond what is kept");
        assert_eq!(CpuMask::from_words(&[u64::MAX; 99]).count(), 32 * 64);
    }
}
