/* What the agent does at the places of the core where products differ; more of it is in thread.c (hnrt_at_announce, hnrt_at_fork,
 * hnrt_at_forked) and plan.c (hnrt_at_forked_child). */
#include "agent.h"

bool hnrt_at_create(void) {
    return hnag_active();
}

void hnrt_at_unannounce(struct hn_thread *parent) {
    parent->own.children--;
}

void hnrt_at_created(void) {
    hnag_protect_created();
}

void hnrt_at_attach(struct hn_thread *first) {
    first->own.path = HNAG_PATH_INITIAL;
}

/* Stamps of begun batches are looked back at. */
bool hnrt_at_batch(struct hn_thread *t) {
    (void)t;
    return false;
}

void hnrt_at_batch_moved(struct hn_thread *t, const void *from, const void *to) {
    (void)t, (void)from, (void)to;
}

void hnrt_at_thread_end(struct hn_thread *t) {
    (void)t;
}

void hnrt_at_process_end(void) {
    hnag_result_write();
}

void hnrt_at_phase_begin(const char *name) {
    (void)name;
}

void hnrt_at_phase_end(const char *name) {
    (void)name;
}

bool hnrt_placed_by_us(const struct hn_thread *t) {
    return t->own.pinned;
}
