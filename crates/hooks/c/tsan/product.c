/* What the hooks do at the places of the core where products differ. */
#include "runtime.h"

bool hnrt_at_create(void) {
    return true;
}

void hnrt_at_announce(struct hn_thread *parent, struct hn_thread *child, const pthread_attr_t *attributes) {
    (void)parent, (void)child, (void)attributes;
}

void hnrt_at_unannounce(struct hn_thread *parent) {
    (void)parent;
}

void hnrt_at_created(void) {}

void hnrt_at_attach(struct hn_thread *first) {
    (void)first;
}

/* A wait whose last read was marked may have been for nothing. */
bool hnrt_at_batch(struct hn_thread *t) {
    if (UNLIKELY(t->spin.marked && !t->spin.looked && t->spin.mark != t->real->cursor))
        hnrt_spin_look(t);
    return hnrt_spin_is_none(t);
}

void hnrt_at_batch_moved(struct hn_thread *t, const void *from, const void *to) {
    if (t->spin.mark - (uintptr_t)from <= HN_BATCH_BYTES)
        t->spin.mark += (uintptr_t)to - (uintptr_t)from;
}

void hnrt_at_thread_end(struct hn_thread *t) {
    hnrt_spin_over(t);
}

void hnrt_at_process_end(void) {}

bool hnrt_placed_by_us(const struct hn_thread *t) {
    (void)t;
    return false;
}

void hnrt_at_fork(void) {}

void hnrt_at_forked(void) {}

void hnrt_at_forked_child(struct hn_thread *t) {
    (void)t;
}
