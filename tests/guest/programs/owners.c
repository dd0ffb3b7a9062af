/* A program whose pages all have an owner, and all begin on the wrong node: the first thread touches everything, then each
 * worker uses its own part of global data, heap, mappings, huge pages and stack.
 *
 *   owners [-p WORKERS] [-f FILE] [-t SECONDS] [-c SECONDS] [-i MILLISECONDS] [-u] [-n]
 *
 * -p: one worker a processor by default; -f: where the owners are written, in the form of `struct region` (tool.h), anew at
 * every phase; -t: ends by itself (else by SIGTERM); -c: a new phase so often (else at SIGUSR1): all parts but the stacks
 * go to the next worker; -i: idles so long after each sweep; -u: workers are not pinned; -n: no part in huge pages.
 * It checks its sums at the end: no addition may be lost. */
#include "tool.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define USAGE "[-p WORKERS] [-f FILE] [-t SECONDS] [-c SECONDS] [-i MILLISECONDS] [-u] [-n]"
#define WORKERS_MAX 16
#define LINE 64
#define DATA_PAGES 16
#define BSS_PAGES 128
#define HEAP_PAGES 128
#define SMALL_BYTES 100000 /* below malloc's threshold for mappings of its own */
#define SMALL_BLOCKS 4
#define MAP_PAGES 128
#define HUGE_BYTES ((size_t)2 << 20)
#define STACK_PAGES 16

enum { DATA, BSS, HEAP, SMALL, MAPPED = SMALL + SMALL_BLOCKS, HUGE, KINDS };

static _Alignas(PAGE) unsigned char data_pages[WORKERS_MAX][DATA_PAGES * PAGE] = {{1}};
static _Alignas(PAGE) unsigned char bss_pages[WORKERS_MAX][BSS_PAGES * PAGE];
static struct part {
    const char *name;
    unsigned char *start;
    size_t bytes;
} parts[WORKERS_MAX][KINDS];
static uint64_t uses[WORKERS_MAX]; /* sweeps over a part, by its user of the moment */
static struct worker {
    pthread_t handle;
    unsigned index;
    int tid;
    unsigned char *stack;
} workers[WORKERS_MAX];

static unsigned worker_count, idle_ms;
static int kinds = KINDS;
static bool pinned = true;
static atomic_uint phase;
static atomic_bool stop;
static pthread_barrier_t meeting;

static void use(unsigned char *start, size_t bytes) {
    for (size_t at = 0; at + LINE <= bytes; at += LINE)
        ((volatile unsigned char *)start)[at]++;
}

static void pin(unsigned wanted) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(wanted, &one);
    if (sched_setaffinity(0, sizeof one, &one))
        die("sched_setaffinity");
}

static void *work(void *argument) {
    struct worker *w = argument;
    _Alignas(PAGE) unsigned char stack[STACK_PAGES * PAGE];
    memset(stack, 0, sizeof stack); /* still beside the first thread */
    w->stack = stack;
    w->tid = (int)syscall(SYS_gettid);
    if (pinned)
        pin(w->index);
    for (unsigned now = 0;; now = atomic_load(&phase)) {
        unsigned mine = (w->index + now) % worker_count;
        pthread_barrier_wait(&meeting); /* everybody has read the phase */
        if (atomic_load(&stop))
            break;
        pthread_barrier_wait(&meeting); /* the owners are written */
        do {
            for (int k = 0; k < kinds; k++)
                use(parts[mine][k].start, parts[mine][k].bytes);
            use(stack, sizeof stack);
            uses[mine]++;
            if (idle_ms)
                usleep(idle_ms * 1000);
        } while (atomic_load(&phase) == now && !atomic_load(&stop));
        pthread_barrier_wait(&meeting); /* nobody works any more */
    }
    return NULL;
}

static unsigned char *huge_block(void) {
    unsigned char *p = mmap(NULL, 2 * HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        die("mmap");
    p += -(uintptr_t)p & (HUGE_BYTES - 1);
    madvise(p, HUGE_BYTES, MADV_HUGEPAGE);
    return p;
}

static void allocate(unsigned w) {
    struct part *p = parts[w];
    unsigned char *mapped = mmap(NULL, MAP_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        die("mmap");
    p[DATA] = (struct part){"data", data_pages[w], sizeof data_pages[w]};
    p[BSS] = (struct part){"bss", bss_pages[w], sizeof bss_pages[w]};
    p[HEAP] = (struct part){"heap", need(malloc(HEAP_PAGES * PAGE)), HEAP_PAGES * PAGE};
    for (int i = 0; i < SMALL_BLOCKS; i++)
        p[SMALL + i] = (struct part){"small", need(malloc(SMALL_BYTES)), SMALL_BYTES};
    p[MAPPED] = (struct part){"mapped", mapped, MAP_PAGES * PAGE};
    if (kinds > HUGE)
        p[HUGE] = (struct part){"huge", huge_block(), HUGE_BYTES};
    for (int k = 0; k < kinds; k++)
        memset(p[k].start, 0, p[k].bytes);
}

/* Owners of this phase, put in place in one step. */
static void write_owners(const char *path) {
    char scratch[PATH_MAX];
    if (!path)
        return;
    snprintf(scratch, sizeof scratch, "%s.new", path);
    FILE *f = fopen(scratch, "we");
    if (!f)
        die(scratch);
    for (unsigned w = 0; w < worker_count; w++) {
        const struct part *p = parts[(w + atomic_load(&phase)) % worker_count];
        for (int k = 0; k < kinds; k++)
            fprintf(f, "region %s %" PRIxPTR " %zu %d\n", p[k].name, (uintptr_t)p[k].start, p[k].bytes, workers[w].tid);
        fprintf(f, "region stack %" PRIxPTR " %zu %d\n", (uintptr_t)workers[w].stack, STACK_PAGES * PAGE, workers[w].tid);
    }
    if (fclose(f) || rename(scratch, path))
        die(path);
}

/* Waits for a signal or for the time; true if the program shall end. */
static bool wait_for_news(const sigset_t *signals, double end, double change) {
    double until = end && (!change || end < change) ? end : change;
    for (;;) {
        double left = until - seconds_now();
        struct timespec limit = {(time_t)left, 100000000};
        if (until && left <= 0)
            return until == end;
        int got = until ? sigtimedwait(signals, NULL, &limit) : sigwaitinfo(signals, NULL);
        if (got > 0)
            return got == SIGTERM;
    }
}

static void run(const char *path, double seconds, double change_every) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    for (unsigned w = 0; w < worker_count; w++) {
        workers[w].index = w;
        if (pthread_create(&workers[w].handle, NULL, work, &workers[w]))
            die("pthread_create");
    }
    double end = seconds ? seconds_now() + seconds : 0;
    for (bool last = false;; ) {
        pthread_barrier_wait(&meeting);
        if (last)
            break;
        write_owners(path);
        printf("owners: phase %u\n", atomic_load(&phase));
        fflush(stdout);
        pthread_barrier_wait(&meeting);
        last = wait_for_news(&signals, end, change_every ? seconds_now() + change_every : 0);
        atomic_store(&stop, last);
        atomic_fetch_add(&phase, 1);
        pthread_barrier_wait(&meeting);
    }
    for (unsigned w = 0; w < worker_count; w++)
        pthread_join(workers[w].handle, NULL);
}

static bool sums_agree(void) {
    for (unsigned w = 0; w < worker_count; w++)
        for (int k = 0; k < kinds; k++)
            for (size_t at = 0; at + LINE <= parts[w][k].bytes; at += LINE)
                if (parts[w][k].start[at] != (unsigned char)uses[w])
                    return false;
    return true;
}

int main(int argc, char **argv) {
    const char *path = NULL;
    double seconds = 0, change_every = 0;
    worker_count = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    for (int option; (option = getopt(argc, argv, "p:f:t:c:i:un")) != -1;) {
        if (option == 'p')
            worker_count = (unsigned)number(optarg, USAGE);
        else if (option == 'f')
            path = optarg;
        else if (option == 't')
            seconds = (double)number(optarg, USAGE);
        else if (option == 'c')
            change_every = (double)number(optarg, USAGE);
        else if (option == 'i')
            idle_ms = (unsigned)number(optarg, USAGE);
        else if (option == 'u')
            pinned = false;
        else if (option == 'n')
            kinds = HUGE;
        else
            misuse(USAGE);
    }
    if (optind != argc || !worker_count || worker_count > WORKERS_MAX)
        misuse(USAGE);
    if (pinned)
        pin(0);
    pthread_barrier_init(&meeting, NULL, worker_count + 1);
    for (unsigned w = 0; w < worker_count; w++)
        allocate(w);
    run(path, seconds, change_every);
    bool ok = sums_agree();
    printf("owners: %s after %u phases\n", ok ? "verified OK" : "SELF-CHECK FAILED", atomic_load(&phase));
    return ok ? 0 : 1;
}
