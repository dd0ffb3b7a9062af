/* What the files of the agent share. The agent is the runtime without its `__tsan_*` entry points, preloaded into a
 * program that was not compiled for it: it logs allocations, mappings, threads and modules, and places memory as a
 * plan says. Where a stack is hashed or a thread named, ../../../base/src/stackhash.rs says the same in Rust. */
#pragma once
#include "runtime.h"

#define HNAG_PAGE UINT64_C(4096)
#define HNAG_HUGE UINT64_C(0x200000)
/* Allocations below this share pages with others: not logged, not matched. */
#define HNAG_LEAST HNAG_PAGE
#define HNAG_HASHED 8   /* innermost frames that are hashed */
#define HNAG_FRAMES 20  /* innermost frames that are logged */

enum hnag_source { HNAG_HEAP = 0, HNAG_STACK = 1, HNAG_MAP = 2 };

/* ---- state (init.c) ---------------------------------------------------------------------------------------------- */

/* Requests below this go straight to the allocator. 0: something is to be seen to first (see hnag_attend). */
extern size_t hnag_threshold;
extern bool hnag_is_ready;   /* the constructor has run */
extern bool hnag_planning;   /* a plan is being applied */
bool hnag_active(void);      /* anything to do at all: initialises */
void hnag_attend(bool loader);
void hnag_request_attention(void);
bool hnag_in_loader(uintptr_t pc);

/* The calling thread with its guard raised, or NULL if the agent has nothing to do here; hnag_leave lowers it. */
void *hnag_first(const char *name); /* who is called when anybody calls that function (lookup.c) */
bool hnag_is_called(const char *name); /* whether some module needs that function of another */
struct hn_thread *hnag_enter(void);
static inline void hnag_leave(struct hn_thread *t) {
    t->guard--;
}

/* ---- threads (thread.c) ------------------------------------------------------------------------------------------ */

/* A thread's path is hashed: that of the initial one is the offset basis, and every number in it adds four bytes. */
#define HNAG_FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define HNAG_FNV_PRIME UINT64_C(0x100000001b3)
#define HNAG_PATH_INITIAL HNAG_FNV_BASIS
uint64_t hnag_fnv(uint64_t hash, uint64_t word, unsigned bytes);

/* ---- stacks and modules (unwind.c, modules.c) -------------------------------------------------------------------- */

struct hnag_frames {
    unsigned depth;
    uintptr_t returns[HNAG_FRAMES]; /* return addresses, innermost first, the agent's own left out */
};
void hnag_unwind_init(void);
void hnag_unwind(struct hnag_frames *f, unsigned most);
bool hnag_is_own(uintptr_t pc);
uint64_t hnag_stack_hash(const struct hnag_frames *f);

struct hnag_module {
    uint64_t begin, end, bias;
    uint64_t build8; /* first eight bytes of the build id, as they lie in memory; 0: none */
    uint64_t build;  /* hash of the whole build id; 0: none */
    bool placed;
};
bool hnag_module_at(uintptr_t pc, struct hnag_module *out);
bool hnag_module_loaded(uint64_t build);
void hnag_modules_look(void);
void hnag_modules_lock(void);
void hnag_modules_unlock(void);

/* ---- registry of big allocations (registry.c) -------------------------------------------------------------------- */

struct hnag_object {
    uint64_t addr, bytes;
    uint32_t source; /* enum hnag_source */
    uint32_t placed; /* its policy is ours */
};
#define HNAG_FILTER_BITS 12
extern uint16_t hnag_filter[1u << HNAG_FILTER_BITS];
static inline bool hnag_maybe(const void *p) {
    uint64_t at = (uint64_t)(uintptr_t)p * UINT64_C(0x9E3779B97F4A7C15) >> (64 - HNAG_FILTER_BITS);
    return __atomic_load_n(&hnag_filter[at], __ATOMIC_RELAXED);
}
void hnag_registry_add(const struct hnag_object *o);
bool hnag_registry_take(const void *p, struct hnag_object *out);
bool hnag_registry_get(const void *p, struct hnag_object *out);
void hnag_registry_each(void (*visit)(const struct hnag_object *o, void *context), void *context);
void hnag_registry_lock(void);
void hnag_registry_unlock(void);

/* ---- who wants to know (seam for sampling by protection) --------------------------------------------------------- */

/* Called with the thread's guard raised, after an object of at least HNAG_LEAST bytes was obtained and before it is
 * given back. At most one watcher. */
struct hnag_watcher {
    void (*obtained)(const struct hnag_object *o);
    void (*released)(const struct hnag_object *o);
};
extern const struct hnag_watcher *hnag_watcher;
/* If a file defines it, it is called at the end of the initialisation, while the process has one thread. */
void hnag_protect_init(void) __attribute__((weak));
/* protect*.c; nothing without HOMENODE_AGENT_PROTECT. */
void hnag_protect_thread(void);                               /* the calling thread begins */
void hnag_protect_creating(const pthread_attr_t *attributes); /* a thread is about to be created */
void hnag_protect_created(void);                              /* the calling thread has just created one */
void hnag_protect_mapping(const void *p, size_t bytes, int prot, int flags);
void hnag_protect_before_fork(void);
void hnag_protect_after_fork(void);

/* ---- obtaining (obtained.c) -------------------------------------------------------------------------------------- */

void hnag_obtained(const void *p, size_t bytes, enum hnag_source source);
bool hnag_released(const void *p, struct hnag_object *out);
void hnag_unplace(uint64_t addr, uint64_t bytes); /* place.c */
void *hnag_remap_pieces(void *p, size_t old_bytes, size_t bytes, int flags, void *at); /* remap.c */
void hnag_fresh_batch(struct hn_thread *t);

/* ---- plan -------------------------------------------------------------------------------------------------------- */

void hnag_plan_load(void);
void hnag_plan_modules(const struct hnag_module *m, unsigned n);
bool hnag_plan_object(struct hn_thread *t, const struct hnag_object *o, const struct hnag_frames *f);
bool hnag_plan_wants_stacks(void);
void hnag_plan_thread(struct hn_thread *t, uint64_t stack_lo, uint64_t stack_hi);
void hnag_result_write(void);
