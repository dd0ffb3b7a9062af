/* Heat spreading along the columns of a plate, rows dealt out in contiguous parts: with the commonest mistake on machines
 * with several memories. One thread fills both grids before the others begin, so under first touch every page lives
 * beside that thread. Compiled with HN_FIXED=1 (its repaired version `stencil_fixed`) each thread fills the rows it will use.
 *
 * The plate begins as u(x,y) = x^2 + y. The mean of the upper and the lower neighbour is u + 1, a cell's source adds to
 * that (it is the same along a column), and the border rows follow; so after k sweeps every cell has u + k (1 + source) exactly: that is the
 * self-check. The result does not depend on the thread count.
 *
 * HN_INNOCENT=1 adds a large array that one thread fills and only that thread uses: nothing is wrong with it.
 * HN_GLOBAL=1 makes the grids global arrays of the size that -n has at XS. */
#include "hn_workload.h"

#ifndef HN_FIXED
#define HN_FIXED 0
#endif
#ifndef HN_INNOCENT
#define HN_INNOCENT 0
#endif
#ifndef HN_GLOBAL
#define HN_GLOBAL 0
#endif

#define COLUMNS 1024u /* a row is eight pages: no page belongs to two threads */
#define ROWS_XS 576u
#define JOURNAL ((size_t)1 << 19) /* 4 MiB */

static const struct hn_program program = {
#if HN_FIXED
    .summary = "Heat along columns; each thread initialises what it uses.",
#else
    .summary = "Heat along columns; one thread initialises everything.",
#endif
    .n_means = "rows of 1024 cells, at least 3",
    .more = 'i',
    .more_means = "sweeps",
    .xs = {ROWS_XS, 12},
    .s = {1536, 16},
    .m = {5120, 80},
};

struct cell {
    double x, y, heat, source;
};

struct stencil {
    hn_barrier barrier;
    struct cell *now, *next;
    double *journal;
    size_t rows, sweeps;
    struct part {
        _Alignas(2 * HN_LINE_BYTES) uint64_t checksum;
        bool ok;
    } parts[];
};

#if HN_GLOBAL
static _Alignas(HN_PAGE_BYTES) struct cell now_grid[ROWS_XS * COLUMNS];
static _Alignas(HN_PAGE_BYTES) struct cell next_grid[ROWS_XS * COLUMNS];

static void allocate(struct stencil *s) {
    s->now = now_grid;
    s->next = next_grid;
}
#else
static void allocate(struct stencil *s) {
    s->now = hn_shared_alloc("now", s->rows * COLUMNS * sizeof(struct cell));
    s->next = hn_shared_alloc("next", s->rows * COLUMNS * sizeof(struct cell));
}
#endif

static double start_value(double x, double y) {
    return x * x + y;
}

static double source_at(size_t j) {
    return 0.25 * (double)(j % 4);
}

static void initialise(struct cell *grid, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            struct cell *c = &grid[i * COLUMNS + j];
            c->x = (double)i;
            c->y = (double)j;
            c->heat = start_value((double)i, (double)j);
            c->source = source_at(j);
        }
}

static void sweep(const struct cell *now, struct cell *next, size_t rows, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        const struct cell *row = now + i * COLUMNS, *above = row - COLUMNS, *below = row + COLUMNS;
        struct cell *after = next + i * COLUMNS;
        if (i == 0 || i == rows - 1)
            for (size_t j = 0; j < COLUMNS; j++)
                after[j].heat = row[j].heat + 1 + row[j].source;
        else
            for (size_t j = 0; j < COLUMNS; j++)
                after[j].heat = 0.5 * (above[j].heat + below[j].heat) + row[j].source;
    }
}

static void verify(struct stencil *s, unsigned t, size_t from, size_t to, const struct cell *now) {
    uint64_t checksum = 0;
    bool ok = true;
    double sweeps = (double)s->sweeps;
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            struct cell c = now[i * COLUMNS + j];
            ok &= c.x == (double)i && c.y == (double)j;
            ok &= c.heat == start_value(c.x, c.y) + sweeps * (1 + c.source);
            checksum += hn_mix(hn_bits(c.heat) ^ (i * COLUMNS + j));
        }
    s->parts[t].ok = ok;
    s->parts[t].checksum = checksum;
}

/* What one thread notes for itself in each sweep. */
static void keep_journal(double *journal, double sum) {
    for (size_t i = 0; i < JOURNAL; i++)
        journal[i] += sum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct stencil *s = shared;
    size_t rows = s->rows, sweeps = s->sweeps, from = hn_part(rows, t, threads), to = hn_part(rows, t + 1, threads);
    struct cell *now = s->now, *next = s->next;
    hn_phase_begin("initialise");
    if (HN_FIXED) {
        initialise(now, from, to);
        initialise(next, from, to);
    } else if (t == 0) {
        initialise(now, 0, rows);
        initialise(next, 0, rows);
    }
    if (HN_INNOCENT && t == 0)
        for (size_t i = 0; i < JOURNAL; i++)
            s->journal[i] = (double)i;
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("sweep");
    for (size_t k = 1; k <= sweeps; k++) {
        sweep(now, next, rows, from, to);
        if (HN_INNOCENT && t == 0)
            keep_journal(s->journal, (double)k);
        hn_barrier_wait(&s->barrier);
        struct cell *swap = now;
        now = next;
        next = swap;
    }
    hn_phase_end("sweep");
    if (HN_DAMAGE && t == 0)
        now[0].heat += 0.25;
    hn_phase_begin("verify");
    verify(s, t, from, to, now);
    hn_phase_end("verify");
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 3 || o.n > 1 << 20 || (HN_GLOBAL && o.n > ROWS_XS))
        hn_misuse(&program, "the grid must have 3 to 1048576 rows, and fit");
    struct stencil *s = hn_shared_alloc("stencil", sizeof *s + o.threads * sizeof s->parts[0]);
    s->rows = o.n;
    s->sweeps = o.more;
    allocate(s);
    s->journal = HN_INNOCENT ? hn_shared_alloc("journal", JOURNAL * sizeof(double)) : NULL;
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    bool ok = true;
    uint64_t checksum = 0;
    for (unsigned t = 0; t < o.threads; t++) {
        ok = ok && s->parts[t].ok;
        checksum += s->parts[t].checksum;
    }
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->journal);
    if (!HN_GLOBAL) {
        hn_shared_free(s->next);
        hn_shared_free(s->now);
    }
    hn_shared_free(s);
    return status;
}
