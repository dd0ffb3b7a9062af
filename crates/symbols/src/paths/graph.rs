//! The instructions of a file as a graph, each with what it counts.
use crate::returns::{Code, Function};
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeSet, HashMap};

/// Instructions that are held of one file.
const NODES_MAX: usize = 8 << 20;
/// How far before the call of a hook its arguments are looked for.
const ARGUMENTS_MAX: usize = 8;

/// Where control goes after an instruction. Nodes by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// To the instruction behind it.
    On,
    /// To there.
    Jump(u32),
    /// To there or on.
    Branch(u32),
    /// Into a function of the program's own that begins there, and then on.
    Call(u32),
    /// To the caller.
    Return,
    /// Nobody knows, or nowhere.
    Lost,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) next: Next,
    /// 1 for an instruction of the program's own.
    pub(super) counts: u32,
    /// Whether the instruction makes references: a path ends here.
    pub(super) refers: bool,
    /// Number of its function.
    pub(super) function: u32,
}

/// Instructions of a module's functions, and which follow which.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// The instruction that makes the references of a site: a call, by the address of its last byte.
    pub(super) sites: HashMap<u64, u32>,
    /// First nodes of functions, in their order.
    pub(super) begins: Vec<u32>,
    /// By function: calls of it.
    pub(super) callers: HashMap<u32, Vec<u32>>,
    /// By function: functions that jump into it.
    pub(super) jumpers: HashMap<u32, Vec<u32>>,
}

/// What is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Called {
    /// A hook that stands before a reference.
    Hook,
    /// A hook that is the reference.
    Atomic,
    /// A hook that makes none.
    Mark,
    Other,
}

impl Graph {
    /// Of the functions whose names are not among `not_own`; `sites` as in [`Graph::sites`], `learnt` what instructions count
    /// if not by the rules for hooks, by address.
    pub(super) fn new(
        code: &Code<'_>,
        sites: &BTreeSet<u64>,
        not_own: &BTreeSet<String>,
        learnt: &HashMap<u64, u32>,
    ) -> Graph {
        let mut graph = Graph::default();
        let mut all: Vec<Instruction> = Vec::new();
        for (begin, name) in code.begins() {
            let Some(function) = code.function(begin).filter(|f| f.begin() == begin) else { continue };
            if not_own.contains(name) || all.len() + function.instructions().len() > NODES_MAX {
                continue;
            }
            let number = graph.begins.len() as u32;
            graph.begins.push(all.len() as u32);
            graph.add(code, &function, number, (sites, learnt));
            all.extend_from_slice(function.instructions());
        }
        graph.connect(code, &all);
        graph
    }

    fn add(
        &mut self,
        code: &Code<'_>,
        function: &Function,
        number: u32,
        (sites, learnt): (&BTreeSet<u64>, &HashMap<u64, u32>),
    ) {
        let counts = counts(code, function);
        for (i, by_rule) in function.instructions().iter().zip(counts) {
            let called = called_by(code, i);
            let site = i.next_ip() - 1;
            let refers =
                matches!(called, Some(Called::Hook | Called::Atomic)) || called.is_some() && sites.contains(&site);
            if refers {
                self.sites.insert(site, self.nodes.len() as u32);
            }
            let counts = learnt.get(&i.ip()).copied().unwrap_or(by_rule);
            self.nodes.push(Node { next: Next::On, counts, refers, function: number });
        }
    }

    fn connect(&mut self, code: &Code<'_>, all: &[Instruction]) {
        let index: HashMap<u64, u32> = (0..).zip(all).map(|(n, i)| (i.ip(), n)).collect();
        for (n, i) in all.iter().enumerate() {
            let own = |target: u64| index.get(&target).copied();
            let next = match i.flow_control() {
                FlowControl::Next | FlowControl::IndirectCall => Next::On,
                FlowControl::Call if self.nodes[n].refers => Next::On,
                FlowControl::Call => {
                    let target = code.target(i).and_then(own).filter(|t| self.begins.binary_search(t).is_ok());
                    target.map_or(Next::On, Next::Call)
                }
                FlowControl::ConditionalBranch => own(i.near_branch_target()).map_or(Next::On, Next::Branch),
                FlowControl::UnconditionalBranch => own(i.near_branch_target()).map_or(Next::Return, Next::Jump),
                FlowControl::Return => Next::Return,
                _ => Next::Lost,
            };
            let follows = all.get(n + 1).is_some_and(|f| f.ip() == i.next_ip());
            let (from, n) = (self.nodes[n].function, n as u32);
            match next {
                Next::Call(target) => self.callers.entry(self.function_of(target)).or_default().push(n),
                Next::Jump(target) | Next::Branch(target) if self.function_of(target) != from => {
                    self.jumpers.entry(self.function_of(target)).or_default().push(from);
                }
                _ => {}
            }
            let falls = matches!(next, Next::On | Next::Branch(_) | Next::Call(_));
            self.nodes[n as usize].next = if falls && !follows { Next::Lost } else { next };
        }
        for list in self.callers.values_mut().chain(self.jumpers.values_mut()) {
            list.sort_unstable();
            list.dedup();
        }
    }

    fn function_of(&self, node: u32) -> u32 {
        self.nodes[node as usize].function
    }
}

/// What each instruction counts by the rules for hooks: 1 for one of the program's own.
pub(super) fn counts(code: &Code<'_>, function: &Function) -> Vec<u32> {
    let mut counts: Vec<u32> = function.instructions().iter().map(|i| u32::from(!is_spill(i))).collect();
    for (at, i) in function.instructions().iter().enumerate() {
        let atomic = match called_by(code, i) {
            Some(Called::Other) | None => continue,
            Some(what) => what == Called::Atomic,
        };
        counts[at] = u32::from(atomic);
        arguments(function, at, atomic).for_each(|argument| counts[argument] = 0);
    }
    counts
}

/// Whether a function calls hooks.
pub(super) fn is_hooked(code: &Code<'_>, function: &Function) -> bool {
    function.instructions().iter().any(|i| called_by(code, i).is_some_and(|c| c != Called::Other))
}

/// What an instruction calls, if it is a call.
pub(crate) fn called_by(code: &Code<'_>, i: &Instruction) -> Option<Called> {
    let is_call = matches!(i.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    is_call.then(|| code.target(i).and_then(|t| code.name(t)).map_or(Called::Other, |name| called(&name)))
}

fn called(name: &str) -> Called {
    let plain = name.split('@').next().unwrap_or(name);
    let Some(what) = plain.strip_prefix("__tsan_") else { return Called::Other };
    if what.starts_with("atomic") {
        return Called::Atomic;
    }
    let refers = ["read", "write", "unaligned", "volatile", "vptr"].iter().any(|p| what.starts_with(p));
    // Copies by clang's hooks are calls of the library in programs without hooks.
    match what {
        _ if refers => Called::Hook,
        "memcpy" | "memmove" | "memset" => Called::Other,
        _ => Called::Mark,
    }
}

/// A move between a register and the function's own stack.
fn is_spill(i: &Instruction) -> bool {
    use Mnemonic as M;
    let moves = matches!(
        i.mnemonic(),
        M::Mov
            | M::Movzx
            | M::Movsx
            | M::Movsxd
            | M::Movss
            | M::Movsd
            | M::Movaps
            | M::Movapd
            | M::Movups
            | M::Movupd
            | M::Movdqa
            | M::Movdqu
            | M::Movq
            | M::Vmovss
            | M::Vmovsd
            | M::Vmovaps
            | M::Vmovapd
            | M::Vmovups
            | M::Vmovupd
            | M::Vmovdqa
            | M::Vmovdqu
    );
    let kinds = [i.op0_kind(), i.op1_kind()];
    moves
        && kinds.contains(&OpKind::Memory)
        && kinds.contains(&OpKind::Register)
        && i.memory_base() == Register::RSP
        && i.memory_index() == Register::None
}

/// The instructions that only give the hook called by instruction `call` its arguments.
fn arguments(function: &Function, call: usize, atomic: bool) -> impl Iterator<Item = usize> {
    let instructions = function.instructions();
    // The straight line before the call, backwards.
    let line = (0..call)
        .rev()
        .take(ARGUMENTS_MAX)
        .take_while(|&n| instructions[n].flow_control() == FlowControl::Next && !function.is_target(n + 1));
    let mut wanted = Some(Register::RDI);
    let mut found = Vec::new();
    for n in line {
        let i = &instructions[n];
        if i.op_count() == 0 || i.op0_kind() != OpKind::Register {
            continue;
        }
        let to = i.op0_register().full_register();
        let others = [Register::RSI, Register::RDX, Register::RCX, Register::R8];
        let constant = matches!(i.mnemonic(), Mnemonic::Mov if i.op1_kind() != OpKind::Memory) && others.contains(&to)
            || i.mnemonic() == Mnemonic::Xor && others.contains(&to);
        if atomic && constant {
            found.push(n);
        }
        if Some(to) != wanted || is_read_only(i) {
            continue;
        }
        wanted = match i.mnemonic() {
            Mnemonic::Lea => {
                found.push(n);
                None
            }
            Mnemonic::Mov if to == Register::RDI => {
                found.push(n);
                (i.op1_kind() == OpKind::Register).then(|| i.op1_register().full_register())
            }
            _ => None,
        };
    }
    found.into_iter()
}

/// Whether the first operand is only looked at.
fn is_read_only(i: &Instruction) -> bool {
    matches!(i.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Bt | Mnemonic::Comisd | Mnemonic::Ucomisd)
}
