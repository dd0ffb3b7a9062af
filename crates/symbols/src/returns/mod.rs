//! Which functions return what they allocated: allocators of the program's own, whatever they are called. Decided from the
//! machine code: at every return of the function, the result register holds the result of the call in question (or a place
//! inside that block), of another allocation, or a constant. So a pool that hands out pieces of an old block is none: one
//! of its ways out returns a pointer that it found in memory.
mod code;
mod flow;
mod inlined;
mod state;

pub(crate) use code::{Code, Function};
pub(crate) use state::State;

use homenode_trace::symbols::Returned;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Register};
use state::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Instructions that are looked at for one file, all questions together: a bound for hostile files.
const STEPS_MAX: u64 = 20_000_000;
/// How deep called functions are followed.
const CALLS_MAX: u32 = 3;

/// What a called function does, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// Function that does not return.
    Ends,
    /// Function that returns newly allocated memory.
    Allocates,
    /// Function that stores newly allocated memory where its first argument points, and returns 0 or an error.
    AllocatesTo,
    /// Function that returns its first argument.
    ReturnsFirst,
    /// Anything else.
    Unknown,
}

/// An address that code has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pointed {
    /// That of something with a fixed place.
    Fixed(u64),
    /// So far behind what a register, given by its number, pointed to when the function began.
    Behind(u8, i64),
}

/// Where the pointer comes from.
#[derive(Clone, Copy)]
enum Source {
    /// The call that returns to this address.
    Call(u64),
    /// The first argument.
    FirstArgument,
}

/// Answers for one file.
pub(crate) struct Returns<'a> {
    code: &'a Code<'a>,
    /// Addresses after the calls that allocated while the program was recorded.
    allocating: HashSet<u64>,
    callees: HashMap<u64, Callee>,
    factory: InstructionInfoFactory,
    steps: u64,
}

impl<'a> Returns<'a> {
    /// `sites` are the places of the calls of all allocation stacks: addresses of the last byte of call instructions.
    pub(crate) fn new(code: &'a Code<'a>, sites: &[u64]) -> Returns<'a> {
        let allocating = sites.iter().map(|s| s.wrapping_add(1)).collect();
        Returns { code, allocating, callees: HashMap::new(), factory: InstructionInfoFactory::new(), steps: STEPS_MAX }
    }

    /// Whether the function that contains `site` returns what the call there returned. `visit` is shown what is known before
    /// each instruction at which that block is in sight, with the instruction's address.
    pub(crate) fn returned(&mut self, site: u64, visit: &mut dyn FnMut(u64, &State)) -> Returned {
        let next = site.wrapping_add(1);
        let Some(function) = self.code.function(site) else { return Returned::No };
        if !function.instructions().iter().any(|i| i.next_ip() == next && is_call(i)) {
            return Returned::No;
        }
        match self.result(&function, Source::Call(next), 0, visit) {
            Some(Value::Mine) => Returned::Whole,
            Some(Value::Inside) => Returned::Inside,
            _ => Returned::No,
        }
    }

    /// Mangled name of what the call at `site` reaches.
    pub(crate) fn called(&self, site: u64) -> Option<String> {
        let function = self.code.function(site)?;
        let call = function.instructions().iter().find(|i| i.next_ip() == site.wrapping_add(1) && is_call(i))?;
        self.code.name(self.code.target(call)?)
    }

    /// What the call at `site` is given as its first argument, if that is an address that can be told.
    pub(crate) fn first_argument(&mut self, site: u64) -> Option<Pointed> {
        let function = self.code.function(site)?;
        let call = function.instructions().iter().position(|i| i.next_ip() == site.wrapping_add(1) && is_call(i))?;
        if let Some(address) = function.address_in(Register::RDI, call) {
            return Some(Pointed::Fixed(address));
        }
        match self.before(&function, call)?.get(Register::RDI) {
            Value::Begin(register, offset) => Some(Pointed::Behind(register, offset)),
            _ => None,
        }
    }

    /// What is known before an instruction, given by its index.
    fn before(&mut self, function: &Function, wanted: usize) -> Option<State> {
        let mut known: BTreeMap<usize, State> = BTreeMap::from([(0, State::begin())]);
        let mut todo = vec![0];
        while let Some(mut at) = todo.pop() {
            let mut state = known.get(&at)?.clone();
            while at != wanted {
                let i = *function.instructions().get(at)?;
                self.steps = self.steps.checked_sub(1)?;
                let next = self.after(&mut state, &i, function, Source::Call(0), 0)?;
                match next[..] {
                    [only] if only == at + 1 && !function.is_target(only) && only != wanted => at = only,
                    _ => {
                        arrive(&next, &state, &mut known, &mut todo);
                        break;
                    }
                }
            }
        }
        known.remove(&wanted)
    }

    /// What the function returns, whichever way it goes; `None` if it does not return or cannot be understood.
    fn result(
        &mut self,
        function: &Function,
        source: Source,
        depth: u32,
        visit: &mut dyn FnMut(u64, &State),
    ) -> Option<Value> {
        let mut begin = State::begin();
        if matches!(source, Source::FirstArgument) {
            begin.set(Register::RDI, Value::Mine);
        }
        let mut known: BTreeMap<usize, State> = BTreeMap::from([(0, begin)]);
        let mut todo = vec![0];
        let mut result: Option<Value> = None;
        while let Some(mut at) = todo.pop() {
            let mut state = known.get(&at)?.clone();
            loop {
                let i = *function.instructions().get(at)?;
                self.steps = self.steps.checked_sub(1)?;
                if state.holds() {
                    visit(i.ip(), &state);
                }
                if i.flow_control() == FlowControl::Return {
                    let value = state.get(Register::RAX);
                    result = Some(result.map_or(value, |r| r.or(value)));
                }
                let next = self.after(&mut state, &i, function, source, depth)?;
                match next[..] {
                    [only] if only == at + 1 && !function.is_target(only) => at = only,
                    _ => {
                        arrive(&next, &state, &mut known, &mut todo);
                        break;
                    }
                }
            }
        }
        result
    }

    /// What is known after an instruction, and where control may go; `None` if that cannot be known. The cold part of a
    /// function, where it gives up, lies elsewhere and is left out.
    fn after(
        &mut self,
        state: &mut State,
        i: &Instruction,
        function: &Function,
        source: Source,
        depth: u32,
    ) -> Option<Vec<usize>> {
        let mut next = vec![];
        match i.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => {
                next.extend(self.call(state, i, source, depth).then(|| i.next_ip()));
            }
            FlowControl::ConditionalBranch => next.extend([i.near_branch_target(), i.next_ip()]),
            FlowControl::UnconditionalBranch => next.push(i.near_branch_target()),
            FlowControl::IndirectBranch => return None,
            FlowControl::Next => {
                flow::step(state, i, &mut self.factory);
                next.push(i.next_ip());
            }
            _ => {}
        }
        Some(next.iter().filter_map(|&ip| function.index(ip)).collect())
    }

    /// The effect of a call; false if it does not return.
    fn call(&mut self, state: &mut State, i: &Instruction, source: Source, depth: u32) -> bool {
        let first = state.get(Register::RDI);
        let callee = self.code.target(i).map_or(Callee::Unknown, |target| self.callee(target, depth));
        let asked_for = matches!(source, Source::Call(next) if next == i.next_ip());
        let obtained = if asked_for { Value::Mine } else { Value::Allocated };
        let result = match callee {
            Callee::AllocatesTo => {
                state.store(flow::slot_of(first), obtained);
                Value::Constant
            }
            _ if asked_for => Value::Mine,
            Callee::Ends => return false,
            Callee::Allocates => Value::Allocated,
            Callee::ReturnsFirst if matches!(first, Value::Mine | Value::Inside | Value::Allocated) => first,
            Callee::ReturnsFirst => Value::Other,
            _ if self.allocating.contains(&i.next_ip()) => Value::Allocated,
            _ => Value::Other,
        };
        flow::called(state, result);
        true
    }

    fn callee(&mut self, target: u64, depth: u32) -> Callee {
        if let Some(&known) = self.callees.get(&target) {
            return known;
        }
        // Recursion finds this.
        self.callees.insert(target, Callee::Unknown);
        let callee = match self.code.name(target).and_then(|name| by_name(&name)) {
            Some(callee) => callee,
            None => self.by_code(target, depth),
        };
        // An answer that was cut short is no answer for other callers.
        if depth < CALLS_MAX {
            self.callees.insert(target, callee);
        } else {
            self.callees.remove(&target);
        }
        callee
    }

    fn by_code(&mut self, target: u64, depth: u32) -> Callee {
        if depth >= CALLS_MAX {
            return Callee::Unknown;
        }
        let Some(function) = self.code.function(target).filter(|f| f.begin() == target) else { return Callee::Unknown };
        if function.instructions().len() > 4096 {
            return Callee::Unknown;
        }
        match self.result(&function, Source::FirstArgument, depth + 1, &mut |_, _| {}) {
            Some(Value::Mine) => Callee::ReturnsFirst,
            Some(Value::Allocated) => Callee::Allocates,
            Some(_) => Callee::Unknown,
            None if function.cannot_return() => Callee::Ends,
            None => Callee::Unknown,
        }
    }
}

/// Control may come to `next` with what `state` says: all that is new there has to be looked at again.
fn arrive(next: &[usize], state: &State, known: &mut BTreeMap<usize, State>, todo: &mut Vec<usize>) {
    for &to in next {
        let changed = match known.get_mut(&to) {
            Some(there) => there.join(state),
            None => known.insert(to, state.clone()).is_none(),
        };
        if changed && !todo.contains(&to) {
            todo.push(to);
        }
    }
}

fn is_call(i: &Instruction) -> bool {
    matches!(i.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
}

/// What functions of the C and C++ libraries do.
pub(crate) fn by_name(name: &str) -> Option<Callee> {
    let ends =
        ["abort", "exit", "_exit", "_Exit", "quick_exit", "err", "errx", "verr", "verrx", "pthread_exit", "longjmp"];
    let allocates = ["malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "memalign", "valloc", "pvalloc"];
    let first =
        ["memset", "memcpy", "memmove", "strcpy", "strncpy", "strcat", "strncat", "__memset_chk", "__memcpy_chk"];
    let plain = name.split('@').next().unwrap_or(name);
    if ends.contains(&plain)
        || plain.starts_with("__assert")
        || plain.starts_with("__stack_chk_fail")
        || plain.starts_with("__cxa_throw")
        || plain.starts_with("__cxa_rethrow")
        || plain.starts_with("_ZSt9terminate")
        || plain.starts_with("_ZSt") && plain.contains("__throw_")
        || plain.starts_with("_Unwind_Resume")
    {
        Some(Callee::Ends)
    } else if plain == "posix_memalign" {
        Some(Callee::AllocatesTo)
    } else if allocates.contains(&plain) || plain.starts_with("_Znw") || plain.starts_with("_Zna") {
        Some(Callee::Allocates)
    } else if first.contains(&plain) || plain.starts_with("__tsan_mem") {
        Some(Callee::ReturnsFirst)
    } else {
        // The entry points of the hooks, which are many and do nothing to results.
        plain.starts_with("__tsan_").then_some(Callee::Unknown)
    }
}
