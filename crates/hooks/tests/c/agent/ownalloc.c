/* A program with an allocator of its own, as those linked statically with one are. */
#include <sys/mman.h>

#include "where.h"

static char *chunk;
static size_t left;

void *malloc(size_t bytes) {
    bytes = (bytes + 31) & ~15ul;
    if (bytes > left) {
        left = bytes > 1 << 20 ? bytes : 1 << 20;
        chunk = mmap(NULL, left, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    size_t *p = (size_t *)chunk;
    p[0] = bytes;
    chunk += bytes;
    left -= bytes;
    return p + 2;
}

void free(void *p) {
    (void)p;
}

void *calloc(size_t count, size_t each) {
    return memset(malloc(count * each), 0, count * each);
}

void *realloc(void *old, size_t bytes) {
    void *p = malloc(bytes);
    if (old)
        memcpy(p, old, ((size_t *)old)[-2] - 16 < bytes ? ((size_t *)old)[-2] - 16 : bytes);
    return p;
}

int main(void) {
    char *p = malloc(500000);
    where("own", p, 500000);
    return 0;
}
