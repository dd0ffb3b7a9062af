/* What operations of shared virtual memory cost on two nodes of one thread (`ops`; `ops locks`: of locks alone): a line each, name, operations, median and 99th percentile
 * in microseconds. Without `homenode svm run` it prints floors: what the machine takes for the least that must happen.
 * The numbers are as good as the machine is idle; bench/svm/run.py puts them beside each other. */
#define _GNU_SOURCE
#include <homenode.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 2048, DIRTY = 64, ROUNDS = 400, TURNS = 4000, LARGE = 64 << 20, READS = 5 };

struct shared {
    char pages[PAGES][PAGE];    /* home of all: node 0 */
    char computing[PAGES][PAGE];
    _Alignas(8) char written[DIRTY][PAGE];
    char large[LARGE];
    char lock, other, barrier;
};

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, double *us, size_t count, double each) {
    qsort(us, count, sizeof *us, by_value);
    printf("%s\t%zu\t%.3f\t%.3f\n", name, count, us[count / 2] / each, us[count * 99 / 100] / each);
    fflush(stdout);
}

static void meet(struct shared *s) {
    homenode_barrier(&s->barrier, homenode_svm_threads());
}

/* What the library counts of each part, `svm run -o` has by these names. */
static void begin(const char *phase) {
    HOMENODE_PHASE_BEGIN(phase);
}
static void end(const char *phase) {
    HOMENODE_PHASE_END(phase);
}

/* Thread 1 uses pages of node 0; thread 0 waits at the barrier, or computes for a while. */
static void pages(struct shared *s, unsigned me) {
    static double us[PAGES];
    volatile uint64_t work = 0;
    for (int at = 0; me == 0 && at < PAGES; at++)
        s->pages[at][0] = s->computing[at][0] = 1;
    meet(s);
    begin("cold");
    for (int at = 0; me == 1 && at < PAGES; at++) {
        double began = now_us();
        work += (unsigned char)*(volatile char *)s->pages[at];
        us[at] = now_us() - began;
    }
    end("cold");
    if (me == 1)
        report("cold page, home idle", us, PAGES, 1);
    begin("first write");
    for (int at = 0; me == 1 && at < PAGES; at++) {
        double began = now_us();
        *(volatile char *)s->pages[at] = 2;
        us[at] = now_us() - began;
    }
    end("first write");
    if (me == 1)
        report("first write", us, PAGES, 1);
    meet(s);
    for (int again = 0; again < 2; again++) {
        for (int at = 0; again && me == 0 && at < PAGES; at++)
            s->computing[at][0] = 2;
        meet(s);
        double until = now_us() + 3e5;
        begin(again ? "computing, again" : "computing");
        while (me == 0 && now_us() < until)
            for (int i = 0; i < 1000; i++)
                work += (uint64_t)i;
        for (int at = 0; me == 1 && at < PAGES; at++) {
            double began = now_us();
            work += (unsigned char)*(volatile char *)s->computing[at];
            us[at] = now_us() - began;
        }
        end("computing");
        if (me == 1)
            report(again ? "page again, home computing" : "cold page, home computing", us, PAGES, 1);
        meet(s);
    }
}

/* Thread 1 writes words of each of some pages that are homed at node 0, so far apart, and releases a lock. */
static void releases(struct shared *s, unsigned me, size_t words, size_t apart, const char *phase, const char *name) {
    static double us[ROUNDS];
    for (int at = 0; me == 0 && at < DIRTY; at++)
        s->written[at][0] = 1;
    meet(s);
    begin(phase);
    for (int round = 0; me == 1 && round < ROUNDS; round++) {
        homenode_lock(&s->lock);
        for (int at = 0; at < DIRTY; at++)
            for (size_t word = 0; word < words; word++)
                ((volatile uint64_t *)s->written[at])[word * apart] = (uint64_t)round + 1;
        double began = now_us();
        homenode_unlock(&s->lock);
        us[round] = now_us() - began;
    }
    end(phase);
    if (me == 1)
        report(name, us, ROUNDS, DIRTY);
    meet(s);
}

/* A lock that was the other node's, and one that is here. */
static void locks(struct shared *s, unsigned me) {
    static double taken[ROUNDS], back[ROUNDS], again[ROUNDS], given[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        if (me == 0) {
            homenode_lock(&s->other);
            homenode_unlock(&s->other);
        }
        meet(s);
        if (me == 1) {
            double began = now_us();
            homenode_lock(&s->other);
            double held = now_us();
            taken[round] = held - began;
            homenode_unlock(&s->other);
            began = now_us();
            back[round] = began - held;
            homenode_lock(&s->other);
            held = now_us();
            homenode_unlock(&s->other);
            again[round] = held - began;
            given[round] = now_us() - held;
        }
        meet(s);
    }
    if (me == 1) {
        report("lock that was last at the other node", taken, ROUNDS, 1);
        report("unlock of that, nobody waits", back, ROUNDS, 1);
        report("lock that was last here", again, ROUNDS, 1);
        report("unlock, nobody waits", given, ROUNDS, 1);
    }
}

static void synchronisation(struct shared *s, unsigned me) {
    static double us[TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        double began = now_us();
        homenode_lock(&s->lock);
        us[turn] = now_us() - began;
        homenode_unlock(&s->lock);
        for (volatile int i = 0; i < 2000; i++)
            ;
    }
    if (me == 1)
        report("lock, both at it", us, TURNS, 1);
    begin("barriers");
    for (int turn = 0; turn < TURNS; turn++) {
        double began = now_us();
        meet(s);
        us[turn] = now_us() - began;
    }
    end("barriers");
    if (me == 1)
        report("empty barrier", us, TURNS, 1);
    locks(s, me);
}

/* Thread 1 reads memory in order that thread 0 has written. */
static void in_order(struct shared *s, unsigned me) {
    static double us[READS];
    uint64_t sum = 0;
    for (int round = 0; round < READS; round++) {
        begin("order, writing");
        if (me == 0)
            memset(s->large, round + 1, LARGE);
        end("order, writing");
        meet(s);
        double began = now_us();
        begin(round ? "order" : "order, first");
        for (size_t at = 0; me == 1 && at < LARGE; at += 64)
            sum += *(volatile uint64_t *)(s->large + at);
        us[round] = now_us() - began;
        end("order");
        meet(s);
    }
    if (me == 1 && sum)
        report("64 MiB in order, a page", us, READS, LARGE / PAGE);
}

static int only_locks;

static void run(void *argument) {
    struct shared *s = argument;
    unsigned me = homenode_node();
    if (only_locks) {
        locks(s, me);
        return;
    }
    pages(s, me);
    releases(s, me, 1, 0, "release", "release, a word in each of 64 pages, a page");
    releases(s, me, PAGE / 16, 2, "release of every other", "release, every other word of each of 64 pages, a page");
    releases(s, me, PAGE / 8, 1, "release of all", "release, all of each of 64 pages, a page");
    synchronisation(s, me);
    in_order(s, me);
}

/* What a thread does between two looks while it waits (`spin_loop`). */
static inline void pause_a_turn(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static void *mapped(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return at;
}

/* A page copied out of memory that another process wrote; a futex handed to and fro between two processes. */
static int floors(void) {
    static double us[TURNS];
    char (*from)[PAGE] = mapped((size_t)PAGES * PAGE), (*to)[PAGE] = mapped((size_t)PAGES * PAGE);
    uint32_t *word = mapped(PAGE);
    memset(to, 1, (size_t)PAGES * PAGE);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return 1;
    }
    if (child == 0) {
        memset(from, 1, (size_t)PAGES * PAGE);
        for (uint32_t turn = 0; turn < TURNS; turn++) {
            while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 2 * turn + 1)
                syscall(SYS_futex, word, FUTEX_WAIT, 2 * turn, NULL, NULL, 0);
            __atomic_store_n(word, 2 * turn + 2, __ATOMIC_RELEASE);
            syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
        }
        _exit(0);
    }
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        double began = now_us();
        __atomic_store_n(word, 2 * turn + 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
        while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 2 * turn + 2)
            syscall(SYS_futex, word, FUTEX_WAIT, 2 * turn + 1, NULL, NULL, 0);
        us[turn] = now_us() - began;
    }
    report("futex round trip, parked", us, TURNS, 1);
    waitpid(child, NULL, 0);
    for (int at = 0; at < PAGES; at++) {
        double began = now_us();
        memcpy(to[at], from[at], PAGE);
        us[at] = now_us() - began;
    }
    report("copy of a page", us, PAGES, 1);
    for (int turn = 0; turn < TURNS; turn++) {
        double began = now_us();
        for (int i = 0; i < 1000; i++)
            if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 2 * TURNS)
                break;
            else
                pause_a_turn();
        us[turn] = now_us() - began;
    }
    report("1,000 turns of waiting", us, TURNS, 1);
    return 0;
}

int main(int argc, char **argv) {
    only_locks = argc == 2 && !strcmp(argv[1], "locks");
    if (!homenode_svm_threads || homenode_svm_threads() == 0)
        return floors();
    if (homenode_nodes() != 2 || homenode_svm_threads() != 2) {
        fputs("ops: give -n 2\n", stderr);
        return 2;
    }
    struct shared *s = homenode_shared_alloc(sizeof *s);
    if (!s)
        return 1;
    homenode_create(run, s);
    run(s);
    homenode_join();
    return 0;
}
