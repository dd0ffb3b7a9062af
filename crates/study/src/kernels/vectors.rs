//! Which instructions the kernels use.
use pulp::Arch;

/// Vector instructions of the kernels. Answers do not depend on them; one that the processor does not have is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vectors {
    /// The widest that the processor has.
    #[default]
    Best,
    /// 512 bits (x86-64-v4).
    Avx512,
    /// 256 bits (x86-64-v3).
    Avx2,
    /// What every processor of the kind has.
    Baseline,
}

impl Vectors {
    /// All choices.
    pub const ALL: [Vectors; 4] = [Vectors::Best, Vectors::Avx512, Vectors::Avx2, Vectors::Baseline];

    /// Name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Vectors::Best => "best",
            Vectors::Avx512 => "avx512",
            Vectors::Avx2 => "avx2",
            Vectors::Baseline => "baseline",
        }
    }

    /// What this processor uses for it, in words; `none` if it cannot.
    pub fn found(self) -> String {
        self.arch()
            .map_or_else(|| "none".to_owned(), |arch| format!("{arch:?}").split('(').next().unwrap_or("").to_owned())
    }

    /// Whether this processor can.
    pub fn available(self) -> bool {
        self.arch().is_some()
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn arch(self) -> Option<Arch> {
        match self {
            Vectors::Best => Some(Arch::new()),
            Vectors::Avx512 => pulp::x86::V4::try_new().map(Arch::V4),
            Vectors::Avx2 => pulp::x86::V3::try_new().map(Arch::V3),
            Vectors::Baseline => Some(Arch::Scalar),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn arch(self) -> Option<Arch> {
        match self {
            Vectors::Best => Some(Arch::new()),
            Vectors::Baseline => Some(Arch::Scalar),
            Vectors::Avx512 | Vectors::Avx2 => None,
        }
    }
}
