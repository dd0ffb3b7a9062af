//! The picture of the page: bars for each program.
use homenode_command::Failure;
use homenode_judging::Drawn;
use homenode_judging::page::Picture;
use homenode_table::{Cell, Column, Kind, Table, esc};
use std::fmt::Write;
use std::path::Path;

const WRITES: &str = "writing to a string cannot fail";

/// Bars of one group beside each other: name of the group, and a value in percent for each series.
pub(super) struct Bars {
    pub(super) title: String,
    pub(super) series: Vec<&'static str>,
    pub(super) groups: Vec<(String, Vec<f64>)>,
}

impl Drawn for Bars {
    fn write(&self, folder: &Path) -> Result<Vec<Picture>, Failure> {
        Ok(vec![Picture::written(folder, "thakkar", "savings", svg(self), &self.csv())?])
    }
}

impl Bars {
    fn csv(&self) -> String {
        let series = self.series.iter().map(|name| Column::new(*name, Kind::Real));
        let mut table = Table::new(std::iter::once(Column::new("program", Kind::Text)).chain(series).collect());
        for (name, values) in &self.groups {
            table.push(std::iter::once(Cell::from(name)).chain(values.iter().map(|v| Cell::Real(*v))));
        }
        table.csv()
    }
}

const COLOURS: [&str; 4] = ["#2f6690", "#81c3d7", "#d9a05b", "#7a7a7a"];
const BAR: f64 = 14.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 46.0;

/// A bar chart.
fn svg(bars: &Bars) -> String {
    let values = bars.groups.iter().flat_map(|(_, v)| v.iter().copied());
    let (low, high) = values.fold((0.0f64, 10.0f64), |(l, h), v| (l.min(v), h.max(v)));
    let group = BAR * (bars.series.len() as f64 + 1.0);
    let width = LEFT + group * bars.groups.len() as f64 + 20.0;
    let y = |v: f64| 40.0 + HEIGHT * (high - v) / (high - low);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/><text x=\"8\" y=\"16\" font-size=\"13\">{}</text>\n",
        HEIGHT + 110.0,
        esc(&bars.title)
    );
    for (i, name) in bars.series.iter().enumerate() {
        let x = 8.0 + 130.0 * i as f64;
        let colour = COLOURS[i % COLOURS.len()];
        writeln!(
            out,
            "<rect x=\"{x}\" y=\"22\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"31\">{}</text>",
            x + 14.0,
            esc(name)
        )
        .expect(WRITES);
    }
    for line in [low, 0.0, high] {
        writeln!(out, "<line x1=\"{LEFT}\" x2=\"{width:.0}\" y1=\"{0:.1}\" y2=\"{0:.1}\" stroke=\"#999\"/><text x=\"4\" y=\"{0:.1}\">{line:.0} %</text>", y(line)).expect(WRITES);
    }
    for (g, (name, values)) in bars.groups.iter().enumerate() {
        let from = LEFT + group * g as f64 + BAR / 2.0;
        for (i, v) in values.iter().enumerate() {
            let (x, top, tall) = (from + BAR * i as f64, y(v.max(0.0)), (y(0.0) - y(*v)).abs());
            let colour = COLOURS[i % COLOURS.len()];
            writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" fill=\"{colour}\"/>",
                BAR - 2.0
            )
            .expect(WRITES);
        }
        let (x, bottom) = (from + 4.0, y(low) + 14.0);
        writeln!(out, "<text transform=\"translate({x:.1},{bottom:.1}) rotate(35)\">{}</text>", esc(name))
            .expect(WRITES);
    }
    out.push_str("</svg>\n");
    out
}
