/* Two blocks that are touched all over, one asked to be in huge pages and one asked not to; then a while of nothing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BLOCK ((size_t)8 << 20)

static char *block(int advice) {
    char *at = mmap(0, 2 * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(2);
    char *aligned = (char *)(((uintptr_t)at + BLOCK - 1) & ~(uintptr_t)(BLOCK - 1));
    if (madvise(aligned, BLOCK, advice))
        exit(4);
    memset(aligned, 1, BLOCK);
    return aligned;
}

/* Kilobytes of this process in huge pages; the kernel may have none to give. */
static unsigned long huge_kb(void) {
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    char line[200];
    unsigned long kb = 0;
    while (rollup && fgets(line, sizeof line, rollup))
        sscanf(line, "AnonHugePages: %lu", &kb);
    if (rollup)
        fclose(rollup);
    return kb;
}

int main(int argc, char **argv) {
    FILE *told = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!told)
        return 5;
    fprintf(told, "%lu ", (unsigned long)(uintptr_t)block(MADV_HUGEPAGE));
    fprintf(told, "%lu ", (unsigned long)(uintptr_t)block(MADV_NOHUGEPAGE));
    fprintf(told, "%lu", huge_kb());
    fclose(told);
    struct timespec while_ = {1, 0};
    nanosleep(&while_, NULL);
    return 3;
}
