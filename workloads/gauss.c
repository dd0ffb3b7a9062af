/* Gaussian elimination with partial pivoting, rows dealt out one by one in turn. Rows are not exchanged: each step
 * remembers which row was its pivot. A row is a few hundred words, so the rows of several threads lie on
 * one page, which is the mistake of this program on machines that place pages.
 *
 * Each element is a function of its position and the right-hand side, the last column, is the row sum: the solution
 * is all ones, which is the self-check, together with the residual. Ties between pivots go to the lower row, so the result does not depend
 * on the thread count. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Gaussian elimination with partial pivoting, rows in turn.",
    .n_means = "unknowns, at least 2",
    .more = 'b',
    .more_means = "a row takes a multiple of so many elements (512: a page)",
    .xs = {256, 1},
    .s = {640, 1},
    .m = {2240, 1},
};

/* A thread's proposal for the pivot of a step. */
struct proposal {
    _Alignas(2 * HN_LINE_BYTES) double size;
    size_t row;
};

struct gauss {
    hn_barrier barrier;
    double *matrix;   /* n rows of `stride`, the right-hand side in column n */
    double *solution; /* worker 0 only */
    size_t *pivots;   /* row by step; written by worker 0 */
    bool *used;       /* by row; written by the row's owner */
    size_t n, stride;
    struct hn_verdict verdict;
    struct proposal proposals[];
};

static double element(size_t n, size_t i, size_t j) {
    return (double)(int64_t)hn_mix(i * n + j) * 0x1p-63;
}

static double side_of(size_t n, size_t i) {
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += element(n, i, j);
    return sum;
}

static void initialise(struct gauss *s, unsigned t, unsigned threads) {
    size_t n = s->n;
    for (size_t i = t; i < n; i += threads) {
        double *row = s->matrix + i * s->stride, sum = 0;
        for (size_t j = 0; j < n; j++) {
            row[j] = element(n, i, j);
            sum += row[j];
        }
        row[n] = sum;
        s->used[i] = false;
    }
}

/* The largest element of column k among the thread's own rows that no step has used. */
static void propose(struct gauss *s, unsigned t, unsigned threads, size_t k) {
    struct proposal best = {.size = -1, .row = SIZE_MAX};
    for (size_t i = t; i < s->n; i += threads) {
        double size = fabs(s->matrix[i * s->stride + k]);
        if (!s->used[i] && size > best.size) {
            best.size = size;
            best.row = i;
        }
    }
    s->proposals[t] = best;
}

/* Every thread comes to the same choice. */
static size_t choose(const struct gauss *s, unsigned threads) {
    double size = -1;
    size_t row = SIZE_MAX;
    for (unsigned u = 0; u < threads; u++) {
        struct proposal p = s->proposals[u];
        if (p.size > size || (p.size == size && p.row < row)) {
            size = p.size;
            row = p.row;
        }
    }
    return row;
}

static void eliminate(struct gauss *s, unsigned t, unsigned threads, size_t k, size_t pivot) {
    const double *source = s->matrix + pivot * s->stride;
    size_t n = s->n;
    if (pivot % threads == t)
        s->used[pivot] = true;
    for (size_t i = t; i < n; i += threads) {
        if (s->used[i])
            continue;
        double *row = s->matrix + i * s->stride, factor = row[k] / source[k];
        for (size_t j = k + 1; j <= n; j++)
            row[j] -= factor * source[j];
    }
}

static void reduce(struct gauss *s, unsigned t, unsigned threads) {
    for (size_t k = 0; k < s->n; k++) {
        propose(s, t, threads, k);
        hn_barrier_wait(&s->barrier);
        size_t pivot = choose(s, threads);
        if (t == 0)
            s->pivots[k] = pivot;
        eliminate(s, t, threads, k, pivot);
        hn_barrier_wait(&s->barrier);
    }
}

static void solve(struct gauss *s) {
    size_t n = s->n;
    for (size_t k = n; k-- > 0;) {
        const double *row = s->matrix + s->pivots[k] * s->stride;
        double sum = row[n];
        for (size_t j = k + 1; j < n; j++)
            sum -= row[j] * s->solution[j];
        s->solution[k] = sum / row[k];
    }
}

static void verify(struct gauss *s) {
    size_t n = s->n;
    double error = 0, residual = 0;
    uint64_t checksum = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = side_of(n, i);
        for (size_t j = 0; j < n; j++)
            sum -= element(n, i, j) * s->solution[j];
        residual = fmax(residual, fabs(sum));
        error = fmax(error, fabs(s->solution[i] - 1));
        checksum = hn_mix(checksum ^ hn_bits(s->solution[i]) ^ s->pivots[i]);
    }
    s->verdict.ok = residual < 1e-9 && error < 1e-6; /* false for NaN as well */
    s->verdict.checksum = checksum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct gauss *s = shared;
    hn_phase_begin("initialise");
    initialise(s, t, threads);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("eliminate");
    reduce(s, t, threads);
    hn_phase_end("eliminate");
    if (t == 0) {
        if (HN_DAMAGE)
            s->matrix[s->pivots[s->n / 2] * s->stride + s->n / 2] += 0.01;
        hn_phase_begin("solve");
        solve(s);
        hn_phase_end("solve");
        hn_phase_begin("verify");
        verify(s);
        hn_phase_end("verify");
    }
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 2 || o.n > 65535 || o.more > 65536)
        hn_misuse(&program, "2 to 65535 unknowns, and rows of a multiple of at most 65536");
    struct gauss *s = hn_shared_alloc("gauss", sizeof *s + o.threads * sizeof s->proposals[0]);
    s->n = o.n;
    s->stride = (o.n + o.more) / o.more * o.more;
    s->matrix = hn_shared_alloc("matrix", o.n * s->stride * sizeof(double));
    s->solution = hn_shared_alloc("solution", o.n * sizeof(double));
    s->pivots = hn_shared_alloc("pivots", o.n * sizeof(size_t));
    s->used = hn_shared_alloc("used", o.n * sizeof(bool));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    int status = hn_result(&program, &o, s->verdict.ok, s->verdict.checksum);
    hn_shared_free(s->used);
    hn_shared_free(s->pivots);
    hn_shared_free(s->solution);
    hn_shared_free(s->matrix);
    hn_shared_free(s);
    return status;
}
