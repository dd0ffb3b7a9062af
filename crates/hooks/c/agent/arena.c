/* Small objects that a plan groups. Every home has an area of its own, bound to its node, which is cut into spans of
 * 64 KiB; a span holds objects of one size, rounded up to 16 bytes. */
#include <sys/mman.h>

#include "../os.h"
#include "../real.h"
#include "plan.h"

#define AREA_BYTES (UINT64_C(16) << 30)
#define AREAS 64
#define SPAN UINT64_C(65536)
#define CLASSES (HNAG_LEAST / 16 + 1)

struct freed {
    struct freed *next;
};

/* Begin of every span. */
struct span {
    uint64_t magic;
    uint32_t object_bytes, area;
    uint8_t pad[48];
};
#define SPAN_MAGIC UINT64_C(0x4e4150534e484148)

static struct area {
    _Alignas(64) uint32_t lock;
    uint32_t home;
    uint64_t begin, used, open; /* bytes handed out as spans, bytes that can be touched */
    struct {
        struct freed *freed;
        uint64_t bump, end; /* what is left of the newest span */
    } of[CLASSES];
} areas[AREAS];
static uint32_t area_count;
static uint64_t areas_begin, areas_bytes; /* all areas, one after the other */
static uint64_t wanted[HNAG_LEAST / 64];  /* sizes that the plan names */

static void lock_area(struct area *a) {
    while (__atomic_exchange_n(&a->lock, 1, __ATOMIC_ACQUIRE))
        os(SYS_sched_yield);
}

static void unlock_area(struct area *a) {
    __atomic_store_n(&a->lock, 0, __ATOMIC_RELEASE);
}

void hnag_arena_lock(void) {
    for (uint32_t i = 0; i < area_count; i++)
        lock_area(&areas[i]);
}

void hnag_arena_unlock(void) {
    for (uint32_t i = 0; i < area_count; i++)
        unlock_area(&areas[i]);
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

static void meet_home(uint32_t home) {
    for (uint32_t i = 0; i < area_count; i++)
        if (areas[i].home == home)
            return;
    if (area_count < AREAS)
        areas[area_count++].home = home;
}

/* Reserves the areas; without the address space (an overcommit limit, a ulimit) smaller ones do. */
static bool reserve(void) {
    for (uint64_t each = AREA_BYTES; each >= 16 * HNAG_HUGE; each /= 4) {
        uint64_t all = each * area_count + HNAG_HUGE;
        long at = os(SYS_mmap, 0, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (os_failed(at))
            continue;
        areas_begin = ((uint64_t)at + HNAG_HUGE - 1) & ~(HNAG_HUGE - 1);
        for (uint32_t i = 0; i < area_count; i++)
            areas[i].begin = areas_begin + i * each;
        areas_bytes = each * area_count;
        return true;
    }
    return false;
}

void hnag_arena_init(void) {
    uint32_t from = hnag_plan.first[KIND_ARENA], to = hnag_plan.first[KIND_ARENA + 1];
    uint64_t smallest = HNAG_LEAST;
    if (from == to)
        return;
    for (uint32_t i = from; i < to; i++) {
        struct hnag_item *item = &hnag_plan.items[i];
        wanted[item->size / 64] |= UINT64_C(1) << item->size % 64;
        smallest = item->size < smallest ? item->size : smallest;
        meet_home(item->home);
    }
    if (!reserve())
        return hnrt_complain("no address space for arenas: small objects stay where the allocator puts them");
    for (uint32_t i = 0; i < area_count; i++)
        hnag_place_area(areas[i].begin, areas[i].begin + areas_bytes / area_count, areas[i].home);
    hnag_set_least(smallest);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* Opens the next huge page of an area; what lies behind it costs nothing. */
static bool open_more(struct area *a) {
    if (a->open + HNAG_HUGE > areas_bytes / area_count ||
        os_failed(os(SYS_mprotect, a->begin + a->open, HNAG_HUGE, PROT_READ | PROT_WRITE)))
        return false;
    a->open += HNAG_HUGE;
    return true;
}

static bool new_span(struct area *a, uint32_t class) {
    uint64_t at = a->begin + a->used;
    if (a->used == a->open && !open_more(a))
        return false;
    a->used += SPAN;
    struct span *s = (struct span *)at;
    *s = (struct span){.magic = SPAN_MAGIC, .object_bytes = class * 16, .area = (uint32_t)(a - areas)};
    a->of[class].bump = at + sizeof *s;
    a->of[class].end = at + SPAN;
    return true;
}

static void *take_object(struct area *a, uint32_t class) {
    struct freed *f = a->of[class].freed;
    if (f) {
        a->of[class].freed = f->next;
        return f;
    }
    if (a->of[class].end - a->of[class].bump < class * 16 && !new_span(a, class))
        return NULL;
    void *p = (void *)a->of[class].bump;
    a->of[class].bump += class * 16;
    return p;
}

static void *from_area(uint32_t home, size_t bytes) {
    struct area *a = areas;
    while (a < areas + area_count && a->home != home)
        a++;
    if (a == areas + area_count)
        return NULL;
    lock_area(a);
    void *p = take_object(a, (uint32_t)((bytes + 15) / 16));
    unlock_area(a);
    return p;
}

/* Items of arenas are sorted by hash and then path. */
static struct hnag_item *item_of(uint64_t hash, uint64_t path, uint64_t bytes) {
    uint32_t low = hnag_plan.first[KIND_ARENA], end = hnag_plan.first[KIND_ARENA + 1], high = end;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct hnag_item *item = &hnag_plan.items[middle];
        if (item->hash < hash || (item->hash == hash && item->path < path))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && hnag_plan.items[low].hash == hash && hnag_plan.items[low].path == path; low++)
        if (hnag_plan.items[low].size == bytes)
            return &hnag_plan.items[low];
    return NULL;
}

/* An object of a plan's arena; NULL for any other request. Only requests of the sizes that arenas have walk the
 * stack. */
void *hnag_arena_malloc(size_t bytes) {
    struct hnag_frames f;
    struct hnag_module m = {0};
    if (LIKELY(!areas_bytes || bytes >= HNAG_LEAST || !(wanted[bytes / 64] >> bytes % 64 & 1)))
        return NULL;
    struct hn_thread *t = hnag_enter();
    if (!t)
        return NULL;
    hnag_unwind(&f, HNAG_HASHED);
    struct hnag_item *item = t->path ? item_of(hnag_stack_hash(&f), t->path, bytes) : NULL;
    void *p = NULL;
    if (item && hnag_module_at(f.returns[0] - 1, &m) && m.build == item->build)
        p = from_area(item->home, bytes);
    if (p) {
        item->outcome = OUT_MATCHED;
        item->times++; /* only this thread has the path */
        item->placed += bytes;
    }
    hnag_leave(t);
    return p;
}

bool hnag_arena_has(const void *p) {
    return (uintptr_t)p - areas_begin < areas_bytes;
}

static struct span *span_of(const void *p) {
    return (struct span *)((uintptr_t)p & ~(SPAN - 1));
}

size_t hnag_arena_usable(const void *p) {
    return span_of(p)->object_bytes;
}

bool hnag_arena_free(void *p) {
    if (LIKELY(!hnag_arena_has(p)))
        return false;
    struct span *s = span_of(p);
    struct area *a = &areas[s->area];
    struct freed *f = p;
    if (s->magic != SPAN_MAGIC || s->area >= area_count) {
        hnrt_complain("the header of an arena's span was overwritten by the program");
        REAL(abort)();
    }
    lock_area(a);
    f->next = a->of[s->object_bytes / 16].freed;
    a->of[s->object_bytes / 16].freed = f;
    unlock_area(a);
    return true;
}

void *malloc(size_t bytes);

void *hnag_arena_realloc(void *p, size_t bytes) {
    size_t old = hnag_arena_usable(p);
    if (!bytes) {
        hnag_arena_free(p);
        return NULL;
    }
    if (bytes <= old)
        return p;
    uint8_t *to = malloc(bytes);
    for (size_t i = 0; to && i < old; i++)
        ((volatile uint8_t *)to)[i] = ((uint8_t *)p)[i];
    if (to)
        hnag_arena_free(p);
    return to;
}
