//! Hashes by which the agent knows call stacks, modules and threads again: the same in another run of the same build,
//! whatever addresses modules are loaded at. The C side, which applies plans inside the program, is
//! `crates/hooks/c/agent/{unwind,modules,thread}.c`; a test there compares both.

/// Innermost frames that count.
pub const FRAMES_HASHED: usize = 8;

/// Where FNV-1a of 64 bits begins.
pub const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
/// What FNV-1a of 64 bits multiplies by.
pub const PRIME: u64 = 0x100_0000_01b3;

/// One frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// First eight bytes of the module's GNU build id, zeros where there are none.
    pub build: [u8; 8],
    /// Return address less the module's load bias.
    pub returns_to: u64,
}

/// FNV-1a, 64 bits, over the innermost [`FRAMES_HASHED`] frames, innermost first: build id, then the return address as
/// eight little-endian bytes.
pub fn stack_hash(frames: &[Frame]) -> u64 {
    let bytes = frames.iter().take(FRAMES_HASHED).flat_map(|f| f.build.into_iter().chain(f.returns_to.to_le_bytes()));
    fnv(BASIS, bytes)
}

fn fnv(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// Of the bytes of a module's GNU build id.
pub fn build_hash(id: impl IntoIterator<Item = u8>) -> u64 {
    fnv(BASIS, id)
}

/// Of a thread's path ([`crate::agentplan::ThreadPath`]): every number as four little-endian bytes.
pub fn path_hash(path: &[u32]) -> u64 {
    fnv(BASIS, path.iter().flat_map(|n| n.to_le_bytes()))
}

/// Of a place in the module whose [`build_hash`] is `build`: its address as linked.
pub fn site_hash(build: u64, address: u64) -> u64 {
    fnv(build, address.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_fnv_1a_of_the_innermost_frames() {
        // FNV-1a of the text "foobar" is published as 85944171f73967e8; here it is checked through the fold alone.
        let fold = |text: &str| text.bytes().fold(BASIS, |h, b| (h ^ u64::from(b)).wrapping_mul(PRIME));
        assert_eq!(fold("foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(stack_hash(&[]), BASIS);
        let frame = Frame { build: *b"abcdefgh", returns_to: u64::from_le_bytes(*b"ijklmnop") };
        assert_eq!(stack_hash(&[frame]), fold("abcdefghijklmnop"));
        let mut frames = [frame; 9];
        let eight = stack_hash(&frames[..8]);
        frames[8].returns_to = 1;
        assert_eq!(stack_hash(&frames), eight, "frames beyond the eighth do not count");
    }
}
