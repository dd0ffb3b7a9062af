//! E5: what the text says, of our programs. E8: what turns if open points are decided otherwise.
use super::costs::{Printed, View};
use super::program::{MARKED_BY_4K, Measured, REALIGNED, SHARED_WINDOWS};
use super::text::{self, Reckon};
use super::variant::{BASE, OTHERS};
use super::{CLAIMS, orders, texts};
use homenode_judging::Found;
use homenode_judging::claims::Judged;
use homenode_judging::doc::{Table, Verdict};

/// A claim, how it is reckoned, and why ours may differ.
type OfText = (&'static str, Reckon, &'static str);

const TEXT: [OfText; 12] = [
    ("speech-inv", text::speech_inv, "a stand-in: within a factor of three"),
    ("speech-inv-del", text::speech_inv_del, "a stand-in: within a factor of 1.5"),
    (
        "fft-4k",
        text::fft_4k,
        "a stand-in: within a factor of 1.5; where it differs, by multicasts of UPT.DEL: steps after the first write pages that all have",
    ),
    ("half", text::half, "medians of pages from 1 KB"),
    (
        "small-pages",
        text::small_pages,
        "UPT against INV; in the paper's exact sums SPEECH at 256 B is an exception too: a write there goes to 62 copies",
    ),
    (
        "updates",
        text::updates_win,
        "UPT against INV, UPT.DEL against INV.DEL, all pages; the paper's own exact sums disagree too",
    ),
    (
        "counters",
        text::counters_help,
        "each protocol with and without a counter; the paper's own tables have exceptions too",
    ),
    ("explodes", text::explodes, "pages of 64 KB over pages of 64 B"),
    ("bounded", text::bounded, "INV over INV.DEL"),
    (
        "freez-flat",
        text::freezing_is_flat,
        "64 KB over 64 B, and from 256 B over everything remote; where it is well below, copies of pages that nobody writes stay local; where it grows, FFT is too small for its largest pages",
    ),
    ("freez-upt", text::updates_near_freezing, "UPT over INV.FREEZ"),
    ("inv-worst", text::inv_is_worst, "pages from 4 KB"),
];

const OF_REALIGNED: [OfText; 6] = [
    ("realigned-fft-4k", text::realigned, "a stand-in: within a factor of 1.5"),
    ("realigned-inv", text::realigned_inv, "the paper's own tables have 58 times at best"),
    ("realigned-upt", text::realigned_upt, "the order of magnitude of the greatest gain"),
    (
        "realigned-all",
        text::realigned_all,
        "cells before over cells after; the paper's own tables have five that get worse",
    ),
    ("realigned-best", text::best, "the better of both counters re-aligned over the best of all, within 10 %"),
    ("realigned-freez", text::realigned_freezing, "FFT, pages from 256 B"),
];

/// What the text says of realigned data.
pub(super) fn of_realigned(ours: &View<'_>) -> Vec<Judged> {
    let judge = |(id, reckon, why): &OfText| {
        let found = reckon(ours);
        CLAIMS.ruled(id, found.shown, &found.measures, why)
    };
    OF_REALIGNED.iter().map(judge).collect()
}

/// E5.
pub(super) fn of_text(ours: &View<'_>) -> Found {
    let judge = |(id, reckon, why): &OfText| {
        let found = reckon(ours);
        CLAIMS.ruled(id, found.shown, &found.measures, why)
    };
    Found { judged: TEXT.iter().map(judge).collect(), ..Found::default() }
}

/// All verdicts that hang on our programs.
fn judged(printed: &Printed<'_>, ours: &View<'_>) -> Vec<Judged> {
    let parts = [of_text(ours), orders::orders(printed, ours), orders::crossing(printed, ours)];
    parts.into_iter().flat_map(|found| found.judged).filter(|j| !j.id.ends_with("realigned")).collect()
}

/// Verdicts that hang on realignment.
fn judged_realigned(printed: &Printed<'_>, ours: &View<'_>) -> Vec<Judged> {
    let orders = orders::orders(printed, ours).judged.into_iter().filter(|j| j.id.ends_with("realigned"));
    of_realigned(ours).into_iter().chain(orders).collect()
}

/// O4 and O5: other ways to realign.
const LAYOUTS: [(&str, usize); 2] =
    [("O4: pages are marked by 4 KB", MARKED_BY_4K), ("O5: windows of shared references alone", SHARED_WINDOWS)];

/// E8.
pub(super) fn points(printed: &Printed<'_>, programs: &[Measured]) -> Found {
    let view = |variant, realigned| View { programs, prices: printed.prices, variant, realigned };
    let base = judged(printed, &view(BASE, REALIGNED));
    let mut rows = vec![row(BASE.what, &base, &base)];
    rows.extend(OTHERS.map(|v| row(v.what, &base, &judged(printed, &view(v, REALIGNED)))));
    let base = judged_realigned(printed, &view(BASE, REALIGNED));
    rows.push(row("re-aligned: defaults", &base, &base));
    rows.extend(LAYOUTS.map(|(what, layout)| row(what, &base, &judged_realigned(printed, &view(BASE, layout)))));
    let table = Table {
        title: "open points decided otherwise: claims that agree (of E5 to E7; of re-aligned data those of E4 and E6), and verdicts that turn".into(),
        columns: texts(&["choice", "agree", "turned"]),
        rows,
    };
    Found { tables: vec![table], ..Found::default() }
}

fn row(what: &str, base: &[Judged], other: &[Judged]) -> Vec<String> {
    let turned = base.iter().zip(other).filter(|(a, b)| a.verdict != b.verdict);
    let named = |(a, b): (&Judged, &Judged)| format!("{} ({} to {})", a.id, a.verdict.words(), b.verdict.words());
    let turned: Vec<String> = turned.map(named).collect();
    let agree = other.iter().filter(|j| j.verdict == Verdict::Agrees).count();
    let words = if turned.is_empty() { "none".to_owned() } else { turned.join(", ") };
    vec![what.to_owned(), format!("{agree} of {}", other.len()), words]
}
