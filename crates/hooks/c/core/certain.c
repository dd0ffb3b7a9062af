/* Certain pages, where pages are drawn: those that have so many of the references that a draw without them would say little of
 * the whole. All threads look at about one in so many of their plain references, recorded or left out, so that which pages are
 * certain does not depend on which were drawn. Counts and states are of buckets of pages by their hash; whatever other pages are
 * in a certain bucket are recorded, too.
 *
 * Invariant: what is new becomes seen, what is seen may have enough once and then become certain, and what is certain stays so: it is
 * recorded from then on by all threads that have seen that. The first reference to a bucket is recorded whatever it is, as it says whose page it is. Nonsense that somebody else writes
 * into the counts changes what is recorded, and nothing else. */
#include "os.h"
#include "runtime.h"

/* Looks at the references of all pages, once there are enough, so that a page which is nearly certain has LOOKS_MIN. */
#define LOOKS 16384
#define LOOKS_MIN 32
#define GAP_MAX (UINT64_C(1) << 16)

uint8_t *hnrt_buckets;

/* References from one look to the next: a power of two, so that counts are whole. */
static uint64_t gap_of(uint64_t looked) {
    uint64_t gap = HN_LOOK_REFS;
    while (gap < GAP_MAX && gap * 2 * LOOKS <= looked)
        gap *= 2;
    return gap;
}

/* Half doublings of the least references: 0 for once to one and a half times as many, 1 up to twice, 2 up to three times. */
static uint8_t level_of(uint64_t looked) {
    uint32_t doublings = 63 - (uint32_t)__builtin_clzll(looked / HN_CERTAIN_REFS | 1);
    return (uint8_t)(2 * doublings + (looked >> doublings >= HN_CERTAIN_REFS / 2 * 3));
}

/* How many buckets may be certain: first comers leave room for those that matter longer. */
static uint32_t allowed(uint8_t level) {
    uint32_t most = 8 + 4 * level;
    return most < HN_CERTAIN_MAX ? most : HN_CERTAIN_MAX;
}

/* The state after one in which a bucket has enough. What is used much for a while only has it once. */
static uint8_t next_state(uint8_t state, uint8_t level) {
    if (state < HN_BUCKET_ONCE)
        return HN_BUCKET_ONCE + level;
    bool room = __atomic_load_n(CONTROL32(HN_CONTROL_OFF_CERTAIN), __ATOMIC_RELAXED) < allowed(level);
    return room && level >= state - HN_BUCKET_ONCE + 2 ? HN_BUCKET_CERTAIN : state;
}

static void count(uint64_t bucket, uint64_t gap, uint64_t looked) {
    uint8_t *state = hnrt_buckets + bucket, was = __atomic_load_n(state, __ATOMIC_RELAXED);
    uint32_t *count = CONTROL32(HN_CONTROL_OFF_BUCKETS) + bucket;
    if (was == HN_BUCKET_CERTAIN || __atomic_load_n(count, __ATOMIC_RELAXED) > UINT32_MAX / 2)
        return;
    uint32_t more = (uint32_t)(gap / HN_LOOK_REFS);
    uint64_t refs = (uint64_t)(__atomic_fetch_add(count, more, __ATOMIC_RELAXED) + more) * HN_LOOK_REFS;
    if (looked < HN_CERTAIN_REFS || refs < looked / HN_CERTAIN_ONE_IN || refs < LOOKS_MIN * HN_LOOK_REFS)
        return;
    uint8_t now = next_state(was, level_of(looked));
    if (now != was && __atomic_compare_exchange_n(state, &was, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        now == HN_BUCKET_CERTAIN)
        __atomic_fetch_add(CONTROL32(HN_CONTROL_OFF_CERTAIN), 1, __ATOMIC_RELAXED);
}

/* A plain reference to a page of this hash is one that is looked at. */
NOINLINE void hnrt_look(struct hn_thread *t, uint64_t hash) {
    bool begins = !t->look_at;
    uint64_t *all = CONTROL64(HN_CONTROL_OFF_LOOKED), gap = gap_of(__atomic_load_n(all, __ATOMIC_RELAXED));
    t->look_draw = t->look_draw * UINT64_C(6364136223846793005) + 2 * (uint64_t)t->index + 1;
    t->look_at = t->left_out + gap / 2 + ((t->look_draw >> 32) * gap >> 32);
    if (!begins && t->routed && !t->guard)
        count(hash >> HN_BUCKET_SHIFT, gap, __atomic_add_fetch(all, gap, __ATOMIC_RELAXED));
}

/* A plain reference to a page of this hash is recorded. */
void hnrt_look_kept(struct hn_thread *t, uint64_t hash) {
    if (t->left_out >= t->look_at)
        hnrt_look(t, hash);
    else
        t->look_at--;
    uint8_t fresh = HN_BUCKET_NEW, *state = hnrt_buckets + (hash >> HN_BUCKET_SHIFT);
    if (UNLIKELY(__atomic_load_n(state, __ATOMIC_RELAXED) == fresh))
        __atomic_compare_exchange_n(state, &fresh, HN_BUCKET_SEEN, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
