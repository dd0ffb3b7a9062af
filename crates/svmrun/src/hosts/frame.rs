//! What goes between the launcher and its agents on other hosts: frames on an agent's standard input and output.
//!
//! A frame is the number of its bytes in four, little endian, one byte for its kind, and the rest.
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};

/// Bytes of memory or output in a frame.
pub(super) const SOME: usize = 1 << 18;
/// Largest frame: one whose sender is none of ours says anything.
const MOST: u32 = 8 << 20;

const MESSAGE: u8 = 1;
const DATA: u8 = 2;
const OUTPUT: u8 = 3;

/// What bytes of memory are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Heap,
    Region,
    /// The program's variables; of no node.
    Image,
}

impl Of {
    const ALL: [Of; 3] = [Of::Heap, Of::Region, Of::Image];
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame<M> {
    Message(M),
    /// Bytes of a node's memory, from an offset on.
    Data(u16, Of, u64, Vec<u8>),
    /// Bytes that a node wrote to its standard output.
    Output(Vec<u8>),
}

/// What the launcher says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ToAgent {
    /// Nodes are to be prepared.
    Prepare(Prepare),
    /// Nodes are to be started.
    Start(Start),
    /// All memory and the program's variables have been said: nodes go on.
    Go,
}

/// What an agent must know to listen for its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Prepare {
    /// Digest of the library that makes nodes: the language of all that follows.
    pub(super) library: String,
    /// Folder that the program runs in.
    pub(super) folder: Bytes,
    /// The program's file.
    pub(super) program: Bytes,
    /// Digest of that file.
    pub(super) digest: String,
    /// Where the host is reached.
    pub(super) address: IpAddr,
    /// The host's nodes.
    pub(super) nodes: Vec<u16>,
    /// Bytes of a heap, and of a region.
    pub(super) bytes: [u64; 2],
}

/// What an agent must know to start its nodes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// The first node's job.
    pub(super) job: String,
    /// The job's secret.
    pub(super) secret: Bytes,
    /// The list of homes, if there is one.
    pub(super) homes: Option<Bytes>,
    /// Program and arguments.
    pub(super) command: Vec<Bytes>,
    /// The environment: names and values.
    pub(super) environment: Vec<(Bytes, Bytes)>,
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start").field("job", &self.job).finish_non_exhaustive()
    }
}

/// A name of the system, which may be no text.
pub(super) type Bytes = Vec<u8>;

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FromAgent {
    /// Where its nodes listen.
    Listening(Vec<SocketAddr>),
    /// Why it cannot do what it was told.
    Failed(String),
    /// Nodes go on.
    Gone,
    /// A node's process is over; what there was in its region has been said.
    Ended(u16),
}

/// Writes a frame.
pub(super) fn write<M: Serialize>(to: &mut (impl Write + ?Sized), frame: &Frame<M>) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    match frame {
        Frame::Message(message) => {
            bytes.push(MESSAGE);
            bytes.extend(serde_json::to_vec(message)?);
        }
        Frame::Data(node, of, offset, data) => {
            bytes.extend([DATA, *of as u8]);
            bytes.extend(node.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            bytes.extend(data);
        }
        Frame::Output(data) => {
            bytes.push(OUTPUT);
            bytes.extend(data);
        }
    }
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX).to_le_bytes();
    bytes[..4].copy_from_slice(&length);
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads a frame; `None` where the other side has ended.
///
/// # Errors
/// What the system says; [`io::ErrorKind::InvalidData`] for what is no frame.
pub(super) fn read<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<Frame<M>>> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut length = [0; 4];
    match from.read(&mut length[..1])? {
        0 => return Ok(None),
        _ => from.read_exact(&mut length[1..])?,
    }
    let length = u32::from_le_bytes(length);
    if !(1..=MOST).contains(&length) {
        return Err(bad("no frame"));
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes)?;
    let rest = bytes.split_off(1);
    match bytes[0] {
        MESSAGE => Ok(Some(Frame::Message(serde_json::from_slice(&rest)?))),
        DATA => data(&rest).map(Some).ok_or_else(|| bad("no data")),
        OUTPUT => Ok(Some(Frame::Output(rest))),
        _ => Err(bad("an unknown frame")),
    }
}

fn data<M>(bytes: &[u8]) -> Option<Frame<M>> {
    let (of, bytes) = bytes.split_first()?;
    let (node, bytes) = bytes.split_first_chunk()?;
    let (offset, data) = bytes.split_first_chunk()?;
    let of = *Of::ALL.get(usize::from(*of))?;
    Some(Frame::Data(u16::from_le_bytes(*node), of, u64::from_le_bytes(*offset), data.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Vec<Frame<ToAgent>> {
        let (job, secret) = ("svm-1".to_owned(), vec![1; 32]);
        let command = vec![b"./lu".to_vec(), vec![0xff]];
        let start = Start {
            job,
            secret,
            homes: Some(b"x".to_vec()),
            command,
            environment: vec![(b"A".to_vec(), b"b".to_vec())],
        };
        vec![
            Frame::Message(ToAgent::Start(start)),
            Frame::Data(3, Of::Region, 1 << 40, vec![7; 100]),
            Frame::Data(0, Of::Image, 0, vec![]),
            Frame::Output(b"hello\n".to_vec()),
            Frame::Message(ToAgent::Go),
        ]
    }

    fn read_all(mut bytes: &[u8]) -> io::Result<Vec<Frame<ToAgent>>> {
        let mut found = Vec::new();
        while let Some(frame) = read(&mut bytes)? {
            found.push(frame);
        }
        Ok(found)
    }

    #[test]
    fn frames_are_read_as_they_were_written_and_damaged_ones_refused() {
        let mut bytes = Vec::new();
        frames().iter().for_each(|frame| write(&mut bytes, frame).expect("written"));
        assert_eq!(read_all(&bytes).expect("read"), frames());
        for end in 0..bytes.len() {
            // The end of the other side is seen between frames alone.
            let whole = read_all(&bytes[..end]).map_or(0, |found| found.len());
            assert!(whole < frames().len(), "{end}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            assert_ne!(read_all(&damaged).ok(), Some(frames()), "{at}");
        }
        assert!(read_all(&[0, 0, 0, 0, 1]).is_err() && read_all(&[255, 255, 255, 255, 1]).is_err());
        assert!(!format!("{:?}", frames()[0]).contains("secret"));
    }
}
