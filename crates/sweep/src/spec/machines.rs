//! From a base and lists of values to machines, one at a time: a study may have more machines than fit into memory.
use super::SpecError;
use super::numbers::{TWICE_GLOBAL, Values, Word};
use homenode_base::Cost;
use homenode_machine::limits::NODES_MAX;
use homenode_machine::models::family::{Member, Parameters};
use homenode_machine::{CopyCost, GlobalMemory, LinearCost, Machine, Matrix};

/// What a study may vary about a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Param {
    /// Latency of the network; families only.
    Lambda,
    /// Overhead in hardware; families only.
    Oh,
    /// Overhead in software; families only.
    Os,
    /// Processors; families only.
    Nodes,
    /// A remote reference (r); infinite where the machine has none.
    Remote,
    /// A reference to global memory (g).
    Global,
    /// Copying a block between global memory and a node (G), whatever its size.
    GlobalCopy,
    /// Copying a block between nodes (R), whatever its size.
    Copy,
}

/// Every parameter and its key in a study, in the order in which they are applied and vary (the last fastest).
pub const PARAMS: [(Param, &str); 8] = [
    (Param::Lambda, "lambda"),
    (Param::Oh, "o_h"),
    (Param::Os, "o_s"),
    (Param::Nodes, "nodes"),
    (Param::Remote, "r"),
    (Param::Global, "g"),
    (Param::GlobalCopy, "G"),
    (Param::Copy, "R"),
];

impl Param {
    /// The key.
    pub fn key(self) -> &'static str {
        PARAMS.iter().find(|(p, _)| *p == self).expect("every parameter is listed").1
    }
    /// The word that is a value of it.
    pub(super) fn word(self) -> Word {
        match self {
            Param::Remote => Some(("inf", Cost::INFINITE.0)),
            Param::Copy => Some(("2G", TWICE_GLOBAL)),
            _ => None,
        }
    }
    fn of_family(self) -> bool {
        self < Param::Remote
    }
}

/// What the machines of a set have in common.
#[derive(Clone, Debug)]
pub enum Base {
    /// A machine.
    Machine(Box<Machine>),
    /// A family.
    Family(Member),
}

/// Machines that differ in some parameters: all combinations of their values.
#[derive(Clone, Debug)]
pub struct MachineSet {
    /// What they are made from.
    pub base: Base,
    /// What varies, in the order of [`PARAMS`].
    pub axes: Vec<(Param, Values)>,
}

/// One machine of a set.
#[derive(Clone, Debug)]
pub struct Point {
    /// The machine, sound.
    pub machine: Machine,
    /// Family, if it is of one.
    pub family: Option<&'static str>,
    /// What it was made from, if it is of a family.
    pub parameters: Option<Parameters>,
    /// What was set: `lambda=50 r=102`; empty for a machine as it is.
    pub params: String,
}

/// Stands for a copy from global memory as long as nobody has said what it costs; no sound machine has it.
const NO_COPY: CopyCost = CopyCost::linear(Cost(-1), Cost::ZERO);

impl MachineSet {
    /// A machine as it is.
    pub fn single(machine: Machine) -> MachineSet {
        MachineSet { base: Base::Machine(Box::new(machine)), axes: Vec::new() }
    }
    /// A family with the thesis's constants.
    pub fn family(family: Member) -> MachineSet {
        MachineSet { base: Base::Family(family), axes: Vec::new() }
    }
    /// How many machines.
    pub fn count(&self) -> u128 {
        self.axes.iter().map(|(_, v)| u128::from(v.count())).fold(1, u128::saturating_mul)
    }
    /// The family, if there is one.
    fn family_name(&self) -> Option<&'static str> {
        match self.base {
            Base::Family(f) => Some(f.name),
            Base::Machine(_) => None,
        }
    }

    /// The machine with this number, below [`MachineSet::count`].
    ///
    /// # Errors
    /// A parameter that the base does not have, or costs that no machine may have.
    pub fn point(&self, number: u128) -> Result<Point, SpecError> {
        let mut rest = number;
        let mut values: Vec<(Param, i64)> = Vec::with_capacity(self.axes.len());
        for (param, axis) in self.axes.iter().rev() {
            let count = u128::from(axis.count());
            values.push((*param, axis.at((rest % count) as u64)));
            rest /= count;
        }
        values.reverse();
        let (mut machine, parameters) = self.made(&values)?;
        for (param, value) in values.iter().filter(|(p, _)| !p.of_family()) {
            set(&mut machine, *param, *value)?;
        }
        if machine.cost.global.is_some_and(|g| g.copy == NO_COPY) {
            return Err(no_global(&machine, "g"));
        }
        machine.validate().map_err(|e| SpecError::new(format!("machine {}: {e}", machine.name)))?;
        let params = values.iter().map(|(p, v)| format!("{}={}", p.key(), shown(*p, *v))).collect::<Vec<_>>();
        Ok(Point { machine, family: self.family_name(), parameters, params: params.join(" ") })
    }

    fn made(&self, values: &[(Param, i64)]) -> Result<(Machine, Option<Parameters>), SpecError> {
        let member = match &self.base {
            Base::Family(member) => member,
            Base::Machine(m) => {
                return match values.iter().find(|(p, _)| p.of_family()) {
                    None => Ok((m.as_ref().clone(), None)),
                    Some((p, _)) => {
                        let (key, name) = (p.key(), &m.name);
                        Err(SpecError::new(format!(
                            "{key}: {name} is a machine, not a family; {key} needs family = ..."
                        )))
                    }
                };
            }
        };
        let mut parameters = Parameters::default();
        for (param, value) in values {
            let place = match param {
                Param::Lambda => &mut parameters.lambda,
                Param::Oh => &mut parameters.o_h,
                Param::Os => &mut parameters.o_s,
                Param::Nodes => {
                    parameters.processors = nodes(*value)?;
                    continue;
                }
                _ => continue,
            };
            *place = u32::try_from(*value)
                .map_err(|_| SpecError::new(format!("{} = {value} is not allowed: 0 to {}", param.key(), u32::MAX)))?;
        }
        let machine = member.build(&parameters).map_err(|e| SpecError::new(format!("family {}: {e}", member.name)))?;
        Ok((machine, Some(parameters)))
    }
}

fn nodes(value: i64) -> Result<u16, SpecError> {
    let fits = |n: &u16| (1..=NODES_MAX).contains(&usize::from(*n));
    let wrong = || SpecError::new(format!("nodes = {value} is not allowed: 1 to {NODES_MAX}"));
    u16::try_from(value).ok().filter(fits).ok_or_else(wrong)
}

fn shown(param: Param, value: i64) -> String {
    match param.word() {
        Some((word, v)) if v == value => word.to_owned(),
        _ => value.to_string(),
    }
}

fn set(machine: &mut Machine, param: Param, value: i64) -> Result<(), SpecError> {
    match param {
        Param::Remote => set_remote(machine, value)?,
        Param::Copy if value == TWICE_GLOBAL => {
            let global = machine.cost.global.ok_or_else(|| no_global(machine, "R = \"2G\""))?;
            machine.cost.copy = twice(global.copy);
        }
        Param::Copy => machine.cost.copy = CopyCost::linear(Cost(value), Cost::ZERO),
        Param::Global => {
            let near = machine.cost.read.as_uniform().map_or(Cost::ZERO, |(near, _)| near);
            if value < near.0 {
                return Err(SpecError::new(format!(
                    "g = {value} is less than a local reference, {}: global memory cannot be nearer than one's own",
                    near.0
                )));
            }
            let copy = machine.cost.global.map_or(NO_COPY, |g| g.copy);
            machine.cost.global = Some(GlobalMemory { access: Cost(value), copy });
        }
        _ => {
            let access = machine.cost.global.ok_or_else(|| no_global(machine, "G"))?.access;
            machine.cost.global = Some(GlobalMemory { access, copy: CopyCost::linear(Cost(value), Cost::ZERO) });
        }
    }
    Ok(())
}

fn twice(copy: CopyCost) -> CopyCost {
    let other = copy.at_most.map(|o| LinearCost { fixed: o.fixed * 2, per_word: o.per_word * 2 });
    CopyCost { fixed: copy.fixed * 2, per_word: copy.per_word * 2, at_most: other }
}

fn no_global(machine: &Machine, key: &str) -> SpecError {
    SpecError::new(format!("{key}: machine {} has no global memory; give both g and G for one", machine.name))
}

fn set_remote(machine: &mut Machine, r: i64) -> Result<(), SpecError> {
    machine.cost.remote_access = r != Cost::INFINITE.0;
    if !machine.cost.remote_access {
        return Ok(());
    }
    for matrix in [&mut machine.cost.read, &mut machine.cost.write, &mut machine.cost.write_back] {
        let near = matrix.as_uniform().map(|(near, _)| near);
        let near = near.ok_or_else(|| {
            let name = &machine.name;
            SpecError::new(format!(
                "r: on machine {name} nodes are not equally far from each other: it has no single r"
            ))
        })?;
        if r < near.0 {
            return Err(SpecError::new(format!(
                "r = {r} is less than a local reference, {}: remote memory cannot be nearer than one's own",
                near.0
            )));
        }
        *matrix = Matrix::uniform(matrix.nodes(), near, Cost(r));
    }
    Ok(())
}

/// Whether a machine with global memory satisfies R <= 2G at this block size (Bolosky 1993, section 4.1.1).
///
/// # Errors
/// R is more than 2G.
pub fn check_copies(machine: &Machine, block_bytes: u64) -> Result<(), SpecError> {
    let words = block_bytes.div_ceil(u64::from(machine.shape.word_bytes)) as i64;
    let Some(global) = machine.cost.global else { return Ok(()) };
    let (direct, through) = (machine.cost.copy.of_words(words).0, global.copy.of_words(words).0 * 2);
    if direct <= through {
        return Ok(());
    }
    Err(SpecError::new(format!(
        "machine {}: R = {direct} is more than 2G = {through} at blocks of {block_bytes} bytes: a copy through global memory \
         would be cheaper than a direct one, and the optimum assumes that it is not; lower R, or say R = \"2G\"",
        machine.name
    )))
}

#[cfg(test)]
#[path = "machines_tests.rs"]
mod tests;
