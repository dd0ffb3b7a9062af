//! Who references: what initialises memory is given to its user, and memory that changes hands stays with one thread.
use super::together::Together;
use super::units::Units;
use super::young::Young;
use crate::split::Pieces;
use homenode_trace::{Merged, Op};

/// After so many other references in a row, the initialisation has made a pause: what is held back does not wait longer.
const PAUSE: u32 = 64;
/// Nor when threads that initialise nothing have made so many: what is held back would come too late beside their work.
const BESIDE: u32 = 4096;

/// Units of one size with the threads that they are given to.
#[derive(Clone, Debug)]
struct Level {
    shift: u32,
    /// Whether all references are given, and not only those that initialise.
    keep: bool,
    /// A unit whose initialisation is given leaves when it is used.
    users: Units<Given>,
}

/// A unit that is given to a thread.
#[derive(Clone, Debug)]
struct Given {
    user: u32,
    /// Which change gives it.
    change: u32,
    young: Young,
}

/// How far the initialisation of what one change gives has come.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    /// Somebody has initialised another's part.
    given: bool,
    /// A part has been used by others than those who initialised it.
    in_use: bool,
}

impl Given {
    /// Whether this reference to the unit initialises it. The first write of a word does, whoever makes it. What else the
    /// unit's first thread does before others come to it may be initialisation or work, and what tells is whom it works
    /// for: while the parts of others are initialised too, nothing is in use, and all of it is initialisation; as soon as
    /// parts are in use, what it still writes to others' parts. Its own part it works with.
    fn is_initialised_by(&mut self, r: &Merged, (first, last): (u64, u64), shift: u32, stage: &mut Stage) -> bool {
        let found = self.young.touched_by(r, first, last, shift);
        let own = self.user == r.thread;
        let prepares = match own {
            true => stage.given && !stage.in_use,
            false => !stage.in_use || r.op == Op::Write,
        };
        let initialises = found.fresh_write || (found.alone && prepares);
        stage.given |= initialises && !own;
        stage.in_use |= !initialises && !found.alone;
        initialises
    }
}

impl Level {
    /// The part of the hull test that is cheap.
    #[inline]
    fn may_hold(&self, r: &Merged) -> bool {
        let last = r.addr.wrapping_add(u64::from(r.size.max(1)) - 1);
        let hull = self.users.hull();
        let within = last >> self.shift >= hull.0 && r.addr >> self.shift <= hull.1;
        !self.users.is_empty() && (within || last < r.addr)
    }
}

/// What is made by other threads in one what-if.
#[derive(Clone, Debug)]
pub(super) struct Attribution {
    levels: Vec<Level>,
    /// By change that gives something.
    stages: Vec<Stage>,
    held: HeldBackReferences,
}

/// References that are made at the same time as others.
#[derive(Clone, Debug, Default)]
struct HeldBackReferences {
    /// References since the last one that was held back.
    in_a_row: u32,
    /// References since the first one that was held back, by other threads than those of `held_of`.
    beside: u32,
    /// Threads whose references are held back, as recorded.
    held_of: Vec<u32>,
    together: Option<Together>,
}

impl Attribution {
    /// `line_shift` is that of the machine's cache lines, if there are some: only then does it matter which references to
    /// different blocks are made at the same time.
    pub(super) fn new(line_shift: Option<u32>) -> Attribution {
        let held = HeldBackReferences { together: line_shift.map(Together::new), ..HeldBackReferences::default() };
        Attribution { levels: Vec::new(), stages: Vec::new(), held }
    }

    /// Gives the initialisation of units of `1 << shift` bytes, or with `keep` all references to them, to these threads.
    /// Of two users of a unit, the first counts.
    pub(super) fn give(&mut self, users: impl Iterator<Item = (u64, u32)>, shift: u32, keep: bool) {
        let level = match self.levels.iter().position(|l| (l.shift, l.keep) == (shift, keep)) {
            Some(i) => &mut self.levels[i],
            None => {
                let level = Level { shift, keep, users: Units::default() };
                self.levels.push(level);
                self.levels.last_mut().expect("one was pushed")
            }
        };
        let change = self.stages.len() as u32;
        self.stages.push(Stage::default());
        level.users.add(users.map(|(unit, user)| (unit, Given { user, change, young: Young::NEW })));
    }

    /// Whether it does nothing with a reference to `addr`: nobody is given what it touches, and nothing waits for it.
    #[inline]
    pub(super) fn passes(&self, addr: u64, r: &Merged) -> bool {
        let last = addr.checked_add(u64::from(r.size.max(1)) - 1);
        let misses = |l: &Level| {
            let unit = addr >> l.shift;
            last.is_some_and(|last| last >> l.shift == unit) && l.users.get(unit).is_none()
        };
        self.held.held_of.is_empty() && self.levels.iter().all(misses)
    }

    /// Gives one reference to whoever makes it, in pieces per unit where that matters.
    #[inline]
    pub(super) fn push(&mut self, r: &Merged, out: &mut impl FnMut(&Merged)) {
        if self.levels.iter().any(|l| l.may_hold(r)) {
            look_up(&mut self.levels, &mut self.stages, &mut self.held, r, out);
        } else {
            self.held.pass(r, r.thread, out);
        }
    }

    /// Hands on what is held back.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(&Merged)) {
        self.held.finish(out);
    }
}

/// The first level that knows a unit decides.
fn look_up<F: FnMut(&Merged)>(
    levels: &mut [Level],
    stages: &mut [Stage],
    held: &mut HeldBackReferences,
    r: &Merged,
    out: &mut F,
) {
    let [level, rest @ ..] = levels else { return held.pass(r, r.thread, out) };
    if !level.may_hold(r) {
        return look_up(rest, stages, held, r, out);
    }
    let within = (1u64 << level.shift) - 1;
    for piece in Pieces::new(r.addr, r.size, level.shift) {
        let unit = piece.addr >> level.shift;
        let part = piece.of(r);
        match level.users.get_mut(unit).filter(|_| r.op != Op::Spin) {
            None => look_up(rest, stages, held, &part, &mut *out),
            Some(given) if level.keep => held.pass(&Merged { thread: given.user, ..part }, r.thread, &mut *out),
            Some(given) => {
                let bytes = (piece.addr & within, piece.last & within);
                if given.is_initialised_by(r, bytes, level.shift, &mut stages[given.change as usize]) {
                    held.hold(&Merged { thread: given.user, ..part }, r, &mut *out);
                } else {
                    level.users.remove(unit);
                    held.finish(&mut *out);
                    out(&part);
                }
            }
        }
    }
}

impl HeldBackReferences {
    /// A piece of a reference as it was recorded.
    fn hold(&mut self, r: &Merged, of: &Merged, out: &mut impl FnMut(&Merged)) {
        let Some(together) = &mut self.together else { return out(r) };
        self.in_a_row = 0;
        if !self.held_of.contains(&of.thread) {
            self.held_of.push(of.thread);
        }
        if together.push(r, r.addr != of.addr) {
            self.finish(out);
        }
    }

    /// A reference that initialises nothing.
    #[inline]
    fn pass(&mut self, r: &Merged, by: u32, out: &mut impl FnMut(&Merged)) {
        if !self.held_of.is_empty() && r.op != Op::Spin {
            self.in_a_row += 1;
            self.beside += u32::from(!self.held_of.contains(&by));
            if self.in_a_row == PAUSE || self.beside == BESIDE {
                self.finish(&mut *out);
            }
        }
        out(r);
    }

    fn finish(&mut self, out: &mut impl FnMut(&Merged)) {
        (self.in_a_row, self.beside) = (0, 0);
        self.held_of.clear();
        if let Some(together) = &mut self.together {
            together.flush(out);
        }
    }
}
