/* Locks of C11, and the ends of its threads. The C library does not route them through the pthread functions. */
#include "real.h"
#include "runtime.h"

char hnrt_unannounced;

INTERPOSE int mtx_lock(mtx_t *m) {
    return hnrt_locked(REAL(mtx_lock)(m), m, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE int mtx_trylock(mtx_t *m) {
    return hnrt_locked(REAL(mtx_trylock)(m), m, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until) {
    return hnrt_locked(REAL(mtx_timedlock)(m, until), m, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE int mtx_unlock(mtx_t *m) {
    hnrt_unlocking(m, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    return REAL(mtx_unlock)(m);
}

/* A wait that timed out has the mutex again, but no signal. */
static int waited(int result, cnd_t *c, mtx_t *m, uintptr_t pc) {
    if (result == thrd_success || result == thrd_timedout)
        hnrt_locked(0, m, CODE_4, HN_SYNC_MUTEX, pc);
    return hnrt_acquired(result, c, HN_SYNC_CONDITION);
}

INTERPOSE int cnd_wait(cnd_t *c, mtx_t *m) {
    hnrt_unlocking(m, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    return waited(REAL(cnd_wait)(c, m), c, m, CALLER());
}

INTERPOSE int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict until) {
    hnrt_unlocking(m, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    return waited(REAL(cnd_timedwait)(c, m, until), c, m, CALLER());
}

INTERPOSE int cnd_signal(cnd_t *c) {
    hnrt_releasing(c, HN_SYNC_SIGNAL);
    return REAL(cnd_signal)(c);
}

INTERPOSE int cnd_broadcast(cnd_t *c) {
    hnrt_releasing(c, HN_SYNC_BROADCAST);
    return REAL(cnd_broadcast)(c);
}

INTERPOSE int thrd_join(thrd_t thread, int *result) {
    return hnrt_acquired(REAL(thrd_join)(thread, result), (void *)thread, HN_SYNC_JOIN);
}
