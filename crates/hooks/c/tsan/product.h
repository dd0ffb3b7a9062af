/* What makes of the core the archive that programs compiled with the hooks are linked with. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions that stand before others (runtime.h) are weak, so that a program with its own malloc (say) keeps it. */
#define INTERPOSE __attribute__((visibility("default"), weak, section(HN_ENTRY_POINTS)))
#define HN_NAME "homenode hooks: "
/* Whether code of other modules reads the thread's ring. */
#define HN_RING_VISIBILITY __attribute__((visibility("default")))
#define HN_TLS_MODEL "local-exec"

/* What is open of OpenMP in a thread (omp.h): a region, a loop. */
struct hn_omp_phase {
    const char *what; /* NULL: nothing is open */
    int64_t chunk;    /* of a loop's schedule; 0 if it says none */
    uintptr_t pc, pc2;
};

/* Loops that are open: one that said that it begins, and static ones that were only recognised by their question for the number of
 * threads; the program itself may have asked, so these end nothing and are inside. */
#define HN_OMP_ASKED 2
struct hn_omp_open {
    struct hn_omp_phase loop, asked[HN_OMP_ASKED];
    uint32_t asking;
};

struct hn_product {
    struct hn_omp_team *team;     /* the innermost one that the thread is in; NULL outside of regions */
    uint64_t omp_generation;      /* barriers of this team that the thread has passed */
    uint32_t omp_pool;            /* threads of this one's pool, itself among them */
    uint64_t omp_epochs;          /* generations that regions begun by this thread have used up */
    uint64_t omp_task, omp_group; /* numbers of the task that runs and of its innermost task group; 0: none yet */
    struct hn_omp_open open;
};
