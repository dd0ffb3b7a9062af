/* Threads that take locks again and again and do next to nothing besides: as many events as there are references.
 * Arguments: threads, rounds of each, and what they take: `mutex`, `rwlock` (mostly to read), `atomic` or `spin`.
 * No cure; for what the events of a recording take in memory. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOCKS = 64, THREADS_MAX = 64 };

static struct {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    long count;
    char padding[64];
} locks[LOCKS];
static long rounds;
static char what;

static void once(int k, long i) {
    switch (what) {
    case 'm':
        pthread_mutex_lock(&locks[k].mutex);
        locks[k].count++;
        pthread_mutex_unlock(&locks[k].mutex);
        break;
    case 'r':
        if (i % 8 == 0) {
            pthread_rwlock_wrlock(&locks[k].rwlock);
            locks[k].count += 8;
        } else {
            pthread_rwlock_rdlock(&locks[k].rwlock);
        }
        pthread_rwlock_unlock(&locks[k].rwlock);
        break;
    case 's':
        pthread_spin_lock(&locks[k].spin);
        locks[k].count++;
        pthread_spin_unlock(&locks[k].spin);
        break;
    default:
        __atomic_fetch_add(&locks[k].count, 1, __ATOMIC_ACQ_REL);
    }
}

static void *work(void *argument) {
    unsigned long x = (unsigned long)argument * 7919 + 1;
    for (long i = 0; i < rounds; i++) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        once((x >> 33) % LOCKS, i);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 4;
    rounds = argc > 2 ? atol(argv[2]) : 1000;
    what = argc > 3 ? argv[3][0] : 'm';
    if (n > THREADS_MAX)
        n = THREADS_MAX;
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_init(&locks[i].mutex, NULL);
        pthread_rwlock_init(&locks[i].rwlock, NULL);
        pthread_spin_init(&locks[i].spin, PTHREAD_PROCESS_PRIVATE);
    }
    pthread_t threads[THREADS_MAX];
    for (long i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    long sum = 0;
    for (int i = 0; i < LOCKS; i++)
        sum += locks[i].count;
    printf("%ld\n", sum);
    return 0;
}
