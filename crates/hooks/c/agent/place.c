/* From ranges with homes to calls of mbind. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "os.h"
#include "plan.h"

struct hnag_counts hnag_counts;

static unsigned long one_node = MPOL_PREFERRED; /* mode for homes of one node */
static bool huge;                               /* pages come as 2 MiB whenever they can */
static uint64_t mappings, mappings_most;        /* an estimate that is renewed before it is believed */

/* ---- what the kernel offers -------------------------------------------------------------------------------------- */

static bool huge_by_default(void) {
    char text[64];
    long fd = os(SYS_openat, AT_FDCWD, "/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC, 0);
    long got = os_failed(fd) ? 0 : os(SYS_read, fd, text, sizeof text);
    if (!os_failed(fd))
        os(SYS_close, fd);
    return got > 2 && text[0] == '[' && text[1] == 'a';
}

/* Whether one page of ours can be given this mode. */
static bool mode_works(unsigned long mode) {
    unsigned long nodes[HN_PLAN_NODES / 64] = {0};
    os(SYS_get_mempolicy, 0, nodes, HN_PLAN_NODES + 1, 0, 1 << 2 /* MPOL_F_MEMS_ALLOWED */);
    unsigned first = 0;
    while (first < HN_PLAN_NODES - 1 && !(nodes[first / 64] >> first % 64 & 1))
        first++;
    unsigned long one[HN_PLAN_NODES / 64] = {0};
    one[first / 64] = 1ul << first % 64;
    long page = os(SYS_mmap, 0, HNAG_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_failed(page))
        return false;
    long result = os(SYS_mbind, page, HNAG_PAGE, mode, one, HN_PLAN_NODES + 1, 0);
    os(SYS_munmap, page, HNAG_PAGE);
    return !os_failed(result);
}

/* Pages under an explicit policy take no more hinting faults unless the mode asks for them, which is worth their cost
 * only while somebody records. */
static unsigned long choose_mode(bool bind) {
    enum { NUMA_BALANCING = 1 << 13, PREFERRED_MANY = 5 };
    unsigned long watched = (bind ? MPOL_BIND : PREFERRED_MANY) | NUMA_BALANCING;
    if (hnrt_attached && mode_works(watched))
        return watched;
    return bind ? MPOL_BIND : MPOL_PREFERRED;
}

static bool equal(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

void hnag_place_init(void) {
    const char *policy = getenv("HOMENODE_AGENT_POLICY");
    bool bind = policy && equal(policy, "bind");
    if (policy && *policy && !bind && !equal(policy, "preferred"))
        hnrt_complain("HOMENODE_AGENT_POLICY is neither preferred nor bind: taken as preferred");
    one_node = choose_mode(bind);
    huge = huge_by_default();
    mappings_most = hnag_read_number("/proc/sys/vm/max_map_count", 65530);
    mappings = hnag_maps_each(NULL, NULL);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Every call may cut two mappings in two. A program that runs out of mappings fails in its own calls, so an eighth of
 * them is left to it. */
static bool mappings_left(void) {
    uint64_t most = mappings_most - mappings_most / 8, n = __atomic_add_fetch(&mappings, 2, __ATOMIC_RELAXED);
    if (LIKELY(n <= most))
        return true;
    static uint32_t since;
    if (__atomic_fetch_add(&since, 1, __ATOMIC_RELAXED) % 256 == 0)
        __atomic_store_n(&mappings, n = hnag_maps_each(NULL, NULL), __ATOMIC_RELAXED);
    if (n <= most)
        return true;
    static uint32_t said;
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        hnrt_complain("nearly as many mappings as vm.max_map_count allows: placing nothing more; raise it, or use a "
                      "plan with fewer ranges");
    return false;
}

static bool at_home(const struct hnag_home *h, uint64_t page) {
    enum { NODE_OF_PAGE = 1 | 2 }; /* MPOL_F_NODE, MPOL_F_ADDR */
    int node = -1;
    long result = os(SYS_get_mempolicy, &node, 0, 0, page, NODE_OF_PAGE);
    return !os_failed(result) && node >= 0 && node < (int)HN_PLAN_NODES && (h->nodes[node / 64] >> node % 64 & 1);
}

/* What has to be moved: from the first page that is there to the last one. Nothing, if those are few and at home. */
static bool pages_to_move(const struct hnag_home *h, uint64_t *lo, uint64_t *hi) {
    enum { CHUNK = 1024, FEW = 8 };
    uint8_t there[CHUNK];
    uint64_t first = 0, last = 0, end = *hi, few = 0;
    bool move = false;
    for (uint64_t at = *lo; at < end; at += CHUNK * HNAG_PAGE) {
        uint64_t bytes = end - at < CHUNK * HNAG_PAGE ? end - at : CHUNK * HNAG_PAGE;
        if (os_failed(os(SYS_mincore, at, bytes, there)))
            return true;
        for (uint64_t i = 0; i < bytes / HNAG_PAGE; i++) {
            if (!(there[i] & 1))
                continue;
            last = at + i * HNAG_PAGE;
            first = first ? first : last;
            move |= ++few > FEW || !at_home(h, last);
        }
    }
    *lo = first;
    *hi = last + HNAG_PAGE;
    return move;
}

/* Gives whole pages their home; 0 or a negative error number. Moving makes the kernel wait for all processors (half a
 * millisecond here), even if nothing moves, so it is asked only for what has been touched. */
long hnag_place_pages(uint64_t lo, uint64_t hi, uint32_t home) {
    const struct hnag_home *h = &hnag_plan.homes[home];
    if (!mappings_left()) {
        __atomic_fetch_add(&hnag_counts.refused, 1, __ATOMIC_RELAXED);
        return -ENOSPC;
    }
    unsigned long mode = h->interleave ? MPOL_INTERLEAVE : one_node;
    long result = os(SYS_mbind, lo, hi - lo, mode, h->nodes, HN_PLAN_NODES + 1, 0);
    __atomic_fetch_add(&hnag_counts.calls, 1, __ATOMIC_RELAXED);
    if (os_failed(result)) {
        __atomic_fetch_add(&hnag_counts.errors, 1, __ATOMIC_RELAXED);
        return result;
    }
    __atomic_fetch_add(&hnag_counts.bytes, hi - lo, __ATOMIC_RELAXED);
    if (pages_to_move(h, &lo, &hi)) {
        os(SYS_mbind, lo, hi - lo, mode, h->nodes, HN_PLAN_NODES + 1, MPOL_MF_MOVE);
        __atomic_fetch_add(&hnag_counts.calls, 1, __ATOMIC_RELAXED);
    }
    return 0;
}

/* Takes our policy away, before the memory goes back to an allocator that will use it for something else. */
void hnag_unplace(uint64_t addr, uint64_t bytes) {
    uint64_t lo = addr & ~(HNAG_PAGE - 1), hi = (addr + bytes + HNAG_PAGE - 1) & ~(HNAG_PAGE - 1);
    os(SYS_mbind, lo, hi - lo, MPOL_DEFAULT, 0, 0, 0);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void credit(uint32_t from, uint32_t to, long result) {
    for (uint32_t i = from; i <= to; i++) {
        struct hnag_progress *state = &hnag_plan.progress[i];
        if (result < 0)
            __atomic_store_n(&state->error, (uint32_t)-result, __ATOMIC_RELAXED);
        uint32_t outcome = result < 0 ? OUT_FAILED : OUT_MATCHED;
        if (__atomic_load_n(&state->outcome, __ATOMIC_RELAXED) < outcome)
            __atomic_store_n(&state->outcome, outcome, __ATOMIC_RELAXED);
    }
}

static void finish_run(struct hnag_placing *p) {
    if (p->run.lo < p->run.hi) {
        long result = hnag_place_pages(p->run.lo, p->run.hi, p->run.home);
        credit(p->run.item, p->last, result);
        p->any_call |= result == 0;
    }
    p->run.lo = p->run.hi = 0;
}

static void emit(struct hnag_placing *p, uint64_t lo, uint64_t hi, uint32_t home, uint32_t item) {
    if (p->run.hi != lo || p->run.home != home || p->run.lo == p->run.hi) {
        finish_run(p);
        p->run = (struct hnag_range){lo, hi, home, item};
    }
    p->run.hi = hi;
    p->last = item;
    __atomic_fetch_add(&hnag_plan.progress[item].placed, hi - lo, __ATOMIC_RELAXED);
}

/* ---- pages that several ranges share ----------------------------------------------------------------------------- */

static void finish_page(struct hnag_placing *p) {
    unsigned best = 0;
    for (unsigned i = 1; i < p->sharers; i++)
        if (p->share[i].bytes > p->share[best].bytes)
            best = i;
    if (p->sharers)
        emit(p, p->page, p->page + HNAG_PAGE, p->share[best].home, p->share[best].item);
    p->sharers = 0;
}

static void add_share(struct hnag_placing *p, uint64_t page, uint64_t bytes, uint32_t home, uint32_t item) {
    if (p->page != page)
        finish_page(p);
    p->page = page;
    unsigned i = 0;
    while (i < p->sharers && p->share[i].home != home)
        i++;
    if (i == sizeof p->share / sizeof *p->share)
        return;
    if (i == p->sharers) {
        p->share[i].home = home;
        p->share[i].bytes = 0;
        p->sharers++;
    }
    p->share[i].item = item;
    p->share[i].bytes += bytes;
    credit(item, item, 0);
}

static void cut(struct hnag_placing *p, const struct hnag_range *r) {
    uint64_t at = r->lo, whole = (r->lo + HNAG_PAGE - 1) & ~(HNAG_PAGE - 1), end = r->hi & ~(HNAG_PAGE - 1);
    if (at < whole) {
        uint64_t stop = r->hi < whole ? r->hi : whole;
        add_share(p, whole - HNAG_PAGE, stop - at, r->home, r->item);
        at = stop;
    }
    if (at < end) {
        finish_page(p);
        emit(p, at, end, r->home, r->item);
        at = end;
    }
    if (at < r->hi)
        add_share(p, end, r->hi - at, r->home, r->item);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

void hnag_placing_begin(struct hnag_placing *p) {
    *p = (struct hnag_placing){.page = UINT64_MAX};
}

/* A boundary within a huge page costs the huge page, and objects do not lie on huge pages as they did when the plan was
 * made. Between two ranges that are themselves huge, a boundary that is nearly at a huge page moves there; further off,
 * the plan means it, as half a huge page on the wrong node costs more than the huge page gains. */
static void settle_boundary(struct hnag_range *a, struct hnag_range *b) {
    enum { NEARLY = 65536 };
    if (!huge || a->hi != b->lo || a->home == b->home || a->hi - a->lo < HNAG_HUGE || b->hi - b->lo < HNAG_HUGE)
        return;
    uint64_t to = (a->hi + HNAG_HUGE / 2) & ~(HNAG_HUGE - 1);
    uint64_t shift = to > a->hi ? to - a->hi : a->hi - to;
    if (shift <= NEARLY)
        a->hi = b->lo = to;
}

void hnag_placing_add(struct hnag_placing *p, const struct hnag_range *r) {
    struct hnag_range given = *r;
    settle_boundary(&p->next, &given);
    if (p->next.lo < p->next.hi)
        cut(p, &p->next);
    p->next = given;
}

/* True if anything was placed. */
bool hnag_placing_end(struct hnag_placing *p) {
    if (p->next.lo < p->next.hi)
        cut(p, &p->next);
    finish_page(p);
    finish_run(p);
    return p->any_call;
}
