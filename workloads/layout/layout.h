/* What the programs of this folder have in common: threads that work round by round, so that each thread's references lie among
 * those of the others, as on processors that run side by side. Each program is compiled in two versions: HN_APART=1 lays its
 * data out as `homenode report` on a machine with [coherence] advises for the other one. */
#ifndef HN_LAYOUT_H
#define HN_LAYOUT_H

#include "hn_workload.h"

#ifndef HN_APART
#define HN_APART 0
#endif

/* Bytes of the pages for which data is laid out. */
#define PAGE 4096

/* Every thread reads this of the program once, and makes a round of work only when all have made the last one. */
struct rounds {
    hn_barrier barrier;
    size_t rounds, work;
};

#endif
