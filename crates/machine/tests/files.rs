//! Machine files: the documented example, round trips, and one clear error for everything that can be wrong.
use homenode_base::{Cost, NodeId};
use homenode_machine::{AccessClass, Location, Machine, MachineError, models};

const DOCS: &str = include_str!("../../../docs/machines.md");

fn example() -> &'static str {
    let from = DOCS.find("```toml\n").expect("the page has an example") + "```toml\n".len();
    &DOCS[from..from + DOCS[from..].find("```").expect("it ends")]
}

#[test]
fn documented_example_is_a_machine() {
    let m = Machine::from_toml(example()).expect("the documented example");
    assert_eq!((m.nodes(), m.cpus(), m.name.as_str()), (4, 24, "four-ring"));
    let far = m.access(AccessClass::Read, NodeId(0), Location::Node(NodeId(2)));
    assert_eq!((far, m.unmet_conditions().len()), (Cost(200_000), 1), "reads have several remote costs");
    let optional = example().replace("# at_most", "at_most").replace("# [global]", "[global]");
    let m =
        Machine::from_toml(&optional.replace("# access", "access").replace("# copy =", "copy =")).expect("all keys");
    assert!(m.cost.copy.at_most.is_some() && m.cost.global.is_some());
    assert_eq!(Machine::from_toml(&m.to_toml()), Ok(m));
}

#[test]
fn documented_section_of_virtual_time_is_that_of_the_registry() {
    let from = DOCS.find("```toml\n[hybrid]").expect("the page has one") + "```toml\n".len();
    let written: toml::Table = DOCS[from..from + DOCS[from..].find("```").expect("it ends")].parse().expect("TOML");
    let ascoma = models::find("ascoma").expect("in the registry");
    let ours: toml::Table = ascoma.to_toml().parse().expect("TOML");
    assert_eq!(written["hybrid"], ours["hybrid"]);
    assert_eq!(Machine::from_toml(&ascoma.to_toml()), Ok(ascoma.clone()));
    let damaged = |from: &str, to: &str| {
        Machine::from_toml(&ascoma.to_toml().replace(from, to)).expect_err("refused").to_string()
    };
    for (from, to, key) in [
        ("cache_bytes = 8192", "cache_bytes = 0", "hybrid.cache_bytes"),
        ("chunk_bytes = 128", "chunk_bytes = 64", "hybrid.chunk_bytes"),
        ("page_bytes = 4096", "page_bytes = 4095", "page_bytes"),
        ("banks = 4", "banks = 0", "hybrid.banks"),
        ("cores = [1, ", "cores = [2, ", "cores"),
    ] {
        let error = damaged(from, to);
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn documented_section_of_networks_is_that_of_the_registry_and_is_checked() {
    let from = DOCS.find("```toml\n[network]").expect("the page has one") + "```toml\n".len();
    let written: toml::Table = DOCS[from..from + DOCS[from..].find("```").expect("it ends")].parse().expect("TOML");
    let machine = models::find("svm-achievable").expect("in the registry");
    let text = machine.to_toml();
    let ours: toml::Table = text.parse().expect("TOML");
    assert_eq!(written["network"], ours["network"]);
    assert_eq!(Machine::from_toml(&text), Ok(machine));
    for (from, to, named) in [
        ("cores = [4, ", "cores = [3, ", "cores"),
        ("page_bytes = 4096", "page_bytes = 4095", "page_bytes"),
        ("mhz = 200", "mhz = 0", "network.mhz"),
        ("io = 500", "io = -1", "-1"),
        ("occupancy = 1000", "occupancy = 99999999999", "network.occupancy"),
        ("l2_bytes = 524288", "l2_bytes = 4096", "network.l2_bytes"),
        ("line_bytes = 32", "line_bytes = 128", "network.line_bytes"),
        ("packet_bytes = 4096", "packet_bytes = 0", "network.packet_bytes"),
        ("twin = 10", "twin = 10000000", "network.handlers.twin"),
        ("twin = 10", "twins = 10", "twins"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Machine::from_toml(&text.replacen(from, to, 1)).expect_err("refused").to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn documented_section_of_tiers_is_that_of_the_registry_and_is_checked() {
    let from = DOCS.find("```toml\n[tiers]").expect("the page has one") + "```toml\n".len();
    let written: toml::Table = DOCS[from..from + DOCS[from..].find("```").expect("it ends")].parse().expect("TOML");
    let machine = models::find("dram-cxl").expect("in the registry");
    let text = machine.to_toml();
    let ours: toml::Table = text.parse().expect("TOML");
    assert_eq!(written["tiers"], ours["tiers"]);
    for (from, to, named) in [
        ("page_bytes = 4096", "page_bytes = 274877906944", "page_bytes"),
        ("[68719476736, 137438953472]", "[0, 137438953472]", "tiers.capacity_bytes = 0"),
        ("[68719476736, 137438953472]", "[68719476736, 4095]", "node 1 holds at least one page"),
        ("[68719476736, 137438953472]", "[68719476736]", "one per node, of which there are 2"),
        ("[68719476736, 137438953472]", "[-1, 1]", "line"),
        ("tick = 10000", "tick = 0", "tiers.tick = 0"),
        ("[tiers.promote]\nfixed = 1200000", "[tiers.promote]\nfixed = -1", "tiers.promote.fixed = -1"),
        (
            "[tiers.demote]\nfixed = 1200000\nper_word = 800",
            "[tiers.demote]\nfixed = 0\nper_word = 1000001",
            "tiers.demote.per_word",
        ),
        ("cores = [8, 0]", "cores = [8, 8]", "at least one node without processors"),
        ("cores = [8, 0]", "cores = [0, 0]", "0 processors"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let error = Machine::from_toml(&text.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(named), "{to}: {error}");
    }
}

#[test]
fn a_capacity_needs_no_table_of_tiers_and_is_checked() {
    const FILE: &str = "name = \"own\"\nunit = \"ps\"\nword_bytes = 8\npage_bytes = 4096\ncores = [2, 0]\n\
        capacity = [8192, 4096]\n[read]\nnear = 1\nfar = 2\n[copy]\nfixed = 1\nper_word = 1\n";
    let machine = Machine::from_toml(FILE).expect("a machine");
    assert_eq!(machine.capacity_bytes(), Some([8192, 4096].as_slice()));
    assert_eq!(Machine::from_toml(&machine.to_toml()), Ok(machine));
    assert_eq!(models::find("two-socket").expect("in the registry").capacity_bytes(), None);
    let twice = "[tiers]\ncapacity_bytes = [8192, 8192]\ntick = 1\npromote = { fixed = 1, per_word = 1 }\n\
        demote = { fixed = 1, per_word = 1 }\n";
    assert_eq!(
        Machine::from_toml(&(FILE.replace("capacity = [8192, 4096]\n", "") + twice))
            .expect("a machine")
            .capacity_bytes(),
        Some([8192, 8192].as_slice())
    );
    let said_twice = format!("{FILE}{twice}");
    for (text, named) in [
        (FILE.replace("[8192, 4096]", "[8192]"), "one per node, of which there are 2"),
        (FILE.replace("[8192, 4096]", "[8192, 4095]"), "node 1 holds at least one page"),
        (FILE.replace("[8192, 4096]", "\"much\""), "line 6"),
        (FILE.replace("cores = [2, 0]", "cores = [2, 2]"), "on a machine with capacity"),
        (said_twice, "tiers.capacity_bytes, which means the same"),
    ] {
        let error = Machine::from_toml(&text).expect_err(named).to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn documented_figures_are_those_of_the_registry() {
    for spec in models::ALL {
        let m = spec.build();
        let row = DOCS.lines().find(|l| l.starts_with(&format!("| `{}` |", m.name))).expect("a row per machine");
        let figures: String = row.chars().filter(|c| *c != ',').collect();
        let written = |cost: Cost| assert!(figures.contains(&cost.0.to_string()), "{row}: {cost:?}");
        if let Some(view) = m.single_remote(4096) {
            [view.near[0], view.copy].into_iter().for_each(written);
            if m.cost.remote_access {
                written(view.far[0])
            } else {
                assert!(row.contains("infinite"), "{row}")
            }
            view.global.map(|g| g[0]).into_iter().chain(view.copy_global).for_each(written);
            continue;
        }
        let all = || (0..m.nodes()).flat_map(|i| (0..m.nodes()).map(move |j| (NodeId(i as u16), NodeId(j as u16))));
        for near in [true, false] {
            let costs = || all().filter(|(i, j)| (i == j) == near).map(|(i, j)| m.cost.read.at(i, j));
            costs().min().into_iter().chain(costs().max()).for_each(written);
        }
        written(m.cost.copy.fixed);
    }
}

#[test]
fn every_machine_of_the_registry_is_sound_exact_and_survives_its_file() {
    for spec in models::ALL {
        let m = spec.build();
        assert_eq!((m.name.as_str(), m.validate()), (spec.name, Ok(())));
        assert!(!m.sources.is_empty() && !m.title.is_empty() && !spec.summary.is_empty());
        // Of what an exact optimum needs, only equal distances may be missing, and only where they differ indeed.
        let unmet = m.unmet_conditions();
        assert_eq!(unmet.is_empty(), m.single_remote(4096).is_some(), "{unmet:?}");
        assert!(unmet.iter().all(|u| u.condition.ends_with("all other nodes are equally far")), "{unmet:?}");
        assert_eq!(Machine::from_toml(&m.to_toml()).as_ref(), Ok(&m));
        assert_eq!(models::find(spec.name), Some(m));
    }
    assert_eq!(models::find("no such machine"), None);
}

/// (what is replaced, by what, what the error must name)
const WRONG: &[(&str, &str, &[&str])] = &[
    ("name = \"four-ring\"", "name = \"\"", &["name", "\"\""]),
    ("name = \"four-ring\"", "name = \"a b\"", &["name", "a b", "white space"]),
    ("name = \"four-ring\"", "", &["missing field", "name"]),
    ("cores = [8, 8, 8, 0]", "cores = []", &["cores", "0 nodes", "1 to 1024"]),
    ("cores = [8, 8, 8, 0]", "cores = [0, 0, 0, 0]", &["cores", "0 processors"]),
    ("cores = [8, 8, 8, 0]", "cores = [8, 8]", &["read", "4 rows", "2"]),
    ("cores = [8, 8, 8, 0]", "cores = [8, 8, 8, -1]", &["-1"]),
    ("cores = [8, 8, 8, 0]", "cores = [60000, 60000, 8, 0]", &["cores", "120008", "65535"]),
    ("word_bytes = 8", "word_bytes = 0", &["word_bytes", "0", "1 to 4096"]),
    ("page_bytes = 4096", "page_bytes = 0", &["page_bytes", "0", "power of two"]),
    ("page_bytes = 4096", "page_bytes = 5000", &["page_bytes", "5000", "power of two"]),
    ("page_bytes = 4096", "page_bytes = 4294967296", &["page_bytes", "1073741824"]),
    (
        "[80_000, 140_000, 200_000, 140_000]",
        "[80_000, 140_000, 200_000]",
        &["read.matrix", "3, 4, 4, 4", "4 rows of 4"],
    ),
    ("[80_000, 140_000, 200_000, 140_000]", "[80_000, -1, 200_000, 140_000]", &["read from node 0 to node 1", "-1"]),
    (
        "[80_000, 140_000, 200_000, 140_000]",
        "[80_000, 79_999, 200_000, 140_000]",
        &["node 0 to node 1", "79999", "80000"],
    ),
    ("[80_000, 140_000, 200_000, 140_000]", "[80.5, 1, 1, 1]", &["line", "floating point"]),
    ("near = 80_000 ", "near = 170_000 ", &["write from node 0 to node 1", "160000", "170000"]),
    ("near = 80_000 ", "", &["write", "near and far, or matrix"]),
    ("far = 24_000", "far = 24_000\nmatrix = [[1]]", &["write_back", "near and far, or matrix"]),
    ("far = 24_000", "far = 2_000_000_000_000", &["write_back", "2000000000000", "1000000000000"]),
    ("fixed = 1_200_000", "fixed = -5", &["copy.fixed", "-5"]),
    ("per_word = 800", "per_word = 2_000_000", &["copy.per_word", "2000000", "1000000"]),
    ("per_word = 800", "per_word = 800\nper_page = 3", &["per_page"]),
    ("line_bytes = 64", "line_bytes = 48", &["caches.line_bytes", "48", "power of two"]),
    (
        "private = { bytes = 1_048_576, ways = 16 }",
        "private = { bytes = 1000, ways = 16 }",
        &["caches.private.bytes", "1000", "1024"],
    ),
    (
        "private = { bytes = 1_048_576, ways = 16 }",
        "private = { bytes = 1024, ways = 0 }",
        &["caches.private.ways", "0"],
    ),
    ("transfer_far = 140_000", "transfer_far = 40_000", &["caches.transfer_far", "40000", "50000"]),
    ("unit = \"ps\"", "unit = \"ps", &["line 4"]),
    ("unit = \"ps\"", "colour = \"red\"\nunit = \"ps\"", &["line 4", "colour"]),
];

#[test]
fn errors_name_the_key_the_value_and_what_is_allowed() {
    for (from, to, named) in WRONG {
        assert!(example().contains(from), "{from}");
        let error = Machine::from_toml(&example().replacen(from, to, 1)).expect_err(to).to_string();
        assert!(named.iter().all(|n| error.contains(n)), "{to}: {error:?} must name {named:?}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
    assert!(matches!(Machine::from_toml(""), Err(MachineError::Syntax { .. })));
}

#[test]
fn conditions_of_the_optimum_are_reported() {
    let ace = models::find("ace").expect("in the registry").to_toml();
    let unmet = |from: &str, to: &str| {
        assert!(ace.contains(from), "{from} in {ace}");
        Machine::from_toml(&ace.replacen(from, to, 1)).expect("sound").unmet_conditions()
    };
    assert_eq!(unmet("access = 2", "access = 2"), []);
    assert_eq!(unmet("access = 2", "access = 6").len(), 3, "global dearer than far, for three classes");
    assert_eq!(unmet("access = 2", "access = 0").len(), 3, "global cheaper than near");
    let unmet = unmet("access = 2", "access = 6");
    assert!(unmet[0].condition.contains("near <= global <= far") && unmet[0].consequence.contains("lower bound"));
}

#[test]
fn prices_of_page_coherence_are_read_and_checked() {
    let good = models::find("markatos").expect("in the registry").to_toml();
    for (from, to, key) in [
        ("remote_read = 100", "remote_read = 4", "coherence.remote_read = 4"),
        ("fault = 500", "fault = -1", "coherence.fault = -1"),
        ("\nword = 4", "\nword = 1000001", "coherence.word"),
        ("round_trip = 90\nword = 4\nfault = 500", "round_trip = 0\nword = 4\nfault = 0", "coherence.round_trip = 0"),
        ("fault = 500", "fault = 0.5", "line"),
        ("fault = 500", "faults = 500", "line"),
    ] {
        assert!(good.contains(from), "{from}: {good}");
        let e = Machine::from_toml(&good.replace(from, to)).expect_err(to);
        assert!(e.to_string().contains(key), "{e}");
    }
}

#[test]
fn costs_of_misses_are_read_and_are_never_above_those_of_loads() {
    let from = DOCS.find("```toml\n[misses]").expect("the page has one") + "```toml\n".len();
    let section = &DOCS[from..from + DOCS[from..].find("```").expect("it ends")];
    let two = models::find("two-socket").expect("in the registry");
    let bare = Machine { sections: homenode_machine::Sections { misses: None, ..two.sections.clone() }, ..two.clone() };
    let good = format!("{}\n{section}", bare.to_toml());
    let read = Machine::from_toml(&good).expect("the documented section");
    assert_eq!(Machine::from_toml(&read.to_toml()), Ok(read.clone()));
    let cost = |m: &Machine, class, to| m.access(class, NodeId(0), Location::Node(NodeId(to)));
    assert_eq!([0, 1].map(|to| cost(&read, AccessClass::ReadStreamed, to)), [Cost(5_000), Cost(8_800)]);
    assert_eq!([0, 1].map(|to| cost(&read, AccessClass::WriteOverlapped, to)), [Cost(6_700), Cost(11_800)]);
    assert_eq!(
        cost(&bare, AccessClass::ReadStreamed, 1),
        cost(&bare, AccessClass::Read, 1),
        "without prices a latency"
    );
    let mut cheap = two;
    cheap.cost.read = homenode_machine::Matrix::uniform(2, Cost(10), Cost(20));
    assert_eq!(cost(&cheap, AccessClass::ReadStreamed, 1), Cost(20), "no dearer than a load");
    for (from, to, key) in [
        ("near = 5_000, far = 8_800", "near = 99_000, far = 99_000", "misses.streamed from node 0 to node 0 = 99000"),
        ("far = 11_800", "far = 1", "misses.overlapped from node 0 to node 1"),
        ("far = 11_800", "for = 11_800", "line"),
        ("near = 5_000, ", "", "misses.streamed"),
        ("near = 5_000, far = 8_800", "matrix = [[1]]", "misses.streamed"),
    ] {
        assert!(good.contains(from), "{from}: {good}");
        let e = Machine::from_toml(&good.replace(from, to)).expect_err(to);
        assert!(e.to_string().contains(key), "{e}");
    }
}

#[test]
fn costs_of_hits_are_read_and_are_never_above_those_that_are_waited_for() {
    let from = DOCS.find("```toml\n[hits]").expect("the page has one") + "```toml\n".len();
    let section = &DOCS[from..from + DOCS[from..].find("```").expect("it ends")];
    let two = models::find("two-socket").expect("in the registry");
    let bare = Machine { sections: homenode_machine::Sections { hits: None, ..two.sections.clone() }, ..two.clone() };
    let good = format!("{}\n{section}", bare.to_toml());
    let read = Machine::from_toml(&good).expect("the documented section");
    assert_eq!(read.sections.hits, two.sections.hits, "the page has the registry's");
    assert_eq!(Machine::from_toml(&read.to_toml()), Ok(read));
    for (from, to, key) in [
        ("overlapped = 2_166", "overlapped = 26_001", "hits.shared.overlapped"),
        ("streamed = 1_625", "streamed = -1", "hits.shared.streamed"),
        ("waited = 26_000, ", "", "waited"),
    ] {
        assert!(good.contains(from), "{from}: {good}");
        let e = Machine::from_toml(&good.replace(from, to)).expect_err(to);
        assert!(e.to_string().contains(key), "{e}");
    }
}

#[test]
fn documented_section_of_bandwidth_is_that_of_the_registry_and_is_checked() {
    let from = DOCS.find("```toml\n[bandwidth]").expect("the page has one") + "```toml\n".len();
    let written: toml::Table = DOCS[from..from + DOCS[from..].find("```").expect("it ends")].parse().expect("TOML");
    let machine = models::find("two-socket").expect("in the registry");
    let text = machine.to_toml();
    let ours: toml::Table = text.parse().expect("TOML");
    assert_eq!(written["bandwidth"], ours["bandwidth"]);
    assert_eq!(Machine::from_toml(&text), Ok(machine));
    for (from, to, named) in [
        ("near = 108034\n", "near = 0\n", "bandwidth.read = 0"),
        ("near = 108034\n", "near = 1000000001\n", "bandwidth.read = 1000000001"),
        ("near = 108034\n", "", "bandwidth.read = a table with other keys"),
        ("near = 59500\n", "matrix = [[1, 1]]\n", "bandwidth.write.matrix = 1 rows"),
        ("near = 59500\n", "nearest = 59500\n", "nearest"),
    ] {
        assert!(text.contains(from), "{text}");
        let error = Machine::from_toml(&text.replace(from, to)).expect_err("refused").to_string();
        assert!(error.contains(named), "{to}: {error}");
    }
}
