/* The plan in memory, and what the files that apply it share. */
#pragma once
#include "agent.h"
#include "plan_layout.h"

/* In the order of a table's items. */
enum hnag_kind { KIND_PIN, KIND_STACK, KIND_STATIC, KIND_HEAP };
enum hnag_outcome { OUT_UNSEEN, OUT_SIZE, OUT_RANGE, OUT_MATCHED, OUT_FAILED };

/* What came of an item; changed by atomic operations only. */
struct hnag_progress {
    uint32_t outcome, times, error;
    uint64_t placed, came; /* came: the size that it came with, if that is another one */
};

struct hnag_plan {
    const struct hnag_item *items; /* this and the next two: in the table that was read */
    const struct hnag_home *homes;
    const struct hnag_group *groups;
    uint32_t count, home_count, group_count;
    struct hnag_progress *progress; /* one an item */
    uint64_t *seen;            /* one a group: allocations so far */
    uint32_t first[KIND_HEAP + 2]; /* items of a kind are first[kind]..first[kind + 1] */
    bool hashes;      /* some heap item names a stack */
    bool sites;       /* some heap item names a site */
    bool meant;       /* for this process, from its start */
    bool other_sizes; /* the program was started with other arguments than the one the plan was made of */
    uint64_t program; /* build of the executable whose processes are placed; 0: any */
};
extern struct hnag_plan hnag_plan;

static inline struct hnag_progress *hnag_progress_of(const struct hnag_item *item) {
    return &hnag_plan.progress[item - hnag_plan.items];
}

/* table.c: NULL, or what is wrong. The table stays where it is. */
const char *hnag_plan_take(const char *table, uint64_t bytes);

/* place.c: homes for ranges in rising order; nothing is called before it has to be. */
struct hnag_range {
    uint64_t lo, hi;
    uint32_t home, item;
};
struct hnag_placing {
    struct hnag_range next; /* not yet cut into pages: its end may move to a huge page's */
    struct hnag_range run;  /* whole pages with one home */
    uint32_t last;          /* item of the run's end */
    uint64_t page;          /* page that several ranges share */
    unsigned sharers;
    struct {
        uint32_t home, item;
        uint64_t bytes;
    } share[8];
    bool any_call;
};
void hnag_placing_begin(struct hnag_placing *p);
void hnag_placing_add(struct hnag_placing *p, const struct hnag_range *r);
bool hnag_placing_end(struct hnag_placing *p);
void hnag_place_init(void);
long hnag_place_pages(uint64_t lo, uint64_t hi, uint32_t home);
extern struct hnag_counts {
    uint64_t calls, bytes, errors, refused; /* refused: calls not made, for want of mappings */
} hnag_counts;

/* maps.c */
uint64_t hnag_maps_each(bool (*visit)(uint64_t lo, uint64_t hi, void *context), void *context);
uint64_t hnag_read_number(const char *path, uint64_t otherwise);
long hnag_read_file(const char *path, char **text);

/* result.c */
void hnag_result_beside(void);
void hnag_result_forget(void);
