/* The part of barnes.c that HN_LOCKED=1 is about: all threads put their bodies into one tree, as Barnes of SPLASH-2 does (Woo and others
 * 1995), which builds it anew every step. A node's children are read and changed under its lock. A child that is a node stays one,
 * so a thread that has seen it passes by without the lock. The nodes below the cube cut in 512 are weighed by whoever has the part. */
#ifndef BARNES_LOCKED_H
#define BARNES_LOCKED_H

#define LOCKS 2048u
#define PARTS 512u /* for weighing */

/* Children of each node that a thread knows to be nodes. */
typedef uint32_t known_children[8];

/* Of the calling thread; not allocated anew every step, lest threads have each other's memory one after the other. */
static __thread known_children *known;

static void begin_building(const struct barnes *s) {
    known = malloc(s->room * sizeof *known);
    if (!known)
        hn_die("known children", ENOMEM);
}

static void end_building(void) {
    free(known);
}

static void fill(uint32_t *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        names[i] = NOTHING;
}

/* The root and its eighths, which all know. */
static void plant(struct barnes *s) {
    for (uint32_t node = 0; node < TOP; node++)
        fill(s->nodes[node].children, 8);
    for (uint32_t o = 0; o < 8; o++)
        s->nodes[0].children[o] = 1 + o;
}

/* Puts body b into this eighth of the node, whose cube it is; returns the node that is there instead if one is, and NOTHING else. */
static uint32_t put_under_lock(struct barnes *s, struct part *part, uint32_t node, unsigned o, uint32_t b, const struct cube *cube) {
    hn_lock *lock = &s->locks[node % LOCKS];
    hn_lock_acquire(lock);
    uint32_t *place = &s->nodes[node].children[o], child = *place;
    if (child == NOTHING)
        *place = b | IS_BODY;
    else if (child & IS_BODY) {
        struct cube inner = eighth(cube, o);
        uint32_t between = new_node(s, part);
        s->nodes[between].children[octant(&inner, s->bodies[child & ~IS_BODY].at)] = child;
        *place = child = between;
    }
    hn_lock_release(lock);
    return child;
}

static void insert_shared(struct barnes *s, struct part *part, uint32_t b, struct cube cube) {
    uint32_t node = 0;
    for (unsigned depth = 0;; depth++) {
        unsigned o = octant(&cube, s->bodies[b].at);
        uint32_t child = known[node][o];
        if (child == NOTHING) {
            child = put_under_lock(s, part, node, o, b, &cube);
            if (child == NOTHING)
                return;
            known[node][o] = child;
        }
        if (depth == DEPTH_MAX)
            hn_die("two bodies in one place", EDOM);
        node = child;
        cube = eighth(&cube, o);
    }
}

/* The nodes of the thread's parts of space; the tree stands. */
static void weigh_parts(struct barnes *s, unsigned t, unsigned threads) {
    for (unsigned p = t; p < PARTS; p += threads) {
        uint32_t name = 0;
        for (unsigned up = PARTS / 8; up > 0 && !(name & IS_BODY); up /= 8)
            name = s->nodes[name].children[p / up % 8];
        weigh_branch(s, name);
    }
}

/* The nodes above the parts. */
static void weigh_top(struct barnes *s) {
    for (unsigned c = 0; c < CUBES; c++) {
        uint32_t name = s->branches[c] = s->nodes[1 + c / 8].children[c % 8];
        if (!(name & IS_BODY))
            weigh(s, &s->nodes[name]);
    }
    join(s);
}

static void build(struct barnes *s, const struct cube *all, unsigned t, unsigned threads, size_t from, size_t to) {
    if (t == 0)
        plant(s);
    fill(known[0], 8 * s->room);
    for (uint32_t o = 0; o < 8; o++)
        known[0][o] = 1 + o;
    hn_barrier_wait(&s->barrier);
    for (size_t i = from; i < to; i++)
        insert_shared(s, &s->parts[t], (uint32_t)i, *all);
    hn_barrier_wait(&s->barrier);
    weigh_parts(s, t, threads);
    hn_barrier_wait(&s->barrier);
    if (t == 0)
        weigh_top(s);
    hn_barrier_wait(&s->barrier);
}

#endif
