//! From the bytes of a perf ring to a plan file: kernel records made byte by byte, the decoder, the recorder for samples,
//! a dataset, `place`, and every home against what the bytes were made from.
#[path = "support/perf_ring.rs"]
mod perf_ring;
mod support;

use homenode_base::agentplan::{self, Line};
use homenode_capture::RecordOptions;
use homenode_capture::sampled::record;
use homenode_machine::topology::{MemoryNode, Topology};
use homenode_place::{Match, agent_plan, place};
use homenode_placement::plan::{Home, ObjectKey, Plan, Why};
use homenode_symbols::read_module;
use homenode_trace::{DatasetReader, SampleUnit};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, elf};
use perf_ring::{Kernel, LOADS, LOCAL, Put, REMOTE, STORE_HIT, STORE_MISS, STORES, Written, skylake};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const PAGE: u64 = 4096;
/// Threads 1 to 4 sit on nodes 0 to 3, and so does thread 0, which begins, on node 0.
const CPU_OF_THREAD: [usize; 5] = [0, 0, 1, 2, 3];
/// A ring of four nodes, not all links alike.
const READ: [[u64; 4]; 4] = [[100, 130, 200, 150], [130, 100, 130, 200], [200, 130, 100, 140], [150, 200, 140, 100]];
const MACHINE: &str = "name = \"made-up\"\nunit = \"ps\"\nword_bytes = 8\npage_bytes = 4096\ncores = [2, 2, 2, 2]\n\
     [read]\nmatrix = [[100, 130, 200, 150], [130, 100, 130, 200], [200, 130, 100, 140], [150, 200, 140, 100]]\n\
     [copy]\nfixed = 10\nper_word = 1\n";
/// The program: two arrays in static memory; it waits while the ring is read.
const PROGRAM: &str = "#include <time.h>\n\
     char grid[16 * 4096] __attribute__((aligned(4096)));\nchar mesh[8 * 4096] __attribute__((aligned(4096)));\n\
     int main(void) { struct timespec t = {0, 400000000}; nanosleep(&t, 0); return grid[5] + mesh[5]; }\n";

fn compiled(dir: &Path) -> PathBuf {
    let (source, program) = (dir.join("two.c"), dir.join("two"));
    std::fs::write(&source, PROGRAM).expect("written");
    // Static: whatever is known of threads, mappings and modules comes out of the ring.
    let flags = ["-O1", "-static", "-no-pie", "-Wl,--build-id", "-o"];
    let done = Command::new("gcc").args(flags).arg(&program).arg(&source).status().expect("gcc starts");
    assert!(done.success());
    program
}

/// Address, bytes and file offset of the code as the kernel maps it: whole pages.
fn code(program: &Path) -> (u64, u64, u64) {
    let bytes = std::fs::read(program).expect("readable");
    let header = elf::FileHeader64::<Endianness>::parse(&*bytes).expect("ELF");
    let end = header.endian().expect("an order");
    let all = header.program_headers(end, &*bytes).expect("segments");
    let text = all.iter().find(|p| p.p_type(end) == elf::PT_LOAD && p.p_flags(end).0 & elf::PF_X.0 != 0);
    let text = text.expect("code");
    let down = |v: u64| v / PAGE * PAGE;
    let (from, to) = (down(text.p_vaddr(end)), text.p_vaddr(end) + text.p_memsz(end));
    (from, to.next_multiple_of(PAGE) - from, down(text.p_offset(end)))
}

/// Who uses which page how often: `(array, page, thread, samples)`. Page 5 of the grid is not seen at all.
fn script() -> Vec<(&'static str, u64, usize, u64)> {
    let mut all = Vec::new();
    for page in (0..16).filter(|p| *p != 5) {
        let owner = 1 + page as usize / 4;
        all.push(("grid", page, owner, 9));
        all.push(("grid", page, 1 + owner % 4, 2));
    }
    // The far ends of the ring share: node 1 between them is best, where no user sits.
    (0..4).for_each(|page| all.extend([("mesh", page, 1, 10), ("mesh", page, 3, 11)]));
    // One that is used most is not where it belongs: three others lie on the other side.
    (4..8).for_each(|page| all.extend([("mesh", page, 2, 6), ("mesh", page, 3, 5), ("mesh", page, 4, 5)]));
    all
}

/// Units of use by array and page, of every node.
type Truth = BTreeMap<(&'static str, u64), [u64; 4]>;

fn write(kernel: &mut Kernel, at: &BTreeMap<&'static str, u64>, text: (u64, u64, u64), path: &str) -> Truth {
    let (pid, mut truth) = (kernel.pid, Truth::new());
    kernel.comm("two");
    kernel.map(text.0, text.1, text.2, 5, path);
    kernel.map(0x7f00_0000_0000, 4 * PAGE, 0, 3, "//anon");
    let uses = script();
    let mut put = |kernel: &mut Kernel, (array, page): (&'static str, u64), thread: usize, n: u64| {
        let tid = if thread == 0 { pid } else { 4_000_000 + thread as u32 };
        let (event, source) = [(LOADS, LOCAL), (LOADS, REMOTE), (STORES, STORE_MISS)][n as usize % 3];
        let (addr, period) = (at[array] + page * PAGE + 8 * n, if thread == 0 { 1 } else { 1000 + 7 * n });
        kernel.sample(Put { event, tid, addr, period, cpu: CPU_OF_THREAD[thread] as u64, source });
        truth.entry((array, page)).or_default()[CPU_OF_THREAD[thread]] += period;
    };
    // The first thread touches all that is used.
    uses.iter().for_each(|u| put(kernel, (u.0, u.1), 0, 0));
    (1..5).for_each(|t| kernel.fork(4_000_000 + t));
    kernel.lost(17);
    let busy = |tid: u32, event: u64, addr: u64, source: u64| Put { event, tid, addr, period: 99_999, cpu: 3, source };
    for round in 0..11 {
        uses.iter().filter(|u| round < u.3).for_each(|u| put(kernel, (u.0, u.1), u.2, round));
        // What must not count: no address, the kernel's memory, stores that hit.
        kernel.sample(busy(pid, LOADS, 0, LOCAL));
        kernel.sample(busy(4_000_004, LOADS, u64::MAX - 63, LOCAL));
        kernel.sample(busy(4_000_004, STORES, at["grid"], STORE_HIT));
    }
    kernel.sample(Put { event: LOADS, tid: 4_000_001, addr: 0x7f00_0000_0040, period: 5, cpu: 0, source: LOCAL });
    (1..5).for_each(|t| kernel.exit(4_000_000 + t));
    truth
}

/// The node where all uses of a page cost least: every one tried.
fn best(uses: &[u64; 4]) -> u16 {
    let cost = |home: usize| -> u64 { (0..4).map(|k| uses[k] * READ[k][home]).sum() };
    (0..4).min_by_key(|home| cost(*home as usize)).expect("four nodes")
}

/// Homes of a plan by array and page.
fn homes(plan: &Plan) -> BTreeMap<(String, u64), u16> {
    let mut all = BTreeMap::new();
    for e in &plan.entries {
        let (ObjectKey::Symbol { symbol, .. }, Home::Node(node)) = (&e.object, &e.home) else { panic!("{e:?}") };
        for page in e.offset / PAGE..(e.offset + e.bytes).div_ceil(PAGE) {
            assert_eq!(all.insert((symbol.clone(), page), *node), None, "a page is placed once");
        }
    }
    all
}

#[test]
fn ring_bytes_become_a_plan_that_puts_every_page_where_they_say() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = compiled(dir.path());
    let path = program.display().to_string();
    let module = read_module(&program).expect("an object file");
    let named = |name: &'static str| (name, module.globals.iter().find(|g| g.0 == name).expect("an array").1);
    let at = BTreeMap::from([named("grid"), named("mesh")]);
    let text = code(&program);
    let mut truth = Truth::new();
    let out = dir.path().join("two.hnt");
    let options =
        RecordOptions { command: vec![program.into()], out: out.clone(), backend: "perf".into(), ..Default::default() };
    let script = |kernel: &mut Kernel| truth = write(kernel, &at, text, &path);
    record(&mut Written { plan: skylake(dir.path()), script }, &options, &mut ()).expect("recorded");
    recorded_as_written(&out);

    let machine = dir.path().join("made-up.toml");
    std::fs::write(&machine, MACHINE).expect("written");
    let mut request = support::request(&out, &machine.display().to_string());
    request.map = Some("0=node0,1=node0,2=node1,3=node2,4=node3".into());
    let file = support::write_plan(dir.path(), &place(&request, &mut ()).expect("a plan"));
    let plan = Plan::from_json(&std::fs::read_to_string(&file).expect("readable")).expect("a plan");

    let mut expected: BTreeMap<(String, u64), u16> =
        truth.iter().map(|((array, page), uses)| (((*array).to_owned(), *page), best(uses))).collect();
    let middle: Vec<u16> = (0..8).map(|page| expected[&("mesh".to_owned(), page)]).collect();
    assert_eq!(middle, [1, 1, 1, 1, 2, 2, 2, 2], "as constructed, homes are not simply the main user's");
    // No sample fell on it: it goes with its neighbours.
    expected.insert(("grid".into(), 5), 1);
    assert_eq!(homes(&plan), expected);
    let pins: Vec<(Vec<u32>, u16)> = plan.threads.iter().map(|p| (p.path.clone(), p.cpu / 2)).collect();
    assert_eq!(pins, [(vec![], 0), (vec![0], 0), (vec![1], 1), (vec![2], 2), (vec![3], 3)]);
    let left: Vec<(Why, u64, u64)> = plan.unplaceable.iter().map(|u| (u.why, u.pages, u.uses)).collect();
    assert_eq!(left, [(Why::UnknownMemory, 1, 5)], "the mapping that nothing names");
    assert_eq!(plan.evidence.counted, truth.values().flatten().sum::<u64>() + 5);

    let node = |i: u32| MemoryNode { os_id: i, cpus: vec![2 * i, 2 * i + 1], allowed: true, ..MemoryNode::default() };
    let four = Topology { nodes: (0..4).map(node).collect(), ..Topology::default() };
    let told = agent_plan(&plan, &four, Path::new(&path), Match::Build).expect("its own build").lines;
    let (id, mesh) = (module.build_id.expect("asked for"), at["mesh"]);
    for (from, node) in [(mesh, 1), (mesh + 4 * PAGE, 2)] {
        let (build_id, home) = (id.clone(), agentplan::Home::Node(node));
        let line = Line::Static { build_id, vaddr: from, bytes: 16384, home };
        assert!(told.contains(&line), "{told:?}");
    }
}

/// The dataset has what the bytes say of losses, drops and threads.
fn recorded_as_written(out: &Path) {
    let store = homenode_capture::DirStore::open(out).expect("a dataset");
    let reader = DatasetReader::open(Arc::new(store)).expect("a dataset");
    assert!(homenode_trace::check::check(&reader).problems.is_empty());
    let sampling = reader.manifest().sampling.as_ref().expect("sampled");
    assert_eq!((sampling.unit, sampling.lost, sampling.unaddressed), (SampleUnit::Miss, 17, 22));
    let tids: Vec<u32> = reader.manifest().threads.iter().map(|t| t.tid).collect();
    assert_eq!(tids[1..], [4_000_001, 4_000_002, 4_000_003, 4_000_004]);
}
