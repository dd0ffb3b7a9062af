/* Parallel radix sort of 32-bit keys, 8 bits a pass (compiled with HN_DIGIT_BITS: so many): each thread counts its part, all threads compute their own
 * offsets from all counts, each thread permutes its part into the other array.
 *
 * Keys are a function of their position; the self-check is that the result ascends and has the same sum of mixed keys.
 * The result does not depend on the thread count. Compiled with HN_BELL=1 a key is the mean of four numbers, so that
 * middling ones are frequent. Compiled with HN_LOCAL=1 a thread first puts its keys in order in memory of its own, and then
 * copies those of a digit together. */
#include "hn_workload.h"

#ifndef HN_DIGIT_BITS
#define HN_DIGIT_BITS 8
#endif
#ifndef HN_BELL
#define HN_BELL 0
#endif
#ifndef HN_LOCAL
#define HN_LOCAL 0
#endif

static const struct hn_program program = {
    .summary = "Parallel radix sort of 32-bit keys.",
    .n_means = "number of keys",
    .more = 'b',
    .more_means = "bits of a key that are sorted by: 8, 16, 24 or 32",
    .xs = {1 << 19, 32},
    .s = {1 << 22, 32},
    .m = {3 << 25, 32},
};

#define DIGITS (1u << HN_DIGIT_BITS)

struct radix {
    hn_barrier barrier;
    uint32_t *keys[2];
    uint32_t *counts; /* a row of DIGITS for each thread */
    size_t n;
    unsigned bits;
    uint32_t zero; /* not a constant, lest compilers turn the clearing loop into memset: stores then count alike */
    struct hn_sorted parts[];
};

static uint32_t key_at(size_t i, unsigned bits) {
    if (!HN_BELL)
        return (uint32_t)(hn_mix(i) >> (64 - bits));
    uint64_t sum = 0;
    for (unsigned k = 0; k < 4; k++)
        sum += hn_mix(4 * i + k) >> (64 - bits);
    return (uint32_t)(sum / 4);
}

static void count(const uint32_t *keys, size_t from, size_t to, unsigned shift, uint32_t *mine, uint32_t zero) {
    for (size_t d = 0; d < DIGITS; d++)
        mine[d] = zero;
    for (size_t i = from; i < to; i++)
        mine[keys[i] >> shift & (DIGITS - 1)]++;
}

/* Replaces the counts of thread t by the places of its first keys. The others' counts must stay as they are until
 * all have read them, hence a row of places beside the row of counts. */
static void place(const uint32_t *counts, unsigned t, unsigned threads, uint32_t *places) {
    uint32_t before = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        uint32_t mine = before;
        for (unsigned u = 0; u < threads; u++) {
            uint32_t c = counts[2 * u * DIGITS + d];
            before += c;
            mine += u < t ? c : 0;
        }
        places[d] = mine;
    }
}

#if !HN_LOCAL
static void permute(const uint32_t *from_keys, size_t from, size_t to, unsigned shift, uint32_t *places,
                    uint32_t *to_keys) {
    for (size_t i = from; i < to; i++) {
        uint32_t key = from_keys[i];
        to_keys[places[key >> shift & (DIGITS - 1)]++] = key;
    }
}

#else
/* As permute, through `own`, which has room for the part. */
static void permute_runs(const uint32_t *from_keys, size_t from, size_t to, unsigned shift, const uint32_t *counts,
                         const uint32_t *places, uint32_t *own, uint32_t *to_keys) {
    uint32_t next[DIGITS], before = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        next[d] = before;
        before += counts[d];
    }
    for (size_t i = from; i < to; i++)
        own[next[from_keys[i] >> shift & (DIGITS - 1)]++] = from_keys[i];
    for (size_t d = 0; d < DIGITS; d++)
        memcpy(to_keys + places[d], own + next[d] - counts[d], counts[d] * sizeof *own);
}
#endif

static void verify(struct radix *s, unsigned t, size_t from, size_t to, const uint32_t *keys) {
    uint64_t before = 0, after = 0;
    bool ok = true;
    uint32_t last = from ? keys[from - 1] : 0;
    for (size_t i = from; i < to; i++) {
        uint32_t key = keys[i];
        before += hn_mix(key_at(i, s->bits));
        after += hn_mix(key);
        ok &= last <= key;
        last = key;
    }
    s->parts[t].before = before;
    s->parts[t].verdict.checksum = after;
    s->parts[t].verdict.ok = ok;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct radix *s = shared;
    size_t n = s->n, from = hn_part(n, t, threads), to = hn_part(n, t + 1, threads);
    uint32_t *source = s->keys[0], *target = s->keys[1], *mine = s->counts + 2 * t * DIGITS;
    unsigned bits = s->bits;
#if HN_LOCAL
    uint32_t *own = malloc((to - from) * sizeof *own + 1);
    if (!own)
        hn_die("own", ENOMEM);
#endif
    hn_traced_begin(&s->barrier, t);
    hn_phase_begin("initialise");
    for (size_t i = from; i < to; i++)
        source[i] = key_at(i, bits);
    hn_phase_end("initialise");
    if (HN_TRACED)
        hn_barrier_wait(&s->barrier);
    hn_phase_begin("sort");
    for (unsigned shift = 0; shift < bits; shift += HN_DIGIT_BITS) {
        count(source, from, to, shift, mine, s->zero);
        hn_barrier_wait(&s->barrier);
        place(s->counts, t, threads, mine + DIGITS);
#if HN_LOCAL
        permute_runs(source, from, to, shift, mine, mine + DIGITS, own, target);
#else
        permute(source, from, to, shift, mine + DIGITS, target);
#endif
        hn_barrier_wait(&s->barrier);
        uint32_t *swap = source;
        source = target;
        target = swap;
    }
    hn_phase_end("sort");
    hn_traced_end(&s->barrier, t);
    if (HN_DAMAGE && t == 0)
        source[0] ^= 1;
    hn_phase_begin("verify");
    verify(s, t, from, to, source);
    hn_phase_end("verify");
#if HN_LOCAL
    free(own);
#endif
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n > UINT32_MAX || (HN_DIGIT_BITS == 8 && o.more % 8) || o.more > 32)
        hn_misuse(&program, "at most 2^32 - 1 keys of 8, 16, 24 or 32 bits");
    struct radix *s = hn_shared_alloc("radix", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->bits = (unsigned)o.more;
    s->zero = 0;
    s->keys[0] = hn_shared_alloc("keys", o.n * sizeof(uint32_t));
    s->keys[1] = hn_shared_alloc("sorted", o.n * sizeof(uint32_t));
    s->counts = hn_shared_alloc("counts", 2 * (size_t)o.threads * DIGITS * sizeof(uint32_t));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_all_sorted(s->parts, o.threads, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->counts);
    hn_shared_free(s->keys[1]);
    hn_shared_free(s->keys[0]);
    hn_shared_free(s);
    return status;
}
