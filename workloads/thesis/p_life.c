/* Conway's game of life on a torus, a band of rows for each thread, of Bolosky's thesis (1993, section 2.2.14). The world
 * is so small that a page holds the cells of several threads.
 *
 * The self-check plays once more with one thread, after the traced phase, and compares. The result does not depend on the
 * thread count. */
#include "thesis.h"

static const struct hn_program program = {
    .summary = "Conway's game of life on a small torus, in bands of rows.",
    .n_means = "rows and columns, at least 3",
    .more = 'i',
    .more_means = "generations",
    .xs = {42, 20},
    .s = {42, 100},
    .m = {42, 500},
    .p = {42, 500},
};

struct life {
    hn_barrier barrier;
    uint32_t *worlds[2];
    size_t n, generations;
};

static uint32_t born(size_t i) {
    return hn_mix(i) % 3 == 0;
}

static void generation(const uint32_t *from, uint32_t *to, size_t n, size_t top, size_t bottom) {
    for (size_t i = top; i < bottom; i++) {
        const uint32_t *above = from + (i ? i - 1 : n - 1) * n, *row = from + i * n;
        const uint32_t *below = from + (i + 1 < n ? i + 1 : 0) * n;
        for (size_t j = 0; j < n; j++) {
            size_t left = j ? j - 1 : n - 1, right = j + 1 < n ? j + 1 : 0;
            uint32_t sum = above[left] + above[j] + above[right] + row[left] + row[right] + below[left] + below[j] + below[right];
            to[i * n + j] = sum == 3 || (sum == 2 && row[j]);
        }
    }
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct life *s = shared;
    uint32_t *worlds[2] = {s->worlds[0], s->worlds[1]};
    size_t n = s->n, generations = s->generations, cells = n * n;
    size_t top = hn_part(n, t, threads), bottom = hn_part(n, t + 1, threads);
    thesis_begin(&s->barrier, t);
    if (t == 0)
        for (size_t i = 0; i < cells; i++)
            worlds[0][i] = born(i);
    hn_barrier_wait(&s->barrier);
    for (size_t g = 0; g < generations; g++) {
        generation(worlds[g % 2], worlds[(g + 1) % 2], n, top, bottom);
        hn_barrier_wait(&s->barrier);
    }
    thesis_end(&s->barrier, t);
}

static bool verify(const uint32_t *found, uint32_t *again, size_t n, size_t generations, uint64_t *checksum) {
    size_t cells = n * n;
    bool ok = true;
    for (size_t i = 0; i < cells; i++)
        again[i] = born(i);
    for (size_t g = 0; g < generations; g++)
        generation(again + g % 2 * cells, again + (g + 1) % 2 * cells, n, 0, n);
    *checksum = 0;
    for (size_t i = 0; i < cells; i++) {
        ok = ok && found[i] == again[generations % 2 * cells + i];
        *checksum = thesis_sum(*checksum, found[i]);
    }
    return ok;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n < 3 || o.n > 16384)
        hn_misuse(&program, "3 to 16384 rows");
    struct life *s = thesis_control("life", sizeof *s);
    s->n = o.n;
    s->generations = o.more;
    for (unsigned i = 0; i < 2; i++)
        s->worlds[i] = thesis_alloc("world", o.n * o.n * sizeof(uint32_t));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint32_t *last = s->worlds[o.more % 2];
    if (HN_DAMAGE)
        last[0] ^= 1;
    uint64_t checksum;
    bool ok = verify(last, thesis_alloc("again", 2 * o.n * o.n * sizeof(uint32_t)), o.n, o.more, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
