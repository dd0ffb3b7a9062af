//! Where the program calls library code that was compiled into it and not inlined: of a reference in a header of the language
//! (`fetch_add`, the reference counts of `shared_ptr`, `std::fill`) the line that the programmer can change is the call.
//! Found in the machine code: direct calls, followed outward through library code to the program's own lines. A function
//! that is called from several lines has all of them: which one a reference came by is not recorded.
use super::returns::Code;
use crate::answers::Place;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Calls on the way from a library function to the program's code.
const DEPTH_MAX: usize = 24;
/// Lines kept for one function; more say nothing.
const PLACES_MAX: usize = 8;
/// Functions looked at for one place.
const FUNCTIONS_MAX: usize = 4096;

/// Calls by the function that they reach.
pub(super) struct CallSites {
    calls: HashMap<u64, Vec<u64>>,
}

impl CallSites {
    pub(super) fn of(code: &Code<'_>) -> CallSites {
        CallSites { calls: code.calls() }
    }

    /// The lines of the program, by way of library code, from which the function around this address is called; `users`
    /// says where an address is if that is the program's own code. Empty if none is found or there are too many.
    pub(super) fn outside(
        &self,
        code: &Code<'_>,
        address: u64,
        users: &mut dyn FnMut(u64) -> Option<Place>,
    ) -> Vec<Place> {
        let mut found: BTreeMap<(String, u32), Place> = BTreeMap::new();
        let mut seen: BTreeSet<u64> = BTreeSet::new();
        let mut front: Vec<u64> = code.begin(address).into_iter().collect();
        for _ in 0..DEPTH_MAX {
            let mut next = Vec::new();
            for function in front {
                if !seen.insert(function) {
                    continue;
                }
                for &call in self.calls.get(&function).into_iter().flatten() {
                    match users(call) {
                        Some(place) => drop(found.insert((place.file.clone(), place.line), place)),
                        None => next.extend(code.begin(call)),
                    }
                }
            }
            if found.len() > PLACES_MAX || seen.len() > FUNCTIONS_MAX {
                return Vec::new();
            }
            front = next;
        }
        found.into_values().collect()
    }
}
