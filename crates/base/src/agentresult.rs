//! What the preloaded agent says about a plan when a process ends: blocks of lines, one block a process, appended to one
//! file. The writer is `crates/hooks/c/agent/result.c`.

/// What happened to a plan in one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessResult {
    /// Process id.
    pub pid: u32,
    /// Whether the process left the plan alone, since another one of the program had it; then nothing else is here.
    pub beside: bool,
    /// Every line of the plan, by rising line number.
    pub items: Vec<ItemResult>,
    /// Calls of mbind.
    pub calls: u64,
    /// Bytes that those calls covered: static data, allocations and stacks.
    pub bytes: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Calls not made because the process had nearly as many mappings as it may have.
    pub refused: u64,
}

/// What happened to one line of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemResult {
    /// Place among the plan's lines, from 0.
    pub line: u32,
    /// How it went.
    pub outcome: Outcome,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The thread, object or data was met and placed.
    Matched {
        /// How many times.
        times: u64,
        /// Bytes, in whole pages.
        bytes: u64,
    },
    /// The object was met with another size, and placed by shares of that.
    Scaled {
        /// How many times.
        times: u64,
        /// Bytes, in whole pages.
        bytes: u64,
        /// The size that it came with, the last time; never 0.
        size: u64,
    },
    /// The thread, object or data was met, and the kernel refused at least once.
    Failed {
        /// Error number; [`NO_MAPPINGS`] is the agent's own.
        error: u32,
    },
    /// The thread, object or data was not met.
    NotSeen,
    /// An allocation with its ordinal was met, but of another size or by another build.
    OtherSizeOrBuild,
    /// The module does not reach as far.
    OutsideModule,
}

/// Not asked of the kernel, because the process had nearly as many mappings as it may have (ENOSPC, which `mbind` never says).
pub const NO_MAPPINGS: u32 = 28;

fn number<T: std::str::FromStr>(word: Option<&str>) -> Option<T> {
    word?.parse().ok()
}

fn item(kind: &str, words: &[&str]) -> Option<ItemResult> {
    let line = number(words.first().copied())?;
    let outcome = match (kind, &words[1..]) {
        ("matched", [times, bytes]) => Outcome::Matched { times: times.parse().ok()?, bytes: bytes.parse().ok()? },
        ("scaled", [times, bytes, size]) => Outcome::Scaled {
            times: times.parse().ok()?,
            bytes: bytes.parse().ok()?,
            size: size.parse().ok().filter(|n| *n > 0)?,
        },
        ("failed", [_times, _bytes, error]) => Outcome::Failed { error: error.parse().ok()? },
        ("unmatched", ["not-seen"]) => Outcome::NotSeen,
        ("unmatched", ["another-size-or-build"]) => Outcome::OtherSizeOrBuild,
        ("unmatched", ["outside-the-module"]) => Outcome::OutsideModule,
        _ => return None,
    };
    Some(ItemResult { line, outcome })
}

/// Takes one line into the block; `None` if it makes no sense there.
fn take(block: &mut ProcessResult, line: &str) -> Option<()> {
    let words: Vec<&str> = line.split(' ').collect();
    let (kind, rest) = words.split_first()?;
    match *kind {
        "beside" if rest.is_empty() => block.beside = true,
        "process" => block.pid = number(rest.first().copied())?,
        "calls" => block.calls = number(rest.first().copied())?,
        "bytes" => block.bytes = number(rest.first().copied())?,
        "errors" => block.errors = number(rest.first().copied())?,
        "refused" => block.refused = number(rest.first().copied())?,
        kind => block.items.push(item(kind, rest)?),
    }
    Some(())
}

/// Reads a whole file. The error names the line. A block that was cut short (the process was killed while it wrote) is
/// an error too.
pub fn parse(text: &str) -> Result<Vec<ProcessResult>, String> {
    let (mut done, mut open) = (Vec::new(), None::<ProcessResult>);
    for (at, line) in text.lines().enumerate() {
        let wrong = || format!("line {}: '{}' makes no sense in an agent's result", at + 1, line.escape_debug());
        match (line, &mut open) {
            ("homenode-agent-result 1", None) => open = Some(ProcessResult::default()),
            ("end", Some(block)) => {
                block.items.sort_by_key(|i| i.line);
                done.extend(open.take());
            }
            (line, Some(block)) => take(block, line).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        }
    }
    if open.is_some() {
        return Err("the last process's result has no 'end'".to_string());
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "homenode-agent-result 1\nprocess 7\nfailed 3 1 0 22\nmatched 2 4 8192\n\
                        scaled 7 1 4096 9000\nunmatched 4 not-seen\nunmatched 5 another-size-or-build\nunmatched 6 outside-the-module\n\
                        calls 5\nbytes 8192\nerrors 1\nrefused 0\nend\n";

    #[test]
    fn every_outcome() {
        let all = parse(&TEXT.repeat(2)).unwrap();
        assert_eq!(all.len(), 2);
        let one = &all[0];
        assert_eq!((one.pid, one.calls, one.bytes, one.errors, one.refused), (7, 5, 8192, 1, 0));
        let outcomes: Vec<_> = one.items.iter().map(|i| (i.line, i.outcome)).collect();
        let expected = [
            (2, Outcome::Matched { times: 4, bytes: 8192 }),
            (3, Outcome::Failed { error: 22 }),
            (4, Outcome::NotSeen),
            (5, Outcome::OtherSizeOrBuild),
            (6, Outcome::OutsideModule),
            (7, Outcome::Scaled { times: 1, bytes: 4096, size: 9000 }),
        ];
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn a_process_beside() {
        let all = parse("homenode-agent-result 1\nprocess 7\nbeside\nend\n").unwrap();
        assert_eq!(all, [ProcessResult { pid: 7, beside: true, ..ProcessResult::default() }]);
    }

    #[test]
    fn what_is_cut_or_changed_is_refused() {
        for cut in TEXT.match_indices('\n').map(|(at, _)| at + 1).filter(|&at| at < TEXT.len()) {
            assert!(parse(&TEXT[..cut]).is_err(), "cut at {cut}");
        }
        for (from, to) in
            [("matched", "mached"), ("4096 9000", "4096 0"), ("4 8192", "4"), ("process 7", "process x"), ("22", "-22")]
        {
            assert!(parse(&TEXT.replacen(from, to, 1)).unwrap_err().starts_with("line "), "{from}");
        }
    }
}
