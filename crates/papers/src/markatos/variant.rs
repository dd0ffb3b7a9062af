//! What the paper leaves open, as sets of parameters of its six protocols.
use homenode_coherence::Choice;

/// Page sizes of the paper's figures, in bytes.
pub(super) const PAGES: [u64; 6] = [64, 256, 1024, 4096, 16384, 65536];

/// The protocols as they are printed.
pub(super) const PROTOCOLS: [&str; 6] = ["UPT", "INV", "INV.FREEZ", "UPT.DEL", "INV.DEL", "INV.FREEZ.DEL"];
/// Places in [`PROTOCOLS`].
pub(super) const UPT: usize = 0;
/// Invalidation.
pub(super) const INV: usize = 1;
/// With freezing.
pub(super) const FREEZ: usize = 2;
/// Updates behind a counter.
pub(super) const UPT_DEL: usize = 3;
/// Invalidation behind a counter.
pub(super) const INV_DEL: usize = 4;

/// A choice of parameters.
#[derive(Clone, Copy)]
pub(super) struct Variant {
    /// The open point, and what is chosen instead of the default.
    pub(super) what: &'static str,
    /// What [`PROTOCOLS`] are called with pages of so many bytes.
    named: fn(usize, u64) -> String,
}

/// What the tables say, and defaults where they say nothing.
pub(super) const BASE: Variant = Variant { what: "defaults", named: base };

fn base(role: usize, _: u64) -> String {
    PROTOCOLS[role].to_lowercase().replace('.', "-")
}

/// The freezing protocols with these windows, in shared references.
fn windows(role: usize, page_bytes: u64, recent: u64, defrost: u64) -> String {
    match PROTOCOLS[role] {
        "INV.FREEZ" => format!("inv-freez({recent},{defrost})"),
        "INV.FREEZ.DEL" => format!("inv-freez-del(0,{recent},{defrost})"),
        _ => base(role, page_bytes),
    }
}

/// Other choices: windows of freezing, and counters.
pub(super) const OTHERS: [Variant; 7] = [
    Variant { what: "O1: recent for 1,000 references", named: |r, b| windows(r, b, 1_000, 1_000_000) },
    Variant { what: "O1: recent for 10,000", named: |r, b| windows(r, b, 10_000, 1_000_000) },
    Variant { what: "O1: recent for 1,000,000", named: |r, b| windows(r, b, 1_000_000, 1_000_000) },
    Variant { what: "O1: pages thaw every 100,000", named: |r, b| windows(r, b, 100_000, 100_000) },
    Variant { what: "O1: pages thaw every 10,000,000", named: |r, b| windows(r, b, 100_000, 10_000_000) },
    Variant { what: "O2: an invalidation restarts all counters of the page", named: restarted },
    Variant { what: "counter of the text: bytes / 8, on every access", named: of_the_text },
];

fn restarted(role: usize, page_bytes: u64) -> String {
    match PROTOCOLS[role] {
        "INV.DEL" => "inv-del(0,0,1)".into(),
        "INV.FREEZ.DEL" => "inv-freez-del(0,100000,1000000,0,1)".into(),
        _ => base(role, page_bytes),
    }
}

fn of_the_text(role: usize, page_bytes: u64) -> String {
    let c = page_bytes / 8;
    match PROTOCOLS[role] {
        "UPT.DEL" => format!("upt-del({c},1)"),
        "INV.DEL" => format!("inv-del({c},1)"),
        "INV.FREEZ.DEL" => format!("inv-freez-del({c},100000,1000000,1)"),
        _ => base(role, page_bytes),
    }
}

impl Variant {
    /// A protocol with pages of so many bytes, as it is chosen.
    pub(super) fn protocol(&self, role: usize, page_bytes: u64) -> String {
        let named = (self.named)(role, page_bytes);
        // Written as choices are, so that equal ones are asked once.
        Choice::parse(&named).map_or(named, |choice| key(&choice))
    }
}

/// The name under which answers are kept.
pub(super) fn key(choice: &Choice) -> String {
    choice.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_can_be_asked_and_changes_something() {
        for variant in OTHERS {
            let all = || (0..PROTOCOLS.len()).flat_map(|role| PAGES.map(|page| (role, page)));
            assert!(all().all(|(role, page)| Choice::parse(&variant.protocol(role, page)).is_ok()), "{}", variant.what);
            assert!(all().any(|(role, page)| variant.protocol(role, page) != BASE.protocol(role, page)));
        }
    }
}
