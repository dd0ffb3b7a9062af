/* Many short threads, one after another or all at once, on small stacks; each makes 100 writes. With -DC11, by
 * thrd_create, which the C library does not route through pthread_create; with -DHIDDEN, by the C library's own
 * pthread_create, which the runtime does not see. */
#ifdef HIDDEN
#define _GNU_SOURCE
#include <dlfcn.h>
#endif
#include "expect.h"

#include <limits.h>
#include <pthread.h>
#include <threads.h>

_Thread_local uint32_t cells[10];

static int work(void *unused) {
    (void)unused;
    for (uint32_t i = 0; i < 100; i++) {
        cells[i % 10] = i;
        FENCE();
    }
    return 0;
}

static void *work_pthread(void *unused) {
    work(unused);
    return unused;
}

int main(int argc, char **argv) {
    long n = atol(argv[1]), at_once = argc > 2 ? n : 1;
    pthread_t *threads = calloc(at_once, sizeof *threads);
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = pthread_create;
#ifdef HIDDEN
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
#endif
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    for (long i = 0; i < n; i += at_once) {
#ifdef C11
        thrd_t thread;
        if (thrd_create(&thread, work, NULL) != thrd_success || thrd_join(thread, NULL) != thrd_success)
            return 1;
        (void)work_pthread, (void)create;
#else
        for (long k = 0; k < at_once; k++)
            if (create(&threads[k], &small, work_pthread, NULL))
                return 1;
        for (long k = 0; k < at_once; k++)
            pthread_join(threads[k], NULL);
#endif
    }
    return 0;
}
