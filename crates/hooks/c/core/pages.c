/* Recordings of some pages: of plain references those alone are recorded that touch a page which the recorder has drawn.
 * Synchronisation, atomics, locks and busy waiting are recorded all, as what they order matters to every page.
 *
 * Time goes on while references are left out. The batch that a page's references lie in would seem to last as long as all of
 * them; so after a gap two stamps say when the references before it ended, as far as can be told, and when those after it
 * begin. */
#include "os.h"
#include "runtime.h"

bool hnrt_pages_drawn;
uint64_t hnrt_page_limit = UINT64_MAX, hnrt_page_mask;

/* The recorder's wish; nonsense of somebody else is no wish. */
void hnrt_pages_init(void) {
    uint64_t limit = *CONTROL64(HN_CONTROL_OFF_PAGE_LIMIT);
    if (!hnrt_record || !limit)
        return;
    hnrt_page_limit = limit;
    hnrt_page_mask = *CONTROL64(HN_CONTROL_OFF_PAGE_MASK);
    hnrt_buckets = hnrt_control + HN_CONTROL_OFF_BUCKET_STATES;
    hnrt_pages_drawn = true;
}

static void stamp(struct hn_thread *t, uint64_t gap) {
    uint64_t now = os_stamp(), passed = now - t->stamped;
    uint64_t *slot = hnrt_reserve(t, 2);
    if (!slot)
        return;
    slot[0] = slot[2] = hnrt_event_word(HN_EVENT_STAMP, 0, 0);
    slot[1] = t->stamped + (uint64_t)((unsigned __int128)passed * t->kept / (t->kept + gap));
    slot[3] = now;
    hnrt_commit(t, 2);
    hnrt_stamped(t, now);
}

/* A plain reference, to a page of this hash, is about to be recorded. */
NOINLINE void hnrt_kept(uint64_t hash) {
    struct hn_thread *t = hnrt_self;
    if (!t)
        return;
    t->watched -= t->watched > 0;
    if (!hnrt_to_real(t) || !t->recording || t->guard)
        return;
    uint64_t gap = t->left_out - t->left_out_seen;
    if (gap > HN_BATCH_SLOTS)
        stamp(t, gap);
    t->kept++;
    hnrt_look_kept(t, hash);
}

/* The references of a block that are to be recorded. */
static void settle_block(struct hn_thread *t, const uint64_t *slot, unsigned refs) {
    const uint64_t *words = hnrt_block(slot[0]);
    if (!words)
        t->left_out += refs;
    for (unsigned i = 0; words && i < refs; i++)
        hnrt_plain_anywhere((const void *)(uintptr_t)slot[1 + i], words[i] >> HN_W0_SIZE_SHIFT & 15,
                            words[i] >> HN_W0_OP_SHIFT & 3, words[i] & HN_W1_PC_MASK);
}

/* Puts those references of a thread into its ring that wait in its batch. Single ones are there because they are recorded. */
NOINLINE void hnrt_settle_staged(struct hn_thread *t) {
    uint64_t *slot = (uint64_t *)t->staged.slots, *end = (uint64_t *)t->staged.ring.cursor;
    t->settling = true;
    hnrt_ring = t->real;
    while (slot < end) {
        unsigned refs = hnrt_block_refs(slot[0]);
        if (refs)
            settle_block(t, slot, refs);
        else
            hnrt_put(slot[0], slot[1]);
        slot += refs ? hnrt_block_bytes(refs) / 8 : 2;
    }
    hnrt_scratch_reset(&t->staged);
    t->settling = false;
    hnrt_route(t);
}

/* A range: its parts in pages that are recorded, if any are. */
void hnrt_put_drawn(const void *addr, uint64_t bytes, enum hn_op op, uintptr_t pc) {
    struct hn_thread *t = hnrt_self;
    uint64_t at = hnrt_addr(addr), first = hnrt_page_hash(at), page = ~hnrt_page_mask << HN_PAGE_SHIFT | ((UINT64_C(1) << HN_PAGE_SHIFT) - 1);
    bool any = false;
    while (bytes) {
        uint64_t left = page - (at & page) + 1, part = bytes < left ? bytes : left;
        uint64_t hash = hnrt_page_hash(at);
        if (!hnrt_left_out(hash) || !t || t->watched) {
            hnrt_kept(hash);
            hnrt_put_range((const void *)(uintptr_t)at, part, op, pc);
            any = true;
        }
        at += part;
        bytes -= part;
    }
    if (t && !any)
        hnrt_leave_out(t, first);
}
