/* Functions of wide characters, recorded as memstr.c does: bytes, not characters. */
#include <wchar.h>

#include "ranges.h"
#include "real.h"

#define WIDE sizeof(wchar_t)

static size_t wide_length(const wchar_t *s, size_t most) {
    size_t n = 0;
    while (n < most && s[n])
        n++;
    return n;
}

/* A string with its end, if that is among the first `most`. */
static size_t looked_at(const wchar_t *s, size_t most) {
    size_t n = wide_length(s, most);
    return (n < most ? n + 1 : most) * WIDE;
}

static void reads_of(const void *p, size_t bytes, uintptr_t pc) {
    if (ours(pc))
        reads(p, bytes, pc);
}

static void writes_to(void *p, size_t bytes, uintptr_t pc) {
    if (ours(pc))
        writes(p, bytes, pc);
}

static void compares(const wchar_t *a, const wchar_t *b, size_t most, bool string, uintptr_t pc) {
    if (!ours(pc))
        return;
    size_t n = 0;
    while (n < most && a[n] == b[n] && !(string && !a[n]))
        n++;
    size_t bytes = (n < most ? n + 1 : most) * WIDE;
    reads(a, bytes, pc);
    reads(b, bytes, pc);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

INTERPOSE wchar_t *wmemcpy(wchar_t *restrict to, const wchar_t *restrict from, size_t n) {
    copies(to, from, n * WIDE, CALLER());
    return REAL(wmemcpy)(to, from, n);
}

INTERPOSE wchar_t *wmemmove(wchar_t *to, const wchar_t *from, size_t n) {
    copies(to, from, n * WIDE, CALLER());
    return REAL(wmemmove)(to, from, n);
}

INTERPOSE wchar_t *wmempcpy(wchar_t *restrict to, const wchar_t *restrict from, size_t n) {
    copies(to, from, n * WIDE, CALLER());
    return REAL(wmempcpy)(to, from, n);
}

INTERPOSE wchar_t *wmemset(wchar_t *to, wchar_t value, size_t n) {
    writes_to(to, n * WIDE, CALLER());
    return REAL(wmemset)(to, value, n);
}

INTERPOSE wchar_t *wmemchr(const wchar_t *s, wchar_t c, size_t n) {
    wchar_t *found = REAL(wmemchr)(s, c, n);
    reads_of(s, (found ? (size_t)(found - s) + 1 : n) * WIDE, CALLER());
    return found;
}

INTERPOSE int wmemcmp(const wchar_t *a, const wchar_t *b, size_t n) {
    compares(a, b, n, false, CALLER());
    return REAL(wmemcmp)(a, b, n);
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

INTERPOSE size_t wcslen(const wchar_t *s) {
    reads_of(s, looked_at(s, SIZE_MAX), CALLER());
    return REAL(wcslen)(s);
}

INTERPOSE size_t wcsnlen(const wchar_t *s, size_t most) {
    reads_of(s, looked_at(s, most), CALLER());
    return REAL(wcsnlen)(s, most);
}

INTERPOSE int wcscmp(const wchar_t *a, const wchar_t *b) {
    compares(a, b, SIZE_MAX, true, CALLER());
    return REAL(wcscmp)(a, b);
}

INTERPOSE int wcsncmp(const wchar_t *a, const wchar_t *b, size_t n) {
    compares(a, b, n, true, CALLER());
    return REAL(wcsncmp)(a, b, n);
}

INTERPOSE wchar_t *wcschr(const wchar_t *s, wchar_t c) {
    wchar_t *found = REAL(wcschr)(s, c);
    reads_of(s, found ? ((size_t)(found - s) + 1) * WIDE : looked_at(s, SIZE_MAX), CALLER());
    return found;
}

INTERPOSE wchar_t *wcsrchr(const wchar_t *s, wchar_t c) {
    reads_of(s, looked_at(s, SIZE_MAX), CALLER());
    return REAL(wcsrchr)(s, c);
}

INTERPOSE wchar_t *wcsstr(const wchar_t *s, const wchar_t *what) {
    wchar_t *found = REAL(wcsstr)(s, what);
    uintptr_t pc = CALLER();
    size_t m = looked_at(what, SIZE_MAX);
    reads_of(what, m, pc);
    reads_of(s, found ? (size_t)(found - s) * WIDE + m - WIDE : looked_at(s, SIZE_MAX), pc);
    return found;
}

INTERPOSE wchar_t *wcscpy(wchar_t *restrict to, const wchar_t *restrict from) {
    copies(to, from, looked_at(from, SIZE_MAX), CALLER());
    return REAL(wcscpy)(to, from);
}

INTERPOSE wchar_t *wcpcpy(wchar_t *restrict to, const wchar_t *restrict from) {
    copies(to, from, looked_at(from, SIZE_MAX), CALLER());
    return REAL(wcpcpy)(to, from);
}

/* Writes all of `n`, whatever the string's length. */
INTERPOSE wchar_t *wcsncpy(wchar_t *restrict to, const wchar_t *restrict from, size_t n) {
    uintptr_t pc = CALLER();
    reads_of(from, looked_at(from, n), pc);
    writes_to(to, n * WIDE, pc);
    return REAL(wcsncpy)(to, from, n);
}

/* Appends at most `most` characters and an end. */
static void appends(wchar_t *to, const wchar_t *from, size_t most, uintptr_t pc) {
    size_t at = wide_length(to, SIZE_MAX), has = wide_length(from, most);
    reads_of(to, (at + 1) * WIDE, pc);
    reads_of(from, looked_at(from, most), pc);
    writes_to(to + at, (has + 1) * WIDE, pc);
}

INTERPOSE wchar_t *wcscat(wchar_t *restrict to, const wchar_t *restrict from) {
    appends(to, from, SIZE_MAX, CALLER());
    return REAL(wcscat)(to, from);
}

INTERPOSE wchar_t *wcsncat(wchar_t *restrict to, const wchar_t *restrict from, size_t n) {
    appends(to, from, n, CALLER());
    return REAL(wcsncat)(to, from, n);
}

/* The block's allocation is recorded by malloc, which this calls. */
INTERPOSE wchar_t *wcsdup(const wchar_t *from) {
    wchar_t *to = REAL(wcsdup)(from);
    if (to)
        copies(to, from, looked_at(from, SIZE_MAX), CALLER());
    return to;
}

/* ---- the variants that check for room (_FORTIFY_SOURCE); `room` in characters ------------------------------------- */

#define CHECKED_MEMORY(name)                                                                                          \
    INTERPOSE wchar_t *__##name##_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room) {                      \
        if (n <= room)                                                                                                \
            copies(to, from, n * WIDE, CALLER());                                                                     \
        return REAL(__##name##_chk)(to, from, n, room);                                                               \
    }
CHECKED_MEMORY(wmemcpy)
CHECKED_MEMORY(wmemmove)
CHECKED_MEMORY(wmempcpy)

INTERPOSE wchar_t *__wmemset_chk(wchar_t *to, wchar_t value, size_t n, size_t room) {
    if (n <= room)
        writes_to(to, n * WIDE, CALLER());
    return REAL(__wmemset_chk)(to, value, n, room);
}

#define CHECKED_STRING(name)                                                                                          \
    INTERPOSE wchar_t *__##name##_chk(wchar_t *to, const wchar_t *from, size_t room) {                                \
        if (looked_at(from, SIZE_MAX) <= room * WIDE)                                                                 \
            copies(to, from, looked_at(from, SIZE_MAX), CALLER());                                                    \
        return REAL(__##name##_chk)(to, from, room);                                                                  \
    }
CHECKED_STRING(wcscpy)
CHECKED_STRING(wcpcpy)

INTERPOSE wchar_t *__wcsncpy_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room) {
    uintptr_t pc = CALLER();
    if (n <= room) {
        reads_of(from, looked_at(from, n), pc);
        writes_to(to, n * WIDE, pc);
    }
    return REAL(__wcsncpy_chk)(to, from, n, room);
}

INTERPOSE wchar_t *__wcscat_chk(wchar_t *to, const wchar_t *from, size_t room) {
    if (wide_length(to, SIZE_MAX) + wide_length(from, SIZE_MAX) < room)
        appends(to, from, SIZE_MAX, CALLER());
    return REAL(__wcscat_chk)(to, from, room);
}

INTERPOSE wchar_t *__wcsncat_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room) {
    if (wide_length(to, SIZE_MAX) + wide_length(from, n) < room)
        appends(to, from, n, CALLER());
    return REAL(__wcsncat_chk)(to, from, n, room);
}
