/* Allocations of the given sizes from one place, untouched: where they would be, and how much of them is in memory. `also`
 * runs a command while this process lives. */
#include "where.h"
#include <sys/mman.h>

static NOINLINE void *make(size_t bytes) {
    void *p = malloc(bytes);
    HIDE(p);
    return p;
}

static void present(int i, char *p, size_t bytes) {
    uintptr_t from = (uintptr_t)p & ~4095ul, end = ((uintptr_t)p + bytes + 4095) & ~4095ul;
    unsigned char *there = calloc((end - from) / 4096, 1);
    unsigned pages = 0;
    if (mincore((void *)from, end - from, there))
        abort();
    for (size_t j = 0; j < (end - from) / 4096; j++)
        pages += there[j] & 1;
    free(there);
    char line[100];
    int used = sprintf(line, "r%d %p %zu there*%u\n", i, (void *)p, bytes, pages);
    if (write(1, line, used) != used)
        abort();
}

int main(int n, char **words) {
    for (int i = 1; i < n; i++) {
        if (!strcmp(words[i], "also"))
            return system(words[i + 1]) != 0;
        size_t bytes = strtoull(words[i], NULL, 0);
        char *p = make(bytes), name[16];
        sprintf(name, "o%d", i - 1);
        where(name, p, bytes);
        present(i - 1, p, bytes);
    }
    return 0;
}
