//! A function as basic blocks.
use crate::returns::Function;
use iced_x86::{FlowControl, Instruction, Mnemonic};
use std::collections::BTreeSet;
use std::ops::Range;

/// Straight pieces of a function's code, and which may follow which. Blocks by number, in the order of their addresses.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The instructions of each, by index.
    pub(crate) spans: Vec<Range<usize>>,
    pub(crate) succ: Vec<Vec<usize>>,
    pub(crate) pred: Vec<Vec<usize>>,
    /// Whether control may leave the function at its end, by a return or a jump.
    pub(crate) leaves: Vec<bool>,
}

impl Blocks {
    pub(crate) fn new(function: &Function) -> Blocks {
        let all = function.instructions();
        let mut begins = BTreeSet::from([0]);
        for (n, i) in all.iter().enumerate().filter(|(_, i)| ends(i)) {
            begins.extend(target(function, i));
            begins.insert(n + 1);
        }
        let begins: Vec<usize> = begins.into_iter().filter(|b| *b < all.len()).collect();
        let behind = begins.iter().skip(1).copied().chain([all.len()]);
        let mut blocks = Blocks { spans: begins.iter().zip(behind).map(|(b, e)| *b..e).collect(), ..Blocks::default() };
        blocks.pred.resize(blocks.len(), Vec::new());
        for n in 0..blocks.len() {
            let last = &all[blocks.spans[n].end - 1];
            let jump = target(function, last).and_then(|t| begins.binary_search(&t).ok());
            let on = (n + 1 < blocks.len() && falls(last)).then_some(n + 1);
            let next: BTreeSet<usize> = jump.into_iter().chain(on).collect();
            next.iter().for_each(|to| blocks.pred[*to].push(n));
            blocks.leaves.push(next.is_empty() && ends(last));
            blocks.succ.push(next.into_iter().collect());
        }
        blocks
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether a block only fills the space before an address that something jumps to.
    pub(crate) fn is_padding(&self, function: &Function, block: usize) -> bool {
        let filler = |i: &Instruction| matches!(i.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
        block > 0
            && self.pred[block].is_empty()
            && function.instructions()[self.spans[block].clone()].iter().all(filler)
    }
}

/// Whether a block ends with this instruction.
fn ends(i: &Instruction) -> bool {
    !matches!(i.flow_control(), FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall)
}

/// Whether control may go on behind it.
fn falls(i: &Instruction) -> bool {
    !ends(i) || i.flow_control() == FlowControl::ConditionalBranch
}

/// Index of the instruction that it jumps to, in the same function.
fn target(function: &Function, i: &Instruction) -> Option<usize> {
    let jumps = matches!(i.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch);
    if jumps { function.index(i.near_branch_target()) } else { None }
}
