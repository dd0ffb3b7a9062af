//! What was found out about busy waiting, beside the dataset that it was found in.
use crate::frame::DecodedFrame;
use crate::record::Op;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

/// What is different from what was recorded.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// By thread: references that are spins or, if they were recorded as spins, what the kept round did. Ascending.
    pub(crate) refs: Vec<Vec<(u64, Op)>>,
    /// By thread: where references marked as spins are reads. Ascending and apart.
    pub(crate) reads: Vec<Vec<Range<u64>>>,
    /// Events that order nothing.
    pub(crate) events: HashSet<u32>,
}

impl Polls {
    /// Changes the operations of a decoded frame.
    pub(crate) fn apply(&self, thread: u32, frame: &mut DecodedFrame) {
        let (first, end) = (frame.first_ref, frame.first_ref + frame.len() as u64);
        let mut keys: HashMap<(u16, Op), u16> = HashMap::new();
        let ranges = &self.reads[thread as usize];
        let from = ranges.partition_point(|r| r.end <= first);
        for range in ranges[from..].iter().take_while(|r| r.start < end) {
            for at in range.start.max(first)..range.end.min(end) {
                let key = frame.key[(at - first) as usize];
                if frame.keys[usize::from(key)].op == Op::Spin {
                    change(frame, &mut keys, at, Op::Read);
                }
            }
        }
        let all = &self.refs[thread as usize];
        let from = all.partition_point(|r| r.0 < first);
        for &(at, op) in all[from..].iter().take_while(|r| r.0 < end) {
            change(frame, &mut keys, at, op);
        }
    }
}

/// Gives a reference of a frame another operation; `keys` has what was found for its key before.
fn change(frame: &mut DecodedFrame, keys: &mut HashMap<(u16, Op), u16>, at: u64, op: Op) {
    let i = (at - frame.first_ref) as usize;
    let key = frame.key[i];
    let changed = *keys.entry((key, op)).or_insert_with(|| {
        if frame.keys.len() > usize::from(u16::MAX) {
            return key;
        }
        let changed = crate::frame::Key { op, ..frame.keys[usize::from(key)] };
        frame.keys.push(changed);
        (frame.keys.len() - 1) as u16
    });
    frame.key[i] = changed;
}
