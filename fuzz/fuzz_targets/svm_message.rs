//! Any bytes, in pieces of any size, as a stream of requests between nodes: what is accepted is about memory that exists, its words come
//! whole and in order, what is refused is one line, and nothing panics.
#![no_main]
use homenode_svm::transports::message::{Limits, Parser, Part, Request};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { region: 1000, heap: 4096 };

/// First word, number and memory of a request, and words that are written for it.
fn about(request: Request) -> (u64, u64, u64, usize) {
    let of = |word: usize, count: usize, words: u64, written: usize| (word as u64, count as u64, words, written);
    match request {
        Request::Get { word, count } => of(word, count, LIMITS.region, 0),
        Request::Put { word, count, .. } => of(word, count, LIMITS.region, count),
        Request::CompareSwap { word, .. } | Request::FetchAdd { word, .. } => of(word, 1, LIMITS.region, 0),
        Request::GetPage { word, count } => of(word, count, LIMITS.heap, 0),
        Request::PutPage { word, count } => of(word, count, LIMITS.heap, count),
        Request::PutRun { word, count } => of(word, count, LIMITS.heap, 2 * count),
        Request::Interrupt | Request::Call => of(0, 0, 0, 0),
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&[piece], stream)) = data.split_first_chunk() else { return };
    let (mut parser, mut from, mut to, mut written) = (Parser::new(LIMITS), 0, 0, 0);
    while to < stream.len() {
        to = (to + 1 + usize::from(piece)).min(stream.len());
        let mut bytes = &stream[from..to];
        loop {
            match parser.next(&mut bytes) {
                Ok(Part::More) => break,
                Ok(Part::Written(request, done, words)) => {
                    assert_eq!((done, words.len() % 8), (written, 0));
                    written += words.len() / 8;
                    assert!(written <= about(request).3);
                }
                Ok(Part::Whole(request)) => {
                    let (word, count, memory, all) = about(request);
                    assert!(word + count <= memory);
                    assert_eq!(std::mem::take(&mut written), all);
                }
                Err(what) => {
                    let said = what.to_string();
                    return assert!(!said.is_empty() && said.lines().count() == 1);
                }
            }
        }
        from = to - bytes.len();
    }
});
