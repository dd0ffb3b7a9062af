/* Locks, conditions, semaphores, once: a number before each release and after each acquire. */
#include <errno.h>

#include "real.h"
#include "runtime.h"

/* Records that a call acquired the object, unless it failed; returns what it was given. */
int hnrt_acquired(int failed, const volatile void *object, uint64_t sync) {
    struct hn_thread *t = failed && failed != EOWNERDEAD ? NULL : hnrt_recording();
    if (t)
        hnrt_acquire(t, object, 0, sync);
    return failed;
}

void hnrt_releasing(const volatile void *object, uint64_t sync) {
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_release(t, object, 0, sync);
}

/* ---- the words of locks and semaphores ---------------------------------------------------------------------------- */

/* Lines with locks travel like others. What a thread does to a lock while it waits depends on the host; recorded is what it
 * must do: one read-modify-write of the first word when it has it (after the acquisition, which is how a reader of the trace
 * knows a lock from other atomics), one write when it gives it back, a read-modify-write where others may change the word
 * meanwhile. Attempts that fail are not recorded: they are polling. */
void hnrt_lock_word(const volatile void *lock, unsigned code, enum hn_op op, uintptr_t pc) {
    struct hn_thread *t = hnrt_self;
    if (t && !t->guard)
        hnrt_ref(lock, code, op, pc);
}

int hnrt_locked(int failed, const volatile void *lock, unsigned code, uint64_t sync, uintptr_t pc) {
    hnrt_acquired(failed, lock, sync);
    if (!failed || failed == EOWNERDEAD)
        hnrt_lock_word(lock, code, OP_ATOMIC, pc);
    return failed;
}

void hnrt_unlocking(const volatile void *lock, unsigned code, enum hn_op op, uint64_t sync, uintptr_t pc) {
    hnrt_lock_word(lock, code, op, pc);
    hnrt_releasing(lock, sync);
}

/* The locks and conditions of OpenMP's runtime are its own business: what the program makes of them is recorded where it
 * calls (omp.h). */
uintptr_t hnrt_runtime_from, hnrt_runtime_bytes;
#define BY_RUNTIME(pc) UNLIKELY((pc) - hnrt_runtime_from < hnrt_runtime_bytes)

/* ---- mutexes, spin locks ----------------------------------------------------------------------------------------- */

INTERPOSE int pthread_mutex_lock(pthread_mutex_t *m) {
    if (BY_RUNTIME(CALLER()))
        return REAL(pthread_mutex_lock)(m);
    return hnrt_locked(REAL(pthread_mutex_lock)(m), m, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE int pthread_mutex_trylock(pthread_mutex_t *m) {
    if (BY_RUNTIME(CALLER()))
        return REAL(pthread_mutex_trylock)(m);
    return hnrt_locked(REAL(pthread_mutex_trylock)(m), m, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until) {
    return hnrt_locked(REAL(pthread_mutex_timedlock)(m, until), m, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until) {
    return hnrt_locked(REAL(pthread_mutex_clocklock)(m, clock, until), m, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE int pthread_mutex_unlock(pthread_mutex_t *m) {
    if (BY_RUNTIME(CALLER()))
        return REAL(pthread_mutex_unlock)(m);
    hnrt_unlocking(m, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    return REAL(pthread_mutex_unlock)(m);
}

INTERPOSE int pthread_spin_lock(pthread_spinlock_t *l) {
    return hnrt_locked(REAL(pthread_spin_lock)(l), l, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE int pthread_spin_trylock(pthread_spinlock_t *l) {
    return hnrt_locked(REAL(pthread_spin_trylock)(l), l, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE int pthread_spin_unlock(pthread_spinlock_t *l) {
    hnrt_unlocking(l, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    return REAL(pthread_spin_unlock)(l);
}

/* ---- reader-writer locks -------------------------------------------------------------------------------------------- */

/* Epoch 0 is what writers release, epoch 1 what readers release, so that readers do not order readers. */

static int read_locked(int failed, pthread_rwlock_t *l, uintptr_t pc) {
    return hnrt_locked(failed, l, CODE_4, HN_SYNC_RW_READ, pc);
}

static int write_locked(int failed, pthread_rwlock_t *l, uintptr_t pc) {
    struct hn_thread *t = failed ? NULL : hnrt_recording();
    if (t)
        hnrt_acquire(t, l, 0, HN_SYNC_RW_WRITE);
    if (t && t->recording)
        hnrt_acquire(t, l, 1, HN_SYNC_RW_WRITE);
    if (!failed)
        hnrt_lock_word(l, CODE_4, OP_ATOMIC, pc);
    return failed;
}

INTERPOSE int pthread_rwlock_rdlock(pthread_rwlock_t *l) {
    return read_locked(REAL(pthread_rwlock_rdlock)(l), l, CALLER());
}

INTERPOSE int pthread_rwlock_tryrdlock(pthread_rwlock_t *l) {
    return read_locked(REAL(pthread_rwlock_tryrdlock)(l), l, CALLER());
}

INTERPOSE int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until) {
    return read_locked(REAL(pthread_rwlock_timedrdlock)(l, until), l, CALLER());
}

INTERPOSE int pthread_rwlock_wrlock(pthread_rwlock_t *l) {
    return write_locked(REAL(pthread_rwlock_wrlock)(l), l, CALLER());
}

INTERPOSE int pthread_rwlock_trywrlock(pthread_rwlock_t *l) {
    return write_locked(REAL(pthread_rwlock_trywrlock)(l), l, CALLER());
}

INTERPOSE int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until) {
    return write_locked(REAL(pthread_rwlock_timedwrlock)(l, until), l, CALLER());
}

INTERPOSE int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until) {
    return read_locked(REAL(pthread_rwlock_clockrdlock)(l, clock, until), l, CALLER());
}

INTERPOSE int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until) {
    return write_locked(REAL(pthread_rwlock_clockwrlock)(l, clock, until), l, CALLER());
}

/* glibc keeps the writer's thread id in the lock (part of its ABI, since statically initialised locks are). */
INTERPOSE int pthread_rwlock_unlock(pthread_rwlock_t *l) {
    hnrt_lock_word(l, CODE_4, OP_ATOMIC, CALLER());
    struct hn_thread *t = hnrt_recording();
    if (t && (uint32_t)l->__data.__cur_writer == t->tid)
        hnrt_release(t, l, 0, HN_SYNC_RW_WRITE);
    else if (t)
        hnrt_release(t, l, 1, HN_SYNC_RW_READ);
    return REAL(pthread_rwlock_unlock)(l);
}

/* ---- condition variables: a wait releases and acquires the mutex; a signal is released by the signaller ---------- */

/* The signal comes first: who had the mutex while it waits for one would wait for ever where mutexes are granted anew. */
static int waited(int failed, pthread_cond_t *c, pthread_mutex_t *m, uintptr_t pc) {
    struct hn_thread *t = hnrt_recording();
    if (t && !failed)
        hnrt_acquire(t, c, 0, HN_SYNC_CONDITION);
    if (t && t->recording)
        hnrt_acquire(t, m, 0, HN_SYNC_MUTEX);
    hnrt_lock_word(m, CODE_4, OP_ATOMIC, pc);
    return failed;
}

INTERPOSE int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    if (BY_RUNTIME(CALLER()))
        return REAL(pthread_cond_wait)(c, m);
    hnrt_unlocking(m, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    return waited(REAL(pthread_cond_wait)(c, m), c, m, CALLER());
}

INTERPOSE int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) {
    if (BY_RUNTIME(CALLER()))
        return REAL(pthread_cond_timedwait)(c, m, until);
    hnrt_unlocking(m, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    return waited(REAL(pthread_cond_timedwait)(c, m, until), c, m, CALLER());
}

INTERPOSE int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                     const struct timespec *until) {
    hnrt_unlocking(m, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    return waited(REAL(pthread_cond_clockwait)(c, m, clock, until), c, m, CALLER());
}

INTERPOSE int pthread_cond_signal(pthread_cond_t *c) {
    if (BY_RUNTIME(CALLER()))
        return REAL(pthread_cond_signal)(c);
    hnrt_releasing(c, HN_SYNC_SIGNAL);
    return REAL(pthread_cond_signal)(c);
}

INTERPOSE int pthread_cond_broadcast(pthread_cond_t *c) {
    if (BY_RUNTIME(CALLER()))
        return REAL(pthread_cond_broadcast)(c);
    hnrt_releasing(c, HN_SYNC_BROADCAST);
    return REAL(pthread_cond_broadcast)(c);
}

/* ---- semaphores: -1 is failure ----------------------------------------------------------------------------------- */

INTERPOSE int sem_wait(sem_t *s) {
    return hnrt_locked(REAL(sem_wait)(s), s, CODE_8, HN_SYNC_SEMAPHORE, CALLER());
}

INTERPOSE int sem_trywait(sem_t *s) {
    return hnrt_locked(REAL(sem_trywait)(s), s, CODE_8, HN_SYNC_SEMAPHORE, CALLER());
}

INTERPOSE int sem_timedwait(sem_t *s, const struct timespec *until) {
    return hnrt_locked(REAL(sem_timedwait)(s, until), s, CODE_8, HN_SYNC_SEMAPHORE, CALLER());
}

INTERPOSE int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until) {
    return hnrt_locked(REAL(sem_clockwait)(s, clock, until), s, CODE_8, HN_SYNC_SEMAPHORE, CALLER());
}

INTERPOSE int sem_post(sem_t *s) {
    hnrt_unlocking(s, CODE_8, OP_ATOMIC, HN_SYNC_SEMAPHORE, CALLER());
    return REAL(sem_post)(s);
}

/* ---- once, and the guards of C++ function-local statics ---------------------------------------------------------- */

/* pthread_once passes no argument, so the routine waits in the thread; an initialiser may call pthread_once again. */
static TLS void (*once_routine)(void);
static TLS pthread_once_t *once_object;

static void run_once(void) {
    void (*routine)(void) = once_routine;
    pthread_once_t *object = once_object;
    routine();
    hnrt_releasing(object, HN_SYNC_ONCE);
}

INTERPOSE int pthread_once(pthread_once_t *object, void (*routine)(void)) {
    void (*outer)(void) = once_routine;
    pthread_once_t *outer_object = once_object;
    once_routine = routine;
    once_object = object;
    int failed = REAL(pthread_once)(object, run_once);
    once_routine = outer;
    once_object = outer_object;
    return hnrt_acquired(failed, object, HN_SYNC_ONCE);
}

INTERPOSE int __cxa_guard_acquire(void *guard) {
    int initialise = REAL(__cxa_guard_acquire)(guard);
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_acquire(t, guard, 0, HN_SYNC_ONCE);
    return initialise;
}

INTERPOSE void __cxa_guard_release(void *guard) {
    hnrt_releasing(guard, HN_SYNC_ONCE);
    REAL(__cxa_guard_release)(guard);
}
