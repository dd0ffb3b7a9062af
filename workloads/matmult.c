/* Product of two square matrices of integers modulo 2^64, the plain three loops, rows of the product dealt out in contiguous
 * parts: everybody reads the whole second matrix, column by column.
 *
 * The self-check is Freivalds' (1979): with a vector r of odd noise, A (B r) must equal C r. One wrong element of C
 * never escapes, since an odd number times a difference is no multiple of 2^64; several wrong ones in a row do with
 * odds of about 2^-63. The result does not depend on the thread count. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Product of two integer matrices, the plain three loops.",
    .n_means = "rows and columns",
    .more = 'i',
    .more_means = "products, each of the one before and the second matrix",
    .xs = {200, 1},
    .s = {500, 1},
    .m = {1400, 1},
};

struct matmult {
    hn_barrier barrier;
    uint64_t *left, *right, *product;
    uint64_t *inner; /* right times the vector */
    size_t n, times;
    struct hn_verdict verdicts[];
};

static uint64_t vector_at(size_t i) {
    return hn_mix(~(uint64_t)i) | 1;
}

static void initialise(struct matmult *s, size_t from, size_t to) {
    size_t n = s->n;
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < n; j++) {
            s->left[i * n + j] = hn_mix(i * n + j);
            s->right[i * n + j] = hn_mix((n + i) * n + j);
            s->product[i * n + j] = 0;
        }
}

static void multiply(const uint64_t *left, const uint64_t *right, uint64_t *product, size_t n, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < n; j++) {
            uint64_t sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += left[i * n + k] * right[k * n + j];
            product[i * n + j] = sum;
        }
}

/* After a barrier that closes the product: `left` and `product` are the last pair. Every thread its rows. */
static void verify(struct matmult *s, unsigned t, size_t from, size_t to, const uint64_t *left, const uint64_t *product) {
    size_t n = s->n;
    uint64_t checksum = 0;
    bool ok = true;
    for (size_t i = from; i < to; i++) {
        uint64_t sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += s->right[i * n + j] * vector_at(j);
        s->inner[i] = sum;
    }
    hn_barrier_wait(&s->barrier);
    for (size_t i = from; i < to; i++) {
        uint64_t wanted = 0, found = 0;
        for (size_t j = 0; j < n; j++) {
            wanted += left[i * n + j] * s->inner[j];
            found += product[i * n + j] * vector_at(j);
            checksum += hn_mix(product[i * n + j] ^ (i * n + j));
        }
        ok = ok && wanted == found;
    }
    s->verdicts[t].ok = ok;
    s->verdicts[t].checksum = checksum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct matmult *s = shared;
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    uint64_t *left = s->left, *product = s->product;
    hn_phase_begin("initialise");
    initialise(s, from, to);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("multiply");
    for (size_t k = 0; k < s->times; k++) {
        if (k > 0) {
            uint64_t *swap = left;
            left = product;
            product = swap;
        }
        multiply(left, s->right, product, s->n, from, to);
        hn_barrier_wait(&s->barrier);
    }
    hn_phase_end("multiply");
    if (HN_DAMAGE && t == 0)
        product[0] ^= (uint64_t)1 << 63;
    hn_phase_begin("verify");
    verify(s, t, from, to, left, product);
    hn_phase_end("verify");
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n > 65536)
        hn_misuse(&program, "at most 65536 rows");
    struct matmult *s = hn_shared_alloc("matmult", sizeof *s + o.threads * sizeof s->verdicts[0]);
    s->n = o.n;
    s->times = o.more;
    s->left = hn_shared_alloc("left", o.n * o.n * sizeof(uint64_t));
    s->right = hn_shared_alloc("right", o.n * o.n * sizeof(uint64_t));
    s->product = hn_shared_alloc("product", o.n * o.n * sizeof(uint64_t));
    s->inner = hn_shared_alloc("inner", o.n * sizeof(uint64_t));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_verdicts(s->verdicts, sizeof s->verdicts[0], o.threads, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->inner);
    hn_shared_free(s->product);
    hn_shared_free(s->right);
    hn_shared_free(s->left);
    hn_shared_free(s);
    return status;
}
