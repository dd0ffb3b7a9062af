//! One line: two characters that say what, an address in hexadecimal digits, a comma, a size.

/// What a line of the trace says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Instruction,
    Load,
    Store,
    Modify,
}

/// A line of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) what: What,
    pub(super) addr: u64,
    pub(super) size: u32,
}

/// The line that `bytes` begin with, and its length with its end; `None` if it is none of the trace.
#[inline]
pub(super) fn parse(bytes: &[u8]) -> Option<(Line, usize)> {
    let (what, rest) = bytes.split_first_chunk::<3>()?;
    let what = match what {
        b"I  " => What::Instruction,
        b" L " => What::Load,
        b" S " => What::Store,
        b" M " => What::Modify,
        _ => return None,
    };
    let (mut addr, mut at) = (0_u64, 0);
    loop {
        let digit = match rest.get(at)? {
            b @ b'0'..=b'9' => b - b'0',
            b @ b'a'..=b'f' => b - b'a' + 10,
            b',' if at > 0 => break,
            _ => return None,
        };
        if at == 16 {
            return None;
        }
        (addr, at) = (addr << 4 | u64::from(digit), at + 1);
    }
    let (mut size, digits) = (0_u32, at + 1);
    at = digits;
    loop {
        match rest.get(at)? {
            b @ b'0'..=b'9' if at < digits + 9 => size = size * 10 + u32::from(b - b'0'),
            b'\n' if size > 0 => return Some((Line { what, addr, size }, 3 + at + 1)),
            _ => return None,
        }
        at += 1;
    }
}

/// What valgrind itself says: the process that it speaks of, and the words.
pub(super) fn said(line: &[u8]) -> Option<(u32, &str)> {
    let (pid, words) = std::str::from_utf8(line).ok()?.strip_prefix("==")?.split_once("==")?;
    Some((pid.parse().ok()?, words.trim()))
}

/// Whether a file that begins so is one.
pub(super) fn begins_log(start: &[u8]) -> bool {
    let lackey = |line: &[u8]| said(line).is_some_and(|(_, words)| words.starts_with("Lackey,"));
    let first = start.split(|&b| b == b'\n').take(64);
    parse(start).is_some() || first.into_iter().any(lackey)
}
