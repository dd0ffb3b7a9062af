//! A figure: lines over a parameter, written as a picture and as data.
use super::ticks::{Axis, Scale, label};
use crate::page::Picture;
use homenode_command::Failure;
use homenode_study::analyses::Series;
use homenode_table::{Cell, Column, Kind, Table};
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

/// A figure to be drawn.
#[derive(Default)]
pub struct Figure {
    /// Name of its files, without ending: `E8-gauss`.
    pub name: String,
    /// Title.
    pub title: String,
    /// What runs along each axis, with units.
    pub axes: [&'static str; 2],
    /// Whether the axes are logarithmic; points at zero or below are then left out of the picture.
    pub log: bool,
    /// Lines.
    pub lines: Vec<Series>,
    /// Least and greatest of several recordings, by line and point; empty where there is one recording.
    pub ranges: Vec<Vec<(f64, f64)>>,
}

const SIZE: (u32, u32) = (760, 420);
/// Pixels to the right, for names of lines.
const LEGEND: u32 = 130;

impl Figure {
    /// Writes `NAME.svg` and `NAME.csv`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Picture, Failure> {
        Picture::written(folder, &self.name, &self.title, self.svg()?, &self.csv())
    }

    fn csv(&self) -> String {
        let [x, y] = self.axes.map(|axis| Column::new(axis, Kind::Real));
        let [least, most] = ["least", "greatest"].map(|name| Column::new(name, Kind::Real));
        let mut table = Table::new(vec![Column::new("line", Kind::Text), x, y, least, most]);
        for (i, line) in self.lines.iter().enumerate() {
            for (p, (x, y)) in line.points.iter().enumerate() {
                let (least, most) = self.spread(i, p).unwrap_or((*y, *y));
                table.push(std::iter::once(Cell::from(&line.label)).chain([*x, *y, least, most].map(Cell::Real)));
            }
        }
        table.csv()
    }

    fn svg(&self) -> Result<String, Failure> {
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            let [across, up] = match (self.log, self.log && self.doubles()) {
                (_, true) => [Scale::Doubling, Scale::Log],
                (true, _) => [Scale::Log; 2],
                (false, _) => [Scale::Linear; 2],
            };
            let drawn = match (self.range(0), self.range(1)) {
                (Some(x), Some(y)) => self.draw(&root, Axis::new(x, across), Axis::new(y, up)),
                _ => root.fill(&WHITE).map_err(Failure::work),
            };
            drawn?;
            root.present().map_err(Failure::work)?;
        }
        Ok(text)
    }

    /// Least and greatest of all recordings at a point.
    fn spread(&self, line: usize, point: usize) -> Option<(f64, f64)> {
        self.ranges.get(line)?.get(point).copied()
    }

    /// Whether a point has a place on the axes.
    fn has_place(&self, (x, y): (f64, f64)) -> bool {
        x.is_finite() && y.is_finite() && (!self.log || (x > 0.0 && y > 0.0))
    }

    /// Points, and ends of their ranges.
    fn shown(&self) -> impl Iterator<Item = (f64, f64)> {
        let ends = |(i, l): (usize, &Series)| -> Vec<(f64, f64)> {
            let of = |(p, (x, y)): (usize, &(f64, f64))| {
                let (least, most) = self.spread(i, p).unwrap_or((*y, *y));
                [(*x, *y), (*x, least), (*x, most)]
            };
            l.points.iter().enumerate().flat_map(of).collect()
        };
        self.lines.iter().enumerate().flat_map(ends).filter(|p| self.has_place(*p))
    }

    /// Whether all points lie over powers of two, as block and page sizes do.
    fn doubles(&self) -> bool {
        self.shown().all(|(x, _)| x >= 1.0 && x.fract() == 0.0 && (x as u64).is_power_of_two())
    }

    /// From the least to the largest value on an axis, with some room; `None` without points.
    fn range(&self, axis: usize) -> Option<Range<f64>> {
        let values = self.shown().map(|p| if axis == 0 { p.0 } else { p.1 });
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let room = match (low, high) {
            _ if self.log => (low * 0.9, high * 1.1),
            (0.0, 0.0) => (0.0, 1.0),
            _ => (low.min(0.0), high.max(0.0) + low.abs().max(high.abs()) * 0.05),
        };
        low.is_finite().then_some(room.0..room.1)
    }

    fn draw(
        &self,
        root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
        x: Axis,
        y: Axis,
    ) -> Result<(), Failure> {
        root.fill(&WHITE).map_err(Failure::work)?;
        let mut chart = ChartBuilder::on(root)
            .caption(&self.title, ("sans-serif", 15))
            .margin(10)
            .margin_right(10 + LEGEND)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(x, y)
            .map_err(Failure::work)?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(self.axes[0]).y_desc(self.axes[1]).x_label_formatter(&label).y_label_formatter(&label);
        mesh.light_line_style(WHITE).draw().map_err(Failure::work)?;
        let mut named = 0;
        for (i, line) in self.lines.iter().enumerate() {
            let style = colour(i).stroke_width(2);
            let points: Vec<(f64, f64)> = line.points.iter().copied().filter(|p| self.has_place(*p)).collect();
            if !points.is_empty() {
                let bars = (0..line.points.len()).filter_map(|p| self.error_bar(i, p));
                chart.draw_series(bars.map(|b| PathElement::new(b, colour(i)))).map_err(Failure::work)?;
                chart.draw_series(LineSeries::new(points, style).point_size(2)).map_err(Failure::work)?;
                self.name_line(root, i, named).map_err(Failure::work)?;
                named += 1;
            }
        }
        Ok(())
    }

    /// From the least to the greatest of all recordings, where they differ.
    fn error_bar(&self, line: usize, point: usize) -> Option<Vec<(f64, f64)>> {
        let ((x, _), (least, most)) = (self.lines[line].points[point], self.spread(line, point)?);
        (least < most && self.has_place((x, least)) && most.is_finite()).then(|| vec![(x, least), (x, most)])
    }

    /// The name of a line and a piece of it, beside the picture: many lines leave no room inside.
    fn name_line(&self, root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, i: usize, place: i32) -> Drawn {
        let (x, y) = ((SIZE.0 - LEGEND) as i32, 46 + 18 * place);
        root.draw(&PathElement::new([(x, y), (x + 18, y)], colour(i).stroke_width(3)))?;
        root.draw(&Text::new(self.lines[i].label.clone(), (x + 24, y - 6), ("sans-serif", 12).into_font()))
    }
}

/// Of lines and bars, far from each other for the first ten.
const COLOURS: [(u8, u8, u8); 15] = [
    (214, 39, 40),
    (31, 119, 180),
    (44, 160, 44),
    (255, 127, 14),
    (148, 103, 189),
    (140, 86, 75),
    (227, 119, 194),
    (127, 127, 127),
    (188, 189, 34),
    (23, 190, 207),
    (0, 0, 0),
    (128, 0, 0),
    (0, 0, 128),
    (0, 90, 50),
    (250, 190, 160),
];

/// The colour of the i-th line or bar.
pub fn colour(i: usize) -> RGBColor {
    let (r, g, b) = COLOURS[i % COLOURS.len()];
    RGBColor(r, g, b)
}

/// What drawing returns.
pub type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Different numbers in a picture whose text is anchored so: `middle` below the axis, `end` beside it.
    pub(crate) fn numbers(svg: &str, anchor: &str) -> usize {
        let texts = svg.split("<text").skip(1).filter(|t| t.contains(&format!("text-anchor=\"{anchor}\"")));
        let words = texts.filter_map(|t| t.split_once('>')?.1.split('<').next());
        words.filter_map(|w| w.trim().parse::<f64>().ok()).map(f64::to_bits).collect::<BTreeSet<u64>>().len()
    }

    #[test]
    fn pictures_have_a_title_and_three_numbers_on_each_axis_whatever_their_range() {
        let ranges = [[0.0, 0.0], [1.0, 1.0], [1.001, 1.002], [1e-7, 3e-7], [3.0, 8.5], [0.9, 1.2e6], [-4.0, -3.0]];
        for log in [false, true] {
            for y in ranges.iter().filter(|r| !log || r[0] > 0.0) {
                for x in [[4.0, 8.0], [32.0, 8192.0], [1.5, 1.6], [10.0, 500.0]] {
                    let line = Series { label: "gauss".into(), points: vec![(x[0], y[0]), (x[1], y[1])] };
                    let figure = Figure {
                        name: "f".into(),
                        title: "a title".into(),
                        axes: ["block (bytes)", "cost (local hits)"],
                        log,
                        lines: vec![line],
                        ranges: vec![vec![(y[0], y[0]), (y[0], y[1] * 2.0)]],
                    };
                    let svg = figure.svg().expect("drawn");
                    let found = ["middle", "end"].map(|a| numbers(&svg, a));
                    assert!(found.iter().all(|n| *n >= 3), "{x:?} {y:?} {log}: {found:?}");
                    let words = ["a title", "block (bytes)", "cost (local hits)", "gauss"];
                    assert!(words.iter().all(|w| svg.contains(w)));
                }
            }
        }
    }

    #[test]
    fn ranges_are_drawn_and_written_where_recordings_differ() {
        let line = Series { label: "l".into(), points: vec![(1.0, 5.0), (2.0, 6.0)] };
        let plain = Figure { name: "f".into(), axes: ["x", "y"], lines: vec![line], ..Figure::default() };
        let without = plain.svg().expect("drawn").matches("<polyline").count();
        let ranged = Figure { ranges: vec![vec![(5.0, 5.0), (4.0, 7.0)]], ..plain };
        assert_eq!(ranged.svg().expect("drawn").matches("<polyline").count(), without + 1);
        assert_eq!(ranged.csv(), "line,x,y,least,greatest\nl,1,5,5,5\nl,2,6,4,7\n");
    }
}
