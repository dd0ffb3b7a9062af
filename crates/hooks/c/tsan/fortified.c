/* The memory and string functions that check for room (_FORTIFY_SOURCE), recorded as memstr.c does. What does not fit is
 * not recorded: the program ends there. */
#include "ranges.h"
#include "real.h"

#define CHECKED_COPY(name, real)                                                                                      \
    INTERPOSE void *name(void *to, const void *from, size_t n, size_t room) {                                         \
        if (n <= room)                                                                                                \
            copies(to, from, n, CALLER());                                                                            \
        return REAL(real)(to, from, n, room);                                                                         \
    }
CHECKED_COPY(__memcpy_chk, __memcpy_chk)
CHECKED_COPY(__memmove_chk, __memmove_chk)
CHECKED_COPY(__mempcpy_chk, __mempcpy_chk)

INTERPOSE void *__memset_chk(void *to, int value, size_t n, size_t room) {
    uintptr_t pc = CALLER();
    if (n <= room && ours(pc))
        writes(to, n, pc);
    return REAL(__memset_chk)(to, value, n, room);
}

INTERPOSE char *__strcpy_chk(char *to, const char *from, size_t room) {
    uintptr_t pc = CALLER();
    size_t n = ours(pc) ? length(from, SIZE_MAX) + 1 : 0;
    if (n && n <= room)
        copies(to, from, n, pc);
    return REAL(__strcpy_chk)(to, from, room);
}

INTERPOSE char *__strcat_chk(char *to, const char *from, size_t room) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t at = length(to, SIZE_MAX), n = length(from, SIZE_MAX) + 1;
        if (at + n <= room) {
            reads(to, at + 1, pc);
            copies(to + at, from, n, pc);
        }
    }
    return REAL(__strcat_chk)(to, from, room);
}

INTERPOSE char *__stpcpy_chk(char *to, const char *from, size_t room) {
    uintptr_t pc = CALLER();
    size_t n = ours(pc) ? length(from, SIZE_MAX) + 1 : 0;
    if (n && n <= room)
        copies(to, from, n, pc);
    return REAL(__stpcpy_chk)(to, from, room);
}

/* Write all of `n` bytes, whatever the string's length. */
static void fills(char *to, const char *from, size_t n, uintptr_t pc) {
    size_t has = length(from, n);
    reads(from, has < n ? has + 1 : n, pc);
    writes(to, n, pc);
}

INTERPOSE char *__strncpy_chk(char *to, const char *from, size_t n, size_t room) {
    uintptr_t pc = CALLER();
    if (n <= room && ours(pc))
        fills(to, from, n, pc);
    return REAL(__strncpy_chk)(to, from, n, room);
}

INTERPOSE char *__stpncpy_chk(char *to, const char *from, size_t n, size_t room) {
    uintptr_t pc = CALLER();
    if (n <= room && ours(pc))
        fills(to, from, n, pc);
    return REAL(__stpncpy_chk)(to, from, n, room);
}

INTERPOSE char *__strncat_chk(char *to, const char *from, size_t n, size_t room) {
    uintptr_t pc = CALLER();
    if (ours(pc)) {
        size_t at = length(to, SIZE_MAX), has = length(from, n);
        if (at + has < room) {
            reads(to, at + 1, pc);
            reads(from, has < n ? has + 1 : n, pc);
            writes(to + at, has + 1, pc);
        }
    }
    return REAL(__strncat_chk)(to, from, n, room);
}

INTERPOSE void __explicit_bzero_chk(void *to, size_t n, size_t room) {
    uintptr_t pc = CALLER();
    if (n <= room && ours(pc))
        writes(to, n, pc);
    REAL(__explicit_bzero_chk)(to, n, room);
}
