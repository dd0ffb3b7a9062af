/* What happens once per batch: stamps, the publication of finished batches, waiting for space, the end of recording. */
#include <linux/futex.h>
#include <time.h>

#include "os.h"
#include "runtime.h"

/* The ring of every thread that the runtime has not met: always at a boundary, so that the first reference comes here and
 * nothing is ever written. */
static struct hn_ring bootstrap_ring = {.cursor = HN_BATCH_BYTES};

/* Where references go that nobody can record: of threads for which there is no memory. */
static struct hn_scratch nowhere;

TLS struct hn_ring *hnrt_ring HN_RING_VISIBILITY = &bootstrap_ring;
TLS struct hn_thread *hnrt_self;

void hnrt_scratch_reset(struct hn_scratch *s) {
    s->ring.limit = (uintptr_t)s->slots + HN_BATCH_BYTES - HN_BLOCK_BYTES;
    s->ring.cursor = (uintptr_t)s->slots;
}

/* References in the current cycle: a slot each, but for blocks. Where a loop repeats a block, processors need not wait for its header to know
 * where the next one stands. */
static uint64_t refs_of_cycle(const struct hn_scratch *s) {
    uint64_t refs = 0, end = s->ring.cursor;
    for (uint64_t at = (uintptr_t)s->slots; at < end;) {
        uint64_t header = *(const uint64_t *)at;
        unsigned block = hnrt_block_refs(header);
        uint64_t bytes = block ? hnrt_block_bytes(block) : HN_SLOT_BYTES;
        do {
            refs += block ? block : 1;
            at += bytes;
        } while (at < end && *(const uint64_t *)at == header);
    }
    return refs;
}

/* References that went to a scratch ring. */
uint64_t hnrt_scratch_count(const struct hn_scratch *s) {
    return s->total + refs_of_cycle(s);
}

void hnrt_doorbell(void) {
    __atomic_fetch_add(CONTROL32(HN_CONTROL_OFF_DOORBELL), 1, __ATOMIC_RELEASE);
    os(SYS_futex, CONTROL32(HN_CONTROL_OFF_DOORBELL), FUTEX_WAKE, 1);
}

/* Whether the half of the ring that begins at `head` is free. */
static bool half_is_free(struct hn_ring *r, uint64_t head) {
    uint64_t tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
    return head - tail <= r->bytes / HN_SLOT_BYTES / 2;
}

/* Sleeps until there is space; false if recording is over. The time limit covers a recorder that died without a
 * word. */
static bool wait_for_space(struct hn_ring *r, uint64_t head) {
    struct timespec limit = {.tv_nsec = 1000000};
    while (!half_is_free(r, head)) {
        uint32_t space = __atomic_load_n(&r->space, __ATOMIC_ACQUIRE);
        __atomic_store_n(&r->waiting, 1, __ATOMIC_SEQ_CST);
        if (!half_is_free(r, head) && !hnrt_stopped())
            os(SYS_futex, &r->space, FUTEX_WAIT, space, &limit, 0, 0);
        __atomic_store_n(&r->waiting, 0, __ATOMIC_RELAXED);
        if (hnrt_stopped())
            return false;
        if (limit.tv_nsec < 50000000)
            limit.tv_nsec *= 2;
        if (!half_is_free(r, head) && !hnrt_recorder_alive()) {
            hnrt_stop(HN_STOP_RECORDER_GONE);
            return false;
        }
    }
    return true;
}

static void count_unseen(struct hn_thread *t) {
    if (UNLIKELY(t->wide)) {
        __atomic_fetch_add(CONTROL64(HN_CONTROL_OFF_WIDE), t->wide, __ATOMIC_RELAXED);
        t->wide = 0;
    }
    if (UNLIKELY(t->routed && t->left_out != t->left_out_told)) {
        __atomic_fetch_add(CONTROL64(HN_CONTROL_OFF_LEFT_OUT), t->left_out - t->left_out_told, __ATOMIC_RELAXED);
        t->left_out_told = t->left_out;
    }
}

/* The recorder has read where a batch will stand: fetching that back takes time, which passes while the batch before is filled. */
static inline void expect_batch(uint64_t at) {
#if defined(__x86_64__)
    for (unsigned line = 0; line < HN_BATCH_BYTES; line += 64)
        __asm__ volatile("prefetchw (%0)" : : "r"(at + line));
#else
    (void)at;
#endif
}

/* Makes sure that the batch of the ring that begins at `head` may be written; false if recording is over. */
bool hnrt_enter_batch(struct hn_ring *r, uint64_t head) {
    uint64_t next = head * HN_SLOT_BYTES & (r->bytes - 1);
    if ((next & (r->bytes / 2 - 1)) == 0) {
        if (head)
            hnrt_doorbell();
        if (!wait_for_space(r, head))
            return false;
    }
    expect_batch(r->base + ((next + HN_BATCH_BYTES) & (r->bytes - 1)));
    return true;
}

static inline void clear(uint64_t *slot, uint64_t slots) {
    hn_slot *to = (hn_slot *)slot;
    for (uint64_t i = 0; i < slots; i++)
        to[i] = (hn_slot){0, 0};
}

/* Begins the batch at which the ring's head stands. The cursor comes last but for the limit, which is 0 meanwhile: as long as it stands at the
 * end of another batch, blocks are to ask for room as well. */
static void begin_batch(struct hn_thread *t, struct hn_ring *r, uint64_t head) {
    uint64_t *slot = (uint64_t *)hnrt_batch(r, head);
    /* So that whoever finds the ring of a dead process knows which addresses of a begun block were stored. */
    clear(slot + 2, HN_BATCH_SLOTS - 1);
    slot[0] = hnrt_event_word(HN_EVENT_STAMP, 0, 0);
    slot[1] = os_stamp();
    hnrt_stamped(t, slot[1]);
    r->batch_start = (uintptr_t)slot;
    __atomic_store_n(&r->limit, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&r->cursor, (uintptr_t)(slot + 2), __ATOMIC_RELEASE);
    __atomic_store_n(&r->limit, (uintptr_t)slot + HN_BATCH_BYTES - HN_BLOCK_BYTES, __ATOMIC_RELEASE);
}

/* Begins the batch after the one at whose end the cursor stands (or the first of a new ring); false
 * if recording is over. May be abandoned by a longjmp at any instruction and called again. */
bool hnrt_open_batch(struct hn_thread *t) {
    struct hn_ring *r = t->real;
    if (!hnrt_close_batch(t, hnrt_at_batch(t)))
        return false;
    count_unseen(t);
    if (UNLIKELY(hnrt_stopped()))
        return false;
    uint64_t head = r->batch_head;
    if (!(head >> HN_HEAD_SIDE_SHIFT) && !hnrt_enter_batch(r, head))
        return false;
    begin_batch(t, r, head);
    return true;
}

/* Recording is over for this thread: the ring stays as it is and references are counted as dropped. */
void hnrt_leave_ring(struct hn_thread *t) {
    t->stopped = true;
    hnrt_route(t);
}

/* A full scratch ring begins again; true if the thread's references still belong there. */
static bool scratch_cycle(struct hn_thread *t, struct hn_scratch *s) {
    if (s->ring.cursor != (uintptr_t)s->slots) {
        uint64_t refs = refs_of_cycle(s);
        hnrt_scratch_reset(s);
        s->total += refs;
    }
    if (s == &t->scratch && t->purpose == FOR_DROPPED)
        hnrt_flush(t);
    if (s == &t->scratch && UNLIKELY(t->roi_seen != hnrt_roi_generation))
        hnrt_route(t);
    return hnrt_ring == &s->ring;
}

static struct hn_scratch *scratch_of(struct hn_thread *t) {
    return hnrt_ring == &t->in_signal.ring ? &t->in_signal : &t->scratch;
}

/* A reference that needs the first slot of the batch in which references wait. */
static void staged_put(struct hn_thread *t, uint64_t word, uintptr_t pc) {
    hnrt_settle_staged(t);
    struct hn_scratch *s = &t->staged;
    if (hnrt_ring != &s->ring)
        return hnrt_put(word, pc);
    ((uint64_t *)s->slots)[0] = word;
    ((uint64_t *)s->slots)[1] = pc;
    s->ring.cursor = (uintptr_t)s->slots + HN_SLOT_BYTES;
}

static void scratch_put(struct hn_thread *t, uint64_t word, uintptr_t pc) {
    struct hn_scratch *s = scratch_of(t);
    if (!scratch_cycle(t, s))
        return hnrt_put(word, pc);
    ((uint64_t *)s->slots)[0] = word;
    ((uint64_t *)s->slots)[1] = pc;
    s->ring.cursor = (uintptr_t)s->slots + HN_SLOT_BYTES;
}

/* The first reference of a thread, or of a batch. */
NOINLINE void hnrt_slow_put(uint64_t word, uintptr_t pc) {
    if (UNLIKELY(hnrt_ring == &bootstrap_ring)) {
        if (hnrt_self)
            hnrt_route(hnrt_self);
        else if (!hnrt_thread_attach())
            return;
        if (hnrt_ring != &bootstrap_ring)
            hnrt_put(word, pc);
        return;
    }
    struct hn_thread *t = hnrt_self;
    if (UNLIKELY(hnrt_ring == &t->staged.ring))
        return staged_put(t, word, pc);
    if (UNLIKELY(hnrt_ring != t->real))
        return scratch_put(t, word, pc);
    if (!hnrt_open_batch(t))
        hnrt_leave_ring(t);
    else if (UNLIKELY(t->roi_seen != hnrt_roi_generation))
        hnrt_route(t);
    hnrt_put(word, pc);
}

/* Makes room in the ring to which the calling thread's references belong; false if there is none to be had. */
static bool make_room(struct hn_thread *t) {
    if (!t || hnrt_ring == &bootstrap_ring) {
        if (t)
            hnrt_route(t);
        else
            hnrt_thread_attach();
    } else if (hnrt_ring == &t->staged.ring) {
        hnrt_settle_staged(t);
    } else if (hnrt_ring != t->real) {
        scratch_cycle(t, scratch_of(t));
    } else {
        if (hnrt_reserve(t, HN_BLOCK_SLOTS))
            t->real->limit = (t->real->cursor | (HN_BATCH_BYTES - 1)) + 1 - HN_BLOCK_BYTES;
        if (UNLIKELY(t->roi_seen != hnrt_roi_generation))
            hnrt_route(t);
    }
    return hnrt_ring->cursor <= hnrt_ring->limit;
}

/* The ring for the calling thread's next block: its cursor stands where the largest one fits. */
NOINLINE struct hn_ring *hnrt_room(void) {
    for (unsigned tries = 0; tries < 4; tries++)
        if (make_room(hnrt_self))
            return hnrt_ring;
    hnrt_scratch_reset(&nowhere);
    return &nowhere.ring;
}
