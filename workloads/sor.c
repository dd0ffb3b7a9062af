/* Red-black successive over-relaxation of Laplace's equation on a square grid, rows dealt out in contiguous parts.
 *
 * The grid begins as u(i,j) = i^2 + j^2, whose four neighbours average u + 1 everywhere, and the border follows the
 * interior. So after any number of half sweeps all red points are u + r and all black points u + s, where r and s
 * obey a two-term recurrence: the self-check compares every point with it. The result does not depend on the thread
 * count. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Red-black successive over-relaxation.",
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
    struct part {
        _Alignas(2 * HN_LINE_BYTES) uint64_t checksum;
        bool ok;
    } parts[];
};

static double start_value(size_t i, size_t j) {
    return (double)(i * i) + (double)(j * j);
}

/* One half sweep over rows from..to-1: points with (i + j) % 2 == colour; `shift` is what the border gains. */
static void relax(double *grid, size_t n, size_t from, size_t to, size_t colour, double shift) {
    for (size_t i = from; i < to; i++) {
        double *row = grid + i * n;
        size_t first = (i + colour) % 2;
        if (i == 0 || i == n - 1) {
            for (size_t j = first; j < n; j += 2)
                row[j] = start_value(i, j) + shift;
            continue;
        }
        if (first == 0)
            row[0] = start_value(i, 0) + shift;
        for (size_t j = first ? first : 2; j < n - 1; j += 2) {
            double mean = 0.25 * (row[j - n] + row[j + n] + row[j - 1] + row[j + 1]);
            row[j] += OMEGA * (mean - row[j]);
        }
        if ((n - 1) % 2 == first)
            row[n - 1] = start_value(i, n - 1) + shift;
    }
}

static void verify(struct sor *s, unsigned t, size_t from, size_t to, const double shift[2]) {
    uint64_t checksum = 0;
    size_t n = s->n;
    double worst = 0;
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < n; j++) {
            double value = s->grid[i * n + j];
            worst = fmax(worst, fabs(value - start_value(i, j) - shift[(i + j) % 2]));
            checksum += hn_mix(hn_bits(value) ^ (i * n + j));
        }
    s->parts[t].ok = worst < 1e-5;
    s->parts[t].checksum = checksum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct sor *s = shared;
    double *grid = s->grid;
    size_t n = s->n, sweeps = s->sweeps, from = hn_part(n, t, threads), to = hn_part(n, t + 1, threads);
    double shift[2] = {0, 0};
    hn_phase_begin("initialise");
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < n; j++)
            grid[i * n + j] = start_value(i, j);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("relax");
    for (size_t half = 0; half < 2 * sweeps; half++) {
        size_t colour = half % 2;
        shift[colour] += OMEGA * (shift[1 - colour] + 1 - shift[colour]);
        relax(grid, n, from, to, colour, shift[colour]);
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_end("relax");
    hn_phase_begin("verify");
    verify(s, t, from, to, shift);
    hn_phase_end("verify");
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 3 || o.n > 1 << 20)
        hn_misuse(&program, "the grid must have 3 to 1048576 rows");
    struct sor *s = hn_shared_alloc("sor", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->sweeps = o.more;
    s->grid = hn_shared_alloc("grid", o.n * o.n * sizeof(double));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    bool ok = true;
    uint64_t checksum = 0;
    for (unsigned t = 0; t < o.threads; t++) {
        ok = ok && s->parts[t].ok;
        checksum += s->parts[t].checksum;
    }
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->grid);
    hn_shared_free(s);
    return status;
}
