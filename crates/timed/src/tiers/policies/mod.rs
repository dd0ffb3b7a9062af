//! Tier policies: where a new page goes, and which pages change places between two ticks.
use super::{Dram, TierError, Use};
use homenode_base::named::{self, Param, ParamError};
use homenode_placement::tiers::Pages;

/// A policy of the registry.
pub struct Spec {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Parameters in the order written: `name(1,2)`.
    pub params: &'static [Param],
    make: fn(&Given<'_>) -> Box<dyn TierPolicy>,
}

homenode_base::registry!(
    /** Every tier policy, those that move nothing first. */ Spec;
    none, best_static, recency, hotness, ascoma
);

/// What a policy may know before it begins. Only one that says so looks at the pages.
pub(crate) struct Given<'r> {
    /// Pages and what they will gain.
    pub(crate) pages: &'r Pages,
    /// Frames of DRAM, not more than pages.
    pub(crate) frames: u32,
    /// One value per parameter.
    pub(crate) values: &'r [u32],
}

/// What decides.
pub(crate) trait TierPolicy {
    /// Whether a page that is accessed for the first time gets a frame, if one is free.
    fn takes_new(&mut self, _page: u32, _dram: &Dram) -> bool {
        true
    }
    /// A tick is over, with these accesses, and pages may be moved.
    fn tick(&mut self, _seen: &[Use], _dram: &mut Dram) {}
}

/// A policy with its parameters.
#[derive(Clone)]
pub struct Choice {
    /// The policy.
    pub spec: &'static Spec,
    /// One value per [`Spec::params`].
    pub values: Vec<u32>,
}

impl Spec {
    /// The policy with its defaults.
    pub fn choose(&'static self) -> Choice {
        Choice { spec: self, values: self.params.iter().map(|p| p.default).collect() }
    }
}

impl Choice {
    /// Reads `recency`, `hotness(16)`.
    ///
    /// # Errors
    /// No such policy, or a parameter that it cannot have.
    pub fn parse(text: &str) -> Result<Choice, TierError> {
        let wrong = |e: ParamError| TierError::Value { given: text.trim().to_owned(), allowed: e.to_string() };
        let (name, list) = named::split(text).map_err(wrong)?;
        let known = || ALL.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
        let spec = ALL.iter().find(|s| s.name == name);
        let spec = spec.ok_or_else(|| TierError::Unknown { given: name.to_owned(), known: known() })?;
        Ok(Choice { spec, values: named::read(spec.params, list).map_err(wrong)? })
    }

    pub(super) fn begin(&self, pages: &Pages, frames: u32) -> Box<dyn TierPolicy> {
        (self.spec.make)(&Given { pages, frames, values: &self.values })
    }
}

impl std::fmt::Display for Choice {
    /// As [`Choice::parse`] reads it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        named::write(f, self.spec.name, self.spec.params, &self.values)
    }
}
