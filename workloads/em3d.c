/* Electromagnetic waves on an irregular grid as a bipartite graph (em3d: Culler and others 1993): each electric node is
 * updated from the magnetic nodes that its edges name, then each magnetic node from electric ones. Most edges stay near their
 * node, one in five leads anywhere.
 *
 * Values and weights are integers modulo 2^64, so sums do not depend on their order and a check can be exact. The graph
 * does not depend on the thread count, nor does the result.
 *
 * The self-check is a checksum that is carried along (Huang and Abraham 1984): with a vector r of odd noise, an update
 * changes the sum of r_i times value_i of one side by minus the sum of c_j times value_j of the other, where c is r times
 * the matrix of weights. The sums of all updates must add up to what the values say in the end. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Updates along the edges of a bipartite graph.",
    .n_means = "nodes of each side, at least 16",
    .more = 'i',
    .more_means = "updates of both sides",
    .xs = {4096, 20},
    .s = {1 << 16, 30},
    .m = {1 << 19, 80},
};

#define DEGREE 10u
#define NEAR 256u /* a near edge leads at most so far */

/* `from` and `weights` have DEGREE elements each. */
struct node {
    uint64_t value;
    uint64_t check; /* c: what one unit of this value moves on the other side */
    const uint32_t *from;
    const uint64_t *weights;
};

struct em3d {
    hn_barrier barrier;
    struct node *sides[2];
    uint32_t *from[2];
    uint64_t *weights[2];
    size_t n, steps;
    struct part {
        _Alignas(2 * HN_LINE_BYTES) uint64_t moved[2]; /* by side: sum of c_j value_j of all updates so far */
        uint64_t found[2];                             /* by side: what the values say */
        uint64_t checksum;
    } parts[];
};

static uint64_t vector_at(unsigned side, size_t i) {
    return hn_mix(~(2 * (uint64_t)i + side)) | 1;
}

static uint64_t first_value(unsigned side, size_t i) {
    return hn_mix(2 * (uint64_t)i + side);
}

/* The node that edge `edge` of node i comes from. */
static uint32_t source_of(unsigned side, size_t i, size_t edge, size_t n) {
    uint64_t noise = hn_mix(hn_mix(2 * i + side) + edge);
    if (noise % 5 == 0)
        return (uint32_t)(((noise >> 32) * n) >> 32);
    return (uint32_t)((i + n + (noise >> 32) % (2 * NEAR + 1) - NEAR % n) % n);
}

static void make_nodes(struct em3d *s, unsigned side, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        struct node *node = &s->sides[side][i];
        node->value = first_value(side, i);
        node->check = 0;
        node->from = s->from[side] + i * DEGREE;
        node->weights = s->weights[side] + i * DEGREE;
        for (size_t e = 0; e < DEGREE; e++) {
            s->from[side][i * DEGREE + e] = source_of(side, i, e, s->n);
            s->weights[side][i * DEGREE + e] = hn_mix(first_value(side, i) + e) >> 48;
        }
    }
}

/* c of the side that `side` reads from. One thread: the edges lead anywhere. */
static void make_checks(struct em3d *s, unsigned side) {
    struct node *sources = s->sides[1 - side];
    for (size_t i = 0; i < s->n; i++) {
        const struct node *node = &s->sides[side][i];
        for (size_t e = 0; e < DEGREE; e++)
            sources[node->from[e]].check += vector_at(side, i) * node->weights[e];
    }
}

static void update(struct node *mine, const struct node *sources, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        struct node *node = &mine[i];
        uint64_t sum = 0;
        for (size_t e = 0; e < DEGREE; e++)
            sum += node->weights[e] * sources[node->from[e]].value;
        node->value -= sum;
    }
}

static uint64_t weighed(const struct node *sources, size_t from, size_t to) {
    uint64_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += sources[i].check * sources[i].value;
    return sum;
}

static void verify(struct em3d *s, unsigned t, size_t from, size_t to) {
    struct part *part = &s->parts[t];
    uint64_t checksum = 0;
    for (unsigned side = 0; side < 2; side++) {
        uint64_t sum = 0;
        for (size_t i = from; i < to; i++) {
            uint64_t value = s->sides[side][i].value;
            sum += vector_at(side, i) * (first_value(side, i) - value);
            checksum += hn_mix(value ^ hn_mix(2 * i + side));
        }
        part->found[side] = sum;
    }
    part->checksum = checksum;
}

static void step(struct em3d *s, unsigned t, unsigned side, size_t from, size_t to) {
    const struct node *sources = s->sides[1 - side];
    s->parts[t].moved[side] += weighed(sources, from, to);
    update(s->sides[side], sources, from, to);
    hn_barrier_wait(&s->barrier);
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct em3d *s = shared;
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    hn_phase_begin("initialise");
    s->parts[t].moved[0] = s->parts[t].moved[1] = 0;
    make_nodes(s, 0, from, to);
    make_nodes(s, 1, from, to);
    hn_barrier_wait(&s->barrier);
    if (t == 0) {
        make_checks(s, 0);
        make_checks(s, 1);
    }
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("update");
    for (size_t k = 0; k < s->steps; k++) {
        step(s, t, 0, from, to);
        step(s, t, 1, from, to);
    }
    hn_phase_end("update");
    if (HN_DAMAGE && t == 0)
        s->sides[0][0].value++;
    hn_phase_begin("verify");
    verify(s, t, from, to);
    hn_phase_end("verify");
}

static bool balanced(const struct em3d *s, unsigned threads, uint64_t *checksum) {
    uint64_t off[2] = {0, 0};
    *checksum = 0;
    for (unsigned t = 0; t < threads; t++) {
        for (unsigned side = 0; side < 2; side++)
            off[side] += s->parts[t].moved[side] - s->parts[t].found[side];
        *checksum += s->parts[t].checksum;
    }
    return off[0] == 0 && off[1] == 0;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 16 || o.n > UINT32_MAX / DEGREE)
        hn_misuse(&program, "16 to 400 million nodes");
    struct em3d *s = hn_shared_alloc("em3d", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->steps = o.more;
    for (unsigned side = 0; side < 2; side++) {
        s->sides[side] = hn_shared_alloc("nodes", o.n * sizeof(struct node));
        s->from[side] = hn_shared_alloc("from", o.n * DEGREE * sizeof(uint32_t));
        s->weights[side] = hn_shared_alloc("weights", o.n * DEGREE * sizeof(uint64_t));
    }
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = balanced(s, o.threads, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    for (unsigned side = 0; side < 2; side++) {
        hn_shared_free(s->weights[side]);
        hn_shared_free(s->from[side]);
        hn_shared_free(s->sides[side]);
    }
    hn_shared_free(s);
    return status;
}
