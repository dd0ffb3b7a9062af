//! What the text claims, reckoned from costs: of the printed tables and of our programs alike.
use super::costs::{APPS, Costs};
use super::variant::{FREEZ, INV, INV_DEL, PAGES, PROTOCOLS, UPT, UPT_DEL};
use homenode_judging::rules::Measures;

/// A claim reckoned: what to show, and what its rules look at.
pub(super) struct Reckoned {
    /// For the page.
    pub(super) shown: String,
    /// For the rules.
    pub(super) measures: Measures,
}

/// How a claim of the text is reckoned.
pub(super) type Reckon = fn(&dyn Costs) -> Reckoned;

/// Pages below this many bytes, 64 words, are small (section 4).
const SMALL: u64 = 256;

/// All costs of a protocol, by page.
fn line(costs: &dyn Costs, app: &str, realigned: bool, role: usize) -> Vec<(u64, f64)> {
    PAGES.iter().filter_map(|page| Some((*page, costs.cost(app, realigned, role, *page)?))).collect()
}

fn at(costs: &dyn Costs, app: &str, realigned: bool, role: usize, page: u64) -> f64 {
    costs.cost(app, realigned, role, page).unwrap_or(f64::NAN)
}

fn one(value: f64) -> Reckoned {
    Reckoned { shown: format!("{value:.1}"), measures: Measures::default().value("cost", value) }
}

fn two(update: f64, invalidate: f64) -> Reckoned {
    let measures = Measures::default().value("UPT.DEL", update).value("INV.DEL", invalidate);
    Reckoned { shown: format!("UPT.DEL {update:.2}, INV.DEL {invalidate:.2}"), measures }
}

/// SPEECH under INV with the largest pages.
pub(super) fn speech_inv(costs: &dyn Costs) -> Reckoned {
    one(at(costs, "SPEECH", false, INV, 65536))
}

/// SPEECH under INV.DEL with pages of 64 KB.
pub(super) fn speech_inv_del(costs: &dyn Costs) -> Reckoned {
    one(at(costs, "SPEECH", false, INV_DEL, 65536))
}

/// FFT behind counters with pages of 4 KB.
pub(super) fn fft_4k(costs: &dyn Costs) -> Reckoned {
    two(at(costs, "FFT", false, UPT_DEL, 4096), at(costs, "FFT", false, INV_DEL, 4096))
}

/// SIMPLE and WEATHER behind counters over everything remote: the median of pages from 1 KB.
pub(super) fn half(costs: &dyn Costs) -> Reckoned {
    let mut measures = Measures::default();
    let mut shown = Vec::new();
    for app in ["SIMPLE", "WEATHER"] {
        let remote = costs.all_remote(app).unwrap_or(f64::NAN);
        let large = [UPT_DEL, INV_DEL].into_iter().flat_map(|role| line(costs, app, false, role));
        let mut all: Vec<f64> = large.filter(|l| l.0 >= 1024).map(|l| l.1 / remote).collect();
        all.sort_by(f64::total_cmp);
        let middle = all.get(all.len() / 2).copied().unwrap_or(f64::NAN);
        measures = measures.value(app, middle);
        shown.push(format!("{app} {middle:.2}"));
    }
    Reckoned { shown: shown.join(", "), measures }
}

/// Cells `(program, page)` in which the second protocol costs less than the first, of so many.
fn won(costs: &dyn Costs, realigned: bool, pair: [usize; 2], from: u64) -> (Vec<String>, usize) {
    let (mut names, mut all) = (Vec::new(), 0);
    for app in APPS {
        for page in PAGES.into_iter().filter(|p| *p >= from) {
            let both = pair.map(|role| costs.cost(app, realigned, role, page));
            let [Some(first), Some(second)] = both else { continue };
            all += 1;
            if second < first {
                let re = if realigned { "re-aligned " } else { "" };
                names.push(format!("{re}{app} {page}"));
            }
        }
    }
    (names, all)
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Where plain invalidation beats plain updates, though pages have 64 words or more.
pub(super) fn small_pages(costs: &dyn Costs) -> Reckoned {
    let (names, all) = won(costs, false, [UPT, INV], SMALL);
    Reckoned {
        shown: format!("of {all} with 64 words or more: {}", listed(&names)),
        measures: Measures::default().value("exceptions", names.len() as f64).value("cells", all as f64),
    }
}

/// How often updates beat invalidation, plain and behind counters.
pub(super) fn updates_win(costs: &dyn Costs) -> Reckoned {
    let share = |pair: [usize; 2]| {
        let (names, all) = won(costs, false, pair, 0);
        let share = 100.0 * (all - names.len()) as f64 / all as f64;
        (share, listed(&names))
    };
    let ((plain, not_plain), (counted, not_counted)) = (share([UPT, INV]), share([UPT_DEL, INV_DEL]));
    Reckoned {
        shown: format!("plain {plain:.0} % (not {not_plain}); behind counters {counted:.0} % (not {not_counted})"),
        measures: Measures::default().value("plain", plain).value("behind counters", counted),
    }
}

/// Where a counter costs more than none.
pub(super) fn counters_help(costs: &dyn Costs) -> Reckoned {
    let worse = [[UPT_DEL, UPT], [INV_DEL, INV]].map(|pair| won(costs, false, pair, 0));
    let words: Vec<String> = worse.iter().zip(["UPT", "INV"]).map(|(w, p)| format!("{p}: {}", listed(&w.0))).collect();
    let large: usize = [[UPT_DEL, UPT], [INV_DEL, INV]].map(|pair| won(costs, false, pair, SMALL).0.len()).iter().sum();
    let all: usize = worse.iter().map(|w| w.0.len()).sum();
    Reckoned {
        shown: format!("worse in {}", words.join("; ")),
        measures: Measures::default()
            .value("cells that are worse", all as f64)
            .value("of these with 64 words or more", large as f64),
    }
}

/// INV with the largest pages over INV with the smallest: the least of all programs.
pub(super) fn explodes(costs: &dyn Costs) -> Reckoned {
    let ratio = |app: &str| {
        let line = line(costs, app, false, INV);
        line.last().zip(line.first()).map_or(f64::NAN, |(last, first)| last.1 / first.1)
    };
    let all = APPS.map(|app| (app, ratio(app)));
    let words = all.map(|(app, ratio)| format!("{app} {ratio:.0}"));
    let least = all.iter().fold(f64::INFINITY, |least, a| least.min(a.1));
    Reckoned { shown: words.join(", "), measures: Measures::default().value("least", least) }
}

/// SPEECH with the largest pages: INV over INV.DEL.
pub(super) fn bounded(costs: &dyn Costs) -> Reckoned {
    let ratio = at(costs, "SPEECH", false, INV, 65536) / at(costs, "SPEECH", false, INV_DEL, 65536);
    Reckoned { shown: format!("{ratio:.0}"), measures: Measures::default().value("ratio", ratio) }
}

/// INV.FREEZ: the largest over the smallest pages, and over everything remote.
pub(super) fn freezing_is_flat(costs: &dyn Costs) -> Reckoned {
    let (mut grows, mut least, mut most, mut words) = (0.0f64, f64::INFINITY, 0.0f64, Vec::new());
    for app in APPS {
        let line = line(costs, app, false, FREEZ);
        let remote = costs.all_remote(app).unwrap_or(f64::NAN);
        let Some((last, first)) = line.last().zip(line.first()) else { continue };
        grows = grows.max(last.1 / first.1);
        let over = line.iter().filter(|l| l.0 >= SMALL).map(|l| l.1 / remote);
        let (low, high) = over.fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
        (least, most) = (least.min(low), most.max(high));
        words.push(format!("{app} {:.2}, {low:.2} to {high:.2}", last.1 / first.1));
    }
    Reckoned {
        shown: format!("growth, over all remote: {}", words.join("; ")),
        measures: Measures::default()
            .value("greatest growth", grows)
            .value("least over all remote", least)
            .value("greatest over all remote", most),
    }
}

/// UPT over INV.FREEZ: the median of all cells.
pub(super) fn updates_near_freezing(costs: &dyn Costs) -> Reckoned {
    let cells = APPS.into_iter().flat_map(|app| PAGES.map(|page| (app, page)));
    let ratio =
        |(app, page): (&str, u64)| Some(costs.cost(app, false, UPT, page)? / costs.cost(app, false, FREEZ, page)?);
    let mut all: Vec<f64> = cells.filter_map(ratio).collect();
    all.sort_by(f64::total_cmp);
    let middle = all.get(all.len() / 2).copied().unwrap_or(f64::NAN);
    let (low, high) = (all.first().copied().unwrap_or(f64::NAN), all.last().copied().unwrap_or(f64::NAN));
    Reckoned {
        shown: format!("median {middle:.2} ({low:.2} to {high:.2})"),
        measures: Measures::default().value("median", middle),
    }
}

/// Which protocol is dearest with pages from 4 KB.
pub(super) fn inv_is_worst(costs: &dyn Costs) -> Reckoned {
    let (mut worst, mut all) = (0, 0);
    for (app, page) in APPS.into_iter().flat_map(|app| PAGES.map(|page| (app, page))).filter(|c| c.1 >= 4096) {
        let others = (0..PROTOCOLS.len()).filter(|r| *r != INV).filter_map(|r| costs.cost(app, false, r, page));
        let most = others.fold(0.0, f64::max);
        all += 1;
        worst += usize::from(at(costs, app, false, INV, page) > most);
    }
    let share = 100.0 * f64::from(worst as u32) / f64::from(all as u32);
    Reckoned { shown: format!("{worst} of {all}"), measures: Measures::default().value("share", share) }
}

/// FFT realigned, behind counters with pages of 4 KB.
pub(super) fn realigned(costs: &dyn Costs) -> Reckoned {
    two(at(costs, "FFT", true, UPT_DEL, 4096), at(costs, "FFT", true, INV_DEL, 4096))
}

/// Cells of protocols before and after realignment: name and gain.
fn gains(costs: &dyn Costs, roles: &[usize]) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for (app, page) in APPS.into_iter().flat_map(|app| PAGES.map(|page| (app, page))) {
        for role in roles {
            let both = [false, true].map(|realigned| costs.cost(app, realigned, *role, page));
            if let [Some(before), Some(after)] = both {
                all.push((format!("{app} {} {page}", PROTOCOLS[*role]), before / after));
            }
        }
    }
    all
}

fn greatest_gain(costs: &dyn Costs, role: usize) -> Reckoned {
    let all = gains(costs, &[role]);
    let best = all.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (name, gain) = best.map_or(("", f64::NAN), |b| (b.0.as_str(), b.1));
    Reckoned {
        shown: format!("at best {gain:.1} times ({name})"),
        measures: Measures::default().value("greatest gain", gain),
    }
}

/// What realignment gains for plain invalidation, at best.
pub(super) fn realigned_inv(costs: &dyn Costs) -> Reckoned {
    greatest_gain(costs, INV)
}

/// And for plain updates.
pub(super) fn realigned_upt(costs: &dyn Costs) -> Reckoned {
    greatest_gain(costs, UPT)
}

/// Where realignment costs instead.
pub(super) fn realigned_all(costs: &dyn Costs) -> Reckoned {
    let all = gains(costs, &[UPT, INV, UPT_DEL, INV_DEL]);
    let worse: Vec<String> = all.iter().filter(|g| g.1 < 1.0).map(|g| format!("{} ({:.2})", g.0, g.1)).collect();
    Reckoned {
        shown: format!("worse in {} of {}: {}", worse.len(), all.len(), listed(&worse)),
        measures: Measures::default()
            .value("cells that get worse", worse.len() as f64)
            .value("cells", all.len() as f64),
    }
}

/// Realignment with a counter over the best of all, at worst.
pub(super) fn best(costs: &dyn Costs) -> Reckoned {
    let mut worst = (f64::NAN, String::new());
    for (app, page) in APPS.into_iter().flat_map(|app| PAGES.map(|page| (app, page))) {
        let least = |realigned: bool, roles: &[usize]| {
            roles.iter().filter_map(|r| costs.cost(app, realigned, *r, page)).fold(f64::INFINITY, f64::min)
        };
        let counted = least(true, &[UPT_DEL, INV_DEL]);
        let all = least(true, &[UPT, INV, UPT_DEL, INV_DEL]).min(least(false, &[UPT, INV, UPT_DEL, INV_DEL]));
        let over = counted / all;
        if over.is_finite() && (worst.0.is_nan() || over > worst.0) {
            worst = (over, format!("{app} {page}"));
        }
    }
    Reckoned {
        shown: format!("at worst {:.2} times the best of all ({})", worst.0, worst.1),
        measures: Measures::default().value("worst over the best", worst.0),
    }
}

/// INV.FREEZ of FFT, realigned, over everything remote: least and greatest.
pub(super) fn realigned_freezing(costs: &dyn Costs) -> Reckoned {
    let remote = costs.all_remote("FFT").unwrap_or(f64::NAN);
    let over = line(costs, "FFT", true, FREEZ).into_iter().map(|l| l.1 / remote);
    let (low, high) = over.fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
    Reckoned {
        shown: format!("{low:.2} to {high:.2}"),
        measures: Measures::default().value("least over all remote", low).value("greatest over all remote", high),
    }
}
