//! E5: what the text says, of our programs. E8: what turns if open points are decided otherwise.
use super::costs::{Printed, View};
use super::program::Measured;
use super::text::{self, Reckon};
use super::variant::{BASE, OTHERS};
use super::{CLAIMS, orders, texts};
use crate::doc::{Table, Verdict};
use crate::judging::Found;
use crate::judging::claims::Judged;

/// A claim, how it is reckoned, and why ours may differ.
type OfText = (&'static str, Reckon, &'static str);

const TEXT: [OfText; 12] = [
    ("speech-inv", text::speech_inv, "a stand-in: within a factor of three"),
    ("speech-inv-del", text::speech_inv_del, "a stand-in: within a factor of 1.5"),
    ("fft-4k", text::fft_4k, "a stand-in: within a factor of 1.5"),
    ("half", text::half, "medians of pages from 1 KB"),
    ("small-pages", text::small_pages, "UPT against INV"),
    ("updates", text::updates_win, "UPT against INV, UPT.DEL against INV.DEL, all pages; the paper's own exact sums disagree too"),
    ("counters", text::counters_help, "each protocol with and without a counter; the paper's own tables have exceptions too"),
    ("explodes", text::explodes, "pages of 64 KB over pages of 64 B"),
    ("bounded", text::bounded, "INV over INV.DEL"),
    ("freez-flat", text::freezing_is_flat, "64 KB over 64 B, and from 256 B over everything remote"),
    ("freez-upt", text::updates_near_freezing, "UPT over INV.FREEZ"),
    ("inv-worst", text::inv_is_worst, "pages from 4 KB"),
];

/// E5.
pub(super) fn of_text(_: &Printed<'_>, ours: &View<'_>) -> Found {
    let judge = |(id, reckon, why): &OfText| {
        let found = reckon(ours);
        CLAIMS.ruled(id, found.shown, &found.measures, why)
    };
    Found { judged: TEXT.iter().map(judge).collect(), ..Found::default() }
}

/// All verdicts that hang on our programs.
fn judged(printed: &Printed<'_>, ours: &View<'_>) -> Vec<Judged> {
    let parts = [of_text(printed, ours), orders::orders(printed, ours), orders::crossing(printed, ours)];
    parts.into_iter().flat_map(|found| found.judged).collect()
}

/// E8.
pub(super) fn points(printed: &Printed<'_>, programs: &[Measured]) -> Found {
    let of = |variant| judged(printed, &View { programs, prices: printed.prices, variant });
    let base = of(BASE);
    let mut rows = Vec::new();
    for variant in OTHERS {
        let other = of(variant);
        let turned = base.iter().zip(&other).filter(|(a, b)| a.verdict != b.verdict);
        let named = |(a, b): (&Judged, &Judged)| format!("{} ({} to {})", a.id, a.verdict.words(), b.verdict.words());
        let turned: Vec<String> = turned.map(named).collect();
        let agree = other.iter().filter(|j| j.verdict == Verdict::Agrees).count();
        let words = if turned.is_empty() { "none".to_owned() } else { turned.join(", ") };
        rows.push(vec![variant.what.to_owned(), format!("{agree} of {}", other.len()), words]);
    }
    let agree = base.iter().filter(|j| j.verdict == Verdict::Agrees).count();
    rows.insert(0, vec![BASE.what.to_owned(), format!("{agree} of {}", base.len()), "-".to_owned()]);
    let table = Table {
        title: "open points decided otherwise: claims of E5 to E7 that agree, and verdicts that turn".into(),
        columns: texts(&["choice", "agree", "turned"]),
        rows,
    };
    Found { tables: vec![table], ..Found::default() }
}
