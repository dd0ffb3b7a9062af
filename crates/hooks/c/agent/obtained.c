/* What happens to every big object: it is known, placed, and told to the recorder. */
#include "agent.h"

#include "os.h"

/* Events without a stamp of their own count as happening at the begin of their batch. Allocations are rare, so a
 * batch that has grown old is closed and the event begins the next one. */
void hnag_fresh_batch(struct hn_thread *t) {
    enum { OLD = 30000 }; /* stamps: some 10 us */
    struct hn_ring *r = t->real;
    if (!t->recording || (r->cursor & (HN_BATCH_BYTES - 1)) == HN_SLOT_BYTES)
        return (void)(t->recording && (((uint64_t *)r->batch_start)[1] = os_stamp()));
    if (os_stamp() - ((uint64_t *)r->batch_start)[1] < OLD)
        return;
    hnrt_reserve(t, HN_BATCH_SLOTS - 1); /* more than is left: pads and opens */
}

static void log_object(struct hn_thread *t, const struct hnag_object *o, struct hnag_frames *f) {
    if (t->recording)
        hnag_fresh_batch(t);
    if (!t->recording)
        return;
    for (unsigned i = 0; i < f->depth; i++)
        f->returns[i]--; /* inside the call instruction, as everywhere in a recording */
    if (!f->depth)
        f->returns[f->depth++] = 0;
    hnrt_event_stack(t, (void *)o->addr, o->bytes, o->source, f->returns, f->depth);
}

/* Before the program sees the object. */
void hnag_obtained(const void *p, size_t bytes, enum hnag_source source) {
    if (!p || bytes < HNAG_LEAST)
        return;
    struct hnag_object known, o = {(uintptr_t)p, bytes, source, 0};
    struct hn_thread *t = hnag_enter();
    if (!t)
        return;
    /* One allocation function may be made of another. A block that begins where its allocator's mapping does is new. */
    bool is_known = source == HNAG_HEAP && hnag_registry_get(p, &known) && known.source == HNAG_HEAP;
    if (!is_known) {
        struct hnag_frames f = {0};
        if (t->recording || hnag_plan_wants_stacks())
            hnag_unwind(&f, t->recording ? HNAG_FRAMES : HNAG_HASHED);
        if (hnag_planning)
            o.placed = hnag_plan_object(t, &o, &f);
        hnag_registry_add(&o);
        if (hnag_watcher)
            hnag_watcher->obtained(&o);
        log_object(t, &o, &f);
    }
    hnag_leave(t);
}

/* Before an object is given back. True, with what is known of it, if it was a big one. */
bool hnag_released(const void *p, struct hnag_object *out) {
    if (LIKELY(!p || !hnag_maybe(p)))
        return false;
    struct hn_thread *t = hnag_enter();
    if (!t)
        return false;
    bool found = hnag_registry_take(p, out);
    if (found && hnag_watcher)
        hnag_watcher->released(out);
    if (found && out->placed)
        hnag_unplace(out->addr, out->bytes);
    if (found && t->recording && out->source == HNAG_HEAP) {
        hnag_fresh_batch(t);
        if (t->recording)
            hnrt_event(t, HN_EVENT_FREE, (uintptr_t)p, 0);
    }
    hnag_leave(t);
    return found;
}
