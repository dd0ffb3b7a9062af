/* Quicksort as tasks, of Bolosky's thesis (1993, section 2.2.12): a task splits its keys, forks a task for the upper
 * side and goes on with the lower one; ten keys or fewer are bubble sorted, so 20000 keys make some 2000 tasks. Tasks go to processors at random, so lines and pages of keys go
 * wherever the next task runs.
 *
 * HN_BOTH: a task forks both sides and ends. HN_ALONE: tasks run one at a time.
 *
 * The self-check is that the result ascends and has the same sum of mixed keys. Who sorts what depends on the seed and
 * the thread count, the result does not. */
#include "presto.h"

static const struct hn_program program = {
    .summary = "Quicksort by tasks that go to random processors.",
    .n_means = "number of keys",
    .more = 'r',
    .more_means = "seed of the dealing",
    .xs = {2000, 1},
    .s = {20000, 1},
    .m = {100000, 1},
    .p = {20000, 1},
};

#ifndef HN_BOTH
#define HN_BOTH 0
#endif
#ifndef HN_ALONE
#define HN_ALONE 0
#endif

#define SMALL 10u

struct qsort {
    struct presto presto;
    uint32_t *keys;
    size_t n;
    hn_lock *alone;
    bool *busy; /* by thread and parity of the round: whether it had tasks; a line each */
};

static uint32_t key_at(size_t i) {
    return (uint32_t)(hn_mix(i) >> 32);
}

static void bubble_sort(uint32_t *keys, uint32_t from, uint32_t to) {
    for (uint32_t end = to; end > from + 1; end--)
        for (uint32_t i = from; i + 1 < end; i++)
            if (keys[i] > keys[i + 1]) {
                uint32_t swap = keys[i];
                keys[i] = keys[i + 1];
                keys[i + 1] = swap;
            }
}

/* Hoare's partition around the middle key: no key before the returned place is above one from there on; neither side is
 * empty. */
static uint32_t split(uint32_t *keys, uint32_t from, uint32_t to) {
    uint32_t pivot = keys[from + (to - from - 1) / 2], i = from, j = to - 1;
    for (;; i++, j--) {
        while (keys[i] < pivot)
            i++;
        while (keys[j] > pivot)
            j--;
        if (i >= j)
            break;
        uint32_t swap = keys[i];
        keys[i] = keys[j];
        keys[j] = swap;
    }
    return i > from ? i : from + 1;
}

/* Forks the upper side and goes on with the lower one, or forks that, too. */
static void perform(const struct qsort *s, unsigned t, unsigned round, uint32_t from, uint32_t to) {
    bool leaves = false;
    while (to - from > SMALL && !leaves) {
        uint32_t middle = split(s->keys, from, to);
        presto_fork(&s->presto, t, round + 1, middle, to);
        leaves = HN_BOTH;
        if (leaves)
            presto_fork(&s->presto, t, round + 1, from, middle);
        to = middle;
    }
    if (!leaves)
        bubble_sort(s->keys, from, to);
}

/* All tasks left to thread `t` for a round; how many there were. */
static uint32_t run(const struct qsort *s, unsigned t, unsigned round) {
    uint32_t count = 0;
    for (unsigned from = 0; from < s->presto.threads; from++) {
        struct presto_box *box = presto_box(&s->presto, round, from, t);
        for (uint32_t i = 0; i < box->count; i++) {
            if (HN_ALONE)
                hn_lock_acquire(s->alone);
            perform(s, t, round, box->tasks[i][0], box->tasks[i][1]);
            if (HN_ALONE)
                hn_lock_release(s->alone);
        }
        count += box->count;
        box->count = 0;
    }
    return count;
}

static bool *busy_flag(const struct qsort *s, unsigned t, unsigned round) {
    return s->busy + (2 * (size_t)t + round % 2) * HN_LINE_BYTES;
}

static void work(unsigned t, unsigned threads, void *shared) {
    const struct qsort *s = shared;
    hn_barrier *barrier = (hn_barrier *)&s->presto.barrier;
    thesis_begin(barrier, t);
    if (t == 0) {
        for (size_t i = 0; i < s->n; i++)
            s->keys[i] = key_at(i);
        presto_fork(&s->presto, 0, 0, 0, (uint32_t)s->n);
    }
    hn_barrier_wait(barrier);
    bool more = true;
    for (unsigned round = 0; more; round++) {
        *busy_flag(s, t, round) = run(s, t, round) > 0;
        hn_barrier_wait(barrier);
        more = false;
        for (unsigned other = 0; other < threads; other++)
            more = *busy_flag(s, other, round) || more;
    }
    thesis_end(barrier, t);
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n > 1 << 28)
        hn_misuse(&program, "at most 2^28 keys");
    struct qsort *s = thesis_control("qsort", sizeof *s);
    presto_init(&s->presto, o.threads, o.more, o.n / (o.threads > 8 ? 8 : o.threads) + 2);
    s->n = o.n;
    s->keys = thesis_alloc("keys", o.n * sizeof(uint32_t));
    if (HN_ALONE) {
        s->alone = thesis_control("alone", sizeof *s->alone);
        hn_lock_init(s->alone);
    }
    s->busy = thesis_alloc("busy", 2 * (size_t)o.threads * HN_LINE_BYTES);
    hn_run(o.threads, work, s);
    if (HN_DAMAGE)
        s->keys[0] ^= 1;
    struct hn_sorted part = {.before = 0};
    for (size_t i = 0; i < o.n; i++)
        part.before += hn_mix(key_at(i));
    hn_verify_sorted(&part, s->keys, 0, o.n);
    uint64_t checksum;
    bool ok = hn_all_sorted(&part, 1, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    thesis_free();
    return status;
}
