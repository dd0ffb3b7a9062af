/* The plan in memory, and what the files that apply it share. */
#pragma once
#include "agent.h"

enum hnag_kind { KIND_PIN, KIND_STACK, KIND_STATIC, KIND_HEAP };
/* What finds an allocation: its call stack, its size, or the place of the call that asks for it. */
enum hnag_by { BY_STACK, BY_SIZE, BY_SITE };
enum hnag_outcome { OUT_UNSEEN, OUT_SIZE, OUT_RANGE, OUT_MATCHED, OUT_FAILED };

/* Nodes of a home; one set bit and not `interleave`: that node. */
#define HNAG_NODES 1024
struct hnag_home {
    bool interleave;
    uint64_t nodes[HNAG_NODES / 64];
};

/* One line. Which fields are used depends on its kind. */
struct hnag_item {
    uint8_t kind, by; /* by size: `hash` is 0 */
    uint32_t line, home, cpu;
    uint64_t build, hash, path, ordinal, size;
    uint64_t offset, bytes;
    /* What came of it; changed by atomic operations only. */
    uint32_t outcome, times, error;
    uint64_t placed, came; /* came: the size that it came with, if that is another one */
};

/* Heap items with one stack, size or site and one thread: consecutive, by ordinal and then offset. */
struct hnag_group {
    uint64_t key, path; /* key: hash of the stack or site, or size */
    uint32_t by, first, end;
    uint64_t seen;    /* allocations so far */
    uint64_t largest; /* size of the largest object */
};

struct hnag_plan {
    struct hnag_item *items; /* sorted */
    uint32_t count;
    struct hnag_home *homes;
    uint32_t home_count;
    struct hnag_group *groups;
    uint32_t group_count;
    uint32_t first[KIND_HEAP + 2]; /* items of a kind are first[kind]..first[kind + 1] */
    bool hashes;      /* some heap item names a stack */
    bool sites;       /* some heap item names a site */
    bool meant;       /* for this process, from its start */
    bool other_sizes; /* the program was started with other arguments than the one the plan was made of */
    uint64_t program; /* build of the executable whose processes are placed; 0: any */
    const char *path;
};
extern struct hnag_plan hnag_plan;

/* parse.c: NULL, or what is wrong with line *line of the text. */
const char *hnag_plan_parse(const char *text, uint64_t bytes, uint32_t *line);
/* sort.c: the same, for what can be wrong between lines. */
const char *hnag_plan_arrange(uint32_t *line);

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
