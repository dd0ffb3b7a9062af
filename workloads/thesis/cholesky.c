/* Cholesky's factorisation of a sparse matrix by fan-out, after Bolosky's thesis (1993, section 2.2.9): the five-point
 * matrix of a square grid, numbered by nested dissection, column after column in one array. A column is ready when all its
 * updates are in; ready columns go to random processors, are scaled there, and then the columns that they change are
 * updated, again by random processors. So parts of the matrix that lie together are used by everybody.
 *
 * Ready columns are taken in rounds closed by barriers, and the updates of one column in a round are one task: no task
 * shares a column that it writes, so a run depends on the seed and the thread count, and not on the host; the result
 * depends on neither.
 *
 * The self-check: with a vector of noise, L (L' r) equals A r. */
#include "thesis.h"

static const struct hn_program program = {
    .summary = "Sparse Cholesky factorisation, columns go to random processors.",
    .n_means = "rows and columns of the grid, 2 to 512",
    .more = 'r',
    .more_means = "seed of the dealing",
    .xs = {12, 1},
    .s = {32, 1},
    .m = {64, 1},
    .p = {80, 1},
};

/* Column j has its rows (the diagonal first) at begin[j]..begin[j+1]-1. */
struct matrix {
    uint32_t *begin, *rows;
    double *values;
    size_t n;
};

/* Columns by round, and for each round the columns that its columns change with the columns that do. */
struct plan {
    uint32_t *height;                  /* round of a column */
    uint32_t *first_ready, *ready;     /* by round */
    uint32_t *first_target, *targets;  /* by round */
    uint32_t *first_source, *sources;  /* by place in `targets` */
    size_t rounds;
};

struct cholesky {
    hn_barrier barrier;
    struct matrix l;
    struct plan plan;
    uint32_t *number; /* of a point of the grid */
    size_t side;
    uint64_t seed;
};

/* Numbers a rectangle: both halves first, then the line that separates them. */
static uint32_t dissect(uint32_t *number, size_t side, size_t x, size_t y, size_t w, size_t h, uint32_t next) {
    if (w == 0 || h == 0)
        return next;
    size_t cut_x = w >= h && w > 2 ? w / 2 : w, cut_y = w < h && h > 2 ? h / 2 : h;
    if (cut_x == w && cut_y == h) {
        for (size_t i = 0; i < w * h; i++)
            number[(y + i / w) * side + x + i % w] = next++;
        return next;
    }
    if (cut_x < w) {
        next = dissect(number, side, x, y, cut_x, h, next);
        next = dissect(number, side, x + cut_x + 1, y, w - cut_x - 1, h, next);
        for (size_t i = 0; i < h; i++)
            number[(y + i) * side + x + cut_x] = next++;
    } else {
        next = dissect(number, side, x, y, w, cut_y, next);
        next = dissect(number, side, x, y + cut_y + 1, w, h - cut_y - 1, next);
        for (size_t i = 0; i < w; i++)
            number[(y + cut_y) * side + x + i] = next++;
    }
    return next;
}

/* What the matrix has at (i, j) for neighbours, and on the diagonal. */
#define NEXT_TO (-1.0)
#define DIAGONAL 4.5

/* Rows of the neighbours below the diagonal of a point. */
static unsigned below(const struct cholesky *c, size_t point, uint32_t found[4]) {
    size_t side = c->side, x = point % side, y = point / side;
    size_t others[4] = {x ? point - 1 : point, x + 1 < side ? point + 1 : point, y ? point - side : point,
                        y + 1 < side ? point + side : point};
    unsigned count = 0;
    for (unsigned k = 0; k < 4; k++)
        if (c->number[others[k]] > c->number[point])
            found[count++] = c->number[others[k]];
    return count;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void *room(size_t count, size_t bytes) {
    void *memory = calloc(count ? count : 1, bytes);
    if (!memory)
        hn_die("symbolic factorisation", ENOMEM);
    return memory;
}

/* Rows of all columns of L: those of A, and those that a column's children leave below their first row. */
static void factorise_symbolically(struct cholesky *c) {
    size_t n = c->side * c->side, total = 0, limit = 64 * n;
    uint32_t *point = room(n, sizeof *point), *mark = room(n, sizeof *mark), *rows = room(limit, sizeof *rows);
    uint32_t *begin = thesis_alloc("begin", (n + 1) * sizeof *begin), *child = room(n, sizeof *child), *sibling = room(n, sizeof *sibling);
    for (size_t p = 0; p < n; p++)
        point[c->number[p]] = (uint32_t)p;
    for (uint32_t j = 0; j < n; j++) {
        uint32_t near[4], count = below(c, point[j], near);
        begin[j] = (uint32_t)total;
        if (total + n - j > limit) {
            rows = realloc(rows, (limit = 2 * limit + n) * sizeof *rows);
            if (!rows)
                hn_die("symbolic factorisation", ENOMEM);
        }
        rows[total++] = j;
        mark[j] = j + 1;
        for (uint32_t k = 0; k < count; k++)
            if (mark[near[k]] != j + 1) {
                mark[near[k]] = j + 1;
                rows[total++] = near[k];
            }
        for (uint32_t k = child[j]; k; k = sibling[k - 1])
            for (uint32_t i = begin[k - 1]; i < begin[k]; i++)
                if (rows[i] > j && mark[rows[i]] != j + 1) {
                    mark[rows[i]] = j + 1;
                    rows[total++] = rows[i];
                }
        qsort(rows + begin[j], total - begin[j], sizeof *rows, ascending);
        if (total - begin[j] > 1) {
            uint32_t parent = rows[begin[j] + 1];
            sibling[j] = child[parent];
            child[parent] = j + 1;
        }
        begin[j + 1] = (uint32_t)total;
    }
    c->l = (struct matrix){.begin = begin, .n = n};
    c->l.rows = thesis_alloc("rows", total * sizeof *rows);
    memcpy(c->l.rows, rows, total * sizeof *rows);
    c->l.values = thesis_alloc("values", total * sizeof(double));
    free(sibling);
    free(child);
    free(rows);
    free(mark);
    free(point);
}

/* The rounds: a column's is one above the highest of those that change it. */
static void make_plan(struct cholesky *c) {
    struct matrix l = c->l;
    struct plan *p = &c->plan;
    size_t n = l.n, entries = l.begin[n];
    p->height = thesis_alloc("height", n * sizeof(uint32_t));
    memset(p->height, 0, n * sizeof(uint32_t));
    for (size_t j = 0; j < n; j++) {
        if (p->height[j] + 1u > p->rounds)
            p->rounds = p->height[j] + 1u;
        for (uint32_t i = l.begin[j] + 1; i < l.begin[j + 1]; i++)
            if (p->height[l.rows[i]] <= p->height[j])
                p->height[l.rows[i]] = p->height[j] + 1;
    }
    p->first_ready = thesis_alloc("first ready", (p->rounds + 1) * sizeof(uint32_t));
    p->ready = thesis_alloc("ready", n * sizeof(uint32_t));
    p->first_target = thesis_alloc("first target", (p->rounds + 1) * sizeof(uint32_t));
    p->targets = thesis_alloc("targets", entries * sizeof(uint32_t));
    p->first_source = thesis_alloc("first source", (entries + 1) * sizeof(uint32_t));
    p->sources = thesis_alloc("sources", entries * sizeof(uint32_t));
    uint32_t ready = 0, targets = 0, sources = 0, *count = room(n, sizeof *count);
    for (uint32_t round = 0; round < p->rounds; round++) {
        p->first_ready[round] = ready;
        p->first_target[round] = targets;
        for (uint32_t j = 0; j < n; j++)
            if (p->height[j] == round)
                p->ready[ready++] = j;
        /* Counts, then places, then the columns themselves. */
        for (uint32_t k = p->first_ready[round]; k < ready; k++)
            for (uint32_t i = l.begin[p->ready[k]] + 1; i < l.begin[p->ready[k] + 1]; i++)
                if (count[l.rows[i]]++ == 0)
                    p->targets[targets++] = l.rows[i];
        qsort(p->targets + p->first_target[round], targets - p->first_target[round], sizeof(uint32_t), ascending);
        for (uint32_t k = p->first_target[round]; k < targets; k++) {
            p->first_source[k] = sources;
            sources += count[p->targets[k]];
            count[p->targets[k]] = p->first_source[k];
        }
        for (uint32_t k = p->first_ready[round]; k < ready; k++)
            for (uint32_t i = l.begin[p->ready[k]] + 1; i < l.begin[p->ready[k] + 1]; i++)
                p->sources[count[l.rows[i]]++] = p->ready[k];
        for (uint32_t k = p->first_target[round]; k < targets; k++)
            count[p->targets[k]] = 0;
    }
    p->first_ready[p->rounds] = ready;
    p->first_target[p->rounds] = targets;
    p->first_source[targets] = sources;
    free(count);
}

/* Values of A in the rows of L. */
static void fill(const struct cholesky *c, uint32_t *point) {
    struct matrix l = c->l;
    for (size_t p = 0; p < l.n; p++)
        point[c->number[p]] = (uint32_t)p;
    for (size_t j = 0; j < l.n; j++) {
        uint32_t near[4], count = below(c, point[j], near);
        for (uint32_t i = l.begin[j]; i < l.begin[j + 1]; i++) {
            double value = l.rows[i] == j ? DIAGONAL : 0;
            for (uint32_t k = 0; k < count; k++)
                value = near[k] == l.rows[i] ? NEXT_TO : value;
            l.values[i] = value;
        }
    }
}

static void scale(struct matrix l, uint32_t j) {
    double pivot = sqrt(l.values[l.begin[j]]);
    l.values[l.begin[j]] = pivot;
    for (uint32_t i = l.begin[j] + 1; i < l.begin[j + 1]; i++)
        l.values[i] /= pivot;
}

/* Takes column k's multiple off column j; rows of k below j are rows of j too. */
static void update(struct matrix l, uint32_t j, uint32_t k) {
    uint32_t i = l.begin[k] + 1, to = l.begin[j];
    while (l.rows[i] < j)
        i++;
    double factor = l.values[i];
    for (; i < l.begin[k + 1]; i++, to++) {
        while (l.rows[to] < l.rows[i])
            to++;
        l.values[to] -= factor * l.values[i];
    }
}

static void work(unsigned t, unsigned threads, void *shared) {
    const struct cholesky *c = shared;
    hn_barrier *barrier = (hn_barrier *)&c->barrier;
    struct matrix l = c->l;
    struct plan p = c->plan;
    uint64_t seed = c->seed;
    thesis_begin(barrier, t);
    for (uint32_t round = 0; round < p.rounds; round++) {
        for (uint32_t k = p.first_ready[round]; k < p.first_ready[round + 1]; k++)
            if (thesis_dealt(seed, k, threads) == t)
                scale(l, p.ready[k]);
        hn_barrier_wait(barrier);
        for (uint32_t k = p.first_target[round]; k < p.first_target[round + 1]; k++)
            if (thesis_dealt(~seed, k, threads) == t)
                for (uint32_t i = p.first_source[k]; i < p.first_source[k + 1]; i++)
                    update(l, p.targets[k], p.sources[i]);
        hn_barrier_wait(barrier);
    }
    thesis_end(barrier, t);
}

static double noise(size_t i) {
    return (double)(int64_t)hn_mix(i) * 0x1p-63;
}

/* L (L' r) beside A r. */
static bool verify(const struct cholesky *c, uint64_t *checksum) {
    struct matrix l = c->l;
    double *inner = room(l.n, sizeof *inner), *found = room(l.n, sizeof *found), worst = 0;
    *checksum = 0;
    for (size_t j = 0; j < l.n; j++)
        for (uint32_t i = l.begin[j]; i < l.begin[j + 1]; i++) {
            inner[j] += l.values[i] * noise(l.rows[i]);
            *checksum = thesis_sum(*checksum, hn_bits(l.values[i]));
        }
    for (size_t j = 0; j < l.n; j++)
        for (uint32_t i = l.begin[j]; i < l.begin[j + 1]; i++)
            found[l.rows[i]] += l.values[i] * inner[j];
    for (size_t p = 0; p < l.n; p++)
        found[c->number[p]] -= DIAGONAL * noise(c->number[p]);
    for (size_t p = 0; p < l.n; p++) {
        uint32_t near[4], count = below(c, p, near), j = c->number[p];
        for (uint32_t k = 0; k < count; k++) {
            found[near[k]] -= NEXT_TO * noise(j);
            found[j] -= NEXT_TO * noise(near[k]);
        }
    }
    for (size_t j = 0; j < l.n; j++)
        worst = fabs(found[j]) <= worst ? worst : fabs(found[j]); /* takes NaN */
    free(found);
    free(inner);
    return worst < 1e-9;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 2 || o.n > 512)
        hn_misuse(&program, "2 to 512 rows of the grid");
    struct cholesky *c = thesis_control("cholesky", sizeof *c);
    memset(c, 0, sizeof *c);
    c->side = o.n;
    c->seed = o.more;
    c->number = thesis_alloc("numbers", o.n * o.n * sizeof(uint32_t));
    dissect(c->number, o.n, 0, 0, o.n, o.n, 0);
    factorise_symbolically(c);
    make_plan(c);
    fill(c, thesis_alloc("points", o.n * o.n * sizeof(uint32_t)));
    hn_barrier_init(&c->barrier, o.threads);
    hn_run(o.threads, work, c);
    if (HN_DAMAGE)
        c->l.values[0] += 0.001;
    uint64_t checksum;
    bool ok = verify(c, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
