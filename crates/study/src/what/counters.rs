//! Counters in hindsight: of each protocol with one every counter that is tried, and the best of each page.
use super::Family;
use homenode_coherence::hindsight::{Delayed, LANES, STARTS};

/// Members of each protocol: its counters, then the best of each page.
const EACH: u32 = LANES as u32 + 1;
const NAMES: [&str; 2] = ["upt-del", "inv-del"];

pub(super) const fn member(protocol: Delayed, lane: Option<usize>) -> u32 {
    protocol as u32 * EACH
        + match lane {
            Some(lane) => lane as u32,
            None => LANES as u32,
        }
}

pub(super) fn parts(member: u32) -> (u32, Option<usize>) {
    let lane = (member % EACH) as usize;
    (member / EACH, (lane < LANES).then_some(lane))
}

pub(crate) static SPEC: Family = Family {
    name: "counters",
    key: |question, member| name(member).filter(|_| question.counters),
    words: |question, member| name(member).filter(|_| question.counters),
};

fn name(member: u32) -> Option<String> {
    let (protocol, lane) = parts(member);
    let protocol = NAMES.get(protocol as usize)?;
    Some(match lane.map(|lane| STARTS[lane]) {
        None => format!("best {protocol} by page"),
        Some(u32::MAX) => format!("best {protocol}(never)"),
        Some(start) => format!("best {protocol}({start})"),
    })
}
