//! Where control goes in a function, as far as that is known, and what its calls are.
use crate::paths::blocks::Blocks;
use crate::paths::graph::{Called, called_by};
use crate::paths::nest::Nest;
use crate::returns::{Callee, Code, Function, by_name};
use iced_x86::{Code as Op, FlowControl, Instruction};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

/// Instructions of cold parts, and of called functions, that are looked at in one file.
const INSTRUCTIONS_MAX: usize = 8 << 20;
/// Blocks of the largest function that is looked at.
const BLOCKS_MAX: usize = 8192;

/// What a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Hook before a reference; what it points to is given to it.
    Hook,
    /// Hook that is the reference.
    Atomic,
    /// Hook without reference.
    Mark,
    /// Function of a library that leaves the program's variables alone; whether it returns its first argument.
    Library(bool),
    /// Function that does not return.
    Ends,
    /// Any other.
    Program,
}

/// A function's blocks in an order in which each one that can only be reached by way of another comes after that.
pub(super) struct Flow<'f> {
    pub(super) function: &'f Function,
    pub(super) blocks: Blocks,
    pub(super) nest: Nest,
    pub(super) order: Vec<usize>,
    /// By block: whether control also comes from where nobody knows.
    pub(super) from_outside: Vec<bool>,
    /// By index of the instruction.
    pub(super) calls: HashMap<usize, Call>,
}

/// What is known of a file besides one function.
pub(super) struct Around<'a> {
    pub(super) code: &'a Code<'a>,
    /// Functions of the runtime.
    pub(super) not_own: &'a BTreeSet<String>,
    /// Addresses that cold parts of functions jump back to.
    pub(super) entered: BTreeSet<u64>,
    /// Variables with fixed places: begins and ends, in order.
    pub(super) data: Vec<(u64, u64)>,
    /// What calls of functions are, by where they go.
    known: RefCell<HashMap<u64, Call>>,
    /// Instructions of called functions that may still be looked at.
    left: Cell<usize>,
}

impl<'a> Around<'a> {
    /// `None` if the file's functions have too much code elsewhere.
    pub(super) fn new(
        code: &'a Code<'a>,
        not_own: &'a BTreeSet<String>,
        mut data: Vec<(u64, u64)>,
    ) -> Option<Around<'a>> {
        data.sort_unstable();
        data.dedup_by_key(|d| d.0);
        let (mut entered, mut left) = (BTreeSet::new(), INSTRUCTIONS_MAX);
        for (begin, _) in code.begins().filter(|(_, name)| name.contains(".cold")) {
            let Some(function) = code.function(begin).filter(|f| f.begin() == begin) else { continue };
            left = left.checked_sub(function.instructions().len())?;
            let jumps = function.instructions().iter().filter(|i| is_jump(i)).map(Instruction::near_branch_target);
            entered.extend(jumps.filter(|to| function.index(*to).is_none()));
        }
        Some(Around { code, not_own, entered, data, known: RefCell::default(), left: Cell::new(INSTRUCTIONS_MAX) })
    }

    /// Calls of hooks that stand before references or are such, by the address of their last byte.
    pub(super) fn sites<'f>(&self, function: &'f Function) -> impl Iterator<Item = u64> + use<'f, '_> {
        let refers = |i: &&Instruction| matches!(called_by(self.code, i), Some(Called::Hook | Called::Atomic));
        function.instructions().iter().filter(refers).map(|i| i.next_ip().wrapping_sub(1))
    }

    fn call(&self, i: &Instruction) -> Call {
        match called_by(self.code, i) {
            Some(Called::Hook) => return Call::Hook,
            Some(Called::Atomic) => return Call::Atomic,
            Some(Called::Mark) => return Call::Mark,
            _ => {}
        }
        let Some(target) = self.code.target(i) else { return Call::Program };
        let known = self.known.borrow().get(&target).copied();
        known.unwrap_or_else(|| {
            let call = self.called(target);
            self.known.borrow_mut().insert(target, call);
            call
        })
    }

    fn called(&self, target: u64) -> Call {
        let Some(name) = self.code.name(target) else { return Call::Program };
        match by_name(&name) {
            Some(Callee::Ends) => Call::Ends,
            Some(Callee::ReturnsFirst) => Call::Library(true),
            Some(Callee::Allocates | Callee::AllocatesTo) => Call::Library(false),
            _ if self.not_own.contains(&name) => Call::Library(false),
            _ => {
                let own = self.code.function(target).filter(|f| f.begin() == target && !f.instructions().is_empty());
                let left = own.as_ref().and_then(|f| self.left.get().checked_sub(f.instructions().len()));
                self.left.set(left.unwrap_or(0));
                let ends = left.is_some() && own.is_some_and(|f| f.cannot_return());
                if ends { Call::Ends } else { Call::Program }
            }
        }
    }
}

impl<'f> Flow<'f> {
    /// `None` where that cannot be known: jumps by computed addresses, bytes that are no instructions, jumps into instructions,
    /// functions that are too large.
    pub(super) fn new(around: &Around<'_>, function: &'f Function) -> Option<Flow<'f>> {
        let all = function.instructions();
        let mut blocks = Blocks::new(function);
        if all.is_empty() || blocks.len() > BLOCKS_MAX {
            return None;
        }
        let is_call = |i: &Instruction| matches!(i.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
        let calls: HashMap<usize, Call> =
            all.iter().enumerate().filter(|(_, i)| is_call(i)).map(|(n, i)| (n, around.call(i))).collect();
        for block in 0..blocks.len() {
            let ends = blocks.spans[block].clone().find(|n| calls.get(n) == Some(&Call::Ends));
            if let Some(n) = ends {
                blocks.spans[block].end = n + 1;
            }
            if ends.is_some() || blocks.is_padding(function, block) {
                cut(&mut blocks, block);
            }
        }
        let entered = |b: &usize| around.entered.contains(&all[blocks.spans[*b].start].ip());
        let inside = all[0].ip()..all.last()?.next_ip();
        let begins = (0..blocks.len()).filter(entered).count();
        if inside.is_empty() || begins != around.entered.range(inside.clone()).count() {
            return None;
        }
        let root = |b: &usize| *b > 0 && blocks.pred[*b].is_empty() && !blocks.is_padding(function, *b);
        let from_outside: Vec<bool> = (0..blocks.len()).map(|b| entered(&b) || root(&b)).collect();
        let order = order(&blocks, &from_outside);
        let known = |n: usize| {
            let i = &all[n];
            let lost = i.code() == Op::INVALID || i.flow_control() == FlowControl::IndirectBranch;
            let torn = is_jump(i)
                && inside.contains(&i.near_branch_target())
                && function.index(i.near_branch_target()).is_none();
            !lost && !torn
        };
        let all_known = order.iter().flat_map(|b| blocks.spans[*b].clone()).all(known);
        all_known.then(|| Flow { function, nest: Nest::new(&blocks), blocks, order, from_outside, calls })
    }
}

fn is_jump(i: &Instruction) -> bool {
    matches!(i.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
}

/// Removes the ways on from a block.
fn cut(blocks: &mut Blocks, block: usize) {
    for to in std::mem::take(&mut blocks.succ[block]) {
        blocks.pred[to].retain(|from| *from != block);
    }
}

/// Blocks that are reached, in reverse postorder.
fn order(blocks: &Blocks, from_outside: &[bool]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::new();
    let roots = (0..blocks.len()).filter(|b| from_outside[*b]).chain([0]);
    for root in roots {
        let mut work = if std::mem::replace(&mut seen[root], true) { Vec::new() } else { vec![(root, 0)] };
        while let Some((block, edge)) = work.last_mut() {
            let block = *block;
            match blocks.succ[block].get(*edge) {
                Some(&to) => {
                    *edge += 1;
                    if !std::mem::replace(&mut seen[to], true) {
                        work.push((to, 0));
                    }
                }
                None => {
                    order.push(block);
                    work.pop();
                }
            }
        }
    }
    order.reverse();
    order
}
