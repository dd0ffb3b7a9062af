/* Busy waiting: the same site reads the same address again and again, with nothing between the reads except other such
 * reads (`while (!a || !b)`), or always the same references to the thread's own stack and thread-local memory (`while (!a)
 * n++` unoptimised). From the 2nd on, a read is marked; of atomics only while the value stays, as another one is
 * synchronisation. Whether something was between is seen from the ring's cursor, which every reference and event moves.
 *
 * What was waited for has come when the last read differs from the one before. A loop that reads so many times, whatever
 * it reads, ends with a value it has seen: then an event says that the marked reads were none of waiting. The program reads a
 * volatile once more after us, and may have seen the change that we did not: so the value is looked at again, at the end of
 * the batch at the latest, unless the thread itself has written there. */
#include <sys/uio.h>

#include "os.h"
#include "runtime.h"

#define GAP_SLOTS 6
#define OWN_BYTES (64 << 10)

static void load_value(const void *value, unsigned bytes, uint64_t out[2]) {
    out[0] = out[1] = 0;
    for (unsigned i = 0; i < bytes; i++)
        ((uint8_t *)out)[i] = ((const uint8_t *)value)[i];
}

static int find(const struct hn_spin *s, uintptr_t pc) {
    for (uint32_t i = 0; i < s->used; i++)
        if (s->site[i].pc == pc)
            return (int)i;
    return -1;
}

/* Memory that nobody else has business with: what the thread's stack holds of its callers, its thread-local variables. */
static bool is_own(uint64_t addr) {
    return addr - (uintptr_t)__builtin_frame_address(0) < OWN_BYTES ||
           (uintptr_t)__builtin_thread_pointer() - addr < OWN_BYTES;
}

/* The slot at or after `at` in the ring, over padding and the next stamp. */
static uint64_t slot_at(const struct hn_ring *r, uint64_t at) {
    if (at & (HN_BATCH_BYTES - 1) && at != r->cursor && *(const uint64_t *)at == hnrt_event_word(HN_EVENT_PAD, 0, 0))
        at = (at | (HN_BATCH_BYTES - 1)) + 1;
    if (at == r->cursor)
        return at;
    return at & (HN_BATCH_BYTES - 1) ? at : r->base + ((at - r->base) & (r->bytes - 1)) + HN_SLOT_BYTES;
}

/* References, one or those of a block, that stand in a slot, and the bytes that they take; 0 if it is an event or a range. */
static unsigned refs_at(const uint64_t *slot, uint64_t *bytes) {
    unsigned block = hnrt_block_refs(slot[0]);
    *bytes = block ? hnrt_block_bytes(block) : HN_SLOT_BYTES;
    if (block)
        return block;
    return !(slot[0] & HN_W0_EVENT) && (slot[0] >> HN_W0_SIZE_SHIFT & 15) != HN_SIZE_RANGE;
}

/* The address of the n-th of them. */
static uint64_t addr_at(const uint64_t *slot, unsigned n) {
    return (hnrt_block_refs(slot[0]) ? slot[1 + n] : slot[0]) & HN_W0_ADDR_MASK;
}

static bool writes_at(const uint64_t *slot, unsigned n) {
    if (hnrt_block_refs(slot[0]))
        return slot[0] >> (HN_BLOCK_WRITES_SHIFT + n) & 1;
    uint64_t op = slot[0] >> HN_W0_OP_SHIFT & 3;
    return op == OP_WRITE || op == OP_ATOMIC;
}

/* What stands in the ring since the mark: 0 for nothing, 1 for what no wait has between its reads. */
static uint64_t gap_since(struct hn_thread *t) {
    const struct hn_ring *r = t->real;
    hnrt_settle(t);
    uint64_t at = t->spin.mark, hash = HN_BATCH_BYTES, bytes;
    if (!r || !hnrt_to_real(t) || at - r->base > r->bytes)
        return at != hnrt_ring->cursor;
    unsigned n = 0;
    for (; at != r->cursor; at += bytes) {
        at = slot_at(r, at);
        if (at == r->cursor)
            break;
        const uint64_t *slot = (const uint64_t *)at;
        unsigned refs = refs_at(slot, &bytes);
        n += refs;
        if (!refs || n > GAP_SLOTS)
            return 1;
        for (unsigned i = 0; i < refs; i++)
            if (!is_own(addr_at(slot, i)))
                return 1;
        for (unsigned i = 0; i < (bytes == HN_SLOT_BYTES ? 2 : refs + 1); i++)
            hash = (hash ^ slot[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    if (!n)
        return 0;
    return hash == 0 || hash == 1 ? 2 : hash;
}

/* Whether a read goes on with the wait that the reads before it may be; `i` is its site. What is between the first two
 * reads of one site alone must be between all. */
static bool goes_on(const struct hn_thread *t, int i, uint64_t gap) {
    const struct hn_spin *s = &t->spin;
    if (gap <= 1 || i < 0 || s->used != 1)
        return gap == 0 && (s->gap == 0 || s->marked == 0);
    return s->marked == 0 || s->gap == gap;
}

static int known_site(const struct hn_thread *t, const volatile void *addr, uintptr_t pc) {
    int i = find(&t->spin, pc);
    return i >= 0 && t->spin.site[i].addr == (uintptr_t)addr ? i : -1;
}

/* Whether a read by this site at this address is one more of a wait. */
static bool again(struct hn_thread *t, const volatile void *addr, uintptr_t pc) {
    int i = known_site(t, addr, pc);
    return i >= 0 && goes_on(t, i, gap_since(t));
}

/* Whether a read that gets this value is busy waiting. */
bool hnrt_spin_expected(struct hn_thread *t, const volatile void *addr, const void *value, unsigned bytes,
                        uintptr_t pc) {
    int i = known_site(t, addr, pc);
    if (i < 0 || !goes_on(t, i, gap_since(t)))
        return false;
    uint64_t v[2];
    load_value(value, bytes, v);
    return t->spin.site[i].value == v[0] && t->spin.site[i].value_high == v[1];
}

static bool written_since(const struct hn_ring *r, uint64_t at, uint64_t addr) {
    uint64_t bytes;
    for (unsigned n = 0; at != r->cursor && n < HN_BATCH_SLOTS; n++, at += bytes) {
        at = slot_at(r, at);
        if (at == r->cursor)
            return false;
        const uint64_t *slot = (const uint64_t *)at;
        unsigned refs = refs_at(slot, &bytes);
        for (unsigned i = 0; i < refs; i++)
            if (writes_at(slot, i) && addr_at(slot, i) == addr)
                return true;
    }
    return false;
}

/* Whether memory has another value than the one that was read last, as far as can be told: it may be gone. */
static bool differs(uint64_t addr, uint64_t value, uint64_t value_high, uint32_t bytes) {
    uint64_t now[2] = {0, 0};
    struct iovec to = {now, bytes}, from = {(void *)(uintptr_t)addr, bytes};
    long got = os(SYS_process_vm_readv, hnrt_pid, &to, 1, &from, 1, 0);
    return got != (long)bytes || now[0] != value || now[1] != value_high;
}

/* The reads have come to an end: whether what was waited for has come. */
void hnrt_spin_look(struct hn_thread *t) {
    struct hn_spin *s = &t->spin;
    const struct hn_ring *r = t->real;
    hnrt_settle(t);
    if (!r || s->mark - r->base > r->bytes)
        return;
    s->looked = true;
    for (uint32_t i = 0; i < s->used && !s->changed; i++)
        s->changed = written_since(r, s->mark, s->site[i].addr) ||
                     differs(s->site[i].addr, s->site[i].value, s->site[i].value_high, s->site[i].bytes);
}

/* The wait is over: something else happened, or the thread ends. */
void hnrt_spin_over(struct hn_thread *t) {
    struct hn_spin *s = &t->spin;
    if (s->marked && !s->looked)
        hnrt_spin_look(t);
    uint64_t none = s->changed ? 0 : s->marked;
    s->used = s->marked = 0;
    s->gap = 0;
    s->changed = s->looked = false;
    if (none && t->recording)
        hnrt_event(t, HN_EVENT_NO_WAIT, 0, none);
}

/* A read-modify-write that succeeds where such reads failed has what it waited for. */
void hnrt_spin_won(struct hn_thread *t, const volatile void *addr, uintptr_t pc) {
    if (t->spin.marked && again(t, addr, pc))
        t->spin.changed = true;
}

static void remember(struct hn_spin *s, const volatile void *addr, const uint64_t v[2], unsigned bytes, uintptr_t pc,
                     uint64_t gap) {
    int i = find(s, pc);
    bool before = i >= 0 && s->site[i].addr == (uintptr_t)addr;
    if (before) {
        s->changed = s->site[i].value != v[0] || s->site[i].value_high != v[1];
        s->gap = gap;
    }
    if (i < 0)
        i = (int)(s->used++);
    s->site[i].pc = pc;
    s->site[i].addr = (uintptr_t)addr;
    s->site[i].value = v[0];
    s->site[i].value_high = v[1];
    s->site[i].bytes = bytes;
    s->looked = false;
}

/* Notes a read whose slots are about to be written, and whether it will be marked; call hnrt_spin_mark after them. */
void hnrt_spin_note(struct hn_thread *t, const volatile void *addr, const void *value, unsigned bytes, uintptr_t pc,
                    bool marked) {
    uint64_t v[2], gap = gap_since(t);
    load_value(value, bytes, v);
    int i = find(&t->spin, pc);
    bool elsewhere = i >= 0 && t->spin.site[i].addr != (uintptr_t)addr;
    bool other = i < 0 && (t->spin.used == SPIN_SITES || (t->spin.marked && !t->spin.changed));
    if (elsewhere || other || !goes_on(t, i, gap)) {
        hnrt_spin_over(t);
        gap = 0;
    }
    remember(&t->spin, addr, v, bytes, pc, gap);
    if (marked && hnrt_to_real(t))
        t->spin.marked++;
}

/* Whether the reads so far are no wait that may go on. Then nobody comes back to what stands after them. */
bool hnrt_spin_is_none(struct hn_thread *t) {
    if (t->spin.used && gap_since(t) != 1)
        return false;
    t->spin.mark = 0;
    return true;
}

/* gcc keeps the expected value of a compare-and-swap in memory, and sets it anew before each try: references to it
 * are part of the wait. */
void hnrt_spin_overlook(struct hn_thread *t, const void *own) {
    const struct hn_ring *r = t->real;
    hnrt_settle(t);
    if (!r || !hnrt_to_real(t) || t->spin.mark - r->base > r->bytes)
        return;
    uint64_t at = t->spin.mark, bytes;
    for (unsigned steps = 0; at != r->cursor && steps < 4; at += bytes) {
        at = slot_at(r, at);
        if (at == r->cursor)
            break;
        unsigned refs = refs_at((const uint64_t *)at, &bytes);
        steps += refs;
        for (unsigned i = 0; i < refs; i++)
            if (addr_at((const uint64_t *)at, i) != (uintptr_t)own)
                return;
        if (!refs)
            return;
    }
    if (at == r->cursor)
        t->spin.mark = at;
}

/* The slots of the read are written. It may have waited for space in the ring, and what the program waits for may have come
 * in that time: what was seen before is of no value. */
void hnrt_spin_mark(struct hn_thread *t) {
    hnrt_settle(t);
    t->spin.mark = hnrt_to_real(t) ? t->real->cursor : hnrt_ring->cursor;
    t->spin.looked = false;
    t->watched = GAP_SLOTS + 1;
}

#define VOLATILE_READ(name, bytes, code, type)                                                                        \
    EXPORT void __tsan_##name(void *addr) {                                                                           \
        uintptr_t pc = CALLER();                                                                                      \
        struct hn_thread *t = hnrt_recording();                                                                       \
        if (!t) {                                                                                                     \
            hnrt_ref(addr, code, OP_READ, pc);                                                                        \
            return;                                                                                                   \
        }                                                                                                             \
        type value = *(const volatile type *)addr;                                                                    \
        bool spin = again(t, addr, pc);                                                                               \
        hnrt_spin_note(t, addr, &value, bytes, pc, spin);                                                             \
        hnrt_ref(addr, code, spin ? OP_SPIN : OP_READ, pc);                                                           \
        hnrt_spin_mark(t);                                                                                            \
    }                                                                                                                 \
    EXPORT void __tsan_##name##_pc(void *addr, void *pc) {                                                            \
        hnrt_ref(addr, code, OP_READ, (uintptr_t)pc - 1);                                                             \
    }

/* Any alignment, any aliasing; 16 bytes in two halves, as nothing needs them at once. */
typedef uint16_t __attribute__((aligned(1), may_alias)) any16;
typedef uint32_t __attribute__((aligned(1), may_alias)) any32;
typedef uint64_t __attribute__((aligned(1), may_alias)) any64;
typedef unsigned __int128 __attribute__((aligned(1), may_alias)) any128;

VOLATILE_READ(volatile_read1, 1, CODE_1, uint8_t)
VOLATILE_READ(volatile_read2, 2, CODE_2, any16)
VOLATILE_READ(volatile_read4, 4, CODE_4, any32)
VOLATILE_READ(volatile_read8, 8, CODE_8, any64)
VOLATILE_READ(volatile_read16, 16, CODE_16, any128)
VOLATILE_READ(unaligned_volatile_read2, 2, CODE_2, any16)
VOLATILE_READ(unaligned_volatile_read4, 4, CODE_4, any32)
VOLATILE_READ(unaligned_volatile_read8, 8, CODE_8, any64)
VOLATILE_READ(unaligned_volatile_read16, 16, CODE_16, any128)
