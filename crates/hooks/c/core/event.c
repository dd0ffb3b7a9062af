/* Slots that are more than one reference: events, ranges, text. */
#include "os.h"
#include "runtime.h"

#define ALLOC_PCS ((HN_EVENT_PAYLOAD_MAX - 1) * 2)

static bool next_batch(struct hn_thread *t) {
    if (hnrt_open_batch(t))
        return true;
    hnrt_leave_ring(t);
    return false;
}

/* Room for `slots` slots in one batch of the real ring, to be filled and then committed; NULL if recording is over. */
uint64_t *hnrt_reserve(struct hn_thread *t, unsigned slots) {
    struct hn_ring *r = t->real;
    hnrt_settle(t);
    if (AT_BOUNDARY(r->cursor) && !next_batch(t))
        return NULL;
    uint64_t left = HN_BATCH_BYTES - (r->cursor & (HN_BATCH_BYTES - 1));
    if (UNLIKELY(slots * HN_SLOT_BYTES > left)) {
        *(uint64_t *)r->cursor = hnrt_event_word(HN_EVENT_PAD, 0, 0);
        __atomic_store_n(&r->cursor, r->cursor + left, __ATOMIC_RELEASE);
        if (!next_batch(t))
            return NULL;
    }
    return (uint64_t *)r->cursor;
}

/* Publishes reserved slots, all or none. Synchronisation is also where a thread learns that the region of interest
 * has been entered or left, which makes phases exact in programs that order them. */
void hnrt_commit(struct hn_thread *t, unsigned slots) {
    struct hn_ring *r = t->real;
    __atomic_store_n(&r->cursor, r->cursor + slots * HN_SLOT_BYTES, __ATOMIC_RELEASE);
    if (UNLIKELY(t->roi_seen != hnrt_roi_generation))
        hnrt_route(t);
}

void hnrt_event(struct hn_thread *t, uint64_t kind, uint64_t addr, uint64_t w1) {
    uint64_t *slot = hnrt_reserve(t, 1);
    if (!slot)
        return;
    slot[0] = hnrt_event_word(kind, addr, 0);
    slot[1] = w1;
    hnrt_commit(t, 1);
}

void hnrt_sync_event(struct hn_thread *t, uint64_t kind, const volatile void *object, uint64_t epoch, uint64_t number,
                     uint64_t sync) {
    uint64_t *slot = hnrt_reserve(t, 2);
    if (!slot)
        return;
    slot[0] = hnrt_event_word(kind, (uintptr_t)object, 1);
    slot[1] = (number & HN_SYNC_SEQ_MASK) | sync << HN_SYNC_SHIFT;
    slot[2] = epoch;
    slot[3] = os_stamp();
    hnrt_stamped(t, slot[3]);
    hnrt_commit(t, 2);
}

static unsigned text_slots(size_t bytes) {
    return (unsigned)((bytes + HN_TEXT_BYTES_PER_SLOT - 1) / HN_TEXT_BYTES_PER_SLOT);
}

/* One event with the first `bytes` of the text. */
static void put_text(struct hn_thread *t, uint64_t kind, uint64_t addr, uint64_t w1, const char *text, size_t bytes) {
    unsigned payload = text_slots(bytes);
    uint64_t *slot = hnrt_reserve(t, 1 + payload);
    if (!slot)
        return;
    slot[0] = hnrt_event_word(kind, addr, payload);
    slot[1] = w1;
    char *to = (char *)(slot + 2);
    for (size_t i = 0; i < payload * HN_TEXT_BYTES_PER_SLOT; i++)
        to[i] = i < bytes ? text[i] : 0;
    hnrt_commit(t, 1 + payload);
}

void hnrt_event_text(struct hn_thread *t, uint64_t kind, uint64_t addr, uint64_t w1, const char *text) {
    const size_t most = HN_EVENT_PAYLOAD_MAX * HN_TEXT_BYTES_PER_SLOT;
    size_t bytes = 0;
    while (text[bytes])
        bytes++;
    do {
        size_t piece = bytes < most ? bytes : most;
        put_text(t, kind, addr, w1, text, piece);
        kind = HN_EVENT_MORE;
        text += piece;
        bytes -= piece;
    } while (bytes && t->recording);
}

/* The innermost program counters: the site, then the calls that led to its function; two a slot. At least one. */
void hnrt_event_stack(struct hn_thread *t, const void *addr, uint64_t bytes, uint64_t source, const uintptr_t *pcs,
                      unsigned depth) {
    depth = depth < ALLOC_PCS ? depth : ALLOC_PCS;
    unsigned payload = 1 + (depth + 1) / 2;
    uint64_t *slot = hnrt_reserve(t, 1 + payload);
    if (!slot)
        return;
    slot[0] = hnrt_event_word(HN_EVENT_ALLOC, (uintptr_t)addr, payload);
    slot[1] = bytes;
    slot[2] = source;
    slot[3] = depth;
    for (unsigned i = 0; i < depth; i++)
        slot[4 + i] = pcs[i];
    if (depth % 2)
        slot[4 + depth] = 0;
    hnrt_commit(t, 1 + payload);
}

/* An allocation at `pc`, with the calls that the entry points have seen. */
void hnrt_event_alloc(struct hn_thread *t, const void *addr, uint64_t bytes, uint64_t source, uintptr_t pc) {
    uintptr_t pcs[ALLOC_PCS] = {pc};
    unsigned known = t->depth < HN_STACK_MAX ? t->depth : HN_STACK_MAX;
    unsigned depth = 1 + (known > t->depth_floor ? known - t->depth_floor : 0);
    depth = depth < ALLOC_PCS ? depth : ALLOC_PCS;
    for (unsigned i = 1; i < depth; i++)
        pcs[i] = t->stack[known - i].pc;
    hnrt_event_stack(t, addr, bytes, source, pcs, depth);
}

/* Size code of a length that has one, else the code that says "in the next slot". */
static unsigned size_code(uint64_t bytes) {
    for (unsigned code = 0; code <= 6; code++)
        if (bytes == UINT64_C(1) << code)
            return code;
    return HN_SIZE_RANGE;
}

void hnrt_put_range(const void *addr, uint64_t bytes, enum hn_op op, uintptr_t pc) {
    if (!bytes)
        return;
    struct hn_thread *t = hnrt_self ? hnrt_self : hnrt_thread_attach();
    unsigned code = size_code(bytes);
    uint64_t word = hnrt_addr(addr) | REF_BITS(code, op);
    if (code == HN_SIZE_RANGE && t && hnrt_to_real(t)) {
        uint64_t *slot = hnrt_reserve(t, 2);
        if (slot) {
            slot[0] = word;
            slot[1] = pc;
            slot[2] = bytes;
            slot[3] = 0;
            hnrt_commit(t, 2);
            return;
        }
    }
    hnrt_put(word, pc); /* a scratch ring counts it, whatever its length */
}
