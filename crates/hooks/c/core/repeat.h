/* What a thread knows of the repetitions that it leaves out of its ring (repeat.c). */
#pragma once
#include <stdint.h>

#include "ring_layout.h"

typedef uint64_t hn_slot __attribute__((vector_size(16), may_alias));

/* Of the largest block of references. */
#define HN_BLOCK_SLOTS (HN_BLOCK_REFS_MAX / 2 + 1)
#define HN_BLOCK_BYTES (HN_BLOCK_SLOTS * HN_SLOT_BYTES)

/* They begin again with each batch of the ring. */
struct hn_repeats {
    hn_slot last[HN_BLOCK_SLOTS];    /* the last block */
    hn_slot strides[HN_BLOCK_SLOTS]; /* of the last repetitions, and 0 in place of the header */
    uint64_t header;                 /* of their block */
    uint64_t head;                   /* word of the ring's head for which all this is true */
    uint32_t poor;                   /* batches in a row that were hardly shorter than before */
    uint32_t wait, waited;           /* batches that are not looked at; of them, those that passed */
};
