/* A big mapping that a plan cuts into more pieces than a process may have mappings; then the program needs some. */
#include <sys/mman.h>

#include "where.h"

int main(void) {
    size_t bytes = 70000ul * 4096;
    char *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED)
        return 1;
    for (int i = 0; i < 1000; i++)
        if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            return 2;
    where("first", m, 4096);
    where("last", m + bytes - 4096, 4096);
    munmap(m, bytes);
    return 0;
}
