/* A program whose pages change their owners, and which counts itself how many of its accesses were local.
 *
 *   shifting [-n WORKERS] [-p PAGES] [-k b|h|m|a] [-s SECONDS] [-T SECONDS] [-P]
 *
 * The first thread touches everything. In phase k worker t uses part (t + k) modulo WORKERS of each array, without a pause.
 * -p: pages of each part; -k: arrays in global data, heap, a mapping, or all three; -s: a new phase so often (0 = never); -T: ends
 * after so long; -P: workers are pinned. At each sweep a worker notes its node; four times a second it asks the kernel which of its
 * pages are on which node, and counts accordingly the accesses that it has made since then, and the processor time that they took.
 * (They are not the same: a processor that is emulated may be stopped for a while, and one node more often than another.)
 * Every word is checked at the end: no addition may be lost. */
#include "tool.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#define USAGE "[-n WORKERS] [-p PAGES] [-k b|h|m|a] [-s SECONDS] [-T SECONDS] [-P]"
#define WORKERS_MAX 16
#define WORDS (PAGE / sizeof(uint64_t))
#define STEP 8 /* words from one access to the next: one a line */
#define ASKED 512

static _Alignas(PAGE) unsigned char global_pages[32 << 20];
static unsigned char *arrays[3];
static unsigned array_count, worker_count = 4, part_pages = 512, cpus;
static uint64_t *visits; /* of each page of each array */
static volatile unsigned phase;
static volatile bool stop;
static pthread_barrier_t meeting;
static struct {
    _Alignas(128) double all, local, all_s, local_s;
} sums[WORKERS_MAX];

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double now(void) {
    return seconds(CLOCK_MONOTONIC);
}

static unsigned my_node(void) {
    unsigned cpu = 0, node = 0;
    syscall(SYS_getcpu, &cpu, &node, NULL);
    return node % NODES_MAX;
}

static void pin(unsigned cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu % cpus, &one);
    if (sched_setaffinity(0, sizeof one, &one))
        die("sched_setaffinity");
}

static unsigned char *part_of(unsigned array, unsigned part) {
    return arrays[array] + (size_t)part * part_pages * PAGE;
}

/* Adds to `found` how many of a part's pages are on each node, as the kernel says. */
static void count_places(unsigned char *start, unsigned found[NODES_MAX]) {
    void *pages[ASKED];
    int status[ASKED];
    for (unsigned i = 0; i < part_pages; i += ASKED) {
        unsigned count = part_pages - i < ASKED ? part_pages - i : ASKED;
        for (unsigned k = 0; k < count; k++)
            pages[k] = start + (size_t)(i + k) * PAGE;
        if (syscall(SYS_move_pages, 0, (unsigned long)count, pages, NULL, status, 0) < 0)
            die("move_pages");
        for (unsigned k = 0; k < count; k++)
            if (status[k] >= 0 && status[k] < NODES_MAX)
                found[status[k]]++;
    }
}

static void use(unsigned array, unsigned part) {
    unsigned char *start = part_of(array, part);
    for (unsigned i = 0; i < part_pages; i++) {
        uint64_t *words = (uint64_t *)(start + (size_t)i * PAGE);
        for (unsigned k = 0; k < WORDS; k += STEP)
            words[k]++;
        __atomic_fetch_add(&visits[((size_t)array * worker_count + part) * part_pages + i], 1, __ATOMIC_RELAXED);
    }
}

/* What a worker has done since it last asked where its pages are, by the node it ran on. */
struct since {
    double sweeps[NODES_MAX], busy_s[NODES_MAX];
};

/* Adds that to the worker's sums by the places that the pages of its part have now, and begins anew. */
static void account(unsigned me, unsigned part, struct since *since) {
    unsigned found[NODES_MAX] = {0};
    double pages = (double)array_count * part_pages, accesses = pages * (WORDS / STEP);
    for (unsigned a = 0; a < array_count; a++)
        count_places(part_of(a, part), found);
    for (unsigned n = 0; n < NODES_MAX; n++) {
        sums[me].all += since->sweeps[n] * accesses;
        sums[me].local += since->sweeps[n] * accesses * found[n] / pages;
        sums[me].all_s += since->busy_s[n];
        sums[me].local_s += since->busy_s[n] * found[n] / pages;
    }
    *since = (struct since){0};
}

static void *work(void *index) {
    unsigned me = (unsigned)(uintptr_t)index;
    struct since since = {0};
    double asked = now();
    pthread_barrier_wait(&meeting);
    while (!stop) {
        unsigned in = phase, part = (me + in) % worker_count;
        double began_s = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (unsigned a = 0; a < array_count; a++)
            use(a, part);
        unsigned node = my_node();
        since.sweeps[node]++;
        since.busy_s[node] += seconds(CLOCK_THREAD_CPUTIME_ID) - began_s;
        if (now() - asked > 0.25 || in != phase) {
            account(me, part, &since);
            asked = now();
        }
        /* Nobody enters a phase while another is in the one before. */
        if (in != phase)
            pthread_barrier_wait(&meeting);
    }
    return NULL;
}

static void prepare(char kinds) {
    size_t bytes = (size_t)worker_count * part_pages * PAGE;
    if (bytes > sizeof global_pages)
        misuse(USAGE);
    if (kinds == 'b' || kinds == 'a')
        arrays[array_count++] = global_pages;
    if (kinds == 'h' || kinds == 'a')
        arrays[array_count++] = (unsigned char *)(((uintptr_t)malloc(bytes + PAGE) + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    if (kinds == 'm' || kinds == 'a')
        arrays[array_count++] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    visits = calloc((size_t)array_count * worker_count * part_pages, sizeof *visits);
    for (unsigned a = 0; a < array_count; a++)
        for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
            ((uint64_t *)arrays[a])[i] = i;
}

static unsigned long wrong_words(void) {
    unsigned long wrong = 0;
    size_t pages = (size_t)worker_count * part_pages;
    for (unsigned a = 0; a < array_count; a++)
        for (size_t p = 0; p < pages; p++)
            for (size_t k = 0; k < WORDS; k++) {
                uint64_t added = k % STEP ? 0 : visits[a * pages + p];
                wrong += ((uint64_t *)arrays[a])[p * WORDS + k] != p * WORDS + k + added;
            }
    return wrong;
}

int main(int argc, char **argv) {
    double phase_s = 0, total_s = 10;
    bool pinned = false;
    char kinds = 'a';
    for (int o; (o = getopt(argc, argv, "n:p:k:s:T:P")) != -1;)
        switch (o) {
        case 'n': worker_count = (unsigned)number(optarg, USAGE); break;
        case 'p': part_pages = (unsigned)number(optarg, USAGE); break;
        case 'k': kinds = *optarg; break;
        case 's': phase_s = (double)number(optarg, USAGE); break;
        case 'T': total_s = (double)number(optarg, USAGE); break;
        case 'P': pinned = true; break;
        default: misuse(USAGE);
        }
    if (worker_count < 1 || worker_count > WORKERS_MAX || part_pages < 1)
        misuse(USAGE);
    cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t anywhere;
    sched_getaffinity(0, sizeof anywhere, &anywhere);
    if (pinned)
        pin(0);
    prepare(kinds);
    pthread_barrier_init(&meeting, NULL, worker_count);
    pthread_t threads[WORKERS_MAX];
    for (unsigned i = 0; i < worker_count; i++) {
        if (pinned)
            pin(i); /* inherited by the worker that is made now */
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i))
            die("pthread_create");
    }
    sched_setaffinity(0, sizeof anywhere, &anywhere);
    double began = now(), next = began + phase_s;
    while (now() - began < total_s) {
        usleep(200000);
        if (phase_s > 0 && now() >= next) {
            phase++;
            next += phase_s;
        }
    }
    stop = true; /* the phase stays what it is from here on, so nobody waits for who has left */
    double all = 0, local = 0, all_s = 0, local_s = 0;
    for (unsigned i = 0; i < worker_count; i++) {
        pthread_join(threads[i], NULL);
        all += sums[i].all;
        local += sums[i].local;
        all_s += sums[i].all_s;
        local_s += sums[i].local_s;
    }
    unsigned long wrong = wrong_words();
    printf("shifting: local %.2f %% of %.1f M accesses, %.2f %% of their %.1f s, %u phases, %lu wrong words\n",
           all > 0 ? 100 * local / all : 0, all / 1e6, all_s > 0 ? 100 * local_s / all_s : 0, all_s, phase + 1, wrong);
    return wrong ? 1 : 0;
}
