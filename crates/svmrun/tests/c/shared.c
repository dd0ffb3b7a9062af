/* What shared virtual memory promises to programs, a subcommand each; the status is 0 if it holds.
 *   shared COMMAND [FILE]     with FILE, stderr goes there, or it is the file to work on */
#include <errno.h>
#include <fcntl.h>
#include <homenode.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define ROUNDS 40u

static const char *path;
static unsigned threads;

struct shared {
    unsigned long counter, own[64];
    unsigned wrong;
    unsigned char *bytes;
    uint64_t *words;
    unsigned items, done;
    uint64_t ticket;
    uint32_t halves[2];
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_barrier_t barrier;
    sem_t semaphore;
};
static struct shared *s;

static void fail(const char *what) {
    fprintf(stderr, "thread %u: %s\n", homenode_thread(), what);
    exit(3);
}

static void meet(void) {
    homenode_barrier(&s->counter, threads);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs `body` on all threads, this one included. */
static void everywhere(void (*body)(void *)) {
    for (unsigned t = 1; t < threads; t++)
        homenode_create(body, (void *)(uintptr_t)t);
    body(NULL);
    homenode_join();
}

static void count(void *argument) {
    if ((uintptr_t)argument != homenode_thread())
        fail("a thread has another number than it was created with");
    for (unsigned i = 0; i < 300; i++) {
        homenode_lock(s);
        s->counter++;
        homenode_unlock(s);
        s->own[homenode_thread()]++;
    }
}

static void phases(void *argument) {
    unsigned me = homenode_thread();
    (void)argument;
    for (unsigned long round = 1; round <= ROUNDS; round++) {
        s->own[me] = round * 1000 + me;
        meet();
        for (unsigned t = 0; t < threads; t++)
            if (s->own[t] != round * 1000 + t)
                fail("what was written before a barrier is not seen after it");
        meet();
    }
}

/* Bytes and words of the same pages, dealt out one by one. */
static void sharing(void *argument) {
    unsigned me = homenode_thread();
    (void)argument;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        for (size_t i = me; i < 2 * PAGE; i += threads)
            s->bytes[i] = (unsigned char)(i * 7 + round);
        for (size_t i = me; i < PAGE / 8; i += threads)
            s->words[i] = i * 1000 + round;
        meet();
        for (size_t i = 0; i < 2 * PAGE; i++)
            if (s->bytes[i] != (unsigned char)(i * 7 + round))
                fail("a byte was lost beside bytes of other nodes");
        for (size_t i = 0; i < PAGE / 8; i++)
            if (s->words[i] != i * 1000 + round)
                fail("a word was lost beside words of other nodes");
        meet();
    }
}

/* The last thread computes, with allocations, while the first one takes pages whose home is there. */
static void busy(void *argument) {
    unsigned me = homenode_thread();
    (void)argument;
    if (me == threads - 1)
        memset(s->bytes, 5, 64 * PAGE);
    meet();
    if (me == 0)
        for (unsigned page = 0; page < 64; page++)
            if (s->bytes[page * PAGE] != 5)
                fail("a page came without what its home wrote");
    if (me == threads - 1)
        for (double until = seconds() + 0.2; seconds() < until;) {
            char *memory = malloc(100 + (size_t)(seconds() * 1e9) % 5000);
            memory[50] = 1;
            free(memory);
        }
    meet();
}

/* Each thread reads a file into shared memory that it has never touched, and writes what another one read. */
static void io(void *argument) {
    unsigned me = homenode_thread();
    unsigned char *mine = s->bytes + me * 4 * PAGE, *next = s->bytes + (me + 1) % threads * 4 * PAGE;
    char name[4096];
    (void)argument;
    int file = open(path, O_RDONLY);
    struct iovec parts[2] = {{mine + 2 * PAGE, PAGE}, {mine + 3 * PAGE, PAGE}};
    if (file < 0 || read(file, mine, PAGE) != PAGE || pread(file, mine + PAGE, PAGE, PAGE) != PAGE ||
        lseek(file, 2 * PAGE, SEEK_SET) < 0 || readv(file, parts, 2) != 2 * PAGE)
        fail("a file cannot be read into shared memory");
    close(file);
    meet();
    snprintf(name, sizeof name, "%s.%u", path, me);
    FILE *out = fopen(name, "w+");
    if (!out || fwrite(next, PAGE, 4, out) != 4 || fflush(out))
        fail("shared memory cannot be written to a file");
    meet();
    memset(next, 0, 4 * PAGE);
    meet();
    rewind(out);
    if (fread(mine, PAGE, 4, out) != 4)
        fail("a stream cannot be read into shared memory");
    fclose(out);
    meet();
    for (size_t i = 0; i < 4 * PAGE; i++)
        if (next[i] != (unsigned char)(i / 16))
            fail("a file came out otherwise than it was");
}

/* The first thread makes items for all others, in a store with room for three. */
static void conditions(void *argument) {
    unsigned me = homenode_thread(), all = 60 * (threads - 1);
    (void)argument;
    if (me == 0) {
        for (unsigned i = 0; i < all; i++) {
            homenode_lock(&s->items);
            while (s->items == 3)
                homenode_cond_wait(&s->done, &s->items);
            s->words[s->items++] = i;
            homenode_cond_signal(&s->items);
            homenode_unlock(&s->items);
        }
    } else {
        for (unsigned i = 0; i < 60; i++) {
            homenode_lock(&s->items);
            while (!s->items)
                homenode_cond_wait(&s->items, &s->items);
            s->own[me] += s->words[--s->items];
            homenode_unlock(&s->items);
            homenode_cond_broadcast(&s->done);
        }
    }
    meet();
    unsigned long sum = 0;
    for (unsigned t = 1; t < threads; t++)
        sum += s->own[t];
    if (s->items || sum != (unsigned long)all * (all - 1) / 2)
        fail("an item was lost, or taken twice");
    meet();
}

/* What a thread wrote goes round all threads, by a flag from each to the next one. */
static void flags(void *argument) {
    unsigned me = homenode_thread();
    (void)argument;
    for (unsigned long round = 1; round <= ROUNDS; round++) {
        if (me > 0)
            homenode_flag_wait(&s->own[me]);
        if (s->counter != (round - 1) * threads + me)
            fail("what was written before a flag was set is not seen after it");
        s->counter++;
        homenode_flag_set(&s->own[(me + 1) % threads]);
        if (me == 0) {
            homenode_flag_wait(&s->own[0]);
            homenode_flag_clear(&s->own[0]);
        }
        meet();
        if (me > 0)
            homenode_flag_clear(&s->own[me]);
        meet();
        if (homenode_flag_is_set(&s->own[me]))
            fail("a flag that was cleared is set");
        meet();
    }
}

static void atomics(void *argument) {
    unsigned me = homenode_thread();
    (void)argument;
    for (unsigned i = 0; i < 50; i++) {
        uint64_t ticket = homenode_fetch_add64(&s->ticket, 1);
        s->words[ticket] = me + 1; /* nobody else has this one */
        homenode_fetch_add32(&s->halves[me % 2], 3);
        for (;;) {
            uint64_t old = homenode_load64(&s->words[511]);
            if (homenode_compare_swap64(&s->words[511], old, old + 2) == old)
                break;
        }
    }
    /* A message: data, then a word that says that it is there. */
    if (me == 0) {
        s->counter = 77;
        homenode_store32((uint32_t *)&s->done, 5);
    }
    while (homenode_load32((uint32_t *)&s->done) != 5)
        ;
    if (s->counter != 77)
        fail("what was written before an atomic store is not seen after it was read");
    meet();
    unsigned long mine = 0;
    for (unsigned i = 0; i < 50 * threads; i++)
        mine += s->words[i] == me + 1;
    if (mine != 50 || s->ticket != 50 * threads || s->words[511] != 100 * threads)
        fail("a ticket was given twice, or lost");
    if (s->halves[0] + s->halves[1] != 150 * threads)
        fail("an addition to half a word was lost");
    meet();
    if (homenode_exchange64(&s->own[me], 4) != 0 || s->own[me] != 4)
        fail("a word that was exchanged was another one");
    if (me == 0 && (homenode_exchange32(&s->halves[1], 9) != 150 * (threads / 2) || s->halves[1] != 9))
        fail("half a word that was exchanged was another one");
    meet();
    if (s->halves[0] != 150 * ((threads + 1) / 2))
        fail("a change of half a word changed the other one");
}

static void reductions(void *argument) {
    int64_t me = homenode_thread(), all = threads;
    (void)argument;
    for (int64_t round = 0; round < ROUNDS; round++) {
        s->own[me] = (unsigned long)(me + round);
        if (homenode_reduce_sum_i64(me - round) != all * (all - 1) / 2 - all * round)
            fail("a sum is wrong");
        for (int64_t t = 0; t < all; t++)
            if (s->own[t] != (unsigned long)(t + round))
                fail("a reduction is no barrier");
        if (homenode_reduce_min_i64(me - 5) != -5 || homenode_reduce_max_i64(me - 5) != all - 6)
            fail("the least or the greatest of whole numbers is wrong");
        double sum = 0;
        for (int64_t t = 0; t < all; t++)
            sum += 0.1 * (double)t;
        if (homenode_reduce_sum_f64(0.1 * (double)me) != sum)
            fail("a sum of doubles is not that in the order of threads");
        if (homenode_reduce_min_f64((double)-me) != (double)(1 - all) || homenode_reduce_max_f64((double)-me) != 0)
            fail("the least or the greatest of doubles is wrong");
        if (!isnan(homenode_reduce_max_f64(me == 1 ? (double)NAN : 1.0)))
            fail("a NaN was lost");
    }
}

/* Mistakes: each ends the program with a line. */
static void unheld_wait(void *argument) {
    (void)argument;
    homenode_cond_wait(s, &s->items);
}

static void mixed(void *argument) {
    (void)argument;
    if (homenode_thread())
        homenode_reduce_min_i64(1);
    else
        homenode_reduce_sum_i64(1);
}

static void private_word(void *argument) {
    uint64_t word = 0;
    (void)argument;
    homenode_fetch_add64(&word, 1);
}

static void crooked_word(void *argument) {
    (void)argument;
    homenode_load64((uint64_t *)((char *)s->words + 4));
}

static void mutex(void *argument) {
    (void)argument;
    pthread_mutex_lock(&s->mutex);
}

static void cond(void *argument) {
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    (void)argument;
    pthread_mutex_lock(&own);
    pthread_cond_wait(&s->cond, &own);
}

static void barrier(void *argument) {
    (void)argument;
    pthread_barrier_wait(&s->barrier);
}

static void semaphore(void *argument) {
    (void)argument;
    sem_wait(&s->semaphore);
}

static void *add_one(void *to) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&lock);
    ++*(unsigned *)to;
    pthread_cond_broadcast(&more);
    while (*(unsigned *)to < 4)
        pthread_cond_wait(&more, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* pthreads of a node's own, on memory of its own, are as ever. */
static void own_pthreads(void *argument) {
    pthread_t handles[4];
    unsigned count = 0;
    (void)argument;
    for (unsigned t = 0; t < 4; t++)
        if (pthread_create(&handles[t], NULL, add_one, &count))
            fail("no thread");
    for (unsigned t = 0; t < 4; t++)
        pthread_join(handles[t], NULL);
    if (count != 4)
        fail("threads of a node's own do not synchronise");
    meet();
}

static void leave(void *argument) {
    if (argument)
        exit(9);
    meet();
}

/* Never ends by itself; FILE gets the processes of the nodes. */
static void forever(void *argument) {
    (void)argument;
    s->own[homenode_thread()] = (unsigned long)getpid();
    meet();
    if (homenode_thread() == 0) {
        FILE *out = fopen(path, "w");
        for (unsigned t = 0; t < threads; t++)
            fprintf(out, "%lu\n", s->own[t]);
        fclose(out);
    }
    meet(); /* nobody counts before all processes are written down */
    for (;;) {
        s->own[homenode_thread()]++;
        meet();
    }
}

static void few(void *argument) {
    (void)argument;
    homenode_barrier(s, threads - 1);
}

static void unheld(void *argument) {
    (void)argument;
    homenode_unlock(s);
}

static void nothing(void *argument) {
    (void)argument;
}

static int memory(void) {
    unsigned char *first = homenode_shared_alloc(3 * PAGE + 5);
    if ((uintptr_t)first % PAGE)
        fail("memory is not aligned to pages");
    for (size_t i = 0; i < 3 * PAGE + 5; i++)
        if (first[i])
            fail("memory is not zeroed");
    memset(first, 1, 3 * PAGE + 5);
    homenode_shared_free(first, 3 * PAGE + 5);
    unsigned char *again = homenode_shared_alloc(3 * PAGE + 5), *other = homenode_shared_alloc(3 * PAGE + 5);
    if (again != first || other == again)
        fail("memory that was given back is not given out again, once");
    for (size_t i = 0; i < 3 * PAGE + 5; i++)
        if (again[i])
            fail("memory is not zeroed again");
    return homenode_shared_alloc((size_t)1 << 45) ? 1 : 0;
}

static int children(void) {
    /* A program that is started has neither the library nor its variable. */
    everywhere(nothing);
    return system("test -z \"$HOMENODE_SVM_JOB\" && ! grep -q homenode_svm /proc/self/maps && ! ls -l /proc/self/fd | grep -q 'homenode heap'");
}

static void count_again(void) {
    everywhere(count); /* threads can be created again after the others have been joined */
    if (s->counter != 600ul * threads)
        fail("an increment was lost");
    for (unsigned t = 0; t < threads; t++)
        if (s->own[t] != 600)
            fail("what a thread wrote is not seen after it has ended");
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*body)(void *);
        bool mistaken;
    } bodies[] = {{"count", count},
                  {"phases", phases},
                  {"sharing", sharing},
                  {"busy", busy},
                  {"io", io},
                  {"conditions", conditions},
                  {"flags", flags},
                  {"atomics", atomics},
                  {"reductions", reductions},
                  {"own-pthreads", own_pthreads},
                  {"leave", leave},
                  {"forever", forever},
                  {"few", few, true},
                  {"unheld", unheld, true},
                  {"unheld-wait", unheld_wait, true},
                  {"mixed", mixed, true},
                  {"private-word", private_word, true},
                  {"crooked-word", crooked_word, true},
                  {"mutex", mutex, true},
                  {"cond", cond, true},
                  {"barrier", barrier, true},
                  {"semaphore", semaphore, true}};
    const char *command = argc > 1 ? argv[1] : "";
    path = argc > 2 ? argv[2] : NULL;
    threads = homenode_svm_threads ? homenode_svm_threads() : 0;
    alarm(100); /* a test that waits for ever says nothing */
    if (!strcmp(command, "status"))
        return threads ? 5 : 6;
    if (!threads)
        return 77;
    printf("once\n"); /* still in the buffer when nodes are forked */
    s = homenode_shared_alloc(sizeof *s);
    s->bytes = homenode_shared_alloc(64 * 4 * PAGE);
    s->words = homenode_shared_alloc(PAGE);
    if (!strcmp(command, "memory"))
        return memory();
    if (!strcmp(command, "children"))
        return children();
    bool mistaken = !strcmp(command, "many") || !strcmp(command, "early");
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        mistaken |= !strcmp(command, bodies[i].name) && bodies[i].mistaken;
    if (path && mistaken && !freopen(path, "w", stderr))
        return 78;
    if (!strcmp(command, "early"))
        homenode_flag_wait(s);
    if (!strcmp(command, "many"))
        for (unsigned t = 0; t < threads; t++)
            homenode_create(nothing, NULL);
    bool known = mistaken;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        if (!strcmp(command, bodies[i].name)) {
            known = true;
            everywhere(bodies[i].body);
        }
    if (!known)
        return 64;
    if (!strcmp(command, "count"))
        count_again();
    return 0;
}
