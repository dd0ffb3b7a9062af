/* Gaussian elimination of unsigned integers without pivoting, a band of rows for each thread (Bolosky 1993, section
 * 2.2.2). A band is whole pages, so nothing is shared falsely: in step k the row k is read by all. The inner loop makes
 * the five reads and one write that are told there: the array, both rows and both elements, and the element again.
 *
 * With fewer steps than rows the matrix begins as all steps before have left it, so that a short run does per step what
 * a whole one does in the mean.
 *
 * The matrix is the product of a lower triangle, whose rows have one number each and ones on the diagonal, and an upper
 * one with odd diagonal, modulo 2^32: so no pivot is even, and the self-check is that the upper triangle comes out to the
 * last bit. The result does not depend on the thread count. */
#include "thesis.h"

static const struct hn_program program = {
    .summary = "Gaussian elimination without pivoting, a band of rows a thread.",
    .n_means = "rows and columns, at least 2",
    .more = 'i',
    .more_means = "steps; fewer than all are those around the step of mean work",
    .xs = {64, 63},
    .s = {512, 6},
    .m = {512, 40},
    .p = {512, 511},
};

typedef volatile uint32_t pointer; /* words from `memory` */

struct gauss {
    hn_barrier barrier;
    uint32_t *memory; /* the matrix, then the table of its rows */
    pointer *array;   /* where the table of rows begins, on a page of its own */
    size_t n, first, steps;
};

static uint32_t upper(size_t n, size_t i, size_t j) {
    return (uint32_t)hn_mix(i * n + j) | (i == j);
}

static uint32_t lower(size_t i) {
    return (uint32_t)hn_mix(~(uint64_t)i);
}

/* Rows from..to-1 as they are after `done` steps, from column `done` on or from the diagonal: the rows above add up. */
static void fill(uint32_t *memory, size_t n, size_t done, size_t from, size_t to) {
    for (size_t j = 0; j < n; j++) {
        uint32_t above = 0;
        for (size_t i = 0; i < to; i++) {
            uint32_t mine = i <= j ? upper(n, i, j) : 0;
            if (i >= from)
                memory[i * n + j] = lower(i) * above + mine;
            above += i < done ? 0 : mine;
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

static void eliminate(uint32_t *memory, pointer *array, size_t n, size_t k, size_t from, size_t to) {
    if (to <= k + 1)
        return;
    pointer *rows = (pointer *)(memory + *array);
    uint32_t pivot = inverse((memory + rows[k])[k]);
    for (size_t i = from > k + 1 ? from : k + 1; i < to; i++) {
        uint32_t factor = (memory + rows[i])[k] * pivot;
        for (size_t j = k + 1; j < n; j++) {
            pointer *a = (pointer *)(memory + *array);
            (memory + a[i])[j] -= (memory + a[k])[j] * factor;
        }
    }
}

static void work(unsigned t, unsigned threads, void *shared) {
    const struct gauss *s = shared;
    size_t n = s->n, from = hn_part(n, t, threads), to = hn_part(n, t + 1, threads), first = s->first, steps = s->steps;
    uint32_t *memory = s->memory;
    pointer *array = s->array;
    hn_barrier *barrier = (hn_barrier *)&s->barrier;
    thesis_begin(barrier, t);
    fill(memory, n, first, from, to);
    hn_barrier_wait(barrier);
    for (size_t k = first; k < first + steps; k++) {
        eliminate(memory, array, n, k, from, to);
        hn_barrier_wait(barrier);
    }
    thesis_end(barrier, t);
}

static bool verify(const struct gauss *s, uint32_t *wanted, uint64_t *checksum) {
    size_t n = s->n, done = s->first + s->steps;
    bool ok = true;
    *checksum = 0;
    fill(wanted, n, done, 0, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i < done ? i : done; j < n; j++) {
            ok = ok && s->memory[i * n + j] == wanted[i * n + j];
            *checksum = thesis_sum(*checksum, s->memory[i * n + j]);
        }
    return ok;
}

/* Step k takes (n - k)^2 of work, and n^2 / 3 in the mean; an even one, as two rows of 512 lie on a page. */
static size_t first_step(size_t n, size_t steps) {
    size_t mean = (size_t)((double)n * (1 - sqrt(1.0 / 3))) / 2 * 2, last = n - 1 - steps;
    return mean < last ? mean : last;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 2 || o.n > 32768)
        hn_misuse(&program, "2 to 32768 rows");
    struct gauss *s = thesis_control("gauss", sizeof *s);
    size_t words = hn_pages(o.n * o.n * sizeof(uint32_t)) / sizeof(uint32_t);
    s->n = o.n;
    s->steps = o.more < o.n - 1 ? o.more : o.n - 1;
    s->first = first_step(o.n, s->steps);
    s->memory = thesis_alloc("matrix and table of rows", (words + o.n) * sizeof(uint32_t));
    s->array = thesis_control("array", sizeof(uint32_t));
    *s->array = (uint32_t)words;
    for (size_t i = 0; i < o.n; i++)
        s->memory[words + i] = (uint32_t)(i * o.n);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        s->memory[o.n * o.n - 1] ^= 1;
    uint64_t checksum;
    bool ok = verify(s, thesis_alloc("wanted", o.n * o.n * sizeof(uint32_t)), &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
