//! Cost over the size of DRAM as a curve. Without scripts.
use super::escape::esc;
use super::frame::{list, section};
use super::tables::{Cell, num, table};
use crate::capacity::{CapacityDoc, CapacityPoint};
use crate::units::{bytes, factor, integer};
use homenode_base::TotalCost;

/// The page's style where it has this section.
pub(super) const STYLE: &str = include_str!("../../assets/page/capacity.css");

/// The plot within the picture, in drawing units.
const LEFT: f64 = 62.0;
const TOP: f64 = 14.0;
const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 250.0;
/// Lines of the grid, and the space between them, at most.
const STEPS: f64 = 5.0;

/// A line of the picture: class, name, cost.
type Curve = (&'static str, &'static str, fn(&CapacityPoint) -> TotalCost);

pub(super) fn capacity(out: &mut String, c: &CapacityDoc) {
    let mut inner = String::new();
    if !c.points.is_empty() {
        inner = format!("{}<details><summary>Numbers</summary>\n{}</details>\n", figure(c), numbers(c));
    }
    let notes: Vec<String> = c.notes.iter().map(|n| format!("{n}.")).collect();
    list(&mut inner, &notes, "");
    section(out, "How much DRAM is enough", &c.sentence, &inner);
}

fn curves(c: &CapacityDoc) -> [Curve; 3] {
    [
        ("first", "first come: DRAM fills in order of first touch", |p| p.first_come),
        (
            "hottest",
            "hottest first: the pages that gain most stay in DRAM, the best placement that moves nothing",
            |p| p.hottest,
        ),
        (
            "moving",
            if c.is_exact() {
                "optimum: the best placement that moves pages"
            } else {
                "lower bound of what placements cost that move pages"
            },
            |p| p.optimum,
        ),
    ]
}

/// A distance between lines of the grid that is 1, 2 or 5 times a power of ten.
fn step(range: f64) -> f64 {
    let least = (range / STEPS).max(1e-9);
    let decade = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * decade).find(|s| *s >= least).unwrap_or(10.0 * decade)
}

/// Where percent of the pages and costs over all DRAM lie in the picture.
struct Scale {
    most: f64,
}

impl Scale {
    fn x(&self, percent: f64) -> f64 {
        LEFT + WIDTH * percent.clamp(0.0, 100.0) / 100.0
    }
    fn y(&self, over: f64) -> f64 {
        TOP + HEIGHT * (1.0 - (over - 1.0) / (self.most - 1.0)).clamp(0.0, 1.0)
    }
}

fn figure(c: &CapacityDoc) -> String {
    let over = |cost: TotalCost| cost.ratio_to(c.in_dram);
    let outside = over(c.in_expander);
    let step = step((outside - 1.0).max(0.01));
    let scale = Scale { most: 1.0 + step * ((outside - 1.0).max(0.01) / step).ceil() };
    let mut svg = axes(c, &scale, step);
    for (class, _, cost) in curves(c) {
        // Without DRAM all costs are the same.
        let points = [(0.0, outside)].into_iter().chain(c.points.iter().map(|p| (p.size.percent, over(cost(p)))));
        let line: Vec<String> = points.map(|(p, o)| format!("{:.1},{:.1}", scale.x(p), scale.y(o))).collect();
        svg += &format!("<polyline class=\"curve {class}\" points=\"{}\"/>\n", line.join(" "));
    }
    for p in c.points.iter().filter(|p| p.asked && p.size.percent <= 100.0) {
        svg += &named(p, &scale, over(p.first_come), over(p.hottest));
    }
    let legend: String = curves(c)
        .iter()
        .map(|(class, name, _)| {
            format!(
                "<li><svg class=\"swatch\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"100%\" height=\"100%\"/></svg>{}</li>",
                esc(name)
            )
        })
        .collect();
    format!(
        "<figure class=\"chart\"><ul class=\"legend\">{legend}</ul>\n<svg class=\"capacity\" viewBox=\"0 0 960 310\" role=\"img\" \
         aria-label=\"Cost over the size of DRAM. The table below has the numbers.\">\n{svg}</svg>\n\
         <figcaption>Cost of accesses to memory, over all in DRAM, by how much of the {} is in DRAM; rings: the sizes named.</figcaption></figure>\n",
        esc(&bytes(c.pages * c.page_bytes))
    )
}

/// The grid, its numbers, and the sizes below.
fn axes(c: &CapacityDoc, scale: &Scale, step: f64) -> String {
    let mut svg = String::new();
    let lines = ((scale.most - 1.0) / step).round() as usize;
    for i in 0..=lines {
        let over = 1.0 + i as f64 * step;
        let y = scale.y(over);
        let label = if step < 0.1 { format!("×{over:.2}") } else { format!("×{over:.1}") };
        svg += &format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{label}</text>\n",
            LEFT + WIDTH,
            LEFT - 8.0,
            y + 4.0
        );
    }
    for p in (0..=100).step_by(20) {
        let used = bytes((c.pages * p / 100) * c.page_bytes);
        svg += &format!(
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{p} %<tspan class=\"bytes\" x=\"{0:.1}\" dy=\"15\">{}</tspan></text>\n",
            scale.x(p as f64),
            TOP + HEIGHT + 20.0,
            esc(&used)
        );
    }
    svg
}

/// A size that was named, on the two curves of placements that stay.
fn named(p: &CapacityPoint, scale: &Scale, first: f64, hottest: f64) -> String {
    let x = scale.x(p.size.percent);
    let title = format!("{}: first come {}, hottest first {}", bytes(p.size.bytes), factor(first), factor(hottest));
    let ring = |class: &str, over: f64| {
        format!("<circle class=\"ring {class}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"5\"/>", scale.y(over))
    };
    format!(
        "<g><title>{}</title><line class=\"named\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{:.1}\"/>{}{}</g>\n",
        esc(&title),
        TOP + HEIGHT,
        ring("first", first),
        ring("hottest", hottest)
    )
}

fn numbers(c: &CapacityDoc) -> String {
    let exact = c.is_exact();
    let heads = [
        "DRAM",
        "pages",
        "of its data",
        "first come",
        "hottest first",
        if exact { "optimum" } else { "bound" },
        "plan",
    ];
    let heads: Vec<(&str, bool)> = heads.into_iter().take(if exact { 6 } else { 7 }).map(|h| (h, true)).collect();
    let over = |cost: TotalCost| num(&factor(cost.ratio_to(c.in_dram))).key(cost.ratio_to(c.in_dram));
    let row = |p: &CapacityPoint| -> Vec<Cell> {
        let size = [
            num(&bytes(p.size.bytes)).key(p.size.bytes as f64),
            num(&integer(p.size.frames)).key(p.size.frames as f64),
            num(&c.portion(p.size)).key(p.size.percent),
        ];
        let plan = (!exact).then(|| p.plan.map_or_else(|| num("–"), over));
        size.into_iter().chain([p.first_come, p.hottest, p.optimum].map(over)).chain(plan).collect()
    };
    table("Cost over all in DRAM by size of DRAM", &heads, c.points.iter().map(row).collect())
}
