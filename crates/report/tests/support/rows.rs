//! The rows of the synthetic evaluation.
use super::us;
use homenode_base::Rng;
use homenode_sim::evaluation::{
    FalseSharingRow, FalseWord, HeatMap, HeatRow, LineRow, ObjectRow, PatternRow, TransferBreakdown, TransferClass,
    TransferLine,
};

pub(super) fn patterns() -> Vec<PatternRow> {
    let rows = [
        ("private", 60_817_408, 950_272, 189_400),
        ("read-shared", 1_048_576, 16_384, 9_800),
        ("producer-consumer", 5_767_168, 90_112, 54_100),
        ("migratory", 8_192, 128, 1_300),
        ("falsely shared", 640, 10, 44_600),
        ("write-shared", 2_048, 32, 1_800),
    ];
    let row = |(pattern, bytes, units, cost): (&str, u64, u64, i128)| PatternRow {
        pattern: pattern.into(),
        bytes,
        units,
        cost: us(cost),
    };
    rows.into_iter().map(row).collect()
}

pub(super) fn objects() -> Vec<ObjectRow> {
    let everyone: Vec<u32> = (0..8).collect();
    let heap = |name: &str, place: &str, bytes, costs: [i128; 4]| ObjectRow {
        name: name.into(),
        kind: "heap".into(),
        place: Some(place.into()),
        function: Some("main".into()),
        instances: 1,
        bytes,
        refs: bytes * 2,
        users: everyone.clone(),
        first_touch: vec![(0, bytes / 4096)],
        cost: us(costs[0]),
        remote_cost: us(costs[1]),
        hit_cost: None,
        best_static: us(costs[2]),
        transfer_cost: us(costs[3]),
        pattern: "private".into(),
        share_interval: None,
    };
    let mut stats = heap("stats", "stencil.c:17", 512, [45_100, 0, 45_100, 44_000]);
    (stats.kind, stats.function, stats.pattern) = ("global".into(), None, "falsely shared".into());
    let mut table =
        heap("heap allocated at config.c:112 in load_table", "config.c:112", 1 << 20, [9_800, 4_700, 9_200, 0]);
    (table.pattern, table.instances) = ("read-shared".into(), 340);
    let mut stack = heap("stack of thread 3", "", 8 << 20, [2_100, 0, 2_100, 0]);
    (stack.kind, stack.place, stack.users, stack.first_touch) = ("stack".into(), None, vec![3], vec![(3, 12)]);
    let mut unknown = heap("unknown memory of libstdc++.so.6", "", 72 << 10, [1_600, 400, 1_500, 100]);
    (unknown.kind, unknown.place, unknown.first_touch) = ("unknown".into(), None, vec![(0, 10), (2, 8)]);
    vec![
        heap("a", "stencil.c:41", 32 << 20, [150_200, 74_500, 77_700, 100]),
        heap("b", "stencil.c:42", 32 << 20, [92_200, 44_500, 50_900, 100]),
        stats,
        table,
        stack,
        unknown,
    ]
}

pub(super) fn lines() -> Vec<LineRow> {
    let rows = [
        ("stencil.c:73", "sweep", 67_108_864, 139_800, 70_300, "a"),
        ("stencil.c:74", "sweep", 33_554_432, 86_100, 42_000, "b"),
        ("stencil.c:81", "sweep", 16_777_216, 44_900, 0, "stats"),
        (
            "config.c:131",
            "lookup<std::vector<std::pair<int, double>>>",
            8_388_608,
            9_800,
            4_700,
            "heap allocated at config.c:112 in load_table",
        ),
        ("stencil.c:58", "main", 4_194_304, 8_400, 0, "a"),
        ("stencil.c:59", "main", 4_194_304, 5_900, 0, "b"),
        ("libstdc++.so.6+0x9a312", "std::string::_M_append", 40_960, 1_600, 400, "unknown memory of libstdc++.so.6"),
    ];
    let row = |(place, function, refs, cost, remote, object): (&str, &str, u64, i128, i128, &str)| LineRow {
        place: place.into(),
        function: function.into(),
        refs,
        cost: us(cost),
        remote_cost: us(remote),
        hit_cost: None,
        object: object.into(),
    };
    rows.into_iter().map(row).collect()
}

fn word(offset: u32, bytes: u32, threads: &[u32], site: &str) -> FalseWord {
    FalseWord {
        offset,
        bytes,
        threads: threads.to_vec(),
        reads: 2_097_152,
        writes: 2_097_152,
        sites: vec![site.into(), "stencil.c:90".into()],
    }
}

pub(super) fn false_sharing() -> Vec<FalseSharingRow> {
    let uneven = vec![
        word(0, 4, &[0], "stencil.c:84"),
        word(8, 8, &[1], "stencil.c:85"),
        word(16, 8, &[1], "stencil.c:86"),
        word(32, 16, &[2, 3, 5], "stencil.c:87"),
    ];
    let each = (0..8).map(|t| word(t * 8, 8, &[t], "stencil.c:81")).collect();
    vec![
        FalseSharingRow {
            addr: 0x55d0_1c40,
            object: "stats".into(),
            offset: 0,
            words: each,
            transfers: 398_120,
            cost: us(43_800),
        },
        FalseSharingRow {
            addr: 0x55d0_1d00,
            object: "stats".into(),
            offset: -16,
            words: uneven,
            transfers: 1_830,
            cost: us(200),
        },
    ]
}

/// 44,300 us of transfers.
pub(super) fn transfer_breakdown() -> TransferBreakdown {
    let line = |place: &str, transfers: u64, micros: i128| TransferLine {
        place: place.into(),
        function: "sweep".into(),
        transfers,
        cost: us(micros),
    };
    let class = |object: &str, transfers: u64, micros: i128, lines: Vec<TransferLine>| TransferClass {
        transfers,
        cost: us(micros),
        object: Some(object.into()),
        object_cost: us(micros),
        lines,
    };
    TransferBreakdown {
        falsely_shared: class("stats", 399_091, 43_900, vec![line("stencil.c:81", 399_091, 43_900)]),
        truly_shared: class("stats", 3_636, 400, vec![line("stencil.c:86", 3_000, 330), line("stencil.c:87", 636, 70)]),
        ..TransferBreakdown::default()
    }
}

/// Two arrays swept in eight parts after a serial initialisation, a shared table, a hot line of statistics.
pub(super) fn heat() -> HeatMap {
    let mut rng = Rng::new(3);
    let band = |addr: u64, object: &str, home: u16, cells: Vec<Vec<u64>>| HeatRow {
        addr,
        bytes: 2 << 20,
        object: object.into(),
        home,
        cells,
    };
    let mut rows = Vec::new();
    for (array, name) in ["a", "b"].into_iter().enumerate() {
        for part in 0..16u64 {
            let cells = (0..120u64).map(|t| sweep_cell(t, array as u64, part, &mut rng)).collect();
            rows.push(band(0x7f00_0000_0000 + (array as u64 * 16 + part) * (2 << 20), name, 0, cells));
        }
    }
    let shared = |strength: u64| -> Vec<Vec<u64>> {
        (0..120u64).map(|t| if t < 14 { vec![40, 0] } else { vec![strength, strength + t % 5] }).collect()
    };
    rows.push(band(0x55d0_0000, "heap allocated at config.c:112 in load_table", 0, shared(300)));
    rows.push(band(0x55d0_1000, "stats", 1, shared(9_000)));
    HeatMap { columns: 120, bin_refs: 1_118_481, rows }
}

fn sweep_cell(time: u64, array: u64, part: u64, rng: &mut Rng) -> Vec<u64> {
    let noise = rng.below(2_000);
    match time {
        0..14 if time == array * 7 + part * 7 / 16 => vec![120_000, 0],
        0..14 => vec![0, 0],
        t if (t / 10 + array).is_multiple_of(2) && t % 10 == 9 => vec![0, 0],
        _ if part == 7 || part == 8 => vec![20_000 + noise, 18_000],
        _ if part < 8 => vec![34_000 + noise, 0],
        _ => vec![0, 34_000 + noise],
    }
}
