//! Bars: a few values for each program, written as a picture and as data.
use super::figure::{Drawn, colour};
use super::ticks::{Axis, Scale, label};
use crate::page::Picture;
use homenode_command::Failure;
use homenode_table::{Cell, Column, Kind, Table};
use plotters::prelude::*;
use std::path::Path;

/// Bars lying under each other, grouped by program as in the thesis.
#[derive(Default)]
pub struct Bars {
    /// Name of its files, without ending: `E4-ace`.
    pub name: String,
    /// Title.
    pub title: String,
    /// What is measured, with its unit.
    pub axis: &'static str,
    /// Names of the bars of a group.
    pub series: Vec<String>,
    /// Programs with a value for each bar, from 1 up.
    pub groups: Vec<(String, Vec<f64>)>,
    /// Longer bars are cut off and have their value printed beside them.
    pub at_most: f64,
    /// Least and greatest of several recordings, by group and bar; empty where there is one recording.
    pub ranges: Vec<Vec<(f64, f64)>>,
}

/// Bars begin at what a local reference costs.
const LEAST: f64 = 1.0;
const WIDTH: u32 = 720;
const BAR: u32 = 9;
const LEFT: u32 = 100;
const TOP: u32 = 56;
const BOTTOM: u32 = 44;

impl Bars {
    /// Writes `NAME.svg` and `NAME.csv`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Picture, Failure> {
        Picture::written(folder, &self.name, &self.title, self.svg().map_err(Failure::work)?, &self.csv())
    }

    fn csv(&self) -> String {
        let of = |words: &str| -> Vec<Column> {
            self.series.iter().map(|name| Column::new(format!("{name}{words}"), Kind::Real)).collect()
        };
        let program = vec![Column::new("program", Kind::Text)];
        let mut table = Table::new([program, of(""), of(", least"), of(", greatest")].concat());
        for (g, (name, values)) in self.groups.iter().enumerate() {
            let spread = |i: usize| self.spread(g, i).unwrap_or((values[i], values[i]));
            let least = (0..values.len()).map(|i| spread(i).0);
            let all = values.iter().copied().chain(least).chain((0..values.len()).map(|i| spread(i).1));
            table.push(std::iter::once(Cell::from(name)).chain(all.map(Cell::Real)));
        }
        table.csv()
    }

    fn svg(&self) -> Result<String, Box<dyn std::error::Error>> {
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, (WIDTH, self.height())).into_drawing_area();
            root.fill(&WHITE)?;
            self.draw(&root).map_err(|e| e.to_string())?;
            root.present()?;
        }
        Ok(text)
    }

    /// Least and greatest of all recordings of a bar.
    fn spread(&self, group: usize, bar: usize) -> Option<(f64, f64)> {
        self.ranges.get(group)?.get(bar).copied()
    }

    /// Pixels of a group: its bars and a gap.
    fn group(&self) -> u32 {
        BAR * (self.series.len() as u32 + 1)
    }
    fn height(&self) -> u32 {
        TOP + BOTTOM + self.group() * self.groups.len() as u32
    }
    fn longest(&self) -> f64 {
        let values = self.groups.iter().flat_map(|g| g.1.iter().copied());
        values.fold(LEAST + 0.1, f64::max).min(self.at_most)
    }

    fn draw(&self, root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Drawn {
        let longest = self.longest();
        let mut chart = ChartBuilder::on(root)
            .margin_top(TOP)
            .margin_right(60)
            .set_label_area_size(LabelAreaPosition::Left, LEFT)
            .set_label_area_size(LabelAreaPosition::Bottom, BOTTOM)
            .build_cartesian_2d(
                Axis::new(LEAST..longest, Scale::Linear),
                0.0..f64::from(self.group() * self.groups.len() as u32),
            )?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(0)
            .x_desc(self.axis)
            .x_label_formatter(&label)
            .light_line_style(WHITE)
            .draw()?;
        let (left, width) = (f64::from(LEFT), f64::from(WIDTH - LEFT - 60));
        let x = |value: f64| (left + width * (value.clamp(LEAST, longest) - LEAST) / (longest - LEAST)) as i32;
        let words = ("sans-serif", 11).into_font();
        for (g, (name, values)) in (0..).zip(&self.groups) {
            let top = (TOP + self.group() * g + BAR / 2) as i32;
            root.draw(&Text::new(
                name.clone(),
                (8, top + self.series.len() as i32 * BAR as i32 / 2 - 6),
                words.clone(),
            ))?;
            for (i, value) in values.iter().enumerate() {
                let from = top + i as i32 * BAR as i32;
                let bar = [(x(LEAST), from), (x(*value).max(x(LEAST) + 1), from + BAR as i32 - 1)];
                root.draw(&Rectangle::new(bar, colour(i).filled()))?;
                if let Some((least, most)) = self.spread(g as usize, i).filter(|(least, most)| least < most) {
                    let middle = from + BAR as i32 / 2;
                    root.draw(&PathElement::new([(x(least), middle), (x(most), middle)], BLACK))?;
                }
                if *value > longest {
                    root.draw(&Text::new(format!("{value:.0}"), (x(longest) + 4, from - 2), words.clone()))?;
                }
            }
        }
        self.legend(root)
    }

    fn legend(&self, root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Drawn {
        root.draw(&Text::new(self.title.clone(), (8, 8), ("sans-serif", 15).into_font()))?;
        let mut at = LEFT as i32;
        for (i, name) in self.series.iter().enumerate() {
            root.draw(&Rectangle::new([(at, 34), (at + 10, 44)], colour(i).filled()))?;
            root.draw(&Text::new(name.clone(), (at + 14, 33), ("sans-serif", 12).into_font()))?;
            at += 30 + 8 * name.chars().count() as i32;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::numbers;

    #[test]
    fn bars_have_three_numbers_on_their_axis_and_ranges() {
        for most in [1.0, 1.001, 1.7, 40.0] {
            let bars = Bars {
                title: "a title".into(),
                axis: "cost (local hits)",
                series: vec!["optimum".into()],
                groups: vec![("gauss".into(), vec![most])],
                at_most: 35.0,
                ranges: vec![vec![(1.0, most + 0.5)]],
                ..Bars::default()
            };
            let svg = bars.svg().expect("drawn");
            assert!(numbers(&svg, "middle") >= 3, "{most}: {svg}");
            assert!(["a title", "cost (local hits)", "gauss", "optimum"].iter().all(|w| svg.contains(w)));
            assert!(bars.csv().starts_with("program,optimum,\"optimum, least\",\"optimum, greatest\"\ngauss,"));
        }
    }
}
