/* Pools of threads that a runtime makes smaller and larger: gcc's OpenMP ends the threads that a smaller team does not need, and creates
 * new ones for the next larger team. Who has a number in the pool again goes on as the thread that had it before, with its ring: the
 * program cannot tell the two apart, and a report should not. Nobody of a pool runs code of the program between two teams. */
#include <time.h>

#include "os.h"
#include "runtime.h"

/* The thread has this number, not 0, in the pool of `owner`. */
void hnrt_pool_joins(struct hn_thread *t, struct hn_thread *owner, uint32_t number) {
    __atomic_store_n(&owner->owns_pool, true, __ATOMIC_RELAXED);
    t->pool_owner = owner->index;
    t->pool_number = number;
}

/* Threads of the pool with this number or a higher one will be ended. */
void hnrt_pool_shrinks(const struct hn_thread *owner, uint32_t to) {
    hnrt_threads_lock();
    for (struct hn_thread *t = hnrt_threads_first(); t; t = t->next)
        if (!t->ended && t->pool_number >= to && t->pool_number && t->pool_owner == owner->index)
            t->retired = true;
    hnrt_threads_unlock();
}

/* The calling thread ends: if it may go on, as another one of the kernel, true. What this one still does is of nobody. */
bool hnrt_pool_parks(struct hn_thread *t) {
    struct hn_thread *rest = t->pool_number && t->recording ? hnrt_thread_new() : NULL;
    if (!rest)
        return false;
    hnrt_affinity_seen(t, t);
    hnrt_at_thread_end(t);
    rest->tid = t->tid;
    rest->ended = true;
    hnrt_self = rest;
    hnrt_route(rest);
    hnrt_threads_lock();
    t->tid = 0;
    t->handle = 0;
    t->parked = true;
    hnrt_threads_unlock();
    return true;
}

/* Of the pool's threads that were or will be ended the one with the lowest number; NULL if there is none. */
static struct hn_thread *retired(const struct hn_thread *owner) {
    struct hn_thread *found = NULL;
    for (struct hn_thread *t = hnrt_threads_first(); t; t = t->next)
        if ((t->retired || t->parked) && !t->ended && t->pool_owner == owner->index && (!found || t->pool_number < found->pool_number))
            found = t;
    return found;
}

/* A thread that the pool's owner creates: it takes the lowest number that is free. NULL if nobody had it before. Who had it has
 * been told to end and does so soon. */
struct hn_thread *hnrt_pool_again(const struct hn_thread *owner) {
    const struct timespec millisecond = {.tv_nsec = 1000000};
    for (unsigned tries = 0; tries < 2000; tries++) {
        hnrt_threads_lock();
        struct hn_thread *t = retired(owner);
        bool there = t && t->parked;
        if (there) {
            t->retired = t->parked = false;
            t->again = true;
            t->key_rounds = 0;
            t->depth = t->depth_floor = 0;
            t->spin = (struct hn_spin){0};
        }
        hnrt_threads_unlock();
        if (there || !t)
            return t;
        if (tries < 1000)
            os(SYS_sched_yield);
        else
            os(SYS_nanosleep, &millisecond, 0);
    }
    return NULL;
}

/* The owner ends: nobody of its pool goes on. */
void hnrt_pool_over(const struct hn_thread *owner) {
    hnrt_threads_lock();
    for (struct hn_thread *t = hnrt_threads_first(); t; t = t->next)
        if (t->parked && !t->ended && t->pool_owner == owner->index)
            hnrt_thread_discard(t);
    hnrt_threads_unlock();
}
