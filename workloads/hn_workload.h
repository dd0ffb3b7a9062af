/* The one header that every workload is written against: threads, barrier, lock, shared allocation, phase marks,
 * options and the result line. It maps to pthreads and malloc, and under `homenode svm run` to its functions: shared data
 * never lives outside hn_shared_alloc, so the same kernels run on nodes that share nothing else.
 *
 * A workload defines one `struct hn_program`, calls hn_parse, then hn_run, then returns hn_result.
 * Worker 0 is the main thread: T threads in all, T-1 of them created. */
#ifndef HN_WORKLOAD_H
#define HN_WORKLOAD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HN_PAGE_BYTES 4096u
#define HN_LINE_BYTES 64u
#define HN_MAX_THREADS 1024u

/* ---- phases: seen by a recorder if one is linked in, free otherwise ---------------------------------------- */

extern void homenode_phase_begin(const char *name) __attribute__((weak));
extern void homenode_phase_end(const char *name) __attribute__((weak));

static inline void hn_phase_begin(const char *name) {
    if (homenode_phase_begin)
        homenode_phase_begin(name);
}

static inline void hn_phase_end(const char *name) {
    if (homenode_phase_end)
        homenode_phase_end(name);
}

/* ---- shared virtual memory: only under `homenode svm run` --------------------------------------------------------- */

extern unsigned homenode_svm_threads(void) __attribute__((weak));
extern void homenode_create(void (*start)(void *), void *argument) __attribute__((weak));
extern void homenode_join(void) __attribute__((weak));
extern void homenode_lock(void *name) __attribute__((weak));
extern void homenode_unlock(void *name) __attribute__((weak));
extern void homenode_barrier(void *name, unsigned threads) __attribute__((weak));
extern void *homenode_shared_alloc(size_t bytes) __attribute__((weak));

/* Threads of all nodes; 0 without shared virtual memory. Asked of the library each time: a variable would be one more that
 * recordings see. */
static inline unsigned hn_svm_threads(void) {
    return homenode_svm_threads ? homenode_svm_threads() : 0;
}

/* ---- failure ------------------------------------------------------------------------------------------------ */

static inline _Noreturn void hn_die(const char *what, int error) {
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(error));
    exit(1);
}

static inline void hn_check(int error, const char *what) {
    if (error)
        hn_die(what, error);
}

/* Under shared virtual memory a program has the threads that all nodes have together. */
static inline void hn_svm_check(unsigned threads) {
    unsigned all = hn_svm_threads();
    if (all && threads != all) {
        fprintf(stderr, "%s: %u threads where the nodes have %u: give -p %u\n", program_invocation_short_name, threads, all,
                all);
        exit(1);
    }
}

/* Compiled with HN_TRACED=1 a run is one phase `traced` up to its check: recording can be restricted to it, and what precedes
 * the measured phase is in it. Shared allocations then say so, whoever uses them. */
#ifndef HN_TRACED
#define HN_TRACED 0
#endif

/* ---- shared allocation -------------------------------------------------------------------------------------- */

static bool hn_verbose; /* -v; written before any thread is created */

static inline size_t hn_pages(size_t bytes) {
    return (bytes + HN_PAGE_BYTES - 1) / HN_PAGE_BYTES * HN_PAGE_BYTES;
}

static inline void *hn_shared_note(void *memory, const char *name, size_t bytes) {
    if (!memory)
        hn_die(name, ENOMEM);
    if (hn_verbose)
        fprintf(stderr, "shared %s %" PRIxPTR " %zu\n", name, (uintptr_t)memory, bytes);
    return memory;
}

/* Page-aligned, untouched memory: the pages belong to whoever touches them first. A macro, so that the allocation is
 * attributed to the line that asked for it and not to this header. `name` is for -v only. */
#if HN_TRACED
#define hn_shared_alloc(name, bytes)                                                                      \
    hn_shared_note(homenode_shared_alloc ? homenode_shared_alloc(hn_pages(bytes))                         \
                                         : aligned_alloc(HN_PAGE_BYTES, hn_pages(bytes)),                 \
                   (name), (bytes))

/* The end of the process gives it back. */
static inline void hn_shared_free(void *memory) {
    (void)memory;
}
#else
#define hn_shared_alloc(name, bytes)                                                                      \
    hn_shared_note(hn_svm_threads() ? homenode_shared_alloc(hn_pages(bytes))                              \
                                    : aligned_alloc(HN_PAGE_BYTES, hn_pages(bytes)),                      \
                   (name), (bytes))

static inline void hn_shared_free(void *memory) {
    if (!hn_svm_threads())
        free(memory);
}
#endif

/* ---- lock, barrier ------------------------------------------------------------------------------------------ */

/* Under shared virtual memory locks and barriers are named by their addresses. That the library is there is asked of its functions'
 * addresses: nothing is loaded that a recording would see.
 *
 * Each fills cache lines of its own, so that locks never share falsely. */
typedef struct {
    _Alignas(2 * HN_LINE_BYTES) pthread_mutex_t mutex;
} hn_lock;

typedef struct {
    _Alignas(2 * HN_LINE_BYTES) pthread_barrier_t barrier;
} hn_barrier;

static inline void hn_lock_init(hn_lock *l) {
    if (hn_svm_threads())
        return;
    hn_check(pthread_mutex_init(&l->mutex, NULL), "pthread_mutex_init");
}

static inline void hn_lock_acquire(hn_lock *l) {
    hn_check(homenode_lock ? (homenode_lock(l), 0) : pthread_mutex_lock(&l->mutex), "pthread_mutex_lock");
}

static inline void hn_lock_release(hn_lock *l) {
    hn_check(homenode_unlock ? (homenode_unlock(l), 0) : pthread_mutex_unlock(&l->mutex), "pthread_mutex_unlock");
}

static inline void hn_barrier_init(hn_barrier *b, unsigned threads) {
    if (hn_svm_threads()) {
        hn_svm_check(threads);
        return;
    }
    hn_check(pthread_barrier_init(&b->barrier, NULL, threads), "pthread_barrier_init");
}

static inline void hn_barrier_wait(hn_barrier *b) {
    if (hn_svm_threads()) {
        homenode_barrier(b, hn_svm_threads());
        return;
    }
    int error = pthread_barrier_wait(&b->barrier);
    if (error != PTHREAD_BARRIER_SERIAL_THREAD)
        hn_check(error, "pthread_barrier_wait");
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

typedef void hn_worker(unsigned thread, unsigned threads, void *shared);

static bool hn_pinned; /* --pin; written before any thread is created */

/* With --pin: thread t on the t-th processor that this process may use, and round again. */
static void hn_pin(unsigned thread) {
    static cpu_set_t allowed; /* as thread 0 found it, before it narrowed its own */
    cpu_set_t one;
    if (!hn_pinned)
        return;
    if (thread == 0)
        hn_check(sched_getaffinity(0, sizeof allowed, &allowed) ? errno : 0, "sched_getaffinity");
    unsigned wanted = thread % (unsigned)CPU_COUNT(&allowed), cpu = 0;
    for (unsigned seen = 0; !CPU_ISSET(cpu, &allowed) || seen++ < wanted;)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    hn_check(sched_setaffinity(0, sizeof one, &one) ? errno : 0, "sched_setaffinity");
}

struct hn_start {
    _Alignas(HN_LINE_BYTES) hn_worker *worker;
    void *shared;
    unsigned thread, threads;
    pthread_t handle;
};

static void *hn_thread_main(void *argument) {
    const struct hn_start *s = argument;
    hn_pin(s->thread);
    s->worker(s->thread, s->threads, s->shared);
    return NULL;
}

static void hn_svm_thread_main(void *argument) {
    hn_thread_main(argument);
}

/* As hn_run, on all nodes. They have what this one's variables hold when the first thread is created, so all is filled in before; on
 * other hosts they have nothing else of it. */
static inline void hn_svm_run(unsigned threads, hn_worker *worker, void *shared) {
    static struct hn_start starts[64 * 64]; /* there are no more threads */
    hn_svm_check(threads);
    hn_pin(0);
    for (unsigned t = 1; t < threads; t++)
        starts[t] = (struct hn_start){.worker = worker, .shared = shared, .thread = t, .threads = threads};
    for (unsigned t = 1; t < threads; t++)
        homenode_create(hn_svm_thread_main, &starts[t]);
    worker(0, threads, shared);
    homenode_join();
}

/* Runs `worker` on threads 0..threads-1 and returns when all are done. Thread 0 is the caller. */
static inline void hn_run(unsigned threads, hn_worker *worker, void *shared) {
    if (hn_svm_threads()) {
        hn_svm_run(threads, worker, shared);
        return;
    }
    struct hn_start *starts = aligned_alloc(HN_PAGE_BYTES, hn_pages(threads * sizeof *starts));
    pthread_attr_t attributes;
    if (!starts)
        hn_die("threads", ENOMEM);
    hn_pin(0);
    hn_check(pthread_attr_init(&attributes), "pthread_attr_init");
    hn_check(pthread_attr_setstacksize(&attributes, 256 * 1024), "pthread_attr_setstacksize");
    for (unsigned t = 1; t < threads; t++) {
        starts[t].worker = worker;
        starts[t].shared = shared;
        starts[t].thread = t;
        starts[t].threads = threads;
        hn_check(pthread_create(&starts[t].handle, &attributes, hn_thread_main, &starts[t]), "pthread_create");
    }
    worker(0, threads, shared);
    for (unsigned t = 1; t < threads; t++)
        hn_check(pthread_join(starts[t].handle, NULL), "pthread_join");
    hn_check(pthread_attr_destroy(&attributes), "pthread_attr_destroy");
    free(starts);
}

/* One thread marks, when all have come. */
static inline void hn_traced_begin(hn_barrier *barrier, unsigned thread) {
    if (!HN_TRACED)
        return;
    hn_barrier_wait(barrier);
    if (thread == 0)
        hn_phase_begin("traced");
    hn_barrier_wait(barrier);
}

static inline void hn_traced_end(hn_barrier *barrier, unsigned thread) {
    if (!HN_TRACED)
        return;
    hn_barrier_wait(barrier);
    if (thread == 0)
        hn_phase_end("traced");
    hn_barrier_wait(barrier);
}

/* First item of thread t if `items` are dealt out in contiguous, nearly equal parts. */
static inline size_t hn_part(size_t items, unsigned t, unsigned threads) {
    return items / threads * t + (items % threads < t ? items % threads : t);
}

/* ---- deterministic numbers ---------------------------------------------------------------------------------- */

/* A bijective mixer (Steele, Lea, Flood 2014, SplitMix64): position in, noise out, no state. */
static inline uint64_t hn_mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t hn_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- the self-check ------------------------------------------------------------------------------------------ */

/* Compiled with HN_DAMAGE=1 a workload spoils one value of its result before the check, which must then fail: the test
 * of the check. */
#ifndef HN_DAMAGE
#define HN_DAMAGE 0
#endif

/* What one thread found in its share of the result; on cache lines of its own. */
struct hn_verdict {
    _Alignas(2 * HN_LINE_BYTES) uint64_t checksum;
    bool ok;
};

/* Whether every thread is content, and the sum of their checksums: no matter who checked what. The first thread's verdict,
 * and the bytes from one thread's to the next one's. */
static inline bool hn_verdicts(const struct hn_verdict *first, size_t apart, unsigned threads, uint64_t *checksum) {
    bool ok = true;
    *checksum = 0;
    for (unsigned t = 0; t < threads; t++) {
        const struct hn_verdict *one = (const struct hn_verdict *)((const char *)first + t * apart);
        ok = ok && one->ok;
        *checksum += one->checksum;
    }
    return ok;
}

/* What one thread found in its share of keys that were sorted; the checksum is the sum of the mixed keys afterwards. */
struct hn_sorted {
    struct hn_verdict verdict;
    uint64_t before; /* the same sum before sorting, in the thread's share of then */
};

/* Looks whether keys `from` to `to` are in order, the one before them included. */
static inline void hn_verify_sorted(struct hn_sorted *part, const uint32_t *keys, size_t from, size_t to) {
    uint64_t sum = 0;
    bool ok = true;
    for (size_t i = from; i < to; i++) {
        sum += hn_mix(keys[i]);
        ok = ok && (i == 0 || keys[i - 1] <= keys[i]);
    }
    part->verdict.ok = ok;
    part->verdict.checksum = sum;
}

/* Whether all is in order and the keys are those that there were. */
static inline bool hn_all_sorted(const struct hn_sorted *parts, unsigned threads, uint64_t *checksum) {
    uint64_t before = 0;
    for (unsigned t = 0; t < threads; t++)
        before += parts[t].before;
    bool ok = hn_verdicts(&parts[0].verdict, sizeof parts[0], threads, checksum);
    return ok && before == *checksum;
}

/* ---- options ------------------------------------------------------------------------------------------------ */

/* What -s picks; the single options override it. */
struct hn_size {
    size_t n;    /* -n */
    size_t more; /* -b: block, or -i: iterations */
};

struct hn_program {
    const char *summary;
    const char *n_means;       /* help text of -n */
    char more;                 /* letter of the second number, 'b' or 'i' */
    const char *more_means;    /* its help text */
    struct hn_size xs, s, m;
    struct hn_size p;          /* of the paper that the program is from; 0 if it is from none */
    bool expects;              /* has --expect */
};

struct hn_options {
    unsigned threads;
    size_t n, more;
    bool expect;
};

static inline void hn_usage(FILE *to, const struct hn_program *p) {
    fprintf(to, "usage: %s [-s XS|S|M%s] [-p THREADS] [-n N] [-%c N]%s [--pin] [-v] [-h]\n%s\n", program_invocation_short_name,
            p->p.n ? "|P" : "", p->more, p->expects ? " [--expect]" : "", p->summary);
    fprintf(to, "  -s SIZE     XS (n %zu, %c %zu), S (n %zu, %c %zu) or M (n %zu, %c %zu); default XS\n", p->xs.n,
            p->more, p->xs.more, p->s.n, p->more, p->s.more, p->m.n, p->more, p->m.more);
    if (p->p.n)
        fprintf(to, "              P (n %zu, %c %zu) is the paper's\n", p->p.n, p->more, p->p.more);
    fprintf(to, "  -p THREADS  1 to %u, default 2\n  -n N        %s\n  -%c N        %s\n", HN_MAX_THREADS, p->n_means,
            p->more, p->more_means);
    if (p->expects)
        fputs("  --expect    print the reference counts that follow from the algorithm, and do nothing else\n", to);
    fputs("  --pin       each thread stays on a processor of its own\n", to);
    fputs("  -v          name each shared allocation on stderr: name, address, bytes\n  -h          this text\n", to);
}

static inline _Noreturn void hn_misuse(const struct hn_program *p, const char *what) {
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    hn_usage(stderr, p);
    exit(2);
}

static inline size_t hn_number(const struct hn_program *p, const char *text, size_t highest) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value == 0 || value > highest)
        hn_misuse(p, "a number is missing or out of range");
    return (size_t)value;
}

static inline const struct hn_size *hn_size_named(const struct hn_program *p, const char *name) {
    if (!strcmp(name, "XS"))
        return &p->xs;
    if (!strcmp(name, "S"))
        return &p->s;
    if (!strcmp(name, "M"))
        return &p->m;
    if (p->p.n && !strcmp(name, "P"))
        return &p->p;
    hn_misuse(p, p->p.n ? "the size must be XS, S, M or P" : "the size must be XS, S or M");
}

/* Reads the command line; exits with 0 after -h and with 2 on anything wrong. */
static inline struct hn_options hn_parse(const struct hn_program *p, int argc, char **argv) {
    static const struct option with_expect[] = {
        {"expect", no_argument, NULL, 'x'}, {"pin", no_argument, NULL, 'P'}, {NULL, 0, NULL, 0}};
    const char letters[] = {'s', ':', 'p', ':', 'n', ':', p->more, ':', 'v', 'h', '\0'};
    const struct hn_size *size = &p->xs;
    size_t n = 0, more = 0;
    struct hn_options o = {.threads = 2};
    int letter;
    while ((letter = getopt_long(argc, argv, letters, p->expects ? with_expect : with_expect + 1, NULL)) != -1) {
        if (letter == 's')
            size = hn_size_named(p, optarg);
        else if (letter == 'p')
            o.threads = (unsigned)hn_number(p, optarg, HN_MAX_THREADS);
        else if (letter == 'n')
            n = hn_number(p, optarg, (size_t)1 << 40);
        else if (letter == p->more)
            more = hn_number(p, optarg, (size_t)1 << 40);
        else if (letter == 'x')
            o.expect = true;
        else if (letter == 'P')
            hn_pinned = true;
        else if (letter == 'v')
            hn_verbose = true;
        else if (letter == 'h') {
            hn_usage(stdout, p);
            exit(0);
        } else
            hn_misuse(p, "unknown option");
    }
    if (optind != argc)
        hn_misuse(p, "there are no operands");
    o.n = n ? n : size->n;
    o.more = more ? more : size->more;
    return o;
}

/* Prints the result line; the value is the exit status. */
static inline int hn_result(const struct hn_program *p, const struct hn_options *o, bool ok, uint64_t checksum) {
    printf("%s: %s checksum %016" PRIx64 " (n %zu, %c %zu, threads %u)\n", program_invocation_short_name,
           ok ? "verified OK" : "SELF-CHECK FAILED", checksum, o->n, p->more, o->more, o->threads);
    return ok ? 0 : 1;
}

#endif
