/* Knows every byte that it wrote and looks again and again, while somebody else moves its pages.
 *
 *   pattern [-c] [-p THREADS] SECONDS MIB
 *
 * Memory of five kinds: global, heap, mapped, mapped with huge pages, shared. Its pages are dealt out to the threads; each
 * thread takes its pages in a scattered order, compares all 512 words with what it wrote last, and writes the next
 * generation. Besides, each thread keeps a block on its stack, and all add to common counters by atomic instructions: no
 * addition may be lost. It ends after SECONDS or by SIGTERM. With -c it spoils one bit after a second: then it has to fail. */
#include "tool.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define USAGE "[-c] [-p THREADS] SECONDS MIB"
#define WORDS (PAGE / sizeof(uint64_t))
#define THREADS_MAX 64
#define STACK_WORDS (16 * WORDS)
#define COUNTERS 4096

enum { GLOBAL, HEAP, MAPPED, HUGE, SHARED, KINDS };
static const char *const kind_name[KINDS] = {"global", "heap", "mapped", "huge", "shared"};

static _Alignas(PAGE) uint64_t global_pages[1024][WORDS]; /* 4 MiB */
static uint64_t *base[KINDS];
static size_t pages_of[KINDS], pages_all;
static uint32_t *generation; /* of every page, touched by its thread only */
static _Atomic uint64_t *counters;
static atomic_bool stop, wrong, spoil;
static unsigned threads = 4;

struct worker {
    _Alignas(128) pthread_t handle;
    unsigned index;
    uint64_t verified, added;
};

static uint64_t *page_at(size_t page, const char **name, size_t *within) {
    int kind = 0;
    for (; page >= pages_of[kind]; kind++)
        page -= pages_of[kind];
    *name = kind_name[kind];
    *within = page;
    return base[kind] + page * WORDS;
}

static uint64_t word(size_t page, uint32_t gen, size_t i) {
    return mix((uint64_t)page << 40 ^ (uint64_t)gen << 10 ^ i);
}

static void complain(const char *kind, size_t page, size_t i, uint64_t is, uint64_t should) {
    if (atomic_exchange(&wrong, true))
        return;
    printf("pattern: WRONG %s page %zu word %zu: is %016" PRIx64 ", should be %016" PRIx64 "\n", kind, page, i, is, should);
    fflush(stdout);
    atomic_store(&stop, true);
}

static void check_and_rewrite(size_t page) {
    const char *name;
    size_t within;
    uint64_t *at = page_at(page, &name, &within);
    uint32_t gen = generation[page]++;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t should = word(page, gen, i), is = ((volatile uint64_t *)at)[i];
        if (is != should)
            complain(name, within, i, is, should);
        at[i] = word(page, gen + 1, i);
    }
}

static void check_stack(volatile uint64_t *block, uint64_t round, unsigned index) {
    for (size_t i = 0; i < STACK_WORDS; i++) {
        if (round && block[i] != mix(round - 1) + i)
            complain("stack", index, i, block[i], mix(round - 1) + i);
        block[i] = mix(round) + i;
    }
}

static void *work(void *argument) {
    struct worker *w = argument;
    uint64_t block[STACK_WORDS];
    size_t mine = (pages_all - w->index + threads - 1) / threads;
    /* Visits every page once a round in a scattered order: steps of a number that divides no size used here. */
    size_t step = 7919 % mine ? 7919 : 1;
    for (uint64_t round = 0; !atomic_load(&stop); round++) {
        check_stack(block, round, w->index);
        for (size_t i = 0; i < mine && !atomic_load_explicit(&stop, memory_order_relaxed); i++) {
            check_and_rewrite(w->index + threads * ((i * step + round) % mine));
            atomic_fetch_add(&counters[mix(w->added++) % COUNTERS], 1);
            w->verified++;
        }
        if (w->index == 0 && atomic_exchange(&spoil, false))
            base[MAPPED][17] ^= 1;
    }
    return NULL;
}

static uint64_t *map(size_t bytes, int sharing) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        die("mmap");
    return p;
}

static void allocate(size_t bytes) {
    size_t huge = (size_t)2 << 20, each = bytes / KINDS / huge * huge + huge;
    base[GLOBAL] = &global_pages[0][0];
    pages_of[GLOBAL] = sizeof global_pages / PAGE;
    base[HEAP] = need(aligned_alloc(PAGE, each));
    base[MAPPED] = map(each, MAP_PRIVATE);
    madvise(base[MAPPED], each, MADV_NOHUGEPAGE);
    uintptr_t at = (uintptr_t)map(each + huge, MAP_PRIVATE);
    base[HUGE] = (uint64_t *)((at + huge - 1) & ~(huge - 1));
    madvise(base[HUGE], each, MADV_HUGEPAGE);
    base[SHARED] = map(each, MAP_SHARED);
    for (int kind = HEAP; kind < KINDS; kind++)
        pages_of[kind] = each / PAGE;
    for (int kind = 0; kind < KINDS; kind++)
        pages_all += pages_of[kind];
    generation = need(calloc(pages_all, sizeof *generation));
    counters = need(calloc(COUNTERS, sizeof *counters));
    for (size_t page = 0; page < pages_all; page++) {
        const char *name;
        size_t within;
        uint64_t *words = page_at(page, &name, &within);
        for (size_t i = 0; i < WORDS; i++)
            words[i] = word(page, 0, i);
    }
}

static void on_term(int signal) {
    (void)signal;
    atomic_store(&stop, true);
}

static void counters_agree(uint64_t added) {
    uint64_t counted = 0;
    for (size_t i = 0; i < COUNTERS; i++)
        counted += atomic_load(&counters[i]);
    if (counted != added)
        complain("counters", 0, 0, counted, added);
}

int main(int argc, char **argv) {
    static struct worker workers[THREADS_MAX];
    bool corrupt = false;
    for (int option; (option = getopt(argc, argv, "cp:")) != -1;) {
        if (option == 'c')
            corrupt = true;
        else if (option != 'p' || !(threads = (unsigned)number(optarg, USAGE)) || threads > THREADS_MAX)
            misuse(USAGE);
    }
    if (argc - optind != 2)
        misuse(USAGE);
    double deadline = seconds_now() + (double)number(argv[optind], USAGE), spoil_at = seconds_now() + 1;
    allocate(number(argv[optind + 1], USAGE) << 20);
    signal(SIGTERM, on_term);
    for (int kind = 0; kind < KINDS; kind++)
        printf("area %s 0x%" PRIxPTR " %zu\n", kind_name[kind], (uintptr_t)base[kind], pages_of[kind] * PAGE);
    printf("pattern: begins, %zu pages\n", pages_all);
    fflush(stdout);
    for (unsigned t = 0; t < threads; t++) {
        workers[t].index = t;
        if (pthread_create(&workers[t].handle, NULL, work, &workers[t]))
            die("pthread_create");
    }
    while (!atomic_load(&stop) && seconds_now() < deadline) {
        usleep(50000);
        if (corrupt && seconds_now() > spoil_at) {
            atomic_store(&spoil, true);
            corrupt = false;
        }
    }
    atomic_store(&stop, true);
    uint64_t verified = 0, added = 0;
    for (unsigned t = 0; t < threads; t++) {
        pthread_join(workers[t].handle, NULL);
        verified += workers[t].verified;
        added += workers[t].added;
    }
    counters_agree(added);
    printf("pattern: %s, %" PRIu64 " pages verified by %u threads\n", wrong ? "FAILED" : "OK", verified, threads);
    return wrong ? 1 : 0;
}
