/* Sequence numbers of synchronisation objects (in shared memory: shared.c). An object's numbers come from one of 65,536 counters, chosen by a
 * hash of its address: objects that share a counter still see their own numbers rise. Bit 0 of a counter is a lock;
 * taking a number adds 2, and giving the lock back adds 1, which clears bit 0 and takes a number in one step. */
#include <time.h>

#include "os.h"
#include "runtime.h"

#define COUNTERS 65536
static uint64_t counters[COUNTERS];

static uint64_t *counter_of(const volatile void *object) {
    uint64_t *shared = UNLIKELY(hnrt_shared_ranges) ? hnrt_shared_counter(object) : NULL;
    if (UNLIKELY(shared != NULL))
        return shared;
    uint64_t h = (uintptr_t)object * UINT64_C(0x9E3779B97F4A7C15);
    return &counters[h >> 48];
}

/* Longer than any thread is off its processor; after that the lock is taken to be lost (its holder was killed, or
 * jumped out of a signal handler between two instructions). */
static bool wait_a_little(unsigned tries) {
    const struct timespec millisecond = {.tv_nsec = 1000000};
    if (tries < 100)
        os_pause();
    else if (tries < 1000)
        os(SYS_sched_yield);
    else
        os(SYS_nanosleep, &millisecond, 0);
    return tries < 3000;
}

/* The lock of the object's hash, or NULL: then the operation goes unnumbered, which is counted. */
uint64_t *hnrt_order_lock(struct hn_thread *t, const volatile void *object) {
    uint64_t *word = counter_of(object);
    if (UNLIKELY(t->taking != NULL))
        hnrt_order_repair(t);
    t->taking = word;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    for (unsigned tries = 0; __atomic_fetch_or(word, 1, __ATOMIC_ACQUIRE) & 1; tries++)
        if (!wait_a_little(tries)) {
            t->taking = NULL;
            __atomic_fetch_add(CONTROL64(HN_CONTROL_OFF_UNNUMBERED), 1, __ATOMIC_RELAXED);
            return NULL;
        }
    t->held = word;
    return word;
}

/* Sections never nest: a lock that this thread still holds (or was about to take) when it comes back to the runtime is one
 * that it left by a jump or by being cancelled. Whether it was taken between two instructions shows in time: any other
 * holder gives it back, and takes a number. */
void hnrt_order_repair(struct hn_thread *t) {
    uint64_t *word = t->held, *taking = t->taking;
    t->held = t->taking = NULL;
    if (word)
        return hnrt_order_unlock_unnumbered(t, word);
    uint64_t before = taking ? __atomic_load_n(taking, __ATOMIC_ACQUIRE) : 0;
    if (!(before & 1))
        return;
    for (unsigned tries = 900; __atomic_load_n(taking, __ATOMIC_ACQUIRE) == before && tries < 1100; tries++)
        wait_a_little(tries);
    __atomic_compare_exchange_n(taking, &before, before & ~UINT64_C(1), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

uint64_t hnrt_order_unlock(struct hn_thread *t, uint64_t *word) {
    t->held = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint64_t number = __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL) >> 1;
    t->taking = NULL;
    return number;
}

void hnrt_order_unlock_unnumbered(struct hn_thread *t, uint64_t *word) {
    t->held = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_fetch_and(word, ~UINT64_C(1), __ATOMIC_RELEASE);
    t->taking = NULL;
}

/* Locks held by threads that a forked child does not have. */
void hnrt_order_after_fork(void) {
    for (unsigned i = 0; i < COUNTERS; i++)
        if (counters[i] & 1)
            counters[i] &= ~UINT64_C(1);
}

static uint64_t take(const volatile void *object) {
    return __atomic_fetch_add(counter_of(object), 2, __ATOMIC_ACQ_REL) >> 1;
}

void hnrt_release(struct hn_thread *t, const volatile void *object, uint64_t epoch, uint64_t sync) {
    hnrt_sync_event(t, HN_EVENT_RELEASE, object, epoch, take(object), sync);
}

void hnrt_acquire(struct hn_thread *t, const volatile void *object, uint64_t epoch, uint64_t sync) {
    hnrt_sync_event(t, HN_EVENT_ACQUIRE, object, epoch, take(object), sync);
}
