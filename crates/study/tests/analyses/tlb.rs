//! TLBs: an oracle with time stamps, printed figures, closed forms.
use crate::common::{bindings, cases, csv, merged, number, random_refs, word};
use homenode_base::Rng;
use homenode_sim::ThreadBinding;
use homenode_study::analyses::{
    HUGE_BYTES, Level, TLB_MODELS, TlbModel, Tlbs, corrected_mcpr, implied_rate, study_pages,
};
use homenode_synthetic::{PROGRAMS, Scale};
use homenode_trace::{Merged, Op};
use std::collections::HashMap;

/// A level as a list of (space, entry, time of last use) per set: looked through from end to end.
struct Slow {
    level: Level,
    sets: HashMap<u64, Vec<(u32, u64, u64)>>,
    now: u64,
}

impl Slow {
    fn new(level: Level) -> Slow {
        Slow { level, sets: HashMap::new(), now: 0 }
    }
    fn hit(&mut self, space: u32, entry: u64) -> bool {
        self.now += 1;
        let set = self.sets.entry(entry % u64::from(self.level.sets)).or_default();
        if let Some(found) = set.iter_mut().find(|e| (e.0, e.1) == (space, entry)) {
            found.2 = self.now;
            return true;
        }
        if set.len() == self.level.ways as usize {
            let oldest = set.iter().map(|e| e.2).min().expect("a level has ways");
            set.retain(|e| e.2 != oldest);
        }
        set.push((space, entry, self.now));
        false
    }
}

/// (first misses, misses) of one model at one page size.
fn oracle(model: &TlbModel, page_bytes: u64, refs: &[Merged], bindings: &[ThreadBinding]) -> (u64, u64) {
    let huge = page_bytes >= HUGE_BYTES && model.huge.is_some();
    let (first, second) = if huge { model.huge.unwrap() } else { (model.first, model.second) };
    let mut cpus: HashMap<u16, (Slow, Option<Slow>)> = HashMap::new();
    let (mut first_misses, mut misses) = (0, 0);
    for r in refs.iter().filter(|r| r.op != Op::Spin) {
        let binding = bindings[r.thread as usize];
        let (l1, l2) = cpus.entry(binding.cpu).or_insert_with(|| (Slow::new(first), second.map(Slow::new)));
        let bytes = (0..u64::from(r.size.max(1))).map(|i| r.addr.wrapping_add(i));
        let mut pages: Vec<u64> = bytes.map(|b| b / page_bytes).collect();
        pages.dedup();
        for page in pages {
            let entry = page / u64::from(model.pages_per_entry);
            if !l1.hit(binding.space, entry) {
                first_misses += 1;
                misses += u64::from(!l2.as_mut().is_some_and(|l2| l2.hit(binding.space, entry)));
            }
        }
    }
    (first_misses, misses)
}

fn check(refs: &[Merged], bindings: &[ThreadBinding], pages: &[u64], label: &str) {
    let models: Vec<&'static TlbModel> = TLB_MODELS.iter().collect();
    let mut tlbs = Tlbs::new(&models, pages, 4, bindings).unwrap();
    refs.chunks(5).for_each(|c| tlbs.refs(c));
    let rows = tlbs.rows();
    assert_eq!(rows.len(), models.len() * pages.len());
    for row in rows {
        let expected = oracle(row.model, row.page_bytes, refs, bindings);
        assert_eq!((row.first_misses, row.misses), expected, "{label}: {} at {}", row.model.name, row.page_bytes);
        let plain = refs.iter().filter(|r| r.op != Op::Spin);
        let words: u64 = plain.map(|r| (r.addr + u64::from(r.size.max(1)) - 1) / 4 - r.addr / 4 + 1).sum();
        assert_eq!(row.words, words, "{label}");
    }
}

#[test]
fn rates_equal_those_of_an_oracle_with_time_stamps() {
    for seed in 0..cases(40, 250) {
        let mut rng = Rng::new(seed);
        let threads = 1 + rng.below(5) as u32;
        let bindings: Vec<ThreadBinding> = bindings(threads)
            .into_iter()
            .map(|s| ThreadBinding { cpu: s.cpu / 2, space: rng.below(2) as u32, ..s })
            .collect();
        let words = 1 << rng.below(24);
        let mut refs = random_refs(&mut rng, threads, words, 3000);
        for r in &mut refs {
            r.size = [1, 2, 4, 8, 64, 300][rng.below(6) as usize];
            r.addr += rng.below(4);
            // Some locality, so that there are hits at every depth.
            r.addr &= [u64::MAX, 0xFFFF, 0xF_FFFF][rng.below(3) as usize];
            r.op = if rng.chance(1, 20) { Op::Spin } else { r.op };
        }
        check(&refs, &bindings, &[128, 512, 4096, 1 << 16, 2 << 20], &format!("seed {seed}"));
    }
}

#[test]
fn rates_of_synthetic_programs_equal_those_of_the_oracle() {
    for program in PROGRAMS {
        let log = merged(&(program.build)(7, Scale { threads: 4, rounds: 10 }));
        check(&log.refs(), &bindings(4), &study_pages(), program.name);
    }
}

#[test]
fn historical_models_are_the_printed_ones() {
    let rows = csv("tlb_models");
    assert_eq!(rows.len(), 6);
    for (row, model) in rows.iter().zip(TLB_MODELS) {
        let printed = [&row[1], &row[2], &row[4]].map(|c| c.parse::<u32>().unwrap());
        assert_eq!([model.first.sets, model.first.ways, model.pages_per_entry], printed, "{}", row[0]);
        assert!(row[0].to_lowercase().ends_with(model.name), "{} {}", row[0], model.name);
        assert!(model.second.is_none() && model.huge.is_none());
    }
    let reach: Vec<f64> = TLB_MODELS[..6].iter().map(|m| m.reach_bytes(128) as f64 / 1024.0).collect();
    assert_eq!(reach, [4.0, 8.0, 8.0, 7.0, 2.75, 12.0], "KiB at pages of 128 bytes");
    for m in TLB_MODELS {
        let (first, second) = m.levels(2 << 20);
        for l in [Some(m.first), m.second, Some(first), second].into_iter().flatten() {
            assert!(l.sets.is_power_of_two() && l.ways > 0, "{}", m.name);
        }
        assert!(m.source.contains(':'), "{} says where its numbers are from", m.name);
    }
}

/// Table 6.5 gives the mean cost with and without TLB: the rates behind it, in percent, for programs where they are known.
#[test]
fn corrections_of_table_6_5_go_back_to_rates_and_forth() {
    let (ace, r4000) = (TlbModel::find("ace").unwrap(), TlbModel::find("r4000").unwrap());
    let known: HashMap<&str, (f64, f64)> = [
        ("matmult", (51.0, 46.0)),
        ("sorbyr", (18.0, 0.4)),
        ("gauss", (11.0, 0.3)),
        ("chip", (6.0, 0.3)),
        ("bsort", (4.0, 1.7)),
    ]
    .into();
    let rows = csv("table_6_5");
    assert_eq!(rows.len(), 14);
    let mut seen = 0;
    for row in rows {
        let [plain, with_ace, with_r4000] = [&row[2], &row[3], &row[4]].map(|c| number(c));
        for (model, corrected, which) in [(ace, with_ace, 0), (r4000, with_r4000, 1)] {
            let cost = model.miss_cost.unwrap();
            let rate = implied_rate(plain, corrected, cost);
            assert!((0.0..=1.0).contains(&rate), "{}: {rate}", row[0]);
            assert!((corrected_mcpr(plain, rate, cost) - corrected).abs() < 1e-12);
            if let Some(expected) = known.get(row[0].as_str()) {
                let percent = [expected.0, expected.1][which];
                assert!((100.0 * rate - percent).abs() <= 0.5, "{} {}: {rate} not {percent} %", row[0], model.name);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 10);
}

/// Going round more pages than fit, LRU misses always; round fewer, only the first time.
#[test]
fn cyclic_sweeps_miss_always_or_once() {
    let m = TlbModel::find("88200").unwrap();
    for (pages, misses) in [(56, 56), (57, 57 * 10)] {
        let refs: Vec<Merged> = (0..10 * pages).map(|i| word(0, i % pages * 4096, Op::Read)).collect();
        let bindings = bindings(1);
        let mut tlbs = Tlbs::new(&[m], &[4096], 4, &bindings).unwrap();
        tlbs.refs(&refs);
        assert_eq!(tlbs.rows()[0].misses, misses);
    }
    let skylake = TlbModel::find("skylake").unwrap();
    let refs: Vec<Merged> = (0..10 * 1000).map(|i| word(0, i % 1000 * 4096, Op::Read)).collect();
    let bindings = bindings(1);
    let mut tlbs = Tlbs::new(&[skylake], &[4096, 2 << 20], 4, &bindings).unwrap();
    tlbs.refs(&refs);
    let rows = tlbs.rows();
    assert_eq!((rows[0].first_misses, rows[0].misses), (10_000, 1000), "the second level holds what the first cannot");
    assert_eq!((rows[1].first_misses, rows[1].misses), (2, 2), "1000 small pages are two huge ones");
}

#[test]
fn impossible_page_sizes_are_refused() {
    let models: Vec<&'static TlbModel> = TLB_MODELS.iter().collect();
    for bad in [0, 3, 100, 2, 1 << 41] {
        let error = Tlbs::new(&models, &[4096, bad], 4, &[]).expect_err("refused").to_string();
        assert!(error.contains(&bad.to_string()) && error.contains("powers of two"), "{error}");
    }
}
