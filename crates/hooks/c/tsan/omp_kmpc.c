/* What libomp does not report to tools in time, or not at all: mutual exclusion, reductions, the schedules of loops. Called by code that clang
 * has compiled. */
#include "omp.h"

/* Where the compiler's description of a place says what kind of loop it is. */
struct place {
    int32_t reserved, flags;
};
#define FLAG_SECTIONS 0x400
#define FLAG_DISTRIBUTE 0x800

/* ---- mutual exclusion ------------------------------------------------------------------------------------------------------ */

INTERPOSE void __kmpc_critical(void *place, int32_t thread, void *lock) {
    OMP(__kmpc_critical, void, (void *, int32_t, void *))(place, thread, lock);
    hnrt_locked(0, lock, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE void __kmpc_critical_with_hint(void *place, int32_t thread, void *lock, uint32_t hint) {
    OMP(__kmpc_critical_with_hint, void, (void *, int32_t, void *, uint32_t))(place, thread, lock, hint);
    hnrt_locked(0, lock, CODE_4, HN_SYNC_MUTEX, CALLER());
}

INTERPOSE void __kmpc_end_critical(void *place, int32_t thread, void *lock) {
    hnrt_unlocking(lock, CODE_4, OP_WRITE, HN_SYNC_MUTEX, CALLER());
    OMP(__kmpc_end_critical, void, (void *, int32_t, void *))(place, thread, lock);
}

INTERPOSE void __kmpc_ordered(void *place, int32_t thread) {
    OMP(__kmpc_ordered, void, (void *, int32_t))(place, thread);
    struct hn_thread *t = hnrt_recording();
    if (t && t->own.team)
        hnrt_acquire(t, hnrt_omp_object(t->own.team, OMP_ORDERED), 0, HN_SYNC_SEMAPHORE);
}

INTERPOSE void __kmpc_end_ordered(void *place, int32_t thread) {
    struct hn_thread *t = hnrt_recording();
    if (t && t->own.team)
        hnrt_release(t, hnrt_omp_object(t->own.team, OMP_ORDERED), 0, HN_SYNC_SEMAPHORE);
    OMP(__kmpc_end_ordered, void, (void *, int32_t))(place, thread);
}

/* What one member of a team has made is copied by the others, inside of the call. */
static TLS void (*copy)(void *, void *);

static void copied(void *to, void *from) {
    struct hn_thread *t = hnrt_recording();
    const volatile void *object = t && t->own.team ? hnrt_omp_object(t->own.team, OMP_COPY) : NULL;
    if (object)
        hnrt_acquire(t, object, 0, HN_SYNC_SEMAPHORE);
    copy(to, from);
    if (object && t->recording)
        hnrt_release(t, object, 0, HN_SYNC_SEMAPHORE);
}

INTERPOSE void __kmpc_copyprivate(void *place, int32_t thread, size_t bytes, void *data, void (*function)(void *, void *),
                                  int32_t made) {
    struct hn_thread *t = hnrt_recording();
    const volatile void *object = t && t->own.team ? hnrt_omp_object(t->own.team, OMP_COPY) : NULL;
    copy = function;
    if (object && made)
        hnrt_release(t, object, 0, HN_SYNC_SEMAPHORE);
    OMP(__kmpc_copyprivate, void, (void *, int32_t, size_t, void *, void (*)(void *, void *), int32_t))
    (place, thread, bytes, data, copied, made);
    if (object && made && t->recording)
        hnrt_acquire(t, object, 0, HN_SYNC_SEMAPHORE);
}

INTERPOSE void __kmpc_flush(void *place) {
    hnrt_omp_fence(CALLER());
    OMP(__kmpc_flush, void, (void *))(place);
}

/* ---- reductions: parts come together under a lock, by atomics, or along a tree inside of the call ------------------------------- */

static TLS void (*combine)(void *, void *);
static TLS void *combine_lock;

static void combined(void *into, void *from) {
    struct hn_thread *t = hnrt_recording();
    void *lock = combine_lock;
    if (t)
        hnrt_acquire(t, lock, 0, HN_SYNC_SEMAPHORE);
    combine(into, from);
    if (t && t->recording)
        hnrt_release(t, lock, 0, HN_SYNC_SEMAPHORE);
}

typedef int32_t reduce(void *, int32_t, int32_t, size_t, void *, void (*)(void *, void *), void *);

static int32_t reduced(reduce *real, void *place, int32_t thread, int32_t n, size_t bytes, void *data,
                       void (*function)(void *, void *), void *lock, bool waits) {
    combine = function;
    combine_lock = lock;
    hnrt_releasing(lock, HN_SYNC_SEMAPHORE);
    int32_t how = real(place, thread, n, bytes, data, combined, lock);
    if (how == 1 || waits)
        hnrt_acquired(0, lock, HN_SYNC_SEMAPHORE);
    return how;
}

INTERPOSE int32_t __kmpc_reduce(void *place, int32_t thread, int32_t n, size_t bytes, void *data,
                                void (*function)(void *, void *), void *lock) {
    reduce *real = (reduce *)hnrt_omp_real(OMP_INDEX___kmpc_reduce);
    return reduced(real, place, thread, n, bytes, data, function, lock, true);
}

INTERPOSE int32_t __kmpc_reduce_nowait(void *place, int32_t thread, int32_t n, size_t bytes, void *data,
                                       void (*function)(void *, void *), void *lock) {
    reduce *real = (reduce *)hnrt_omp_real(OMP_INDEX___kmpc_reduce_nowait);
    return reduced(real, place, thread, n, bytes, data, function, lock, false);
}

INTERPOSE void __kmpc_end_reduce(void *place, int32_t thread, void *lock) {
    hnrt_releasing(lock, HN_SYNC_SEMAPHORE);
    OMP(__kmpc_end_reduce, void, (void *, int32_t, void *))(place, thread, lock);
    hnrt_acquired(0, lock, HN_SYNC_SEMAPHORE);
}

INTERPOSE void __kmpc_end_reduce_nowait(void *place, int32_t thread, void *lock) {
    hnrt_releasing(lock, HN_SYNC_SEMAPHORE);
    OMP(__kmpc_end_reduce_nowait, void, (void *, int32_t, void *))(place, thread, lock);
}

/* ---- schedules ---------------------------------------------------------------------------------------------------------------- */

/* Numbers of schedules as clang passes them: bits 29 and 30 say how chunks may be handed out, 64 more `ordered`. */
enum schedule { STATIC_CHUNKED = 33, STATIC, DYNAMIC, GUIDED, RUNTIME, AUTO, ORDERED = 64, DISTRIBUTE_CHUNKED = 91, DISTRIBUTE };

static const char *name_of(int32_t schedule, const struct place *place) {
    schedule &= 0x1fffffff;
    if (place && place->flags & FLAG_SECTIONS)
        return "sections";
    if (schedule == DISTRIBUTE || schedule == DISTRIBUTE_CHUNKED || (place && place->flags & FLAG_DISTRIBUTE))
        return "distribute";
    if (schedule > ORDERED && schedule < DISTRIBUTE_CHUNKED) /* 65 is 33 with `ordered` */
        schedule -= ORDERED / 2;
    switch (schedule) {
    case STATIC_CHUNKED:
    case STATIC:
        return "for static";
    case DYNAMIC:
        return "for dynamic";
    case GUIDED:
        return "for guided";
    case AUTO:
        return "for auto";
    default:
        return "for runtime";
    }
}

/* The chunk matters where the schedule takes one. */
static int64_t chunk_of(int32_t schedule, int64_t chunk) {
    schedule &= 0x1fffffff;
    return schedule == STATIC_CHUNKED || schedule == DYNAMIC || schedule == GUIDED ? chunk : 0;
}

#define STATIC_INIT(bits, type)                                                                                       \
    INTERPOSE void __kmpc_for_static_init_##bits(void *place, int32_t thread, int32_t schedule, int32_t *last,        \
                                                 type *low, type *high, type *stride, type by, type chunk) {          \
        hnrt_omp_loop(name_of(schedule, place), chunk_of(schedule, (int64_t)chunk), CALLER());                     \
        OMP(__kmpc_for_static_init_##bits, void,                                                                      \
            (void *, int32_t, int32_t, int32_t *, type *, type *, type *, type, type))                                \
        (place, thread, schedule, last, low, high, stride, by, chunk);                                                \
    }
STATIC_INIT(4, int32_t)
STATIC_INIT(4u, uint32_t)
STATIC_INIT(8, int64_t)
STATIC_INIT(8u, uint64_t)

INTERPOSE void __kmpc_for_static_fini(void *place, int32_t thread) {
    hnrt_omp_loop_over();
    OMP(__kmpc_for_static_fini, void, (void *, int32_t))(place, thread);
}

#define DISPATCH(bits, type)                                                                                          \
    INTERPOSE void __kmpc_dispatch_init_##bits(void *place, int32_t thread, int32_t schedule, type low, type high,    \
                                               type by, type chunk) {                                                 \
        hnrt_omp_loop(name_of(schedule, place), chunk_of(schedule, (int64_t)chunk), CALLER());                     \
        OMP(__kmpc_dispatch_init_##bits, void, (void *, int32_t, int32_t, type, type, type, type))                    \
        (place, thread, schedule, low, high, by, chunk);                                                              \
    }                                                                                                                 \
    INTERPOSE int __kmpc_dispatch_next_##bits(void *place, int32_t thread, int32_t *last, type *low, type *high,      \
                                              type *stride) {                                                         \
        int more = OMP(__kmpc_dispatch_next_##bits, int, (void *, int32_t, int32_t *, type *, type *, type *))(       \
            place, thread, last, low, high, stride);                                                                  \
        if (!more)                                                                                                    \
            hnrt_omp_loop_over();                                                                                     \
        return more;                                                                                                  \
    }
DISPATCH(4, int32_t)
DISPATCH(4u, uint32_t)
DISPATCH(8, int64_t)
DISPATCH(8u, uint64_t)
