/* Generated from crates/base/src/agenttable.rs by `cargo xtask gen-header`. Do not edit. */
#pragma once
#include <stdint.h>

#define HN_PLAN_MAGIC UINT64_C(0x4e414c5047414e48)
#define HN_PLAN_VERSION UINT64_C(0x3)
#define HN_PLAN_SAME_SIZES UINT64_C(0x1)
#define HN_PLAN_ITEMS_MOST UINT64_C(0x989680)
#define HN_PLAN_BYTES_MOST UINT64_C(0x800000000000)
#define HN_PLAN_CPUS UINT64_C(0x2000)
#define HN_PLAN_NODES UINT64_C(0x400)
#define HN_PLAN_SUMMED_FROM UINT64_C(0x10)
#define HN_PLAN_BY_STACK UINT64_C(0x0)
#define HN_PLAN_BY_SIZE UINT64_C(0x1)
#define HN_PLAN_BY_SITE UINT64_C(0x2)

struct hnag_head {
    uint64_t magic; /* HN_PLAN_MAGIC */
    uint64_t checksum; /* of every word behind it */
    uint64_t bytes; /* of the whole table */
    uint64_t program; /* hash of the build id of the executable whose processes are placed; 0: any */
    uint32_t version; /* HN_PLAN_VERSION */
    uint32_t flags; /* HN_PLAN_SAME_SIZES or 0 */
    uint32_t pins; /* items: threads to pin */
    uint32_t stacks; /* items: stacks of threads */
    uint32_t statics; /* items: static data */
    uint32_t heaps; /* items: allocations */
    uint32_t groups; /* groups */
    uint32_t homes; /* homes */
};
_Static_assert(sizeof(struct hnag_head) == 64, "no gaps");

struct hnag_item {
    uint64_t build; /* hash of the build id of the module that has the data or allocates */
    uint64_t key; /* allocation: hash of the stack or site, or the size */
    uint64_t path; /* hash of the thread's path */
    uint64_t ordinal; /* allocation: how many by that thread with that key came before */
    uint64_t size; /* allocation: bytes asked for */
    uint64_t offset; /* first byte: address as linked, or from the allocation's begin */
    uint64_t bytes; /* bytes of the range */
    uint32_t line; /* line of the plan, from 0 */
    uint32_t home; /* which of the homes */
    uint32_t cpu; /* processor */
    uint32_t by; /* allocation: what finds it, HN_PLAN_BY_* */
};
_Static_assert(sizeof(struct hnag_item) == 72, "no gaps");

struct hnag_group {
    uint64_t key; /* as of its items */
    uint64_t path; /* as of its items */
    uint64_t largest; /* size of the largest object */
    uint32_t by; /* as of its items */
    uint32_t first; /* first item, counted from the first of all */
    uint32_t end; /* end of the items */
    uint32_t zero; /* 0 */
};
_Static_assert(sizeof(struct hnag_group) == 40, "no gaps");

struct hnag_home {
    uint64_t interleave; /* 1: page by page over the nodes in turn; 0: on the node */
    uint64_t nodes[16]; /* a bit a node */
};
_Static_assert(sizeof(struct hnag_home) == 136, "no gaps");
