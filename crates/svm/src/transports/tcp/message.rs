//! Requests as bytes. A request is a head of words of 64 bits, the lowest byte first, and for writes the words that are written; every
//! number in a head is checked here, so that what follows can use it. Pure.
use homenode_hlrc::host::Wake;
use std::fmt;

/// Bytes of a word.
pub(crate) const WORD: usize = 8;
/// Words of the longest head.
pub(crate) const HEAD_MOST: usize = 4;
/// Words that a request may read or write, at most: a page of 1 MiB, or a run that changed all of one, or a large vector.
pub const WORDS_MOST: u64 = 1 << 18;

/// Words of the memory that requests are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of the region.
    pub region: u64,
    /// Of the heap.
    pub heap: u64,
}

/// An operation that a peer asks for. Words are counted from the beginning of the region or of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Words of the region are read.
    Get {
        /// The first one.
        word: usize,
        /// How many.
        count: usize,
    },
    /// Words of the region are written.
    Put {
        /// The first one.
        word: usize,
        /// How many.
        count: usize,
        /// Who is woken.
        wake: Wake,
    },
    /// A word of the region is set if it is `old`.
    CompareSwap {
        /// The word.
        word: usize,
        /// What it must be.
        old: u64,
        /// What it becomes.
        new: u64,
    },
    /// Something is added to a word of the region.
    FetchAdd {
        /// The word.
        word: usize,
        /// The number that is added.
        add: u64,
        /// Who is woken.
        wake: Wake,
    },
    /// Words of the heap are read.
    GetPage {
        /// The first one.
        word: usize,
        /// How many.
        count: usize,
    },
    /// Words of the heap are written.
    PutPage {
        /// The first one.
        word: usize,
        /// How many.
        count: usize,
    },
    /// Bytes of words of the heap are written: values and masks in turn.
    PutRun {
        /// The first one.
        word: usize,
        /// How many words of the heap.
        count: usize,
    },
    /// A thread is to serve.
    Interrupt,
    /// The first thread is called.
    Call,
}

/// Why bytes are no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// There is no operation of this number.
    Kind(u8),
    /// Words that the memory does not have, or too many: the first one, and how many.
    Words(u64, u64),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Kind(kind) => write!(f, "operation {kind}, which does not exist"),
            Malformed::Words(word, count) => {
                write!(f, "an operation on {count} words from {word} on, which do not exist")
            }
        }
    }
}

/// Bits of an operation's number; those above say who is woken.
const KIND: u8 = 0x3f;
/// Who may be woken, by code.
const WAKES: [Wake; 3] = [Wake::Nobody, Wake::Expecting, Wake::All];

/// Who is woken, above the number of an operation.
fn code(wake: Wake) -> u64 {
    (wake as u64) << KIND.count_ones()
}

/// Words of a head: how many there are, and they.
pub(crate) type Head = ([u64; HEAD_MOST], usize);

impl Request {
    /// The words of the head.
    pub(crate) fn head(self) -> Head {
        let first = |kind: u64, count: usize| kind | (count as u64) << 8;
        match self {
            Request::Get { word, count } => ([first(1, count), word as u64, 0, 0], 2),
            Request::Put { word, count, wake } => ([first(2 | code(wake), count), word as u64, 0, 0], 2),
            Request::CompareSwap { word, old, new } => ([first(3, 1), word as u64, old, new], 4),
            Request::FetchAdd { word, add, wake } => ([first(4 | code(wake), 1), word as u64, add, 0], 3),
            Request::GetPage { word, count } => ([first(5, count), word as u64, 0, 0], 2),
            Request::PutPage { word, count } => ([first(6, count), word as u64, 0, 0], 2),
            Request::PutRun { word, count } => ([first(7, count), word as u64, 0, 0], 2),
            Request::Interrupt => ([first(8, 0), 0, 0, 0], 2),
            Request::Call => ([first(9, 0), 0, 0, 0], 2),
        }
    }

    /// Words that follow the head.
    pub(crate) fn payload(self) -> usize {
        match self {
            Request::Put { count, .. } | Request::PutPage { count, .. } => count,
            Request::PutRun { count, .. } => 2 * count,
            _ => 0,
        }
    }

    /// Reads a head from the front of `bytes`; the request and the bytes of its head, `None` if some are missing.
    fn parse(bytes: &[u8], limits: &Limits) -> Result<Option<(Request, usize)>, Malformed> {
        let word_at = |at: usize| bytes.get(at * WORD..(at + 1) * WORD).map(word_of);
        let (Some(first), Some(word)) = (word_at(0), word_at(1)) else { return Ok(None) };
        let (kind, count) = (first as u8 & KIND, first >> 8);
        let woken = first as u8 & !KIND;
        let wake = WAKES.into_iter().find(|wake| code(*wake) == u64::from(woken));
        let Some(wake) = wake.filter(|_| woken == 0 || kind == 2 || kind == 4) else {
            return Err(Malformed::Kind(first as u8));
        };
        let operands = match kind {
            3 => 2,
            4 => 1,
            1..=9 => 0,
            _ => return Err(Malformed::Kind(kind)),
        };
        let of = match kind {
            1..=4 => limits.region,
            5..=7 => limits.heap,
            _ => 0,
        };
        let is_inside = count <= WORDS_MOST && word.checked_add(count).is_some_and(|end| end <= of);
        if !is_inside || (3..=4).contains(&kind) && count != 1 {
            return Err(Malformed::Words(word, count));
        }
        let operand = |at: usize| word_at(2 + at);
        let (Some(a), Some(b)) =
            (if operands > 0 { operand(0) } else { Some(0) }, if operands > 1 { operand(1) } else { Some(0) })
        else {
            return Ok(None);
        };
        // Both are below the limits, which are sizes of memory.
        let (word, count) = (word as usize, count as usize);
        let request = match kind {
            1 => Request::Get { word, count },
            2 => Request::Put { word, count, wake },
            3 => Request::CompareSwap { word, old: a, new: b },
            4 => Request::FetchAdd { word, add: a, wake },
            5 => Request::GetPage { word, count },
            6 => Request::PutPage { word, count },
            7 => Request::PutRun { word, count },
            8 => Request::Interrupt,
            _ => Request::Call,
        };
        Ok(Some((request, (2 + operands) * WORD)))
    }
}

/// The word that eight bytes are.
pub(crate) fn word_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// What the next bytes of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'b> {
    /// Words to be written for a request: how many there were before, and the bytes; values and masks are not separated.
    Written(Request, usize, &'b [u8]),
    /// The request is whole.
    Whole(Request),
    /// More bytes are needed.
    More,
}

/// A reader of a stream of requests, which comes in pieces.
#[derive(Debug)]
pub struct Parser {
    limits: Limits,
    /// The request whose words come, and how many have.
    current: Option<(Request, usize)>,
}

impl Parser {
    /// One at the beginning of a stream.
    pub fn new(limits: Limits) -> Parser {
        Parser { limits, current: None }
    }

    /// Takes the next part from the front of `bytes`.
    ///
    /// # Errors
    /// The bytes are no request; the stream cannot be read on.
    pub fn next<'b>(&mut self, bytes: &mut &'b [u8]) -> Result<Part<'b>, Malformed> {
        let (request, done) = match self.current {
            Some(current) => current,
            None => {
                let Some((request, length)) = Request::parse(bytes, &self.limits)? else { return Ok(Part::More) };
                *bytes = &bytes[length..];
                (request, 0)
            }
        };
        let left = request.payload() - done;
        if left == 0 {
            self.current = None;
            return Ok(Part::Whole(request));
        }
        let unit = if matches!(request, Request::PutRun { .. }) { 2 } else { 1 };
        let words = (bytes.len() / WORD / unit * unit).min(left);
        self.current = Some((request, done + words));
        if words == 0 {
            return Ok(Part::More);
        }
        let (part, rest) = bytes.split_at(words * WORD);
        *bytes = rest;
        Ok(Part::Written(request, done, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homenode_base::Rng;

    const LIMITS: Limits = Limits { region: 1000, heap: 5000 };

    fn bytes_of(request: Request, payload: &[u64]) -> Vec<u8> {
        let (head, length) = request.head();
        head[..length].iter().chain(payload).flat_map(|w| w.to_le_bytes()).collect()
    }

    fn some(rng: &mut Rng) -> Request {
        let (word, count) = (rng.below(500) as usize, rng.below(500) as usize);
        match rng.below(9) {
            0 => Request::Get { word, count },
            1 => Request::Put { word, count, wake: WAKES[count % 3] },
            2 => Request::CompareSwap { word, old: rng.next_u64(), new: rng.next_u64() },
            3 => Request::FetchAdd { word, add: rng.next_u64(), wake: WAKES[count % 3] },
            4 => Request::GetPage { word: word * 9, count },
            5 => Request::PutPage { word: word * 9, count },
            6 => Request::PutRun { word: word * 9, count },
            7 => Request::Interrupt,
            _ => Request::Call,
        }
    }

    #[test]
    fn a_stream_in_any_pieces_is_read_as_it_was_written() {
        let mut rng = Rng::new(11);
        for _ in 0..50 {
            let requests: Vec<Request> = (0..20).map(|_| some(&mut rng)).collect();
            let mut words = |r: &Request| (0..r.payload()).map(|_| rng.next_u64()).collect();
            let sent: Vec<(Request, Vec<u64>)> = requests.iter().map(|r| (*r, words(r))).collect();
            let stream: Vec<u8> = sent.iter().flat_map(|(r, words)| bytes_of(*r, words)).collect();
            let (mut parser, mut found, mut words) = (Parser::new(LIMITS), Vec::new(), Vec::new());
            let (mut from, mut to) = (0, 0);
            while found.len() < sent.len() {
                to = (to + rng.below(300) as usize).min(stream.len());
                let mut bytes = &stream[from..to];
                loop {
                    match parser.next(&mut bytes).expect("what was written") {
                        Part::Written(_, done, some) => {
                            assert_eq!(done, words.len());
                            words.extend(some.chunks(WORD).map(word_of));
                        }
                        Part::Whole(request) => found.push((request, std::mem::take(&mut words))),
                        Part::More => break,
                    }
                }
                from = to - bytes.len();
            }
            assert_eq!((found, from), (sent, stream.len()));
        }
    }

    #[test]
    fn any_bytes_are_about_memory_that_exists_or_are_refused() {
        let mut rng = Rng::new(12);
        let (mut whole, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let head = |rng: &mut Rng| [rng.below(12) | rng.below(1100) << 8, rng.below(5500)];
            let stream: Vec<u8> = (0..4).flat_map(|_| head(&mut rng)).flat_map(u64::to_le_bytes).collect();
            let (mut parser, mut bytes) = (Parser::new(LIMITS), &stream[..stream.len() - rng.below(16) as usize]);
            loop {
                match parser.next(&mut bytes) {
                    Ok(Part::More) => break,
                    Ok(Part::Written(request, done, some)) => {
                        assert!(!some.is_empty() && done + some.len() / WORD <= request.payload());
                    }
                    Ok(Part::Whole(request)) => {
                        let ([first, word, ..], _) = request.head();
                        let of = if (5..=7).contains(&(first as u8)) { LIMITS.heap } else { LIMITS.region };
                        assert!(word + (first >> 8) <= of, "{request:?}");
                        whole += 1;
                    }
                    Err(_) => {
                        refused += 1;
                        break;
                    }
                }
            }
        }
        assert!(whole > 1000 && refused > 1000, "{whole} {refused}");
    }

    #[test]
    fn what_memory_does_not_have_is_refused() {
        let refused = |words: &[u64]| {
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            Parser::new(LIMITS).next(&mut &bytes[..]).expect_err("it does not exist")
        };
        assert_eq!(refused(&[0, 0]), Malformed::Kind(0));
        assert_eq!(refused(&[10, 0]), Malformed::Kind(10));
        // Nobody has the third code of who is woken, and only what writes words of a region wakes.
        for wakes in [2 | 3 << 6, 4 | 3 << 6, 1 | 1 << 6, 3 | 2 << 6, 6 | 1 << 6, 8 | 2 << 6] {
            assert_eq!(refused(&[wakes | 1 << 8, 0]), Malformed::Kind(wakes as u8));
        }
        assert_eq!(refused(&[1 | 1001 << 8, 0]), Malformed::Words(0, 1001));
        assert_eq!(refused(&[2 | 1 << 8, 1000]), Malformed::Words(1000, 1));
        assert_eq!(refused(&[2 | 1 << 8, u64::MAX]), Malformed::Words(u64::MAX, 1));
        assert_eq!(refused(&[3 | 2 << 8, 0]), Malformed::Words(0, 2));
        assert_eq!(refused(&[4, 0]), Malformed::Words(0, 0));
        assert_eq!(refused(&[7 | 5 << 8, 4996]), Malformed::Words(4996, 5));
        assert_eq!(refused(&[8 | 1 << 8, 0]), Malformed::Words(0, 1));
        assert!(refused(&[9, 7]).to_string().contains("which do not exist"));
        let many = Limits { region: u64::MAX, heap: u64::MAX };
        let long = [1 | (WORDS_MOST + 1) << 8, 0].map(u64::to_le_bytes).concat();
        assert!(Parser::new(many).next(&mut &long[..]).is_err());
    }
}
