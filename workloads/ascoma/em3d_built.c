/* em3d as a program of the AS-COMA study (Kuo and others 1998, section 4.2): a bipartite graph in eight parts, a thread's each,
 * and of every hundred edges so many, -b, come from a node of another part. A node is a record of 24 bytes and has ten edges
 * of 16 bytes; building needs 64 bytes of each node and 16 of each edge more: some 400 bytes a node, as the pages of its table 5 say. The graph is built together,
 * each thread looking at the nodes that its own read from: that precedes the measured updates. Of the pages of others that a thread ever looks at,
 * those of records are then read again and again: a fourth to a third, as its table 6 says, which is where the 24 bytes come from.
 * Compiled with HN_LINKS=21 a record has 96 bytes.
 *
 * Values are integers modulo 2^64. The self-check updates once more with one thread and compares bit by bit. The result
 * does not depend on the thread count. */
#include "hn_workload.h"

#define ITERATIONS 20u
#define DEGREE 10u
#ifndef HN_LINKS
#define HN_LINKS 3u /* words of a record that updates do not look at */
#endif
#define PARTS 8u /* nodes of the machine: whatever the number of threads, the graph is cut into so many */

static const struct hn_program program = {
    .summary = "Updates along the edges of a bipartite graph with so many remote edges.",
    .n_means = "nodes of both sides, at least 32 for each thread",
    .more = 'b',
    .more_means = "remote edges in percent, at most 100",
    .xs = {1280, 15},
    .s = {5000, 15},
    .m = {20000, 15},
    .p = {40000, 15},
};

struct edge {
    uint64_t weight;
    uint32_t from;     /* the node that this one reads from */
    uint32_t name;     /* which it has */
};

/* What was known of an edge when it was made. */
struct mark {
    uint64_t node, edge;
};

/* What was known of a node when it was made. */
struct made {
    uint64_t name, room[7];
};

struct node {
    uint64_t value;
    uint32_t name;
    uint32_t links[HN_LINKS];
};

struct em3d {
    hn_barrier barrier;
    struct node *nodes[2];
    struct edge *edges[2]; /* DEGREE for each node */
    struct mark *marks[2]; /* of each edge */
    struct made *made[2];  /* of each node */
    size_t n;              /* nodes of one side */
    unsigned remote;
    bool ok;
    struct hn_verdict verdicts[];
};

static uint64_t first_value(unsigned side, size_t i) {
    return hn_mix(2 * (uint64_t)i + side);
}

/* The node that edge `edge` of node i comes from: one of its own part, or of another one. */
static uint32_t source_of(const struct em3d *s, unsigned side, size_t i, size_t edge) {
    uint64_t noise = hn_mix(hn_mix(2 * i + side) + edge);
    unsigned of = 0;
    while (hn_part(s->n, of + 1, PARTS) <= i)
        of++;
    if (noise % 100 < s->remote)
        of = (of + 1 + (unsigned)((noise >> 8) % (PARTS - 1))) % PARTS;
    size_t from = hn_part(s->n, of, PARTS), to = hn_part(s->n, of + 1, PARTS);
    return (uint32_t)(from + ((noise >> 32) * (to - from) >> 32));
}

static void make_nodes(struct em3d *s, unsigned side, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        struct node *node = &s->nodes[side][i];
        node->value = first_value(side, i);
        node->name = (uint32_t)i;
        for (size_t k = 0; k < HN_LINKS; k++)
            node->links[k] = 0;
        s->made[side][i] = (struct made){.name = i};
        for (size_t e = i * DEGREE; e < (i + 1) * DEGREE; e++) {
            s->edges[side][e] = (struct edge){.weight = hn_mix(first_value(side, i) + e) >> 48};
            s->marks[side][e] = (struct mark){i, e};
        }
    }
}

/* The edges into the thread's nodes of one side. */
static void connect(struct em3d *s, unsigned side, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        for (size_t e = 0; e < DEGREE; e++) {
            struct edge *edge = &s->edges[side][i * DEGREE + e];
            edge->from = source_of(s, side, i, e);
            edge->name = s->nodes[1 - side][edge->from].name ^ (uint32_t)s->made[1 - side][edge->from].name;
        }
}

static void update(struct node *mine, const struct node *sources, const struct edge *edges, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        const struct edge *edge = &edges[i * DEGREE];
        uint64_t sum = 0;
        for (size_t e = 0; e < DEGREE; e++)
            sum += edge[e].weight * sources[edge[e].from].value;
        mine[i].value -= sum;
    }
}

/* All of it again by one thread, in memory of its own. */
static bool again(const struct em3d *s) {
    struct node *copy[2];
    for (unsigned side = 0; side < 2; side++) {
        copy[side] = calloc(s->n, sizeof *copy[side]);
        if (!copy[side])
            hn_die("check", ENOMEM);
        for (size_t i = 0; i < s->n; i++)
            copy[side][i].value = first_value(side, i);
    }
    for (unsigned k = 0; k < ITERATIONS; k++)
        for (unsigned side = 0; side < 2; side++)
            update(copy[side], copy[1 - side], s->edges[side], 0, s->n);
    bool ok = true;
    for (unsigned side = 0; side < 2; side++) {
        for (size_t i = 0; i < s->n; i++)
            ok = ok && copy[side][i].value == s->nodes[side][i].value;
        free(copy[side]);
    }
    return ok;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct em3d *s = shared;
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    hn_traced_begin(&s->barrier, t);
    hn_phase_begin("build");
    make_nodes(s, 0, from, to);
    make_nodes(s, 1, from, to);
    hn_barrier_wait(&s->barrier);
    connect(s, 0, from, to);
    connect(s, 1, from, to);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("build");
    hn_phase_begin("update");
    for (unsigned k = 0; k < ITERATIONS; k++)
        for (unsigned side = 0; side < 2; side++) {
            update(s->nodes[side], s->nodes[1 - side], s->edges[side], from, to);
            hn_barrier_wait(&s->barrier);
        }
    hn_phase_end("update");
    hn_traced_end(&s->barrier, t);
    if (HN_DAMAGE && t == 0)
        s->nodes[0][0].value++;
    if (t == 0)
        s->ok = again(s);
    struct hn_verdict *verdict = &s->verdicts[t];
    verdict->ok = true;
    verdict->checksum = 0;
    for (unsigned side = 0; side < 2; side++)
        for (size_t i = from; i < to; i++)
            verdict->checksum += hn_mix(s->nodes[side][i].value ^ hn_mix(2 * i + side));
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n / 32 < o.threads || o.n > UINT32_MAX / DEGREE || o.more > 100)
        hn_misuse(&program, "32 nodes for each thread to 400 million, and 1 to 100 percent");
    struct em3d *s = hn_shared_alloc("em3d", sizeof *s + o.threads * sizeof s->verdicts[0]);
    s->n = o.n / 2;
    s->remote = (unsigned)o.more;
    for (unsigned side = 0; side < 2; side++) {
        s->nodes[side] = hn_shared_alloc("nodes", s->n * sizeof(struct node));
        s->edges[side] = hn_shared_alloc("edges", s->n * DEGREE * sizeof(struct edge));
        s->made[side] = hn_shared_alloc("made", s->n * sizeof(struct made));
        s->marks[side] = hn_shared_alloc("marks", s->n * DEGREE * sizeof(struct mark));
    }
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_verdicts(s->verdicts, sizeof s->verdicts[0], o.threads, &checksum);
    int status = hn_result(&program, &o, ok && s->ok, checksum);
    for (unsigned side = 0; side < 2; side++) {
        hn_shared_free(s->marks[side]);
        hn_shared_free(s->made[side]);
        hn_shared_free(s->edges[side]);
        hn_shared_free(s->nodes[side]);
    }
    hn_shared_free(s);
    return status;
}
