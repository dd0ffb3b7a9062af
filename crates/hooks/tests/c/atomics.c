/* Every atomic operation, then busy waiting. */
#include "expect.h"

static uint8_t a8;
static uint16_t a16;
static uint32_t a32;
static uint64_t a64;
static uint32_t other;

#define SC __ATOMIC_SEQ_CST

/* A loop that compilers cannot unroll: unrolled, one site would become many. */
static inline int next(int i) {
    HIDE(i);
    return i + 1;
}
#define REPEAT(n) for (int i = 0; i < (n); i = next(i))

UNRECORDED static void loaded(int size, void *p) {
    sync_event("acquire", p, 0);
    ref('r', size, p);
}

UNRECORDED static void stored(int size, void *p) {
    ref('w', size, p);
    sync_event("release", p, 0);
}

UNRECORDED static void modified(int size, void *p) {
    ref('a', size, p);
    sync_event("acq_rel", p, 0);
}

UNRECORDED static void check(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "wrong result: %s\n", what);
        exit(1);
    }
}

#define ALL(x, type)                                                                                                  \
    do {                                                                                                              \
        type expected;                                                                                                \
        __atomic_store_n(&x, 5, __ATOMIC_RELAXED);                                                                    \
        stored(sizeof x, &x);                                                                                         \
        check(__atomic_load_n(&x, __ATOMIC_RELAXED) == 5, "load");                                                    \
        loaded(sizeof x, &x);                                                                                         \
        check(__atomic_fetch_add(&x, 3, SC) == 5, "fetch_add");                                                       \
        modified(sizeof x, &x);                                                                                       \
        check(__atomic_fetch_sub(&x, 1, SC) == 8, "fetch_sub");                                                       \
        modified(sizeof x, &x);                                                                                       \
        check(__atomic_fetch_or(&x, 16, SC) == 7, "fetch_or");                                                        \
        modified(sizeof x, &x);                                                                                       \
        check(__atomic_fetch_and(&x, 19, SC) == 23, "fetch_and");                                                     \
        modified(sizeof x, &x);                                                                                       \
        check(__atomic_fetch_xor(&x, 1, SC) == 19, "fetch_xor");                                                      \
        modified(sizeof x, &x);                                                                                       \
        check(__atomic_fetch_nand(&x, 2, SC) == 18, "fetch_nand");                                                    \
        modified(sizeof x, &x);                                                                                       \
        check(__atomic_exchange_n(&x, 9, SC) == (type) ~2, "exchange");                                               \
        modified(sizeof x, &x);                                                                                       \
        expected = 9;                                                                                                 \
        check(__atomic_compare_exchange_n(&x, &expected, 10, 0, SC, SC), "compare");                                  \
        modified(sizeof x, &x);                                                                                       \
        expected = 9;                                                                                                 \
        check(!__atomic_compare_exchange_n(&x, &expected, 11, 1, SC, SC) && expected == 10, "failing compare");       \
        modified(sizeof x, &x);                                                                                       \
    } while (0)

/* Reads at one site: one as it is, then busy waiting. */
static void spins(void) {
    static volatile uint32_t flag;
    static uint32_t lock = 1;
    REPEAT(10)
        (void)flag;
    for (int i = 0; i < 10; i++)
        ref(i < 1 ? 'r' : 's', 4, &flag);
    other = 1;
    ref('w', 4, &other);
    REPEAT(2)
        (void)flag;
    for (int i = 0; i < 2; i++)
        ref(i < 1 ? 'r' : 's', 4, &flag);
    REPEAT(8)
        __atomic_load_n(&lock, __ATOMIC_ACQUIRE);
    for (int i = 0; i < 8; i++)
        i < 1 ? loaded(4, &lock) : ref('s', 4, &lock);
    REPEAT(6)
        __atomic_exchange_n(&lock, 1, SC);
    for (int i = 0; i < 6; i++)
        i < 1 ? modified(4, &lock) : ref('s', 4, &lock);
    REPEAT(6) {
        uint32_t expected = 0;
        __atomic_compare_exchange_n(&lock, &expected, 1, 0, SC, SC);
    }
    for (int i = 0; i < 6; i++)
        i < 1 ? modified(4, &lock) : ref('s', 4, &lock);
}

/* Two flags waited for in turn are still one busy wait; a reference between the reads is not. */
static void mixed_spins(void) {
    static uint32_t a, b;
    REPEAT(5) {
        __atomic_load_n(&a, __ATOMIC_ACQUIRE);
        __atomic_load_n(&b, __ATOMIC_ACQUIRE);
    }
    for (int i = 0; i < 5; i++) {
        i < 1 ? loaded(4, &a) : ref('s', 4, &a);
        i < 1 ? loaded(4, &b) : ref('s', 4, &b);
    }
    REPEAT(6) {
        __atomic_load_n(&a, __ATOMIC_ACQUIRE);
        other = i;
        FENCE();
    }
    for (int i = 0; i < 6; i++) {
        loaded(4, &a);
        ref('w', 4, &other);
    }
    REPEAT(6) {
        __atomic_load_n(&a, __ATOMIC_ACQUIRE);
        __atomic_fetch_add(&a, 1, SC);
    }
    for (int i = 0; i < 6; i++) {
        loaded(4, &a);
        modified(4, &a);
    }
}

int main(void) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    homenode_phase_begin("atomics");
    ALL(a8, uint8_t);
    ALL(a16, uint16_t);
    ALL(a32, uint32_t);
    ALL(a64, uint64_t);
    spins();
    mixed_spins();
    homenode_phase_end("atomics");
    return 0;
}
