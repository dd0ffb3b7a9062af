/* What makes of the core the library that is preloaded. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERPOSE __attribute__((visibility("default"), section(HN_ENTRY_POINTS), noinline))
#define HN_NAME "homenode agent: "
/* Whether code of other modules reads the thread's ring. */
#define HN_RING_VISIBILITY 
#define HN_TLS_MODEL "initial-exec"

/* Of a thread. */
struct hn_product {
    uint64_t path;       /* see agent.h */
    uint32_t children;   /* threads it has created */
    bool pinned;         /* by a plan */
    bool created_pinned; /* by a thread that is */
    size_t stack_bytes;  /* as asked for when it was created; 0: not known */
};
