/* Runs a command whose memory the kernel keeps on one node, although it looks who uses it: what `numactl --balancing
 * --membind=NODE` does. Its own balancing then makes hinting faults and moves nothing, so that what moves is Homenode's work.
 *
 *   bound NODE COMMAND... */
#include "tool.h"

#define USAGE "NODE COMMAND..."
#ifndef MPOL_F_NUMA_BALANCING /* Linux 5.12 */
#define MPOL_F_NUMA_BALANCING (1 << 13)
#endif

int main(int argc, char **argv) {
    if (argc < 3)
        misuse(USAGE);
    unsigned long mask = 1UL << (number(argv[1], USAGE) % NODES_MAX);
    if (syscall(SYS_set_mempolicy, TOOL_MPOL_BIND | MPOL_F_NUMA_BALANCING, &mask, 8 * sizeof mask + 1))
        die("set_mempolicy");
    execvp(argv[2], argv + 2);
    die(argv[2]);
}
