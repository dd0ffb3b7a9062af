/* Forms of waiting for another thread. The first argument is the form, the second how slow the other one is (microseconds):
 * what is charged may not depend on it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    volatile int flag, other;
    _Atomic int atomic;
    pthread_mutex_t lock;
    int under;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
static double data[512], out[512];
static int form;
static long slow_us;

static long plain_flag(void) {
    while (!shared.flag) {}
    return 0;
}

static long counted_tries(void) {
    long n = 0;
    while (!shared.flag) n++;
    return n;
}

static void bump(long *n) { ++*n; }

/* The counter is in memory, whatever the optimisation. */
static long tries_in_memory(void) {
    long n = 0;
    while (!shared.flag) bump(&n);
    return n;
}

static __thread long own;
static long tries_of_the_thread(void) {
    while (!shared.flag) own++;
    return own;
}

static long two_flags(void) {
    while (!shared.flag || !shared.other) {}
    return 0;
}

static long flag_of_atomics(void) {
    long n = 0;
    while (!atomic_load_explicit(&shared.atomic, memory_order_acquire)) n++;
    return n;
}

static long under_a_lock(void) {
    for (int done = 0; !done;) {
        pthread_mutex_lock(&shared.lock);
        done = shared.under;
        pthread_mutex_unlock(&shared.lock);
    }
    return 0;
}

static long (*const forms[])(void) = {plain_flag, counted_tries, tries_in_memory, tries_of_the_thread,
                                      two_flags,  flag_of_atomics, under_a_lock};

static void *writer(void *unused) {
    for (int i = 0; i < 512; i++) data[i] = i;
    usleep(slow_us);
    shared.flag = 1;
    shared.other = 1;
    atomic_store_explicit(&shared.atomic, 1, memory_order_release);
    pthread_mutex_lock(&shared.lock);
    shared.under = 1;
    pthread_mutex_unlock(&shared.lock);
    return unused;
}

int main(int argc, char **argv) {
    form = argc > 1 ? atoi(argv[1]) : 0;
    slow_us = argc > 2 ? atol(argv[2]) : 0;
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    forms[form]();
    for (int i = 0; i < 512; i++) out[i] = data[i];
    pthread_join(t, NULL);
    printf("%f\n", out[3]);
    return 0;
}
