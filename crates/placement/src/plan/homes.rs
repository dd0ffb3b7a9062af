//! From objects to blocks.
use super::{Entry, Home, ObjectKey, Plan};
use hashbrown::HashMap;
use homenode_base::{NodeId, ThreadId};
use homenode_machine::Location;

/// Homes of blocks. Blocks not named live wherever the policy puts them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Homes {
    map: HashMap<u64, Location>,
}

impl Homes {
    /// No homes.
    pub fn new() -> Homes {
        Homes::default()
    }
    /// Home of a block (address / block size), if it is named.
    #[inline]
    pub fn get(&self, block: u64) -> Option<Location> {
        self.map.get(&block).copied()
    }
    /// Names a block's home; returns the one it had.
    pub fn insert(&mut self, block: u64, home: Location) -> Option<Location> {
        self.map.insert(block, home)
    }
    /// Number of blocks named.
    pub fn len(&self) -> usize {
        self.map.len()
    }
    /// Whether no block is named.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
    /// All of them by ascending block.
    pub fn sorted(&self) -> Vec<(u64, Location)> {
        let mut all: Vec<(u64, Location)> = self.map.iter().map(|(b, l)| (*b, *l)).collect();
        all.sort_unstable();
        all
    }
}

impl FromIterator<(u64, Location)> for Homes {
    fn from_iter<I: IntoIterator<Item = (u64, Location)>>(iter: I) -> Homes {
        Homes { map: iter.into_iter().collect() }
    }
}

/// A block that cannot be placed as the plan wants: objects with different homes share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Block number.
    pub block: u64,
    /// Entry that claimed it first.
    pub first: usize,
    /// Entry that wants it elsewhere.
    pub second: usize,
}

impl Plan {
    /// The homes of this plan's blocks in one run. `find` gives an object's address and size in bytes (`None`: not there
    /// in this run), beyond which no range reaches; `node_of` gives a thread's node. A block at the edge of an object belongs to it unless another object wants it
    /// elsewhere: then it has no home and is reported, by ascending block. `block_bytes` is at least 1.
    pub fn homes(
        &self,
        block_bytes: u64,
        find: impl Fn(&ObjectKey) -> Option<(u64, u64)>,
        node_of: impl Fn(ThreadId) -> NodeId,
    ) -> (Homes, Vec<Conflict>) {
        let mut claims: HashMap<u64, (usize, Location)> = HashMap::new();
        let mut conflicts: Vec<Conflict> = Vec::new();
        for (second, entry) in self.entries.iter().enumerate() {
            let Some((address, size)) = find(&entry.object) else { continue };
            for block in blocks(entry, address, size, block_bytes) {
                let home = home_of(&entry.home, block, &node_of);
                let (first, claimed) = *claims.entry(block).or_insert((second, home));
                if claimed != home {
                    conflicts.push(Conflict { block, first, second });
                }
            }
        }
        conflicts.sort_by_key(|c| c.block);
        conflicts.dedup_by_key(|c| c.block);
        conflicts.iter().for_each(|c| _ = claims.remove(&c.block));
        (claims.into_iter().map(|(block, (_, home))| (block, home)).collect(), conflicts)
    }
}

/// The blocks that an entry touches; what would pass the end of the object or of memory is cut off.
fn blocks(entry: &Entry, address: u64, size: u64, block_bytes: u64) -> impl Iterator<Item = u64> + use<> {
    let bytes = size.saturating_sub(entry.offset).min(entry.bytes);
    let first = address.saturating_add(entry.offset);
    let range = first / block_bytes..=first.saturating_add(bytes.saturating_sub(1)) / block_bytes;
    range.take_while(move |_| bytes > 0)
}

fn home_of(home: &Home, block: u64, node_of: impl Fn(ThreadId) -> NodeId) -> Location {
    Location::Node(match home {
        Home::Thread(t) => node_of(ThreadId(*t)),
        Home::Node(n) => NodeId(*n),
        Home::Interleave(nodes) => NodeId(nodes[(block % nodes.len() as u64) as usize]),
    })
}
