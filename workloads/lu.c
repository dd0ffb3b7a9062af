/* Blocked LU factorisation without pivoting, owner computes, blocks contiguous and dealt out in two dimensions
 * (the scheme of the SPLASH-2 kernel: Woo and others 1995, section 3).
 *
 * Each element is a function of its position, the diagonal dominates, and the right-hand side is the row sums, so the
 * solution is all ones: that is the self-check. The operations on an element happen in the same order whatever
 * the thread count, so the checksum does not depend on it.
 *
 * References to the matrix (loads and stores of double), n = nb * B, as `--expect` prints them:
 *   initialise     n^2 stores
 *   diagonal       nb blocks, sum over k = 0..B-2, m = B-1-k:   loads 1 + m + 2 m^2          stores m + m^2
 *   row panel      nb (nb-1) / 2 blocks, m as above:            loads sum_k m + 2 m B        stores sum_k m B
 *   column panel   nb (nb-1) / 2 blocks, B rows, k = 0..B-1:    loads B sum_k 2 + 2 m        stores B sum_k 1 + m
 *   interior       (nb-1) nb (2 nb - 1) / 6 blocks:             loads B^2 (1 + 2 B)          stores B^3
 *   solve          n^2 loads
 * With n = 512 and the default block that is 136.1 million (n^3 is 134.2 million). The inner loops are written so that a compiler has nothing to
 * keep in registers across iterations: what it instruments is what is written. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Blocked LU factorisation, owner computes.",
    .n_means = "rows and columns, a multiple of the block",
    .more = 'b',
    .more_means = "rows and columns of a block, at least 2",
    .xs = {256, 32},
    .s = {512, 32},
    .m = {2176, 32},
    .expects = true,
};

/* Compiled with HN_GROUPED=1 the blocks of a thread lie together. */
#ifndef HN_GROUPED
#define HN_GROUPED 0
#endif

/* Compiled with HN_ONE_INITIALISES=1 thread 0 initialises the whole matrix, and the first touch of its pages is its. */
#ifndef HN_ONE_INITIALISES
#define HN_ONE_INITIALISES 0
#endif

struct lu {
    hn_barrier barrier;
    unsigned threads;
    double *matrix; /* blocks of B x B one after the other, row by row */
    double *sides;  /* solution; worker 0 only */
    size_t n, block, blocks;
    bool ok;
    uint64_t checksum;
};

static double element(size_t n, size_t i, size_t j) {
    double noise = (double)(int64_t)hn_mix(i * n + j) * 0x1p-63;
    return i == j ? (double)n + noise : noise;
}

/* Most nearly square rows x columns = threads. */
static unsigned processor_rows(unsigned threads) {
    unsigned rows = 1;
    for (unsigned r = 1; r * r <= threads; r++)
        if (threads % r == 0)
            rows = r;
    return rows;
}

static unsigned owner(size_t i, size_t j, unsigned threads) {
    unsigned rows = processor_rows(threads), columns = threads / rows;
    return (unsigned)(i % rows) * columns + (unsigned)(j % columns);
}

static double *block_at(const struct lu *s, size_t i, size_t j) {
#if HN_GROUPED
    size_t rows = processor_rows(s->threads), columns = s->threads / rows;
    size_t across = (s->blocks + columns - 1) / columns, each = (s->blocks + rows - 1) / rows * across;
    return s->matrix + (owner(i, j, s->threads) * each + i / rows * across + j / columns) * s->block * s->block;
#endif
    return s->matrix + (i * s->blocks + j) * s->block * s->block;
}

/* target -= factor * source, elementwise. */
static inline void subtract(double *target, const double *source, double factor, size_t count) {
    for (size_t j = 0; j < count; j++)
        target[j] -= factor * source[j];
}

static void factor_diagonal(double *a, size_t b) {
    for (size_t k = 0; k + 1 < b; k++) {
        double pivot = a[k * b + k];
        for (size_t i = k + 1; i < b; i++) {
            double factor = a[i * b + k] / pivot;
            a[i * b + k] = factor;
            subtract(a + i * b + k + 1, a + k * b + k + 1, factor, b - k - 1);
        }
    }
}

static void solve_row_panel(double *a, const double *diagonal, size_t b) {
    for (size_t k = 0; k + 1 < b; k++)
        for (size_t i = k + 1; i < b; i++)
            subtract(a + i * b, a + k * b, diagonal[i * b + k], b);
}

static void solve_column_panel(double *a, const double *diagonal, size_t b) {
    for (size_t i = 0; i < b; i++)
        for (size_t k = 0; k < b; k++) {
            double factor = a[i * b + k] / diagonal[k * b + k];
            a[i * b + k] = factor;
            subtract(a + i * b + k + 1, diagonal + k * b + k + 1, factor, b - k - 1);
        }
}

static void update_interior(double *a, const double *left, const double *above, size_t b) {
    for (size_t i = 0; i < b; i++)
        for (size_t k = 0; k < b; k++)
            subtract(a + i * b, above + k * b, left[i * b + k], b);
}

static void factor(struct lu *s, unsigned t, unsigned threads) {
    size_t b = s->block, blocks = s->blocks;
    for (size_t k = 0; k < blocks; k++) {
        double *diagonal = block_at(s, k, k);
        if (owner(k, k, threads) == t)
            factor_diagonal(diagonal, b);
        hn_barrier_wait(&s->barrier);
        for (size_t i = k + 1; i < blocks; i++) {
            if (owner(k, i, threads) == t)
                solve_row_panel(block_at(s, k, i), diagonal, b);
            if (owner(i, k, threads) == t)
                solve_column_panel(block_at(s, i, k), diagonal, b);
        }
        hn_barrier_wait(&s->barrier);
        for (size_t i = k + 1; i < blocks; i++)
            for (size_t j = k + 1; j < blocks; j++)
                if (owner(i, j, threads) == t)
                    update_interior(block_at(s, i, j), block_at(s, i, k), block_at(s, k, j), b);
    }
}

static void initialise(struct lu *s, unsigned t, unsigned threads) {
    size_t b = s->block, n = s->n;
    for (size_t i = 0; i < s->blocks; i++)
        for (size_t j = 0; j < s->blocks; j++) {
            if ((HN_ONE_INITIALISES ? 0 : owner(i, j, threads)) != t)
                continue;
            double *a = block_at(s, i, j);
            for (size_t r = 0; r < b; r++)
                for (size_t c = 0; c < b; c++)
                    a[r * b + c] = element(n, i * b + r, j * b + c);
        }
}

/* sum of a[row][k] x[k], columns from..to-1 of the whole matrix. */
static double row_product(const struct lu *s, size_t row, size_t from, size_t to, const double *x) {
    size_t b = s->block;
    double sum = 0;
    for (size_t k = from; k < to; k++)
        sum += block_at(s, row / b, k / b)[row % b * b + k % b] * x[k];
    return sum;
}

static void solve_and_check(struct lu *s) {
    size_t n = s->n;
    double *x = s->sides, worst = 0;
    for (size_t i = 0; i < n; i++) {
        double side = 0;
        for (size_t j = 0; j < n; j++)
            side += element(n, i, j);
        x[i] = side - row_product(s, i, 0, i, x);
    }
    uint64_t checksum = 0;
    for (size_t i = n; i-- > 0;) {
        double pivot = block_at(s, i / s->block, i / s->block)[i % s->block * s->block + i % s->block];
        double value = (x[i] - row_product(s, i, i + 1, n, x)) / pivot;
        x[i] = value;
        worst = fmax(worst, fabs(value - 1));
        checksum = hn_mix(checksum ^ hn_bits(value) ^ hn_bits(pivot));
    }
    s->ok = worst < 1e-9; /* false for NaN as well */
    s->checksum = checksum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct lu *s = shared;
    hn_traced_begin(&s->barrier, t);
    hn_phase_begin("initialise");
    initialise(s, t, threads);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("factor");
    factor(s, t, threads);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("factor");
    hn_traced_end(&s->barrier, t);
    if (t == 0) {
        if (HN_DAMAGE)
            s->matrix[s->n] += 1;
        hn_phase_begin("verify");
        solve_and_check(s);
        hn_phase_end("verify");
    }
}

static int print_expected(uint64_t n, uint64_t b) {
    uint64_t nb = n / b, sum = b * (b - 1) / 2, squares = (b - 1) * b * (2 * b - 1) / 6; /* of m = 0..B-1 */
    uint64_t panels = nb * (nb - 1) / 2, interior = (nb - 1) * nb * (2 * nb - 1) / 6;
    uint64_t loads = nb * (b - 1 + sum + 2 * squares) + panels * (sum + 2 * b * sum) +
                     panels * b * (2 * b + 2 * sum) + interior * b * b * (1 + 2 * b) + n * n;
    uint64_t stores =
        n * n + nb * (sum + squares) + panels * b * sum + panels * b * (b + sum) + interior * b * b * b;
    printf("loads %" PRIu64 "\nstores %" PRIu64 "\nreferences %" PRIu64 "\n", loads, stores, loads + stores);
    return 0;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.more < 2 || o.n % o.more || o.n > 65536)
        hn_misuse(&program, "n must be a multiple of the block, at most 65536, and the block at least 2");
    if (o.expect)
        return print_expected(o.n, o.more);
    struct lu *s = hn_shared_alloc("lu", sizeof *s);
    s->threads = o.threads;
    s->n = o.n;
    s->block = o.more;
    s->blocks = o.n / o.more;
    /* Grouped, a thread may have a row and a column of blocks fewer than another one. */
    size_t room = HN_GROUPED ? (s->blocks + o.threads) * (s->blocks + o.threads) * o.more * o.more : o.n * o.n;
    s->matrix = hn_shared_alloc("matrix", room * sizeof(double));
    s->sides = hn_shared_alloc("sides", o.n * sizeof(double));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    int status = hn_result(&program, &o, s->ok, s->checksum);
    hn_shared_free(s->sides);
    hn_shared_free(s->matrix);
    hn_shared_free(s);
    return status;
}
