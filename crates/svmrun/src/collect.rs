//! What nodes say of themselves in their regions, as a document.
use crate::doc::{Counted, LockDoc, LockGroupDoc, Messages, NodeDoc, ObjectDoc, PageDoc, PhaseDoc, ThreadDoc};
use crate::pages::{Page, Pages, sum};
use homenode_base::NodeId;
use homenode_hlrc::cluster::{Cluster, Layout, PageId};
use homenode_hlrc::slots::{self, Use};
use homenode_svm::heap::ADDRESS;
use homenode_svm::job::Job;
use homenode_svm::profile::{PHASES, PieceTaken, Profile, TOTALS};
use homenode_svm::shared::{Across, COUNTED, Class, INTERRUPTED, Kind, SIGNALS, Shared};
use homenode_sys::words::Words;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages and locks in a document.
const MOST: usize = 64;

/// Regions of the nodes that have begun.
pub(crate) struct Regions<'r> {
    job: &'r Job,
    cluster: Cluster,
    layout: &'r Layout,
    regions: Vec<&'r [AtomicU64]>,
}

/// Process of a node; 0 before it has begun.
pub(crate) fn process(region: &[AtomicU64], layout: &Layout) -> u32 {
    load(Shared::of(region, layout.extra()).word(homenode_svm::shared::PROCESS)) as u32
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Acquire)
}

impl<'r> Regions<'r> {
    /// The nodes that have begun.
    pub(crate) fn of(job: &'r Job, layout: &'r Layout, regions: &'r [Words]) -> Regions<'r> {
        let began = |region: &&'r Words| process(region, layout) != 0;
        let regions = regions.iter().take_while(began).map(|region| &**region).collect();
        Regions { job, cluster: job.cluster(NodeId(0), false), layout, regions }
    }

    fn profile(&self, region: &'r [AtomicU64]) -> Profile<'r> {
        Profile::of(region, &self.cluster, self.layout)
    }
    fn profiles(&self) -> impl Iterator<Item = Profile<'r>> {
        self.regions.iter().map(|region| self.profile(region))
    }

    /// The nodes.
    pub(crate) fn nodes(&self) -> Vec<NodeDoc> {
        (0..).zip(&self.regions).map(|(node, region)| self.node(node, region)).collect()
    }

    fn node(&self, node: u16, region: &[AtomicU64]) -> NodeDoc {
        let words = Shared::of(region, self.layout.extra());
        let messages = |kind: &Kind| {
            let (messages, bytes) = words.messages(*kind);
            Messages { kind: kind.name().to_owned(), messages: load(messages), bytes: load(bytes) }
        };
        let counted = |what: &str, word| Counted { what: what.to_owned(), times: load(word) };
        let first = u32::from(node) * u32::from(self.job.threads);
        NodeDoc {
            node,
            host: None,
            pid: process(region, self.layout),
            threads: (0..self.job.threads).filter_map(|t| thread_doc(first, t, words)).collect(),
            counts: COUNTED.iter().map(|(c, what)| counted(what, words.count(*c))).collect(),
            interrupts: INTERRUPTED.iter().map(|(i, what)| counted(what, words.interrupts(*i))).collect(),
            signals: load(words.word(SIGNALS)),
            messages: Kind::ALL.iter().map(messages).collect(),
        }
    }

    /// Phases by name; each node has numbers of its own for them.
    pub(crate) fn phases(&self) -> Vec<PhaseDoc> {
        let mut all: Vec<PhaseDoc> = vec![PhaseDoc { name: String::new(), entered: 0, threads: Vec::new() }];
        for (node, profile) in (0..).zip(self.profiles()) {
            for phase in 0..PHASES {
                let Some(name) = (if phase == 0 { Some(String::new()) } else { profile.name(phase) }) else { break };
                let at = all.iter().position(|p| p.name == name).unwrap_or_else(|| {
                    all.push(PhaseDoc { name, entered: 0, threads: Vec::new() });
                    all.len() - 1
                });
                for thread in 0..self.job.threads {
                    let words = profile.phase_of(thread, phase);
                    all[at].entered += load(&words[0]);
                    let number = node * u32::from(self.job.threads) + u32::from(thread);
                    all[at].threads.extend(phase_thread(number, words));
                }
            }
        }
        all.retain(|p| !p.threads.is_empty());
        all
    }

    /// Pieces of memory in order of addresses.
    pub(crate) fn pieces(&self) -> Vec<PieceTaken> {
        let mut pieces: Vec<PieceTaken> = self.profiles().flat_map(Profile::piece_list).collect();
        pieces.sort_by_key(|p| p.address);
        pieces
    }
    /// Pieces as objects, and where in the program's file each was asked for.
    pub(crate) fn objects(&self, pieces: &[PieceTaken]) -> Vec<(ObjectDoc, u64)> {
        let object = |p: &PieceTaken| ObjectDoc {
            thread: p.thread,
            asked_bytes: p.asked,
            ..Pages::piece(self.regions.len(), (p.address, p.bytes), String::new())
        };
        pieces.iter().map(|p| (object(p), p.site)).collect()
    }
    /// Pieces that there was no room to remember.
    pub(crate) fn forgotten(&self) -> u64 {
        self.profiles().map(Profile::forgotten).sum()
    }

    /// Adds what happened to each page below `used_bytes` to its object; the pages to which most happened.
    pub(crate) fn pages(&self, objects: &mut [ObjectDoc], used_bytes: u64) -> Vec<PageDoc> {
        let pages = u32::try_from(used_bytes / self.job.page_bytes).unwrap_or(u32::MAX).min(self.cluster.pages);
        let (mut hottest, mut all): (Vec<PageDoc>, _) = (Vec::new(), Pages::new(self.regions.len()));
        for page in (0..pages).map(PageId) {
            let start = u64::from(page.0) * self.job.page_bytes;
            let object = object_of(objects, ADDRESS + start);
            let seen = self.page(page, object.map(|(o, _)| o));
            let Some(traffic) = all.add(&seen, objects) else { continue };
            let offset = object.map_or(start, |(_, offset)| offset);
            hottest.push(PageDoc { page: page.0, object: seen.object, offset, home: seen.home, traffic });
            if hottest.len() > 64 * MOST {
                keep_hottest(&mut hottest);
            }
        }
        all.end(objects);
        keep_hottest(&mut hottest);
        hottest
    }

    fn page(&self, page: PageId, object: Option<u32>) -> Page {
        let mut seen = Page { home: self.home(page), object, ..Page::default() };
        for profile in self.profiles() {
            let [fetches, invalidations, writes, runs] = profile.counts_at(page).map(u64::from);
            seen.fetches.push(fetches);
            seen.writes.push(writes);
            seen.in_order.push(profile.in_order_at(page));
            seen.invalidations += invalidations;
            seen.runs += runs;
        }
        seen
    }

    fn home(&self, page: PageId) -> Option<u16> {
        let fixed = self.cluster.fixed_home(page).map(|n| n.0);
        let noted = self.regions.get(self.cluster.directory(page).index()).map(|r| load(&r[self.layout.home(page)]));
        fixed.or_else(|| noted.and_then(|word| u16::try_from(word).ok()).and_then(|word| word.checked_sub(1)))
    }

    /// Locks and other named things with the most time in them, and all locks by object.
    pub(crate) fn locks(&self, objects: &[ObjectDoc]) -> (Vec<LockDoc>, Vec<LockGroupDoc>) {
        let mut all: BTreeMap<u64, [u64; 3]> = BTreeMap::new();
        for region in &self.regions {
            for slot in 0..self.cluster.slots {
                let key = load(&region[self.layout.key(slot)]);
                if key == 0 {
                    continue;
                }
                let sums = all.entry(key).or_default();
                sums.iter_mut().zip(self.profile(region).slot(slot)).for_each(|(sum, word)| *sum += load(word));
            }
        }
        let named = all.into_iter().filter_map(|(key, sums)| Some((slots::of_key(key)?, sums)));
        let mut locks: Vec<LockDoc> = named.map(|((what, name), sums)| lock_doc(objects, what, name, sums)).collect();
        let groups = lock_groups(locks.iter().filter(|l| l.what == what(Use::Lock)));
        locks.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        locks.truncate(MOST);
        (locks, groups)
    }
}

/// A thing with a name, in words.
fn what(named: Use) -> &'static str {
    match named {
        Use::Lock => "lock",
        Use::Barrier => "barrier",
        Use::Condition => "condition",
        Use::Flag => "flag",
        Use::Word => "words",
        Use::Reduction => "reductions",
    }
}

fn lock_doc(objects: &[ObjectDoc], named: Use, name: u64, [times, remote, nanoseconds]: [u64; 3]) -> LockDoc {
    let object = object_of(objects, name);
    LockDoc {
        what: what(named).to_owned(),
        name,
        object: object.map(|(o, _)| o),
        offset: object.map_or(0, |(_, offset)| offset),
        times,
        remote,
        seconds: nanoseconds as f64 / 1e9,
    }
}

fn lock_groups<'l>(locks: impl Iterator<Item = &'l LockDoc>) -> Vec<LockGroupDoc> {
    let mut groups: BTreeMap<u32, LockGroupDoc> = BTreeMap::new();
    for lock in locks {
        let group = groups.entry(lock.object.unwrap_or(u32::MAX)).or_default();
        group.object = lock.object;
        group.locks += 1;
        group.taken += lock.times;
        group.remote += lock.remote;
        group.seconds += lock.seconds;
    }
    groups.into_values().collect()
}

fn keep_hottest(pages: &mut Vec<PageDoc>) {
    let heat = |p: &PageDoc| sum(&p.traffic.fetches) + sum(&p.traffic.writes);
    pages.sort_by_key(|p| (std::cmp::Reverse(heat(p)), p.page));
    pages.truncate(MOST);
}

/// Index of the object that an address is in, of objects in order of addresses, and bytes from its beginning.
fn object_of(objects: &[ObjectDoc], address: u64) -> Option<(u32, u64)> {
    let at = objects.partition_point(|o| o.address <= address).checked_sub(1)?;
    let offset = address - objects[at].address;
    (offset < objects[at].bytes).then_some((at as u32, offset))
}

/// What a thread did; `None` if it never ran.
fn thread_doc(first: u32, number: u16, words: Shared<'_>) -> Option<ThreadDoc> {
    let thread = words.thread(number);
    if thread.doing().0 == 0 {
        return None;
    }
    let times = Class::ALL.map(|class| load(thread.time(class)));
    let across = Across::ALL.map(|work| load(thread.across(work)));
    let faults = [false, true].map(|write| load(thread.faults(write)));
    Some(of_times(first + u32::from(number), load(thread.life()), times, across, faults))
}

/// What a thread did in a phase, whose words are times entered, nanoseconds and totals; `None` if it was never there.
fn phase_thread(number: u32, words: &[AtomicU64]) -> Option<ThreadDoc> {
    let life = load(&words[1]);
    let [data, lock, barrier, serving, other, protect, diff, reads, writes]: [u64; TOTALS] =
        std::array::from_fn(|at| load(&words[2 + at]));
    let times = [data, lock, barrier, serving, other];
    (life > 0).then(|| of_times(number, life, times, [protect, diff], [reads, writes]))
}

fn of_times(thread: u32, life: u64, times: [u64; 5], across: [u64; 2], faults: [u64; 2]) -> ThreadDoc {
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let [data, lock, barrier, serving, other] = times.map(seconds);
    ThreadDoc {
        thread,
        read_faults: faults[0],
        write_faults: faults[1],
        seconds: seconds(life),
        compute_seconds: seconds(life.saturating_sub(sum(&times))),
        data_seconds: data,
        lock_seconds: lock,
        barrier_seconds: barrier,
        serving_seconds: serving,
        other_seconds: other,
        protect_seconds: seconds(across[0]),
        diff_seconds: seconds(across[1]),
    }
}
