//! Pages that no sample fell on.
//!
//! A sampled recording is silent about most of the pages that are little used. They get the home of the nearest page of
//! the same object that has one, since neighbours tend to have the same user (the thesis lets silent heap blocks follow
//! a sampled neighbour on their page; Thakkar 2008, section 2.5.2). A wrong guess costs little: what no sample fell on is
//! used little.
use crate::keys::Keys;
use crate::unit::Unit;
use homenode_base::NodeId;
use homenode_objects::ObjectTable;
use homenode_placement::counts::PageKey;
use homenode_placement::plan::ObjectKey;
use std::collections::BTreeMap;

/// Objects larger than this many pages keep their silent pages as they are.
const PAGES_MAX: u64 = 1 << 22;

/// Homes of silent pages: (page, home, object).
pub(crate) fn silent(units: &[Unit], keys: &Keys, table: &ObjectTable, page_bytes: u64) -> Vec<(PageKey, NodeId, u32)> {
    let mut known: BTreeMap<PageKey, Option<NodeId>> = BTreeMap::new();
    units.iter().for_each(|u| u.pages.iter().for_each(|p| _ = known.insert(*p, u.home)));
    let mut found = Vec::new();
    for (id, object) in (0..).zip(table.objects()) {
        let heap = matches!(keys.of.get(id as usize), Some(Ok(ObjectKey::Heap { .. } | ObjectKey::Symbol { .. })));
        let pages = object.bytes.div_ceil(page_bytes);
        if !heap || object.bytes < page_bytes || pages > PAGES_MAX {
            continue;
        }
        let (first, last) = (object.addr / page_bytes, object.addr.saturating_add(object.bytes - 1) / page_bytes);
        let range = PageKey { space: object.space, page: first }..=PageKey { space: object.space, page: last };
        let sampled: Vec<(u64, NodeId)> =
            known.range(range).filter_map(|(k, home)| home.map(|h| (k.page, h))).collect();
        for page in first..=last {
            let key = PageKey { space: object.space, page };
            if let (false, Some(home)) = (known.contains_key(&key), nearest(&sampled, page)) {
                found.push((key, home, id));
            }
        }
    }
    found
}

/// The home of the nearest page that has one; of two equally near the lower.
fn nearest(sampled: &[(u64, NodeId)], page: u64) -> Option<NodeId> {
    let after = sampled.partition_point(|(p, _)| *p < page);
    let below = after.checked_sub(1).and_then(|i| sampled.get(i));
    match (below, sampled.get(after)) {
        (Some(low), Some(high)) if high.0 - page < page - low.0 => Some(high.1),
        (Some(low), _) => Some(low.1),
        (None, high) => high.map(|(_, home)| *home),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_pages_follow_the_nearest_neighbour() {
        let sampled = [(10, NodeId(0)), (20, NodeId(1))];
        let homes: Vec<Option<u16>> = [0, 11, 15, 16, 99].map(|p| nearest(&sampled, p).map(|n| n.0)).to_vec();
        assert_eq!(homes, [Some(0), Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(nearest(&[], 5), None);
    }
}
