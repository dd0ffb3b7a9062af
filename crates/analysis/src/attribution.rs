//! Who pays: costs by object, by line of code and by block.
use crate::feed::{Charge, Hit, Setup, Transfer};
use crate::index::{Index, Slab, place};
use crate::shares::{NONE, ShareCosts, Shares, sum};
use crate::sums::{ObjectSums, Pair};
use hashbrown::HashMap;
use homenode_base::{Cost, NodeId, TotalCost};
use homenode_machine::Location;

/// A lying thread number must not make a table as long as it says.
const THREADS_REMEMBERED: usize = 1 << 16;
const PAIRS_REMEMBERED: usize = 1024;
const BLOCKS_REMEMBERED: usize = 64;
/// From so many references of one node to a block on, without one of another, the node is its owner for the time being.
const LONG_RUN: u64 = 64;

/// First touch and use of one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) first_thread: u32,
    pub(crate) first_site: u32,
    pub(crate) first_wrote: bool,
    /// Whether a second thread has touched it.
    pub(crate) shared: bool,
    /// Home under first touch.
    pub(crate) home: Location,
    /// Majority vote (Boyer and Moore 1991) over the references since it became shared: the one thread that can have
    /// made more than half of them.
    pub(crate) user: u32,
    votes: u64,
    /// Majority vote over the nodes of those references.
    pub(crate) node: NodeId,
    node_votes: u64,
    /// The thread of that node that used it last.
    node_user: u32,
    /// References since it became shared.
    refs: u64,
    /// When it was touched first, and when another thread than the first one read it first, in references.
    pub(crate) touched_at: u64,
    pub(crate) read_at: u64,
    /// Reads of the first thread before it became shared, but for what it reads back at once.
    first_reads: u64,
    /// Address of the last write before it became shared, and whether it was read back.
    written_at: u64,
    read_back: bool,
    /// The running run of one node's references, since it became shared, and the references in long runs.
    run_node: NodeId,
    run: u64,
    settled: u64,
    /// Node of the last long run, and how often it was another than that of the long run before it.
    settled_node: Option<NodeId>,
    pub(crate) changes: u32,
    /// The first thread, or the first with a long run if that one only initialised.
    pub(crate) first_user: u32,
    /// Cost of its lines' transfers between caches since it became shared.
    pub(crate) transfers: Cost,
    /// Object of the last reference: it has a share already.
    last_object: u32,
    shares: u32,
}

impl Block {
    /// The node that made at least two thirds of the references since the block became shared, as far as the vote can
    /// prove it: its surplus over all others is a third of them.
    pub(crate) fn owner(&self) -> Option<NodeId> {
        (self.refs > 0 && self.node_votes >= self.refs.div_ceil(3)).then_some(self.node)
    }
    /// The thread that made at least two thirds of those references, by the same proof.
    pub(crate) fn owning_thread(&self) -> Option<u32> {
        (self.refs > 0 && self.votes >= self.refs.div_ceil(3)).then_some(self.user)
    }
    /// The thread that uses it most, on the node that does.
    pub(crate) fn user_on(&self, nodes: &[NodeId]) -> u32 {
        if nodes.get(self.user as usize) == Some(&self.node) { self.user } else { self.node_user }
    }
    #[inline]
    fn vote(&mut self, thread: u32, node: NodeId, weight: u64) {
        self.refs += weight;
        step(&mut self.user, &mut self.votes, thread, weight);
        step(&mut self.node, &mut self.node_votes, node, weight);
        if self.node == node {
            self.node_user = thread;
        }
        self.follow(thread, node, weight);
    }
    /// Another thread than the first one touches it. If that one has read it again and again it was not just initialising.
    #[cold]
    fn share(&mut self, other: NodeId) {
        self.shared = true;
        self.run_node = other;
        if self.first_reads >= LONG_RUN {
            self.settled_node = if let Location::Node(first) = self.home { Some(first) } else { None };
        }
    }
    /// Whether its first thread did not only initialise it but used it, before all others: a phase of its own.
    pub(crate) fn is_used_first(&self) -> bool {
        self.first_reads.saturating_mul(4) >= self.refs
    }
    /// A reference before it became shared. Reading a word back right after writing it is no use of it: compilers without
    /// optimisation do so to initialise several arrays in one statement. A word that is updated again and again is used.
    #[inline]
    fn first_use(&mut self, addr: u64, writes: bool, weight: u32) {
        if !writes {
            let back = addr == self.written_at && !self.read_back;
            self.read_back |= back;
            self.first_reads += u64::from(weight) - u64::from(back && weight > 0);
        } else if self.written_at != addr {
            (self.written_at, self.read_back) = (addr, false);
        }
    }
    #[inline]
    fn follow(&mut self, thread: u32, node: NodeId, weight: u64) {
        if self.run_node != node {
            (self.run_node, self.run) = (node, 0);
        }
        self.run += weight;
        if self.run >= LONG_RUN {
            let begins = self.run - weight < LONG_RUN;
            self.settled += if begins { self.run } else { weight };
            if begins && self.settled_node != Some(node) {
                if self.settled_node.is_some() {
                    self.changes += 1;
                } else {
                    self.first_user = thread;
                }
                self.settled_node = Some(node);
            }
        }
    }
    /// Of 100 references since it became shared, those in long runs of one node.
    pub(crate) fn settled_percent(&self) -> u64 {
        self.settled.saturating_mul(100) / self.refs.max(1)
    }
}

#[inline]
fn step<T: PartialEq>(leader: &mut T, votes: &mut u64, voter: T, weight: u64) {
    if *leader == voter {
        *votes += weight;
    } else if *votes < weight {
        (*leader, *votes) = (voter, weight - *votes);
    } else {
        *votes -= weight;
    }
}

/// The accumulator. Memory: 296 bytes and two costs per possible home for each block and object in it, and 120 bytes
/// for each pair of site and object.
#[derive(Debug)]
pub struct Attribution {
    block_shift: u32,
    index: Index,
    blocks: Slab<Block>,
    shares: Shares,
    objects: Vec<ObjectSums>,
    object_index: HashMap<u32, u32>,
    pairs: Vec<Pair>,
    pair_index: HashMap<(u32, u32), u32>,
    /// Direct-mapped copy of recent answers of `pair_index`.
    recent: Vec<(u32, u32, u32)>,
    /// Blocks found last, by number: threads come back to theirs, and charges follow references.
    recent_blocks: [(u64, u32); BLOCKS_REMEMBERED],
    /// Per thread, the object it used last.
    last_used: Vec<u32>,
    /// Number of the last reference.
    time: u64,
}

/// A reference to the attribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) addr: u64,
    pub(crate) object: u32,
    pub(crate) site: u32,
    pub(crate) thread: u32,
    pub(crate) node: NodeId,
    pub(crate) writes: bool,
    /// References it stands for.
    pub(crate) weight: u32,
}

impl Attribution {
    pub(crate) fn new(setup: &Setup<'_>) -> Attribution {
        Attribution {
            block_shift: setup.block_bytes.trailing_zeros(),
            index: Index::new(),
            blocks: Slab::new(),
            shares: Shares::new(setup.machine),
            objects: Vec::new(),
            object_index: HashMap::new(),
            pairs: Vec::new(),
            pair_index: HashMap::new(),
            recent: vec![(0, 0, NONE); PAIRS_REMEMBERED],
            recent_blocks: [(0, NONE); BLOCKS_REMEMBERED],
            last_used: Vec::new(),
            time: 0,
        }
    }
    /// Notes one reference, the one with this number among all, to the block that contains `u.addr`.
    #[inline]
    pub(crate) fn reference(&mut self, u: &Use, number: u64) {
        self.time = number;
        let pair = self.pair(u.site, u.object);
        self.pairs[pair].refs += u64::from(u.weight);
        let object = self.pairs[pair].object;
        match self.last_used.get(u.thread as usize) {
            Some(&last) if last == object => {}
            _ => self.add_user(u.thread, object),
        }
        self.touch(u, object);
    }
    fn add_user(&mut self, thread: u32, object: u32) {
        self.objects[object as usize].add_user(thread);
        let slot = thread as usize;
        if slot < THREADS_REMEMBERED {
            if slot >= self.last_used.len() {
                self.last_used.resize(slot + 1, NONE);
            }
            self.last_used[slot] = object;
        }
    }
    /// Notes that the reference `u`, with this number, goes on in the block of `addr`.
    pub(crate) fn continues(&mut self, u: &Use, addr: u64, number: u64) {
        self.time = number;
        let object = self.object(u.object);
        self.touch(&Use { addr, ..*u }, object);
    }
    #[inline]
    fn touch(&mut self, u: &Use, object: u32) {
        let (block, time) = (self.block(u.addr, u), self.time);
        let b = &mut self.blocks[block];
        if b.first_thread == NONE {
            // Charged before it was referenced.
            (b.first_thread, b.first_site, b.first_wrote, b.touched_at) = (u.thread, u.site, u.writes, time);
        }
        let other = b.first_thread != u.thread;
        if other && !b.shared {
            self.shares.settle(b.shares, false);
            b.share(u.node);
        }
        if !b.shared {
            b.first_use(u.addr, u.writes, u.weight);
        } else {
            b.vote(u.thread, u.node, u64::from(u.weight));
            if other && !u.writes && b.read_at == u64::MAX {
                b.read_at = time;
            }
        }
        if b.last_object != object {
            b.last_object = object;
            self.share(block, object);
        }
    }
    /// Notes one charge; its block may be one that was never referenced.
    pub(crate) fn charge(&mut self, c: &Charge) {
        let remote = matches!(c.home, Location::Node(h) if h != c.node);
        let remote_cost = if remote { c.cost } else { Cost::ZERO };
        let pair = self.pair(c.site, c.object);
        self.pairs[pair].cost += c.cost;
        self.pairs[pair].remote += remote_cost;
        let object = self.pairs[pair].object;
        let first =
            Use { addr: c.addr, object: c.object, site: c.site, thread: NONE, node: c.node, writes: false, weight: 0 };
        let block = self.block(c.addr, &first);
        self.blocks[block].home = c.home;
        let share = self.share(block, object);
        self.shares.charge(share, c, remote_cost, self.blocks[block].shared);
    }
    /// Ends the accumulation: costs at homes are whole.
    pub(crate) fn end(&mut self) {
        self.blocks.iter().for_each(|block| self.shares.settle(block.shares, block.shared));
    }
    /// Notes one transfer.
    pub(crate) fn transfer(&mut self, t: &Transfer) {
        let pair = self.pair(t.site, t.object);
        self.pairs[pair].cost += t.cost;
        let object = self.pairs[pair].object;
        self.objects[object as usize].transfer += t.cost;
        if let Some(block) = self.index.get(t.addr >> self.block_shift) {
            let b = &mut self.blocks[block];
            if b.shared {
                b.transfers = sum(b.transfers, t.cost);
            }
        }
    }
    /// Notes a hit in the last level.
    #[inline]
    pub(crate) fn hit(&mut self, h: &Hit) {
        let pair = self.pair(h.site, h.object);
        self.pairs[pair].hits += h.cost;
    }
    #[inline]
    fn pair(&mut self, site: u32, object: u32) -> usize {
        let slot = (site ^ object.wrapping_mul(0x9E37_79B1)) as usize % PAIRS_REMEMBERED;
        match self.recent[slot] {
            (s, o, p) if (s, o) == (site, object) && p != NONE => p as usize,
            _ => self.find_pair(slot, site, object),
        }
    }
    fn find_pair(&mut self, slot: usize, site: u32, object: u32) -> usize {
        let dense = self.object(object);
        let next = self.pairs.len() as u32;
        let p = *self.pair_index.entry((site, object)).or_insert(next);
        if p == next {
            self.pairs.push(Pair { site, object: dense, ..Pair::default() });
        }
        self.recent[slot] = (site, object, p);
        p as usize
    }
    fn object(&mut self, id: u32) -> u32 {
        let next = self.objects.len() as u32;
        let o = *self.object_index.entry(id).or_insert(next);
        if o == next {
            self.objects.push(ObjectSums::new(id));
        }
        o
    }
    #[inline]
    fn block(&mut self, addr: u64, first: &Use) -> usize {
        let number = addr >> self.block_shift;
        match self.recent_blocks[place(number, BLOCKS_REMEMBERED)] {
            (known, block) if known == number && block != NONE => block as usize,
            _ => self.find_block(number, first),
        }
    }
    fn find_block(&mut self, number: u64, first: &Use) -> usize {
        let (block, new) = self.index.intern(number);
        self.recent_blocks[place(number, BLOCKS_REMEMBERED)] = (number, block as u32);
        if new {
            self.blocks.push(Block {
                first_thread: first.thread,
                first_site: first.site,
                first_wrote: first.writes,
                shared: false,
                home: Location::Node(first.node),
                user: first.thread,
                votes: 0,
                node: first.node,
                node_votes: 0,
                node_user: first.thread,
                refs: 0,
                touched_at: self.time,
                read_at: u64::MAX,
                first_reads: 0,
                written_at: u64::MAX,
                read_back: false,
                run_node: first.node,
                run: 0,
                settled: 0,
                settled_node: None,
                changes: 0,
                first_user: first.thread,
                transfers: Cost::ZERO,
                last_object: NONE,
                shares: NONE,
            });
        }
        block
    }
    #[inline]
    fn share(&mut self, block: usize, object: u32) -> usize {
        self.shares.find(&mut self.blocks[block].shares, object)
    }
    /// Adds what is known of other blocks, whose accumulation has ended; none of them is known here.
    pub(crate) fn absorb(&mut self, other: &Attribution) {
        let objects: Vec<u32> = other.objects.iter().map(|o| self.absorb_object(o)).collect();
        for p in &other.pairs {
            let mine = self.pair(p.site, other.objects[p.object as usize].id);
            self.pairs[mine].add(p);
        }
        let moved = self.shares.absorb(&other.shares, &objects);
        for (number, i) in other.index.sorted() {
            let (_, new) = self.index.intern(number);
            assert!(new, "a block is of one colour");
            let block = other.blocks[i];
            self.blocks.push(Block { shares: moved(block.shares), last_object: NONE, ..block });
        }
    }
    fn absorb_object(&mut self, other: &ObjectSums) -> u32 {
        let mine = self.object(other.id);
        let sums = &mut self.objects[mine as usize];
        sums.add(other);
        mine
    }
    /// Object rows in order of first appearance.
    pub(crate) fn objects(&self) -> &[ObjectSums] {
        &self.objects
    }
    /// Possible homes, in the order of every share's costs.
    pub(crate) fn homes(&self) -> &[Location] {
        self.shares.places()
    }
    /// Pairs in order of first appearance.
    pub(crate) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }
    /// Whether there were hits that cost something.
    pub(crate) fn has_hits(&self) -> bool {
        self.pairs.iter().any(|p| p.hits > TotalCost::ZERO)
    }
    /// Blocks ascending by number.
    pub(crate) fn blocks(&self) -> Vec<(u64, &Block)> {
        self.index.sorted().into_iter().map(|(number, i)| (number, &self.blocks[i])).collect()
    }
    /// Shares of a block.
    pub(crate) fn shares_of<'a>(&'a self, block: &Block) -> impl Iterator<Item = ShareCosts<'a>> + use<'a> {
        self.shares.of(block.shares)
    }
    /// Bytes of memory held, about.
    pub fn memory_bytes(&self) -> usize {
        let users: usize = self.objects.iter().map(ObjectSums::bytes).sum();
        self.index.bytes()
            + self.blocks.bytes()
            + self.shares.bytes()
            + users
            + self.pairs.capacity() * (size_of::<Pair>() + 24)
            + self.recent.capacity() * 12
    }
}
