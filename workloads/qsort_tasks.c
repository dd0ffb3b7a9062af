/* Quicksort as many small tasks from one shared queue: whichever thread comes first takes the next span of keys,
 * splits it and queues the halves. No key stays with a thread, so nothing can be placed well, and the
 * queue and its lock travel with every task. That is deliberate: programs of light-weight threads on old shared-memory
 * machines behaved so.
 *
 * Work goes in rounds: a round's tasks are the halves that the round before left, and a barrier ends it, so nobody ever
 * spins on an empty queue. Who sorts what depends on the run; the result does not, nor on the thread count: the
 * self-check is that it ascends and has the same sum of mixed keys. */
#include "hn_workload.h"

static const struct hn_program program = {
    .summary = "Quicksort on a shared queue of many small tasks.",
    .n_means = "number of keys",
    .more = 'b',
    .more_means = "keys of a task that is sorted at once, at least 4",
    .xs = {1 << 18, 48},
    .s = {1 << 22, 48},
    .m = {1 << 25, 48},
};

/* Keys from..to-1, at least two. */
struct task {
    size_t from, to;
};

struct queue {
    hn_lock lock;
    struct task *tasks;
    size_t taken, count;
};

struct qsort {
    hn_barrier barrier;
    uint32_t *keys;
    struct queue queues[2];
    size_t n, small;
    struct hn_sorted parts[];
};

static void push(struct queue *q, size_t from, size_t to) {
    if (to - from < 2)
        return;
    hn_lock_acquire(&q->lock);
    q->tasks[q->count++] = (struct task){from, to};
    hn_lock_release(&q->lock);
}

/* False: the round has no task left. */
static bool take(struct queue *q, struct task *task) {
    hn_lock_acquire(&q->lock);
    bool found = q->taken < q->count;
    if (found)
        *task = q->tasks[q->taken++];
    hn_lock_release(&q->lock);
    return found;
}

static void insert_sorted(uint32_t *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint32_t key = keys[i];
        size_t j = i;
        for (; j > 0 && keys[j - 1] > key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

static uint32_t median(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Hoare's partition: keys before the returned place are at most those from there on; neither side is empty. */
static size_t split(uint32_t *keys, size_t count) {
    uint32_t pivot = median(keys[0], keys[(count - 1) / 2], keys[count - 1]);
    size_t i = 0, j = count - 1;
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
    return i > 0 ? i : 1;
}

static void perform(struct qsort *s, struct task task, struct queue *next) {
    uint32_t *keys = s->keys + task.from;
    size_t count = task.to - task.from;
    if (count <= s->small) {
        insert_sorted(keys, count);
        return;
    }
    size_t middle = task.from + split(keys, count);
    push(next, task.from, middle);
    push(next, middle, task.to);
}

/* Two barriers a round: no thread queues into a queue that another still takes from. */
static void sort(struct qsort *s, unsigned t) {
    struct queue *now = &s->queues[0], *next = &s->queues[1];
    struct task task;
    for (bool more = true; more;) {
        while (take(now, &task))
            perform(s, task, next);
        hn_barrier_wait(&s->barrier);
        more = next->count > 0;
        if (t == 0)
            now->taken = now->count = 0;
        hn_barrier_wait(&s->barrier);
        struct queue *swap = now;
        now = next;
        next = swap;
    }
}

static void initialise(struct qsort *s, unsigned t, size_t from, size_t to) {
    uint64_t sum = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t key = (uint32_t)(hn_mix(i) >> 32);
        s->keys[i] = key;
        sum += hn_mix(key);
    }
    s->parts[t].before = sum;
    if (t == 0)
        push(&s->queues[0], 0, s->n);
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct qsort *s = shared;
    size_t from = hn_part(s->n, t, threads), to = hn_part(s->n, t + 1, threads);
    hn_phase_begin("initialise");
    initialise(s, t, from, to);
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("sort");
    sort(s, t);
    hn_phase_end("sort");
    if (HN_DAMAGE && t == 0)
        s->keys[0] ^= 1;
    hn_phase_begin("verify");
    hn_verify_sorted(&s->parts[t], s->keys, from, to);
    hn_phase_end("verify");
}

static void make_queue(struct queue *q, size_t n) {
    hn_lock_init(&q->lock);
    q->taken = q->count = 0;
    q->tasks = hn_shared_alloc("tasks", (n / 2 + 1) * sizeof(struct task));
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.n > UINT32_MAX || o.more < 4)
        hn_misuse(&program, "at most 2^32 - 1 keys, at least 4 in a small task");
    struct qsort *s = hn_shared_alloc("qsort", sizeof *s + o.threads * sizeof s->parts[0]);
    s->n = o.n;
    s->small = o.more;
    s->keys = hn_shared_alloc("keys", o.n * sizeof(uint32_t));
    make_queue(&s->queues[0], o.n);
    make_queue(&s->queues[1], o.n);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    bool ok = hn_all_sorted(s->parts, o.threads, &checksum);
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->queues[1].tasks);
    hn_shared_free(s->queues[0].tasks);
    hn_shared_free(s->keys);
    hn_shared_free(s);
    return status;
}
