/* Locks, conditions, semaphores, once: a number before each release and after each acquire. */
#include <errno.h>

#include "real.h"
#include "runtime.h"

/* Records that a call acquired the object, unless it failed; returns what it was given. */
int hnrt_acquired(int failed, const volatile void *object) {
    struct hn_thread *t = failed && failed != EOWNERDEAD ? NULL : hnrt_recording();
    if (t)
        hnrt_acquire(t, object, 0);
    return failed;
}

void hnrt_releasing(const volatile void *object) {
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_release(t, object, 0);
}

/* ---- mutexes, spin locks ----------------------------------------------------------------------------------------- */

INTERPOSE int pthread_mutex_lock(pthread_mutex_t *m) {
    return hnrt_acquired(REAL(pthread_mutex_lock)(m), m);
}

INTERPOSE int pthread_mutex_trylock(pthread_mutex_t *m) {
    return hnrt_acquired(REAL(pthread_mutex_trylock)(m), m);
}

INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until) {
    return hnrt_acquired(REAL(pthread_mutex_timedlock)(m, until), m);
}

INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until) {
    return hnrt_acquired(REAL(pthread_mutex_clocklock)(m, clock, until), m);
}

INTERPOSE int pthread_mutex_unlock(pthread_mutex_t *m) {
    hnrt_releasing(m);
    return REAL(pthread_mutex_unlock)(m);
}

INTERPOSE int pthread_spin_lock(pthread_spinlock_t *l) {
    return hnrt_acquired(REAL(pthread_spin_lock)(l), l);
}

INTERPOSE int pthread_spin_trylock(pthread_spinlock_t *l) {
    return hnrt_acquired(REAL(pthread_spin_trylock)(l), l);
}

INTERPOSE int pthread_spin_unlock(pthread_spinlock_t *l) {
    hnrt_releasing(l);
    return REAL(pthread_spin_unlock)(l);
}

/* ---- reader-writer locks -------------------------------------------------------------------------------------------- */

/* Epoch 0 is what writers release, epoch 1 what readers release, so that readers do not order readers. */

static int read_locked(int failed, pthread_rwlock_t *l) {
    return hnrt_acquired(failed, l);
}

static int write_locked(int failed, pthread_rwlock_t *l) {
    struct hn_thread *t = failed ? NULL : hnrt_recording();
    if (t)
        hnrt_acquire(t, l, 0);
    if (t && t->recording)
        hnrt_acquire(t, l, 1);
    return failed;
}

INTERPOSE int pthread_rwlock_rdlock(pthread_rwlock_t *l) {
    return read_locked(REAL(pthread_rwlock_rdlock)(l), l);
}

INTERPOSE int pthread_rwlock_tryrdlock(pthread_rwlock_t *l) {
    return read_locked(REAL(pthread_rwlock_tryrdlock)(l), l);
}

INTERPOSE int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until) {
    return read_locked(REAL(pthread_rwlock_timedrdlock)(l, until), l);
}

INTERPOSE int pthread_rwlock_wrlock(pthread_rwlock_t *l) {
    return write_locked(REAL(pthread_rwlock_wrlock)(l), l);
}

INTERPOSE int pthread_rwlock_trywrlock(pthread_rwlock_t *l) {
    return write_locked(REAL(pthread_rwlock_trywrlock)(l), l);
}

INTERPOSE int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until) {
    return write_locked(REAL(pthread_rwlock_timedwrlock)(l, until), l);
}

INTERPOSE int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until) {
    return read_locked(REAL(pthread_rwlock_clockrdlock)(l, clock, until), l);
}

INTERPOSE int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until) {
    return write_locked(REAL(pthread_rwlock_clockwrlock)(l, clock, until), l);
}

/* glibc keeps the writer's thread id in the lock (part of its ABI, since statically initialised locks are). */
INTERPOSE int pthread_rwlock_unlock(pthread_rwlock_t *l) {
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_release(t, l, (uint32_t)l->__data.__cur_writer == t->tid ? 0 : 1);
    return REAL(pthread_rwlock_unlock)(l);
}

/* ---- condition variables: a wait releases and acquires the mutex; a signal is released by the signaller ---------- */

static int waited(int failed, pthread_cond_t *c, pthread_mutex_t *m) {
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_acquire(t, m, 0);
    if (t && t->recording && !failed)
        hnrt_acquire(t, c, 0);
    return failed;
}

INTERPOSE int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    hnrt_releasing(m);
    return waited(REAL(pthread_cond_wait)(c, m), c, m);
}

INTERPOSE int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until) {
    hnrt_releasing(m);
    return waited(REAL(pthread_cond_timedwait)(c, m, until), c, m);
}

INTERPOSE int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                     const struct timespec *until) {
    hnrt_releasing(m);
    return waited(REAL(pthread_cond_clockwait)(c, m, clock, until), c, m);
}

INTERPOSE int pthread_cond_signal(pthread_cond_t *c) {
    hnrt_releasing(c);
    return REAL(pthread_cond_signal)(c);
}

INTERPOSE int pthread_cond_broadcast(pthread_cond_t *c) {
    hnrt_releasing(c);
    return REAL(pthread_cond_broadcast)(c);
}

/* ---- semaphores: -1 is failure ----------------------------------------------------------------------------------- */

INTERPOSE int sem_wait(sem_t *s) {
    return hnrt_acquired(REAL(sem_wait)(s), s);
}

INTERPOSE int sem_trywait(sem_t *s) {
    return hnrt_acquired(REAL(sem_trywait)(s), s);
}

INTERPOSE int sem_timedwait(sem_t *s, const struct timespec *until) {
    return hnrt_acquired(REAL(sem_timedwait)(s, until), s);
}

INTERPOSE int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until) {
    return hnrt_acquired(REAL(sem_clockwait)(s, clock, until), s);
}

INTERPOSE int sem_post(sem_t *s) {
    hnrt_releasing(s);
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
    hnrt_releasing(object);
}

INTERPOSE int pthread_once(pthread_once_t *object, void (*routine)(void)) {
    void (*outer)(void) = once_routine;
    pthread_once_t *outer_object = once_object;
    once_routine = routine;
    once_object = object;
    int failed = REAL(pthread_once)(object, run_once);
    once_routine = outer;
    once_object = outer_object;
    return hnrt_acquired(failed, object);
}

INTERPOSE int __cxa_guard_acquire(void *guard) {
    int initialise = REAL(__cxa_guard_acquire)(guard);
    struct hn_thread *t = hnrt_recording();
    if (t)
        hnrt_acquire(t, guard, 0);
    return initialise;
}

INTERPOSE void __cxa_guard_release(void *guard) {
    hnrt_releasing(guard);
    REAL(__cxa_guard_release)(guard);
}
