/* Sample sort of 32-bit keys (Frazer and McKellar 1970; in parallel Huang and Chow 1983): each thread sorts its part and shows a sample
 * of it. From all samples every thread finds the same keys that split what there is into as many nearly equal parts as there are threads;
 * each fetches the keys that are to be its own, in one exchange, and sorts them. Each begins with the next thread's keys, so not all read the same ones.
 *
 * The self-check is that the result ascends and has the same sum of mixed keys. The result does not depend on the thread count. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Sample sort of 32-bit keys.",
    .n_means = "number of keys",
    .more = 'b',
    .more_means = "keys of a thread's sample, at most 65536",
    .xs = {1 << 18, 64},
    .s = {1 << 21, 128},
    .m = {1 << 26, 256},
};

#define DIGITS 256u

struct ssort {
    hn_barrier barrier;
    uint32_t *keys, *sorted;
    uint32_t *samples; /* those of a thread together */
    size_t *splits;    /* for each thread a row: its keys that go to the first so many threads, or to all */
    size_t n, sample;
    struct hn_sorted parts[];
};

/* Sorts keys by 8 bits at a time, through `room`, which has room for them. */
static void sort_here(uint32_t *keys, size_t count, uint32_t *room) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
        size_t next[DIGITS] = {0}, before = 0;
        for (size_t i = 0; i < count; i++)
            next[keys[i] >> shift & (DIGITS - 1)]++;
        for (size_t d = 0; d < DIGITS; d++) {
            size_t mine = next[d];
            next[d] = before;
            before += mine;
        }
        for (size_t i = 0; i < count; i++)
            room[next[keys[i] >> shift & (DIGITS - 1)]++] = keys[i];
        uint32_t *swap = keys;
        keys = room;
        room = swap;
    }
}

/* Keys at even distances; of none the highest that there can be. */
static void show_sample(struct ssort *s, unsigned t, size_t from, size_t to) {
    for (size_t i = 0; i < s->sample; i++)
        s->samples[t * s->sample + i] = to > from ? s->keys[from + (2 * i + 1) * (to - from) / (2 * s->sample)] : UINT32_MAX;
}

/* How many of the keys, which ascend, are less than this one. */
static size_t less_than(const uint32_t *keys, size_t count, uint32_t key) {
    size_t low = 0;
    while (count > 0) {
        size_t half = count / 2;
        if (keys[low + half] < key) {
            low += half + 1;
            count -= half + 1;
        } else
            count = half;
    }
    return low;
}

/* Where the thread's keys are split, from all samples. */
static void split(struct ssort *s, unsigned t, unsigned threads, size_t from, size_t to) {
    size_t all = threads * s->sample, *mine = s->splits + t * (threads + 1);
    uint32_t *samples = malloc(2 * all * sizeof *samples);
    if (!samples)
        hn_die("samples", ENOMEM);
    memcpy(samples, s->samples, all * sizeof *samples);
    sort_here(samples, all, samples + all);
    mine[0] = 0;
    for (unsigned u = 1; u < threads; u++)
        mine[u] = less_than(s->keys + from, to - from, samples[u * s->sample]);
    mine[threads] = to - from;
    free(samples);
}

/* Fetches the keys that are to be the thread's, and returns where they begin; `count` gets how many they are. */
static size_t exchange(struct ssort *s, unsigned t, unsigned threads, size_t *count) {
    size_t begin = 0, place;
    for (unsigned u = 0; u < threads; u++)
        begin += s->splits[u * (threads + 1) + t];
    place = begin;
    for (unsigned k = 1; k <= threads; k++) {
        unsigned u = (t + k) % threads;
        const size_t *row = s->splits + u * (threads + 1);
        memcpy(s->sorted + place, s->keys + hn_part(s->n, u, threads) + row[t], (row[t + 1] - row[t]) * sizeof *s->keys);
        place += row[t + 1] - row[t];
    }
    *count = place - begin;
    return begin;
}

static uint32_t *make_room(size_t keys) {
    uint32_t *room = malloc(keys * sizeof *room + 1);
    if (!room)
        hn_die("room to sort", ENOMEM);
    return room;
}

static void sort(struct ssort *s, unsigned t, unsigned threads, size_t from, size_t to) {
    size_t count, room_for = (to - from) + (to - from) / 4;
    uint32_t *room = make_room(room_for), *more = NULL;
    sort_here(s->keys + from, to - from, room);
    show_sample(s, t, from, to);
    hn_barrier_wait(&s->barrier);
    split(s, t, threads, from, to);
    hn_barrier_wait(&s->barrier);
    size_t begin = exchange(s, t, threads, &count);
    if (count > room_for)
        more = make_room(count);
    sort_here(s->sorted + begin, count, more ? more : room);
    hn_barrier_wait(&s->barrier);
    free(more);
    free(room);
}

static void initialise(struct ssort *s, unsigned t, size_t from, size_t to) {
    uint64_t sum = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t key = (uint32_t)(hn_mix(i) >> 32);
        s->keys[i] = key;
        s->sorted[i] = 0;
        sum += hn_mix(key);
    }
    s->parts[t].before = sum;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct ssort *s = shared;
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    hn_phase_begin("initialise");
    initialise(s, t, from, to);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("sort");
    sort(s, t, threads, from, to);
    hn_phase_end("sort");
    if (HN_DAMAGE && t == 0)
        s->sorted[0] ^= 1;
    hn_phase_begin("verify");
    hn_verify_sorted(&s->parts[t], s->sorted, from, to);
    hn_phase_end("verify");
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n > UINT32_MAX || o.more > 65536)
        hn_misuse(&program, "at most 2^32 - 1 keys, samples of at most 65536");
    struct ssort *s = hn_shared_alloc("ssort", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->sample = o.more;
    s->keys = hn_shared_alloc("keys", o.n * sizeof(uint32_t));
    s->sorted = hn_shared_alloc("sorted", o.n * sizeof(uint32_t));
    s->samples = hn_shared_alloc("samples", o.threads * o.more * sizeof(uint32_t));
    s->splits = hn_shared_alloc("splits", (size_t)o.threads * (o.threads + 1) * sizeof(size_t));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_all_sorted(s->parts, o.threads, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->splits);
    hn_shared_free(s->samples);
    hn_shared_free(s->sorted);
    hn_shared_free(s->keys);
    hn_shared_free(s);
    return status;
}
