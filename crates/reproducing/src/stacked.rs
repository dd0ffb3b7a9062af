//! Stacked bars, as studies draw execution times.
use homenode_command::Failure;
use homenode_judging::Drawn;
use homenode_judging::page::Picture;
use homenode_table::{Cell, Column, Kind, Table};
use std::fmt::Write;
use std::path::Path;

const WRITES: &str = "writing to a string cannot fail";
const COLOURS: [&str; 8] = ["#2f6690", "#81c3d7", "#c0392b", "#9aa66b", "#d9a05b", "#7a7a7a", "#6c4f8b", "#d5d5d5"];
const BAR: f64 = 12.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 52.0;
const WIDTH: f64 = 560.0;

/// One picture.
pub struct Stacked {
    /// Name of its files, without ending.
    pub name: String,
    /// Title.
    pub title: String,
    /// What the bars measure, with its unit.
    pub axis: &'static str,
    /// Names of the pieces of a bar.
    pub pieces: Vec<&'static str>,
    /// Bars by name.
    pub bars: Vec<(String, Vec<f64>)>,
}

/// All pictures of the page.
pub struct Stacks(pub Vec<Stacked>);

impl Drawn for Stacks {
    fn write(&self, folder: &Path) -> Result<Vec<Picture>, Failure> {
        self.0.iter().map(|s| s.write(folder)).collect()
    }
}

impl Stacked {
    /// Writes `NAME.svg` and `NAME.csv`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Picture, Failure> {
        Picture::written(folder, &self.name, &self.title, self.svg(), &self.csv())
    }
    fn csv(&self) -> String {
        let pieces = self.pieces.iter().map(|name| Column::new(*name, Kind::Real));
        let mut table = Table::new(std::iter::once(Column::new("run", Kind::Text)).chain(pieces).collect());
        for (name, values) in &self.bars {
            table.push(std::iter::once(Cell::from(name)).chain(values.iter().map(|v| Cell::Real(*v))));
        }
        table.csv()
    }

    fn svg(&self) -> String {
        let longest = self.bars.iter().map(|b| b.1.iter().sum::<f64>()).fold(1e-9, f64::max);
        let bottom = TOP + (BAR + 3.0) * self.bars.len() as f64;
        let x = |value: f64| LEFT + WIDTH * value / longest;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/><text x=\"8\" y=\"16\" font-size=\"13\">{}</text>\n",
            LEFT + WIDTH + 40.0,
            bottom + 40.0,
            self.title
        );
        let mut at = LEFT;
        for (i, piece) in self.pieces.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            write!(out, "<rect x=\"{at:.0}\" y=\"28\" width=\"10\" height=\"10\" fill=\"{colour}\"/>").expect(WRITES);
            writeln!(out, "<text x=\"{:.0}\" y=\"37\">{piece}</text>", at + 13.0).expect(WRITES);
            at += 26.0 + 7.0 * piece.chars().count() as f64;
        }
        for (b, (name, values)) in self.bars.iter().enumerate() {
            let y = TOP + (BAR + 3.0) * b as f64;
            writeln!(out, "<text x=\"8\" y=\"{:.0}\">{name}</text>", y + 10.0).expect(WRITES);
            let mut sum = 0.0;
            for (i, value) in values.iter().enumerate() {
                let (from, to) = (x(sum), x(sum + value));
                sum += value;
                let colour = COLOURS[i % COLOURS.len()];
                let width = to - from;
                writeln!(
                    out,
                    "<rect x=\"{from:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>"
                )
                .expect(WRITES);
            }
        }
        let step = step(longest);
        for tick in 0..=(longest / step) as u32 {
            let value = f64::from(tick) * step;
            let (at, text) = (x(value), (value * 1000.0).round() / 1000.0);
            writeln!(out, "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom:.0}\" stroke=\"#bbb\"/>")
                .expect(WRITES);
            let y = bottom + 14.0;
            writeln!(out, "<text x=\"{at:.1}\" y=\"{y:.0}\" text-anchor=\"middle\">{text}</text>").expect(WRITES);
        }
        let middle = LEFT + WIDTH / 2.0;
        writeln!(
            out,
            "<text x=\"{middle:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>\n</svg>",
            bottom + 30.0,
            self.axis
        )
        .expect(WRITES);
        out
    }
}

/// Between numbers on the axis: 1, 2 or 5 times a power of ten, so that there are at least four.
fn step(longest: f64) -> f64 {
    let rough = longest / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    [5.0, 2.0, 1.0].map(|n| n * power).into_iter().find(|s| *s <= rough).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_four_numbers_at_least_and_a_bar_its_pieces() {
        for longest in [0.3, 1.0, 1.9, 7.0, 64.0] {
            assert!((3.99..11.0).contains(&(longest / step(longest))), "{longest}: {}", step(longest));
        }
        let bars = vec![("a".to_owned(), vec![0.25, 0.5]), ("b".to_owned(), vec![1.0, 0.0])];
        let s = Stacked { name: "s".into(), title: "t".into(), axis: "time", pieces: vec!["one", "two"], bars };
        let svg = s.svg();
        assert!(svg.contains("width=\"140.0\"") && svg.contains("width=\"560.0\""), "{svg}");
        assert_eq!(s.csv().lines().count(), 3);
    }
}
