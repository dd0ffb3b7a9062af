//! Who may be a node: who knows the job's secret. Both sides of a new connection send random bytes, and prove by a keyed hash of both,
//! and of who they are, that they know it; nothing that was overheard helps with another connection. Pure but for [`Nonce::random`].
use hmac::{Hmac, KeyInit, Mac};
use homenode_sys::net;
use sha2::Sha256;
use std::fmt;
use std::io;

/// Bytes of the secret, of what is sent at random, and of a proof.
pub(crate) const BYTES: usize = 32;

/// What all nodes of a job know and nobody else.
#[derive(Clone, Default)]
pub(crate) struct Secret(pub(crate) [u8; BYTES]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Random bytes that are used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonce(pub(crate) [u8; BYTES]);

impl Nonce {
    /// New ones.
    pub(crate) fn random() -> io::Result<Nonce> {
        let mut bytes = [0; BYTES];
        net::random(&mut bytes)?;
        Ok(Nonce(bytes))
    }
}

/// The side of a connection that proves something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Who connected, and will send requests.
    Asking,
    /// Who was connected to, and will serve them.
    Serving,
}

/// What both sides of a connection have said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// Node that asks.
    pub(crate) from: u16,
    /// Node that serves.
    pub(crate) to: u16,
    /// Random bytes of who asks, and of who serves.
    pub(crate) nonces: [Nonce; 2],
}

impl Secret {
    fn mac(&self, side: Side, said: &Said) -> Option<Hmac<Sha256>> {
        // A key of any length is taken.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(match side {
            Side::Asking => b"homenode svm asks",
            Side::Serving => b"homenode svm serve",
        });
        mac.update(&said.from.to_le_bytes());
        mac.update(&said.to.to_le_bytes());
        said.nonces.iter().for_each(|nonce| mac.update(&nonce.0));
        Some(mac)
    }

    /// The proof of a side.
    pub(crate) fn proof(&self, side: Side, said: &Said) -> [u8; BYTES] {
        self.mac(side, said).map_or([0; BYTES], |mac| mac.finalize().into_bytes().into())
    }

    /// Whether this is the proof of a side; the time does not tell how far it is right.
    pub(crate) fn holds(&self, side: Side, said: &Said, proof: &[u8]) -> bool {
        self.mac(side, said).is_some_and(|mac| mac.verify_slice(proof).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_one_secret_one_side_and_one_connection() {
        let (secret, other) = (Secret([3; BYTES]), Secret([4; BYTES]));
        let said = Said { from: 1, to: 2, nonces: [Nonce([5; BYTES]), Nonce([6; BYTES])] };
        let proof = secret.proof(Side::Asking, &said);
        assert!(secret.holds(Side::Asking, &said, &proof));
        assert!(!secret.holds(Side::Serving, &said, &proof) && !other.holds(Side::Asking, &said, &proof));
        let turned = Said { nonces: [said.nonces[1], said.nonces[0]], ..said };
        for changed in [Said { from: 3, ..said }, Said { to: 3, ..said }, turned] {
            assert!(!secret.holds(Side::Asking, &changed, &proof), "{changed:?}");
        }
        let mut wrong = proof;
        wrong[31] ^= 1;
        assert!(!secret.holds(Side::Asking, &said, &wrong) && !secret.holds(Side::Asking, &said, &proof[..31]));
        assert_ne!(Nonce::random().expect("random"), Nonce::random().expect("random"));
        assert!(!format!("{secret:?}").contains('3'));
    }
}
