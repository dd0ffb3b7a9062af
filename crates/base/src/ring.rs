//! The layout of the files through which a recorded program (C runtime, `crates/hooks`) talks to the recorder
//! (`homenode-capture`). One definition; `xtask gen-header` prints it as the C header `crates/hooks/c/core/ring_layout.h`,
//! which CI compares with the committed one.
//!
//! `control` holds the control block and the ring table; `N.ring` one ring each. They lie in a private directory of a memory
//! file system, which `X.hnt/rings/memory` names, or in `X.hnt/rings` itself where there is none or it is full: stores to a
//! mapped file on a disk wait for its journal now and then, and whoever makes a thread meanwhile waits too. The *program*
//! creates ring files (fallocated before mapping, so a full disk is an error code and not a SIGBUS) and claims table
//! entries by compare-and-swap; the *recorder* creates the control file before it starts the program.
//!
//! A ring is a page of header and then a power of two of 16-byte slots. Slots come in batches of [`BATCH_SLOTS`]; the
//! first slot of a batch is a [`EVENT_STAMP`] (time-stamp counter), so a batch carries its begin stamp and the next stamp is its
//! end. The producer owns `cursor` (address, in its own address space, of the next free slot, stored after the slot is
//! written; x86-64 and aarch64 with release order) and `batch_head` (slots written since the ring began, up to the begin of the
//! current batch). Slots readable at any time, even after SIGKILL: [`slots_written`].
//! The consumer owns `tail` and advances it only when the frame with those slots is in the dataset file. The producer looks at
//! `tail` only when it enters a half of the ring, and then waits until that whole half is free.
//! All multi-byte fields are little-endian.
//!
//! Where the recorder allows it ([`CONTROL_OFF_REPEATS`]), a thread whose blocks repeat themselves writes its batches *beside* the ring, to one of
//! two places in its header in turn ([`RING_OFF_SIDES`]), and moves what is full to the current batch of the ring, with [`EVENT_REPEAT`]
//! in place of repetitions, until that batch is full too. One word says all of it ([`RingHead`]), so that nothing is there twice or not at all.
//!
//! Code between whose references no jump stands writes them as a *block*: a header and the addresses ([`W0_BLOCK`]). The cursor
//! moves when the last address is stored, and a batch is zero before it is written, so that those of a block which its producer
//! did not finish can be told ([`block_begun`]). What the references of a block are stands in files `N.blocks` beside the rings, each whole
//! before a header that needs it is written; N is the number before the first one in it. Such a file holds 64-bit words: for each block its
//! header and for each of its references program counter (last byte of its code), size code and operation, in the bits that they have in slots.
//!
//! What a reader must expect of an entry: CLAIMED without a file is a thread or process that never began (its creator
//! failed or died); DONE or a dead process with no slots is a thread whose creation failed, and the SPAWN that names it means
//! nothing; `tid` is 0 until the thread runs; ACTIVE with a dead process is a ring whose producer was killed or which
//! still ran while another thread ended the process: its cursor is final too. A process that calls `execve` leaves its rings ACTIVE
//! and, if the new program has hooks, attaches again with new rings under the same pid.
//!
//! Epochs tell apart the objects that live at one address: a barrier's generation; 0 for everything else, except 1 for the
//! readers' side of a reader-writer lock and [`EPOCH_ALLOCATOR`] for memory that passes from one owner to the next through
//! the allocator (release at free, acquire at allocation).
//!
//! The reference of an atomic stands beside its event: ACQUIRE, then the read; the write, then RELEASE; the
//! read-modify-write, then ACQ_REL.

/// First eight bytes of the control file.
pub const CONTROL_MAGIC: u64 = u64::from_le_bytes(*b"HNCTRL01");
/// First eight bytes of a ring file.
pub const RING_MAGIC: u64 = u64::from_le_bytes(*b"HNRING01");
/// Environment variable that names the control file.
pub const CONTROL_ENV: &str = "HOMENODE_CONTROL";

/// Bytes of a slot.
pub const SLOT_BYTES: u64 = 16;
/// Slots in a batch, stamp included.
pub const BATCH_SLOTS: u64 = 64;
/// References that a batch has room for, at most: two to a slot.
pub const BATCH_REFS: u64 = 2 * (BATCH_SLOTS - 1);
/// Bytes of the ring header; slots start here in the ring file.
pub const RING_HEADER_BYTES: u64 = 4096;
/// Largest ring, in bytes of slots.
pub const RING_BYTES_MAX: u64 = 2 << 20;
/// Smallest ring, in bytes of slots.
pub const RING_BYTES_MIN: u64 = 16 << 10;
/// Each size of ring may use at most this many bytes in all; see [`ring_bytes`].
pub const RING_CLASS_BYTES: u64 = 16 << 20;
/// Entries of the ring table: threads that a recording may ever have.
pub const RINGS_MAX: u32 = 65_536;

/// Size of the `index`-th ring of a recording: 2 MiB while few, halved each time 16 MiB of a size are in use, never
/// below 16 KiB, so that 4,096 threads at once stay within 256 MiB (the limit of DESIGN section 4).
pub const fn ring_bytes(index: u32) -> u64 {
    let (mut size, mut left) = (RING_BYTES_MAX, index as u64);
    while size > RING_BYTES_MIN && left >= RING_CLASS_BYTES / size {
        left -= RING_CLASS_BYTES / size;
        size /= 2;
    }
    size
}

/// What [`RING_OFF_BATCH_HEAD`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingHead {
    /// Slots written before the current batch of the ring.
    pub slots: u64,
    /// Slots of the current batch that are written, where batches are written beside the ring; at most [`BATCH_SLOTS`].
    pub kept: u64,
    /// Where the thread writes: 0 into the ring, 1 or 2 beside it.
    pub side: u64,
}

impl RingHead {
    /// Of the word in the header, which may be anything.
    pub const fn of(word: u64) -> RingHead {
        let (kept, side) = (word >> HEAD_KEPT_SHIFT & HEAD_KEPT_MASK, word >> HEAD_SIDE_SHIFT & 3);
        let kept = if kept < BATCH_SLOTS { kept } else { BATCH_SLOTS };
        RingHead { slots: word & HEAD_SLOTS_MASK, kept, side: if side < 3 { side } else { 0 } }
    }
    /// The word of this.
    pub const fn word(self) -> u64 {
        self.slots | self.kept << HEAD_KEPT_SHIFT | self.side << HEAD_SIDE_SHIFT
    }
    /// The byte of the ring file at which the batch beside the ring begins, if one is written.
    pub const fn side_offset(self) -> Option<u64> {
        if self.side == 0 { None } else { Some(RING_OFF_SIDES + (self.side - 1) * RING_SIDES_STEP) }
    }
    /// Slots written to the batch beside the ring. Parameters as of [`slots_written`].
    pub const fn beside(self, cursor: u64, base: u64) -> u64 {
        match self.side_offset() {
            Some(offset) => into_batch(cursor, base.wrapping_sub(RING_HEADER_BYTES).wrapping_add(offset)),
            None => 0,
        }
    }
}

/// Slots of a batch before the cursor; 0 if that is not in it.
const fn into_batch(cursor: u64, start: u64) -> u64 {
    let into = cursor.wrapping_sub(start) / SLOT_BYTES;
    if into <= BATCH_SLOTS { into } else { 0 }
}

/// Slots a producer has written to its ring since it began, from one reading of its header: `batch_head`, `cursor` and `base` as
/// they stand there, `bytes` of slots (a power of two). Never counts a half-written slot. While the producer runs, read
/// `batch_head`, `cursor`, `batch_head` in this order and try again if the two differ; after its death one reading is exact. A
/// cursor that is not in the batch (the producer was between two stores, or the header is corrupt) counts as its begin.
pub const fn slots_written(batch_head: u64, cursor: u64, base: u64, bytes: u64) -> u64 {
    let head = RingHead::of(batch_head);
    if head.side > 0 {
        return head.slots + head.kept;
    }
    let start = base.wrapping_add(head.slots.wrapping_mul(SLOT_BYTES) & bytes.wrapping_sub(1));
    head.slots + into_batch(cursor, start)
}

/// Slots that a block of this many references takes.
pub const fn block_slots(refs: u64) -> u64 {
    refs / 2 + 1
}

/// Number of references of the block whose header this word is; `None` if it is none, or the header of a block that cannot be.
pub const fn block_refs(word: u64) -> Option<u64> {
    let refs = word >> W0_KIND_SHIFT;
    let is_one = word & (W0_BLOCK | W0_EVENT) == W0_BLOCK && refs >= 1 && refs <= BLOCK_REFS_MAX;
    if is_one { Some(refs) } else { None }
}

/// The block that a dead producer has begun in the `slots` behind the last whole slot of its batch: its header, with the number of
/// references whose addresses were stored. `None` if there is none.
pub fn block_begun(slots: &[[u64; 2]]) -> Option<u64> {
    let header = slots.first()?[0];
    let refs = block_refs(header)?;
    let addresses = slots.iter().flatten().skip(1).take(refs as usize);
    let stored = addresses.take_while(|&&address| address != 0).count() as u64;
    (stored > 0).then_some(header & !(0xff << W0_KIND_SHIFT) | stored << W0_KIND_SHIFT)
}

macro_rules! layout {
    ($($(#[$doc:meta])* $name:ident: $value:expr, $c:literal;)+) => {
        $($(#[$doc])* pub const $name: u64 = $value;)+
        const LAYOUT: &[(&str, u64, &str)] = &[$((stringify!($name), $name, $c)),+];
    };
}

layout! {
    /** Control: u64 magic. */ CONTROL_OFF_MAGIC: 0, "u64";
    /** Control: u32 layout version, [`LAYOUT_VERSION`]. */ CONTROL_OFF_VERSION: 8, "u32";
    /** Control: u32 mode, [`MODE_RECORD`] or [`MODE_COUNT`]. */ CONTROL_OFF_MODE: 12, "u32";
    /** Control: u32 stop flag, 0 = go on, else a `STOP_*` reason; set by either side. */ CONTROL_OFF_STOP: 16, "u32";
    /** Control: u32 process id of the recorder. */ CONTROL_OFF_RECORDER_PID: 20, "u32";
    /** Control: u32 next ring index (fetch-add by the program). */ CONTROL_OFF_NEXT_RING: 24, "u32";
    /** Control: u32 1 if references count only inside the phase named at CONTROL_OFF_ROI. */ CONTROL_OFF_ROI_SET: 28, "u32";
    /** Control: u32 futex word the program bumps and wakes when a half ring is full or an event needs the recorder. */ CONTROL_OFF_DOORBELL: 32, "u32";
    /** Control: u32 number of processes that attached. */ CONTROL_OFF_ATTACHED: 36, "u32";
    /** Control: u64 references counted in MODE_COUNT (fetch-add at thread and process exit). */ CONTROL_OFF_COUNTED: 40, "u64";
    /** Control: u64 references dropped because recording had stopped, all threads together (also those of threads without a ring). */ CONTROL_OFF_DROPPED: 48, "u64";
    /** Control: u64 references made inside signal handlers (counted, not recorded). */ CONTROL_OFF_SIGNAL_REFS: 56, "u64";
    /** Control: u64 atomics that went unnumbered (signal handler or forked child found the lock held). */ CONTROL_OFF_UNNUMBERED: 64, "u64";
    /** Control: u64 accesses wider than 16 bytes that the compiler reported as a range (counted besides being recorded). */ CONTROL_OFF_WIDE: 72, "u64";
    /** Control: u64 threads that got no ring (table full, no space). */ CONTROL_OFF_UNRINGED: 80, "u64";
    /** Control: u64 file stamps: time-stamp counter at recorder start. */ CONTROL_OFF_STAMP_START: 88, "u64";
    /** Control: NUL-terminated name of the region of interest, 64 bytes. */ CONTROL_OFF_ROI: 96, "char[64]";
    /** Control: NUL-terminated absolute path of the rings directory, 3072 bytes. */ CONTROL_OFF_DIR: 256, "char[3072]";
    /** Control: NUL-terminated absolute path of a directory in memory where rings are made if possible, 256 bytes; empty: none. */ CONTROL_OFF_MEMORY: 3328, "char[256]";
    /** Control: u64 device and then u64 inode of the dataset's directory of rings. */ CONTROL_OFF_HOME: 3584, "u64";
    /** Control: u64 largest hash of a page whose references are recorded ([`crate::pages`]); 0: all references are. Runtimes of before do not know it and record all. */ CONTROL_OFF_PAGE_LIMIT: 3600, "u64";
    /** Control: u64 bits of the number of a small page that number the pages that are drawn. */ CONTROL_OFF_PAGE_MASK: 3608, "u64";
    /** Control: u64 references left out because their pages were not drawn. */ CONTROL_OFF_LEFT_OUT: 3616, "u64";
    /** Control: u32 number of the last block of references that is defined (fetch-add by the program), see [`W0_BLOCK`]. */ CONTROL_OFF_BLOCKS: 3624, "u32";
    /** Control: u64 plain references that those looked at to find certain pages stand for ([`crate::pages`]). */ CONTROL_OFF_LOOKED: 3632, "u64";
    /** Control: u32 number of buckets of pages that are certain. */ CONTROL_OFF_CERTAIN: 3640, "u32";
    /** Control: u32 1 if repetitions may be left out of rings ([`EVENT_REPEAT`]). */ CONTROL_OFF_REPEATS: 3644, "u32";
    /** Control: the ring table starts here. */ CONTROL_OFF_TABLE: 4096, "entry[RINGS_MAX]";
    /** Bytes of a ring table entry. */ ENTRY_BYTES: 32, "";
    /** Entry: u32 state, `ENTRY_*`. */ ENTRY_OFF_STATE: 0, "u32";
    /** Entry: u32 process id. */ ENTRY_OFF_PID: 4, "u32";
    /** Entry: u32 kernel thread id. */ ENTRY_OFF_TID: 8, "u32";
    /** Entry: u32 ring index of the creating thread, u32::MAX if unknown or initial. */ ENTRY_OFF_PARENT: 12, "u32";
    /** Entry: u64 bytes of slots. */ ENTRY_OFF_BYTES: 16, "u64";
    /** Control: of each bucket of pages, how many times LOOK_REFS references it had while it was not certain. */ CONTROL_OFF_BUCKETS: 4096 + 32 * 65_536, "u32[262144]";
    /** Control: the state of each bucket, `BUCKET_*`. */ CONTROL_OFF_BUCKET_STATES: 4096 + 32 * 65_536 + 4 * 262_144, "u8[262144]";
    /** Bytes of the control file. */ CONTROL_BYTES: 4096 + 32 * 65_536 + 5 * 262_144, "";
    /** Ring: u64 magic. */ RING_OFF_MAGIC: 0, "u64";
    /** Ring: u64 bytes of slots. */ RING_OFF_BYTES: 8, "u64";
    /** Ring: u64 address of slot 0 in the producer. */ RING_OFF_BASE: 16, "u64";
    /** Ring: u32 index, u32 reserved. */ RING_OFF_INDEX: 24, "u32";
    /** Ring: u64 cursor, producer's address of the next free slot. Own cache line with the two below. */ RING_OFF_CURSOR: 64, "u64";
    /** Ring: u64 producer's address of the first slot of the current batch; for people with a debugger, use [`slots_written`]. */ RING_OFF_BATCH_START: 72, "u64";
    /** Ring: u64 slots written up to the begin of the current batch, monotonic; with what else [`RingHead`] has. */ RING_OFF_BATCH_HEAD: 80, "u64";
    /** Bits of the slots in that word. */ HEAD_SLOTS_MASK: (1 << 48) - 1, "";
    /** Where it says how many slots of the current batch of the ring are written. */ HEAD_KEPT_SHIFT: 48, "";
    /** Bits of that number. */ HEAD_KEPT_MASK: 0x7f, "";
    /** Where it says whether the thread writes to the ring (0) or to which of the two batches beside it (1, 2). */ HEAD_SIDE_SHIFT: 56, "";
    /** Ring: u64 producer's address up to which the cursor may stand for the largest block to fit in its batch. */ RING_OFF_LIMIT: 88, "u64";
    /** Ring: u64 slots consumed, monotonic; consumer's cache line. */ RING_OFF_TAIL: 128, "u64";
    /** Ring: u32 futex word the consumer bumps and wakes after advancing tail. */ RING_OFF_SPACE: 136, "u32";
    /** Ring: u32 1 while the producer sleeps for space. */ RING_OFF_WAITING: 192, "u32";
    /** Ring: u64 references dropped by this thread after a stop; contained in CONTROL_OFF_DROPPED. */ RING_OFF_DROPPED: 200, "u64";
    /** Ring: two batches beside it, each of BATCH_SLOTS slots. */ RING_OFF_SIDES: 1024, "slot[BATCH_SLOTS]";
    /** From the first to the second. */ RING_SIDES_STEP: 2048, "";
    /** Version of this layout. */ LAYOUT_VERSION: 6, "";
    /** Mode: references go into rings. */ MODE_RECORD: 0, "";
    /** Mode: references are counted and nothing is recorded. */ MODE_COUNT: 1, "";
    /** Stop: the recorder could not write (disk full, I/O error). */ STOP_WRITE_FAILED: 1, "";
    /** Stop: the requested number of references is reached. */ STOP_LIMIT: 2, "";
    /** Stop: the recorder is gone. */ STOP_RECORDER_GONE: 3, "";
    /** Stop: the user asked (Ctrl-C). */ STOP_USER: 4, "";
    /** Entry state: never used. */ ENTRY_FREE: 0, "";
    /** Entry state: claimed, ring file not ready. */ ENTRY_CLAIMED: 1, "";
    /** Entry state: recording. */ ENTRY_ACTIVE: 2, "";
    /** Entry state: thread or process ended in order; cursor is final. */ ENTRY_DONE: 3, "";
    /** Slot word 0: bits of the address. */ W0_ADDR_MASK: (1 << 48) - 1, "";
    /** Slot word 0: shift of the 4-bit size code: 0-6 = 1, 2, 4, 8, 16, 32, 64 bytes, 15 = length in the next slot's word 0. */ W0_SIZE_SHIFT: 48, "";
    /** Slot word 0: shift of the 2-bit operation: 0 read, 1 write, 2 atomic, 3 spin. */ W0_OP_SHIFT: 52, "";
    /** Slot word 0: set if the slot is an event: event kind in bits 56-63, payload slots in bits 48-51. */ W0_EVENT: 1 << 55, "";
    /** Slot word 0: shift of the event kind. */ W0_KIND_SHIFT: 56, "";
    /** Slot word 0, in a slot that is no event: the header of a block: number of references in bits 56-63, bits of those that write from BLOCK_WRITES_SHIFT on, number of the block below. The addresses follow, a word each, up to a whole number of slots. */ W0_BLOCK: 1 << 54, "";
    /** Where the bits of the references that write stand in a block's header. */ BLOCK_WRITES_SHIFT: 32, "";
    /** Bits of a block's number. */ BLOCK_NUMBER_MASK: (1 << 32) - 1, "";
    /** Most references of a block. */ BLOCK_REFS_MAX: 15, "";
    /** Slot word 1 of a reference: bits of the program counter (return address - 1). */ W1_PC_MASK: (1 << 48) - 1, "";
    /** Shift from an address to the number of its small page. */ PAGE_SHIFT: 12, "";
    /** First multiplier of the hash of a page's number, see [`crate::pages`]. */ PAGE_HASH: 0x9E37_79B9_7F4A_7C15, "";
    /** Shift between the two. */ PAGE_HASH_SHIFT: 30, "";
    /** Second multiplier. */ PAGE_HASH_AGAIN: 0xBF58_476D_1CE4_E5B9, "";
    /** Shift from the hash of a page to the number of its bucket. */ BUCKET_SHIFT: 46, "";
    /** State of a bucket: no page of it was referenced. */ BUCKET_NEW: 0, "";
    /** State of a bucket: references are recorded. */ BUCKET_CERTAIN: 1, "";
    /** State of a bucket: references are left out, if its pages are not drawn. */ BUCKET_SEEN: 2, "";
    /** State of a bucket, and above: the same, and it had enough to be certain when there were as many references as the number from here on says, in half doublings of CERTAIN_REFS. */ BUCKET_ONCE: 16, "";
    /** Unit of what buckets count, and least references from one that is looked at to the next. */ LOOK_REFS: 32, "";
    /** References before which no page is certain. */ CERTAIN_REFS: 1 << 18, "";
    /** A page that has one reference in so many, and again when there are half as many more, is certain. */ CERTAIN_ONE_IN: 512, "";
    /** Buckets that may be certain. */ CERTAIN_MAX: 64, "";
    /** Size code for a length that stands in the next slot (which never crosses a batch). */ SIZE_RANGE: 15, "";
    /** Event: padding up to the end of the batch. */ EVENT_PAD: 0, "";
    /** Event: w1 = time-stamp counter. */ EVENT_STAMP: 1, "";
    /** Event: w0 addr = object, w1 = kind of synchronisation (`SYNC_*`) above SYNC_SHIFT and sequence number below; next slot w0 = epoch, w1 = stamp. Of a barrier the epoch is its generation and, above BARRIER_PARTIES_SHIFT, how many threads it takes. */ EVENT_RELEASE: 2, "";
    /** Event: as RELEASE; the number is taken after the acquire. */ EVENT_ACQUIRE: 3, "";
    /** Event: a sync operation that is both (read-modify-write): takes one number; acquire and then release. */ EVENT_ACQ_REL: 4, "";
    /** Event: w0 addr = address, w1 = bytes; then slot {kind: 0 malloc, 1 stack of thread, 2 mmap, 3 shared}, depth; then two pcs a slot, innermost first. */ EVENT_ALLOC: 5, "";
    /** Event: w0 addr = address. */ EVENT_FREE: 6, "";
    /** Event: mmap. w0 addr = address, w1 = bytes; next slot w0 = prot<<32|flags, w1 = 0 (was fd+1); next slot w0 = device, w1 = inode (device 2^64-1: a segment of System V, and its number); of a shared mapping a next slot w0 = byte of the file, or of the anonymous memory, at which it begins. */ EVENT_MAP: 7, "";
    /** Event: munmap. w0 addr = address, w1 = bytes. */ EVENT_UNMAP: 8, "";
    /** Event: a module (executable or library): w0 addr = load bias, w1 = bytes mapped; then path in slots. */ EVENT_MODULE: 9, "";
    /** Event: phase begins: name in slots. */ EVENT_PHASE_BEGIN: 10, "";
    /** Event: phase ends: name in slots. */ EVENT_PHASE_END: 11, "";
    /** Event: w0 addr = ring index of the created thread or process, w1 = stamp. */ EVENT_SPAWN: 12, "";
    /** Event: the thread ends; w1 = stamp. */ EVENT_EXIT: 13, "";
    /** Event: process begins (first event of its first ring): w0 addr = pid, w1 = parent pid; next slot w0 = 0, w1 = stamp. */ EVENT_PROCESS: 14, "";
    /** Event: realloc grew or moved in place: w0 addr = old address, w1 = new address (a FREE and an ALLOC stand beside it). */ EVENT_REALLOC: 15, "";
    /** Event: the text of the event directly before it (module path, phase name) goes on: text in slots. */ EVENT_MORE: 16, "";
    /** Event: processors that a thread may run on. w0 addr = ring index of that thread, w1 = how it is known, `AFFINITY_*`; then words of the mask, two a slot, least processors first. */ EVENT_AFFINITY: 17, "";
    /** Event: the thread has waited for the end of a process: w0 addr = its pid. */ EVENT_WAITED: 18, "";
    /** Event: w1 = so many references before this one that were marked as busy waiting waited for nothing. */ EVENT_NO_WAIT: 19, "";
    /** Event: the last block of references before this in the batch comes w0 addr times more, each with the addresses of the one before plus strides: w1 that of the first address; those of the others in slots as they stand in the block, or no slot: as in the last such event with slots, of the same block and batch. Never in a batch beside the ring. */ EVENT_REPEAT: 20, "";
    /** Where the kind of synchronisation stands in the word of a sequence number. */ SYNC_SHIFT: 56, "";
    /** Bits of a sequence number. */ SYNC_SEQ_MASK: (1 << 56) - 1, "";
    /** Where the number of threads of a barrier stands in its epoch. */ BARRIER_PARTIES_SHIFT: 40, "";
    /** Bits of a barrier's generation. */ BARRIER_GENERATION_MASK: (1 << 40) - 1, "";
    /** Kind of synchronisation: a mutex or spin lock. */ SYNC_MUTEX: 1, "";
    /** Kind of synchronisation: a reader-writer lock, as a reader. Readers release epoch 1 and acquire epoch 0. */ SYNC_RW_READ: 2, "";
    /** Kind of synchronisation: a reader-writer lock, as a writer. Writers release epoch 0 and acquire both. */ SYNC_RW_WRITE: 3, "";
    /** Kind of synchronisation: a barrier. */ SYNC_BARRIER: 4, "";
    /** Kind of synchronisation: the end of a wait for a condition. */ SYNC_CONDITION: 5, "";
    /** Kind of synchronisation: a condition is signalled to one thread. */ SYNC_SIGNAL: 6, "";
    /** Kind of synchronisation: a condition is signalled to all threads. */ SYNC_BROADCAST: 7, "";
    /** Kind of synchronisation: a semaphore. */ SYNC_SEMAPHORE: 8, "";
    /** Kind of synchronisation: a thread ends, and is joined. */ SYNC_JOIN: 9, "";
    /** Kind of synchronisation: something is done once. */ SYNC_ONCE: 10, "";
    /** Kind of synchronisation: an atomic operation. */ SYNC_ATOMIC: 11, "";
    /** Kind of synchronisation: the allocator hands memory on. */ SYNC_ALLOCATOR: 12, "";
    /** Kind of synchronisation: the program says so (annotations for race detectors). */ SYNC_ANNOTATION: 13, "";
    /** Kind of synchronisation: the begin of a thread that no call of the program's announced. */ SYNC_THREAD: 14, "";
    /** How affinity is known: the program asked for it, from now on. */ AFFINITY_CALL: 0, "";
    /** How affinity is known: seen at the thread's end, no call was. */ AFFINITY_SEEN: 1, "";
    /** How affinity is known: the process was started with it. */ AFFINITY_INHERITED: 2, "";
    /** Event payload: text is cut into pieces of 16 bytes a slot, the last one filled with NUL; no terminator. */ TEXT_BYTES_PER_SLOT: 16, "";
    /** Epoch of the hand-over of memory by the allocator; the object is the address of the memory. */ EPOCH_ALLOCATOR: u64::MAX, "";
    /** Longest event payload in slots after the first; longer text goes on in EVENT_MORE. */ EVENT_PAYLOAD_MAX: 15, "";
}

/// Ring: the recorder's journal, two records of [`RING_JOURNAL_BYTES`] bytes: u64 tail, u64 references before that tail,
/// u64 events before that tail. The record whose tail equals [`RING_OFF_TAIL`] is the valid one; the other is written
/// before the tail moves. It tells `recover` how many references of the ring a killed recorder had already put in the
/// dataset. No business of the program, so it is not in the C header.
pub const RING_OFF_JOURNAL: u64 = 2048;
/// Bytes of one record of the journal.
pub const RING_JOURNAL_BYTES: u64 = 64;

/// The layout as a C header; each name is prefixed with `HN_`.
pub fn c_header() -> String {
    let mut text = String::from(
        "/* Generated from crates/base/src/ring.rs by `cargo xtask gen-header`. Do not edit. */\n#pragma once\n",
    );
    for (name, value, kind) in constants() {
        let note = if kind.is_empty() { String::new() } else { format!(" /* {kind} */") };
        text.push_str(&format!("#define HN_{name} UINT64_C({value:#x}){note}\n"));
    }
    text.push_str(&format!("#define HN_CONTROL_ENV \"{CONTROL_ENV}\"\n"));
    text
}

fn constants() -> Vec<(&'static str, u64, &'static str)> {
    let scalars = [
        ("CONTROL_MAGIC", CONTROL_MAGIC),
        ("RING_MAGIC", RING_MAGIC),
        ("SLOT_BYTES", SLOT_BYTES),
        ("BATCH_SLOTS", BATCH_SLOTS),
        ("RING_HEADER_BYTES", RING_HEADER_BYTES),
        ("RING_BYTES_MAX", RING_BYTES_MAX),
        ("RING_BYTES_MIN", RING_BYTES_MIN),
        ("RING_CLASS_BYTES", RING_CLASS_BYTES),
        ("RINGS_MAX", RINGS_MAX as u64),
    ];
    scalars.into_iter().map(|(n, v)| (n, v, "")).chain(LAYOUT.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_written_survives_every_state_between_two_stores() {
        let (base, bytes) = (0x7000_0000_1000u64, RING_BYTES_MIN);
        let ring_slots = bytes / SLOT_BYTES;
        for written in 0..3 * ring_slots {
            let head = written / BATCH_SLOTS * BATCH_SLOTS;
            let cursor = base + head % ring_slots * SLOT_BYTES + (written - head) * SLOT_BYTES;
            assert_eq!(slots_written(head, cursor, base, bytes), written);
            if written == head && written > 0 {
                // The batch is full and the head not yet moved; then moved while the cursor still stands at the old end.
                let end = base + (head - BATCH_SLOTS) % ring_slots * SLOT_BYTES + BATCH_SLOTS * SLOT_BYTES;
                assert_eq!(slots_written(head - BATCH_SLOTS, end, base, bytes), written);
                assert_eq!(slots_written(head, end, base, bytes), written);
            }
        }
        assert_eq!(slots_written(64, u64::MAX, 0, 0), 64, "a corrupt header must not panic");
    }

    #[test]
    fn what_stands_beside_a_ring_counts_apart() {
        let (base, bytes) = (0x7000_0000_1000u64, RING_BYTES_MIN);
        for (side, offset) in [(1, RING_OFF_SIDES), (2, RING_OFF_SIDES + RING_SIDES_STEP)] {
            let head = RingHead { slots: 7 * BATCH_SLOTS, kept: 20, side };
            assert_eq!((RingHead::of(head.word()), head.side_offset()), (head, Some(offset)));
            let begin = base - RING_HEADER_BYTES + offset;
            for into in 0..=BATCH_SLOTS {
                let cursor = begin + into * SLOT_BYTES;
                assert_eq!(slots_written(head.word(), cursor, base, bytes), 7 * BATCH_SLOTS + 20);
                assert_eq!(head.beside(cursor, base), into);
                assert_eq!(RingHead { side: 3 - side, ..head }.beside(cursor, base), 0, "it was moved");
            }
            assert!(
                begin.is_multiple_of(BATCH_SLOTS * SLOT_BYTES)
                    && offset + BATCH_SLOTS * SLOT_BYTES <= RING_HEADER_BYTES
            );
            assert!(!(offset..offset + BATCH_SLOTS * SLOT_BYTES).contains(&RING_OFF_JOURNAL));
        }
        assert_eq!(RingHead::of(u64::MAX), RingHead { slots: HEAD_SLOTS_MASK, kept: BATCH_SLOTS, side: 0 });
    }

    #[test]
    fn four_thousand_rings_together_fit_the_memory_limit() {
        let total: u64 = (0..4096).map(|i| ring_bytes(i) + RING_HEADER_BYTES).sum();
        assert!(total <= (256 << 20) - (64 << 20), "the recorder needs the rest: {total}");
        assert_eq!((ring_bytes(0), ring_bytes(7), ring_bytes(8)), (2 << 20, 2 << 20, 1 << 20));
        assert_eq!(ring_bytes(RINGS_MAX - 1), RING_BYTES_MIN);
    }
}
