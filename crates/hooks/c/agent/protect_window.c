/* The thread that protects pages. It is made by clone(2) alone, so that the C library does not count it among the
 * program's, and it has no thread-local storage of its own: nothing here may use any. Nor does it share the program's table of
 * descriptors: a number that it had open for a moment would be missing where the program closes one and opens the next, and a
 * program's dup2 onto it would be closed with it. */
#ifdef __x86_64__
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "os.h"
#include "plan.h"
#include "protect.h"

#define STACK_BYTES 65536
#define TICK_NS 5000000
#define IDLE_NS 25000000
#define AGE_NS UINT64_C(500000000)
#define AGE_FULL_NS UINT64_C(100000000)
#define OPEN_NS 3000       /* protecting a page, besides this thread's own time: other processors are interrupted */
#define AT_ONCE 32
#define CREDIT_NS 4000000
#define SPARE_MAPS 1000
#define LOOK_EVERY 200     /* ticks */
#define DEBT_NS 50000000 /* when seeing the program's calls has cost so much more than allowed, it ends */

static uint32_t window_tid;

struct budget {
    int64_t credit_ns;
    uint64_t cpu_ns, spent_ns, own_ns, ticks, random, now_ns;
    double samples; /* that the recorder's rate allows */
    bool crowded;   /* hardly any mappings left */
};

uint64_t hnag_now_ns(long clock) {
    struct timespec t = {0};
    os(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(struct budget *b) {
    b->random ^= b->random << 13;
    b->random ^= b->random >> 7;
    b->random ^= b->random << 17;
    return b->random;
}

/* What the program's processor time allows, less what sampling has cost. Returns the program's time since last time. */
static uint64_t account(struct budget *b) {
    struct hnag_shared *h = hnag_shared;
    uint64_t now = hnag_now_ns(CLOCK_MONOTONIC), cpu = hnag_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t own = hnag_now_ns(CLOCK_THREAD_CPUTIME_ID), spent = __atomic_load_n(&h->spent_ns, __ATOMIC_RELAXED);
    uint64_t used = cpu - b->cpu_ns, paid = spent - b->spent_ns + own - b->own_ns;
    b->credit_ns += (int64_t)(used * h->permille / 1000) - (int64_t)paid;
    if (b->credit_ns > CREDIT_NS)
        b->credit_ns = CREDIT_NS;
    b->samples += (double)h->most_per_second * (double)(now - b->now_ns) * 1e-9;
    if (b->samples > AT_ONCE)
        b->samples = AT_ONCE;
    __atomic_fetch_add(&h->spent_ns, own - b->own_ns, __ATOMIC_RELAXED);
    b->spent_ns = spent + own - b->own_ns;
    b->cpu_ns = cpu;
    b->own_ns = own;
    b->now_ns = now;
    return used;
}

static void open_pages(struct budget *b) {
    struct hnag_shared *h = hnag_shared;
    int64_t each = (int64_t)h->fault_ns + OPEN_NS;
    for (unsigned i = 0; i < AT_ONCE && b->credit_ns > (int64_t)i * each && b->samples >= 1.0; i++) {
        if (!hnag_gate_open(next_random(b), b->now_ns))
            continue;
        b->samples -= 1.0;
        h->opened++;
        __atomic_fetch_add(&h->spent_ns, OPEN_NS, __ATOMIC_RELAXED);
    }
}

static void look_around(struct budget *b) {
    uint64_t most = hnag_read_number("/proc/sys/vm/max_map_count", 65530), maps = hnag_maps_each(NULL, NULL);
    b->crowded = maps == 0 || maps + 2 * HNAG_OPEN_MOST + SPARE_MAPS > most;
    if (b->crowded)
        hnag_shared->why_not = WHY_MAPPINGS;
}

static bool stopped(const struct budget *b) {
    if (hnag_protect_over || hnag_shared->stop || hnrt_stopped())
        return true;
    return b->ticks % LOOK_EVERY == 0 && !hnrt_recorder_alive();
}

/* One tick; how long to sleep. */
static long tick(struct budget *b) {
    uint64_t used = account(b);
    bool rich = b->credit_ns > 0;
    if (b->ticks % LOOK_EVERY == 0)
        look_around(b);
    hnag_threads_look();
    if (hnag_open_count)
        hnag_gate_expire(b->now_ns - (hnag_open_count == HNAG_OPEN_MOST ? AGE_FULL_NS : AGE_NS));
    if (rich && !b->crowded && hnag_threads_known())
        open_pages(b);
    return used < TICK_NS / 10 ? IDLE_NS : TICK_NS;
}

__attribute__((used, visibility("hidden"))) _Noreturn void hnag_window_main(void) {
    struct budget b = {.random = os_stamp() | 1, .now_ns = hnag_now_ns(CLOCK_MONOTONIC)};
    os(SYS_prctl, PR_SET_NAME, "homenode");
    hnrt_close_descriptors();
    b.cpu_ns = hnag_now_ns(CLOCK_PROCESS_CPUTIME_ID);
    b.spent_ns = __atomic_load_n(&hnag_shared->spent_ns, __ATOMIC_RELAXED);
    for (; !stopped(&b) && b.credit_ns > -DEBT_NS; b.ticks++) {
        struct timespec t = {0, tick(&b)};
        os(SYS_nanosleep, &t, 0);
    }
    hnag_protect_end(b.credit_ns > -DEBT_NS ? WHY_OK : WHY_CALLS);
    for (;;)
        os(SYS_exit, 0);
}

static long clone_window(uint8_t *top) {
    register uint32_t *cleared __asm__("r10") = &window_tid;
    register long storage __asm__("r8") = 0;
    long result, flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                         CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    __asm__ volatile("syscall\n"
                     "  testl %%eax, %%eax\n"
                     "  jnz 1f\n"
                     "  xorl %%ebp, %%ebp\n"
                     "  call hnag_window_main\n"
                     "  ud2\n"
                     "1:\n"
                     : "=a"(result)
                     : "a"((long)SYS_clone), "D"(flags), "S"(top), "d"(&window_tid), "r"(cleared), "r"(storage)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

/* All signals stay blocked in it: those of the program are for the program's threads. */
bool hnag_window_start(void) {
    uint64_t all = UINT64_MAX, before = 0;
    long at = os(SYS_mmap, 0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_failed(at))
        return false;
    os(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    long tid = clone_window((uint8_t *)at + STACK_BYTES);
    os(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
    return !os_failed(tid);
}

/* Waits until it is gone, unless it is the caller. */
void hnag_window_end(void) {
    uint32_t tid;
    while ((tid = __atomic_load_n(&window_tid, __ATOMIC_SEQ_CST)) != 0 && tid != (uint32_t)os(SYS_gettid)) {
        struct timespec t = {0, 1000000};
        os(SYS_nanosleep, &t, 0);
    }
}
#endif
