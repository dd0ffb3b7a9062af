/* A key-value server: a hash table in shards, one for each thread; every request goes to the thread that owns its key.
 * A shard has its own buckets, nodes and striped locks. Each thread counts what it served in its own element of an
 * array of small structures: several elements fall into one cache line, which then travels with every request. Compiled
 * with HN_PADDED=1 (its repaired version `kv_padded`) each element has lines of its own.
 *
 * Requests are a function of their number, so the final table does not depend on the thread count: the self-check
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

#define STRIPES 32u /* of a shard */
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

struct shard {
    _Alignas(2 * HN_LINE_BYTES) hn_lock *locks;
    uint32_t *heads;
    struct node *nodes;
    struct request *requests;
    size_t used, count; /* nodes and requests */
};

struct kv {
    hn_barrier barrier;
    struct stats *stats;
    size_t keys, count;
    struct shard shards[];
};

/* One key in 16 does not exist; one request in 16 puts. */
static struct request request_at(size_t i, size_t keys) {
    uint64_t noise = hn_mix(i);
    struct request r = {.key = (uint32_t)((noise >> 32) * (keys + keys / 16) >> 32), .amount = 0};
    if (noise % 16 == 0)
        r.amount = (uint32_t)(noise >> 4 & 255) + 1;
    return r;
}

/* A part of the buckets; there are as many buckets as keys. */
struct span {
    size_t first, buckets, keys;
};

/* The bucket of a key inside the span, if it belongs there. */
static inline bool owns(struct span own, uint32_t key, size_t *bucket) {
    *bucket = (hn_mix(key) & (own.keys - 1)) - own.first; /* wraps for buckets before the first */
    return *bucket < own.buckets;
}

static void populate(struct shard *mine, struct span own) {
    size_t bucket, used = 0;
    for (size_t k = 0; k < own.keys; k++)
        used += owns(own, (uint32_t)k, &bucket);
    mine->heads = hn_shared_alloc("heads", (own.buckets + 1) * sizeof(uint32_t));
    mine->nodes = hn_shared_alloc("nodes", (used + 1) * sizeof(struct node));
    mine->used = used;
    for (size_t b = 0; b < own.buckets; b++)
        mine->heads[b] = NOBODY;
    uint32_t at = 0;
    for (size_t k = 0; k < own.keys; k++)
        if (owns(own, (uint32_t)k, &bucket)) {
            mine->nodes[at].value = 0;
            mine->nodes[at].key = (uint32_t)k;
            mine->nodes[at].next = mine->heads[bucket];
            mine->heads[bucket] = at++;
        }
}

static void receive(struct shard *mine, struct span own, size_t requests) {
    size_t bucket, count = 0, at = 0;
    for (size_t i = 0; i < requests; i++)
        count += owns(own, request_at(i, own.keys).key, &bucket);
    mine->requests = hn_shared_alloc("requests", (count + 1) * sizeof(struct request));
    mine->count = count;
    for (size_t i = 0; i < requests; i++) {
        struct request r = request_at(i, own.keys);
        if (owns(own, r.key, &bucket))
            mine->requests[at++] = r;
    }
}

/* Serves one request; whether the key exists. */
static bool serve(struct shard *mine, struct span own, struct request r) {
    size_t bucket;
    owns(own, r.key, &bucket);
    hn_lock *lock = &mine->locks[bucket % STRIPES];
    struct node *nodes = mine->nodes;
    hn_lock_acquire(lock);
    uint32_t at = mine->heads[bucket];
    while (at != NOBODY && nodes[at].key != r.key)
        at = nodes[at].next;
    if (at != NOBODY && r.amount)
        nodes[at].value += r.amount;
    hn_lock_release(lock);
    return at != NOBODY;
}

static void work(unsigned t, unsigned threads, void *shared) {
    struct kv *s = shared;
    struct shard *mine = &s->shards[t];
    struct stats *stats = &s->stats[t];
    size_t first = hn_part(s->keys, t, threads), count = s->count;
    struct span own = {.first = first, .buckets = hn_part(s->keys, t + 1, threads) - first, .keys = s->keys};
    hn_phase_begin("initialise");
    mine->locks = hn_shared_alloc("locks", STRIPES * sizeof(hn_lock));
    for (unsigned i = 0; i < STRIPES; i++)
        hn_lock_init(&mine->locks[i]);
    populate(mine, own);
    receive(mine, own, count);
    stats->requests = stats->hits = stats->added = 0;
    hn_barrier_wait(&s->barrier);
    hn_phase_end("initialise");
    hn_phase_begin("serve");
    for (size_t i = 0; i < mine->count; i++) {
        struct request r = mine->requests[i];
        bool hit = serve(mine, own, r);
        stats->requests++;
        if (hit) {
            stats->hits++;
            stats->added += r.amount;
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
        for (size_t k = 0; k < s->shards[t].used; k++) {
            const struct node *n = &s->shards[t].nodes[k];
            values += n->value;
            mixed += hn_mix(n->value ^ (uint64_t)n->key << 40);
        }
    }
    *checksum = mixed;
    return total.requests == s->count && total.hits == hits && total.added == added && values == added;
}

static void release(struct shard *shard) {
    hn_shared_free(shard->requests);
    hn_shared_free(shard->nodes);
    hn_shared_free(shard->heads);
    hn_shared_free(shard->locks);
}

int main(int argc, char **argv) {
    struct hn_options o = hn_parse(&program, argc, argv);
    if (o.more < 16 || (o.more & (o.more - 1)) || o.more > 1 << 28)
        hn_misuse(&program, "the number of keys must be a power of two from 16 to 2^28");
    struct kv *s = hn_shared_alloc("kv", sizeof *s + o.threads * sizeof s->shards[0]);
    s->count = o.n;
    s->keys = o.more;
    s->stats = hn_shared_alloc("stats", o.threads * sizeof(struct stats));
    hn_barrier_init(&s->barrier, o.threads);
    hn_run(o.threads, work, s);
    uint64_t checksum;
    if (HN_DAMAGE)
        s->stats[0].hits++;
    hn_phase_begin("verify");
    bool ok = verify(s, o.threads, &checksum);
    hn_phase_end("verify");
    int status = hn_result(&program, &o, ok, checksum);
    for (unsigned t = 0; t < o.threads; t++)
        release(&s->shards[t]);
    hn_shared_free(s->stats);
    hn_shared_free(s);
    return status;
}
