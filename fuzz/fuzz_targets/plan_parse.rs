//! Any bytes as a placement plan: what is accepted is sound, is written back to an equal one, and its processors and nodes
//! are checked against a machine; an error is one line.
#![no_main]
use homenode_machine::models;
use homenode_placement::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match Plan::from_json(&text) {
        Err(e) => assert_eq!(e.to_string().lines().count(), 1, "{e}"),
        Ok(plan) => {
            assert_eq!(plan.validate(), Ok(()));
            assert_eq!(Plan::from_json(&plan.to_json()).as_ref(), Ok(&plan));
            for spec in models::ALL {
                let machine = models::find(spec.name).expect("in the registry");
                if plan.check_machine(&machine).is_ok() {
                    assert!(plan.threads.iter().all(|p| machine.node_of(homenode_base::CpuId(p.cpu)).is_some()));
                }
            }
        }
    }
});
