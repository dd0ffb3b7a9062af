/* Red-black relaxation of Laplace's equation with given edges, a band of rows for each thread (Bolosky 1993, section
 * 2.2.6): `sorbyr` goes through its band by rows; compiled with HN_COLUMNS=1, `sorbyc` goes by columns. A row is an array
 * of its own that begins on a page, found through a table, so only rows at the edges of bands are shared. A point becomes
 * the mean of its four neighbours. By rows all threads are at the top of their bands at once, and at the bottom; by
 * columns they alternate at the edges all the time.
 *
 * The self-check relaxes once more with one thread, elsewhere and after the traced phase, and compares bit by bit. The
 * result does not depend on the thread count. */
#include "thesis.h"

#ifndef HN_COLUMNS
#define HN_COLUMNS 0
#endif

static const struct hn_program program = {
    .summary = HN_COLUMNS ? "Red-black relaxation, by columns in bands of rows." : "Red-black relaxation, by rows in bands.",
    .n_means = "rows and columns, at least 3",
    .more = 'i',
    .more_means = "sweeps of both colours",
    .xs = {100, 3},
    .s = {406, 2},
    .m = {406, 8},
    .p = {406, 80},
};

/* Rows at `memory`, in doubles; the table holds where each begins. */
struct grid {
    double *memory;
    volatile uint32_t *rows;
    size_t n, stride;
};

struct sor {
    hn_barrier barrier;
    struct grid grid;
    size_t sweeps;
};

static double start_value(size_t n, size_t i, size_t j) {
    bool edge = i == 0 || j == 0 || i + 1 == n || j + 1 == n;
    return edge ? (double)(hn_mix(i * n + j) >> 44) : 0;
}

#define ROW(i) (g.memory + g.rows[i])

static inline void relax_point(struct grid g, size_t i, size_t j) {
    const double *above = ROW(i - 1), *below = ROW(i + 1);
    double *row = ROW(i);
    row[j] = 0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1]);
}

/* Inner points of rows from..to-1 with (i + j) % 2 == colour. */
static void relax(struct grid g, size_t colour, size_t from, size_t to) {
    size_t n = g.n, top = from > 1 ? from : 1, bottom = to < n - 1 ? to : n - 1;
#if HN_COLUMNS
    for (size_t j = 1; j < n - 1; j++)
        for (size_t i = top + (top + j + colour) % 2; i < bottom; i += 2)
            relax_point(g, i, j);
#else
    for (size_t i = top; i < bottom; i++)
        for (size_t j = 1 + (i + 1 + colour) % 2; j < n - 1; j += 2)
            relax_point(g, i, j);
#endif
}

static void initialise(struct grid g, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < g.n; j++)
            ROW(i)[j] = start_value(g.n, i, j);
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct sor *s = shared;
    struct grid g = s->grid;
    size_t from = hn_part(g.n, t, threads), to = hn_part(g.n, t + 1, threads), sweeps = s->sweeps;
    thesis_begin(&s->barrier, t);
    initialise(g, from, to);
    hn_barrier_wait(&s->barrier);
    for (size_t half = 0; half < 2 * sweeps; half++) {
        relax(g, half % 2, from, to);
        hn_barrier_wait(&s->barrier);
    }
    thesis_end(&s->barrier, t);
}

static struct grid make_grid(const char *name, size_t n) {
    struct grid g = {.n = n, .stride = hn_pages(n * sizeof(double)) / sizeof(double)};
    g.memory = thesis_alloc(name, n * g.stride * sizeof(double));
    g.rows = thesis_control("table of rows", n * sizeof(uint32_t));
    for (size_t i = 0; i < n; i++)
        g.rows[i] = (uint32_t)(i * g.stride);
    return g;
}

static bool verify(struct grid g, size_t sweeps, uint64_t *checksum) {
    struct grid again = make_grid("again", g.n);
    bool ok = true;
    initialise(again, 0, g.n);
    for (size_t half = 0; half < 2 * sweeps; half++)
        relax(again, half % 2, 0, g.n);
    *checksum = 0;
    for (size_t i = 0; i < g.n; i++)
        for (size_t j = 0; j < g.n; j++) {
            uint64_t found = hn_bits(g.memory[i * g.stride + j]);
            ok = ok && found == hn_bits(again.memory[i * again.stride + j]);
            *checksum = thesis_sum(*checksum, found);
        }
    return ok;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 3 || o.n > 16384)
        hn_misuse(&program, "3 to 16384 rows");
    struct sor *s = thesis_control("sor", sizeof *s);
    s->sweeps = o.more;
    s->grid = make_grid("grid", o.n);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        s->grid.memory[s->grid.stride + 1] += 0.001;
    uint64_t checksum;
    bool ok = verify(s->grid, o.more, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
