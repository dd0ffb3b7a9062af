//! A figure: lines over a parameter, written as a picture and as data.
use homenode_command::{Failure, output};
use homenode_study::analyses::Series;
use homenode_table::{Cell, Column, Kind, Table};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

/// A figure to be drawn.
pub(crate) struct Figure {
    /// Name of its files, without ending: `E8-gauss`.
    pub(crate) name: String,
    /// Title.
    pub(crate) title: String,
    /// What runs along each axis, with units.
    pub(crate) axes: [&'static str; 2],
    /// Whether the axes are logarithmic; points at zero or below are then left out of the picture.
    pub(crate) log: bool,
    /// Lines.
    pub(crate) lines: Vec<Series>,
}

const SIZE: (u32, u32) = (760, 420);
/// Pixels to the right, for names of lines.
const LEGEND: u32 = 130;

impl Figure {
    /// Writes `NAME.svg` and `NAME.csv`; returns title and name of the picture.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn write(&self, folder: &Path) -> Result<(String, String), Failure> {
        crate::page::make(folder)?;
        let picture = format!("{}.svg", self.name);
        output::write(&folder.join(format!("{}.csv", self.name)), self.csv().as_bytes())?;
        output::write(&folder.join(&picture), self.svg()?.as_bytes())?;
        Ok((self.title.clone(), picture))
    }

    fn csv(&self) -> String {
        let [x, y] = self.axes.map(|axis| Column::new(axis, Kind::Real));
        let mut table = Table::new(vec![Column::new("line", Kind::Text), x, y]);
        for line in &self.lines {
            let row = |(x, y): &(f64, f64)| [Cell::from(&line.label), Cell::Real(*x), Cell::Real(*y)];
            line.points.iter().for_each(|point| table.push(row(point)));
        }
        table.csv()
    }

    fn svg(&self) -> Result<String, Failure> {
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            let drawn = match (self.range(0), self.range(1)) {
                (Some(x), Some(y)) if self.log && self.doubles() => {
                    self.draw(&root, x.log_scale().base(2.0), y.log_scale())
                }
                (Some(x), Some(y)) if self.log => self.draw(&root, x.log_scale(), y.log_scale()),
                (Some(x), Some(y)) => self.draw(&root, x, y),
                _ => root.fill(&WHITE).map_err(Failure::work),
            };
            drawn?;
            root.present().map_err(Failure::work)?;
        }
        Ok(text)
    }

    fn shown(&self) -> impl Iterator<Item = (f64, f64)> {
        let all = self.lines.iter().flat_map(|l| l.points.iter().copied());
        all.filter(|(x, y)| !self.log || (*x > 0.0 && *y > 0.0))
    }

    /// Whether all points lie over powers of two, as block and page sizes do.
    fn doubles(&self) -> bool {
        self.shown().all(|(x, _)| x >= 1.0 && x.fract() == 0.0 && (x as u64).is_power_of_two())
    }

    /// From the least to the largest value on an axis, with some room; `None` without points.
    fn range(&self, axis: usize) -> Option<Range<f64>> {
        let values = self.shown().map(|p| if axis == 0 { p.0 } else { p.1 });
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let room = if self.log { (low * 0.9, high * 1.1) } else { (low.min(0.0), high + high.abs().max(1e-9) * 0.05) };
        low.is_finite().then_some(room.0..room.1)
    }

    fn draw<X, Y>(&self, root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, x: X, y: Y) -> Result<(), Failure>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        root.fill(&WHITE).map_err(Failure::work)?;
        let mut chart = ChartBuilder::on(root)
            .caption(&self.title, ("sans-serif", 15))
            .margin(10)
            .margin_right(10 + LEGEND)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(x, y)
            .map_err(Failure::work)?;
        let number = |v: &f64| short(*v);
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(self.axes[0]).y_desc(self.axes[1]).x_label_formatter(&number).y_label_formatter(&number);
        mesh.light_line_style(WHITE).x_labels(if self.log { 12 } else { 6 }).draw().map_err(Failure::work)?;
        let mut named = 0;
        for (i, line) in self.lines.iter().enumerate() {
            let style = colour(i).stroke_width(2);
            let points = line.points.iter().copied().filter(|(x, y)| !self.log || (*x > 0.0 && *y > 0.0));
            let points: Vec<(f64, f64)> = points.collect();
            if !points.is_empty() {
                chart.draw_series(LineSeries::new(points, style).point_size(2)).map_err(Failure::work)?;
                self.name_line(root, i, named).map_err(Failure::work)?;
                named += 1;
            }
        }
        Ok(())
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
pub(crate) fn colour(i: usize) -> RGBColor {
    let (r, g, b) = COLOURS[i % COLOURS.len()];
    RGBColor(r, g, b)
}

/// What drawing returns.
pub(crate) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// A number on an axis, without digits that say nothing.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 0.001 => format!("{}", (value * 10_000.0).round() / 10_000.0),
        0.0 => "0".into(),
        _ => format!("{value:.0e}"),
    }
}
