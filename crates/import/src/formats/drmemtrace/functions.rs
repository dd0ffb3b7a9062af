//! Functions of the program whose calls the tracer was told to record (`-record_function`), and which of them order threads.
//!
//! The trace has their numbers; the file `funclist.log` of the trace folder says what they are called. Without it, and of functions that
//! are not in it, nothing is concluded.
use super::folder::{Folder, bounded};
use homenode_trace::event::SyncKind;
use std::collections::{BTreeMap, HashMap};

/// Name of the list.
pub(super) const LIST: &str = "funclist.log";
/// Longest list, in bytes.
const LIST_MAX: u64 = 16 << 20;
/// Most functions of a list.
const FUNCTIONS_MAX: usize = 1 << 16;

/// What a function does to what its first argument points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// Takes a lock, if it returns 0.
    Lock(SyncKind),
    /// Gives a lock back.
    Unlock,
    /// Makes a barrier for as many threads as the third argument says.
    MakeBarrier,
    /// Waits at a barrier.
    Barrier,
    /// Gives the lock back that is its second argument, waits, and takes it again.
    Wait,
    /// Signals.
    Signal(SyncKind),
    /// Makes a semaphore with the value that is its third argument.
    MakeSemaphore,
    /// Waits until a semaphore is not 0 and takes 1 from it.
    Take,
    /// Adds 1 to a semaphore.
    Post,
}

use Does::{Barrier, Lock, MakeBarrier, MakeSemaphore, Post, Signal, Take, Unlock, Wait};
use SyncKind::{Broadcast, Mutex, RwRead, RwWrite};

/// Functions that order threads, of POSIX and of C11.
const FUNCTIONS: [(&str, Does); 37] = [
    ("pthread_mutex_lock", Lock(Mutex)),
    ("pthread_mutex_trylock", Lock(Mutex)),
    ("pthread_mutex_timedlock", Lock(Mutex)),
    ("pthread_mutex_clocklock", Lock(Mutex)),
    ("pthread_mutex_unlock", Unlock),
    ("pthread_spin_lock", Lock(Mutex)),
    ("pthread_spin_trylock", Lock(Mutex)),
    ("pthread_spin_unlock", Unlock),
    ("pthread_rwlock_rdlock", Lock(RwRead)),
    ("pthread_rwlock_tryrdlock", Lock(RwRead)),
    ("pthread_rwlock_timedrdlock", Lock(RwRead)),
    ("pthread_rwlock_clockrdlock", Lock(RwRead)),
    ("pthread_rwlock_wrlock", Lock(RwWrite)),
    ("pthread_rwlock_trywrlock", Lock(RwWrite)),
    ("pthread_rwlock_timedwrlock", Lock(RwWrite)),
    ("pthread_rwlock_clockwrlock", Lock(RwWrite)),
    ("pthread_rwlock_unlock", Unlock),
    ("pthread_barrier_init", MakeBarrier),
    ("pthread_barrier_wait", Barrier),
    ("pthread_cond_wait", Wait),
    ("pthread_cond_timedwait", Wait),
    ("pthread_cond_clockwait", Wait),
    ("pthread_cond_signal", Signal(SyncKind::Signal)),
    ("pthread_cond_broadcast", Signal(Broadcast)),
    ("sem_init", MakeSemaphore),
    ("sem_wait", Take),
    ("sem_trywait", Take),
    ("sem_timedwait", Take),
    ("sem_clockwait", Take),
    ("sem_post", Post),
    ("mtx_lock", Lock(Mutex)),
    ("mtx_trylock", Lock(Mutex)),
    ("mtx_timedlock", Lock(Mutex)),
    ("mtx_unlock", Unlock),
    ("cnd_wait", Wait),
    ("cnd_signal", Signal(SyncKind::Signal)),
    ("cnd_broadcast", Signal(Broadcast)),
];

impl Does {
    /// Arguments without which nothing can be concluded.
    pub(super) fn needs(self) -> usize {
        match self {
            MakeBarrier | MakeSemaphore => 3,
            Wait => 2,
            _ => 1,
        }
    }
}

/// A function of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Name, without the library.
    name: String,
    /// What is known of it, if its arguments say enough.
    pub(super) does: Option<Does>,
    /// Whether its returns are recorded.
    pub(super) returns: bool,
    calls: u64,
}

/// The list of a trace, and how often its functions were called.
#[derive(Debug, Default)]
pub(super) struct Functions {
    by_number: HashMap<u64, Function>,
    /// Whether there is a list.
    listed: bool,
    /// Lines that are none of a list.
    strange: u64,
    /// Calls of functions that are not in it.
    unlisted: u64,
}

impl Functions {
    /// Reads the list of a folder, if it has one.
    pub(super) fn of(folder: &Folder) -> Result<Functions, String> {
        let Some(file) = folder.beside(LIST)? else { return Ok(Functions::default()) };
        let text = bounded(file, LIST_MAX).map_err(|why| format!("{LIST}: {why}"))?;
        Functions::parse(&String::from_utf8_lossy(&text))
    }

    /// From lines of a number, how many arguments are recorded, an address, words such as `noret`, and `LIBRARY!NAME`.
    fn parse(text: &str) -> Result<Functions, String> {
        let mut functions = Functions { listed: true, ..Functions::default() };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let fields: Vec<&str> = line.trim().split(',').collect();
            let [number, arguments, _, more @ .., name] = &fields[..] else {
                functions.strange += 1;
                continue;
            };
            let (Ok(number), Ok(arguments)) = (number.parse(), arguments.parse::<usize>()) else {
                functions.strange += 1;
                continue;
            };
            if functions.by_number.len() == FUNCTIONS_MAX {
                return Err(format!("{LIST}: it names more than {FUNCTIONS_MAX} functions"));
            }
            let name = name.rsplit('!').next().unwrap_or_default();
            let bare = name.split('@').next().unwrap_or_default();
            let does = FUNCTIONS.iter().find(|f| f.0 == bare).map(|f| f.1).filter(|does| does.needs() <= arguments);
            let function = Function { name: bare.to_owned(), does, returns: !more.contains(&"noret"), calls: 0 };
            // Further names of a function have its number; what is recorded of it the first of them says.
            let first = functions.by_number.entry(number).or_insert_with(|| function.clone());
            if first.does.is_none() && does.is_some() {
                (first.does, first.name) = (does, function.name);
            }
        }
        Ok(functions)
    }

    /// The function with this number.
    pub(super) fn get(&self, number: u64) -> Option<&Function> {
        self.by_number.get(&number)
    }
    /// A call of the function with this number.
    pub(super) fn called(&mut self, number: u64) {
        match self.by_number.get_mut(&number) {
            Some(function) => function.calls += 1,
            None => self.unlisted += 1,
        }
    }

    /// All calls, and those of functions that order threads.
    pub(super) fn calls(&self) -> (u64, u64) {
        let of = |f: &Function| (f.calls, if f.does.is_some() { f.calls } else { 0 });
        self.by_number.values().map(of).fold((self.unlisted, 0), |sum, n| (sum.0 + n.0, sum.1 + n.1))
    }

    /// Sentences for the reader.
    pub(super) fn notes(&self) -> Vec<String> {
        let named = |orders: bool| {
            let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
            for f in self.by_number.values().filter(|f| f.calls > 0 && f.does.is_some() == orders) {
                *calls.entry(&f.name).or_default() += f.calls;
            }
            let shown =
                calls.iter().take(SHOWN).map(|(name, n)| format!("{n} of {name}")).collect::<Vec<_>>().join(", ");
            let more = calls.len().saturating_sub(SHOWN);
            (!calls.is_empty()).then(|| if more > 0 { format!("{shown} and of {more} further ones") } else { shown })
        };
        let mut out = Vec::new();
        out.extend(named(true).map(|calls| format!("calls of functions order threads: {calls}")));
        out.extend(named(false).map(|calls| format!("calls of functions from which nothing is concluded: {calls}")));
        match (self.unlisted, self.listed) {
            (0, _) => {}
            (n, true) => out.push(format!("{n} calls of functions that {LIST} does not name: nothing is concluded from them")),
            (n, false) => out.push(format!(
                "{n} calls of functions were recorded and nothing is concluded from them: {LIST}, which names them, is not there \
                 (import the whole trace folder, with its folder raw)"
            )),
        }
        if self.strange > 0 {
            out.push(format!("{} lines of {LIST} were not understood and passed over", self.strange));
        }
        out
    }
}

/// Functions that are named in a sentence.
const SHOWN: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_which_functions_order_threads() {
        let text = "1,1,0x7f00,libc.so.6!pthread_mutex_lock\n2,1,0x7f10,noret,libc.so.6!pthread_mutex_unlock@@GLIBC_2.2.5\n\
            3,1,0x7f20,libc.so.6!malloc\n4,1,0x7f30,libc.so.6!pthread_barrier_init\n\n5,1,0x7f40,app!mine\n5,1,0x7f40,app!sem_post\n\
            six,1,0x7f50,app!x\n7,1\n";
        let mut functions = Functions::parse(text).unwrap();
        let of = |n: u64| functions.get(n).map(|f| (f.name.as_str(), f.does, f.returns));
        assert_eq!(of(1), Some(("pthread_mutex_lock", Some(Lock(Mutex)), true)));
        assert_eq!(of(2), Some(("pthread_mutex_unlock", Some(Unlock), false)));
        assert_eq!(of(3), Some(("malloc", None, true)));
        assert_eq!(of(4), Some(("pthread_barrier_init", None, true)), "it has too few arguments");
        assert_eq!(of(5), Some(("sem_post", Some(Post), true)), "one of its names is known");
        assert_eq!((of(6), of(7), functions.strange), (None, None, 2));
        [1, 1, 3, 9].into_iter().for_each(|n| functions.called(n));
        assert_eq!(functions.calls(), (4, 2));
        let notes = functions.notes().join("\n");
        for part in ["order threads: 2 of pthread_mutex_lock", "concluded: 1 of malloc", "1 calls", "2 lines"] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
        let many: String = (0..70_000).map(|n| format!("{n},1,0x1,a!f\n")).collect();
        assert!(Functions::parse(&many).unwrap_err().contains("more than 65536"));
    }

    #[test]
    fn every_function_has_one_line() {
        for (i, f) in FUNCTIONS.iter().enumerate() {
            assert!(FUNCTIONS[..i].iter().all(|before| before.0 != f.0), "{}", f.0);
        }
    }
}
