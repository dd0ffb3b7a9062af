/* Programs of many small tasks in the manner of Presto (Bolosky 1993, section 2.1.3): a task is a thread that the run time
 * gives to any processor, so nothing that a program does next to each other stays together. Here the seed deals them.
 *
 * Tasks run in rounds, each closed by a barrier: what a round makes runs in the next one. Whoever makes a task leaves it
 * in a box of its own for the one who gets it, so a recording does not depend on the host. */
#ifndef PRESTO_H
#define PRESTO_H
#include "thesis.h"

/* What one thread leaves to another one: up to `room` tasks of two numbers. */
struct presto_box {
    uint32_t count;
    uint32_t tasks[][2];
};

struct presto {
    hn_barrier barrier;
    char *boxes[2]; /* of this round and the next one: threads x threads */
    size_t box_bytes, room;
    unsigned threads;
    uint64_t seed;
};

static inline struct presto_box *presto_box(const struct presto *p, unsigned round, unsigned from, unsigned to) {
    return (struct presto_box *)(p->boxes[round % 2] + (from * p->threads + to) * p->box_bytes);
}

/* For at most `room` tasks that one thread leaves to another in a round. */
static void presto_init(struct presto *p, unsigned threads, uint64_t seed, size_t room) {
    size_t bytes = sizeof(struct presto_box) + room * sizeof(uint32_t[2]);
    *p = (struct presto){.box_bytes = (bytes + 7) / 8 * 8, .room = room, .threads = threads, .seed = seed};
    for (unsigned round = 0; round < 2; round++) {
        p->boxes[round] = thesis_alloc("boxes", threads * threads * p->box_bytes);
        memset(p->boxes[round], 0, threads * threads * p->box_bytes);
    }
    hn_barrier_init(&p->barrier, threads);
}

/* Thread `t` leaves a task for round `round`; the task's name is where it begins. */
static inline void presto_fork(const struct presto *p, unsigned t, unsigned round, uint32_t first, uint32_t second) {
    unsigned to = thesis_dealt(p->seed, (uint64_t)round << 32 | first, p->threads);
    struct presto_box *box = presto_box(p, round, t, to);
    if (box->count == p->room)
        hn_die("too many tasks", ENOSPC);
    box->tasks[box->count][0] = first;
    box->tasks[box->count][1] = second;
    box->count++;
}

#endif
