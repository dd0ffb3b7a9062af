//! What the kernel's sysfs says about the performance-monitoring units of this machine. The root is a parameter, so that
//! snapshots of other machines can be read too.
use homenode_sys::perf::Attr;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Most bits that one configuration word has.
const WORD_BITS: u32 = 64;

/// One unit: a directory below `bus/event_source/devices`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmu {
    dir: PathBuf,
    /// Name.
    pub name: String,
    /// Number for [`Attr::kind`].
    pub kind: u32,
    /// Processors that it covers; empty = all.
    pub cpus: Vec<u32>,
}

/// Where bits of a value go: configuration word 0 to 3 and bit ranges, lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Format {
    word: usize,
    ranges: Vec<(u32, u32)>,
}

impl Pmu {
    /// The unit of this name.
    pub fn open(sysfs: &Path, name: &str) -> Option<Pmu> {
        let dir = sysfs.join("bus/event_source/devices").join(name);
        let kind = fs::read_to_string(dir.join("type")).ok()?.trim().parse().ok()?;
        let list = ["cpus", "cpumask"].iter().find_map(|f| fs::read_to_string(dir.join(f)).ok());
        let cpus = list.and_then(|l| parse_list(&l)).unwrap_or_default();
        Some(Pmu { dir, name: name.to_owned(), kind, cpus })
    }
    /// Whether it has a field of this name.
    pub fn has_format(&self, field: &str) -> bool {
        self.dir.join("format").join(field).exists()
    }
    /// Whether it names this event.
    pub fn has_event(&self, event: &str) -> bool {
        self.dir.join("events").join(event).exists()
    }
    /// Greatest [`Attr::precise`]; `None` if the unit does not say.
    pub fn max_precise(&self) -> Option<u64> {
        fs::read_to_string(self.dir.join("caps/max_precise")).ok()?.trim().parse().ok()
    }
    /// The attribute of a named event with these fields set besides.
    ///
    /// # Errors
    /// A line saying which file of the unit does not make sense.
    pub fn event(&self, event: &str, more: &[(&str, u64)]) -> Result<Attr, String> {
        let path = self.dir.join("events").join(event);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut terms =
            parse_terms(&text).ok_or_else(|| format!("{}: cannot read `{}`", path.display(), text.trim()))?;
        for &(field, value) in more {
            terms.insert(field.to_owned(), value);
        }
        self.attr(&terms)
    }
    /// The attribute with these fields set.
    ///
    /// # Errors
    /// As [`Pmu::event`].
    pub fn attr(&self, terms: &BTreeMap<String, u64>) -> Result<Attr, String> {
        let mut words = [0_u64; 4];
        for (field, &value) in terms {
            let path = self.dir.join("format").join(field);
            let format = fs::read_to_string(&path).ok().and_then(|t| parse_format(&t));
            let format = format.ok_or_else(|| format!("{}: missing or not understood", path.display()))?;
            words[format.word] |=
                format.place(value).ok_or_else(|| format!("{}: the value {value:#x} does not fit", path.display()))?;
        }
        let mut attr = Attr::new(self.kind, words[0]);
        [attr.config1, attr.config2, attr.config3] = [words[1], words[2], words[3]];
        Ok(attr)
    }
}

impl Format {
    /// The value's bits at their places; `None` if it has more bits than places.
    fn place(&self, mut value: u64) -> Option<u64> {
        let mut word = 0;
        for &(low, high) in &self.ranges {
            let count = high - low + 1;
            let mask = u64::MAX >> (WORD_BITS - count);
            word |= (value & mask) << low;
            value = value.checked_shr(count).unwrap_or(0);
        }
        (value == 0).then_some(word)
    }
}

/// `config1:0-7,21`.
fn parse_format(text: &str) -> Option<Format> {
    let (word, ranges) = text.trim().split_once(':')?;
    let word = ["config", "config1", "config2", "config3"].iter().position(|w| *w == word)?;
    let ranges = ranges.split(',').map(parse_range).collect::<Option<Vec<_>>>()?;
    ranges.iter().all(|r| r.1 < WORD_BITS).then_some(Format { word, ranges })
}

/// `3` or `0-7`.
fn parse_range(text: &str) -> Option<(u32, u32)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let range = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (range.0 <= range.1).then_some(range)
}

/// `event=0xcd,umask=0x1,ldlat=3`; a field without value is 1.
fn parse_terms(text: &str) -> Option<BTreeMap<String, u64>> {
    let number = |t: &str| match t.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => t.parse().ok(),
    };
    let term = |t: &str| match t.split_once('=') {
        Some((field, value)) => Some((field.to_owned(), number(value)?)),
        None => Some((t.to_owned(), 1)),
    };
    text.trim().split(',').map(term).collect()
}

/// A list of processors as sysfs writes it: `0-3,8`. `None` if it is not one or names more than 2^16 processors.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.trim().split(',').filter(|p| !p.is_empty()) {
        let (low, high) = parse_range(part)?;
        if high >= 1 << 16 {
            return None;
        }
        all.extend(low..=high);
    }
    Some(all)
}
