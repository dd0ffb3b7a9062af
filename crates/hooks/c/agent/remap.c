/* mremap of memory that was placed. The kernel resizes one mapping at a time, and placing cut the program's mapping
 * into several: they are moved one by one, so that the program does not notice. */
#include <errno.h>
#include <sys/mman.h>

#include "os.h"
#include "plan.h"

struct piece {
    uint64_t from, end; /* what is looked for: the mapping of `from`, no further than `end` */
    uint64_t hi;
};

static bool find_piece(uint64_t lo, uint64_t hi, void *context) {
    struct piece *p = context;
    if (p->from < lo || p->from >= hi)
        return lo <= p->from;
    p->hi = hi < p->end ? hi : p->end;
    return false;
}

/* Moves everything from `from` to `end` to where there is room for it; false if a piece is missing. */
static bool move_pieces(uint64_t from, uint64_t end, uint64_t to) {
    while (from < end) {
        struct piece p = {from, end, 0};
        hnag_maps_each(find_piece, &p);
        if (!p.hi)
            return false;
        uint64_t bytes = p.hi - from;
        if (os_failed(os(SYS_mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to)))
            return false;
        from += bytes;
        to += bytes;
    }
    return true;
}

static uint64_t whole_pages(uint64_t bytes) {
    return (bytes + HNAG_PAGE - 1) & ~(HNAG_PAGE - 1);
}

static void *refused(int why) {
    errno = why;
    return MAP_FAILED;
}

/* As mremap after it failed with EFAULT (under valgrind: ENOMEM). What it may not move it cannot enlarge, as mremap may say too. */
void *hnag_remap_pieces(void *p, size_t old_bytes, size_t bytes, int flags, void *at) {
    uint64_t from = (uintptr_t)p, old_whole = whole_pages(old_bytes), whole = whole_pages(bytes);
    if (!old_whole || !whole || flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED) || from % HNAG_PAGE)
        return refused(EFAULT);
    if (!(flags & MREMAP_MAYMOVE))
        return refused(ENOMEM);
    int fixed = flags & MREMAP_FIXED ? MAP_FIXED : 0;
    long to = os(SYS_mmap, at, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    if (os_failed(to))
        return refused((int)-to);
    if (!move_pieces(from, from + (whole < old_whole ? whole : old_whole), (uint64_t)to))
        return refused(EFAULT);
    if (whole < old_whole)
        os(SYS_munmap, from + whole, old_whole - whole);
    return (void *)to;
}
