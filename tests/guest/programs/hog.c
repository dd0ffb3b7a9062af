/* Fills a memory node and holds it: hog NODE LEAVE_MIB. Says "hog: holds N MiB" when the node has no more free memory than
 * that, then waits for its end. */
#include "tool.h"
#include <sys/mman.h>

#define USAGE "NODE LEAVE_MIB"
#define PIECE ((size_t)1 << 20)

static size_t free_mib(int node) {
    char path[64], line[256];
    size_t kib = 0;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", node);
    FILE *f = fopen(path, "re");
    if (!f)
        die(path);
    while (fgets(line, sizeof line, f)) {
        char *at = strstr(line, "MemFree:");
        if (at)
            sscanf(at, "MemFree: %zu", &kib);
    }
    fclose(f);
    return kib / 1024;
}

int main(int argc, char **argv) {
    if (argc != 3)
        misuse(USAGE);
    unsigned node = (unsigned)number(argv[1], USAGE);
    size_t leave = number(argv[2], USAGE), held = 0;
    unsigned long mask = 1ul << node % NODES_MAX;
    if (syscall(SYS_set_mempolicy, TOOL_MPOL_BIND, &mask, NODES_MAX + 1))
        die("set_mempolicy");
    while (free_mib((int)node) > leave) {
        void *piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (piece == MAP_FAILED)
            die("mmap");
        memset(piece, 1, PIECE);
        held++;
    }
    printf("hog: holds %zu MiB of node %u\n", held, node);
    fflush(stdout);
    for (;;)
        pause();
}
