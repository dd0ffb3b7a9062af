//! A figure: lines over a parameter, written as a picture and as data.
use crate::{Failure, output};
use homenode_study::analyses::Series;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

/// A figure to be drawn.
pub(in super::super) struct Figure {
    /// Name of its files, without ending: `E8-gauss`.
    pub(in super::super) name: String,
    /// Title.
    pub(in super::super) title: String,
    /// What runs along each axis, with units.
    pub(in super::super) axes: [&'static str; 2],
    /// Whether the axes are logarithmic; points at zero or below are then left out of the picture.
    pub(in super::super) log: bool,
    /// Lines.
    pub(in super::super) lines: Vec<Series>,
}

const SIZE: (u32, u32) = (640, 420);

impl Figure {
    /// Writes `NAME.svg` and `NAME.csv`; returns title and name of the picture.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(in super::super) fn write(&self, folder: &Path) -> Result<(String, String), Failure> {
        super::super::make(folder)?;
        let picture = format!("{}.svg", self.name);
        output::write(&folder.join(format!("{}.csv", self.name)), self.csv().as_bytes())?;
        output::write(&folder.join(&picture), self.svg()?.as_bytes())?;
        Ok((self.title.clone(), picture))
    }

    fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut out = format!("line,{},{}\n", quoted(self.axes[0]), quoted(self.axes[1]));
        for line in &self.lines {
            line.points.iter().for_each(|(x, y)| out.push_str(&format!("{},{x},{y}\n", quoted(&line.label))));
        }
        out
    }

    fn svg(&self) -> Result<String, Failure> {
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
            let drawn = match (self.range(0), self.range(1)) {
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
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(x, y)
            .map_err(Failure::work)?;
        chart.configure_mesh().x_desc(self.axes[0]).y_desc(self.axes[1]).draw().map_err(Failure::work)?;
        for (i, line) in self.lines.iter().enumerate() {
            let colour = Palette99::pick(i).stroke_width(2);
            let points = line.points.iter().copied().filter(|(x, y)| !self.log || (*x > 0.0 && *y > 0.0));
            let drawn = chart.draw_series(LineSeries::new(points, colour).point_size(2)).map_err(Failure::work)?;
            drawn.label(&line.label).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()
            .map_err(Failure::work)
    }
}
