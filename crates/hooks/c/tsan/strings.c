/* The less common memory and string functions, recorded as memstr.c does. Programs compiled without optimisation call even
 * those that compilers otherwise replace. */
#include <ctype.h>
#include <strings.h>

#include "ranges.h"
#include "real.h"

static void reads_of(const void *p, size_t n, uintptr_t pc) {
    if (ours(pc))
        reads(p, n, pc);
}

/* A string with its end. */
static void reads_string(const char *s, uintptr_t pc) {
    if (ours(pc))
        reads(s, length(s, SIZE_MAX) + 1, pc);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

INTERPOSE void bzero(void *to, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc))
        writes(to, n, pc);
    REAL(bzero)(to, n);
}

INTERPOSE void explicit_bzero(void *to, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc))
        writes(to, n, pc);
    REAL(explicit_bzero)(to, n);
}

INTERPOSE void bcopy(const void *from, void *to, size_t n) {
    copies(to, from, n, CALLER());
    REAL(bcopy)(from, to, n);
}

INTERPOSE int bcmp(const void *a, const void *b, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t touched = compared(a, b, n, false);
        reads(a, touched, pc);
        reads(b, touched, pc);
    }
    return REAL(memcmp)(a, b, n);
}

INTERPOSE void *memccpy(void *restrict to, const void *restrict from, int c, size_t n) {
    char *after = REAL(memccpy)(to, from, c, n);
    copies(to, from, after ? (size_t)(after - (char *)to) : n, CALLER());
    return after;
}

/* Searches from the end. */
INTERPOSE void *memrchr(const void *s, int c, size_t n) {
    const char *found = REAL(memrchr)(s, c, n), *from = found ? found : s;
    reads_of(from, (size_t)((const char *)s + n - from), CALLER());
    return (void *)found;
}

INTERPOSE void *rawmemchr(const void *s, int c) {
    char *found = REAL(rawmemchr)(s, c);
    reads_of(s, (size_t)(found - (char *)s) + 1, CALLER());
    return found;
}

INTERPOSE void *memmem(const void *s, size_t n, const void *what, size_t m) {
    char *found = REAL(memmem)(s, n, what, m);
    uintptr_t pc = CALLER();
    reads_of(what, m, pc);
    reads_of(s, found ? (size_t)(found - (char *)s) + m : n, pc);
    return found;
}

INTERPOSE void swab(const void *restrict from, void *restrict to, ssize_t n) {
    if (n > 1)
        copies(to, from, (size_t)n & ~(size_t)1, CALLER());
    REAL(swab)(from, to, n);
}

/* ---- lengths and searches ---------------------------------------------------------------------------------------- */

INTERPOSE size_t strnlen(const char *s, size_t most) {
    size_t n = REAL(strnlen)(s, most);
    reads_of(s, n < most ? n + 1 : most, CALLER());
    return n;
}

INTERPOSE char *strrchr(const char *s, int c) {
    reads_string(s, CALLER());
    return REAL(strrchr)(s, c);
}

INTERPOSE char *strchrnul(const char *s, int c) {
    char *found = REAL(strchrnul)(s, c);
    reads_of(s, (size_t)(found - s) + 1, CALLER());
    return found;
}

static char *found_in(char *found, const char *s, const char *what, uintptr_t pc) {
    if (!ours(pc))
        return found;
    size_t m = length(what, SIZE_MAX);
    reads(what, m + 1, pc);
    reads(s, found ? (size_t)(found - s) + m : length(s, SIZE_MAX) + 1, pc);
    return found;
}

INTERPOSE char *strstr(const char *s, const char *what) {
    return found_in(REAL(strstr)(s, what), s, what, CALLER());
}

INTERPOSE char *strcasestr(const char *s, const char *what) {
    return found_in(REAL(strcasestr)(s, what), s, what, CALLER());
}

INTERPOSE size_t strspn(const char *s, const char *set) {
    size_t n = REAL(strspn)(s, set);
    uintptr_t pc = CALLER();
    reads_string(set, pc);
    reads_of(s, n + 1, pc);
    return n;
}

INTERPOSE size_t strcspn(const char *s, const char *set) {
    size_t n = REAL(strcspn)(s, set);
    uintptr_t pc = CALLER();
    reads_string(set, pc);
    reads_of(s, n + 1, pc);
    return n;
}

INTERPOSE char *strpbrk(const char *s, const char *set) {
    char *found = REAL(strpbrk)(s, set);
    uintptr_t pc = CALLER();
    reads_string(set, pc);
    if (found)
        reads_of(s, (size_t)(found - s) + 1, pc);
    else
        reads_string(s, pc);
    return found;
}

/* ---- comparisons without regard to case -------------------------------------------------------------------------- */

static void reads_alike(const char *a, const char *b, size_t most, uintptr_t pc) {
    if (!ours(pc))
        return;
    size_t n = 0;
    while (n < most && a[n] && tolower((unsigned char)a[n]) == tolower((unsigned char)b[n]))
        n++;
    reads(a, n < most ? n + 1 : most, pc);
    reads(b, n < most ? n + 1 : most, pc);
}

INTERPOSE int strcasecmp(const char *a, const char *b) {
    reads_alike(a, b, SIZE_MAX, CALLER());
    return REAL(strcasecmp)(a, b);
}

INTERPOSE int strncasecmp(const char *a, const char *b, size_t n) {
    reads_alike(a, b, n, CALLER());
    return REAL(strncasecmp)(a, b, n);
}

/* ---- copies of strings ------------------------------------------------------------------------------------------- */

INTERPOSE char *stpcpy(char *restrict to, const char *restrict from) {
    uintptr_t pc = CALLER();
    if (ours(pc))
        copies(to, from, length(from, SIZE_MAX) + 1, pc);
    return REAL(stpcpy)(to, from);
}

/* Writes all of `n` bytes, whatever the string's length. */
INTERPOSE char *stpncpy(char *restrict to, const char *restrict from, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t has = length(from, n);
        reads(from, has < n ? has + 1 : n, pc);
        writes(to, n, pc);
    }
    return REAL(stpncpy)(to, from, n);
}

INTERPOSE char *strncat(char *restrict to, const char *restrict from, size_t n) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t at = length(to, SIZE_MAX), has = length(from, n);
        reads(to, at + 1, pc);
        reads(from, has < n ? has + 1 : n, pc);
        writes(to + at, has + 1, pc);
    }
    return REAL(strncat)(to, from, n);
}

/* The block's allocation is recorded by malloc, which these call. */
INTERPOSE char *strdup(const char *from) {
    char *to = REAL(strdup)(from);
    uintptr_t pc = CALLER();
    if (to && ours(pc))
        copies(to, from, length(from, SIZE_MAX) + 1, pc);
    return to;
}

INTERPOSE char *strndup(const char *from, size_t n) {
    char *to = REAL(strndup)(from, n);
    uintptr_t pc = CALLER();
    if (to && ours(pc)) {
        size_t has = length(from, n);
        reads(from, has < n ? has + 1 : n, pc);
        writes(to, has + 1, pc);
    }
    return to;
}
