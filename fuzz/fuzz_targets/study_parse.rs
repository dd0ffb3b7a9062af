//! Any bytes as a study. What is accepted can be counted without being expanded, and its first and last machines are sound
//! or refused with one line; nothing panics or takes memory for what is merely claimed.
#![no_main]
use homenode_machine::models;
use homenode_sweep::Study;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let resolve = |name: &str| models::find(name).ok_or_else(|| format!("there is no machine '{name}'"));
    match Study::from_toml(&text, "study", &resolve) {
        Err(e) => assert!(!e.to_string().is_empty()),
        Ok(study) => {
            assert!(study.points() > 0);
            let last = study.machine_count() - 1;
            for number in [0, last / 2, last] {
                if let Ok(point) = study.point(number) {
                    assert_eq!(point.machine.validate(), Ok(()));
                }
            }
            assert!(last.checked_add(1).is_none_or(|n| study.point(n).is_err()));
        }
    }
});
