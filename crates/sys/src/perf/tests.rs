//! The wrapper against a live kernel: software events need no PMU. Containers may forbid the call altogether, which is
//! then the only thing to see.
use super::attr::{KIND_SOFTWARE, SOFTWARE_PAGE_FAULTS, flag, sample};
use super::ring::copy_wrapped;
use super::*;

fn faults() -> Attr {
    let mut attr = Attr::new(KIND_SOFTWARE, SOFTWARE_PAGE_FAULTS).with(flag::DISABLED | flag::EXCLUDE_KERNEL);
    attr.period = 1;
    attr.sample_type = sample::ADDR;
    attr
}

#[test]
fn the_structure_has_the_layout_of_the_kernel() {
    assert_eq!(size_of::<Attr>(), 136);
    assert_eq!(std::mem::offset_of!(Attr, flags), 40);
    assert_eq!(std::mem::offset_of!(Attr, clockid), 92);
    assert_eq!(std::mem::offset_of!(Attr, config3), 128);
    assert_eq!(Attr::new(1, 2).with(flag::TASK).precise(2).flags, 1 << 13 | 2 << 15);
    assert_eq!(Attr::new(1, 2).precise(3).precise(1).flags, 1 << 15);
}

#[test]
fn bytes_come_out_in_order_across_the_end_of_the_ring() {
    let area: Vec<u8> = (0..16).collect();
    for (tail, bytes, wanted) in [
        (0, 4, vec![0, 1, 2, 3]),
        (14, 4, vec![14, 15, 0, 1]),
        (16, 2, vec![0, 1]),
        (u64::MAX, 2, vec![15, 0]),
        (5, 0, vec![]),
    ] {
        let mut out = Vec::new();
        copy_wrapped(&area, tail, bytes, &mut out);
        assert_eq!(out, wanted, "{tail}");
    }
    let mut out = Vec::new();
    copy_wrapped(&area, 3, 16, &mut out);
    assert_eq!(out, [&area[3..], &area[..3]].concat());
}

#[test]
fn touched_pages_appear_in_the_ring_and_pause_and_period_are_obeyed() {
    // SAFETY: gettid takes nothing.
    let tid = unsafe { libc::gettid() }.unsigned_abs();
    let event = match Event::open(&faults(), Some(tid), None, None) {
        Ok(event) => event,
        Err(e) => {
            assert!(matches!(e.raw_os_error(), Some(libc::EACCES | libc::EPERM | libc::ENOSYS)), "{e}");
            return;
        }
    };
    assert!(event.id().unwrap() > 0);
    let mut ring = Ring::map(&event, 1 << 16).unwrap();
    // Memory that nobody touched before: the heap may hand out what an earlier test gave back.
    let touch = || {
        let mut block = crate::chase::Buffer::map(65 << 12, false).unwrap();
        block.words_mut().iter_mut().step_by(512).for_each(|w| *w = 1);
        block
    };
    let mut out = Vec::new();
    let off = touch();
    assert_eq!(ring.drain(&mut out), 0, "it starts switched off");
    event.enable().unwrap();
    let on = touch();
    event.disable().unwrap();
    let all = ring.drain(&mut out);
    assert!(
        all >= 64 * 16 && all == out.len() && all.is_multiple_of(16),
        "{all} bytes of 16-byte records for 65 pages"
    );
    let from = on.address();
    let inside = out.chunks(16).map(|r| u64::from_le_bytes(r[8..].try_into().unwrap()));
    assert!(inside.filter(|a| (from..from + on.bytes() as u64).contains(a)).count() >= 64);
    assert_eq!(ring.drain(&mut out), 0, "what was drained is gone");
    event.set_period(1000).unwrap();
    assert!(event.set_period(0).is_err());
    drop((off, on));
}

#[test]
fn bad_arguments_are_errors() {
    assert!(Event::open(&faults(), Some(u32::MAX), None, None).is_err());
    assert!(Event::open(&Attr::new(u32::MAX, 0), Some(std::process::id()), None, None).is_err());
    if let Ok(event) = Event::open(&faults(), Some(std::process::id()), None, None) {
        assert!(Ring::map(&event, usize::MAX).is_err());
        assert!(AuxRing::map(&event, 1, 4096).is_err(), "page faults have no AUX area");
        let _ring = Ring::map(&event, 1).unwrap();
        let mut over = [false];
        wait([&event].into_iter(), &mut over, Duration::ZERO).unwrap();
        assert_eq!(over, [false]);
    }
    assert!(raise_open_files().unwrap() >= 3);
}
