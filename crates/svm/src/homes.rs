//! Homes that the launcher knows before the program runs: a rule, or a list of the pieces of memory that a plan names.
//!
//! A list is text, a thing a line, in a file that the program inherits:
//!
//! | line | what |
//! |---|---|
//! | `svm-homes-1` | the first line |
//! | `line FROM-END,...` | code that asks for memory: addresses in the program's file, hexadecimal |
//! | `piece LINE THREAD ORDINAL BYTES` | what this thread takes at that line (counted from 0) after so many others, large enough, from there |
//! | `part OFFSET BYTES NODE,...` | of the last piece, bytes with a home; more nodes have its pages in turn |
use homenode_base::NodeId;
use homenode_hlrc::cluster::PageId;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// Requests below this size are not counted: plans name none of them.
pub const LEAST_BYTES: u64 = 4096;
/// First line of a list.
const VERSION: &str = "svm-homes-1";

/// Where pages live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Homes {
    /// With the node that touches the page first.
    FirstTouch,
    /// Page by page in turn.
    RoundRobin,
    /// Equal parts of each piece of memory, in order of addresses.
    Block,
    /// Where a list says, whose descriptor the job has; what it does not name with who touches it first.
    Plan,
}

impl Homes {
    /// All of them with their names.
    pub const ALL: [(Homes, &str); 4] = [
        (Homes::FirstTouch, "first-touch"),
        (Homes::RoundRobin, "round-robin"),
        (Homes::Block, "block"),
        (Homes::Plan, "plan"),
    ];
    /// The rule of this name.
    pub fn find(name: &str) -> Option<Homes> {
        Homes::ALL.iter().find(|(_, n)| *n == name).map(|(homes, _)| *homes)
    }
    /// Name of the rule.
    pub fn name(self) -> &'static str {
        Homes::ALL.iter().find(|(homes, _)| *homes == self).map_or("", |(_, name)| name)
    }
}

/// Part of a piece, and the nodes that have its pages in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes from the piece's beginning.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nodes, at least one.
    pub nodes: Vec<u16>,
}

/// A piece of memory that a plan names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the line that asks for it.
    pub line: usize,
    /// Number of the thread in the cluster.
    pub thread: u32,
    /// Pieces of at least [`LEAST_BYTES`] that the thread took at that line before this one.
    pub ordinal: u64,
    /// Bytes that the plan expects; of another size, parts keep their share.
    pub bytes: u64,
    /// Parts in order of their offsets, which do not overlap.
    pub parts: Vec<Part>,
}

/// The pieces that a plan names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Lines that ask for memory: addresses of their code in the program's file.
    pub lines: Vec<Vec<Range<u64>>>,
    /// Pieces.
    pub pieces: Vec<Piece>,
}

impl Piece {
    /// Homes of the pages of this piece, which came with `bytes` at page `first`; of a page with several homes the one that has most of
    /// it. `None`: no home is planned for any of it.
    pub fn homes(&self, bytes: u64, first: PageId, page_bytes: u64) -> Vec<Option<NodeId>> {
        let scaled = |at: u64| (u128::from(at) * u128::from(bytes) / u128::from(self.bytes.max(1))) as u64;
        let scaled = |at: u64| if bytes == self.bytes { at.min(bytes) } else { scaled(at.min(self.bytes)) };
        let ranges: Vec<(u64, u64, &[u16])> = self
            .parts
            .iter()
            .map(|p| (scaled(p.offset), scaled(p.offset.saturating_add(p.bytes)), &*p.nodes))
            .collect();
        let (mut homes, mut next) = (Vec::new(), 0);
        for (page, begin) in (u64::from(first.0)..).zip((0..bytes).step_by(page_bytes as usize)) {
            let end = begin.saturating_add(page_bytes).min(bytes);
            while ranges.get(next).is_some_and(|r| r.1 <= begin) {
                next += 1;
            }
            let mut shares: BTreeMap<u16, u64> = BTreeMap::new();
            for (from, until, nodes) in ranges[next..].iter().take_while(|r| r.0 < end) {
                let share = (*until).min(end).saturating_sub((*from).max(begin));
                let node = nodes[(page % nodes.len() as u64) as usize];
                if share > 0 {
                    *shares.entry(node).or_default() += share;
                }
            }
            let most = shares.into_iter().max_by_key(|(node, share)| (*share, std::cmp::Reverse(*node)));
            homes.push(most.map(|(node, _)| NodeId(node)));
        }
        homes
    }
}

/// Equal parts of so many pages, in a row.
pub(crate) fn blocks(pages: u64, nodes: u16) -> impl Iterator<Item = Option<NodeId>> {
    (0..pages).map(move |page| Some(NodeId((page * u64::from(nodes) / pages) as u16)))
}

/// What a node has taken so far, beside the list.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    list: List,
    /// Pieces by thread and line.
    counts: Mutex<BTreeMap<(u32, usize), u64>>,
}

impl Taken {
    /// Nothing of a list.
    pub(crate) fn nothing(list: List) -> Taken {
        Taken { list, counts: Mutex::default() }
    }
    /// Which piece of the list it is that a thread takes now; `site` is where the call returns to.
    pub(crate) fn next(&self, thread: u32, site: u64, bytes: u64) -> Option<(u32, &Piece)> {
        if bytes < LEAST_BYTES {
            return None;
        }
        // The call is before that.
        let call = site.checked_sub(1)?;
        let line = self.list.lines.iter().position(|code| code.iter().any(|r| r.contains(&call)))?;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((thread, line)).or_default();
        let ordinal = *count;
        *count += 1;
        let is_this = |p: &&Piece| (p.line, p.thread, p.ordinal) == (line, thread, ordinal);
        let at = self.list.pieces.iter().position(|p| is_this(&p))?;
        Some((u32::try_from(at).ok()?, &self.list.pieces[at]))
    }
}

impl List {
    /// Reads the text of a list for a cluster of so many nodes.
    ///
    /// # Errors
    /// In words: which line cannot be read.
    pub fn parse(text: &str, nodes: u16) -> Result<List, String> {
        let mut lines = (1..).zip(text.lines());
        if lines.next().map(|(_, first)| first) != Some(VERSION) {
            return Err(format!("it does not begin with {VERSION}"));
        }
        let mut list = List::default();
        for (number, line) in lines {
            list.add(line, nodes).ok_or_else(|| format!("its line {number} cannot be read"))?;
        }
        Ok(list)
    }

    fn add(&mut self, line: &str, nodes: u16) -> Option<()> {
        match *line.split(' ').collect::<Vec<_>>() {
            ["line", ranges] => self.lines.push(ranges.split(',').map(range).collect::<Option<_>>()?),
            ["piece", line, thread, ordinal, bytes] => {
                let line = number(line).filter(|line| *line < self.lines.len())?;
                let (thread, ordinal, bytes) = (number(thread)?, number(ordinal)?, number(bytes)?);
                self.pieces.push(Piece { line, thread, ordinal, bytes, parts: Vec::new() });
            }
            ["part", offset, bytes, homes] => {
                let nodes: Option<Vec<u16>> = homes.split(',').map(|n| number(n).filter(|n| *n < nodes)).collect();
                let piece = self.pieces.last_mut()?;
                let part = Part { offset: number(offset)?, bytes: number(bytes)?, nodes: nodes? };
                let before = piece.parts.last().map_or(0, |p| p.offset.saturating_add(p.bytes));
                if part.offset < before {
                    return None;
                }
                piece.parts.push(part);
            }
            _ => return None,
        }
        Some(())
    }
}

fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

fn range(text: &str) -> Option<Range<u64>> {
    let (from, end) = text.split_once('-')?;
    Some(u64::from_str_radix(from, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{VERSION}")?;
        for code in &self.lines {
            let ranges: Vec<String> = code.iter().map(|r| format!("{:x}-{:x}", r.start, r.end)).collect();
            writeln!(f, "line {}", ranges.join(","))?;
        }
        for p in &self.pieces {
            writeln!(f, "piece {} {} {} {}", p.line, p.thread, p.ordinal, p.bytes)?;
            for part in &p.parts {
                let nodes: Vec<String> = part.nodes.iter().map(u16::to_string).collect();
                writeln!(f, "part {} {} {}", part.offset, part.bytes, nodes.join(","))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(offset: u64, bytes: u64, nodes: &[u16]) -> Part {
        Part { offset, bytes, nodes: nodes.to_vec() }
    }

    fn list() -> List {
        let parts = vec![part(0, 8192, &[1]), part(8192, 100, &[0]), part(12_288, 8192, &[0, 1])];
        let piece = |line, thread, ordinal| Piece { line, thread, ordinal, bytes: 20_480, parts: parts.clone() };
        List {
            lines: vec![vec![0x10..0x20, 0x40..0x48], vec![0x20..0x40]],
            pieces: vec![piece(0, 0, 0), piece(0, 0, 2), piece(1, 3, 0)],
        }
    }

    fn homes(piece: &Piece, bytes: u64, first: u32, page_bytes: u64) -> Vec<Option<u16>> {
        piece.homes(bytes, PageId(first), page_bytes).into_iter().map(|home| home.map(|n| n.0)).collect()
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let text = list().to_string();
        assert_eq!(List::parse(&text, 2), Ok(list()));
        for end in 0..text.len() - 1 {
            let _ = List::parse(&text[..end], 2);
        }
        let refused = |from: &str, to: &str, why: &str| {
            assert!(text.contains(from));
            let said = List::parse(&text.replace(from, to), 2).expect_err(to);
            assert!(said.contains(why), "{said}");
        };
        refused("svm-homes-1", "svm-homes-2", "begin with");
        refused("piece 1", "piece 2", "line 12");
        refused("line 10-20", "line 10", "line 2");
        refused("part 8192 100", "part 8191 100", "line 6");
        refused("100 0", "100 2", "line 6");
        refused("part", "parts", "line 5");
        assert_eq!(List::parse("svm-homes-1\npart 0 1 0", 2), Err("its line 2 cannot be read".to_owned()));
    }

    #[test]
    fn a_page_lives_where_most_of_what_is_planned_of_it_does() {
        let piece = &list().pieces[0];
        assert_eq!(homes(piece, 20_480, 10, 4096), [Some(1), Some(1), Some(0), Some(1), Some(0)]);
        assert_eq!(homes(piece, 20_480, 10, 16_384), [Some(1), Some(1)]);
        // Half the size: parts keep their shares, and the page in the middle has 50 bytes of node 0 and 2048 of node 1.
        assert_eq!(homes(piece, 10_240, 2, 4096), [Some(1), Some(1), Some(0)]);
        assert_eq!(homes(piece, 5000, 1, 4096).len(), 2);
        let gap = Piece { parts: vec![part(16_384, 4096, &[0])], ..piece.clone() };
        assert_eq!(homes(&gap, 20_480, 0, 4096), [None, None, None, None, Some(0)]);
        let wild = Piece { bytes: 1, parts: vec![part(u64::MAX, u64::MAX, &[1])], ..piece.clone() };
        assert_eq!(homes(&wild, 8192, 0, 4096), [None, None]);
        assert_eq!(blocks(5, 2).map(|home| home.expect("one").0).collect::<Vec<_>>(), [0, 0, 0, 1, 1]);
        assert_eq!(blocks(1, 4).collect::<Vec<_>>(), [Some(NodeId(0))]);
    }

    #[test]
    fn pieces_are_known_by_line_thread_and_number() {
        let taken = Taken::nothing(list());
        let next = |thread, site, bytes| taken.next(thread, site, bytes).map(|(at, _)| at);
        assert_eq!(next(0, 0x20, 4096), Some(0));
        assert_eq!(next(0, 0x45, 100), None, "too small to count");
        assert_eq!(next(0, 0x45, 4096), None, "the second one");
        assert_eq!(next(0, 0x45, 4096), Some(1));
        assert_eq!(next(3, 0x21, 9999), Some(2));
        assert_eq!((next(3, 0x41, 4096), next(1, 0x21, 4096)), (None, None));
        assert_eq!((next(0, 0, 4096), next(0, 0x10, 4096)), (None, None));
    }
}
