/* Another library that is preloaded: what is large and cleared begins where a mapping of its own does, as now and then in jemalloc. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE 100000
#define MORE (1ul << 20)

void *calloc(size_t count, size_t each) {
    size_t bytes = count * each;
    if (bytes >= LARGE) {
        void *mapped = mmap(NULL, bytes + MORE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return mapped == MAP_FAILED ? NULL : mapped;
    }
    void *p = malloc(bytes);
    __asm__ volatile("" : "+r"(p)); /* or the compiler makes a call of calloc of this */
    return p ? memset(p, 0, bytes) : NULL;
}
