//! Connected sockets without any blocking call: what is sent and received at once, and waiting for one of them or for many.
//! Nothing here allocates once a [`Poller`] is made, takes a lock, raises SIGPIPE or changes errno: handlers of signals may use it.
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Sends what the socket takes now: bytes, from the front.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if it takes nothing at the moment, else what send(2) says.
pub fn send(socket: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match rustix::net::send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            done => return done.map_err(Into::into),
        }
    }
}

/// Receives what has come: bytes; 0 if the other side has closed.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if nothing has come, else what recv(2) says.
pub fn receive(socket: &impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::net::recv(socket, &mut *into, RecvFlags::DONTWAIT) {
            Err(Errno::INTR) => {}
            done => return done.map(|(bytes, _)| bytes).map_err(Into::into),
        }
    }
}

/// What a socket is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Something has come, or the other side has closed.
    Reading,
    /// Something can be sent.
    Writing,
    /// The other side has closed, and nothing else.
    Closed,
}

/// Waits until the socket is ready, or in trouble, at most so long; returns early for a signal.
pub fn wait(socket: &impl AsFd, what: Ready, most: Duration) {
    let flags = match what {
        Ready::Reading => PollFlags::IN,
        Ready::Writing => PollFlags::OUT,
        Ready::Closed => PollFlags::RDHUP,
    };
    // Whatever went wrong is found by who sends or receives next.
    let _ = poll(&mut [PollFd::new(socket, flags)], Some(&timespec(most)));
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() }
}

/// Sockets that are waited for together, each with a number.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Poller")
    }
}

impl Poller {
    /// One that reports so many sockets at a time.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new(most: usize) -> io::Result<Poller> {
        let none = epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Ok(Poller { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: vec![none; most.max(1)] })
    }

    /// Adds a socket.
    ///
    /// # Errors
    /// What epoll_ctl(2) says.
    pub fn add(&self, socket: &impl AsFd, number: u64, what: Ready) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(number), flags(what))?)
    }
    /// Waits for something else from now on.
    ///
    /// # Errors
    /// What epoll_ctl(2) says.
    pub fn change(&self, socket: &impl AsFd, number: u64, what: Ready) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(number), flags(what))?)
    }
    /// Takes a socket out.
    ///
    /// # Errors
    /// What epoll_ctl(2) says.
    pub fn remove(&self, socket: &impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// The numbers of the sockets that are ready or in trouble; none if the time is over or a signal came.
    ///
    /// # Errors
    /// What epoll_wait(2) says.
    pub fn wait(&mut self, most: Duration) -> io::Result<impl Iterator<Item = u64>> {
        let found = match epoll::wait(&self.epoll, &mut self.events[..], Some(&timespec(most))) {
            Ok(found) => found,
            Err(Errno::INTR) => 0,
            Err(e) => return Err(e.into()),
        };
        Ok(self.events[..found].iter().map(|event| event.data.u64()))
    }
}

fn flags(what: Ready) -> EventFlags {
    match what {
        Ready::Reading => EventFlags::IN,
        Ready::Writing => EventFlags::OUT,
        Ready::Closed => EventFlags::RDHUP,
    }
}

/// A descriptor that becomes readable when somebody says so, for a [`Poller`].
#[derive(Debug)]
pub struct Signal(OwnedFd);

impl Signal {
    /// One that nobody has given.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> io::Result<Signal> {
        Ok(Signal(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }
    /// Makes it readable for good.
    pub fn give(&self) {
        // It fails only where it was given very often.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Random bytes of the system.
///
/// # Errors
/// What getrandom(2) says.
pub fn random(bytes: &mut [u8]) -> io::Result<()> {
    let mut at = 0;
    while at < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[at..], rustix::rand::GetRandomFlags::empty()) {
            Ok(got) => at += got,
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Addresses of this machine that others may reach: of interfaces that are up, but for loopback and addresses of one link alone.
///
/// # Errors
/// What getifaddrs(3) says.
pub fn addresses() -> io::Result<Vec<IpAddr>> {
    let mut first = std::ptr::null_mut();
    // SAFETY: `first` is valid for the call, which makes it the begin of a list.
    crate::check(unsafe { libc::getifaddrs(&raw mut first) })?;
    let (mut found, mut next) = (Vec::new(), first);
    // SAFETY: `next` is null or an entry of the list, which is freed below.
    while let Some(entry) = unsafe { next.as_ref() } {
        let is_up = entry.ifa_flags & libc::IFF_UP as libc::c_uint != 0;
        // SAFETY: the address of an entry is null or of the family that it says.
        let address = unsafe { entry.ifa_addr.as_ref() }.and_then(|any| unsafe { address(any) });
        found.extend(address.filter(|a| is_up && !a.is_loopback() && !is_of_one_link(a)));
        next = entry.ifa_next;
    }
    // SAFETY: the list is the call's, and nothing of it is kept.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// The address in a socket's address, if it is one of the internet.
///
/// # Safety
/// It is one of the family that it says, whole.
unsafe fn address(any: &libc::sockaddr) -> Option<IpAddr> {
    let start: *const libc::sockaddr = any;
    match libc::c_int::from(any.sa_family) {
        libc::AF_INET => {
            // SAFETY: the caller promises the family; it may lie anywhere, so it is copied.
            let v4 = unsafe { start.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(IpAddr::from(v4.sin_addr.s_addr.to_ne_bytes()))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { start.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(IpAddr::from(v6.sin6_addr.s6_addr))
        }
        _ => None,
    }
}

fn is_of_one_link(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn nothing_blocks_and_an_end_is_told() {
        let (a, b) = UnixStream::pair().unwrap();
        let mut into = [0; 8];
        assert_eq!(receive(&b, &mut into).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(send(&a, b"abc").unwrap(), 3);
        wait(&b, Ready::Reading, LONG);
        assert_eq!((receive(&b, &mut into).unwrap(), &into[..3]), (3, &b"abc"[..]));
        let full = loop {
            match send(&a, &[7; 65536]) {
                Ok(_) => {}
                Err(e) => break e,
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        drop(b);
        // No SIGPIPE: the test lives.
        assert_eq!(send(&a, b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        let begun = Instant::now();
        wait(&a, Ready::Closed, LONG);
        assert!(begun.elapsed() < LONG / 2);
    }

    #[test]
    fn a_poller_names_those_that_are_ready() {
        let ((a, b), signal) = (UnixStream::pair().unwrap(), Signal::new().unwrap());
        let mut poller = Poller::new(4).unwrap();
        poller.add(&b, 5, Ready::Reading).unwrap();
        poller.add(&signal, 9, Ready::Reading).unwrap();
        assert_eq!(poller.wait(Duration::from_millis(1)).unwrap().count(), 0);
        signal.give();
        assert_eq!(poller.wait(LONG).unwrap().collect::<Vec<_>>(), [9]);
        poller.remove(&signal).unwrap();
        send(&a, b"x").unwrap();
        assert_eq!(poller.wait(LONG).unwrap().collect::<Vec<_>>(), [5]);
        poller.change(&b, 6, Ready::Closed).unwrap();
        assert_eq!(poller.wait(Duration::from_millis(1)).unwrap().count(), 0);
        drop(a);
        assert_eq!(poller.wait(LONG).unwrap().collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn addresses_are_this_machines() {
        for address in addresses().unwrap() {
            assert!(!address.is_loopback() && !address.is_unspecified(), "{address}");
            // Nobody else can listen there.
            std::net::TcpListener::bind((address, 0)).unwrap_or_else(|e| panic!("{address}: {e}"));
        }
        assert!(is_of_one_link(&"fe80::1".parse().unwrap()) && !is_of_one_link(&"10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn random_bytes_differ() {
        let (mut one, mut other) = ([0; 32], [0; 32]);
        random(&mut one).unwrap();
        random(&mut other).unwrap();
        assert_ne!(one, other);
    }
}
