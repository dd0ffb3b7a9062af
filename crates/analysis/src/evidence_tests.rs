use super::*;
use homenode_trace::manifest::{Process, Thread};
use homenode_trace::symbols::{Module, Site};
use homenode_trace::{Events, Sampling};

fn sound() -> Manifest {
    let thread = Thread { refs: 10, ..Thread::default() };
    Manifest {
        complete: true,
        synchronised: true,
        threads: vec![thread.clone(), thread],
        host_nodes: 1,
        ..Manifest::default()
    }
}

fn kinds(m: &Manifest, s: &Symbols) -> Vec<(GapKind, Doubt)> {
    of_recording(m, s, &Events::default()).gaps.iter().map(|g| (g.kind, g.doubts)).collect()
}

fn modules(paths: &[&str]) -> Symbols {
    let module = |p: &&str| Module { path: (*p).to_owned(), build_id: "0".into() };
    Symbols { modules: paths.iter().map(module).collect(), ..Symbols::default() }
}

#[test]
fn a_whole_exact_recording_has_no_gap() {
    let symbols = modules(&["/bin/app", "/lib/libc.so.6", "/lib/libstdc++.so.6.0.30", "/lib64/ld-linux-x86-64.so.2"]);
    assert!(of_recording(&sound(), &symbols, &Events::default()).is_complete());
}

#[test]
fn each_way_not_to_see_is_a_gap() {
    let none = Symbols::default();
    let of = |change: &dyn Fn(&mut Manifest)| {
        let mut m = sound();
        change(&mut m);
        kinds(&m, &none)
    };
    use Doubt::{Absence, Findings, Locality};
    assert_eq!(of(&|m| m.complete = false), [(GapKind::Incomplete, Absence)]);
    assert_eq!(
        of(&|m| m.ended = "recording stopped after 5 references, as asked for".into()),
        [(GapKind::Ended, Absence)]
    );
    assert_eq!(of(&|m| m.roi = Some("solve".into())), [(GapKind::Roi, Absence)]);
    assert_eq!(of(&|m| m.blind.dropped = 1), [(GapKind::Dropped, Absence)]);
    assert_eq!(of(&|m| m.blind.signal_refs = 1), [(GapKind::Dropped, Absence)]);
    assert_eq!(of(&|m| m.blind.unringed_threads = 1), [(GapKind::Dropped, Absence)]);
    assert_eq!(of(&|m| m.synchronised = false), [(GapKind::Unsynchronised, Findings)]);
    let sampling = |unit| Sampling { unit, sees_writes: true, ..Sampling::default() };
    assert_eq!(of(&|m| m.sampling = Some(sampling(SampleUnit::Miss))), [(GapKind::Samples, Absence)]);
    let windows = [(GapKind::OneNode, Locality), (GapKind::Samples, Absence)];
    assert_eq!(of(&|m| m.sampling = Some(sampling(SampleUnit::Window))), windows);
    let two = |m: &mut Manifest| (m.sampling, m.host_nodes) = (Some(sampling(SampleUnit::Window)), 2);
    assert_eq!(of(&two), [(GapKind::Samples, Absence)]);
}

#[test]
fn open_mp_and_libraries_without_hooks_are_known_by_their_files() {
    use Doubt::{Absence, Findings};
    assert_eq!(kinds(&sound(), &modules(&["/usr/lib/libgomp.so.1.0.0"])), [(GapKind::OpenMp, Findings)]);
    let mut one = sound();
    one.threads.truncate(1);
    assert_eq!(kinds(&one, &modules(&["/usr/lib/libomp.so.5"])), [], "one thread has one order");
    let mut symbols = modules(&["/opt/libblas.so.3", "/opt/libmine.so"]);
    symbols.sites.push(Site { module: "/opt/libmine.so".into(), ..Site::default() });
    let evidence = of_recording(&sound(), &symbols, &Events::default());
    assert_eq!(evidence.gaps[0].sentence, "No reference was seen from the code of libblas.");
    assert_eq!((evidence.gaps[0].kind, evidence.gaps[0].doubts), (GapKind::Libraries, Absence));
}

#[test]
fn of_open_mp_that_is_recorded_only_what_is_not_understood_is_missing() {
    let phase = |name: &str| Event { thread: 0, at: 0, stamp: 0, kind: EventKind::PhaseBegin { name: name.into() } };
    let symbols = modules(&["/usr/lib/libgomp.so.1.0.0"]);
    let gaps = |events: &[Event]| of_recording(&sound(), &symbols, &Events::from(events)).gaps;
    assert_eq!(gaps(&[phase("omp parallel @ 10"), phase("omp for static @ 10 17")]), []);
    let unseen = gaps(&[phase("omp parallel @ 10"), phase("omp ? doacross @ 20")]);
    assert_eq!((unseen[0].kind, unseen[0].doubts), (GapKind::OpenMp, Doubt::Findings));
    assert!(unseen[0].sentence.contains("OpenMP, doacross: what orders"), "{}", unseen[0].sentence);
    // A phase of the program's own is no region.
    assert_eq!(gaps(&[phase("omp parallel")])[0].kind, GapKind::OpenMp);
    assert_eq!(kinds(&sound(), &modules(&["/usr/lib/libtbb.so.12.8"])), [(GapKind::TaskScheduler, Doubt::Findings)]);
}

#[test]
fn shared_writable_mappings_count_among_several_processes_only() {
    let map = |flags, prot| Event {
        thread: 0,
        at: 0,
        stamp: 0,
        kind: EventKind::Map { addr: 0, bytes: 4096, prot, flags, device: 0, inode: 0, offset: None },
    };
    let mut m = sound();
    m.processes = vec![Process::default(); 2];
    let gaps = |m: &Manifest, e: Event| of_recording(m, &Symbols::default(), &Events::from(&[e][..])).gaps.len();
    assert_eq!([gaps(&m, map(1, 3)), gaps(&m, map(2, 3)), gaps(&m, map(1, 1))], [1, 0, 0]);
    m.processes.truncate(1);
    assert_eq!(gaps(&m, map(1, 3)), 0);
}

#[test]
fn the_gap_that_takes_away_most_comes_first_and_each_kind_once() {
    let mut e = Evidence::default();
    e.add(Gap::untried(2, "a"));
    e.add(Gap::pruned(1));
    e.add(Gap::few_samples(5, 5.0).unwrap());
    e.add(Gap::untried(3, "a"));
    let kinds: Vec<GapKind> = e.gaps.iter().map(|g| g.kind).collect();
    assert_eq!(kinds, [GapKind::FewSamples, GapKind::Pruned, GapKind::Untried]);
    assert_eq!(e.against(Doubt::Findings).map(|g| g.kind), Some(GapKind::FewSamples));
    assert!(Gap::few_samples(2_000, 900.0).is_none());
}
