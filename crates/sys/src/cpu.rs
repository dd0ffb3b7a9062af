//! What the processor says of itself that no file does, and how long a thread had it.

/// The signature of the hypervisor or emulator (`KVMKVMKVM`, `TCGTCGTCGTCG`, `Microsoft Hv` ...); `None` on real hardware
/// and on processors that cannot be asked.
pub fn hypervisor() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        const HYPERVISOR: u32 = 1 << 31;
        if __cpuid(1).ecx & HYPERVISOR == 0 {
            return None;
        }
        // Leaf 0x4000_0000 is defined where the hypervisor bit of leaf 1 is set.
        let leaf = __cpuid(0x4000_0000);
        let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|r| r.to_le_bytes()).collect();
        let name: String = bytes.iter().map(|b| char::from(*b)).filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
        Some(name.trim().to_owned())
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        None
    }
}

/// Processor time that the calling thread has used so far, in nanoseconds.
pub fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    #[test]
    fn sleeping_takes_no_processor_time_and_working_does() {
        let start = super::thread_ns();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let slept = super::thread_ns() - start;
        assert!(slept < 20_000_000, "{slept}");
        while super::thread_ns() - start < 2_000_000 {}
    }

    #[test]
    fn the_hypervisor_bit_agrees_with_the_kernel() {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = info.lines().find(|l| l.starts_with("flags")).unwrap_or("");
        let virtual_machine = flags.split_whitespace().any(|f| f == "hypervisor");
        assert_eq!(super::hypervisor().is_some(), virtual_machine);
    }
}
