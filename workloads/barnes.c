/* Bodies under gravity in three dimensions by an octree (Barnes and Hut 1986), bodies dealt out by number. Each step all
 * threads build the tree together: the cube is cut in 64, and a thread builds the branches of its own cells; worker
 * 0 joins them. Then each thread walks the whole tree once for each of its bodies, which are anywhere in space.
 *
 * The tree does not depend on who builds which branch or where its nodes lie, so neither does the result on the thread
 * count. The self-check, at the last positions: the root holds the mass and the centre of all bodies; the forces of a sample
 * of bodies agree with direct sums over all others; momentum stays near the zero that it began with.
 *
 * Compiled with HN_SPACE=1 bodies are numbered along a curve through space (Morton's order), so that a thread has those of a
 * region, records are as long as the pages of a study with 16384 bodies ask for (Kuo and others 1998, table 5), a node is one
 * body already if it is as wide as far, and phase `steps` begins after the first pulls.
 *
 * Compiled with HN_LOCKED=1 all threads build one tree under locks (barnes_locked.h); with HN_SPATIAL=1 bodies follow pieces of
 * space, and each thread builds the tree of its own (barnes_spatial.h). The tree is the same, and so is the result. */
#include "hn_workload.h"

#ifndef HN_SPACE
#define HN_SPACE 0
#endif
#ifndef HN_LOCKED
#define HN_LOCKED 0
#endif
#ifndef HN_SPATIAL
#define HN_SPATIAL 0
#endif

static const struct hn_program program = {
    .summary = "Barnes-Hut simulation of bodies under gravity.",
    .n_means = "bodies, an even number from 512",
    .more = 'i',
    .more_means = "time steps",
    .xs = {2048, 1},
    .s = {12288, 2},
    .m = {65536, 4},
};

#define NARROW (HN_SPACE ? 1.0 : 0.6)      /* a node is one body if its edge is less than this times its distance */
#define SOFT 1e-4       /* added to the square of a distance */
#define STEP 0.002
#define CUBES 64u       /* branches: the eighths of eighths */
#define TOP (HN_SPATIAL ? 585u : 9u) /* nodes above them: the root and its eighths; if linked, what else may be */
#define CHUNK 256u      /* nodes that a thread takes at a time */
#define SAMPLE 64u      /* bodies that are checked against the direct sum */
#define DEPTH_MAX 60u
#define NOTHING UINT32_MAX
#define IS_BODY 0x80000000u /* in the name of a child: the rest is a body's number */

struct body {
    double at[3], speed[3], pull[3];
    double mass;
#if HN_SPACE
    double more[6]; /* level, parent, cost, potential, links: 128 bytes in all */
#endif
#if HN_SPATIAL
    size_t number;
#endif
};

struct node {
    double centre[3], mass;
    uint32_t children[8];
#if HN_SPACE
    double more[14]; /* the same, and a leaf's bodies: 176 bytes in all */
#endif
};

/* A cube by its middle and half of its edge. */
struct cube {
    double middle[3], half;
};

struct barnes {
    hn_barrier barrier;
    struct body *bodies;
#if HN_SPATIAL
    struct body *moving;
    uint16_t *cells; /* of each body */
    uint32_t *links; /* trees of threads, by their first cells */
#elif HN_LOCKED
    hn_lock *locks;  /* of nodes */
#else
    uint8_t *cubes; /* of each body */
#endif
    struct node *nodes;
    uint32_t branches[CUBES];
    hn_lock lock;   /* of used */
    size_t n, steps, used, room;
    bool ok;
    struct part {
        struct hn_verdict verdict;
        double farthest; /* coordinate of a body */
        uint32_t next, end; /* of the chunk of nodes that it has */
#if HN_SPATIAL
        size_t from, to; /* bodies */
#endif
    } parts[];
};

static double noise_at(size_t i) {
    return (double)(int64_t)hn_mix(i) * 0x1p-63;
}

/* Coordinate d of the i-th of n places along Morton's curve, from -1 to 1. */
static double along_curve(size_t i, size_t n, unsigned d) {
    uint64_t place = (((uint64_t)i << 30) + (hn_mix(i) >> 34)) / n, x = 0;
    for (unsigned bit = 0; bit < 10; bit++)
        x |= (place >> (3 * bit + d) & 1) << bit;
    return ((double)x + 0.5 + 0.4 * noise_at(3 * i + d)) / 512 - 1;
}

/* Denser in the middle; neighbours by number fly in opposite directions. */
static void make_bodies(struct barnes *s, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        struct body *b = &s->bodies[i];
        for (unsigned d = 0; d < 3; d++) {
            double x = noise_at(6 * i + d), speed = noise_at(6 * (i / 2) + d + 3);
            b->at[d] = HN_SPACE ? along_curve(i, s->n, d) : x * fabs(x);
            b->speed[d] = i % 2 ? -speed : speed;
            b->pull[d] = 0;
        }
        b->mass = 1 / (double)s->n;
#if HN_SPATIAL
        b->number = i;
#endif
    }
}

/* Which eighth of the cube a place is in. */
static unsigned octant(const struct cube *c, const double at[3]) {
    return (at[0] >= c->middle[0]) | (unsigned)(at[1] >= c->middle[1]) << 1 | (unsigned)(at[2] >= c->middle[2]) << 2;
}

static struct cube eighth(const struct cube *c, unsigned o) {
    struct cube e = {.half = 0.5 * c->half};
    for (unsigned d = 0; d < 3; d++)
        e.middle[d] = c->middle[d] + (o >> d & 1 ? e.half : -e.half);
    return e;
}

/* The cube that holds everything; after all have said how far their bodies are. */
static struct cube everything(const struct barnes *s, unsigned threads) {
    double half = 1;
    for (unsigned t = 0; t < threads; t++)
        while (half <= s->parts[t].farthest)
            half *= 2;
    return (struct cube){{0, 0, 0}, half};
}

static void look_around(struct barnes *s, struct part *part, size_t from, size_t to) {
    double farthest = 0;
    for (size_t i = from; i < to; i++)
        for (unsigned d = 0; d < 3; d++)
            farthest = fmax(farthest, fabs(s->bodies[i].at[d]));
    part->farthest = farthest;
}

static uint32_t new_node(struct barnes *s, struct part *part) {
    if (part->next == part->end) {
        hn_lock_acquire(&s->lock);
        part->next = (uint32_t)s->used;
        s->used += CHUNK;
        bool full = s->used > s->room;
        hn_lock_release(&s->lock);
        if (full)
            hn_die("nodes of the tree", ENOSPC);
        part->end = part->next + CHUNK;
    }
    struct node *node = &s->nodes[part->next];
    for (unsigned o = 0; o < 8; o++)
        node->children[o] = NOTHING;
    return part->next++;
}

#if !HN_LOCKED
/* Puts body b below `name`, which is a node, a body or nothing and fills the cube; returns the new name. */
static uint32_t insert(struct barnes *s, struct part *part, uint32_t name, uint32_t b, struct cube cube) {
    uint32_t top = name, *place = &top;
    for (unsigned depth = 0; *place != NOTHING; depth++) {
        if (*place & IS_BODY) {
            uint32_t other = *place;
            *place = new_node(s, part);
            s->nodes[*place].children[octant(&cube, s->bodies[other & ~IS_BODY].at)] = other;
            if (depth == DEPTH_MAX)
                hn_die("two bodies in one place", EDOM);
        }
        unsigned o = octant(&cube, s->bodies[b].at);
        place = &s->nodes[*place].children[o];
        cube = eighth(&cube, o);
    }
    *place = b | IS_BODY;
    return top;
}
#endif

/* Mass and centre of a node from those of its children, in their order. */
static void weigh(struct barnes *s, struct node *node) {
    double sum[3] = {0, 0, 0}, mass = 0;
    for (unsigned o = 0; o < 8; o++) {
        uint32_t child = node->children[o];
        if (child == NOTHING)
            continue;
        const double *at = child & IS_BODY ? s->bodies[child & ~IS_BODY].at : s->nodes[child].centre;
        double m = child & IS_BODY ? s->bodies[child & ~IS_BODY].mass : s->nodes[child].mass;
        for (unsigned d = 0; d < 3; d++)
            sum[d] += m * at[d];
        mass += m;
    }
    for (unsigned d = 0; d < 3; d++)
        node->centre[d] = sum[d] / mass;
    node->mass = mass;
}

static void weigh_branch(struct barnes *s, uint32_t name) {
    if (name & IS_BODY) /* or nothing */
        return;
    for (unsigned o = 0; o < 8; o++)
        weigh_branch(s, s->nodes[name].children[o]);
    weigh(s, &s->nodes[name]);
}

#if !HN_LOCKED && !HN_SPATIAL
static void sort_out(struct barnes *s, const struct cube *all, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        unsigned first = octant(all, s->bodies[i].at);
        struct cube e = eighth(all, first);
        s->cubes[i] = (uint8_t)(first * 8 + octant(&e, s->bodies[i].at));
    }
}

/* The branches of the thread's cubes: every thread looks at all bodies and takes its own. Branches grow in an array of the
 * thread's own and are published once, lest neighbours' stores share lines. */
static void grow(struct barnes *s, const struct cube *all, unsigned t, unsigned threads) {
    struct cube cubes[CUBES];
    uint32_t branches[CUBES];
    for (unsigned c = 0; c < CUBES; c++) {
        struct cube e = eighth(all, c / 8);
        cubes[c] = eighth(&e, c % 8);
        branches[c] = NOTHING;
    }
    for (size_t i = 0; i < s->n; i++) {
        unsigned c = s->cubes[i];
        if (c % threads == t)
            branches[c] = insert(s, &s->parts[t], branches[c], (uint32_t)i, cubes[c]);
    }
    for (unsigned c = t; c < CUBES; c += threads) {
        weigh_branch(s, branches[c]);
        s->branches[c] = branches[c];
    }
}
#endif

/* The root, node 0, and its eighths, nodes 1 to 8. */
static void join(struct barnes *s) {
    for (unsigned first = 0; first < 8; first++) {
        struct node *node = &s->nodes[1 + first];
        bool empty = true;
        for (unsigned second = 0; second < 8; second++) {
            node->children[second] = s->branches[first * 8 + second];
            empty = empty && node->children[second] == NOTHING;
        }
        s->nodes[0].children[first] = empty ? NOTHING : 1 + first;
        if (!empty)
            weigh(s, node);
    }
    weigh(s, &s->nodes[0]);
}

#if HN_LOCKED
#include "barnes_locked.h"
#elif HN_SPATIAL
#include "barnes_spatial.h"
#else
static void begin_building(const struct barnes *s) {
    (void)s;
}

static void end_building(void) {
}

/* The tree of all bodies. Ends with a barrier. */
static void build(struct barnes *s, const struct cube *all, unsigned t, unsigned threads, size_t from, size_t to) {
    sort_out(s, all, from, to);
    hn_barrier_wait(&s->barrier);
    grow(s, all, t, threads);
    hn_barrier_wait(&s->barrier);
    if (t == 0)
        join(s);
    hn_barrier_wait(&s->barrier);
}
#endif

/* Adds what `mass` at `there` pulls a body at `at`. */
static void attract(const double at[3], const double there[3], double mass, double pull[3]) {
    double way[3], square = SOFT;
    for (unsigned d = 0; d < 3; d++) {
        way[d] = there[d] - at[d];
        square += way[d] * way[d];
    }
    double strength = mass / (square * sqrt(square));
    for (unsigned d = 0; d < 3; d++)
        pull[d] += strength * way[d];
}

static bool narrow(const struct node *node, const double at[3], double edge) {
    double square = 0;
    for (unsigned d = 0; d < 3; d++)
        square += (node->centre[d] - at[d]) * (node->centre[d] - at[d]);
    return edge * edge < NARROW * NARROW * square;
}

/* What everything below `name`, in a cube of this edge, pulls body b. */
static void walk(const struct barnes *s, uint32_t name, double edge, uint32_t b, double pull[3]) {
    const double *at = s->bodies[b].at;
    if (name & IS_BODY) {
        const struct body *other = &s->bodies[name & ~IS_BODY];
        if (name != NOTHING && (name & ~IS_BODY) != b)
            attract(at, other->at, other->mass, pull);
        return;
    }
    const struct node *node = &s->nodes[name];
    if (narrow(node, at, edge)) {
        attract(at, node->centre, node->mass, pull);
        return;
    }
    for (unsigned o = 0; o < 8; o++)
        if (node->children[o] != NOTHING)
            walk(s, node->children[o], 0.5 * edge, b, pull);
}

/* The tree and the pull on every body, where they are now. Ends with a barrier. */
static void find_pulls(struct barnes *s, unsigned t, unsigned threads, size_t from, size_t to) {
    struct part *part = &s->parts[t];
    look_around(s, part, from, to);
    part->next = part->end = 0;
    if (t == 0)
        s->used = HN_SPATIAL ? s->room : TOP;
    hn_barrier_wait(&s->barrier);
    struct cube all = everything(s, threads);
    build(s, &all, t, threads, from, to);
#if HN_SPATIAL
    from = part->from;
    to = part->to;
#endif
    for (size_t i = from; i < to; i++) {
        double pull[3] = {0, 0, 0};
        walk(s, 0, 2 * all.half, (uint32_t)i, pull);
        memcpy(s->bodies[i].pull, pull, sizeof pull);
    }
    hn_barrier_wait(&s->barrier);
}

/* Body i as it was numbered when bodies were made. */
static size_t number_of(const struct barnes *s, size_t i) {
#if HN_SPATIAL
    return s->bodies[i].number;
#else
    (void)s;
    return i;
#endif
}

static void advance(struct barnes *s, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        for (unsigned d = 0; d < 3; d++) {
            struct body *b = &s->bodies[i];
            b->speed[d] += STEP * b->pull[d];
            b->at[d] += STEP * b->speed[d];
        }
}

/* Whether the pull on body b agrees with the direct sum over all others. They pull in all directions and what is left
 * can be small, so the error is measured against the sum of their strengths. */
static bool pulled_right(const struct barnes *s, size_t b) {
    double direct[3] = {0, 0, 0}, off = 0, strengths = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (i == b)
            continue;
        double one[3] = {0, 0, 0};
        attract(s->bodies[b].at, s->bodies[i].at, s->bodies[i].mass, one);
        for (unsigned d = 0; d < 3; d++)
            direct[d] += one[d];
        strengths += sqrt(one[0] * one[0] + one[1] * one[1] + one[2] * one[2]);
    }
    for (unsigned d = 0; d < 3; d++)
        off += (s->bodies[b].pull[d] - direct[d]) * (s->bodies[b].pull[d] - direct[d]);
    return sqrt(off) <= (HN_SPACE ? 0.06 : 0.02) * strengths;
}

static void verify(struct barnes *s, unsigned t, unsigned threads, size_t from, size_t to) {
    uint64_t checksum = 0;
    bool ok = true;
    for (size_t k = t; k < SAMPLE; k += threads)
        ok = ok && pulled_right(s, k * s->n / SAMPLE);
    for (size_t i = from; i < to; i++)
        for (unsigned d = 0; d < 3; d++)
            checksum += hn_mix(hn_bits(s->bodies[i].at[d]) ^ hn_mix(hn_bits(s->bodies[i].pull[d]) ^ (3 * number_of(s, i) + d)));
    s->parts[t].verdict.ok = ok;
    s->parts[t].verdict.checksum = checksum;
}

/* Mass, centre and momentum of the whole. */
static bool whole(const struct barnes *s) {
    double centre[3] = {0, 0, 0}, momentum[3] = {0, 0, 0}, moving = 0, worst = 0;
    for (size_t i = 0; i < s->n; i++)
        for (unsigned d = 0; d < 3; d++) {
            const struct body *b = &s->bodies[i];
            centre[d] += b->mass * b->at[d];
            momentum[d] += b->mass * b->speed[d];
            moving += b->mass * fabs(b->speed[d]);
        }
    for (unsigned d = 0; d < 3; d++) {
        worst = fmax(worst, fabs(centre[d] - s->nodes[0].centre[d]));
        worst = fmax(worst, fabs(momentum[d]) / moving * 1e-6);
    }
    return worst < 1e-9 && fabs(s->nodes[0].mass - 1) < 1e-9;
}

#if HN_SPATIAL
#define FOLLOW(s, t, from, to) ((from) = (s)->parts[t].from, (to) = (s)->parts[t].to)
#else
#define FOLLOW(s, t, from, to) ((void)0)
#endif

static void work(unsigned t, unsigned threads, void *shared) {
    struct barnes *s = shared;
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    hn_traced_begin(&s->barrier, t);
    hn_phase_begin("initialise");
    make_bodies(s, from, to);
    begin_building(s);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("gravity");
    find_pulls(s, t, threads, from, to);
    FOLLOW(s, t, from, to);
    hn_phase_begin("steps");
    for (size_t step = 0; step < s->steps; step++) {
        advance(s, from, to);
        find_pulls(s, t, threads, from, to);
        FOLLOW(s, t, from, to);
    }
    hn_phase_end("steps");
    hn_phase_end("gravity");
    end_building();
    hn_traced_end(&s->barrier, t);
    if (HN_DAMAGE) {
        if (t == 0)
            s->bodies[0].pull[0] += 1;
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_begin("verify");
    verify(s, t, threads, from, to);
    if (t == 0)
        s->ok = whole(s);
    hn_phase_end("verify");
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 512 || o.n % 2 || o.n > 1 << 28)
        hn_misuse(&program, "an even number of bodies from 512 to 2^28");
    struct barnes *s = hn_shared_alloc("barnes", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->steps = o.more;
    s->room = TOP + 2 * o.n + (size_t)o.threads * CHUNK;
    s->bodies = hn_shared_alloc("bodies", o.n * sizeof(struct body));
#if HN_SPATIAL
    s->moving = hn_shared_alloc("moving", o.n * sizeof(struct body));
    s->cells = hn_shared_alloc("cells", o.n * sizeof(uint16_t));
    s->links = hn_shared_alloc("links", CELLS * sizeof(uint32_t));
#elif HN_LOCKED
    s->locks = hn_shared_alloc("locks", LOCKS * sizeof(hn_lock));
    for (unsigned l = 0; l < LOCKS; l++)
        hn_lock_init(&s->locks[l]);
#else
    s->cubes = hn_shared_alloc("cubes", o.n);
#endif
    s->nodes = hn_shared_alloc("nodes", s->room * sizeof(struct node));
    hn_lock_init(&s->lock);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_verdicts(&s->parts[0].verdict, sizeof s->parts[0], o.threads, &checksum);
    int status = hn_result(&program, &o, ok && s->ok, checksum);
    hn_shared_free(s->nodes);
#if HN_SPATIAL
    hn_shared_free(s->links);
    hn_shared_free(s->cells);
    hn_shared_free(s->moving);
#elif HN_LOCKED
    hn_shared_free(s->locks);
#else
    hn_shared_free(s->cubes);
#endif
    hn_shared_free(s->bodies);
    hn_shared_free(s);
    return status;
}
