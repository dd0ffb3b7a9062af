/* Red-black successive over-relaxation of Laplace's equation on a square grid, rows dealt out in contiguous parts. Compiled
 * with HN_COLUMNS=1 (its repaired version `sor_cols`) columns are dealt out instead: then several threads write every page of
 * the grid, and some of its lines.
 *
 * The grid begins as u(i,j) = i^2 + j^2, whose four neighbours average u + 1 everywhere, and the border follows the
 * interior. So after any number of half sweeps all red points are u + r and all black points u + s, where r and s
 * obey a two-term recurrence: the self-check compares every point with it. The result does not depend on the thread
 * count. */
#include "hn_workload.h"

#ifndef HN_COLUMNS
#define HN_COLUMNS 0
#endif

static const struct hn_program program = {
#if HN_COLUMNS
    .summary = "Red-black successive over-relaxation, by columns.",
#else
    .summary = "Red-black successive over-relaxation, by rows.",
#endif
    .n_means = "rows and columns of the grid, at least 3",
    .more = 'i',
    .more_means = "sweeps",
    .xs = {770, 4},
    .s = {1538, 12},
    .m = {4098, 60},
};

#define OMEGA 1.25

struct sor {
    hn_barrier barrier;
    double *grid;
    size_t n, sweeps;
    struct hn_verdict verdicts[];
};

/* Rows top..bottom-1, columns left..right-1. */
struct tile {
    size_t top, bottom, left, right;
};

static struct tile tile_of(size_t n, unsigned t, unsigned threads) {
    size_t from = hn_part(n, t, threads), to = hn_part(n, t + 1, threads);
    return HN_COLUMNS ? (struct tile){0, n, from, to} : (struct tile){from, to, 0, n};
}

static double start_value(size_t i, size_t j) {
    return (double)(i * i) + (double)(j * j);
}

/* One half sweep over a tile: points with (i + j) % 2 == colour; `shift` is what the border gains. */
static void relax(double *grid, size_t n, struct tile mine, size_t colour, double shift) {
    size_t inside = mine.right < n - 1 ? mine.right : n - 1;
    for (size_t i = mine.top; i < mine.bottom; i++) {
        double *row = grid + i * n;
        size_t j = mine.left + (i + mine.left + colour) % 2;
        if (i == 0 || i == n - 1) {
            for (; j < mine.right; j += 2)
                row[j] = start_value(i, j) + shift;
            continue;
        }
        if (j == 0) {
            row[0] = start_value(i, 0) + shift;
            j = 2;
        }
        for (; j < inside; j += 2) {
            double mean = 0.25 * (row[j - n] + row[j + n] + row[j - 1] + row[j + 1]);
            row[j] += OMEGA * (mean - row[j]);
        }
        if (j == n - 1 && j < mine.right)
            row[j] = start_value(i, j) + shift;
    }
}

static void verify(struct sor *s, unsigned t, struct tile mine, const double shift[2]) {
    uint64_t checksum = 0;
    size_t n = s->n;
    double worst = 0;
    for (size_t i = mine.top; i < mine.bottom; i++)
        for (size_t j = mine.left; j < mine.right; j++) {
            double value = s->grid[i * n + j];
            worst = fmax(worst, fabs(value - start_value(i, j) - shift[(i + j) % 2]));
            checksum += hn_mix(hn_bits(value) ^ (i * n + j));
        }
    s->verdicts[t].ok = worst < 1e-5;
    s->verdicts[t].checksum = checksum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct sor *s = shared;
    double *grid = s->grid;
    size_t n = s->n, sweeps = s->sweeps;
    struct tile mine = tile_of(n, t, threads);
    double shift[2] = {0, 0};
    hn_phase_begin("initialise");
    for (size_t i = mine.top; i < mine.bottom; i++)
        for (size_t j = mine.left; j < mine.right; j++)
            grid[i * n + j] = start_value(i, j);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("relax");
    for (size_t half = 0; half < 2 * sweeps; half++) {
        size_t colour = half % 2;
        shift[colour] += OMEGA * (shift[1 - colour] + 1 - shift[colour]);
        relax(grid, n, mine, colour, shift[colour]);
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_end("relax");
    if (HN_DAMAGE && t == 0)
        grid[0] += 0.001;
    hn_phase_begin("verify");
    verify(s, t, mine, shift);
    hn_phase_end("verify");
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 3 || o.n > 1 << 20)
        hn_misuse(&program, "the grid must have 3 to 1048576 rows");
    struct sor *s = hn_shared_alloc("sor", sizeof *s + o.threads * sizeof s->verdicts[0]);
    s->n = o.n;
    s->sweeps = o.more;
    s->grid = hn_shared_alloc("grid", o.n * o.n * sizeof(double));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_verdicts(s->verdicts, sizeof s->verdicts[0], o.threads, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->grid);
    hn_shared_free(s);
    return status;
}
