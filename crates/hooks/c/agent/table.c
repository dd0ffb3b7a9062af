/* Taking a plan as it lies in its file. Nothing is believed before it is checked, and a table of which one thing is wrong
 * is not applied at all. */
#include <sys/mman.h>

#include "os.h"
#include "plan.h"

/* Of all whole words behind the checksum. */
static uint64_t checksum(const uint64_t *table, uint64_t bytes) {
    uint64_t hash = HNAG_FNV_BASIS;
    for (uint64_t i = HN_PLAN_SUMMED_FROM / 8; i < bytes / 8; i++)
        hash = (hash ^ table[i]) * HNAG_FNV_PRIME;
    return hash;
}

/* Where the parts of the table are, and that they fill it. */
static const char *lay_out(const char *table, uint64_t bytes) {
    const struct hnag_head *head = (const struct hnag_head *)table;
    if (bytes < sizeof *head || head->magic != HN_PLAN_MAGIC || head->version != HN_PLAN_VERSION)
        return "no plan of this version";
    const uint64_t counts[] = {head->pins, head->stacks, head->statics, head->heaps};
    uint64_t items = 0;
    for (uint32_t kind = 0; kind <= KIND_HEAP; items += counts[kind++])
        hnag_plan.first[kind] = (uint32_t)items;
    hnag_plan.first[KIND_HEAP + 1] = (uint32_t)items;
    if (items > HN_PLAN_ITEMS_MOST)
        return "too long";
    uint64_t groups_at = sizeof *head + items * sizeof(struct hnag_item);
    uint64_t homes_at = groups_at + head->groups * sizeof(struct hnag_group);
    if (head->bytes != bytes || homes_at + head->homes * sizeof(struct hnag_home) != bytes)
        return "not as long as it says";
    if (head->checksum != checksum((const uint64_t *)table, bytes) || head->flags > HN_PLAN_SAME_SIZES)
        return "damaged";
    hnag_plan.count = (uint32_t)items;
    hnag_plan.group_count = head->groups;
    hnag_plan.home_count = head->homes;
    hnag_plan.items = (const struct hnag_item *)(table + sizeof *head);
    hnag_plan.groups = (const struct hnag_group *)(table + groups_at);
    hnag_plan.homes = (const struct hnag_home *)(table + homes_at);
    hnag_plan.other_sizes = !(head->flags & HN_PLAN_SAME_SIZES);
    hnag_plan.program = head->program;
    return NULL;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static bool some_of(uint64_t n, uint64_t most) {
    return n - 1 < most;
}

static bool sound_heap(const struct hnag_item *i) {
    bool key = i->by <= HN_PLAN_BY_SITE && (i->by != HN_PLAN_BY_SIZE || i->key == i->size);
    return key && i->ordinal <= HN_PLAN_BYTES_MOST && some_of(i->size, HN_PLAN_BYTES_MOST) && i->offset < i->size &&
           some_of(i->bytes, i->size - i->offset);
}

/* What a kind does not use is 0. */
static bool sound(const struct hnag_item *i, enum hnag_kind kind) {
    bool no_allocation = !(i->by | i->key | i->ordinal | i->size), thread = !(i->build | i->offset | i->bytes);
    if (i->line >= hnag_plan.count || (kind == KIND_PIN ? i->home != 0 : i->home >= hnag_plan.home_count || i->cpu))
        return false;
    switch (kind) {
    case KIND_PIN: return no_allocation && thread && i->cpu < HN_PLAN_CPUS;
    case KIND_STACK: return no_allocation && thread;
    case KIND_STATIC:
        return no_allocation && !i->path && i->offset < HN_PLAN_BYTES_MOST && some_of(i->bytes, HN_PLAN_BYTES_MOST);
    default: return sound_heap(i);
    }
}

/* Less than, equal to or greater than 0, in the order in which objects are looked up. */
static int compare(const struct hnag_item *a, const struct hnag_item *b) {
    const uint64_t left[] = {a->by, a->key, a->path, a->ordinal, a->size, a->build};
    const uint64_t right[] = {b->by, b->key, b->path, b->ordinal, b->size, b->build};
    for (unsigned i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static bool follows(const struct hnag_item *a, const struct hnag_item *b, enum hnag_kind kind) {
    int c = compare(a, b);
    return c < 0 || (c == 0 && kind >= KIND_STATIC && b->offset >= a->offset + a->bytes);
}

static const char *check_items(void) {
    for (uint32_t kind = KIND_PIN; kind <= KIND_HEAP; kind++)
        for (uint32_t i = hnag_plan.first[kind]; i < hnag_plan.first[kind + 1]; i++) {
            const struct hnag_item *item = &hnag_plan.items[i];
            if (!sound(item, kind))
                return "a number is out of its bounds";
            if (i > hnag_plan.first[kind] && !follows(item - 1, item, kind))
                return "out of order, or of what another line is of";
        }
    return NULL;
}

/* ---- groups and homes -------------------------------------------------------------------------------------------- */

static bool is_of(const struct hnag_item *item, const struct hnag_group *g) {
    return item->by == g->by && item->key == g->key && item->path == g->path;
}

/* A group begins at item `at`, has all of its kind and knows the largest. */
static bool sound_group(const struct hnag_group *g, uint32_t at, uint32_t end) {
    uint64_t largest = 0;
    if (g->first != at || g->end <= at || g->end > end || g->zero)
        return false;
    for (; at < g->end; at++) {
        if (!is_of(&hnag_plan.items[at], g))
            return false;
        largest = hnag_plan.items[at].size > largest ? hnag_plan.items[at].size : largest;
    }
    return g->largest == largest && (at == end || !is_of(&hnag_plan.items[at], g));
}

static const char *check_groups(void) {
    uint32_t at = hnag_plan.first[KIND_HEAP], end = hnag_plan.first[KIND_HEAP + 1];
    for (uint32_t i = 0; i < hnag_plan.group_count; at = hnag_plan.groups[i++].end)
        if (!sound_group(&hnag_plan.groups[i], at, end))
            return "groups that are not those of the items";
    for (uint32_t i = 0; i < hnag_plan.group_count; i++)
        if (hnag_plan.groups[i].by == HN_PLAN_BY_STACK)
            hnag_plan.hashes = true;
        else if (hnag_plan.groups[i].by == HN_PLAN_BY_SITE)
            hnag_plan.sites = true;
    return at == end ? NULL : "groups that are not those of the items";
}

static const char *check_homes(void) {
    for (uint32_t i = 0; i < hnag_plan.home_count; i++) {
        uint64_t any = 0;
        for (unsigned j = 0; j < HN_PLAN_NODES / 64; j++)
            any |= hnag_plan.homes[i].nodes[j];
        if (!any || hnag_plan.homes[i].interleave > 1)
            return "a home without nodes";
    }
    return NULL;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool memory_for_progress(void) {
    uint64_t progress = hnag_plan.count * sizeof(struct hnag_progress);
    uint64_t seen = hnag_plan.group_count * sizeof(uint64_t);
    long at = os(SYS_mmap, 0, progress + seen + HNAG_PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (os_failed(at))
        return false;
    hnag_plan.progress = (struct hnag_progress *)at;
    hnag_plan.seen = (uint64_t *)(at + (long)progress);
    return true;
}

const char *hnag_plan_take(const char *table, uint64_t bytes) {
    const char *wrong = lay_out(table, bytes);
    wrong = wrong ? wrong : check_homes();
    wrong = wrong ? wrong : check_items();
    wrong = wrong ? wrong : check_groups();
    return wrong || memory_for_progress() ? wrong : "too long";
}
