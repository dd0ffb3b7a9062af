/* Synchronisation: each operation's events in one thread, then threads, barriers and hand-overs between them. */
#include "expect.h"

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t mtx;
static cnd_t cnd;
static long shared;

static void initialise(void) {
    shared = 1;
    ref('w', 8, &shared);
}

#define PAIR(lock, unlock, object, epoch)                                                                             \
    do {                                                                                                              \
        lock;                                                                                                         \
        sync_event("acquire", object, 0);                                                                             \
        if (epoch == 2)                                                                                               \
            sync_event("acquire", object, 1);                                                                         \
        ref('a', 4, object);                                                                                          \
        unlock;                                                                                                       \
        ref(epoch ? 'a' : 'w', 4, object);                                                                            \
        sync_event("release", object, epoch == 1);                                                                    \
    } while (0)

static void each(void) {
    static const struct timespec past;
    PAIR(pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex), &mutex, 0);
    PAIR(pthread_mutex_trylock(&mutex), pthread_mutex_unlock(&mutex), &mutex, 0);
    PAIR(pthread_mutex_timedlock(&mutex, &past), pthread_mutex_unlock(&mutex), &mutex, 0);
    PAIR(pthread_spin_lock(&spin), pthread_spin_unlock(&spin), &spin, 0);
    PAIR(pthread_spin_trylock(&spin), pthread_spin_unlock(&spin), &spin, 0);
    PAIR(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past), pthread_mutex_unlock(&mutex), &mutex, 0);
    PAIR(mtx_lock(&mtx), mtx_unlock(&mtx), &mtx, 0);
    PAIR(mtx_trylock(&mtx), cnd_timedwait(&cnd, &mtx, &past), &mtx, 0);
    PAIR((void)0, mtx_unlock(&mtx), &mtx, 0);
    cnd_signal(&cnd);
    sync_event("release", &cnd, 0);
    PAIR(pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock), &rwlock, 1);
    PAIR(pthread_rwlock_tryrdlock(&rwlock), pthread_rwlock_unlock(&rwlock), &rwlock, 1);
    PAIR(pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock), &rwlock, 2);
    PAIR(pthread_rwlock_trywrlock(&rwlock), pthread_rwlock_unlock(&rwlock), &rwlock, 2);
    ref('a', 8, &semaphore);
    sync_event("release", &semaphore, 0);
    sync_event("acquire", &semaphore, 0);
    ref('a', 8, &semaphore);
    sem_post(&semaphore);
    sem_wait(&semaphore);
    if (sem_trywait(&semaphore) == 0)
        exit(1);
    pthread_once(&once, initialise);
    sync_event("release", &once, 0);
    sync_event("acquire", &once, 0);
    pthread_once(&once, initialise);
    sync_event("acquire", &once, 0);
    pthread_cond_signal(&cond);
    sync_event("release", &cond, 0);
    pthread_cond_broadcast(&cond);
    sync_event("release", &cond, 0);
    PAIR(pthread_mutex_lock(&mutex), pthread_cond_timedwait(&cond, &mutex, &past), &mutex, 0);
    PAIR((void)0, pthread_mutex_unlock(&mutex), &mutex, 0);
}

#define ROUNDS 7
static unsigned parties;

static void *meet(void *delay) {
    for (int i = 0; i < ROUNDS; i++) {
        for (volatile long spin_here = 0; spin_here < (long)delay * 1000; spin_here++)
            ;
        pthread_barrier_wait(&barrier);
    }
    return delay;
}

static void meet_all(unsigned n) {
    pthread_t threads[8];
    parties = n;
    pthread_barrier_init(&barrier, NULL, n);
    for (unsigned i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, meet, (void *)(unsigned long)i);
    for (unsigned i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        fprintf(stderr, "thread %#lx\n", (unsigned long)threads[i]);
    }
    pthread_barrier_destroy(&barrier);
}

static int ready;

static void *wait_for_it(void *unused) {
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_exit(unused);
}

static void hand_over(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, NULL);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

int main(void) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 0);
    mtx_init(&mtx, mtx_plain);
    cnd_init(&cnd);
    homenode_phase_begin("each");
    each();
    homenode_phase_end("each");
    meet_all(3);
    meet_all(2);
    hand_over();
    fprintf(stderr, "barrier %#lx\n", (unsigned long)&barrier);
    return 0;
}
