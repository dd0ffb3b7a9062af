/* What the memory and string functions have in common: whose call it is, and how far it looks. */
#pragma once
#include "runtime.h"

/* Whether a call from `pc` is the program's. */
static inline bool ours(uintptr_t pc) {
    struct hn_thread *t = hnrt_self;
    return hnrt_attached && t && !t->guard && hnrt_module_has(pc);
}

static inline void reads(const void *p, size_t bytes, uintptr_t pc) {
    hnrt_put_bytes(p, bytes, OP_READ, pc);
}

static inline void writes(const void *p, size_t bytes, uintptr_t pc) {
    hnrt_put_bytes(p, bytes, OP_WRITE, pc);
}

/* Reads of a copy, then its writes, if it is the program's. */
static inline void copies(void *to, const void *from, size_t bytes, uintptr_t pc) {
    if (ours(pc)) {
        reads(from, bytes, pc);
        writes(to, bytes, pc);
    }
}

static inline size_t length(const char *s, size_t most) {
    size_t n = 0;
    while (n < most && s[n])
        n++;
    return n;
}

/* Bytes that a comparison has to look at: up to and with the first difference (or, for strings, the end). */
static inline size_t compared(const uint8_t *a, const uint8_t *b, size_t most, bool string) {
    size_t n = 0;
    while (n < most && a[n] == b[n] && !(string && !a[n]))
        n++;
    return n < most ? n + 1 : most;
}
