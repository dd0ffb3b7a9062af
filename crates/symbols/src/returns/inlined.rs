//! Hooks whose code the compiler's assembler has put in the place of their calls: blocks of references, which section `hn_blocks` of
//! the file describes (`as/blocks.rs` of the hooks). To all who look at machine code they are calls still.
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, OpKind};
use object::{Object, ObjectSection};
use std::collections::HashMap;

const SECTION: &str = "hn_blocks";
/// Bytes of a block's header, and of what is said of a reference.
const ENTRY_BYTES: usize = 8;
/// Where the number of references stands in a header.
const COUNT_AT: usize = 7;

/// The places of such code.
#[derive(Debug, Default)]
pub(super) struct Inlined {
    /// Sorted by begin, apart from each other.
    hooks: Vec<Hook>,
    /// Whether the one that this address stands for writes.
    writes: HashMap<u64, bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hook {
    begin: u64,
    end: u64,
    /// Address of what is said of it, which stands for the function that would be called.
    said_at: u64,
}

impl Inlined {
    /// Hooks of a file; none where what it says of them cannot be.
    pub(super) fn of(file: &object::File<'_>) -> Inlined {
        let section = file.section_by_name(SECTION);
        let said = section.and_then(|s| Some((s.address(), s.data().ok()?)));
        said.and_then(|(at, bytes)| parse(at, bytes)).unwrap_or_default()
    }

    /// Name of the function that would be called, if code that stands for a call is described here.
    pub(super) fn name(&self, said_at: u64) -> Option<&'static str> {
        let writes = *self.writes.get(&said_at)?;
        Some(if writes { "__tsan_write" } else { "__tsan_read" })
    }

    /// The instructions in `bytes`, which stand at `begin`; a hook is one, a call.
    pub(super) fn decode(&self, bytes: &[u8], begin: u64) -> Vec<Instruction> {
        let mut decoder = Decoder::with_ip(64, bytes, begin, DecoderOptions::NONE);
        let mut hooks = self.hooks[self.hooks.partition_point(|h| h.begin < begin)..].iter().peekable();
        let mut out = Vec::new();
        while decoder.can_decode() {
            let ip = decoder.ip();
            while hooks.next_if(|h| h.begin < ip).is_some() {}
            match hooks.next_if(|h| h.begin == ip) {
                Some(hook) if decoder.set_position((hook.end - begin) as usize).is_ok() => {
                    decoder.set_ip(hook.end);
                    out.push(call(hook));
                }
                _ => out.push(decoder.decode()),
            }
        }
        out
    }
}

fn call(hook: &Hook) -> Instruction {
    let mut call = Instruction::default();
    call.set_code(Code::Call_rel32_64);
    call.set_op0_kind(OpKind::NearBranch64);
    call.set_near_branch64(hook.said_at);
    call.set_len((hook.end - hook.begin) as usize);
    call.set_next_ip(hook.end);
    call
}

/// `None` if the bytes at address `at` describe no blocks.
fn parse(at: u64, bytes: &[u8]) -> Option<Inlined> {
    let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
    at.checked_add(bytes.len() as u64).filter(|_| rest.is_empty())?;
    let mut numbered = entries.iter().enumerate();
    let (mut hooks, mut writes) = (Vec::new(), HashMap::new());
    while let Some((_, header)) = numbered.next() {
        for _ in 0..header[COUNT_AT] {
            let (n, [a, b, c, d, length, _, operation, _]) = numbered.next()?;
            let said_at = at + (n * ENTRY_BYTES) as u64;
            let last = said_at.checked_add_signed(i64::from(i32::from_le_bytes([*a, *b, *c, *d])))?;
            let end = last.checked_add(1)?;
            hooks.push(Hook { begin: end.checked_sub(u64::from(*length))?, end, said_at });
            writes.insert(said_at, *operation != 0);
        }
    }
    hooks.sort_unstable_by_key(|h| h.begin);
    let apart = hooks.iter().all(|h| h.begin < h.end) && hooks.is_sorted_by(|a, b| a.end <= b.begin);
    apart.then_some(Inlined { hooks, writes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A header for `refs` references.
    fn header(refs: u8) -> [u8; 8] {
        [0, 0, 0, 0, 0, 0, 0x40, refs]
    }
    fn said(distance: i32, length: u8, operation: u8) -> [u8; 8] {
        let [a, b, c, d] = distance.to_le_bytes();
        [a, b, c, d, length, 3, operation, 0]
    }

    #[test]
    fn code_in_the_place_of_a_call_is_one_call_as_long_as_it_is() {
        // push %rbp; four bytes of a hook; pop %rbp; five bytes of another; ret
        let code = [0x55, 0x49, 0x89, 0x7b, 0x08, 0x5d, 0x49, 0x89, 0x7b, 0x10, 0x90, 0xc3];
        let blocks = [header(2), said(0x1004 - 0x2008, 4, 0), said(0x100a - 0x2010, 5, 1)].concat();
        let inlined = parse(0x2000, &blocks).unwrap();
        let found = inlined.decode(&code, 0x1000);
        let places: Vec<_> = found.iter().map(|i| (i.ip(), i.next_ip(), i.is_call_near())).collect();
        assert_eq!(
            places,
            [
                (0x1000, 0x1001, false),
                (0x1001, 0x1005, true),
                (0x1005, 0x1006, false),
                (0x1006, 0x100b, true),
                (0x100b, 0x100c, false)
            ]
        );
        assert_eq!(inlined.name(found[1].near_branch_target()), Some("__tsan_read"));
        assert_eq!(inlined.name(found[3].near_branch_target()), Some("__tsan_write"));
        assert_eq!(inlined.name(0x1000), None);
    }

    #[test]
    fn what_cannot_be_is_none() {
        let good = [header(1), said(-0x1000, 4, 0)].concat();
        assert!(parse(0x2000, &good).is_some());
        assert!(parse(0x2000, &good[..12]).is_none(), "cut");
        assert!(parse(0x2000, &[header(2), said(-0x1000, 4, 0)].concat()).is_none(), "a reference is missing");
        assert!(parse(u64::MAX - 8, &good).is_none(), "beyond the end of memory");
        assert!(parse(0x2000, &[header(1), said(-0x1000, 0, 0)].concat()).is_none(), "no code");
        let twice = [header(2), said(-0x1000, 4, 0), said(-0x1006, 4, 0)].concat();
        assert!(parse(0x2000, &twice).is_none(), "one inside of the other");
    }

    proptest! {
        #[test]
        fn any_bytes_at_all_are_blocks_or_are_not(at: u64, bytes: Vec<u8>, begin: u64) {
            if let Some(inlined) = parse(at >> (begin % 64), &bytes) {
                inlined.decode(&bytes, inlined.hooks.first().map_or(begin, |h| h.begin));
            }
        }
    }
}
