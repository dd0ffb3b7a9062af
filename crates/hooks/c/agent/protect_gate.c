/* What may be protected, what is, and who forbids it: everything under one lock, the innermost of all. Whoever holds it
 * touches no memory of the program. */
#ifdef __x86_64__
#include <signal.h>
#include <sys/mman.h>

#include "os.h"
#include "protect.h"

#define AREAS 4096
#define TRIES 10000

struct area {
    uint64_t lo, hi;
};
struct open_page {
    uint64_t lo, hi, since_ns;
};

static struct area areas[AREAS];
static uint32_t area_count;
static uint64_t area_pages;
static struct open_page open_pages[HNAG_OPEN_MOST];
uint32_t hnag_open_count;
uint64_t hnag_epoch;
static uint32_t lock;

void hnag_gate_lock(void) {
    for (unsigned tries = 0; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); tries++)
        if (tries < 100)
            os_pause();
        else
            os(SYS_sched_yield);
}

void hnag_gate_unlock(void) {
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* For callers outside a handler: a signal handler of the program's must not run in between, since it may jump away and
 * leave the lock taken for ever, or need the lock itself. */
static uint64_t hold(void) {
    uint64_t all = ~UINT64_C(0), before = 0;
    os(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    hnag_gate_lock();
    return before;
}

static void let_go(uint64_t before) {
    hnag_gate_unlock();
    os(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
}

/* ---- under the lock ----------------------------------------------------------------------------------------------- */

/* Giving access back joins mappings, so it does not fail for want of them; memory of the kernel may be short for a
 * moment. Memory that is gone altogether stays so. */
static void make_whole(uint32_t i) {
    struct open_page p = open_pages[i];
    for (unsigned n = 0; n < TRIES && os_failed(os(SYS_mprotect, p.lo, p.hi - p.lo, PROT_READ | PROT_WRITE)); n++)
        os(SYS_sched_yield);
    open_pages[i] = open_pages[--hnag_open_count];
    __atomic_fetch_add(&hnag_epoch, 1, __ATOMIC_SEQ_CST);
}

static bool meets(uint64_t lo, uint64_t hi, uint64_t from, uint64_t to) {
    return lo < to && from < hi;
}

static void make_range_whole(uint64_t lo, uint64_t hi) {
    for (uint32_t i = hnag_open_count; i-- > 0;)
        if (meets(open_pages[i].lo, open_pages[i].hi, lo, hi))
            make_whole(i);
}

/* Whether anybody may be in the kernel with a pointer to this. */
static bool forbidden(uint64_t lo, uint64_t hi) {
    uint32_t n = __atomic_load_n(&hnag_slots_used, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < n; i++) {
        const struct hnag_slot *s = &hnag_slots[i];
        if (!__atomic_load_n(&s->tid, __ATOMIC_SEQ_CST))
            continue;
        uint32_t state = __atomic_load_n(&s->state, __ATOMIC_SEQ_CST);
        if (state == HNAG_OUT || state == HNAG_ZOMBIE)
            continue;
        if (state != HNAG_IN)
            return true;
        for (unsigned j = 0; j < s->reaches; j++)
            if (meets(lo, hi, s->reach[j].lo, s->reach[j].hi))
                return true;
    }
    return false;
}

static void forget(uint64_t lo, uint64_t hi) {
    for (uint32_t i = area_count; i-- > 0;) {
        if (!meets(areas[i].lo, areas[i].hi, lo, hi))
            continue;
        make_range_whole(areas[i].lo, areas[i].hi);
        area_pages -= (areas[i].hi - areas[i].lo) / HNAG_PAGE;
        areas[i] = areas[--area_count];
    }
}

static bool choose(uint64_t random, struct open_page *out) {
    if (!area_pages)
        return false;
    uint64_t page = random % area_pages;
    for (uint32_t i = 0; i < area_count; i++) {
        uint64_t pages = (areas[i].hi - areas[i].lo) / HNAG_PAGE;
        if (page < pages) {
            out->lo = areas[i].lo + page * HNAG_PAGE;
            out->hi = out->lo + HNAG_PAGE;
            return true;
        }
        page -= pages;
    }
    return false;
}

/* ---- areas -------------------------------------------------------------------------------------------------------- */

/* Only whole pages: the first and the last one may be shared with what the allocator keeps. */
void hnag_area_add(uint64_t lo, uint64_t hi) {
    lo = (lo + HNAG_PAGE - 1) & ~(HNAG_PAGE - 1);
    hi &= ~(HNAG_PAGE - 1);
    if (lo >= hi)
        return;
    uint64_t before = hold();
    forget(lo, hi); /* it was given back in a way that nobody saw */
    if (area_count < AREAS) {
        areas[area_count++] = (struct area){lo, hi};
        area_pages += (hi - lo) / HNAG_PAGE;
    }
    let_go(before);
}

/* Areas that meet this range are whole and left alone from now on. */
void hnag_area_forget(uint64_t lo, uint64_t hi) {
    uint64_t before = hold();
    forget(lo, hi);
    let_go(before);
}

/* ---- pages -------------------------------------------------------------------------------------------------------- */

/* Makes the page of an access whole; false if it was not protected. */
bool hnag_gate_hit(uint64_t addr) {
    bool hit = false;
    hnag_gate_lock();
    for (uint32_t i = 0; i < hnag_open_count && !hit; i++)
        if (addr - open_pages[i].lo < open_pages[i].hi - open_pages[i].lo) {
            make_whole(i);
            hit = true;
        }
    hnag_gate_unlock();
    return hit;
}

/* Protects a page chosen by a random number, unless that is forbidden. */
bool hnag_gate_open(uint64_t random, uint64_t now_ns) {
    struct open_page p = {0, 0, now_ns};
    bool done = false;
    hnag_gate_lock();
    if (!hnag_protect_over && hnag_open_count < HNAG_OPEN_MOST && choose(random, &p) && !forbidden(p.lo, p.hi)) {
        bool twice = false;
        for (uint32_t i = 0; i < hnag_open_count; i++)
            twice |= open_pages[i].lo == p.lo;
        if (!twice && !os_failed(os(SYS_mprotect, p.lo, p.hi - p.lo, PROT_NONE))) {
            open_pages[hnag_open_count++] = p;
            __atomic_fetch_add(&hnag_epoch, 1, __ATOMIC_SEQ_CST);
            done = true;
        }
    }
    hnag_gate_unlock();
    return done;
}

/* Pages that nobody has touched for long make room for others. */
void hnag_gate_expire(uint64_t before_ns) {
    hnag_gate_lock();
    for (uint32_t i = hnag_open_count; i-- > 0;)
        if (open_pages[i].since_ns < before_ns) {
            make_whole(i);
            hnag_shared->expired++;
        }
    hnag_gate_unlock();
}

void hnag_gate_close_all(void) {
    uint64_t before = hold();
    while (hnag_open_count)
        make_whole(hnag_open_count - 1);
    let_go(before);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

/* A handler of the program's that runs while its thread is in a call, and makes another one, may reach everything: the
 * ranges of the outer call must stay. */
static void publish(struct hnag_slot *s, const struct hnag_reach *r, unsigned n, uint32_t before) {
    if (!r || (before != HNAG_OUT && before != HNAG_UNTRACKED)) {
        __atomic_store_n(&s->state, HNAG_ALL, __ATOMIC_SEQ_CST);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        s->reach[i] = r[i];
    s->reaches = (uint8_t)n;
    __atomic_store_n(&s->state, HNAG_IN, __ATOMIC_SEQ_CST);
}

/* The kernel's use of a page is the thread's. */
static void close_used(const struct hnag_slot *s, const struct hnag_reach *r, uint64_t ip, bool write) {
    for (uint32_t i = hnag_open_count; i-- > 0;) {
        struct open_page p = open_pages[i];
        if (!meets(p.lo, p.hi, r->lo, r->hi))
            continue;
        make_whole(i);
        hnag_put_sample(r->lo > p.lo ? r->lo : p.lo, ip, s->tid, write);
    }
}

uint32_t hnag_enter_kernel(struct hnag_slot *s, const struct hnag_reach *r, unsigned n, uint64_t ip, unsigned writes) {
    hnag_gate_lock();
    uint32_t before = s->state;
    if (before == HNAG_UNTRACKED)
        before = HNAG_OUT;
    publish(s, r, n, before);
    if (s->state == HNAG_ALL)
        make_range_whole(0, UINT64_MAX);
    else
        for (unsigned i = 0; i < n && hnag_open_count; i++)
            close_used(s, &r[i], ip, writes >> i & 1);
    hnag_gate_unlock();
    return before;
}

void hnag_enter_state(struct hnag_slot *s, enum hnag_state state) {
    uint64_t before = hold();
    __atomic_store_n(&s->state, state, __ATOMIC_SEQ_CST);
    if (state != HNAG_OUT && state != HNAG_ZOMBIE)
        make_range_whole(0, UINT64_MAX);
    let_go(before);
}
#endif
