//! A card for each program: what table 2.1 prints of it beside what was recorded.

/// A row of table 2.1, and what is to be said where ours is another.
pub(super) struct Card {
    /// Name in the thesis.
    pub(super) name: &'static str,
    /// Millions of references without private ones, and private ones.
    pub(super) millions: [f64; 2],
    /// Bytes of a recorded reference.
    pub(super) bytes: f64,
    /// Loads among references that are not private, in percent.
    pub(super) loads: f64,
    /// Millions of references at the thesis's size (`-s P`), private ones included, where that is known.
    pub(super) ours_millions: Option<f64>,
    /// Why length, loads or private references miss.
    pub(super) why: &'static str,
}

const STAND_IN: &str = "a stand-in: the source is gone, so is what its loops do";
const SPLASH: &str = "another program of its kind, at a size of ours; its compiler is not ours";
const PRESTO: &str = "ours is the algorithm alone, whose variables lie in registers; the thesis's trace has Presto's threads, queues \
                      and stacks too";
const COMPILER: &str = "gcc -O2 keeps indices and pointers in registers which its compiler loaded and stored";

const fn card(
    name: &'static str,
    millions: [f64; 2],
    (bytes, loads): (f64, f64),
    ours_millions: Option<f64>,
    why: &'static str,
) -> Card {
    Card { name, millions, bytes, loads, ours_millions, why }
}

/// All, in the order of table 2.1.
pub(super) static CARDS: [Card; 19] = [
    card("e-fft", [10.1, 81.1], (2.18, 51.0), Some(94.1), STAND_IN),
    card("e-simp", [26.7, 109.0], (1.16, 87.0), Some(137.0), STAND_IN),
    card("e-hyd", [41.3, 445.0], (1.62, 77.0), Some(486.0), STAND_IN),
    card("e-nasa", [21.9, 326.0], (1.51, 68.0), Some(348.0), STAND_IN),
    card("gauss", [270.0, 0.0], (1.77, 83.0), Some(268.7), "as the thesis writes its inner loop"),
    card(
        "chip",
        [413.0, 0.0],
        (1.87, 68.0),
        Some(602.0),
        "any two chips may have wire, so a move looks at all of them; fewer writes: gcc keeps sums in registers",
    ),
    card("bsort", [23.6, 0.0], (1.65, 63.0), Some(10.8), COMPILER),
    card("kmerge", [10.9, 0.0], (1.67, 64.0), Some(5.1), COMPILER),
    card(
        "plytrace",
        [15.3, 0.0],
        (0.85, 66.0),
        Some(15.5),
        "picture and polygons of ours, and triangles of one colour",
    ),
    card("sorbyc", [104.0, 0.0], (1.10, 79.0), Some(104.7), "the number of sweeps is chosen to be as long"),
    card("sorbyr", [104.0, 0.0], (1.04, 79.0), Some(104.7), "the number of sweeps is chosen to be as long"),
    card(
        "matmult",
        [4.64, 0.0],
        (2.11, 97.0),
        Some(144.4),
        "one product of 200 x 200 alone has 16 million loads of elements: the printed length cannot be that of nine",
    ),
    card("mp3d", [19.6, 0.0], (1.22, 57.0), None, SPLASH),
    card("cholesky", [38.4, 0.0], (1.04, 77.0), Some(34.5), "the matrix of a grid, by columns and not by supernodes"),
    card("water", [82.1, 0.0], (1.10, 59.0), None, SPLASH),
    card("p-gauss", [21.7, 4.91], (1.38, 65.0), Some(2.0), PRESTO),
    card("p-qsort", [17.5, 3.19], (1.31, 68.0), Some(0.77), PRESTO),
    card("p-matmult", [6.81, 0.238], (1.59, 96.0), Some(2.0), PRESTO),
    card("p-life", [55.9, 8.0], (1.63, 76.0), Some(8.0), PRESTO),
];

/// The card of a program.
pub(super) fn of(name: &str) -> Option<&'static Card> {
    CARDS.iter().find(|c| c.name == name)
}

/// Part by which a share may miss without a word.
pub(super) const MISS: f64 = 0.15;
