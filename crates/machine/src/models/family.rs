//! Five machines that differ only in how they keep copies coherent and how they reach single words elsewhere (Bolosky
//! 1993, sections 6.1 and 6.2, tables 6.2 and 6.3).
//!
//! All move and replicate blocks and none has global memory; costs follow from a one-way latency and two overheads. A
//! block of b bytes takes b/2 to transmit. Coherence in hardware lets the home forward a request to the owner (three
//! trips), coherence in software asks the home and then the owner (four trips, one trap). A word of another node is
//! reached in two trips, by hardware or with a trap at each end, or not at all: then r is infinite.
//!
//! The thesis asks for R > 2r elsewhere (section 4.1.1). Small blocks of `cc-plus` and `dsm-plus` violate that; nothing
//! here or in the optimum needs it.
use crate::costs::{CopyCost, Costs, Matrix};
use crate::limits::{MachineError, reject};
use crate::model::{Machine, Unit};
use crate::sections::Sections;
use crate::shape::Shape;
use homenode_base::Cost;

/// What the costs of a family follow from, in units of a local hit (50 ns in the thesis).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// One-way latency of a message (lambda).
    pub lambda: u32,
    /// Overhead of hardware, per block moved or word reached (o_h).
    pub o_h: u32,
    /// Overhead of software: one trap (o_s).
    pub o_s: u32,
    /// Processors, each a node of its own; 1 to 1024.
    pub processors: u16,
    /// Placement block when the user names none, in bytes: a power of two, at least a word of 4; `None` for that of the
    /// machine (64 in hardware, 4096 in software).
    pub base_block_bytes: Option<u64>,
}

impl Default for Parameters {
    /// Parameters of table 6.3: lambda 50, o_h 2, o_s 75; 8 processors as in the traces.
    fn default() -> Parameters {
        Parameters { lambda: 50, o_h: 2, o_s: 75, processors: 8, base_block_bytes: None }
    }
}

/// Who keeps copies coherent, and so in what blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coherence {
    /// Lines, in hardware: R = b/2 + 3 lambda + o_h.
    Hardware,
    /// Pages, in software: R = b/2 + 4 lambda + o_s.
    Software,
}

/// How a single word of another node is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteWord {
    /// Not at all: r is infinite.
    Never,
    /// r = 2 lambda + o_h.
    Hardware,
    /// r = 2 lambda + 2 o_s: a trap at each end.
    Trap,
}

/// A machine of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Who moves blocks.
    pub coherence: Coherence,
    /// Who reaches words.
    pub remote: RemoteWord,
}

/// Coherent caches.
pub const CC: Member = Member {
    name: "cc",
    title: "Coherent caches: lines move and replicate in hardware, no remote references",
    coherence: Coherence::Hardware,
    remote: RemoteWord::Never,
};
/// Coherent caches with remote references.
pub const CC_PLUS: Member = Member {
    name: "cc-plus",
    title: "Coherent caches with remote references in hardware",
    coherence: Coherence::Hardware,
    remote: RemoteWord::Hardware,
};
/// Pages placed by software, words reached by hardware.
pub const NUMA: Member = Member {
    name: "numa",
    title: "NUMA: pages placed by software, remote references in hardware",
    coherence: Coherence::Software,
    remote: RemoteWord::Hardware,
};
/// Distributed shared memory.
pub const DSM: Member = Member {
    name: "dsm",
    title: "Distributed shared memory: pages placed by software, no remote references",
    coherence: Coherence::Software,
    remote: RemoteWord::Never,
};
/// Distributed shared memory with remote references by trap.
pub const DSM_PLUS: Member = Member {
    name: "dsm-plus",
    title: "Distributed shared memory with remote references by traps",
    coherence: Coherence::Software,
    remote: RemoteWord::Trap,
};

/// All members; at equal block size each reaches every placement of those after it at no higher cost, except that `cc`
/// and the two before `dsm` have no order among themselves (section 6.2.1).
pub const MEMBERS: [Member; 5] = [CC_PLUS, CC, NUMA, DSM_PLUS, DSM];

/// Bytes of a word: references are counted in these.
const WORD_BYTES: u32 = 4;
/// b/2 for each word of a block.
const PER_WORD: Cost = Cost(2);

impl Member {
    /// The machine with these parameters; its name says those that are not the default.
    ///
    /// # Errors
    /// No or too many processors, a block that is no power of two or less than a word, or a remote reference that costs
    /// less than a local one.
    pub fn build(&self, parameters: &Parameters) -> Result<Machine, MachineError> {
        let machine = self.unchecked(parameters);
        machine.validate()?;
        if machine.shape.page_bytes < u64::from(WORD_BYTES) {
            return Err(reject(
                "page_bytes",
                machine.shape.page_bytes,
                format!("at least a word of {WORD_BYTES} bytes"),
            ));
        }
        Ok(machine)
    }

    fn unchecked(&self, p: &Parameters) -> Machine {
        let (lambda, o_h, o_s) = (i64::from(p.lambda), i64::from(p.o_h), i64::from(p.o_s));
        let far = match (self.remote, self.coherence) {
            (RemoteWord::Hardware, _) | (RemoteWord::Never, Coherence::Hardware) => 2 * lambda + o_h,
            // Without remote references the entry says nothing: it is that of the machine that has them.
            (RemoteWord::Trap, _) | (RemoteWord::Never, Coherence::Software) => 2 * lambda + 2 * o_s,
        };
        let (fixed, base) = match self.coherence {
            Coherence::Hardware => (3 * lambda + o_h, 64),
            Coherence::Software => (4 * lambda + o_s, 4096),
        };
        let near_far = Matrix::uniform(usize::from(p.processors), Cost(1), Cost(far));
        Machine {
            name: self.name_with(p),
            title: self.title.into(),
            sources: self.sources(p),
            unit: Unit::Quantum("local hit (50 ns)".into()),
            shape: Shape {
                cores: vec![1; usize::from(p.processors)],
                word_bytes: WORD_BYTES,
                page_bytes: p.base_block_bytes.unwrap_or(base),
            },
            cost: Costs {
                remote_access: self.remote != RemoteWord::Never,
                ..Costs::alike(&near_far, CopyCost::linear(Cost(fixed), PER_WORD))
            },
            sections: Sections::default(),
        }
    }

    fn name_with(&self, p: &Parameters) -> String {
        let d = Parameters::default();
        let mut name = self.name.to_owned();
        let numbers = [
            ("lambda", p.lambda, d.lambda),
            ("o_h", p.o_h, d.o_h),
            ("o_s", p.o_s, d.o_s),
            ("p", u32::from(p.processors), u32::from(d.processors)),
        ];
        for (key, value, _) in numbers.into_iter().filter(|(_, value, default)| value != default) {
            name.push_str(&format!(",{key}={value}"));
        }
        name
    }

    fn sources(&self, p: &Parameters) -> Vec<String> {
        let copy = match self.coherence {
            Coherence::Hardware => "R = bytes/2 + 3 lambda + o_h",
            Coherence::Software => "R = bytes/2 + 4 lambda + o_s",
        };
        let remote = match self.remote {
            RemoteWord::Never => "r infinite",
            RemoteWord::Hardware => "r = 2 lambda + o_h",
            RemoteWord::Trap => "r = 2 lambda + 2 o_s",
        };
        vec![
            format!("{copy}, {remote}: Bolosky 1993, section 6.1 and table 6.2"),
            format!("lambda {}, o_h {}, o_s {} (50, 2 and 75 in Bolosky 1993, table 6.3)", p.lambda, p.o_h, p.o_s),
            format!("{} processors (8 in Bolosky 1993, section 2.1), words of 4 bytes: section 7.1.6", p.processors),
        ]
    }
}

/// The member as it is in the registry.
pub(super) fn default_of(member: Member) -> Machine {
    member.unchecked(&Parameters::default())
}
