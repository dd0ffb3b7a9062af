/* Threads: which ring each writes to, when it begins and when it ends. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "os.h"
#include "real.h"
#include "runtime.h"

static struct hn_thread *threads; /* all that ever were; an ended one is used again once its kernel thread is gone */
static uint32_t threads_lock;
static pthread_key_t key;

static void lock_threads(void) {
    while (__atomic_exchange_n(&threads_lock, 1, __ATOMIC_ACQUIRE))
        os(SYS_sched_yield);
}

static void unlock_threads(void) {
    __atomic_store_n(&threads_lock, 0, __ATOMIC_RELEASE);
}

void hnrt_threads_lock(void) {
    lock_threads();
}

void hnrt_threads_unlock(void) {
    unlock_threads();
}

struct hn_thread *hnrt_threads_first(void) {
    return threads;
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static void add(uint64_t offset, uint64_t n) {
    if (n)
        __atomic_fetch_add(CONTROL64(offset), n, __ATOMIC_RELAXED);
}

/* Brings what the scratch rings have counted to the control block. May run for another thread at process end; a
 * count is then as exact as that thread's last store. */
void hnrt_flush(struct hn_thread *t) {
    uint64_t all = hnrt_scratch_count(&t->scratch), n = all - t->scratch.flushed;
    t->scratch.flushed = all;
    if (t->purpose == FOR_COUNT)
        add(HN_CONTROL_OFF_COUNTED, n);
    if (t->purpose == FOR_DROPPED) {
        add(HN_CONTROL_OFF_DROPPED, n);
        if (t->real)
            t->real->dropped += n;
    }
    all = hnrt_scratch_count(&t->in_signal);
    add(HN_CONTROL_OFF_SIGNAL_REFS, all - t->in_signal.flushed);
    t->in_signal.flushed = all;
    add(HN_CONTROL_OFF_WIDE, t->wide);
    t->wide = 0;
    uint64_t left_out = t->left_out - t->left_out_told;
    t->left_out_told += left_out;
    if (t->routed)
        add(HN_CONTROL_OFF_LEFT_OUT, left_out);
    else if (t->purpose == FOR_DROPPED)
        add(HN_CONTROL_OFF_DROPPED, left_out);
}

void hnrt_flush_all(void) {
    lock_threads();
    for (struct hn_thread *t = threads; t; t = t->next)
        hnrt_flush(t);
    unlock_threads();
}

/* ---- routing ----------------------------------------------------------------------------------------------------- */

static uint8_t scratch_purpose(bool live, bool open) {
    if (!hnrt_attached || !open)
        return FOR_NOTHING;
    if (!hnrt_record)
        return FOR_COUNT;
    return live ? FOR_NOTHING : FOR_DROPPED;
}

/* Points the calling thread's references to where they belong now. Everything follows from the thread's state,
 * nothing is saved and restored, so that a fork or a longjmp in a signal handler cannot bring back a ring that is
 * gone. */
void hnrt_route(struct hn_thread *t) {
    hnrt_settle(t);
    hnrt_flush(t);
    t->roi_seen = __atomic_load_n(&hnrt_roi_generation, __ATOMIC_ACQUIRE);
    bool live = t->real && !t->ended && !t->stopped, open = hnrt_roi_open();
    t->recording = live && !t->signal;
    t->routed = live && open && !t->signal;
    if (t->signal) {
        hnrt_ring = &t->in_signal.ring;
    } else if (live && open) {
        hnrt_ring = hnrt_pages_drawn && !t->settling ? &t->staged.ring : t->real;
    } else {
        t->purpose = scratch_purpose(live, open);
        hnrt_ring = &t->scratch.ring;
    }
}

/* ---- begin ------------------------------------------------------------------------------------------------------- */

static bool kernel_thread_gone(const struct hn_thread *t) {
    return os(SYS_tgkill, hnrt_pid, t->tid, 0) == -ESRCH;
}

/* An ended thread may still run destructors that make references, so its memory is free only when the kernel says
 * so. */
static struct hn_thread *recycled(void) {
    struct hn_thread *found = NULL;
    unsigned tries = 8;
    lock_threads();
    for (struct hn_thread *t = threads; t && tries && !found; t = t->next)
        if (t->ended && !t->real && tries-- && kernel_thread_gone(t))
            found = t;
    if (found)
        found->ended = false;
    unlock_threads();
    return found;
}

static void clear(struct hn_thread *t) {
    struct hn_thread *next = t->next;
    hnrt_flush(t);
    for (size_t i = 0; i < sizeof *t / 8; i++)
        ((uint64_t *)t)[i] = 0;
    t->next = next;
}

/* A thread without a ring, known to the registry; NULL if there is no memory. */
struct hn_thread *hnrt_thread_new(void) {
    struct hn_thread *t = recycled();
    if (t) {
        clear(t);
    } else {
        long address = os(SYS_mmap, 0, sizeof *t, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (os_failed(address))
            return NULL;
        t = (struct hn_thread *)address;
        lock_threads();
        t->next = threads;
        threads = t;
        unlock_threads();
    }
    hnrt_scratch_reset(&t->scratch);
    hnrt_scratch_reset(&t->in_signal);
    hnrt_scratch_reset(&t->staged);
    t->index = HN_NO_PARENT;
    return t;
}

/* Creates the ring of a claimed index for a thread that has not begun. */
void hnrt_thread_give_ring(struct hn_thread *t, uint32_t index) {
    t->index = index;
    if (index == HN_NO_PARENT)
        return;
    t->real = hnrt_ring_create(index);
    if (!t->real)
        t->index = HN_NO_PARENT;
}

/* The calling thread becomes `t`. */
void hnrt_thread_enter(struct hn_thread *t) {
    t->tid = (uint32_t)os(SYS_gettid);
    t->handle = pthread_self();
    if (t->real) {
        *(uint32_t *)(hnrt_entry(t->index) + HN_ENTRY_OFF_TID) = t->tid;
        t->stopped = t->again ? t->stopped : !hnrt_open_batch(t);
    }
    hnrt_self = t;
    hnrt_route(t);
}

static void put_process(struct hn_thread *t) {
    uint64_t *slot = hnrt_reserve(t, 2);
    if (!slot)
        return;
    slot[0] = hnrt_event_word(HN_EVENT_PROCESS, hnrt_pid, 1);
    slot[1] = hnrt_parent_pid;
    slot[2] = 0;
    slot[3] = os_stamp();
    hnrt_commit(t, 2);
}

/* First events of a process: who it is, where it may run, what is mapped. */
void hnrt_process_begin(struct hn_thread *t) {
    if (t->recording)
        put_process(t);
    hnrt_affinity_began(t);
    if (t->recording)
        hnrt_modules_scan(t);
    hnrt_thread_began(t);
}

static void *thread_main(void *argument) {
    struct hn_thread *t = argument;
    hnrt_thread_enter(t);
    hnrt_thread_key_set(t);
    hnrt_thread_began(t);
    return t->start(t->start_argument);
}

static int thread_main_c11(void *argument) {
    struct hn_thread *t = argument;
    hnrt_thread_enter(t);
    hnrt_thread_key_set(t);
    hnrt_thread_began(t);
    return t->start_c11(t->start_argument);
}

/* A thread that no pthread_create of ours announced: the initial one, or one made by clone(2). */
struct hn_thread *hnrt_thread_attach(void) {
    static uint32_t attached;
    hnrt_init();
    if (hnrt_self)
        return hnrt_self;
    struct hn_thread *t = hnrt_thread_new();
    if (!t)
        return NULL;
    if (hnrt_record && !hnrt_confined)
        hnrt_thread_give_ring(t, hnrt_ring_claim(HN_NO_PARENT));
    hnrt_thread_enter(t);
    hnrt_thread_key_set(t);
    if (!__atomic_exchange_n(&attached, 1, __ATOMIC_RELAXED)) {
        hnrt_at_attach(t);
        hnrt_process_begin(t);
    } else if (t->recording) {
        hnrt_acquire(t, &hnrt_unannounced, 0, HN_SYNC_THREAD);
    }
    return t;
}

/* ---- end --------------------------------------------------------------------------------------------------------- */

/* Ends the calling thread's recording. What it still does goes to its scratch ring. */
void hnrt_thread_end(struct hn_thread *t) {
    if (t->recording)
        hnrt_affinity_seen(t, t);
    hnrt_at_thread_end(t);
    if (t->owns_pool)
        hnrt_pool_over(t);
    if (t->recording) {
        hnrt_release(t, (void *)pthread_self(), 0, HN_SYNC_JOIN);
        if (t->recording)
            hnrt_event(t, HN_EVENT_EXIT, 0, os_stamp());
    }
    struct hn_ring *ring = t->real;
    t->ended = true;
    hnrt_route(t);
    t->real = NULL;
    if (ring) {
        hnrt_ring_unmap(ring);
        hnrt_entry_done(t->index);
    }
}

/* Takes back a thread whose creation failed. */
void hnrt_thread_discard(struct hn_thread *t) {
    if (t->real) {
        hnrt_ring_unmap(t->real);
        hnrt_entry_done(t->index);
        t->real = NULL;
    }
    t->tid = INT32_MAX; /* no such thread: free at once */
    t->ended = true;
}

/* Makes good what interrupted code could not finish: a hashed lock it held, a guard it raised. The rings need nothing. */
void hnrt_abandoned(struct hn_thread *t) {
    hnrt_order_repair(t);
    hnrt_block_abandoned(t);
    t->settling = false;
    t->guard = 0;
    t->alloc_pc = 0;
}

/* A thread that was cancelled asynchronously may have been anywhere: in a handler, in a section of ours. It is in none
 * now. */
static void left_midway(struct hn_thread *t) {
    hnrt_abandoned(t);
    if (t->signal) {
        t->signal = NULL;
        hnrt_route(t);
    }
}

/* The destructor asks to be called again until the last round, so that the destructors of the program come first. */
static void key_destructor(void *value) {
    struct hn_thread *t = value;
    if (t != hnrt_self || t->ended)
        return;
    left_midway(t);
    if (++t->key_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        hnrt_thread_key_set(t);
    else if (!hnrt_pool_parks(t))
        hnrt_thread_end(t);
}

void hnrt_thread_key_init(void) {
    pthread_key_create(&key, key_destructor);
}

void hnrt_thread_key_set(struct hn_thread *t) {
    t->guard++;
    pthread_setspecific(key, t);
    t->guard--;
}

/* The parent's ring is none of the child's. Code that a signal interrupted in a block will go on with it, so that something must be
 * there. */
static void give_up(struct hn_thread *t) {
    size_t bytes = HN_RING_HEADER_BYTES + t->real->bytes;
    if (t == hnrt_self && t->signal)
        os(SYS_mmap, t->real, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    else
        hnrt_ring_unmap(t->real);
}

/* In a forked child only the calling thread exists; the rings of the others are the parent's. */
void hnrt_threads_after_fork(void) {
    threads_lock = 0;
    for (struct hn_thread *t = threads; t; t = t->next) {
        if (t->real)
            give_up(t);
        t->real = NULL;
        t->stopped = false;
        t->scratch.flushed = hnrt_scratch_count(&t->scratch);
        t->in_signal.flushed = hnrt_scratch_count(&t->in_signal);
        t->wide = 0;
        t->retired = t->parked = false;
        if (t != hnrt_self) {
            t->ended = true;
            t->tid = INT32_MAX;
        }
    }
}

/* ---- names of threads --------------------------------------------------------------------------------------------- */

/* The index of a living thread of this process, by its kernel id or by its handle; HN_NO_PARENT if it has none. */
uint32_t hnrt_thread_index(uint32_t tid, pthread_t handle) {
    uint32_t found = HN_NO_PARENT;
    lock_threads();
    for (struct hn_thread *t = threads; t && found == HN_NO_PARENT; t = t->next)
        if (!t->ended && (tid ? t->tid == tid : t->handle == handle))
            found = t->index;
    unlock_threads();
    return found;
}

/* A call has said where this thread runs. */
void hnrt_thread_bound(uint32_t index) {
    lock_threads();
    for (struct hn_thread *t = threads; t; t = t->next)
        t->bound |= t->index == index;
    unlock_threads();
}

/* The process ends, and with it threads that will not end by themselves. */
void hnrt_threads_left(struct hn_thread *self) {
    lock_threads();
    for (struct hn_thread *t = threads; t && self->recording; t = t->next)
        if (t != self && !t->ended && t->tid)
            hnrt_affinity_seen(self, t);
    unlock_threads();
}

/* ---- pthread_create ---------------------------------------------------------------------------------------------- */

/* The thread that is about to be created, known to the recorder as a child of this one; NULL without memory. */
struct hn_thread *hnrt_thread_announce(const pthread_attr_t *attributes) {
    struct hn_thread *parent = hnrt_self ? hnrt_self : hnrt_thread_attach();
    struct hn_thread *again = parent && parent->pool_grows ? hnrt_pool_again(parent) : NULL;
    if (again)
        return again;
    struct hn_thread *child = hnrt_thread_new();
    if (!child)
        return NULL;
    hnrt_threaded = true;
    hnrt_at_announce(parent, child, attributes);
    if (hnrt_record && !hnrt_confined)
        hnrt_thread_give_ring(child, hnrt_ring_claim(parent ? parent->index : HN_NO_PARENT));
    if (parent && parent->recording && child->real)
        hnrt_event(parent, HN_EVENT_SPAWN, child->index, os_stamp());
    hnrt_affinity_creating(child, attributes);
    return child;
}

/* Its creation failed. */
void hnrt_thread_unannounce(struct hn_thread *child) {
    if (hnrt_self)
        hnrt_at_unannounce(hnrt_self);
    hnrt_thread_discard(child);
}

/* Its creator may name it before it runs; if it has ended already, its memory may be another thread's. */
static void known_by(struct hn_thread *child, uint32_t index, pthread_t handle) {
    lock_threads();
    if (child->index == index && !child->ended && !child->handle)
        child->handle = handle;
    unlock_threads();
}

INTERPOSE int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                             void *argument) {
    if (!hnrt_at_create())
        return REAL(pthread_create)(thread, attributes, start, argument);
    struct hn_thread *child = hnrt_thread_announce(attributes);
    if (!child)
        return EAGAIN;
    child->start = start;
    child->start_argument = argument;
    uint32_t index = child->index;
    int failed = REAL(pthread_create)(thread, attributes, thread_main, child);
    if (failed)
        hnrt_thread_unannounce(child);
    else
        known_by(child, index, *thread);
    hnrt_at_created();
    return failed;
}

/* C11's threads: the C library does not route them through pthread_create. */
INTERPOSE int thrd_create(thrd_t *thread, thrd_start_t start, void *argument) {
    if (!hnrt_at_create())
        return REAL(thrd_create)(thread, start, argument);
    struct hn_thread *child = hnrt_thread_announce(NULL);
    if (!child)
        return thrd_nomem;
    child->start_c11 = start;
    child->start_argument = argument;
    uint32_t index = child->index;
    int result = REAL(thrd_create)(thread, thread_main_c11, child);
    if (result != thrd_success)
        hnrt_thread_unannounce(child);
    else
        known_by(child, index, (pthread_t)*thread);
    hnrt_at_created();
    return result;
}

INTERPOSE int pthread_join(pthread_t thread, void **result) {
    return hnrt_acquired(REAL(pthread_join)(thread, result), (void *)thread, HN_SYNC_JOIN);
}

INTERPOSE int pthread_tryjoin_np(pthread_t thread, void **result) {
    return hnrt_acquired(REAL(pthread_tryjoin_np)(thread, result), (void *)thread, HN_SYNC_JOIN);
}

INTERPOSE int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until) {
    return hnrt_acquired(REAL(pthread_timedjoin_np)(thread, result, until), (void *)thread, HN_SYNC_JOIN);
}

INTERPOSE int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *until) {
    return hnrt_acquired(REAL(pthread_clockjoin_np)(thread, result, clock, until), (void *)thread, HN_SYNC_JOIN);
}
