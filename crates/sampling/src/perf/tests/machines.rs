//! Snapshots of sysfs of machines that are not here, reduced to the files that matter.
use crate::perf::event::EventChoice;
use crate::perf::pmu::{Pmu, parse_list};
use homenode_sys::perf::attr::{flag, sample};
use homenode_trace::{Op, SampleUnit};
use std::fs;
use std::path::Path;

fn snapshot(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join("bus/event_source/devices").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }
    dir
}

pub(super) const SKYLAKE: &[(&str, &str)] = &[
    ("cpu/type", "4"),
    ("cpu/format/event", "config:0-7"),
    ("cpu/format/umask", "config:8-15"),
    ("cpu/format/ldlat", "config1:0-15"),
    ("cpu/caps/max_precise", "3"),
    ("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"),
    ("cpu/events/mem-stores", "event=0xd0,umask=0x82"),
];

const HYBRID: &[(&str, &str)] = &[
    ("cpu_core/type", "4"),
    ("cpu_core/cpus", "0-3,8"),
    ("cpu_core/format/event", "config:0-7"),
    ("cpu_core/format/umask", "config:8-15,40-47"),
    ("cpu_core/format/ldlat", "config1:0-15"),
    ("cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"),
    ("cpu_core/events/mem-stores", "event=0xcd,umask=0x2"),
    ("cpu_core/events/mem-loads-aux", "event=0x03,umask=0x82"),
    ("cpu_atom/type", "10"),
    ("cpu_atom/cpus", "4-7"),
];

const ZEN: &[(&str, &str)] = &[
    ("ibs_op/type", "11"),
    ("ibs_op/format/cnt_ctl", "config:19"),
    ("cpu/type", "4"),
    ("cpu/events/cycles", "event=0x76"),
];

#[test]
fn pebs_loads_and_stores_are_built_from_the_formats() {
    let dir = snapshot(SKYLAKE);
    let plan = EventChoice::Memory.plan(dir.path(), 0).unwrap();
    let [loads, stores] = &plan.events[..] else { panic!("{plan:?}") };
    assert_eq!((loads.attr.kind, loads.attr.config, loads.attr.config1), (4, 0x1cd, 30));
    assert_eq!((stores.attr.config, stores.attr.config1), (0x82d0, 0));
    assert_eq!((loads.op, loads.only_misses, stores.op, stores.only_misses), (Op::Read, false, Op::Write, true));
    assert_eq!(loads.attr.flags >> 15 & 3, 3);
    assert_ne!(loads.attr.flags & flag::EXCLUDE_KERNEL, 0);
    assert_eq!(loads.attr.sample_type, stores.attr.sample_type, "one ring, one layout");
    let wanted = sample::ADDR | sample::TID | sample::DATA_SRC | sample::WEIGHT_STRUCT | sample::CPU | sample::IP;
    assert_eq!(loads.attr.sample_type & wanted, wanted);
    assert_eq!((plan.unit, plan.sees_writes, plan.adjustable), (SampleUnit::Miss, true, true));
    assert!(loads.attr.period > 1000 && loads.leader.is_none());
    assert_eq!(EventChoice::Memory.plan(dir.path(), 500).unwrap().events[1].attr.period, 500);
}

#[test]
fn hybrid_machines_get_their_leading_event_and_only_the_processors_that_have_it() {
    let dir = snapshot(HYBRID);
    let plan = EventChoice::Memory.plan(dir.path(), 0).unwrap();
    let loads = &plan.events[0];
    let leader = loads.leader.expect("mem-loads-aux leads");
    assert_eq!((leader.config, leader.period, leader.sample_type), (0x8203, 0, 0));
    assert_ne!(leader.flags & flag::DISABLED, 0);
    assert_eq!(loads.attr.flags & flag::DISABLED, 0, "members follow their leader");
    assert_eq!(plan.events[1].leader, None);
    assert_eq!(loads.cpus, [0, 1, 2, 3, 8]);
    assert!(plan.notes.iter().any(|n| n.contains("cpu_core")));
}

#[test]
fn ibs_filters_in_software_where_the_kernel_can_and_says_so_where_not() {
    let dir = snapshot(ZEN);
    let plan = EventChoice::Memory.plan(dir.path(), 1000).unwrap();
    let op = &plan.events[0];
    assert_eq!((op.attr.kind, op.attr.config, op.attr.period, op.granule), (11, 1 << 19, 1008, 16));
    assert_eq!(op.attr.flags & flag::EXCLUDE_KERNEL, 0, "the kernel would refuse");
    assert!(plan.notes[0].contains("perf_event_paranoid"));
    assert_eq!((plan.unit, op.attr.sample_type & sample::WEIGHT_STRUCT), (SampleUnit::Reference, 0));
    let filtering: Vec<_> = ZEN.iter().copied().chain([("ibs_op/format/swfilt", "config2:0")]).collect();
    let dir = snapshot(&filtering);
    let plan = EventChoice::Memory.plan(dir.path(), 0).unwrap();
    assert_eq!(plan.events[0].attr.config2, 1);
    assert_ne!(plan.events[0].attr.flags & flag::EXCLUDE_KERNEL, 0);
    assert!(plan.notes.is_empty());
}

#[test]
fn machines_without_such_a_unit_and_files_that_make_no_sense_are_refused_in_one_line() {
    let none = snapshot(&[("software/type", "1")]);
    let spe = snapshot(&[("arm_spe_0/type", "9")]);
    let broken = |file: &'static str, text: &'static str| {
        let files: Vec<_> = SKYLAKE.iter().copied().filter(|f| f.0 != file).chain([(file, text)]).collect();
        EventChoice::Memory.plan(snapshot(&files).path(), 0).unwrap_err()
    };
    for (line, word) in [
        (EventChoice::Memory.plan(none.path(), 0).unwrap_err(), "neither"),
        (EventChoice::Memory.plan(Path::new("/nonexistent"), 0).unwrap_err(), "neither"),
        (EventChoice::Memory.plan(spe.path(), 0).unwrap_err(), "SPE"),
        (broken("cpu/events/mem-loads", "event=oops"), "mem-loads"),
        (broken("cpu/format/ldlat", "config1:0-3"), "does not fit"),
        (broken("cpu/format/ldlat", "config9:0-15"), "not understood"),
        (broken("cpu/format/event", "config:0-64"), "not understood"),
        (broken("cpu/format/umask", "config:15-8"), "not understood"),
    ] {
        assert!(line.contains(word) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn split_fields_and_lists_are_placed_bit_by_bit() {
    let dir = snapshot(HYBRID);
    let pmu = Pmu::open(dir.path(), "cpu_core").unwrap();
    let attr = pmu.event("mem-loads", &[("umask", 0xab_cd)]).unwrap();
    assert_eq!(attr.config, 0xab << 40 | 0xcd << 8 | 0xcd);
    assert!(pmu.event("mem-loads", &[("umask", 1 << 16)]).unwrap_err().contains("does not fit"));
    assert_eq!(parse_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
    assert_eq!((parse_list(""), parse_list("3-1"), parse_list("0-99999999")), (Some(vec![]), None, None));
}

#[test]
fn page_faults_need_no_unit_at_all() {
    let plan = EventChoice::PageFaults.plan(Path::new("/nonexistent"), 0).unwrap();
    assert_eq!((plan.events[0].attr.period, plan.unit, plan.adjustable), (1, SampleUnit::Window, false));
}
