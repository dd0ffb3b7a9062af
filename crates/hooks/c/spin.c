/* Busy waiting: the same site reads the same value at the same address again and again, with nothing between the
 * reads except other such reads (`while (!a || !b)`). From the 4th on, a read is marked. Whether something was
 * between is seen from the ring's cursor, which every reference and event moves. */
#include "runtime.h"

static void load_value(const void *value, unsigned bytes, uint64_t out[2]) {
    out[0] = out[1] = 0;
    for (unsigned i = 0; i < bytes; i++)
        ((uint8_t *)out)[i] = ((const uint8_t *)value)[i];
}

static int find(const struct hn_spin *s, uintptr_t pc) {
    for (uint32_t i = 0; i < s->used; i++)
        if (s->site[i].pc == pc)
            return (int)i;
    return -1;
}

/* Whether a read that gets this value is busy waiting. */
bool hnrt_spin_expected(struct hn_thread *t, const volatile void *addr, const void *value, unsigned bytes,
                        uintptr_t pc) {
    struct hn_spin *s = &t->spin;
    if (s->mark != hnrt_ring->cursor)
        return false;
    int i = find(s, pc);
    if (i < 0 || s->site[i].addr != (uintptr_t)addr || s->site[i].count + 1 < SPIN_AFTER)
        return false;
    uint64_t v[2];
    load_value(value, bytes, v);
    return s->site[i].value == v[0] && s->site[i].value_high == v[1];
}

static void remember(struct hn_spin *s, const volatile void *addr, const uint64_t v[2], uintptr_t pc) {
    int i = find(s, pc);
    if (i >= 0 && s->site[i].addr == (uintptr_t)addr && s->site[i].value == v[0] && s->site[i].value_high == v[1]) {
        s->site[i].count++;
        return;
    }
    if (i >= 0 || s->used == SPIN_SITES)
        s->used = 0; /* a value changed: whatever was waited for, the wait is over */
    s->site[s->used].pc = pc;
    s->site[s->used].addr = (uintptr_t)addr;
    s->site[s->used].value = v[0];
    s->site[s->used].value_high = v[1];
    s->site[s->used].count = 1;
    s->used++;
}

/* Notes a read whose slots are about to be written; call hnrt_spin_mark after them. */
void hnrt_spin_note(struct hn_thread *t, const volatile void *addr, const void *value, unsigned bytes, uintptr_t pc) {
    uint64_t v[2];
    load_value(value, bytes, v);
    if (t->spin.mark != hnrt_ring->cursor)
        t->spin.used = 0;
    remember(&t->spin, addr, v, pc);
}

/* gcc keeps the expected value of a compare-and-swap in memory, and sets it anew before each try: references to it
 * are part of the wait. */
void hnrt_spin_overlook(struct hn_thread *t, const void *own) {
    const struct hn_ring *r = t->real;
    uint64_t at = t->spin.mark;
    for (unsigned steps = 0; hnrt_ring == r && at - r->base <= r->bytes && at != r->cursor && steps < 4; steps++) {
        if ((at & (HN_BATCH_BYTES - 1)) == 0) /* over the next stamp */
            at = r->base + ((at - r->base) & (r->bytes - 1)) + HN_SLOT_BYTES;
        const uint64_t *slot = (const uint64_t *)at;
        if ((slot[0] & (HN_W0_EVENT | HN_W0_ADDR_MASK)) != (uintptr_t)own)
            return;
        at += HN_SLOT_BYTES;
    }
    if (at == r->cursor)
        t->spin.mark = at;
}

void hnrt_spin_mark(struct hn_thread *t) {
    t->spin.mark = hnrt_ring->cursor;
}

#define VOLATILE_READ(name, bytes, code, type)                                                                        \
    EXPORT void __tsan_##name(void *addr) {                                                                           \
        uintptr_t pc = CALLER();                                                                                      \
        struct hn_thread *t = hnrt_recording();                                                                       \
        if (!t) {                                                                                                     \
            hnrt_ref(addr, code, OP_READ, pc);                                                                        \
            return;                                                                                                   \
        }                                                                                                             \
        type value = *(const volatile type *)addr;                                                                    \
        bool spin = hnrt_spin_expected(t, addr, &value, bytes, pc);                                                   \
        hnrt_spin_note(t, addr, &value, bytes, pc);                                                                   \
        hnrt_ref(addr, code, spin ? OP_SPIN : OP_READ, pc);                                                           \
        hnrt_spin_mark(t);                                                                                            \
    }                                                                                                                 \
    EXPORT void __tsan_##name##_pc(void *addr, void *pc) {                                                            \
        hnrt_ref(addr, code, OP_READ, (uintptr_t)pc - 1);                                                             \
    }

/* Any alignment, any aliasing; 16 bytes in two halves, as nothing needs them at once. */
typedef uint16_t __attribute__((aligned(1), may_alias)) any16;
typedef uint32_t __attribute__((aligned(1), may_alias)) any32;
typedef uint64_t __attribute__((aligned(1), may_alias)) any64;
typedef unsigned __int128 __attribute__((aligned(1), may_alias)) any128;

VOLATILE_READ(volatile_read1, 1, CODE_1, uint8_t)
VOLATILE_READ(volatile_read2, 2, CODE_2, any16)
VOLATILE_READ(volatile_read4, 4, CODE_4, any32)
VOLATILE_READ(volatile_read8, 8, CODE_8, any64)
VOLATILE_READ(volatile_read16, 16, CODE_16, any128)
VOLATILE_READ(unaligned_volatile_read2, 2, CODE_2, any16)
VOLATILE_READ(unaligned_volatile_read4, 4, CODE_4, any32)
VOLATILE_READ(unaligned_volatile_read8, 8, CODE_8, any64)
VOLATILE_READ(unaligned_volatile_read16, 16, CODE_16, any128)
