/* Repetitions are left out of rings. What a thread that goes round in a loop refers to is said by one round and strides, and moving the rest
 * to the recorder's processor costs more than anything else in a recording. So such a thread fills batches beside the ring, which stay in its
 * cache, and a full one is moved to the ring with repetitions instead of blocks that repeat.
 *
 * All of it may be abandoned by a longjmp at any instruction: only the store of the ring's head makes anything true, and what stands in the
 * ring after what that says, or beside it, is nothing. */
#include "runtime.h"

/* A moved batch of so many slots was worth it; after POOR that were not, in a row, the thread writes to the ring again. */
#define WORTH 48
#define POOR 4
/* Most batches that are passed between two at which a thread that writes to the ring looks. */
#define WAIT_MAX 31

bool hnrt_repeats;

static uint64_t head_of(uint64_t slots, uint64_t kept, uint64_t side) {
    return slots | kept << HN_HEAD_KEPT_SHIFT | side << HN_HEAD_SIDE_SHIFT;
}

static inline void set_head(struct hn_ring *r, uint64_t head) {
    __atomic_store_n(&r->batch_head, head, __ATOMIC_RELEASE);
}

/* Slots of what begins with this word. */
static unsigned slots_of(uint64_t word) {
    unsigned refs = hnrt_block_refs(word), code = word >> HN_W0_SIZE_SHIFT & 15;
    if (refs)
        return refs / 2 + 1;
    return word & HN_W0_EVENT ? 1 + code : 1 + (code == HN_SIZE_RANGE);
}

static inline __attribute__((always_inline)) unsigned run_of(const hn_slot *at, const hn_slot *end,
                                                             const hn_slot *before, const hn_slot *strides,
                                                             unsigned slots) {
    unsigned n = 0;
    for (; at + slots <= end; before = at, at += slots, n++) {
        hn_slot wrong = {0, 0};
        for (unsigned i = 0; i < slots; i++)
            wrong |= (at[i] - before[i]) ^ strides[i];
        if (wrong[0] | wrong[1])
            break;
    }
    return n;
}

/* How many blocks from `at` on, of so many slots, are each the one before plus strides. */
static unsigned run(const hn_slot *at, const hn_slot *end, const hn_slot *before, const hn_slot *strides, unsigned slots) {
    switch (slots) {
    case 1:
        return run_of(at, end, before, strides, 1);
    case 2:
        return run_of(at, end, before, strides, 2);
    case 3:
        return run_of(at, end, before, strides, 3);
    default:
        return run_of(at, end, before, strides, slots);
    }
}

static void copy(hn_slot *to, const hn_slot *from, unsigned slots) {
    for (unsigned i = 0; i < slots; i++)
        to[i] = from[i];
}

/* Repetitions of the block `last` from `at` on: how many, and the slots with their strides in `strides`, 0 if those are known. */
static unsigned repetitions(struct hn_repeats *f, const hn_slot *last, const hn_slot *at, const hn_slot *end, unsigned slots,
                            unsigned *strides) {
    unsigned n = f->header == at[0][0] ? run(at, end, last, f->strides, slots) : 0;
    *strides = 0;
    if (n)
        return n;
    hn_slot now[HN_BLOCK_SLOTS];
    for (unsigned i = 0; i < slots; i++)
        now[i] = at[i] - last[i];
    n = 1 + run(at + slots, end, at, now, slots);
    if (n < 2)
        return 0;
    f->header = at[0][0];
    copy(f->strides, now, slots);
    *strides = slots - 1;
    return n;
}

/* Writes the slots of a full batch, with repetitions, to `to`, where there is room for so many. How many they are; 0 if more than that. Its stamp
 * stays: frames cut what is more than a batch between two stamps, and what they cut would have no time of its own. */
static unsigned shorten(struct hn_repeats *f, const hn_slot *at, hn_slot *to, unsigned room) {
    const hn_slot *end = at + HN_BATCH_SLOTS, *last = f->last;
    unsigned used = 0;
    while (at < end && at[0][0] != hnrt_event_word(HN_EVENT_PAD, 0, 0)) {
        unsigned slots = slots_of(at[0][0]), left = (unsigned)(end - at), strides = 0, n = 0;
        bool block = hnrt_block_refs(at[0][0]) && slots <= HN_BLOCK_SLOTS && slots <= left;
        slots = slots < left ? slots : left;
        if (block && last[0][0] == at[0][0])
            n = repetitions(f, last, at, end, slots, &strides);
        unsigned needs = n ? 1 + strides : slots;
        if (needs > room - used)
            return 0;
        if (n) {
            to[used] = (hn_slot){hnrt_event_word(HN_EVENT_REPEAT, n, strides), f->strides[0][1]};
            copy(to + used + 1, f->strides + 1, strides);
            at += (n - 1) * slots;
        } else {
            copy(to + used, at, slots);
        }
        used += needs;
        last = block ? at : last;
        at += slots;
    }
    if (last != f->last)
        copy(f->last, last, slots_of(last[0][0]));
    return used;
}

static void forget(struct hn_repeats *f) {
    f->header = f->last[0][0] = 0;
    f->head = 0;
}

/* Whether batches like this one, which lies in the ring, are to be written beside it. */
static bool is_worth(struct hn_thread *t, const hn_slot *batch) {
    struct hn_repeats *f = &t->repeats;
    hn_slot shorter[HN_BATCH_SLOTS];
    if (f->waited < f->wait) {
        f->waited++;
        return false;
    }
    forget(f);
    f->waited = f->poor = 0;
    bool worth = shorten(f, batch, shorter, WORTH / 2);
    f->wait = worth ? 0 : f->wait * 2 + 1 < WAIT_MAX ? f->wait * 2 + 1 : WAIT_MAX;
    forget(f);
    return worth;
}

/* Nothing more comes into the current batch of the ring, from the slot `kept` on. */
static void pad(struct hn_ring *r, uint64_t slots, uint64_t kept) {
    if (kept < HN_BATCH_SLOTS)
        hnrt_batch(r, slots)[kept] = (hn_slot){hnrt_event_word(HN_EVENT_PAD, 0, 0), 0};
}

/* Moves the full batch beside the ring as it is to a batch of its own; the next one is written to the ring. */
static bool move_whole(struct hn_thread *t, struct hn_ring *r, uint64_t slots, uint64_t kept, uint64_t side) {
    const hn_slot *batch = hnrt_batch(r, r->batch_head);
    if (kept) {
        pad(r, slots, kept);
        set_head(r, head_of(slots += HN_BATCH_SLOTS, 0, side));
    }
    if (!hnrt_enter_batch(r, slots))
        return false;
    hn_slot *to = hnrt_batch(r, slots);
    copy(to, batch, HN_BATCH_SLOTS);
    hnrt_at_batch_moved(t, batch, to);
    set_head(r, slots + HN_BATCH_SLOTS);
    return true;
}

/* Moves the full batch beside the ring into it. */
static bool move_short(struct hn_thread *t, struct hn_ring *r, uint64_t slots, uint64_t kept, uint64_t side) {
    struct hn_repeats *f = &t->repeats;
    const hn_slot *batch = hnrt_batch(r, r->batch_head);
    if (f->head != r->batch_head)
        forget(f);
    f->head = 0;
    unsigned used = kept ? shorten(f, batch, hnrt_batch(r, slots) + kept, HN_BATCH_SLOTS - (unsigned)kept) : 0;
    if (!used) {
        if (kept) {
            pad(r, slots, kept);
            set_head(r, head_of(slots += HN_BATCH_SLOTS, kept = 0, side));
        }
        forget(f);
        if (!hnrt_enter_batch(r, slots))
            return false;
        used = shorten(f, batch, hnrt_batch(r, slots), HN_BATCH_SLOTS);
    }
    f->poor = used > WORTH ? f->poor + 1 : 0;
    uint64_t head = head_of(slots, kept + used, 3 - side);
    if (f->poor == POOR) {
        pad(r, slots, kept + used);
        head = slots + HN_BATCH_SLOTS;
        f->wait = WAIT_MAX;
    }
    f->head = head;
    set_head(r, head);
    return true;
}

/* Moves the head over the batch at whose end the cursor stands, if it has not passed it. `alone`: nobody comes back to what stands in it. False
 * if recording is over. */
bool hnrt_close_batch(struct hn_thread *t, bool alone) {
    struct hn_ring *r = t->real;
    uint64_t head = r->batch_head, slots = hnrt_head_slots(head), side = head >> HN_HEAD_SIDE_SHIFT;
    const hn_slot *batch = hnrt_batch(r, head);
    if (r->cursor != (uintptr_t)(batch + HN_BATCH_SLOTS))
        return true;
    if (side) {
        uint64_t kept = head >> HN_HEAD_KEPT_SHIFT & HN_HEAD_KEPT_MASK;
        return alone ? move_short(t, r, slots, kept, side) : move_whole(t, r, slots, kept, side);
    }
    bool beside = UNLIKELY(hnrt_repeats) && alone && is_worth(t, batch);
    set_head(r, head_of(slots + HN_BATCH_SLOTS, 0, beside));
    return true;
}
