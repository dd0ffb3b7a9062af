//! perf_event_open(2): events, their ring buffers, and waiting for news of many at once.
//!
//! Reading order: [`attr`] (what to ask for), [`Event`], [`ring`] (records), [`aux`](self::aux) (hardware trace data).
pub mod attr;
pub mod aux;
pub mod ring;
#[cfg(test)]
mod tests;

pub use attr::Attr;
pub use aux::AuxRing;
pub use ring::Ring;

use crate::check;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

const FLAG_FD_CLOEXEC: libc::c_ulong = 8;
// From linux/perf_event.h: _IO('$', n) and _IOW('$', 4, u64), _IOR('$', 7, u64); the same numbers on x86-64 and aarch64.
const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
const IOC_PERIOD: libc::c_ulong = 0x4008_2404;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOC_ID: libc::c_ulong = 0x8008_2407;

/// An open event; closed, and so switched off, when dropped.
#[derive(Debug)]
pub struct Event(OwnedFd);

impl Event {
    /// Opens an event of thread `tid` (`None` = every process, privileged) on processor `cpu` (`None` = wherever it runs),
    /// in the group led by `leader`.
    ///
    /// # Errors
    /// What perf_event_open(2) says: EACCES and EPERM (not permitted), ENOENT and ENODEV and EOPNOTSUPP (no such event on
    /// this machine), EINVAL (not with these options), ESRCH (no such thread), EMFILE (too many open files).
    pub fn open(attr: &Attr, tid: Option<u32>, cpu: Option<u32>, leader: Option<&Event>) -> io::Result<Event> {
        let number = |n: Option<u32>| n.map_or(Ok(-1), |n| i32::try_from(n).map_err(|_| invalid("no such number")));
        let (tid, cpu) = (number(tid)?, number(cpu)?);
        let leader = leader.map_or(-1, |e| e.0.as_raw_fd());
        let attr = Attr { size: size_of::<Attr>() as u32, ..*attr };
        // SAFETY: `attr` is valid for reads of the `size` bytes that it announces; the other arguments are plain numbers.
        let fd =
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, tid, cpu, leader, FLAG_FD_CLOEXEC) };
        let fd = check(libc::c_int::try_from(fd).unwrap_or(-1))?;
        // SAFETY: the kernel just returned this descriptor, so nothing else owns it.
        Ok(Event(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Switches counting on, in the threads that inherited it too.
    pub fn enable(&self) -> io::Result<()> {
        self.order(IOC_ENABLE, 0)
    }
    /// Switches counting off.
    pub fn disable(&self) -> io::Result<()> {
        self.order(IOC_DISABLE, 0)
    }
    /// Sends the records of this event into the ring of `other`, which must be for the same processor and clock.
    pub fn set_output(&self, other: &Event) -> io::Result<()> {
        self.order(IOC_SET_OUTPUT, other.0.as_raw_fd() as libc::c_ulong)
    }
    /// Events from one sample to the next, from now on.
    ///
    /// # Errors
    /// EINVAL for 0, for periods beyond 2^63 and for events that do not sample.
    pub fn set_period(&self, period: u64) -> io::Result<()> {
        // SAFETY: the kernel reads eight bytes from the given valid address.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), IOC_PERIOD as _, &raw const period) }).map(drop)
    }
    /// The number by which records name this event.
    pub fn id(&self) -> io::Result<u64> {
        let mut id = 0_u64;
        // SAFETY: the kernel stores eight bytes at the given valid address.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), IOC_ID as _, &raw mut id) })?;
        Ok(id)
    }
    /// Events counted so far, those of threads that inherited this event included. The event must have been opened with
    /// [`Attr::read_format`] 0.
    ///
    /// # Errors
    /// What read(2) says; [`io::ErrorKind::UnexpectedEof`] if the event is in error.
    pub fn count(&self) -> io::Result<u64> {
        let mut bytes = [0_u8; 8];
        // SAFETY: at most eight bytes are stored at the given valid address.
        let got = unsafe { libc::read(self.0.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
        match got {
            8 => Ok(u64::from_ne_bytes(bytes)),
            n if n < 0 => Err(io::Error::last_os_error()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
    fn order(&self, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
        // SAFETY: these requests take a plain number.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, argument) }).map(drop)
    }
    pub(crate) fn raw(&self) -> libc::c_int {
        self.0.as_raw_fd()
    }
}

/// Sleeps until one of the events has passed its wake-up mark or has ended, at most `timeout`, then sets `over[i]` for those whose
/// threads, and all threads that inherited the event, have ended (or that have no ring: the kernel does not tell these
/// apart). Events already over are not asked again.
///
/// # Errors
/// What poll(2) says; a signal that interrupts it is no error.
pub fn wait<'a>(
    events: impl ExactSizeIterator<Item = &'a Event>,
    over: &mut [bool],
    timeout: Duration,
) -> io::Result<()> {
    // A negative descriptor is skipped by poll(2).
    let mut fds: Vec<libc::pollfd> = events
        .zip(over.iter())
        .map(|(e, &gone)| libc::pollfd { fd: if gone { -1 } else { e.raw() }, events: libc::POLLIN, revents: 0 })
        .collect();
    let milliseconds = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: `fds` is valid for reads and writes of its length.
    let done = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, milliseconds) };
    if done < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
    }
    for (gone, fd) in over.iter_mut().zip(&fds) {
        *gone |= fd.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0;
    }
    Ok(())
}

/// Raises this process's limit of open files as far as it may and returns it.
pub fn raise_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: stores one rlimit at the given valid address.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: reads one rlimit from the given valid address.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    Ok(limit.rlim_cur)
}

/// Bytes of a page of this system.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: sysconf takes a plain number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_owned())
}
