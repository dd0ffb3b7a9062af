//! Realignments as people write them: a file each, and their names on the command line.
use super::{Private, RealignError};
use homenode_base::named::{self, Param, ParamError};
use homenode_sim::shared::Start;
use homenode_threads::ThreadBinding;
use homenode_trace::order::Source;
use std::fmt;

/// Parameters of a realignment, at most.
const PARAMS_MAX: usize = 3;
/// A page size, where any will do.
const PAGE_BYTES: u64 = 4096;
/// Values of parameters; 0 beyond the last one.
type Values = [u32; PARAMS_MAX];

/// What is realigned.
pub struct Opening<'a> {
    /// The references, with those to private memory.
    pub source: &'a mut dyn Source,
    /// Which memory is private, and what data is called.
    pub objects: &'a Start<'a>,
    /// Threads; processors are their nodes.
    pub bindings: &'a [ThreadBinding],
    /// Bytes of the simulated pages, a power of two.
    pub page_bytes: u64,
    /// What becomes of references to private memory.
    pub private: Private,
}

/// A source realigned, or why it cannot be.
type Opened<'a> = Result<Box<dyn Source + 'a>, RealignError>;

/// A realignment of the registry.
pub struct Spec {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What readers of a table should know, one sentence.
    pub note: &'static str,
    /// Parameters in the order written.
    pub params: &'static [Param],
    check: fn(&Values) -> Result<(), RealignError>,
    page_bytes: fn(&Values) -> Option<u64>,
    window: fn(&Values) -> u64,
    open: for<'a> fn(&Values, Opening<'a>) -> Opened<'a>,
}

homenode_base::registry!(
    /** Every realignment. */ Spec;
    word, field
);

/// A realignment with its parameters, for pages of any size: `word`, `word(WINDOW,PAGE,SHARE)`, `field(PAGE)`.
#[derive(Clone, Copy)]
pub struct Rule {
    spec: &'static Spec,
    values: Values,
}

impl Rule {
    /// Reads one.
    ///
    /// # Errors
    /// No such realignment, or a parameter out of range.
    pub fn parse(text: &str) -> Result<Rule, RealignError> {
        let wrong = |e: ParamError| RealignError::Text(text.to_owned(), e);
        let (name, list) = named::split(text).map_err(wrong)?;
        let spec = ALL.iter().find(|s| s.name == name).ok_or_else(|| RealignError::Unknown(name.to_owned()))?;
        let mut values = [0; PARAMS_MAX];
        for (value, given) in values.iter_mut().zip(named::read(spec.params, list).map_err(wrong)?) {
            *value = given;
        }
        (spec.check)(&values)?;
        Ok(Rule { spec, values })
    }

    /// The registry entry.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Bytes of the pages that it is for; absent for the size of the simulated pages.
    pub fn page_bytes(&self) -> Option<u64> {
        (self.spec.page_bytes)(&self.values)
    }

    /// References that are in memory at once.
    pub fn window(&self) -> u64 {
        (self.spec.window)(&self.values)
    }

    /// The references realigned.
    ///
    /// # Errors
    /// Pages of this size are too small or too large for it.
    pub fn open<'a>(&self, what: Opening<'a>) -> Opened<'a> {
        (self.spec.open)(&self.values, what)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.spec.name == other.spec.name && self.values == other.values
    }
}

impl Eq for Rule {}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        named::write(f, self.spec.name, self.spec.params, &self.values[..self.spec.params.len()])
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Names of all realignments.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|s| s.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written() {
        let rules = ["word", "word(1000000)", "word(5,0,250)", " word( 1000000 , 4096 ) ", "field", "field(64)"];
        let rules = rules.map(|text| Rule::parse(text).expect(text));
        let shown = ["word", "word", "word(5,0,250)", "word(1000000,4096)", "field", "field(64)"];
        assert_eq!(rules.map(|r| r.to_string()), shown);
        let pages = [None, None, None, Some(4096), None, Some(64)];
        assert_eq!(rules.map(|r| r.page_bytes()), pages);
        assert_eq!(rules.map(|r| r.window()), [1_000_000, 1_000_000, 1, 1_000_000, 0, 0]);
        assert!(rules[0] == rules[1] && rules[0] != rules[3] && rules[4] != rules[0]);
        let wrong = |text: &str, word: &str| {
            let e = Rule::parse(text).expect_err(text).to_string();
            assert!(e.contains(word) && !e.contains('\n'), "{text}: {e}");
        };
        wrong("line", "'line': known are word, field");
        wrong("word(1", "whole numbers");
        wrong("word(x)", "whole numbers");
        wrong("word()", "whole numbers");
        wrong("word(0)", "window is 0; allowed is 1 to 16777216");
        wrong("word(1,100)", "pages of 100 bytes");
        wrong("word(1,0,1001)", "share is 1001; allowed is 0 to 1000");
        wrong("word(1,2,3,4)", "at most 3");
        wrong("field(100)", "pages of 100 bytes");
        wrong("field(2)", "pages of 2 bytes");
        wrong("field(64,1)", "at most 1");
    }
}
