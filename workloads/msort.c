/* Parallel merge sort of 32-bit keys. Each thread sorts its part; then runs are merged in pairs, and every thread
 * writes an equal share of each round: where its share begins in the two runs is found by binary search (merge path:
 * Deo and Sarkar 1991). So the threads read each other's parts in every round but write their own pages only.
 *
 * Keys are a function of their position; the self-check is that the result ascends and has the same sum of mixed keys.
 * The result does not depend on the thread count. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Parallel merge sort of 32-bit keys.",
    .n_means = "number of keys",
    .more = 'b',
    .more_means = "bits of a key, at most 32",
    .xs = {1 << 18, 32},
    .s = {1 << 22, 32},
    .m = {1 << 25, 32},
};

struct msort {
    hn_barrier barrier;
    uint32_t *keys[2];
    size_t n;
    unsigned bits;
    struct hn_sorted parts[];
};

/* Two neighbouring runs, both in ascending order. */
struct pair {
    const uint32_t *left, *right;
    size_t lefts, rights; /* how many keys each has */
};

/* How many of the first `place` keys of the merged pair come from the left run; equal keys come from the left first. */
static size_t taken_from_left(struct pair p, size_t place) {
    size_t low = place > p.rights ? place - p.rights : 0, high = place < p.lefts ? place : p.lefts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p.left[middle] <= p.right[place - middle - 1])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Writes keys from..to-1 of the merged pair to target[0..]. */
static void merge(struct pair p, size_t from, size_t to, uint32_t *target) {
    size_t l = taken_from_left(p, from), r = from - l;
    for (size_t k = 0; k < to - from; k++)
        if (l < p.lefts && (r >= p.rights || p.left[l] <= p.right[r]))
            target[k] = p.left[l++];
        else
            target[k] = p.right[r++];
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Sorts one part with so many passes that a part of `longest` keys would be sorted: all threads end in the same array,
 * whose number is returned. */
static unsigned sort_part(uint32_t *const keys[2], size_t from, size_t to, size_t longest) {
    unsigned now = 0;
    for (size_t run = 1; run < longest; run *= 2) {
        for (size_t i = from; i < to; i += 2 * run) {
            size_t middle = least(i + run, to), end = least(i + 2 * run, to);
            struct pair p = {keys[now] + i, keys[now] + middle, middle - i, end - middle};
            merge(p, 0, end - i, keys[1 - now] + i);
        }
        now = 1 - now;
    }
    return now;
}

/* Merges runs of `parts` parts each; every thread writes the places of its own part. */
static void merge_share(const struct msort *s, unsigned t, unsigned threads, unsigned parts, unsigned now) {
    unsigned first = t / (2 * parts) * 2 * parts;
    unsigned between = first + parts < threads ? first + parts : threads;
    unsigned last = first + 2 * parts < threads ? first + 2 * parts : threads;
    size_t begin = hn_part(s->n, first, threads), middle = hn_part(s->n, between, threads);
    size_t end = hn_part(s->n, last, threads), from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    const uint32_t *keys = s->keys[now];
    struct pair p = {keys + begin, keys + middle, middle - begin, end - middle};
    merge(p, from - begin, to - begin, s->keys[1 - now] + from);
}

static unsigned sort(struct msort *s, unsigned t, unsigned threads) {
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    unsigned now = sort_part(s->keys, from, to, (s->n + threads - 1) / threads);
    hn_barrier_wait(&s->barrier);
    for (unsigned parts = 1; parts < threads; parts *= 2) {
        merge_share(s, t, threads, parts, now);
        hn_barrier_wait(&s->barrier);
        now = 1 - now;
    }
    return now;
}

static void initialise(struct msort *s, unsigned t, size_t from, size_t to) {
    uint64_t sum = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t key = (uint32_t)(hn_mix(i) >> (64 - s->bits));
        s->keys[0][i] = key;
        s->keys[1][i] = 0;
        sum += hn_mix(key);
    }
    s->parts[t].before = sum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct msort *s = shared;
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    hn_phase_begin("initialise");
    initialise(s, t, from, to);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("sort");
    unsigned now = sort(s, t, threads);
    hn_phase_end("sort");
    if (HN_DAMAGE && t == 0)
        s->keys[now][0] ^= 1;
    hn_phase_begin("verify");
    hn_verify_sorted(&s->parts[t], s->keys[now], from, to);
    hn_phase_end("verify");
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n > UINT32_MAX || o.more > 32)
        hn_misuse(&program, "at most 2^32 - 1 keys of at most 32 bits");
    struct msort *s = hn_shared_alloc("msort", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->bits = (unsigned)o.more;
    s->keys[0] = hn_shared_alloc("keys", o.n * sizeof(uint32_t));
    s->keys[1] = hn_shared_alloc("merged", o.n * sizeof(uint32_t));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_all_sorted(s->parts, o.threads, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->keys[1]);
    hn_shared_free(s->keys[0]);
    hn_shared_free(s);
    return status;
}
