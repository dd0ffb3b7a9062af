//! A world of fixed arrays.
use homenode_analysis::{ObjectName, SiteName, UNKNOWN_OBJECT};
use homenode_sim::{ObjectRange, Objects};
use homenode_trace::Event;

/// Arrays as (name, first byte, bytes), ascending.
#[derive(Clone)]
pub(crate) struct Arrays(pub(crate) Vec<(&'static str, u64, u64)>);

impl Objects for Arrays {
    fn fork(&self) -> Option<Box<dyn Objects + '_>> {
        Some(Box::new(self.clone()))
    }
    fn event(&mut self, _: &Event) {}
    fn at(&mut self, space: u32, addr: u64) -> ObjectRange {
        let here = |(_, from, bytes): &(_, u64, u64)| space == 0 && (*from..from + bytes).contains(&addr);
        match self.0.iter().position(here) {
            Some(i) => ObjectRange { object: i as u32, from: self.0[i].1, last: self.0[i].1 + self.0[i].2 - 1 },
            None => ObjectRange { object: UNKNOWN_OBJECT, from: addr, last: addr },
        }
    }
    fn object(&self, object: u32) -> ObjectName {
        let (name, _, bytes) = self.0[object as usize];
        let place = Some(format!("{name}.c:7"));
        let kind = "global".into();
        ObjectName { name: name.into(), kind, place, function: None, instances: 1, bytes }
    }
    fn extent(&self, object: u32, _: u32, _: u64) -> Option<(u64, u64)> {
        self.0.get(object as usize).map(|(_, from, bytes)| (*from, *bytes))
    }
    fn site(&self, site: u32) -> SiteName {
        SiteName { place: format!("main.c:{site}"), function: "work".into() }
    }
}
