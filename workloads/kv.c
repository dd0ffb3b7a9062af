/* A key-value server: a chained hash table under striped locks, requests generated beforehand, dealt out to the
 * threads in contiguous parts. Each thread counts what it served in its own element of an array of small structures:
 * several elements fall into one cache line, which then travels with every request. Compiled with HN_PADDED=1 (the
 * twin `kv_padded`) each element has lines of its own.
 *
 * A put adds to a value, so the final table depends neither on the order nor on the thread count: the self-check
 * recomputes its sum and the statistics from the requests. */
#include "hn_workload.h"

#ifndef HN_PADDED
#define HN_PADDED 0
#endif

static const struct hn_program program = {
#if HN_PADDED
    .summary = "Key-value server; statistics padded to lines.",
#else
    .summary = "Key-value server; statistics of all threads side by side.",
#endif
    .n_means = "number of requests",
    .more = 'b',
    .more_means = "number of keys, a power of two",
    .xs = {400000, 1 << 13},
    .s = {4000000, 1 << 14},
    .m = {50000000, 1 << 18},
};

#define STRIPES 256u
#define NOBODY UINT32_MAX

struct node {
    uint64_t value;
    uint32_t key, next;
};

struct request {
    uint32_t key, amount; /* amount 0: get */
};

struct stats {
#if HN_PADDED
    _Alignas(2 * HN_LINE_BYTES)
#endif
    uint64_t requests;
    uint64_t hits, added;
};

struct kv {
    hn_barrier barrier;
    hn_lock *locks;
    uint32_t *heads; /* a bucket for each key */
    struct node *nodes;
    struct request *requests;
    struct stats *stats;
    size_t keys, count;
};

/* One key in 16 does not exist; one request in 16 puts. */
static struct request request_at(size_t i, size_t keys) {
    uint64_t noise = hn_mix(i);
    struct request r = {.key = (uint32_t)((noise >> 32) * (keys + keys / 16) >> 32), .amount = 0};
    if (noise % 16 == 0)
        r.amount = (uint32_t)(noise >> 4 & 255) + 1;
    return r;
}

static size_t bucket_of(uint32_t key, size_t keys) {
    return hn_mix(key) & (keys - 1);
}

/* Thread t fills its own part of the buckets with the keys that belong there. */
static void populate(struct kv *s, unsigned t, unsigned threads) {
    size_t keys = s->keys, from = hn_part(keys, t, threads), to = hn_part(keys, t + 1, threads);
    for (size_t b = from; b < to; b++)
        s->heads[b] = NOBODY;
    for (size_t k = 0; k < keys; k++) {
        size_t b = bucket_of((uint32_t)k, keys);
        if (b < from || b >= to)
            continue;
        s->nodes[k].value = 0;
        s->nodes[k].key = (uint32_t)k;
        s->nodes[k].next = s->heads[b];
        s->heads[b] = (uint32_t)k;
    }
}

/* Serves one request; whether the key exists. */
static bool serve(struct kv *s, struct request r) {
    size_t bucket = bucket_of(r.key, s->keys);
    hn_lock *lock = &s->locks[bucket % STRIPES];
    struct node *nodes = s->nodes;
    hn_lock_acquire(lock);
    uint32_t at = s->heads[bucket];
    while (at != NOBODY && nodes[at].key != r.key)
        at = nodes[at].next;
    if (at != NOBODY && r.amount)
        nodes[at].value += r.amount;
    hn_lock_release(lock);
    return at != NOBODY;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct kv *s = shared;
    size_t from = hn_part(s->count, t, threads), to = hn_part(s->count, t + 1, threads);
    struct stats *mine = &s->stats[t];
    hn_phase_begin("initialise");
    populate(s, t, threads);
    for (size_t i = from; i < to; i++)
        s->requests[i] = request_at(i, s->keys);
    mine->requests = 0;
    mine->hits = 0;
    mine->added = 0;
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("serve");
    for (size_t i = from; i < to; i++) {
        struct request r = s->requests[i];
        bool hit = serve(s, r);
        mine->requests++;
        if (hit) {
            mine->hits++;
            mine->added += r.amount;
        }
    }
    hn_phase_end("serve");
}

static bool verify(const struct kv *s, unsigned threads, uint64_t *checksum) {
    uint64_t hits = 0, added = 0, values = 0, mixed = 0;
    struct stats total = {.requests = 0};
    for (size_t i = 0; i < s->count; i++) {
        struct request r = request_at(i, s->keys);
        hits += r.key < s->keys;
        added += r.key < s->keys ? r.amount : 0;
    }
    for (unsigned t = 0; t < threads; t++) {
        total.requests += s->stats[t].requests;
        total.hits += s->stats[t].hits;
        total.added += s->stats[t].added;
    }
    for (size_t k = 0; k < s->keys; k++) {
        values += s->nodes[k].value;
        mixed += hn_mix(s->nodes[k].value ^ (uint64_t)k << 40);
    }
    *checksum = mixed;
    return total.requests == s->count && total.hits == hits && total.added == added && values == added;
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.more < 16 || (o.more & (o.more - 1)) || o.more > 1 << 28)
        hn_misuse(&program, "the number of keys must be a power of two from 16 to 2^28");
    struct kv *s = hn_shared_alloc("kv", sizeof *s);
    s->count = o.n;
    s->keys = o.more;
    s->locks = hn_shared_alloc("locks", STRIPES * sizeof(hn_lock));
    s->heads = hn_shared_alloc("heads", o.more * sizeof(uint32_t));
    s->nodes = hn_shared_alloc("nodes", o.more * sizeof(struct node));
    s->requests = hn_shared_alloc("requests", o.n * sizeof(struct request));
    s->stats = hn_shared_alloc("stats", o.threads * sizeof(struct stats));
    for (unsigned i = 0; i < STRIPES; i++)
        hn_lock_init(&s->locks[i]);
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    hn_phase_begin("verify");
    bool ok = verify(s, o.threads, &checksum);
    hn_phase_end("verify");
    int status = hn_result(&program, &o, ok, checksum);
    hn_shared_free(s->stats);
    hn_shared_free(s->requests);
    hn_shared_free(s->nodes);
    hn_shared_free(s->heads);
    hn_shared_free(s->locks);
    hn_shared_free(s);
    return status;
}
