/* Gaussian elimination without pivoting, a task for each column, of Bolosky's thesis (1993, section 2.2.11). In each step
 * the task of a column takes the pivot's multiple off it; tasks go to processors at random, and anew in each step. The
 * elements of a column lie next to each other, ten columns on a page, so a page is written by everybody in each step. The
 * inner loop makes the five reads and one write of gauss_bands.c.
 *
 * The matrix is made as in gauss_bands.c, so that the upper triangle is known to the last bit: the self-check. Who does
 * what depends on the seed and the thread count, the result does not. */
#include "thesis.h"

static const struct hn_program program = {
    .summary = "Gaussian elimination without pivoting, columns go to random processors.",
    .n_means = "rows and columns, at least 2",
    .more = 'r',
    .more_means = "seed of the dealing",
    .xs = {40, 1},
    .s = {100, 1},
    .m = {160, 1},
    .p = {100, 1},
};

typedef volatile uint32_t pointer; /* words from the matrix */

struct gauss {
    hn_barrier barrier;
    uint32_t *matrix; /* by columns, then the table of columns */
    pointer *array;
    size_t n;
    uint64_t seed;
};

static uint32_t upper(size_t n, size_t i, size_t j) {
    return (uint32_t)hn_mix(i * n + j) | (i == j);
}

static uint32_t lower(size_t i) {
    return (uint32_t)hn_mix(~(uint64_t)i);
}

static void fill(uint32_t *matrix, size_t n) {
    for (size_t j = 0; j < n; j++) {
        uint32_t above = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t mine = i <= j ? upper(n, i, j) : 0;
            matrix[j * n + i] = lower(i) * above + mine;
            above += mine;
        }
    }
}

/* Newton's iteration modulo 2^32. */
static uint32_t inverse(uint32_t odd) {
    uint32_t x = odd;
    for (unsigned i = 0; i < 5; i++)
        x *= 2 - odd * x;
    return x;
}

/* The task of column j in step k. */
static void eliminate(uint32_t *memory, pointer *array, size_t n, size_t k, size_t j) {
    pointer *columns = (pointer *)(memory + *array);
    uint32_t factor = (memory + columns[j])[k] * inverse((memory + columns[k])[k]);
    for (size_t i = k + 1; i < n; i++) {
        pointer *a = (pointer *)(memory + *array);
        (memory + a[j])[i] -= (memory + a[k])[i] * factor;
    }
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct gauss *s = shared;
    uint32_t *matrix = s->matrix;
    pointer *array = s->array;
    size_t n = s->n;
    uint64_t seed = s->seed;
    thesis_begin(&s->barrier, t);
    if (t == 0)
        fill(matrix, n);
    hn_barrier_wait(&s->barrier);
    for (size_t k = 0; k + 1 < n; k++) {
        for (size_t j = k + 1; j < n; j++)
            if (thesis_dealt(seed, k * n + j, threads) == t)
                eliminate(matrix, array, n, k, j);
        hn_barrier_wait(&s->barrier);
    }
    thesis_end(&s->barrier, t);
}

static bool verify(const uint32_t *matrix, size_t n, uint64_t *checksum) {
    bool ok = true;
    *checksum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) {
            ok = ok && matrix[j * n + i] == upper(n, i, j);
            *checksum = thesis_sum(*checksum, matrix[j * n + i]);
        }
    return ok;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 2 || o.n > 16384)
        hn_misuse(&program, "2 to 16384 rows");
    struct gauss *s = thesis_control("gauss", sizeof *s);
    s->n = o.n;
    s->seed = o.more;
    size_t words = hn_pages(o.n * o.n * sizeof(uint32_t)) / sizeof(uint32_t);
    s->matrix = thesis_alloc("matrix and table of columns", (words + o.n) * sizeof(uint32_t));
    s->array = thesis_control("array", sizeof(uint32_t));
    *s->array = (uint32_t)words;
    for (size_t j = 0; j < o.n; j++)
        s->matrix[words + j] = (uint32_t)(j * o.n);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        s->matrix[0] ^= 1;
    uint64_t checksum;
    bool ok = verify(s->matrix, o.n, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
