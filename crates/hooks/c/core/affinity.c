/* Which processors the program asks for: that decides where a report binds its threads. A call is noted if it succeeds,
 * and if it fails because this host lacks the processors: on the machine that the program was written for it would have
 * succeeded. What is asked for in other ways (OpenMP runtimes make system calls of their own) is seen when the thread or
 * its process ends. */
#include <errno.h>
#include <sched.h>
#include <sys/sysinfo.h>

#include "os.h"
#include "real.h"
#include "runtime.h"

#define WORDS_MAX (HN_EVENT_PAYLOAD_MAX * 2)

/* What the process was started with. */
static uint64_t first_mask[WORDS_MAX];
static unsigned first_words;

/* The processors that the kernel lets a thread run on; returns the number of words, 0 if it does not say. */
static unsigned current(uint32_t tid, uint64_t mask[WORDS_MAX]) {
    for (unsigned i = 0; i < WORDS_MAX; i++)
        mask[i] = 0;
    long bytes = os(SYS_sched_getaffinity, tid, WORDS_MAX * sizeof *mask, mask);
    return os_failed(bytes) ? 0 : (unsigned)bytes / sizeof *mask;
}

static void put(struct hn_thread *t, uint32_t target, uint64_t how, const uint64_t *mask, unsigned words) {
    unsigned used = 0;
    for (unsigned i = 0; i < words && i < WORDS_MAX; i++)
        used = mask[i] ? i + 1 : used;
    unsigned payload = (used + 1) / 2;
    uint64_t *slot = used ? hnrt_reserve(t, 1 + payload) : NULL;
    if (!slot)
        return;
    slot[0] = hnrt_event_word(HN_EVENT_AFFINITY, target, payload);
    slot[1] = how;
    for (unsigned i = 0; i < payload * 2; i++)
        slot[2 + i] = i < used ? mask[i] : 0;
    hnrt_commit(t, 1 + payload);
}

/* The process begins. That it may use all processors goes without saying. */
void hnrt_affinity_began(struct hn_thread *t) {
    unsigned set = 0;
    first_words = current(0, first_mask);
    for (unsigned i = 0; i < first_words; i++)
        set += (unsigned)__builtin_popcountll(first_mask[i]);
    int cpus = get_nprocs();
    if (t->recording && set && cpus > 0 && set < (unsigned)cpus)
        put(t, t->index, HN_AFFINITY_INHERITED, first_mask, first_words);
}

/* The thread with this ring was asked to run there, by whichever thread this is. */
static void asked(uint32_t target, size_t bytes, const void *mask) {
    struct hn_thread *t = hnrt_recording();
    if (!t || target == HN_NO_PARENT || !mask)
        return;
    uint64_t words[WORDS_MAX] = {0};
    size_t whole = bytes < sizeof words ? bytes : sizeof words;
    for (size_t i = 0; i < whole; i++)
        words[i / 8] |= (uint64_t)((const uint8_t *)mask)[i] << i % 8 * 8;
    put(t, target, HN_AFFINITY_CALL, words, WORDS_MAX);
    hnrt_thread_bound(target);
}

/* The thread is about to be created with these attributes. */
void hnrt_affinity_creating(struct hn_thread *child, const pthread_attr_t *attributes) {
    uint64_t mask[WORDS_MAX];
    if (!attributes || !child->real || pthread_attr_getaffinity_np(attributes, sizeof mask, (cpu_set_t *)mask))
        return;
    bool all = true; /* what the library says when nothing was asked for */
    for (unsigned i = 0; i < WORDS_MAX; i++)
        all = all && mask[i] == UINT64_MAX;
    if (!all)
        asked(child->index, sizeof mask, mask);
}

/* A thread ends, or is left behind by its process; `t` is the one that says so. If it runs elsewhere than its process
 * began and no call says why, that counts for its whole life. */
void hnrt_affinity_seen(struct hn_thread *t, const struct hn_thread *of) {
    uint64_t mask[WORDS_MAX];
    if (hnrt_placed_by_us(of))
        return;
    unsigned words = of->bound || !of->real || !first_words ? 0 : current(of->tid, mask);
    bool differs = false;
    for (unsigned i = 0; i < words; i++)
        differs = differs || mask[i] != first_mask[i];
    if (differs)
        put(t, of->index, HN_AFFINITY_SEEN, mask, words);
}

static bool noted(int error) {
    return error == 0 || error == EINVAL;
}

INTERPOSE int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *mask) {
    struct hn_thread *t = hnrt_self;
    uint32_t target = pid == 0 ? (t ? t->index : HN_NO_PARENT) : hnrt_thread_index((uint32_t)pid, 0);
    int failed = REAL(sched_setaffinity)(pid, bytes, mask), error = errno;
    if (noted(failed ? error : 0))
        asked(target, bytes, mask);
    errno = error;
    return failed;
}

INTERPOSE int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *mask) {
    uint32_t target = hnrt_thread_index(0, thread);
    int error = REAL(pthread_setaffinity_np)(thread, bytes, mask);
    if (noted(error))
        asked(target, bytes, mask);
    return error;
}
