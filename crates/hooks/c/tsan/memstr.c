/* Memory and string functions, recorded as ranges of the calling site: what the C library touches on the program's
 * behalf. Only calls from recorded code count (shared libraries reach these definitions too), and only the bytes
 * that the function's definition refers to, not what a vectorised implementation reads beyond. Built without turning
 * loops into calls of these very functions. */
#include "ranges.h"
#include "real.h"

/* ---- slow versions, for before the real ones are known ------------------------------------------ */

static void *plain_move(void *to, const void *from, size_t n) {
    uint8_t *d = to;
    const uint8_t *s = from;
    if (d <= s)
        for (size_t i = 0; i < n; i++)
            d[i] = s[i];
    else
        while (n--)
            d[n] = s[n];
    return to;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

INTERPOSE void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        reads(from, n, pc);
        writes(to, n, pc);
    }
    return LIKELY(hnrt_real.memcpy != NULL) ? hnrt_real.memcpy(to, from, n) : plain_move(to, from, n);
}

INTERPOSE void *memmove(void *to, const void *from, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        reads(from, n, pc);
        writes(to, n, pc);
    }
    return LIKELY(hnrt_real.memmove != NULL) ? hnrt_real.memmove(to, from, n) : plain_move(to, from, n);
}

INTERPOSE void *mempcpy(void *restrict to, const void *restrict from, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        reads(from, n, pc);
        writes(to, n, pc);
    }
    return REAL(mempcpy)(to, from, n);
}

INTERPOSE void *memset(void *to, int value, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc))
        writes(to, n, pc);
    if (LIKELY(hnrt_real.memset != NULL))
        return hnrt_real.memset(to, value, n);
    for (size_t i = 0; i < n; i++)
        ((volatile uint8_t *)to)[i] = (uint8_t)value;
    return to;
}

/* Newer clangs call these instead. */
EXPORT void *__tsan_memcpy(void *restrict to, const void *restrict from, size_t n) {
    uintptr_t pc = CALLER();
    reads(from, n, pc);
    writes(to, n, pc);
    return REAL(memcpy)(to, from, n);
}

EXPORT void *__tsan_memmove(void *to, const void *from, size_t n) {
    uintptr_t pc = CALLER();
    reads(from, n, pc);
    writes(to, n, pc);
    return REAL(memmove)(to, from, n);
}

EXPORT void *__tsan_memset(void *to, int value, size_t n) {
    writes(to, n, CALLER());
    return REAL(memset)(to, value, n);
}

/* ---- searches and comparisons ------------------------------------------------------------------------------------ */

INTERPOSE void *memchr(const void *s, int c, size_t n) {
    void *found = REAL(memchr)(s, c, n);
    uintptr_t pc = CALLER();
    if (ours(pc))
        reads(s, found ? (size_t)((char *)found - (char *)s) + 1 : n, pc);
    return found;
}

INTERPOSE int memcmp(const void *a, const void *b, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t touched = compared(a, b, n, false);
        reads(a, touched, pc);
        reads(b, touched, pc);
    }
    return REAL(memcmp)(a, b, n);
}

INTERPOSE size_t strlen(const char *s) {
    size_t n = LIKELY(hnrt_real.strlen != NULL) ? hnrt_real.strlen(s) : length(s, SIZE_MAX);
    uintptr_t pc = CALLER();
    if (ours(pc))
        reads(s, n + 1, pc);
    return n;
}

INTERPOSE int strcmp(const char *a, const char *b) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t touched = compared((const uint8_t *)a, (const uint8_t *)b, SIZE_MAX, true);
        reads(a, touched, pc);
        reads(b, touched, pc);
    }
    return REAL(strcmp)(a, b);
}

INTERPOSE int strncmp(const char *a, const char *b, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t touched = compared((const uint8_t *)a, (const uint8_t *)b, n, true);
        reads(a, touched, pc);
        reads(b, touched, pc);
    }
    return REAL(strncmp)(a, b, n);
}

INTERPOSE char *strchr(const char *s, int c) {
    char *found = REAL(strchr)(s, c);
    uintptr_t pc = CALLER();
    if (ours(pc))
        reads(s, (found ? (size_t)(found - s) : length(s, SIZE_MAX)) + 1, pc);
    return found;
}

/* ---- string copies ----------------------------------------------------------------------------------------------- */

INTERPOSE char *strcpy(char *restrict to, const char *restrict from) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t n = length(from, SIZE_MAX) + 1;
        reads(from, n, pc);
        writes(to, n, pc);
    }
    return REAL(strcpy)(to, from);
}

INTERPOSE char *strncpy(char *restrict to, const char *restrict from, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t has = length(from, n);
        reads(from, has < n ? has + 1 : n, pc);
        writes(to, n, pc);
    }
    return REAL(strncpy)(to, from, n);
}

INTERPOSE char *strcat(char *restrict to, const char *restrict from) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t at = length(to, SIZE_MAX), n = length(from, SIZE_MAX) + 1;
        reads(to, at + 1, pc);
        reads(from, n, pc);
        writes(to + at, n, pc);
    }
    return REAL(strcat)(to, from);
}
