/* Parallel sorts of Bolosky's thesis (1993, section 2.2.4): each thread sorts its piece by heap, then pieces are merged in
 * phases from one array to another and back. In `bsort` one thread of a pair drops out and the other merges both pieces;
 * compiled with HN_KMERGE=1, in `kmerge` all threads of a group merge their part of the result, which they find by
 * bisection. At 163840 and 81920 keys a piece of one of eight threads is whole pages.
 *
 * The self-check is that the result ascends and has the same sum of mixed keys. The result does not depend on the thread
 * count. */
#include "thesis.h"

#ifndef HN_KMERGE
#define HN_KMERGE 0
#endif

static const struct hn_program program = {
    .summary = HN_KMERGE ? "Heapsort of pieces, merged by all threads of a group." : "Heapsort of pieces, merged by one of a pair.",
    .n_means = "number of keys",
    .more = 'i',
    .more_means = "sorts, each of the same keys anew",
    .xs = {8192, 1},
    .s = {40960, 1},
    .m = {HN_KMERGE ? 81920 : 163840, 1},
    .p = {HN_KMERGE ? 81920 : 163840, 1},
};

struct sort {
    hn_barrier barrier;
    uint32_t *keys[2];
    size_t n, times;
    unsigned last; /* array that holds the result */
};

static uint32_t key_at(size_t i) {
    return (uint32_t)(hn_mix(i) >> 32);
}

static void sift(uint32_t *heap, size_t at, size_t count) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child] < heap[child + 1])
            child++;
        if (heap[at] >= heap[child])
            return;
        uint32_t swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

static void heapsort_keys(uint32_t *keys, size_t count) {
    for (size_t i = count / 2; i-- > 0;)
        sift(keys, i, count);
    for (size_t left = count; left > 1;) {
        uint32_t largest = keys[0];
        keys[0] = keys[--left];
        keys[left] = largest;
        sift(keys, 0, left);
    }
}

/* Merges until `count` keys are written. */
static void merge(const uint32_t *a, const uint32_t *a_end, const uint32_t *b, const uint32_t *b_end, uint32_t *to, size_t count) {
    while (count-- > 0)
        if (b == b_end || (a < a_end && *a <= *b))
            *to++ = *a++;
        else
            *to++ = *b++;
}

/* How many of the first `rank` keys of the merged whole come from the first run. */
static size_t from_first(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, size_t rank) {
    size_t low = rank > b_count ? rank - b_count : 0, high = rank < a_count ? rank : a_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (a[middle] <= b[rank - middle - 1])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The part of thread t in merging the runs of the threads first..first+2*half-1, as many as there are. */
static void phase(const struct sort *s, unsigned from, unsigned half, unsigned t, unsigned threads) {
    unsigned first = t / (2 * half) * (2 * half);
    unsigned middle = first + half < threads ? first + half : threads;
    unsigned end = first + 2 * half < threads ? first + 2 * half : threads;
    size_t low = hn_part(s->n, first, threads), high = hn_part(s->n, end, threads), split = hn_part(s->n, middle, threads);
    size_t begin = HN_KMERGE ? low + hn_part(high - low, t - first, end - first) : low;
    size_t stop = HN_KMERGE ? low + hn_part(high - low, t - first + 1, end - first) : high;
    const uint32_t *a = s->keys[from] + low, *b = s->keys[from] + split;
    size_t a_count = split - low, b_count = high - split;
    if (!HN_KMERGE && t != first)
        return;
    size_t of_a = from_first(a, a_count, b, b_count, begin - low), of_b = begin - low - of_a;
    merge(a + of_a, a + a_count, b + of_b, b + b_count, s->keys[1 - from] + begin, stop - begin);
}

static unsigned sort(const struct sort *s, hn_barrier *barrier, unsigned t, unsigned threads) {
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    for (size_t i = from; i < to; i++)
        s->keys[0][i] = key_at(i);
    heapsort_keys(s->keys[0] + from, to - from);
    hn_barrier_wait(barrier);
    unsigned array = 0;
    for (unsigned half = 1; half < threads; half *= 2, array = 1 - array) {
        phase(s, array, half, t, threads);
        hn_barrier_wait(barrier);
    }
    return array;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct sort *s = shared;
    struct sort mine = {.keys = {s->keys[0], s->keys[1]}, .n = s->n, .times = s->times};
    thesis_begin(&s->barrier, t);
    unsigned last = 0;
    for (size_t i = 0; i < mine.times; i++)
        last = sort(&mine, &s->barrier, t, threads);
    thesis_end(&s->barrier, t);
    if (t == 0)
        s->last = last;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n > UINT32_MAX)
        hn_misuse(&program, "at most 2^32 - 1 keys");
    struct sort *s = thesis_control("sort", sizeof *s);
    s->n = o.n;
    s->times = o.more;
    for (unsigned i = 0; i < 2; i++)
        s->keys[i] = thesis_alloc("keys", o.n * sizeof(uint32_t));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        s->keys[s->last][0] ^= 1;
    struct hn_sorted part = {.before = 0};
    for (size_t i = 0; i < o.n; i++)
        part.before += hn_mix(key_at(i));
    hn_verify_sorted(&part, s->keys[s->last], 0, o.n);
    uint64_t checksum;
    bool ok = hn_all_sorted(&part, 1, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
