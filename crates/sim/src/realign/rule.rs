//! Realignments as people write them.
use super::{RealignError, Realignment, SHARE_WHOLE, WINDOW};
use std::fmt;

/// The only granule: a word.
pub const WORD: &str = "word";
/// Parts of a whole in which a share is written.
const SHARE_PARTS: u64 = 1000;
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
        self.share.map_or(how, |share| how.shared_alone(share * (SHARE_WHOLE / SHARE_PARTS)))
    }

    /// Reads one.
    ///
    /// # Errors
    /// Another word, or a parameter out of range.
    pub fn parse(text: &str) -> Result<Rule, RealignError> {
        let (name, rest) = text.split_once('(').map_or((text, None), |(name, rest)| (name, Some(rest)));
        if name.trim() != WORD {
            return Err(RealignError::Unknown(name.trim().to_owned()));
        }
        let wrong = |what: &'static str| RealignError::Text(text.to_owned(), what);
        let inside =
            rest.map(|r| r.trim_end().strip_suffix(')').ok_or_else(|| wrong("a closing parenthesis is missing")));
        let number = |word: &str| word.trim().parse::<u64>().map_err(|_| wrong("parameters are whole numbers"));
        let given = inside.transpose()?.map_or(Ok(Vec::new()), |inside| inside.split(',').map(number).collect())?;
        if given.len() > 3 {
            return Err(wrong("parameters are the window, the page and the share, and no more"));
        }
        let some = |i: usize| given.get(i).copied().filter(|n| *n != 0);
        let window = given.first().copied().unwrap_or(WINDOW);
        let rule = Rule { window, page_bytes: some(1), share: some(2) };
        if rule.share.is_some_and(|s| s > SHARE_PARTS) {
            return Err(wrong("the share is in a thousand, from 1 to 1000"));
        }
        rule.of_pages(PAGE_BYTES).check()?;
        Ok(rule)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = [self.window, self.page_bytes.unwrap_or(0), self.share.unwrap_or(0)];
        let defaults = [WINDOW, 0, 0];
        f.write_str(WORD)?;
        let Some(last) = (0..3).rev().find(|i| given[*i] != defaults[*i]) else { return Ok(()) };
        let numbers: Vec<String> = given[..=last].iter().map(u64::to_string).collect();
        write!(f, "({})", numbers.join(","))
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
        wrong("word(1", "parenthesis");
        wrong("word(x)", "whole numbers");
        wrong("word()", "whole numbers");
        wrong("word(0)", "windows of 0 references");
        wrong("word(1,100)", "pages of 100 bytes");
        wrong("word(1,0,1001)", "from 1 to 1000");
        wrong("word(1,2,3,4)", "no more");
    }
}
