/* Atomics. Each one is done for real and, while recording, inside the lock of its address's hash, so that the number
 * it takes stands for its place among all operations on that address. The lock does not make it atomic (the
 * instruction does): whoever cannot have the lock, a signal handler or after a lost lock, goes unnumbered and is
 * counted. */
#include "runtime.h"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Watomic-alignment"
#endif

typedef uint8_t a8;
typedef uint16_t a16;
typedef uint32_t a32;
typedef uint64_t a64;
typedef unsigned __int128 a128;
#define CODE_OF(bits) (__builtin_ctz(bits) - 3)

/* ---- the operations themselves ----------------------------------------------------------------------------------- */

/* 16 bytes: compilers call libatomic for the __atomic forms, the __sync form is inline (-mcx16). */
static a128 swap128(volatile a128 *a, a128 expected, a128 wanted) {
    return __sync_val_compare_and_swap(a, expected, wanted);
}

#define DO_SMALL(bits)                                                                                                \
    static inline a##bits load##bits(const volatile a##bits *a) {                                                     \
        return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                                  \
    }                                                                                                                 \
    static inline void store##bits(volatile a##bits *a, a##bits v, int order) {                                       \
        if (order == __ATOMIC_SEQ_CST)                                                                                \
            __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                                                 \
        else                                                                                                          \
            __atomic_store_n(a, v, __ATOMIC_RELEASE);                                                                 \
    }                                                                                                                 \
    static inline a##bits swap##bits(volatile a##bits *a, a##bits expected, a##bits wanted) {                         \
        __atomic_compare_exchange_n(a, &expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
        return expected;                                                                                              \
    }
DO_SMALL(8)
DO_SMALL(16)
DO_SMALL(32)
DO_SMALL(64)

static inline a128 load128(const volatile a128 *a) {
    return swap128((volatile a128 *)a, 0, 0);
}

#define DO_MODIFY_SMALL(bits, name, builtin)                                                                          \
    static inline a##bits name##bits(volatile a##bits *a, a##bits v) {                                                \
        return builtin(a, v, __ATOMIC_SEQ_CST);                                                                       \
    }
#define DO_MODIFY_128(name, expression)                                                                               \
    static inline a128 name##128(volatile a128 * a, a128 v) {                                                         \
        for (a128 old = load128(a), seen;; old = seen)                                                                \
            if ((seen = swap128(a, old, expression)) == old)                                                          \
                return old;                                                                                           \
    }
#define DO_MODIFY(name, builtin, expression)                                                                          \
    DO_MODIFY_SMALL(8, name, builtin)                                                                                 \
    DO_MODIFY_SMALL(16, name, builtin)                                                                                \
    DO_MODIFY_SMALL(32, name, builtin)                                                                                \
    DO_MODIFY_SMALL(64, name, builtin)                                                                                \
    DO_MODIFY_128(name, expression)
DO_MODIFY(exchange, __atomic_exchange_n, v)
DO_MODIFY(fetch_add, __atomic_fetch_add, old + v)
DO_MODIFY(fetch_sub, __atomic_fetch_sub, old - v)
DO_MODIFY(fetch_and, __atomic_fetch_and, old &v)
DO_MODIFY(fetch_or, __atomic_fetch_or, old | v)
DO_MODIFY(fetch_xor, __atomic_fetch_xor, old ^ v)
DO_MODIFY(fetch_nand, __atomic_fetch_nand, ~(old & v))

static inline void store128(volatile a128 *a, a128 v, int order) {
    (void)order;
    exchange128(a, v);
}

/* ---- what is recorded -------------------------------------------------------------------------------------------- */

/* Slots of a finished operation. `same` means that memory did not change (a load, a failed compare, an exchange of
 * equals), and then it may be busy waiting, which makes no synchronisation event. */
static void record(struct hn_thread *t, const volatile void *addr, unsigned code, enum hn_op op, uint64_t kind,
                   uint64_t number, uintptr_t pc) {
    if (kind == HN_EVENT_ACQUIRE)
        hnrt_sync_event(t, kind, addr, 0, number, HN_SYNC_ATOMIC);
    hnrt_ref(addr, code, op, pc);
    if (kind != HN_EVENT_ACQUIRE && t->recording)
        hnrt_sync_event(t, kind, addr, 0, number, HN_SYNC_ATOMIC);
}

/* Ends a locked operation that read `value` and, if `same`, left it there. */
static void finish(struct hn_thread *t, uint64_t *word, const volatile void *addr, unsigned code, enum hn_op op,
                   uint64_t kind, const void *value, bool same, uintptr_t pc) {
    unsigned bytes = 1u << code;
    if (same && hnrt_spin_expected(t, addr, value, bytes, pc)) {
        if (word)
            hnrt_order_unlock_unnumbered(t, word);
        hnrt_spin_note(t, addr, value, bytes, pc, true);
        hnrt_ref(addr, code, OP_SPIN, pc);
        hnrt_spin_mark(t);
        return;
    }
    uint64_t number = word ? hnrt_order_unlock(t, word) : 0;
    if (same)
        hnrt_spin_note(t, addr, value, bytes, pc, false);
    else
        hnrt_spin_won(t, addr, pc);
    if (word)
        record(t, addr, code, op, kind, number, pc);
    else
        hnrt_ref(addr, code, op, pc);
    if (same)
        hnrt_spin_mark(t);
}

/* Not recording: the reference still goes to the scratch ring. In a handler that interrupted a recording, the
 * operation is one of those that go unnumbered. */
static struct hn_thread *begin(const volatile void *addr, unsigned code, enum hn_op op, uintptr_t pc) {
    struct hn_thread *t = hnrt_recording();
    if (LIKELY(t != NULL))
        return t;
    hnrt_ref(addr, code, op, pc);
    if (UNLIKELY(hnrt_self && hnrt_self->signal && hnrt_self->real))
        __atomic_fetch_add(CONTROL64(HN_CONTROL_OFF_UNNUMBERED), 1, __ATOMIC_RELAXED);
    return NULL;
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

#define ATOMIC_LOAD(bits)                                                                                             \
    EXPORT a##bits __tsan_atomic##bits##_load(const volatile a##bits *a, int order) {                                 \
        (void)order;                                                                                                  \
        uintptr_t pc = CALLER();                                                                                      \
        struct hn_thread *t = begin(a, CODE_OF(bits), OP_READ, pc);                                                   \
        a##bits v = load##bits(a);                                                                                    \
        if (!t)                                                                                                       \
            return v;                                                                                                 \
        uint64_t *word = NULL;                                                                                        \
        bool spin = hnrt_spin_expected(t, a, &v, bits / 8, pc); /* spares the one we wait for our lock */             \
        if (!spin && (word = hnrt_order_lock(t, a)))                                                                  \
            v = load##bits(a);                                                                                        \
        finish(t, word, a, CODE_OF(bits), OP_READ, HN_EVENT_ACQUIRE, &v, true, pc);                                   \
        return v;                                                                                                     \
    }

#define ATOMIC_STORE(bits)                                                                                            \
    EXPORT void __tsan_atomic##bits##_store(volatile a##bits *a, a##bits v, int order) {                              \
        uintptr_t pc = CALLER();                                                                                      \
        struct hn_thread *t = begin(a, CODE_OF(bits), OP_WRITE, pc);                                                  \
        uint64_t *word = t ? hnrt_order_lock(t, a) : NULL;                                                            \
        store##bits(a, v, order);                                                                                     \
        if (t)                                                                                                        \
            finish(t, word, a, CODE_OF(bits), OP_WRITE, HN_EVENT_RELEASE, &v, false, pc);                             \
    }

#define ATOMIC_MODIFY(bits, name, is_same)                                                                            \
    EXPORT a##bits __tsan_atomic##bits##_##name(volatile a##bits *a, a##bits v, int order) {                          \
        (void)order;                                                                                                  \
        uintptr_t pc = CALLER();                                                                                      \
        struct hn_thread *t = begin(a, CODE_OF(bits), OP_ATOMIC, pc);                                                 \
        uint64_t *word = t ? hnrt_order_lock(t, a) : NULL;                                                            \
        a##bits old = name##bits(a, v);                                                                               \
        if (t)                                                                                                        \
            finish(t, word, a, CODE_OF(bits), OP_ATOMIC, HN_EVENT_ACQ_REL, &old, is_same, pc);                        \
        return old;                                                                                                   \
    }

/* `own` is where the program keeps the expected value, or NULL. */
static inline __attribute__((always_inline)) a128 compare(volatile void *a, const void *own, a128 expected, a128 wanted,
                                                          unsigned bits, uintptr_t pc) {
    struct hn_thread *t = begin(a, CODE_OF(bits), OP_ATOMIC, pc);
    if (t && own)
        hnrt_spin_overlook(t, own);
    uint64_t *word = t ? hnrt_order_lock(t, a) : NULL;
    a128 old = bits == 8    ? swap8(a, (a8)expected, (a8)wanted)
               : bits == 16 ? swap16(a, (a16)expected, (a16)wanted)
               : bits == 32 ? swap32(a, (a32)expected, (a32)wanted)
               : bits == 64 ? swap64(a, (a64)expected, (a64)wanted)
                            : swap128(a, expected, wanted);
    if (t)
        finish(t, word, a, CODE_OF(bits), OP_ATOMIC, HN_EVENT_ACQ_REL, &old, old != expected, pc);
    return old;
}

#define ATOMIC_COMPARE(bits, name)                                                                                    \
    EXPORT int __tsan_atomic##bits##_compare_exchange_##name(volatile a##bits *a, a##bits *expected, a##bits wanted,  \
                                                             int order, int fail) {                                   \
        (void)order, (void)fail;                                                                                      \
        a##bits want = *expected, old = (a##bits)compare(a, expected, want, wanted, bits, CALLER());                  \
        *expected = old;                                                                                              \
        return old == want;                                                                                           \
    }
#define ATOMIC_COMPARE_VALUE(bits)                                                                                    \
    EXPORT a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *a, a##bits expected, a##bits wanted,  \
                                                              int order, int fail) {                                  \
        (void)order, (void)fail;                                                                                      \
        return (a##bits)compare(a, NULL, expected, wanted, bits, CALLER());                                           \
    }

#define ATOMICS(bits)                                                                                                 \
    ATOMIC_LOAD(bits)                                                                                                 \
    ATOMIC_STORE(bits)                                                                                                \
    ATOMIC_MODIFY(bits, exchange, old == v)                                                                           \
    ATOMIC_MODIFY(bits, fetch_add, false)                                                                             \
    ATOMIC_MODIFY(bits, fetch_sub, false)                                                                             \
    ATOMIC_MODIFY(bits, fetch_and, false)                                                                             \
    ATOMIC_MODIFY(bits, fetch_or, false)                                                                              \
    ATOMIC_MODIFY(bits, fetch_xor, false)                                                                             \
    ATOMIC_MODIFY(bits, fetch_nand, false)                                                                            \
    ATOMIC_COMPARE(bits, strong)                                                                                      \
    ATOMIC_COMPARE(bits, weak)                                                                                        \
    ATOMIC_COMPARE_VALUE(bits)
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)
ATOMICS(128)

/* Fences order; they refer to no memory. Their effect on other threads comes with the atomics beside them. */
EXPORT void __tsan_atomic_thread_fence(int order) {
    (void)order;
    hnrt_omp_fence(CALLER());
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

EXPORT void __tsan_atomic_signal_fence(int order) {
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
