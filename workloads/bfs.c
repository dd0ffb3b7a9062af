/* Breadth-first search of a sparse directed graph, level by level. Vertices are dealt out in contiguous parts; a thread
 * looks along the edges of its own vertices of the level and leaves each unseen target in a box for the target's owner,
 * who takes them in after a barrier. So a level needs neither locks nor atomics, and every box is written by
 * one thread and read by another.
 *
 * Degrees and targets are skewed: a few vertices have hundreds of edges, and low numbers are wanted more. The graph is a
 * function of its size. A vertex's parent is the least that reaches it, so the result does not depend on the thread count.
 *
 * The self-check: no edge skips a level; each vertex but the root has a parent one level up, with an edge to it. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Breadth-first search of a sparse graph.",
    .n_means = "vertices, at least 2",
    .more = 'b',
    .more_means = "least number of edges of a vertex; the mean is about three times that",
    .xs = {1 << 15, 3},
    .s = {1 << 20, 3},
    .m = {1 << 22, 4},
};

#define DEGREE_MAX 1024u
#define UNSEEN UINT32_MAX

struct vertex {
    uint32_t level, parent;
    size_t edges; /* where its edges begin; they end where those of the next vertex begin */
};

/* What an owner is told: `parent` has an edge to `vertex`. */
struct letter {
    uint32_t vertex, parent;
};

/* One thread's own: touched by others only as the comments say. */
struct share {
    _Alignas(2 * HN_LINE_BYTES) uint32_t *queue; /* its vertices of this level */
    size_t queued, from, to;
    size_t edges;           /* of all its vertices */
    struct letter *letters; /* sorted by receiver; receivers read them */
    size_t *boxes;          /* [threads + 1]: where each receiver's letters begin; receivers read them */
    struct hn_verdict verdict;
};

struct bfs {
    hn_barrier barrier;
    struct vertex *vertices; /* n + 1 of them */
    uint32_t *targets;
    size_t n, least, block; /* block: vertices of a thread */
    struct share shares[];
};

/* Pareto's law: a quarter as many vertices have twice the degree or more. */
static size_t degree_of(size_t u, size_t least) {
    double x = (double)(hn_mix(u) >> 11) * 0x1p-53, degree = (double)least / sqrt(1 - x) * 1.5;
    return degree < DEGREE_MAX ? (size_t)degree : DEGREE_MAX;
}

static uint32_t target_of(size_t u, size_t edge, size_t n) {
    double x = (double)(hn_mix(hn_mix(u) + edge + 1) >> 11) * 0x1p-53;
    return (uint32_t)(x * x * (double)n);
}

static void make_graph(struct bfs *s, unsigned t, unsigned threads) {
    struct share *mine = &s->shares[t];
    mine->from = (size_t)t * s->block < s->n ? (size_t)t * s->block : s->n;
    mine->to = mine->from + s->block < s->n ? mine->from + s->block : s->n;
    mine->edges = 0;
    for (size_t u = mine->from; u < mine->to; u++)
        mine->edges += degree_of(u, s->least);
    hn_barrier_wait(&s->barrier);
    size_t at = 0, all = 0;
    for (unsigned v = 0; v < threads; v++) {
        at += v < t ? s->shares[v].edges : 0;
        all += s->shares[v].edges;
    }
    if (t == 0) {
        s->targets = hn_shared_alloc("targets", all * sizeof(uint32_t));
        s->vertices[s->n].edges = all;
    }
    hn_barrier_wait(&s->barrier);
    for (size_t u = mine->from; u < mine->to; u++) {
        size_t degree = degree_of(u, s->least);
        s->vertices[u] = (struct vertex){.level = UNSEEN, .parent = UNSEEN, .edges = at};
        for (size_t e = 0; e < degree; e++)
            s->targets[at++] = target_of(u, e, s->n);
    }
}

static void make_boxes(struct bfs *s, unsigned t, unsigned threads) {
    struct share *mine = &s->shares[t];
    mine->queue = hn_shared_alloc("queue", (s->block + 1) * sizeof(uint32_t));
    mine->letters = hn_shared_alloc("letters", (mine->edges + 1) * sizeof(struct letter));
    mine->boxes = hn_shared_alloc("boxes", (threads + 1) * sizeof(size_t));
    mine->queued = 0;
    for (unsigned v = 0; v <= threads; v++)
        mine->boxes[v] = 0;
    if (t == 0) { /* the root is vertex 0 */
        s->vertices[0].level = s->vertices[0].parent = 0;
        mine->queue[mine->queued++] = 0;
    }
}

/* How many letters go to each receiver, and from that where each box begins. */
static void measure_boxes(const struct bfs *s, struct share *mine, unsigned threads) {
    for (unsigned v = 0; v <= threads; v++)
        mine->boxes[v] = 0;
    for (size_t i = 0; i < mine->queued; i++) {
        uint32_t u = mine->queue[i];
        for (size_t e = s->vertices[u].edges; e < s->vertices[u + 1].edges; e++) {
            uint32_t target = s->targets[e];
            if (s->vertices[target].level == UNSEEN)
                mine->boxes[target / s->block]++;
        }
    }
    size_t before = 0;
    for (unsigned v = 0; v <= threads; v++) {
        size_t count = mine->boxes[v];
        mine->boxes[v] = before;
        before += count;
    }
}

/* Fills the boxes; each then ends where it began, so they are moved back by one. */
static void write_letters(const struct bfs *s, struct share *mine, unsigned threads) {
    for (size_t i = 0; i < mine->queued; i++) {
        uint32_t u = mine->queue[i];
        for (size_t e = s->vertices[u].edges; e < s->vertices[u + 1].edges; e++) {
            uint32_t target = s->targets[e];
            if (s->vertices[target].level == UNSEEN)
                mine->letters[mine->boxes[target / s->block]++] = (struct letter){target, u};
        }
    }
    for (unsigned v = threads; v > 0; v--)
        mine->boxes[v] = mine->boxes[v - 1];
    mine->boxes[0] = 0;
}

/* Takes in what all others have written; the vertices seen now are the next level. */
static void read_letters(struct bfs *s, unsigned t, unsigned threads, uint32_t level) {
    struct share *mine = &s->shares[t];
    mine->queued = 0;
    for (unsigned v = 0; v < threads; v++) {
        const struct share *theirs = &s->shares[v];
        for (size_t i = theirs->boxes[t]; i < theirs->boxes[t + 1]; i++) {
            struct letter letter = theirs->letters[i];
            struct vertex *vertex = &s->vertices[letter.vertex];
            if (vertex->level == UNSEEN) {
                vertex->level = level;
                mine->queue[mine->queued++] = letter.vertex;
            }
            if (letter.parent < vertex->parent)
                vertex->parent = letter.parent;
        }
    }
}

static void search(struct bfs *s, unsigned t, unsigned threads) {
    bool more = true;
    for (uint32_t level = 1; more; level++) {
        measure_boxes(s, &s->shares[t], threads);
        write_letters(s, &s->shares[t], threads);
        hn_barrier_wait(&s->barrier);
        read_letters(s, t, threads, level);
        hn_barrier_wait(&s->barrier);
        more = false;
        for (unsigned v = 0; v < threads; v++)
            more = more || s->shares[v].queued > 0;
    }
}

static bool has_edge(const struct bfs *s, uint32_t from, uint32_t to) {
    bool found = false;
    for (size_t e = s->vertices[from].edges; e < s->vertices[from + 1].edges && !found; e++)
        found = s->targets[e] == to;
    return found;
}

static bool right_parent(const struct bfs *s, uint32_t v) {
    struct vertex vertex = s->vertices[v];
    if (vertex.level == UNSEEN)
        return vertex.parent == UNSEEN && v > 0;
    if (v == 0)
        return vertex.level == 0 && vertex.parent == 0;
    return vertex.parent < s->n && s->vertices[vertex.parent].level + 1 == vertex.level && has_edge(s, vertex.parent, v);
}

static void verify(struct bfs *s, unsigned t) {
    struct share *mine = &s->shares[t];
    uint64_t checksum = 0;
    bool ok = true;
    for (size_t u = mine->from; u < mine->to; u++) {
        struct vertex vertex = s->vertices[u];
        ok = ok && right_parent(s, (uint32_t)u);
        for (size_t e = vertex.edges; vertex.level != UNSEEN && e < s->vertices[u + 1].edges; e++)
            ok = ok && s->vertices[s->targets[e]].level <= vertex.level + 1;
        checksum += hn_mix((uint64_t)vertex.level << 32 ^ vertex.parent ^ hn_mix(u));
    }
    mine->verdict.ok = ok;
    mine->verdict.checksum = checksum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct bfs *s = shared;
    hn_phase_begin("initialise");
    make_graph(s, t, threads);
    make_boxes(s, t, threads);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("search");
    search(s, t, threads);
    hn_phase_end("search");
    if (HN_DAMAGE) {
        if (t == 0)
            s->vertices[s->n / 2].level--;
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_begin("verify");
    verify(s, t);
    hn_phase_end("verify");
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 2 || o.n > 1 << 30 || o.more > DEGREE_MAX)
        hn_misuse(&program, "2 to 2^30 vertices of at most 1024 edges");
    struct bfs *s = hn_shared_alloc("bfs", sizeof *s + o.threads * sizeof s->shares[0]);
    s->n = o.n;
    s->least = o.more;
    s->block = (o.n + o.threads - 1) / o.threads;
    s->vertices = hn_shared_alloc("vertices", (o.n + 1) * sizeof(struct vertex));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    bool ok = true;
    uint64_t checksum = 0;
    for (unsigned t = 0; t < o.threads; t++) {
        ok = ok && s->shares[t].verdict.ok;
        checksum += s->shares[t].verdict.checksum;
        hn_shared_free(s->shares[t].boxes);
        hn_shared_free(s->shares[t].letters);
        hn_shared_free(s->shares[t].queue);
    }
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->targets);
    hn_shared_free(s->vertices);
    hn_shared_free(s);
    return status;
}
