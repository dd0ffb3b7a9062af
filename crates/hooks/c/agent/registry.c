/* Big allocations that are alive, by address. A filter in front of it, one counter for many addresses, answers nearly
 * every free without a look. */
#include <sys/mman.h>

#include "os.h"
#include "agent.h"

uint16_t hnag_filter[1u << HNAG_FILTER_BITS];

#define SHARDS 64
static struct shard {
    _Alignas(64) uint32_t lock;
    uint32_t used, room; /* room is a power of two */
    struct hnag_object *slots; /* addr 0: free */
} shards[SHARDS];

static uint64_t mix(uint64_t addr) {
    return addr * UINT64_C(0x9E3779B97F4A7C15);
}

static struct shard *shard_of(uint64_t addr) {
    return &shards[mix(addr) >> 58];
}

static void lock(struct shard *s) {
    while (__atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE))
        os(SYS_sched_yield);
}

static void unlock(struct shard *s) {
    __atomic_store_n(&s->lock, 0, __ATOMIC_RELEASE);
}

/* Around a fork, so that the child finds every shard whole. */
void hnag_registry_lock(void) {
    for (unsigned i = 0; i < SHARDS; i++)
        lock(&shards[i]);
}

void hnag_registry_unlock(void) {
    for (unsigned i = 0; i < SHARDS; i++)
        unlock(&shards[i]);
}

static void count(uint64_t addr, uint16_t by) {
    __atomic_fetch_add(&hnag_filter[mix(addr) >> (64 - HNAG_FILTER_BITS)], by, __ATOMIC_RELAXED);
}

/* ---- open addressing --------------------------------------------------------------------------------------------- */

static uint32_t home_of(uint64_t addr, uint32_t room) {
    return (uint32_t)(mix(addr) >> 20) & (room - 1);
}

static struct hnag_object *slot_of(const struct shard *s, uint64_t addr) {
    if (!s->room)
        return NULL;
    uint32_t at = home_of(addr, s->room);
    while (s->slots[at].addr && s->slots[at].addr != addr)
        at = (at + 1) & (s->room - 1);
    return &s->slots[at];
}

static bool grow(struct shard *s) {
    uint32_t room = s->room ? 2 * s->room : 64;
    long at = os(SYS_mmap, 0, room * sizeof *s->slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (os_failed(at))
        return false;
    struct shard old = *s;
    s->slots = (struct hnag_object *)at;
    s->room = room;
    for (uint32_t i = 0; i < old.room; i++)
        if (old.slots[i].addr)
            *slot_of(s, old.slots[i].addr) = old.slots[i];
    if (old.room)
        os(SYS_munmap, old.slots, old.room * sizeof *old.slots);
    return true;
}

/* Closes the gap, so that every object can still be reached from its home. */
static void remove_slot(struct shard *s, uint32_t gap) {
    for (uint32_t i = gap;;) {
        i = (i + 1) & (s->room - 1);
        if (!s->slots[i].addr)
            break;
        uint32_t home = home_of(s->slots[i].addr, s->room);
        if (((i - home) & (s->room - 1)) >= ((i - gap) & (s->room - 1))) {
            s->slots[gap] = s->slots[i];
            gap = i;
        }
    }
    s->slots[gap].addr = 0;
    s->used--;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

void hnag_registry_add(const struct hnag_object *o) {
    struct shard *s = shard_of(o->addr);
    lock(s);
    if (2 * (s->used + 1) <= s->room || grow(s)) {
        struct hnag_object *slot = slot_of(s, o->addr);
        if (!slot->addr) {
            s->used++;
            count(o->addr, 1);
        }
        *slot = *o;
    }
    unlock(s);
}

bool hnag_registry_get(const void *p, struct hnag_object *out) {
    if (!hnag_maybe(p))
        return false;
    struct shard *s = shard_of((uintptr_t)p);
    lock(s);
    struct hnag_object *slot = slot_of(s, (uintptr_t)p);
    bool found = slot && slot->addr;
    if (found)
        *out = *slot;
    unlock(s);
    return found;
}

bool hnag_registry_take(const void *p, struct hnag_object *out) {
    if (!p || !hnag_maybe(p))
        return false;
    struct shard *s = shard_of((uintptr_t)p);
    lock(s);
    struct hnag_object *slot = slot_of(s, (uintptr_t)p);
    bool found = slot && slot->addr;
    if (found) {
        *out = *slot;
        remove_slot(s, (uint32_t)(slot - s->slots));
        count((uintptr_t)p, UINT16_MAX);
    }
    unlock(s);
    return found;
}

/* Visits all, one shard at a time under its lock: `visit` may neither allocate nor come back here. */
void hnag_registry_each(void (*visit)(const struct hnag_object *o, void *context), void *context) {
    for (unsigned i = 0; i < SHARDS; i++) {
        lock(&shards[i]);
        for (uint32_t j = 0; j < shards[i].room; j++)
            if (shards[i].slots[j].addr)
                visit(&shards[i].slots[j], context);
        unlock(&shards[i]);
    }
}
