/* What the files of the runtime share: the thread, its rings, and how a slot is written.
 *
 * A thread always has a ring to write to, so the entry points never ask whether anything is being recorded:
 * `hnrt_ring` points to the thread's real ring, or to a scratch ring of one batch that cycles and only counts, or,
 * before the thread is known, to one bootstrap ring whose first reference leads to the slow path. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "product.h"
#include "repeat.h"
#include "ring_layout.h"

#define HN_BATCH_BYTES (HN_BATCH_SLOTS * HN_SLOT_BYTES)
#define HN_NO_PARENT UINT32_MAX
#define HN_STACK_MAX 256

#define EXPORT __attribute__((visibility("default")))
/* Functions that stand before others lie in a section of their own, the entry points: when a stack is walked, they are no part of
 * it, nor is what lies between two of them. A product says how
 * INTERPOSE declares them. */
#define HN_ENTRY_POINTS "hn_entry_points"
#define NOINLINE __attribute__((noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
/* Program counter of the call that led here: inside the call instruction, as the return address may be another
 * line's. */
#define CALLER() ((uintptr_t)__builtin_return_address(0) - 1)

enum hn_op { OP_READ = 0, OP_WRITE = 1, OP_ATOMIC = 2, OP_SPIN = 3 };

/* Header of a ring file, and of the scratch rings. */
struct hn_ring {
    uint64_t magic, bytes, base;
    uint32_t index, reserved;
    uint8_t pad0[32];
    uint64_t cursor, batch_start, batch_head, limit;
    uint8_t pad1[32];
    uint64_t tail;
    uint32_t space;
    uint8_t pad2[52];
    uint32_t waiting, reserved2;
    uint64_t dropped;
};
#define CHECK_OFFSET(field, offset) _Static_assert(offsetof(struct hn_ring, field) == (offset), #field)
CHECK_OFFSET(magic, HN_RING_OFF_MAGIC);
CHECK_OFFSET(bytes, HN_RING_OFF_BYTES);
CHECK_OFFSET(base, HN_RING_OFF_BASE);
CHECK_OFFSET(index, HN_RING_OFF_INDEX);
CHECK_OFFSET(cursor, HN_RING_OFF_CURSOR);
CHECK_OFFSET(batch_start, HN_RING_OFF_BATCH_START);
CHECK_OFFSET(batch_head, HN_RING_OFF_BATCH_HEAD);
CHECK_OFFSET(limit, HN_RING_OFF_LIMIT);
CHECK_OFFSET(tail, HN_RING_OFF_TAIL);
CHECK_OFFSET(space, HN_RING_OFF_SPACE);
CHECK_OFFSET(waiting, HN_RING_OFF_WAITING);
CHECK_OFFSET(dropped, HN_RING_OFF_DROPPED);

/* A ring that goes nowhere: `total` counts the references of the cycles before the current one. Its cursor stands at the begin
 * or at the end of the batch, both boundaries, or between. */
struct hn_scratch {
    _Alignas(HN_BATCH_BYTES) uint8_t slots[HN_BATCH_BYTES];
    struct hn_ring ring;
    uint64_t total, flushed;
};

/* Why references go to the scratch ring, that is, to which counter they belong. */
enum hn_purpose { FOR_NOTHING, FOR_COUNT, FOR_DROPPED };

/* Busy waiting: recent atomic and volatile reads with nothing between them (see spin.c). */
#define SPIN_SITES 4
struct hn_spin {
    uint64_t mark;
    uint64_t gap;     /* what stands between two reads: a hash, 0 for nothing */
    uint32_t used;
    uint32_t marked;  /* reads of this wait that were marked */
    bool changed;     /* the last read got another value than the one before */
    bool looked;      /* whether it changed since then has been looked at */
    struct {
        uint64_t pc, addr, value, value_high;
        uint32_t bytes;
    } site[SPIN_SITES];
};

struct hn_frame {
    uintptr_t pc, sp;
};

/* A handler of the program that is running; lives in the trampoline's frame. */
struct hn_signal_frame {
    struct hn_signal_frame *outer;
    uint32_t depth, depth_floor;
    struct hn_spin spin;
};

struct hn_thread {
    struct hn_scratch scratch, in_signal;
    struct hn_scratch staged; /* where pages are drawn: references of which it is not yet known whether they are recorded */
    bool settling;            /* that is being found out */
    struct hn_ring *real; /* NULL: none, or not any more */
    bool recording;       /* events may go to `real` now */
    bool stopped;         /* recording is over, the thread is not */
    bool ended;
    uint8_t purpose;
    uint32_t index, tid, roi_seen, guard;
    uint64_t wide, unnumbered;
    uint64_t left_out, left_out_told, left_out_seen; /* references to pages that are not recorded (pages.c) */
    uint64_t look_at, look_draw; /* when the next reference is looked at, as left_out would stand if none were kept (certain.c) */
    uint64_t stamped, kept; /* last stamp, and plain references recorded since then, where pages are drawn */
    uint32_t watched;       /* so many references more are recorded whatever their page is: a wait may go on (spin.c) */
    bool routed;            /* references go to `real` */
    uint64_t *held, *taking; /* hashed lock this thread holds; the one it is about to take */
    struct hn_signal_frame *signal;
    struct hn_spin spin;
    struct hn_repeats repeats;
    void *(*start)(void *);
    void *start_argument;
    void (*once)(void);
    uintptr_t alloc_pc, alloc_sp; /* site and frame of the outermost operator new while it calls malloc */
    uint32_t key_rounds;
    bool bound;           /* a call said where it runs */
    pthread_t handle;     /* 0: not known */
    int (*start_c11)(void *);
    uint32_t pool_owner, pool_number; /* of a pool that its runtime makes smaller and larger; number 0: in none (pool.c) */
    bool owns_pool, pool_grows, retired, parked, again;
    struct hn_product own; /* what the product keeps of a thread */
    uint32_t depth, depth_floor;
    struct hn_frame stack[HN_STACK_MAX];
    struct hn_thread *next;
};

#define TLS __thread __attribute__((tls_model(HN_TLS_MODEL)))
extern TLS struct hn_ring *hnrt_ring HN_RING_VISIBILITY;
extern TLS struct hn_thread *hnrt_self;

/* ---- what a product does at its places (product.c of each) ------------------------------------------------------- */

bool hnrt_at_create(void);                     /* whether threads about to be created are to be announced */
void hnrt_at_announce(struct hn_thread *parent, struct hn_thread *child, const pthread_attr_t *attributes);
void hnrt_at_unannounce(struct hn_thread *parent);
void hnrt_at_created(void);                    /* by the calling thread, or not */
void hnrt_at_attach(struct hn_thread *first);  /* the initial thread is known, and has done nothing yet */
bool hnrt_at_batch(struct hn_thread *t);       /* before a batch is begun; whether nobody looks back from it */
void hnrt_at_batch_moved(struct hn_thread *t, const void *from, const void *to); /* to where the next one will follow it */
void hnrt_at_thread_end(struct hn_thread *t);  /* before its last events */
void hnrt_at_process_end(void);
void hnrt_at_phase_begin(const char *name);    /* after it was logged */
void hnrt_at_phase_end(const char *name);      /* before it is logged */
bool hnrt_placed_by_us(const struct hn_thread *t); /* where it runs is not the program's wish */
void hnrt_at_fork(void);
void hnrt_at_forked(void);                     /* in parent and child */
void hnrt_at_forked_child(struct hn_thread *t);

/* ---- control block (control.c) ----------------------------------------------------------------------------------- */

extern uint8_t *hnrt_control;      /* never NULL: a private page while nothing is attached */
extern bool hnrt_attached;         /* a recorder gave us a control file */
extern bool hnrt_record;           /* ... and wants references, not a count */
extern bool hnrt_repeats;          /* repetitions may be left out of rings */
extern bool hnrt_confined;         /* recording would kill this process (confine.c) */
extern uint32_t hnrt_pid;
extern uint32_t hnrt_parent_pid;
extern bool hnrt_threaded;         /* more than one thread has existed */

#define CONTROL32(off) ((uint32_t *)(hnrt_control + (off)))
#define CONTROL64(off) ((uint64_t *)(hnrt_control + (off)))

void hnrt_init(void);
bool hnrt_control_open(void);
bool hnrt_recorder_alive(void);
void hnrt_close_descriptors(void);
void hnrt_stop(uint32_t reason);
void hnrt_complain(const char *what);
static inline uint32_t hnrt_stopped(void) {
    return hnrt_confined | __atomic_load_n(CONTROL32(HN_CONTROL_OFF_STOP), __ATOMIC_RELAXED);
}

/* ---- rings and threads (ring.c, slow.c, thread.c) ---------------------------------------------------------------- */

void hnrt_slow_put(uint64_t word, uintptr_t pc);
bool hnrt_open_batch(struct hn_thread *t);
bool hnrt_close_batch(struct hn_thread *t, bool alone);
bool hnrt_enter_batch(struct hn_ring *r, uint64_t head);
void hnrt_leave_ring(struct hn_thread *t);
void hnrt_scratch_reset(struct hn_scratch *s);
uint64_t hnrt_scratch_count(const struct hn_scratch *s);
struct hn_ring *hnrt_room(void);
void hnrt_doorbell(void);
uint32_t hnrt_ring_claim(uint32_t parent);
struct hn_ring *hnrt_ring_create(uint32_t index);
void hnrt_ring_unmap(struct hn_ring *r);
uint8_t *hnrt_entry(uint32_t index);
void hnrt_entry_done(uint32_t index);

struct hn_thread *hnrt_thread_new(void);
void hnrt_thread_give_ring(struct hn_thread *t, uint32_t index);
void hnrt_thread_enter(struct hn_thread *t);
struct hn_thread *hnrt_thread_attach(void);
void hnrt_thread_end(struct hn_thread *t);
void hnrt_thread_discard(struct hn_thread *t);
void hnrt_threads_after_fork(void);
void hnrt_route(struct hn_thread *t);
void hnrt_flush(struct hn_thread *t);
void hnrt_flush_all(void);
void hnrt_thread_key_init(void);
void hnrt_thread_key_set(struct hn_thread *t);
void hnrt_process_begin(struct hn_thread *t);
void hnrt_thread_began(struct hn_thread *t);
struct hn_thread *hnrt_thread_announce(const pthread_attr_t *attributes);
void hnrt_thread_unannounce(struct hn_thread *child);
uint32_t hnrt_thread_index(uint32_t tid, pthread_t handle);
void hnrt_thread_bound(uint32_t index);
void hnrt_threads_left(struct hn_thread *self);

/* ---- pool.c: a thread that is ended and created again is one thread ----------------------------------------------- */

void hnrt_pool_joins(struct hn_thread *t, struct hn_thread *owner, uint32_t number);
void hnrt_pool_shrinks(const struct hn_thread *owner, uint32_t to);
bool hnrt_pool_parks(struct hn_thread *t);
void hnrt_pool_over(const struct hn_thread *owner);
struct hn_thread *hnrt_pool_again(const struct hn_thread *owner);
void hnrt_threads_lock(void);
void hnrt_threads_unlock(void);
struct hn_thread *hnrt_threads_first(void);

/* ---- affinity.c --------------------------------------------------------------------------------------------------- */

void hnrt_affinity_began(struct hn_thread *t);
void hnrt_affinity_creating(struct hn_thread *child, const pthread_attr_t *attributes);
void hnrt_affinity_seen(struct hn_thread *t, const struct hn_thread *of);

/* ---- slots (event.c) --------------------------------------------------------------------------------------------- */

uint64_t *hnrt_reserve(struct hn_thread *t, unsigned slots);
void hnrt_commit(struct hn_thread *t, unsigned slots);
void hnrt_event(struct hn_thread *t, uint64_t kind, uint64_t addr, uint64_t w1);
void hnrt_event_text(struct hn_thread *t, uint64_t kind, uint64_t addr, uint64_t w1, const char *text);
void hnrt_event_alloc(struct hn_thread *t, const void *addr, uint64_t bytes, uint64_t source, uintptr_t pc);
void hnrt_event_stack(struct hn_thread *t, const void *addr, uint64_t bytes, uint64_t source, const uintptr_t *pcs,
                      unsigned depth);
void hnrt_put_range(const void *addr, uint64_t bytes, enum hn_op op, uintptr_t pc);

static inline uint64_t hnrt_event_word(uint64_t kind, uint64_t addr, unsigned payload) {
    return (addr & HN_W0_ADDR_MASK) | HN_W0_EVENT | kind << HN_W0_KIND_SHIFT | (uint64_t)payload << HN_W0_SIZE_SHIFT;
}

/* Size code of 1, 2, 4, 8 and 16 bytes. */
#define CODE_1 0
#define CODE_2 1
#define CODE_4 2
#define CODE_8 3
#define CODE_16 4
#define REF_BITS(code, op) ((uint64_t)(code) << HN_W0_SIZE_SHIFT | (uint64_t)(op) << HN_W0_OP_SHIFT)

/* Whether a cursor stands between two batches: the next one has to be begun before anything is written. */
#define AT_BOUNDARY(cursor) UNLIKELY(((cursor) & (HN_BATCH_BYTES - 1)) == 0)

/* The one sequence that every reference goes through. The cursor is stored after the slot (release), so that even a
 * reader that finds the ring after SIGKILL sees whole slots only. Between any two instructions the thread may be cancelled
 * or leave by a jump, and write again as if the sequence had never begun: a ring that stands at a boundary is as good a
 * ring as any. */
static inline __attribute__((always_inline)) void hnrt_put(uint64_t word, uintptr_t pc) {
    struct hn_ring *r = hnrt_ring;
    uint64_t *slot = (uint64_t *)r->cursor;
    if (AT_BOUNDARY((uintptr_t)slot)) {
        hnrt_slow_put(word, pc);
        return;
    }
    slot[0] = word;
    slot[1] = pc;
    __atomic_store_n(&r->cursor, (uint64_t)(slot + 2), __ATOMIC_RELEASE);
}

/* A wild pointer's upper bits must not become a slot's flags; the reference is recorded at what is left. */
static inline __attribute__((always_inline)) uint64_t hnrt_addr(const volatile void *addr) {
    return (uint64_t)(uintptr_t)addr << 16 >> 16;
}

static inline __attribute__((always_inline)) void hnrt_ref(const volatile void *addr, unsigned code, enum hn_op op,
                                                           uintptr_t pc) {
    hnrt_put(hnrt_addr(addr) | REF_BITS(code, op), pc);
}

/* ---- pages.c: recordings of some pages ---------------------------------------------------------------------------- */

extern bool hnrt_pages_drawn; /* not all pages are recorded */
extern uint64_t hnrt_page_limit, hnrt_page_mask;

extern uint8_t *hnrt_buckets; /* states of buckets of pages (certain.c) */

void hnrt_pages_init(void);
void hnrt_kept(uint64_t hash);
void hnrt_look(struct hn_thread *t, uint64_t hash);
void hnrt_look_kept(struct hn_thread *t, uint64_t hash);
void hnrt_settle_staged(struct hn_thread *t);
void hnrt_put_drawn(const void *addr, uint64_t bytes, enum hn_op op, uintptr_t pc);

/* The ring has the time of now. */
static inline void hnrt_stamped(struct hn_thread *t, uint64_t now) {
    t->stamped = now;
    t->kept = 0;
    t->left_out_seen = t->left_out;
}

/* Whether the calling thread's references are recorded, if their pages are. */
static inline bool hnrt_to_real(const struct hn_thread *t) {
    return hnrt_ring == t->real || hnrt_ring == &t->staged.ring;
}

/* What the calling thread has referenced is in its ring, as far as it is recorded. */
static inline void hnrt_settle(struct hn_thread *t) {
    if (UNLIKELY(hnrt_pages_drawn) && hnrt_ring == &t->staged.ring)
        hnrt_settle_staged(t);
}

/* Of the page of an address. */
static inline __attribute__((always_inline)) uint64_t hnrt_page_hash(uint64_t addr) {
    uint64_t once = (addr >> HN_PAGE_SHIFT & hnrt_page_mask) * HN_PAGE_HASH;
    return (once ^ once >> HN_PAGE_HASH_SHIFT) * HN_PAGE_HASH_AGAIN;
}

/* Whether references to a page of this hash are left out: it was not drawn, is not certain and not met for the first time. */
static inline __attribute__((always_inline)) bool hnrt_left_out(uint64_t hash) {
    return hash > hnrt_page_limit &&
           __atomic_load_n(hnrt_buckets + (hash >> HN_BUCKET_SHIFT), __ATOMIC_RELAXED) >= HN_BUCKET_SEEN;
}

static inline __attribute__((always_inline)) void hnrt_leave_out(struct hn_thread *t, uint64_t hash) {
    if (UNLIKELY(++t->left_out >= t->look_at))
        hnrt_look(t, hash);
}

/* A plain reference to any number of bytes. */
static inline void hnrt_put_bytes(const void *addr, uint64_t bytes, enum hn_op op, uintptr_t pc) {
    if (UNLIKELY(hnrt_pages_drawn))
        hnrt_put_drawn(addr, bytes, op, pc);
    else
        hnrt_put_range(addr, bytes, op, pc);
}

/* A plain reference whose bytes lie in one page. */
static inline __attribute__((always_inline)) void hnrt_plain(const volatile void *addr, unsigned code, enum hn_op op,
                                                             uintptr_t pc) {
    if (UNLIKELY(hnrt_pages_drawn)) {
        struct hn_thread *t = hnrt_self;
        uint64_t hash = hnrt_page_hash(hnrt_addr(addr));
        if (LIKELY(t && hnrt_left_out(hash) && !t->watched)) {
            hnrt_leave_out(t, hash);
            return;
        }
        hnrt_kept(hash);
    }
    hnrt_ref(addr, code, op, pc);
}

/* A plain reference that may lie in two. */
static inline __attribute__((always_inline)) void hnrt_plain_anywhere(const volatile void *addr, unsigned code,
                                                                      enum hn_op op, uintptr_t pc) {
    if (UNLIKELY(hnrt_pages_drawn)) {
        struct hn_thread *t = hnrt_self;
        uint64_t first = hnrt_addr(addr), last = first + (UINT64_C(1) << code) - 1, hash = hnrt_page_hash(first);
        if (LIKELY(t && hnrt_left_out(hash) && !t->watched) &&
            (LIKELY((first ^ last) >> HN_PAGE_SHIFT == 0) || hnrt_left_out(hnrt_page_hash(last)))) {
            hnrt_leave_out(t, hash);
            return;
        }
        hnrt_kept(hash);
    }
    hnrt_ref(addr, code, op, pc);
}

extern uint32_t hnrt_roi_generation; /* changes when the region of interest is entered or left */

/* The calling thread if events may be recorded now, else NULL. Called at every synchronisation, so it is also where
 * a thread learns that the region of interest has changed. */
static inline struct hn_thread *hnrt_recording(void) {
    struct hn_thread *t = hnrt_self;
    if (UNLIKELY(t && t->roi_seen != hnrt_roi_generation))
        hnrt_route(t);
    if (LIKELY(t != NULL))
        hnrt_settle(t);
    return LIKELY(t && t->recording && !t->guard) ? t : NULL;
}

/* ---- order (order.c) --------------------------------------------------------------------------------------------- */

/* Between these two, no other thread's operation on an object with the same hash happens; the second one takes a
 * number. */
uint64_t *hnrt_order_lock(struct hn_thread *t, const volatile void *object);
uint64_t hnrt_order_unlock(struct hn_thread *t, uint64_t *word);
void hnrt_order_unlock_unnumbered(struct hn_thread *t, uint64_t *word);
void hnrt_order_after_fork(void);
void hnrt_order_repair(struct hn_thread *t);
/* Takes a number and records it: before a release, after an acquire. `sync` is the kind of synchronisation, HN_SYNC_*. */
void hnrt_release(struct hn_thread *t, const volatile void *object, uint64_t epoch, uint64_t sync);
void hnrt_acquire(struct hn_thread *t, const volatile void *object, uint64_t epoch, uint64_t sync);
void hnrt_sync_event(struct hn_thread *t, uint64_t kind, const volatile void *object, uint64_t epoch, uint64_t number,
                     uint64_t sync);

int hnrt_acquired(int failed, const volatile void *object, uint64_t sync);
void hnrt_releasing(const volatile void *object, uint64_t sync);
/* The same for locks and semaphores, whose words are referenced. */
int hnrt_locked(int failed, const volatile void *lock, unsigned code, uint64_t sync, uintptr_t pc);
void hnrt_lock_word(const volatile void *lock, unsigned code, enum hn_op op, uintptr_t pc);
void hnrt_unlocking(const volatile void *lock, unsigned code, enum hn_op op, uint64_t sync, uintptr_t pc);
extern uintptr_t hnrt_runtime_from, hnrt_runtime_bytes; /* code of OpenMP's runtime, if it has locks of this kind */
extern char hnrt_unannounced; /* object that orders the creation of threads whose first reference we wait for */

uint64_t hnrt_barrier_arrival(const void *name, unsigned here, unsigned all);

/* ---- shared memory (shared.c) ------------------------------------------------------------------------------------ */

/* The device of segments of System V, whose numbers are their inodes: no file has it. */
#define HN_DEVICE_SEGMENT UINT64_MAX
/* The heap of a job of shared virtual memory, which is one memory, although each node has a copy: its "device". */
#define HN_DEVICE_SVM (UINT64_MAX - 1)

/* Which memory a shared mapping is of: the file, 0 and 0 if there is none, and the byte of it at which it begins. */
struct hn_shared {
    uint64_t device, inode, offset;
    int prot, flags; /* of the mapping */
};

extern uint32_t hnrt_shared_ranges; /* 0 while there was no shared mapping */
uint64_t *hnrt_shared_counter(const volatile void *object);
void hnrt_mapped(struct hn_thread *t, const void *p, size_t bytes, int prot, int flags, int fd, uint64_t offset);
void hnrt_mapped_shared(struct hn_thread *t, const void *p, size_t bytes, const struct hn_shared *of);
bool hnrt_shared_at(const void *p, struct hn_shared *of);
size_t hnrt_segment(struct hn_thread *t, const void *p, int id, int flags);
size_t hnrt_segment_bytes(const void *p);
void hnrt_shared_gone(const void *p, size_t bytes);
void hnrt_shared_anonymous(const void *p, size_t bytes);
void hnrt_shared_announce(struct hn_thread *t);
void hnrt_shared_after_fork(void);

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

bool hnrt_spin_expected(struct hn_thread *t, const volatile void *addr, const void *value, unsigned bytes,
                        uintptr_t pc);
void hnrt_spin_overlook(struct hn_thread *t, const void *own);
void hnrt_spin_note(struct hn_thread *t, const volatile void *addr, const void *value, unsigned bytes, uintptr_t pc,
                    bool marked);
void hnrt_spin_won(struct hn_thread *t, const volatile void *addr, uintptr_t pc);
void hnrt_spin_over(struct hn_thread *t);
void hnrt_spin_look(struct hn_thread *t);
void hnrt_spin_mark(struct hn_thread *t);
bool hnrt_spin_is_none(struct hn_thread *t);

bool hnrt_module_has(uintptr_t pc);
void hnrt_modules_scan(struct hn_thread *t);
void hnrt_modules_forget(void);
void hnrt_phase_init(void);
bool hnrt_roi_open(void);
bool hnrt_in_svm(void); /* of the hooks alone: whether the program runs on nodes that share memory by a library */
bool hnrt_by_svm(uintptr_t pc);
void hnrt_fork_init(void);
void hnrt_exit_init(void);
void hnrt_process_end(void);
void hnrt_abandoned(struct hn_thread *t);
void hnrt_omp_fence(uintptr_t pc); /* of the hooks alone */

/* The number of references in the block that begins with this word; 0 if none does. */
static inline unsigned hnrt_block_refs(uint64_t word) {
    return (word & (HN_W0_BLOCK | HN_W0_EVENT)) == HN_W0_BLOCK ? word >> HN_W0_KIND_SHIFT : 0;
}

/* What the compiled code says of a block and of each of its references. */
struct hn_block_ref {
    int32_t last; /* distance to the last byte of its code */
    uint8_t bytes, code, op, zero;
};
struct hn_block {
    uint64_t header;
    struct hn_block_ref refs[];
};
const uint64_t *hnrt_block(uint64_t header);
void hnrt_block_abandoned(struct hn_thread *t);
bool hnrt_file_of_blocks(uint32_t before, const uint64_t *words, uint64_t bytes);

/* Slots of the ring before the batch of which its head speaks. */
static inline uint64_t hnrt_head_slots(uint64_t head) {
    return head & HN_HEAD_SLOTS_MASK;
}

/* The batch to which a thread with this head writes. */
static inline hn_slot *hnrt_batch(const struct hn_ring *r, uint64_t head) {
    uint64_t side = head >> HN_HEAD_SIDE_SHIFT;
    if (UNLIKELY(side))
        return (hn_slot *)((uintptr_t)r + HN_RING_OFF_SIDES + (side - 1) * HN_RING_SIDES_STEP);
    return (hn_slot *)(r->base + (hnrt_head_slots(head) * HN_SLOT_BYTES & (r->bytes - 1)));
}

/* Bytes of the slots of a block. */
static inline uint64_t hnrt_block_bytes(unsigned refs) {
    return (refs / 2 + 1) * HN_SLOT_BYTES;
}
