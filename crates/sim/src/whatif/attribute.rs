//! Who references: what initialises memory is given to its user, and memory that changes hands stays with one thread.
use super::together::Together;
use super::units::Units;
use super::young::Young;
use crate::split::Pieces;
use homenode_trace::{Merged, Op};

/// After so many other references in a row, the initialisation has made a pause: what is held back does not wait longer.
const PAUSE: u32 = 64;

/// Units of one size with the threads that they are given to.
#[derive(Clone, Debug)]
struct Level {
    shift: u32,
    /// Whether all references are given, and not only those that initialise.
    keep: bool,
    /// A unit whose initialisation is given leaves when it is used.
    users: Units<(u32, Young)>,
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
    held: Held,
}

/// References that are made at the same time as others.
#[derive(Clone, Debug)]
struct Held {
    /// References since the last one that was held back.
    others: u32,
    together: Option<Together>,
}

impl Attribution {
    /// `line_shift` is that of the machine's cache lines, if there are some: only then does it matter which references to
    /// different blocks are made at the same time.
    pub(super) fn new(line_shift: Option<u32>) -> Attribution {
        Attribution { levels: Vec::new(), held: Held { others: 0, together: line_shift.map(Together::new) } }
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
        level.users.add(users.map(|(unit, user)| (unit, (user, Young::NEW))));
    }

    /// Gives one reference to whoever makes it, in pieces per unit where that matters.
    #[inline]
    pub(super) fn push(&mut self, r: Merged, out: &mut impl FnMut(Merged)) {
        if self.levels.is_empty() {
            return out(r);
        }
        if self.levels.iter().any(|l| l.may_hold(&r)) {
            look_up(&mut self.levels, &mut self.held, r, out);
        } else {
            self.held.pass(r, out);
        }
    }

    /// Hands on what is held back.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(Merged)) {
        self.held.finish(out);
    }
}

/// The first level that knows a unit decides.
fn look_up<F: FnMut(Merged)>(levels: &mut [Level], held: &mut Held, r: Merged, out: &mut F) {
    let [level, rest @ ..] = levels else { return held.pass(r, out) };
    if !level.may_hold(&r) {
        return look_up(rest, held, r, out);
    }
    let within = (1u64 << level.shift) - 1;
    for piece in Pieces::new(r.addr, r.size, level.shift) {
        let unit = piece.addr >> level.shift;
        let part = Merged { addr: piece.addr, size: (piece.last - piece.addr) as u32 + 1, ..r };
        match level.users.get_mut(unit).filter(|_| r.op != Op::Spin) {
            None => look_up(rest, held, part, &mut *out),
            Some((user, _)) if level.keep => held.pass(Merged { thread: *user, ..part }, &mut *out),
            Some((user, young)) => {
                if young.is_initialised_by(&r, piece.addr & within, piece.last & within, level.shift) {
                    held.hold(Merged { thread: *user, ..part }, &mut *out);
                } else {
                    level.users.remove(unit);
                    held.finish(&mut *out);
                    out(part);
                }
            }
        }
    }
}

impl Held {
    fn hold(&mut self, r: Merged, out: &mut impl FnMut(Merged)) {
        self.others = 0;
        match &mut self.together {
            Some(together) => together.push(r, out),
            None => out(r),
        }
    }

    /// A reference that initialises nothing.
    #[inline]
    fn pass(&mut self, r: Merged, out: &mut impl FnMut(Merged)) {
        if r.op != Op::Spin {
            self.others += 1;
            if self.others == PAUSE {
                self.finish(&mut *out);
            }
        }
        out(r);
    }

    fn finish(&mut self, out: &mut impl FnMut(Merged)) {
        if let Some(together) = &mut self.together {
            together.flush(out);
        }
    }
}
