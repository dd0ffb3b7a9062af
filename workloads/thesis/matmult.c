/* Product of two integer matrices, of Bolosky's thesis (1993), as it was timed on the ACE (section 2.2.7): twice on one
 * processor, then once on each number of them from all down to one, so seven threads make nine products. Rows of the result
 * are dealt out in contiguous blocks among those that take part.
 *
 * With HN_TASKS 1 it is the thesis's p-matmult (section 2.2.13): once, with a task for each row of the result. Tasks go to
 * processors at random, so neighbouring rows, which lie on one page, come from several.
 *
 * The self-check is Freivalds' (1979), modulo 2^32: with a vector r of odd noise, A (B r) must equal C r. Who makes which
 * row depends on the seed and the thread count, the result does not. */
#include "thesis.h"

#ifndef HN_TASKS
#define HN_TASKS 0
#endif

static const struct hn_program program = {
    .summary = HN_TASKS ? "Product of two integer matrices, rows go to random processors."
                        : "Product of two integer matrices, on one processor and on fewer and fewer.",
    .n_means = "rows and columns",
    .more = HN_TASKS ? 'r' : 'i',
    .more_means = HN_TASKS ? "seed of the dealing" : "rounds of all numbers of processors",
    .xs = {HN_TASKS ? 40 : 24, 1},
    .s = {HN_TASKS ? 100 : 60, 1},
    .m = {HN_TASKS ? 200 : 100, 1},
    .p = {HN_TASKS ? 100 : 200, 1},
};

struct matmult {
    hn_barrier barrier;
    uint32_t *left, *right, *product;
    size_t n, more; /* more: rounds, or the seed */
};

static uint32_t value(size_t i) {
    return (uint32_t)(hn_mix(i) >> 32);
}

static void multiply(const uint32_t *left, const uint32_t *right, uint32_t *product, size_t n, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < n; j++) {
            uint32_t sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += left[i * n + k] * right[k * n + j];
            product[i * n + j] = sum;
        }
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct matmult *s = shared;
    uint32_t *left = s->left, *right = s->right, *product = s->product;
    size_t n = s->n, more = s->more;
    thesis_begin(&s->barrier, t);
    if (t == 0)
        for (size_t i = 0; i < n * n; i++) {
            left[i] = value(i);
            right[i] = value(n * n + i);
        }
    hn_barrier_wait(&s->barrier);
    for (size_t i = 0; HN_TASKS && i < n; i++)
        if (thesis_dealt(more, i, threads) == t)
            multiply(left, right, product, n, i, i + 1);
    for (size_t i = 0; !HN_TASKS && i < more; i++)
        for (unsigned run = 0; run < threads + 2; run++) {
            unsigned active = run < 2 ? 1 : threads + 2 - run;
            if (t < active)
                multiply(left, right, product, n, hn_part(n, t, active), hn_part(n, t + 1, active));
            hn_barrier_wait(&s->barrier);
        }
    thesis_end(&s->barrier, t);
}

static bool verify(const struct matmult *s, uint32_t *inner, uint64_t *checksum) {
    size_t n = s->n;
    bool ok = true;
    *checksum = 0;
    for (size_t i = 0; i < n; i++) {
        inner[i] = 0;
        for (size_t j = 0; j < n; j++)
            inner[i] += s->right[i * n + j] * (value(~(uint64_t)j) | 1);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t wanted = 0, found = 0;
        for (size_t j = 0; j < n; j++) {
            wanted += s->left[i * n + j] * inner[j];
            found += s->product[i * n + j] * (value(~(uint64_t)j) | 1);
            *checksum = thesis_sum(*checksum, s->product[i * n + j]);
        }
        ok = ok && wanted == found;
    }
    return ok;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n > 16384)
        hn_misuse(&program, "at most 16384 rows");
    struct matmult *s = thesis_control("matmult", sizeof *s);
    s->n = o.n;
    s->more = o.more;
    s->left = thesis_alloc("left", o.n * o.n * sizeof(uint32_t));
    s->right = thesis_alloc("right", o.n * o.n * sizeof(uint32_t));
    s->product = thesis_alloc("product", o.n * o.n * sizeof(uint32_t));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        s->product[0] ^= 1;
    uint64_t checksum;
    bool ok = verify(s, thesis_alloc("inner", o.n * sizeof(uint32_t)), &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
