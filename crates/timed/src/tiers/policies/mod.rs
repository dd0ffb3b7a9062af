//! Tier policies: where a new page goes, and which pages change places between two ticks.
use super::{Dram, TierError, Use};
use homenode_placement::tiers::Pages;

/// A whole-number parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// What it is, in a word.
    pub name: &'static str,
    /// What it does, one line.
    pub summary: &'static str,
    /// Value when none is given.
    pub default: u32,
}

/// A policy of the registry.
pub struct Spec {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Parameter, from 1 on, if there is one.
    pub param: Option<Param>,
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
    /// The parameter.
    pub(crate) value: u32,
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

/// A policy with its parameter.
#[derive(Clone, Copy)]
pub struct Choice {
    /// The policy.
    pub spec: &'static Spec,
    /// Value of the parameter; 0 if there is none.
    pub value: u32,
}

impl Spec {
    /// The policy with its default.
    pub fn choose(&'static self) -> Choice {
        Choice { spec: self, value: self.param.map_or(0, |p| p.default) }
    }
}

impl Choice {
    /// Reads `recency`, `hotness(16)`.
    ///
    /// # Errors
    /// No such policy, or a parameter that it cannot have.
    pub fn parse(text: &str) -> Result<Choice, TierError> {
        let text = text.trim();
        let (name, value) = match text.split_once('(') {
            Some((name, rest)) => (name.trim_end(), Some(rest.strip_suffix(')').unwrap_or("").trim())),
            None => (text, None),
        };
        let known = || ALL.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
        let spec = ALL.iter().find(|s| s.name == name);
        let spec = spec.ok_or_else(|| TierError::Unknown { given: name.to_owned(), known: known() })?;
        let Some(value) = value else { return Ok(spec.choose()) };
        let wrong = |allowed: String| TierError::Value { given: text.to_owned(), allowed };
        let Some(param) = spec.param else { return Err(wrong("it takes no parameter".to_owned())) };
        match value.parse() {
            Ok(value) if value >= 1 => Ok(Choice { spec, value }),
            _ => Err(wrong(format!("write {name}({}), with {} from 1 to {}", param.default, param.name, u32::MAX))),
        }
    }

    pub(super) fn begin(&self, given: &Given<'_>) -> Box<dyn TierPolicy> {
        (self.spec.make)(given)
    }
}

impl std::fmt::Display for Choice {
    /// As [`Choice::parse`] reads it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.spec.param {
            Some(_) => write!(f, "{}({})", self.spec.name, self.value),
            None => f.write_str(self.spec.name),
        }
    }
}
