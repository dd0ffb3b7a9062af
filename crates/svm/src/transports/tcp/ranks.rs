//! Connections of processes to the first one of them, before there are nodes: they begin as those of nodes do, under a secret of their own.
use super::greet::{Caller, Listening};
use super::secret::Secret;
use homenode_base::NodeId;
use homenode_sys::net::{self, Signal};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

/// What these processes know and nobody else: random bytes that are used for nothing else.
#[derive(Clone, Debug)]
pub struct Known(Secret);

impl Known {
    /// A new secret.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn random() -> io::Result<Known> {
        let mut secret = Secret::default();
        net::random(&mut secret.0)?;
        Ok(Known(secret))
    }
    /// The secret with these bytes.
    pub fn of(bytes: [u8; 32]) -> Known {
        Known(Secret(bytes))
    }
    /// The bytes, for who is to know them.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0.0
    }
}

/// Accepts connections of processes 1, 2, ... `count` - 1, in that order, which prove that they know the secret.
///
/// # Errors
/// They have not come in time, or the system refuses something.
pub fn accept(socket: TcpListener, count: u16, known: &Known) -> io::Result<Vec<TcpStream>> {
    let listening = Listening { socket, me: NodeId(0), nodes: count, secret: known.0.clone() };
    let came = listening.accept_all(&Signal::new()?)?;
    came.into_iter().flatten().map(as_usual).collect()
}

/// Connects process `from` to process 0, which listens at one of these addresses.
///
/// # Errors
/// Nobody who knows the secret has answered at any of them in time.
pub fn connect(from: u16, addresses: &[SocketAddr], known: &Known) -> io::Result<TcpStream> {
    let caller = Caller { from: NodeId(from), to: NodeId(0), addresses, secret: &known.0, look: &|| Ok(()) };
    as_usual(caller.call()?)
}

/// A connection whose calls wait.
fn as_usual(socket: TcpStream) -> io::Result<TcpStream> {
    socket.set_nonblocking(false)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::Ipv4Addr;

    #[test]
    fn who_knows_the_secret_comes_to_its_place_and_others_are_passed_by() {
        let (known, other) = (Known::random().expect("random"), Known::random().expect("random"));
        let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listening");
        let (socket, strange) = (listen(), listen());
        let addresses = [strange.local_addr().expect("known"), socket.local_addr().expect("known")];
        let closed = listen().local_addr().expect("known");
        std::thread::scope(|scope| {
            // A process of another job listens at the first address.
            scope.spawn(|| accept(strange.try_clone().expect("a copy"), 2, &other).expect("its own one comes"));
            let known = &known;
            for from in [2, 1] {
                scope.spawn(move || {
                    let mut to = connect(from, &[closed, addresses[0], addresses[1]], known).expect("connected");
                    to.write_all(&[from as u8]).expect("sent");
                });
            }
            for (number, mut from) in (1..).zip(accept(socket, 3, known).expect("both came")) {
                let mut said = [0];
                from.read_exact(&mut said).expect("heard");
                assert_eq!(said, [number]);
            }
            let why = connect(1, &addresses[..1], known).expect_err("a stranger").to_string();
            assert!(why.contains("does not know this job's secret"), "{why}");
            connect(1, &addresses[..1], &other).expect("its own one");
        });
        assert!(!format!("{known:?}").contains(&known.bytes()[0].to_string()));
    }
}
