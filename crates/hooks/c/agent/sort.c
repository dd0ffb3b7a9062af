/* The order of a plan's items, so that they are found by binary search, and what can be wrong between two of them. */
#include "plan.h"

static int compare(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static uint64_t key(const struct hnag_item *item) {
    return item->by == BY_SIZE ? item->size : item->hash;
}

/* The object that a line is about, without the range. */
static int same_object(const struct hnag_item *a, const struct hnag_item *b) {
    int c = compare(a->kind, b->kind);
    c = c ? c : compare(a->kind == KIND_STATIC ? a->build : 0, b->kind == KIND_STATIC ? b->build : 0);
    c = c ? c : compare(a->by, b->by);
    c = c ? c : compare(key(a), key(b));
    c = c ? c : compare(a->path, b->path);
    c = c ? c : compare(a->ordinal, b->ordinal);
    c = c ? c : compare(a->size, b->size);
    return c ? c : compare(a->build, b->build);
}

static int order(const struct hnag_item *a, const struct hnag_item *b) {
    int c = same_object(a, b);
    c = c ? c : compare(a->offset, b->offset);
    return c ? c : compare(a->line, b->line);
}

static void swap(struct hnag_item *a, struct hnag_item *b) {
    struct hnag_item kept = *a;
    *a = *b;
    *b = kept;
}

static void sift(struct hnag_item *items, uint32_t top, uint32_t n) {
    for (;;) {
        uint32_t child = 2 * top + 1;
        if (child >= n)
            return;
        if (child + 1 < n && order(&items[child], &items[child + 1]) < 0)
            child++;
        if (order(&items[top], &items[child]) >= 0)
            return;
        swap(&items[top], &items[child]);
        top = child;
    }
}

/* Heap sort: no memory, no bad case. */
static void sort(struct hnag_item *items, uint32_t n) {
    for (uint32_t i = n / 2; i > 0; i--)
        sift(items, i - 1, n);
    for (uint32_t i = n; i > 1; i--) {
        swap(&items[0], &items[i - 1]);
        sift(items, 0, i - 1);
    }
}

static const char *clash(const struct hnag_item *a, const struct hnag_item *b) {
    if (same_object(a, b) != 0)
        return NULL;
    if (a->kind == KIND_PIN || a->kind == KIND_STACK)
        return "the same thread as in a line before";
    return b->offset < a->offset + a->bytes ? "overlaps another line" : NULL;
}

static bool same_group(const struct hnag_item *a, const struct hnag_item *b) {
    return a->by == b->by && key(a) == key(b) && a->path == b->path;
}

static void make_groups(void) {
    uint32_t from = hnag_plan.first[KIND_HEAP], to = hnag_plan.first[KIND_HEAP + 1];
    for (uint32_t i = from; i < to; i++) {
        const struct hnag_item *item = &hnag_plan.items[i];
        struct hnag_group *g = &hnag_plan.groups[hnag_plan.group_count];
        if (i > from && same_group(item, item - 1)) {
            g[-1].end = i + 1;
            g[-1].largest = g[-1].largest < item->size ? item->size : g[-1].largest;
            continue;
        }
        *g = (struct hnag_group){key(item), item->path, item->by, i, i + 1, 0, item->size};
        hnag_plan.group_count++;
    }
}

const char *hnag_plan_arrange(uint32_t *line) {
    struct hnag_item *items = hnag_plan.items;
    sort(items, hnag_plan.count);
    for (uint32_t i = 1; i < hnag_plan.count; i++) {
        const char *wrong = clash(&items[i - 1], &items[i]);
        if (wrong) {
            *line = items[i].line;
            return wrong;
        }
    }
    for (uint32_t kind = 0, i = 0; kind <= KIND_HEAP + 1; kind++) {
        while (i < hnag_plan.count && items[i].kind < kind)
            i++;
        hnag_plan.first[kind] = i;
    }
    make_groups();
    return NULL;
}
