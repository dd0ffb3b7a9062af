//! Realignments as people write them.
use super::{PAGE_BYTES_MAX, RealignError, Realignment, SHARE_WHOLE, WINDOW, WINDOW_MAX};
use homenode_base::named::{self, Param, ParamError};
use std::fmt;

/// The only granule: a word.
pub const WORD: &str = "word";
/// Parts of a whole in which a share is written.
const SHARE_PARTS: u32 = 1000;
/// What stands in parentheses.
const PARAMS: [Param; 3] = [
    Param { min: 1, ..Param::variant("window", "references of a window", WINDOW as u32, WINDOW_MAX as u32) },
    Param::variant(
        "page",
        "bytes of the pages that candidates are marked by; 0: of those simulated",
        0,
        PAGE_BYTES_MAX as u32,
    ),
    Param::variant("share", "in a thousand: windows of as many shared references; 0: of all", 0, SHARE_PARTS),
];
/// A page size, where any will do.
const PAGE_BYTES: u64 = 4096;

/// A realignment for pages of any size: `word`, `word(WINDOW)`, `word(WINDOW,PAGE)`, `word(WINDOW,PAGE,SHARE)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// References of a window.
    pub window: u64,
    /// Bytes of the pages by which candidates are marked; absent for the size of the simulated pages, written 0.
    pub page_bytes: Option<u64>,
    /// Per mille of references that would be shared if the recording had private ones: windows are of as many shared
    /// references. Absent where windows are of all references, written 0.
    pub share: Option<u64>,
}

impl Rule {
    /// What is done to the references of simulated pages of this size.
    pub fn of_pages(self, block_bytes: u64) -> Realignment {
        let page_bytes = self.page_bytes.unwrap_or(block_bytes);
        let how = Realignment { window: self.window, ..Realignment::by_pages_of(page_bytes) };
        self.share.map_or(how, |share| how.shared_alone(share * (SHARE_WHOLE / u64::from(SHARE_PARTS))))
    }

    /// Reads one.
    ///
    /// # Errors
    /// Another word, or a parameter out of range.
    pub fn parse(text: &str) -> Result<Rule, RealignError> {
        let wrong = |e: ParamError| RealignError::Text(text.to_owned(), e);
        let (name, list) = named::split(text).map_err(wrong)?;
        if name != WORD {
            return Err(RealignError::Unknown(name.to_owned()));
        }
        let values = named::read(&PARAMS, list).map_err(wrong)?;
        let some = |i: usize| Some(u64::from(values[i])).filter(|n| *n != 0);
        let rule = Rule { window: values[0].into(), page_bytes: some(1), share: some(2) };
        rule.of_pages(PAGE_BYTES).check()?;
        Ok(rule)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = [self.window, self.page_bytes.unwrap_or(0), self.share.unwrap_or(0)];
        named::write(f, WORD, &PARAMS, &given.map(|n| u32::try_from(n).unwrap_or(u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Counted;
    use super::*;

    #[test]
    fn rules_are_read_and_written() {
        let rules = ["word", "word(1000000)", "word(5,0,250)", " word( 1000000 , 4096 ) "];
        let rules = rules.map(|text| Rule::parse(text).expect(text));
        assert_eq!(rules.map(|r| r.to_string()), ["word", "word", "word(5,0,250)", "word(1000000,4096)"]);
        let how = rules[0].of_pages(256);
        assert_eq!((how.page_bytes, how.window, how.counted), (256, 1_000_000, Counted::All));
        let how = rules[2].of_pages(256);
        assert_eq!((how.page_bytes, how.window, how.counted), (256, 1, Counted::Shared));
        assert_eq!(rules[3].of_pages(256).page_bytes, 4096);
        let wrong = |text: &str, word: &str| {
            let e = Rule::parse(text).expect_err(text).to_string();
            assert!(e.contains(word) && !e.contains('\n'), "{text}: {e}");
        };
        wrong("line", "'line'");
        wrong("word(1", "whole numbers");
        wrong("word(x)", "whole numbers");
        wrong("word()", "whole numbers");
        wrong("word(0)", "window is 0; allowed is 1 to 16777216");
        wrong("word(1,100)", "pages of 100 bytes");
        wrong("word(1,0,1001)", "share is 1001; allowed is 0 to 1000");
        wrong("word(1,2,3,4)", "at most 3");
    }
}
