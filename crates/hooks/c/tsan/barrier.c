/* Barriers: object (address, generation); every arrival releases it, every departure acquires it. The generation is
 * the number of arrivals divided by the parties, so that the model order does not depend on which thread came late. */
#include "real.h"
#include "runtime.h"

#define BARRIERS 4096 /* barriers at once, by address; one that finds no place orders by sequence numbers alone */

static struct barrier {
    uintptr_t address;
    uint64_t first_epoch, arrivals;
    uint32_t parties;
    bool own; /* of this process alone, wherever it lies */
} barriers[BARRIERS];

/* The entry of an address, made if `create`. Entries stay: the next barrier at the address goes on counting epochs. */
static struct barrier *entry_of(const void *address, bool create) {
    uint64_t h = ((uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15)) >> 52;
    for (unsigned i = 0; i < BARRIERS; i++) {
        struct barrier *b = &barriers[(h + i) % BARRIERS];
        uintptr_t owner = __atomic_load_n(&b->address, __ATOMIC_ACQUIRE);
        if (owner == 0 && create)
            __atomic_compare_exchange_n(&b->address, &owner, (uintptr_t)address, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE);
        if (owner == (uintptr_t)address || (owner == 0 && create))
            return b;
        if (owner == 0)
            return NULL;
    }
    return NULL;
}

INTERPOSE int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes,
                                   unsigned parties) {
    int failed = REAL(pthread_barrier_init)(barrier, attributes, parties), whose = PTHREAD_PROCESS_PRIVATE;
    if (!failed && attributes)
        pthread_barrierattr_getpshared(attributes, &whose);
    struct barrier *b = failed ? NULL : entry_of(barrier, true);
    if (b) {
        if (b->parties)
            b->first_epoch += b->arrivals / b->parties + 1;
        b->arrivals = 0;
        b->parties = parties;
        b->own = whose == PTHREAD_PROCESS_PRIVATE;
    }
    return failed;
}

static uint64_t arrive(struct barrier *b) {
    if (!b || !b->parties)
        return 0;
    return b->first_epoch + __atomic_fetch_add(&b->arrivals, 1, __ATOMIC_ACQ_REL) / b->parties;
}

/* The epoch of a barrier of shared virtual memory, which `here` threads of this process come to, of `all`. */
uint64_t hnrt_barrier_arrival(const void *name, unsigned here, unsigned all) {
    struct barrier *b = here ? entry_of(name, true) : NULL;
    if (b)
        b->parties = here;
    return (arrive(b) & HN_BARRIER_GENERATION_MASK) | (uint64_t)all << HN_BARRIER_PARTIES_SHIFT;
}

INTERPOSE int pthread_barrier_wait(pthread_barrier_t *barrier) {
    struct hn_thread *t = hnrt_recording();
    /* Arrivals of other processes are not counted here: numbers alone order what lies in shared memory. */
    struct barrier *b = entry_of(barrier, false);
    if (b && !b->own && hnrt_shared_ranges && hnrt_shared_counter(barrier))
        b = NULL;
    uint64_t epoch = arrive(b) & HN_BARRIER_GENERATION_MASK;
    if (b)
        epoch |= (uint64_t)b->parties << HN_BARRIER_PARTIES_SHIFT;
    if (t)
        hnrt_release(t, barrier, epoch, HN_SYNC_BARRIER);
    int result = REAL(pthread_barrier_wait)(barrier);
    t = hnrt_recording();
    if (t && (result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD))
        hnrt_acquire(t, barrier, epoch, HN_SYNC_BARRIER);
    return result;
}
