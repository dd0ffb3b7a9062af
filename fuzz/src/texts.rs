//! Texts that fuzzing begins from: what other programs, the kernel and this one write.

/// A study with most of its keys.
const STUDY: &str = r#"
name = "x"
traces = ["lu.hnt", "sor.hnt"]
blocks = ["64..8192", 4]
machines = ["ace", "cc+"]
policies = ["first-touch", "ace(1..8)", "delay(100..1000:100)"]
optimum = "parts"
without_replication = "cost"
best_static = "none"
start = "single"
order = "recorded"
seed = 1
merges = 3
map = "spread"
charge_spins = true
perturb = [{ filter = "gap", seeds = 2, synchronisation = "ignored" }]
[[machine]]
family = "numa"
lambda = [10, 50]
o_h = 3
o_s = { from = 10, to = 1000, points = 9, log = true }
nodes = 4
[[machine]]
base = "butterfly"
r = [2, "inf"]
g = 2
G = 300
R = "2G"
[[machine]]
base = "butterfly"
R = { from = 200, to = 16500, step = 100 }
"#;

const MACHINE: &str = r#"
name = "two"
unit = "ps"
word_bytes = 8
page_bytes = 4096
cores = [2, 0]
capacity = [65536, 65536]
[read]
near = 80
far = 140
[copy]
fixed = 10
per_word = 1
[caches]
line_bytes = 64
private = { bytes = 4096, ways = 2 }
shared = { bytes = 8192, ways = 2 }
transfer_near = 50
transfer_far = 140
[misses]
streamed = { near = 5, far = 9 }
overlapped = { matrix = [[6, 9], [9, 6]] }
[hits]
shared = { waited = 26, overlapped = 2, streamed = 1 }
[bandwidth]
read = { matrix = [[100, 50], [0, 0]] }
write = { near = 60 }
[measured]
when = "2026-01-31T00:00:00Z"
how = "made up"
cpu_nodes = [0]
memory_nodes = [0, 7]
idle_ps = { mean = [[80, 140]], deviation = [[0, 0]], repeats = 1 }
read_mbs = { mean = [[100, 50]], deviation = [[0, 0]], repeats = 1 }
write_mbs = { mean = [[60, 30]], deviation = [[0, 0]], repeats = 1 }
"#;

const AGENT: &str = "homenode-agent-result 1\nprocess 7\nfailed 3 1 0 22\nmatched 2 4 8192\nunmatched 4 not-seen\n\
                     unmatched 5 another-size-or-build\ncalls 5\nbytes 8192\nerrors 1\nrefused 0\nend\n";

const SMAPS: &str = "7f0000000000-7f0000400000 rw-p 00000000 00:00 0   [heap]\nAnonHugePages:  2048 kB\n\
                     7f1000000000-7f1000400000 rw-s 00000000 00:0e 12  /anon_hugepage (deleted)\nKernelPageSize: 2048 kB\n";

const NUMA_MAPS: &str = "7f0000000000 default anon=4 dirty=4 N0=1 N1=3 kernelpagesize_kB=4\n\
                         7f1000000000 bind:1 file=/x huge anon=2 N1=2 kernelpagesize_kB=2048\n";

const HWLOC: &str = "\x02<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" nodeset=\"0x3\">\
                     <object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" nodeset=\"0x1\" local_memory=\"4096\"/>\
                     <object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x2\" nodeset=\"0x2\" local_memory=\"4096\"/>\
                     <object type=\"PU\" os_index=\"0\" cpuset=\"0x1\"/></object></topology>";

/// Target, name and contents.
pub const ALL: &[(&str, &str, &str)] = &[
    ("study_parse", "all", STUDY),
    ("machine_parse", "all", MACHINE),
    ("agent_result", "all", AGENT),
    ("journal_replay", "smaps", SMAPS),
    ("journal_replay", "numa_maps", NUMA_MAPS),
    ("topology", "list", "\x000-3,8,10-11"),
    ("topology", "mask", "\x01ff,00000000,0000000f"),
    ("topology", "hwloc", HWLOC),
];

/// Files of a machine with two nodes, and of a DAMON monitor.
pub const HOST: &[(&str, &str)] = &[
    ("node/online", "0-1"),
    ("node0/cpulist", "0-1"),
    ("node0/distance", "10 20"),
    ("node0/meminfo", "Node 0 MemTotal: 1048576 kB\nNode 0 MemFree: 524288 kB\n"),
    ("node1/cpulist", ""),
    ("node1/distance", "20 10"),
    ("node1/meminfo", "Node 1 MemTotal: 1048576 kB\nNode 1 MemFree: 524288 kB\n"),
    ("initiators/read_latency", "100"),
    ("memory_tier4/nodelist", "0"),
    ("cpu/online", "0-1"),
    ("index0/size", "32K"),
    ("index0/type", "Data"),
    ("index0/level", "1"),
    ("index0/coherency_line_size", "64"),
    ("index0/shared_cpu_list", "0"),
    ("kernel/numa_balancing", "1"),
    ("proc/vmstat", "numa_hint_faults 70\nnuma_pages_migrated 9\n"),
    ("cpu/type", "4"),
    ("events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"),
    ("format/event", "config:0-7"),
    ("format/umask", "config:8-15"),
    ("format/ldlat", "config1:0-15"),
    ("caps/max_precise", "3"),
    ("nr_kdamonds", "0"),
    ("tried_regions/0/start", "4096"),
    ("tried_regions/0/end", "8192"),
    ("tried_regions/0/nr_accesses", "3"),
    ("tried_regions/0/age", "1"),
];
