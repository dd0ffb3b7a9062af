//! What the dynamic programs minimise.
use homenode_base::{Cost, TotalCost};
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A cost with the movement it contains. Compared field by field in the order written, so the least cost wins and among
/// equal costs the least movement. That order is compatible with addition, so a dynamic program that is right for costs
/// alone is right for this too, and the counts come out as those of one definite cheapest placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value {
    pub(crate) cost: i64,
    pub(crate) movement: i64,
    pub(crate) moves: i64,
    pub(crate) copies: i64,
}

impl Value {
    pub(crate) const ZERO: Value = Value { cost: 0, movement: 0, moves: 0, copies: 0 };
    /// A reference.
    #[inline]
    pub(crate) const fn access(cost: i64) -> Value {
        Value { cost, ..Value::ZERO }
    }
    /// A copy added beside others.
    pub(crate) const fn copy(cost: i64) -> Value {
        Value { cost, movement: cost, moves: 0, copies: 1 }
    }
    /// The only copy moved.
    pub(crate) const fn shift(cost: i64) -> Value {
        Value { cost, movement: cost, moves: 1, copies: 0 }
    }
}

// Wrapping, which compiles to vector code: values stay far below 2^63, since `Base` brings them back to zero in time.
impl Add for Value {
    type Output = Value;
    #[inline]
    fn add(self, o: Value) -> Value {
        Value {
            cost: self.cost.wrapping_add(o.cost),
            movement: self.movement.wrapping_add(o.movement),
            moves: self.moves.wrapping_add(o.moves),
            copies: self.copies.wrapping_add(o.copies),
        }
    }
}
impl Sub for Value {
    type Output = Value;
    #[inline]
    fn sub(self, o: Value) -> Value {
        Value {
            cost: self.cost.wrapping_sub(o.cost),
            movement: self.movement.wrapping_sub(o.movement),
            moves: self.moves.wrapping_sub(o.moves),
            copies: self.copies.wrapping_sub(o.copies),
        }
    }
}
impl AddAssign for Value {
    #[inline]
    fn add_assign(&mut self, o: Value) {
        *self = *self + o;
    }
}
impl SubAssign for Value {
    #[inline]
    fn sub_assign(&mut self, o: Value) {
        *self = *self - o;
    }
}

/// What a solver found for one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Solved {
    /// References and movement.
    pub cost: TotalCost,
    /// Movement alone.
    pub movement: TotalCost,
    /// Times the only copy moved.
    pub moves: u64,
    /// Copies added.
    pub copies: u64,
}

impl Solved {
    /// Adds the result of another block.
    pub fn add(&mut self, other: &Solved) {
        self.cost += other.cost;
        self.movement += other.movement;
        self.moves += other.moves;
        self.copies += other.copies;
    }
    /// The solution with a constant added to the cost, such as references that cost the same wherever the block is.
    pub fn plus(mut self, cost: Cost) -> Solved {
        self.cost += cost;
        self
    }
}

/// The part of a dynamic program's values that is common to all of them, kept exact while the values stay small.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base(Solved);

/// Values beyond this are brought back to the neighbourhood of zero; one step changes them by far less.
const LARGE: i64 = 1 << 58;

impl Base {
    #[inline]
    pub(crate) fn charge(&mut self, cost: TotalCost) {
        self.0.cost += cost;
    }
    /// Takes the least value out of `values` if it has grown large.
    #[inline]
    pub(crate) fn settle(&mut self, values: &mut [Value]) {
        if values[0].cost.unsigned_abs() > LARGE as u64 {
            self.rebase(values);
        }
    }
    #[cold]
    fn rebase(&mut self, values: &mut [Value]) {
        let least = values.iter().copied().min().expect("a machine has a location");
        self.absorb(least);
        values.iter_mut().for_each(|v| *v -= least);
    }
    /// Adds a value for good.
    pub(crate) fn absorb(&mut self, v: Value) {
        self.0 = self.plus(v);
    }
    /// The result that ends in this value.
    pub(crate) fn plus(&self, v: Value) -> Solved {
        Solved {
            cost: self.0.cost + Cost(v.cost).into(),
            movement: self.0.movement + Cost(v.movement).into(),
            moves: self.0.moves.wrapping_add_signed(v.moves),
            copies: self.0.copies.wrapping_add_signed(v.copies),
        }
    }
}
