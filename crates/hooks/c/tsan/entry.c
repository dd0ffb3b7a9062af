/* The entry points that compilers insert at plain references: the fast path. Out of line and without a frame. */
#include "runtime.h"

#define ENTRY_BY(put, name, code, op)                                                                                         \
    EXPORT void __tsan_##name(void *addr) {                                                                           \
        put(addr, code, op, CALLER());                                                                                \
    }                                                                                                                 \
    EXPORT void __tsan_##name##_pc(void *addr, void *pc) {                                                            \
        put(addr, code, op, (uintptr_t)pc - 1);                                                                       \
    }
#define ENTRY(name, code, op) ENTRY_BY(hnrt_plain, name, code, op)
#define ENTRY_ANYWHERE(name, code, op) ENTRY_BY(hnrt_plain_anywhere, name, code, op)

/* One instruction that reads and then writes: two references, as the other compiler reports it. */
#define ENTRY_BOTH(name, code)                                                                                        \
    EXPORT void __tsan_##name(void *addr) {                                                                           \
        uintptr_t pc = CALLER();                                                                                      \
        hnrt_plain_anywhere(addr, code, OP_READ, pc);                                                                 \
        hnrt_plain_anywhere(addr, code, OP_WRITE, pc);                                                                \
    }

ENTRY(read1, CODE_1, OP_READ)
ENTRY(read2, CODE_2, OP_READ)
ENTRY(read4, CODE_4, OP_READ)
ENTRY(read8, CODE_8, OP_READ)
ENTRY(read16, CODE_16, OP_READ)
ENTRY(write1, CODE_1, OP_WRITE)
ENTRY(write2, CODE_2, OP_WRITE)
ENTRY(write4, CODE_4, OP_WRITE)
ENTRY(write8, CODE_8, OP_WRITE)
ENTRY(write16, CODE_16, OP_WRITE)
ENTRY_ANYWHERE(unaligned_read2, CODE_2, OP_READ)
ENTRY_ANYWHERE(unaligned_read4, CODE_4, OP_READ)
ENTRY_ANYWHERE(unaligned_read8, CODE_8, OP_READ)
ENTRY_ANYWHERE(unaligned_read16, CODE_16, OP_READ)
ENTRY_ANYWHERE(unaligned_write2, CODE_2, OP_WRITE)
ENTRY_ANYWHERE(unaligned_write4, CODE_4, OP_WRITE)
ENTRY_ANYWHERE(unaligned_write8, CODE_8, OP_WRITE)
ENTRY_ANYWHERE(unaligned_write16, CODE_16, OP_WRITE)
/* A volatile write is a write; volatile reads may be busy waiting and are in spin.c. */
ENTRY(volatile_write1, CODE_1, OP_WRITE)
ENTRY(volatile_write2, CODE_2, OP_WRITE)
ENTRY(volatile_write4, CODE_4, OP_WRITE)
ENTRY(volatile_write8, CODE_8, OP_WRITE)
ENTRY(volatile_write16, CODE_16, OP_WRITE)
ENTRY_ANYWHERE(unaligned_volatile_write2, CODE_2, OP_WRITE)
ENTRY_ANYWHERE(unaligned_volatile_write4, CODE_4, OP_WRITE)
ENTRY_ANYWHERE(unaligned_volatile_write8, CODE_8, OP_WRITE)
ENTRY_ANYWHERE(unaligned_volatile_write16, CODE_16, OP_WRITE)
ENTRY_BOTH(read_write1, CODE_1)
ENTRY_BOTH(read_write2, CODE_2)
ENTRY_BOTH(read_write4, CODE_4)
ENTRY_BOTH(read_write8, CODE_8)
ENTRY_BOTH(read_write16, CODE_16)
ENTRY_BOTH(unaligned_read_write2, CODE_2)
ENTRY_BOTH(unaligned_read_write4, CODE_4)
ENTRY_BOTH(unaligned_read_write8, CODE_8)
ENTRY_BOTH(unaligned_read_write16, CODE_16)

EXPORT void __tsan_vptr_read(void **vptr) {
    hnrt_plain(vptr, CODE_8, OP_READ, CALLER());
}

EXPORT void __tsan_vptr_update(void **vptr, void *value) {
    (void)value;
    hnrt_plain(vptr, CODE_8, OP_WRITE, CALLER());
}

/* Ranges wider than any single instruction of ours come from vector code or aggregate copies; they are counted
 * besides being recorded, because another compiler would have reported them in pieces. */
static inline void range(void *addr, unsigned long bytes, enum hn_op op, uintptr_t pc) {
    struct hn_thread *t = hnrt_self;
    if (t && bytes > 16)
        t->wide++;
    hnrt_put_bytes(addr, bytes, op, pc);
}

EXPORT void __tsan_read_range(void *addr, unsigned long bytes) {
    range(addr, bytes, OP_READ, CALLER());
}

EXPORT void __tsan_write_range(void *addr, unsigned long bytes) {
    range(addr, bytes, OP_WRITE, CALLER());
}

EXPORT void __tsan_read_range_pc(void *addr, unsigned long bytes, void *pc) {
    range(addr, bytes, OP_READ, (uintptr_t)pc - 1);
}

EXPORT void __tsan_write_range_pc(void *addr, unsigned long bytes, void *pc) {
    range(addr, bytes, OP_WRITE, (uintptr_t)pc - 1);
}

/* The call stack, for allocations. An entry whose frame lies below the caller's is dead: a longjmp or an exception
 * skipped its exit, so the stack heals itself here. */
static inline __attribute__((always_inline)) void enter(struct hn_thread *t, uintptr_t pc, uintptr_t sp) {
    uint32_t depth = t->depth;
    if (LIKELY(depth < HN_STACK_MAX)) {
        while (depth > t->depth_floor && UNLIKELY(t->stack[depth - 1].sp <= sp))
            depth--;
        t->stack[depth].pc = pc;
        t->stack[depth].sp = sp;
    }
    t->depth = depth + 1;
}

/* Stack pointer of this frame. Not __builtin_frame_address, which costs a frame. */
static inline uintptr_t stack_pointer(void) {
    uintptr_t sp;
#if defined(__x86_64__)
    __asm__ volatile("mov %%rsp, %0" : "=r"(sp));
#else
    __asm__ volatile("mov %0, sp" : "=r"(sp));
#endif
    return sp;
}

EXPORT void __tsan_func_entry(void *pc) {
    struct hn_thread *t = hnrt_self;
    if (LIKELY(t != NULL))
        enter(t, (uintptr_t)pc - 1, stack_pointer());
}

EXPORT void __tsan_func_exit(void) {
    struct hn_thread *t = hnrt_self;
    if (LIKELY(t && t->depth > t->depth_floor))
        t->depth--;
}
