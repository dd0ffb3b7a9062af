//! References by address, time and node, in bounded memory.
//!
//! Two things adapt. Time bins double in length when time runs over the last one. Address bands are aligned and begin as
//! one block each; when more than the limit have been touched, all bands double, so bands exist only where the program
//! touched memory. Both steps only ever add cells together: the counts stay exact and the order of references within a
//! bin does not matter.
use crate::index::place;
use crate::rows::{HeatMap, HeatRow};
use hashbrown::HashMap;
use homenode_base::NodeId;

/// Cells kept at most, all bands, bins and nodes together.
const CELLS_MAX: usize = 1 << 21;
const BANDS_MAX: usize = 4096;

/// The accumulator.
#[derive(Debug)]
pub struct Heat {
    columns: usize,
    nodes: usize,
    band_shift: u32,
    bin_refs: u64,
    bands_max: usize,
    bands: HashMap<u64, u32>,
    /// `columns * nodes` counts for each band.
    cells: Vec<u64>,
    recent: Vec<(u64, u32)>,
    /// Column of the running bin and references left in it.
    column: usize,
    left: u64,
    /// References so far.
    time: u64,
}

const RECENT: usize = 256;
const NONE: u32 = u32::MAX;

impl Heat {
    /// With this many time bins, an even number from 2. Bands begin at `block_bytes`, a power of two.
    pub fn new(columns: usize, nodes: usize, block_bytes: u64) -> Heat {
        assert!(columns >= 2 && columns.is_multiple_of(2), "bins are merged in pairs");
        let nodes = nodes.max(1);
        Heat {
            columns,
            nodes,
            band_shift: block_bytes.trailing_zeros(),
            bin_refs: 1,
            bands_max: (CELLS_MAX / columns / nodes).clamp(16, BANDS_MAX),
            bands: HashMap::new(),
            cells: Vec::new(),
            recent: vec![(0, NONE); RECENT],
            column: 0,
            left: 1,
            time: 0,
        }
    }
    /// Counts `weight` references, all in the bin of the first; virtual time advances by as many.
    #[inline]
    pub fn reference(&mut self, addr: u64, node: NodeId, weight: u32) {
        let weight = u64::from(weight);
        if self.left == 0 {
            self.next_bin();
        }
        let cell = self.cell(addr, node);
        self.cells[cell] += weight;
        self.pass(weight);
    }
    /// Where the references of a node to the band of `addr` are counted now.
    #[inline]
    fn cell(&mut self, addr: u64, node: NodeId) -> usize {
        let band = addr >> self.band_shift;
        let slot = place(band, RECENT);
        let at = match self.recent[slot] {
            (b, at) if b == band && at != NONE => at,
            _ => self.band(addr),
        } as usize;
        (at * self.columns + self.column) * self.nodes + node.index().min(self.nodes - 1)
    }
    /// As [`Heat::reference`] with weight 1, of the reference with this number, from 1: others have passed meanwhile.
    #[inline]
    pub(crate) fn numbered(&mut self, addr: u64, node: NodeId, number: u64) {
        let passed = number - 1 - self.time;
        if passed < self.left {
            // All in the bin that runs.
            (self.time, self.left) = (number, self.left - passed - 1);
            let cell = self.cell(addr, node);
            self.cells[cell] += 1;
        } else {
            self.pass_to(number - 1);
            self.reference(addr, node, 1);
        }
    }
    /// Virtual time reaches `time`.
    #[inline]
    pub(crate) fn pass_to(&mut self, time: u64) {
        self.pass(time - self.time);
    }
    /// Adds the counts of another map whose time is the same.
    pub(crate) fn absorb(&mut self, mut other: Heat) {
        while self.band_shift < other.band_shift {
            self.double_bands();
        }
        while other.band_shift < self.band_shift {
            other.double_bands();
        }
        let mut bands: Vec<(u64, u32)> = other.bands.iter().map(|(&b, &i)| (b, i)).collect();
        bands.sort_unstable();
        let size = self.columns * self.nodes;
        for (band, at) in bands {
            // Bands may double here too: then this one is a half of what it goes into.
            let to = self.band(band << other.band_shift) as usize * size;
            let from = &other.cells[at as usize * size..][..size];
            self.cells[to..to + size].iter_mut().zip(from).for_each(|(sum, more)| *sum += more);
        }
    }
    #[inline]
    fn pass(&mut self, mut weight: u64) {
        self.time += weight;
        while weight > self.left {
            weight -= self.left;
            self.next_bin();
        }
        self.left -= weight;
    }
    #[cold]
    fn next_bin(&mut self) {
        self.column += 1;
        if self.column == self.columns {
            self.merge_bins();
            self.column = self.columns / 2;
            self.bin_refs *= 2;
        }
        self.left = self.bin_refs;
    }
    fn merge_bins(&mut self) {
        let (columns, nodes) = (self.columns, self.nodes);
        for band in self.cells.chunks_mut(columns * nodes) {
            for column in 0..columns {
                for n in 0..nodes {
                    let sum = if column < columns / 2 {
                        band[2 * column * nodes + n] + band[(2 * column + 1) * nodes + n]
                    } else {
                        0
                    };
                    band[column * nodes + n] = sum;
                }
            }
        }
    }
    /// Index of the band of `addr`, made if there is none.
    #[cold]
    fn band(&mut self, addr: u64) -> u32 {
        while !self.bands.contains_key(&(addr >> self.band_shift)) && self.bands.len() == self.bands_max {
            self.double_bands();
        }
        let band = addr >> self.band_shift;
        let next = self.bands.len() as u32;
        let at = *self.bands.entry(band).or_insert(next);
        if at == next {
            self.cells.resize(self.cells.len() + self.columns * self.nodes, 0);
        }
        self.recent[place(band, RECENT)] = (band, at);
        at
    }
    fn double_bands(&mut self) {
        let size = self.columns * self.nodes;
        let old = std::mem::take(&mut self.cells);
        let mut bands: Vec<(u64, u32)> = self.bands.drain().collect();
        bands.sort_unstable();
        for (band, at) in bands {
            let next = self.bands.len() as u32;
            let to = *self.bands.entry(band / 2).or_insert(next) as usize;
            self.cells.resize(self.bands.len() * size, 0);
            let from = &old[at as usize * size..(at as usize + 1) * size];
            self.cells[to * size..(to + 1) * size].iter_mut().zip(from).for_each(|(sum, more)| *sum += more);
        }
        self.band_shift += 1;
        self.recent.fill((0, NONE));
    }
    /// The map with at most `rows` rows: neighbouring bands are joined, as evenly as their number allows, but never
    /// across the gaps that are widest. `words` answers with home and object for (address, bytes) of a row.
    pub fn finish(&self, rows: usize, mut words: impl FnMut(u64, u64) -> (u16, String)) -> HeatMap {
        let mut bands: Vec<(u64, u32)> = self.bands.iter().map(|(&b, &i)| (b, i)).collect();
        bands.sort_unstable();
        let used = self.column + 1;
        let size = self.columns * self.nodes;
        let mut map = HeatMap { columns: used as u32, bin_refs: self.bin_refs, rows: Vec::new() };
        for group in groups(&bands, rows) {
            let mut cells = vec![vec![0u64; self.nodes]; used];
            for &(_, at) in group {
                let from = &self.cells[at as usize * size..][..used * self.nodes];
                cells.iter_mut().flatten().zip(from).for_each(|(sum, more)| *sum += more);
            }
            let addr = group[0].0 << self.band_shift;
            let last = (group[group.len() - 1].0 << self.band_shift).wrapping_add((1 << self.band_shift) - 1);
            let bytes = (last - addr).saturating_add(1);
            let (home, object) = words(addr, bytes);
            map.rows.push(HeatRow { addr, bytes, object, home, cells });
        }
        map
    }
    /// Bytes of memory held, about.
    pub fn memory_bytes(&self) -> usize {
        self.cells.capacity() * 8 + self.bands.capacity() * 13 + RECENT * 16
    }
}

/// Splits ascending bands into at most `rows` runs: first at the widest gaps (half of the runs at most), then evenly.
fn groups(bands: &[(u64, u32)], rows: usize) -> Vec<&[(u64, u32)]> {
    let rows = rows.max(1);
    if bands.is_empty() {
        return Vec::new();
    }
    let mut gaps: Vec<(u64, usize)> =
        (1..bands.len()).map(|i| (bands[i].0 - bands[i - 1].0, i)).filter(|g| g.0 > 1).collect();
    gaps.sort_unstable_by_key(|&(gap, i)| (std::cmp::Reverse(gap), i));
    gaps.truncate((rows / 2).min(rows - 1));
    let mut cuts: Vec<usize> = gaps.into_iter().map(|g| g.1).chain([0, bands.len()]).collect();
    cuts.sort_unstable();
    // Every run gets one row, the rest in proportion to the bands that could still be apart.
    let room = bands.len() - (cuts.len() - 1);
    let spare = (rows - (cuts.len() - 1)).min(room);
    let (mut out, mut before) = (Vec::new(), 0);
    for run in cuts.windows(2).map(|w| &bands[w[0]..w[1]]) {
        let after = before + run.len() - 1;
        let parts = 1 + spare * after / room.max(1) - spare * before / room.max(1);
        out.extend((0..parts).map(|k| &run[k * run.len() / parts..(k + 1) * run.len() / parts]));
        before = after;
    }
    out
}
