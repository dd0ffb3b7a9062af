//! Where memory lives and where threads run: page placement and movement, memory policies, processor sets, and the scan
//! of a page table for huge pages. Nodes are operating-system numbers here.
use crate::check;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Nodes that a mask of this module can name: 0 to this, exclusive.
pub const MAX_NODES: u32 = 1024;
/// Processors that [`set_affinity`] and [`affinity`] can name: 0 to this, exclusive.
pub const MAX_CPUS: u32 = 4096;
/// A `status` that the kernel never writes: the page was not looked at.
pub const UNTOUCHED: i32 = i32::MIN;
const WORDS: usize = MAX_NODES as usize / 64;
const CPU_WORDS: usize = MAX_CPUS as usize / 64;

/// How memory is placed: `MPOL_*` of set_mempolicy(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Mode {
    /// The default of the surroundings: of the process for a range, first touch for a process.
    Default = 0,
    /// On the node if it has room, else elsewhere.
    Preferred = 1,
    /// On these nodes only.
    Bind = 2,
    /// Page by page in turn.
    Interleave = 3,
    /// Where the thread runs that touches it.
    Local = 4,
    /// On these nodes if they have room, else elsewhere (Linux 5.15).
    PreferredMany = 5,
    /// Page by page in turn, by the weights in sysfs (Linux 6.9).
    WeightedInterleave = 6,
}

/// May be or-ed to a mode: the kernel's balancing goes on within a [`Mode::Bind`] policy (Linux 5.12).
pub const BALANCE: i32 = 1 << 13;
/// Flag of [`mbind`]: pages already there are moved, those shared with other processes excepted.
pub const MOVE: u32 = 1 << 1;
/// Flag of [`mbind`]: fail with EIO if a page is not and cannot be brought where the policy says.
pub const STRICT: u32 = 1;
const MOVE_ALL: i32 = 1 << 2;

fn mask(nodes: &[u32]) -> io::Result<[u64; WORDS]> {
    let mut words = [0; WORDS];
    for &n in nodes {
        let word = words.get_mut(n as usize / 64);
        let word = word.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("no node can be {n}")))?;
        *word |= 1 << (n % 64);
    }
    Ok(words)
}

/// What the kernel wants: no pointer for no nodes.
fn pointer(nodes: &[u32], words: &[u64; WORDS]) -> (*const u64, usize) {
    if nodes.is_empty() { (std::ptr::null(), 0) } else { (words.as_ptr(), MAX_NODES as usize + 1) }
}

fn members(words: &[u64]) -> Vec<u32> {
    let bits = |(w, bits): (usize, &u64)| {
        let bits = *bits;
        (0..64).filter(move |b| bits >> b & 1 == 1).map(move |b| (w * 64) as u32 + b)
    };
    words.iter().enumerate().flat_map(bits).collect()
}

fn checked(result: libc::c_long) -> io::Result<u64> {
    u64::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn pid_of(pid: u32) -> io::Result<libc::pid_t> {
    libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))
}

/// Asks where pages of a process are (`pid` 0 = this one): `status[i]` becomes the node of the page that contains
/// `pages[i]`, or a negative error number (-ENOENT: not there, -EFAULT: no mapping or the zero page).
///
/// # Errors
/// EPERM or EACCES for a process that this user may not look into, ESRCH for one that is gone, EINVAL for arrays of
/// different lengths.
pub fn query_pages(pid: u32, pages: &[u64], status: &mut [i32]) -> io::Result<()> {
    pages_call(pid, pages, None, status, false).map(|_| ())
}

/// Moves pages of a process (`pid` 0 = this one) to the nodes given, one for each page, and returns how many the kernel
/// left where they were (more than 0 since Linux 4.17). `status[i]` becomes the node or a negative error number; where the
/// kernel gave up before, it keeps what it was, so fill it with [`UNTOUCHED`]. `shared`: pages that other processes map
/// too (CAP_SYS_NICE).
///
/// # Errors
/// As [`query_pages`]; EACCES and ENODEV where a node is forbidden or does not exist, ENOMEM where one is full. Pages may
/// have moved although an error is returned.
pub fn move_pages(pid: u32, pages: &[u64], nodes: &[i32], status: &mut [i32], shared: bool) -> io::Result<u64> {
    pages_call(pid, pages, Some(nodes), status, shared)
}

fn pages_call(pid: u32, pages: &[u64], nodes: Option<&[i32]>, status: &mut [i32], shared: bool) -> io::Result<u64> {
    if nodes.is_some_and(|n| n.len() != pages.len()) || status.len() != pages.len() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let flags: i32 = if shared { MOVE_ALL } else { MOVE as i32 };
    let nodes = nodes.map_or(std::ptr::null(), <[i32]>::as_ptr);
    // SAFETY: the three arrays have `pages.len()` elements each; the kernel reads the first two and writes the third.
    // Moving a page changes neither its contents nor its address, so no reference into it is harmed.
    checked(unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid_of(pid)?,
            pages.len(),
            pages.as_ptr(),
            nodes,
            status.as_mut_ptr(),
            flags,
        )
    })
}

/// Sets the policy of an address range of this process. `mode` is a [`Mode`], perhaps with [`BALANCE`]; `addr` a multiple
/// of the page size; `flags` of [`MOVE`] and [`STRICT`].
///
/// # Errors
/// EFAULT where nothing is mapped, EINVAL for a mode or node that the kernel does not have, EIO, ENOMEM.
pub fn mbind(addr: u64, bytes: u64, mode: i32, nodes: &[u32], flags: u32) -> io::Result<()> {
    let words = mask(nodes)?;
    let (nodes, bits) = pointer(nodes, &words);
    // SAFETY: the mask has MAX_NODES bits (the kernel reads one less than it is told). The policy of a range does not
    // change its contents.
    checked(unsafe { libc::syscall(libc::SYS_mbind, addr, bytes, mode, nodes, bits, flags) }).map(|_| ())
}

/// Sets the policy of this thread; children inherit it, also over execve(2).
///
/// # Errors
/// EINVAL for a mode or node that the kernel does not have or the cpuset forbids.
pub fn set_mempolicy(mode: i32, nodes: &[u32]) -> io::Result<()> {
    let words = mask(nodes)?;
    let (nodes, bits) = pointer(nodes, &words);
    // SAFETY: as in `mbind`.
    checked(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, nodes, bits) }).map(|_| ())
}

/// The policy of this thread (`addr` none) or of the page at an address of this process: mode with flags, and nodes.
///
/// # Errors
/// EFAULT where nothing is mapped.
pub fn mempolicy(addr: Option<u64>) -> io::Result<(i32, Vec<u32>)> {
    const MPOL_F_ADDR: libc::c_ulong = 1 << 1;
    let (mut mode, mut words) = (0i32, [0u64; WORDS]);
    let flags = if addr.is_some() { MPOL_F_ADDR } else { 0 };
    // SAFETY: the kernel writes one int and at most MAX_NODES bits; the address is only looked up.
    checked(unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            words.as_mut_ptr(),
            MAX_NODES as usize,
            addr.unwrap_or(0),
            flags,
        )
    })?;
    Ok((mode, members(&words)))
}

/// The nodes on which the limits of this process (cpuset) allow memory.
///
/// # Errors
/// ENOSYS on a kernel without NUMA.
pub fn allowed_nodes() -> io::Result<Vec<u32>> {
    const MPOL_F_MEMS_ALLOWED: libc::c_ulong = 1 << 2;
    let mut words = [0u64; WORDS];
    let none = std::ptr::null_mut::<i32>();
    // SAFETY: the kernel writes at most MAX_NODES bits; with this flag it takes no mode and no address.
    checked(unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            none,
            words.as_mut_ptr(),
            MAX_NODES as usize,
            0usize,
            MPOL_F_MEMS_ALLOWED,
        )
    })?;
    Ok(members(&words))
}

/// Moves everything that a process has on the nodes `from` to the nodes `to`; returns how many pages stayed.
///
/// # Errors
/// EPERM, ESRCH, EINVAL.
pub fn migrate_pages(pid: u32, from: &[u32], to: &[u32]) -> io::Result<u64> {
    let (old, new) = (mask(from)?, mask(to)?);
    let bits = MAX_NODES as usize + 1;
    // SAFETY: both masks have MAX_NODES bits; pages keep contents and addresses.
    checked(unsafe { libc::syscall(libc::SYS_migrate_pages, pid_of(pid)?, bits, old.as_ptr(), new.as_ptr()) })
}

/// Binds a thread (0 = the calling one) to processors.
///
/// # Errors
/// EINVAL if none of them may be used, EPERM, ESRCH.
pub fn set_affinity(tid: u32, cpus: &[u32]) -> io::Result<()> {
    let mut words = [0u64; CPU_WORDS];
    for &cpu in cpus.iter().filter(|c| **c < MAX_CPUS) {
        words[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    let bytes = size_of_val(&words);
    // SAFETY: the kernel reads `bytes` bytes of the mask.
    checked(unsafe { libc::syscall(libc::SYS_sched_setaffinity, pid_of(tid)?, bytes, words.as_ptr()) }).map(|_| ())
}

/// The processors a thread (0 = the calling one) may use.
///
/// # Errors
/// ESRCH.
pub fn affinity(tid: u32) -> io::Result<Vec<u32>> {
    let mut words = [0u64; CPU_WORDS];
    let bytes = size_of_val(&words);
    // SAFETY: the kernel writes at most `bytes` bytes of the mask.
    checked(unsafe { libc::syscall(libc::SYS_sched_getaffinity, pid_of(tid)?, bytes, words.as_mut_ptr()) })?;
    Ok(members(&words))
}

/// Processor and operating-system node on which the calling thread runs at this moment.
pub fn here() -> (u32, u32) {
    let (mut cpu, mut node) = (0u32, 0u32);
    // SAFETY: the kernel writes two plain numbers; the third argument has been unused since 2.6.24.
    unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, std::ptr::null_mut::<u8>()) };
    (cpu, node)
}

/// Processor time that the calling thread has used so far, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// A run of pages that [`scan_huge`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PageRun {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// `PAGE_IS_*` bits.
    pub categories: u64,
}

#[repr(C)]
#[derive(Default)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// Runs of huge pages (transparent or hugetlb) between two addresses of the process whose `/proc/PID/pagemap` this is
/// (Linux 6.7). The addresses are rounded to pages.
///
/// # Errors
/// ENOTTY or EINVAL on an older kernel, EPERM or EACCES for a process that this user may not look into.
pub fn scan_huge(pagemap: &File, start: u64, end: u64) -> io::Result<Vec<PageRun>> {
    const PAGEMAP_SCAN: libc::c_ulong = 0xC060_6610;
    const PAGE_IS_HUGE: u64 = 1 << 6;
    let (mut found, mut buffer) = (Vec::new(), [PageRun::default(); 64]);
    let (mut at, end) = (start & !4095, end.saturating_add(4095) & !4095);
    while at < end {
        let mut argument = ScanArgument {
            size: size_of::<ScanArgument>() as u64,
            start: at,
            end,
            vec: buffer.as_mut_ptr() as u64,
            vec_len: buffer.len() as u64,
            category_mask: PAGE_IS_HUGE,
            return_mask: PAGE_IS_HUGE,
            ..ScanArgument::default()
        };
        // SAFETY: the argument says its own size, and `vec` points to `vec_len` regions that outlive the call; without
        // the write-protect flag the call changes nothing else.
        let runs = check(unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN as libc::Ioctl, &raw mut argument) })?;
        found.extend_from_slice(&buffer[..(runs.unsigned_abs() as usize).min(buffer.len())]);
        if argument.walk_end <= at {
            break;
        }
        at = argument.walk_end;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_pages_are_where_the_kernel_says_and_stay_readable_when_moved() {
        let memory: Vec<u8> = (0..64 * 4096).map(|i| (i / 4096) as u8).collect();
        let first = (memory.as_ptr() as u64).next_multiple_of(4096);
        let pages: Vec<u64> = (0..60).map(|i| first + i * 4096).collect();
        let mut status = vec![UNTOUCHED; 60];
        query_pages(0, &pages, &mut status).unwrap();
        assert!(status.iter().all(|s| *s >= 0), "{status:?}");
        let targets = status.clone();
        status.fill(UNTOUCHED);
        assert_eq!(move_pages(std::process::id(), &pages, &targets, &mut status, false).unwrap(), 0);
        assert_eq!(status, targets, "already there is confirmed too");
        assert!(memory.iter().enumerate().all(|(i, b)| *b == (i / 4096) as u8));
    }

    #[test]
    fn refusals_carry_the_error_number_of_the_kernel() {
        let errno = |r: io::Result<u64>| r.unwrap_err().raw_os_error();
        let word = Box::new(7u64);
        let page = [&raw const *word as u64 & !4095];
        let mut status = [UNTOUCHED];
        assert_eq!(errno(move_pages(0, &page, &[1000], &mut status, false)), Some(libc::ENODEV));
        assert_eq!(errno(move_pages(u32::MAX, &page, &[0], &mut status, false)), Some(libc::ESRCH));
        assert_eq!(errno(move_pages(0, &page, &[], &mut status, false)), Some(libc::EINVAL));
        query_pages(0, &[1 << 46], &mut status).unwrap();
        assert!(status[0] == -libc::ENOENT || status[0] == -libc::EFAULT, "{status:?}");
        assert!(set_mempolicy(Mode::Bind as i32, &[5000]).is_err());
        assert!(mbind(4096 * 3, 4096, Mode::Bind as i32, &[0], 0).is_err(), "nothing is mapped there");
    }

    #[test]
    fn policies_are_read_back_as_set() {
        let memory = vec![1u8; 1 << 20];
        let first = (memory.as_ptr() as u64).next_multiple_of(4096);
        let nodes = allowed_nodes().unwrap();
        mbind(first, 8 * 4096, Mode::Interleave as i32, &nodes, MOVE).unwrap();
        assert_eq!(mempolicy(Some(first)).unwrap(), (Mode::Interleave as i32, nodes.clone()));
        mbind(first, 8 * 4096, Mode::Default as i32, &[], 0).unwrap();
        assert_eq!(mempolicy(Some(first)).unwrap().0, Mode::Default as i32);
        assert_eq!(migrate_pages(0, &nodes, &nodes).unwrap(), 0);
        assert!(memory.iter().all(|b| *b == 1));
    }

    #[test]
    fn a_thread_can_be_bound_and_knows_where_it_is() {
        std::thread::spawn(|| {
            let all = affinity(0).unwrap();
            let last = *all.last().unwrap();
            set_affinity(0, &[last]).unwrap();
            assert_eq!((affinity(0).unwrap(), here().0), (vec![last], last));
            assert!(set_affinity(0, &[]).is_err());
        })
        .join()
        .unwrap();
        assert!(thread_cpu_ns() > 0);
    }

    #[test]
    fn the_scan_for_huge_pages_answers_or_says_that_the_kernel_cannot() {
        let memory = vec![1u8; 8 << 20];
        let (start, end) = (memory.as_ptr() as u64, memory.as_ptr() as u64 + memory.len() as u64);
        match scan_huge(&File::open("/proc/self/pagemap").unwrap(), start, end) {
            Ok(runs) => assert!(runs.iter().all(|r| r.start < r.end && r.start % (1 << 21) == 0), "{runs:?}"),
            Err(e) => assert!(matches!(e.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)), "{e}"),
        }
    }
}
