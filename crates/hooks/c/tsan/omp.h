/* What the files for OpenMP share. Neither runtime is compiled with the hooks, so what it synchronises is recorded by the functions
 * that compilers call: GOMP_* of gcc's (omp_gomp.c, omp_loop.c, omp_task.c), OpenMP's interface for tools and some of __kmpc_* of clang's
 * (omp_tool.c, omp_kmpc.c). Kinds of synchronisation (docs/format.md): a region's begin is HN_SYNC_THREAD, its end HN_SYNC_JOIN, as if its threads
 * were created and joined; tasks likewise; barriers are barriers, `critical`, atomics that are no instructions and locks are mutexes, `ordered` is a
 * semaphore. Regions, loops and tasks are phases whose text begins with `omp `. */
#pragma once
#include "runtime.h"

/* A team: lives in the frame of whoever begins the region, so that its address names it as long as it is there. */
struct hn_omp_team {
    void (*fn)(void *);
    void *data;
    uintptr_t pc;
    struct hn_thread *master;
    struct hn_omp_team *outer;
    uint64_t first_epoch;
    uint64_t most;      /* barriers that a member has passed, the most of them */
    uint32_t parties;   /* 0: not known yet */
    uint32_t tasks;     /* whether a task was created in it */
    const char *loop;   /* schedule of the loop that is the region; NULL */
    int64_t chunk;
};

/* Members of a team as objects: what is released and acquired under each. */
enum omp_object { OMP_BARRIER, OMP_BEGIN, OMP_END, OMP_TASKS, OMP_ORDERED, OMP_COPY };

static inline const volatile void *hnrt_omp_object(const struct hn_omp_team *team, enum omp_object which) {
    return (const volatile char *)team + which;
}

/* ---- the functions behind ours: only looked for when an OpenMP program calls one ----------------------------------- */

#define OMP_REAL(X)                                                                                                   \
    X(omp_get_num_threads) X(omp_get_thread_num)                                                                       \
    X(omp_set_lock) X(omp_unset_lock) X(omp_test_lock) X(omp_set_nest_lock) X(omp_unset_nest_lock) X(omp_test_nest_lock) \
    X(omp_set_lock_) X(omp_unset_lock_) X(omp_test_lock_) X(omp_set_nest_lock_) X(omp_unset_nest_lock_)               \
    X(omp_test_nest_lock_)                                                                                            \
    X(GOMP_parallel) X(GOMP_parallel_reductions) X(GOMP_parallel_sections) X(GOMP_teams_reg)                           \
    X(GOMP_barrier) X(GOMP_barrier_cancel) X(GOMP_loop_end) X(GOMP_loop_end_nowait) X(GOMP_loop_end_cancel)           \
    X(GOMP_sections_start) X(GOMP_sections2_start) X(GOMP_sections_end) X(GOMP_sections_end_nowait)                   \
    X(GOMP_sections_end_cancel) X(GOMP_workshare_task_reduction_unregister) X(GOMP_single_copy_start)                 \
    X(GOMP_single_copy_end) X(GOMP_critical_start) X(GOMP_critical_end) X(GOMP_critical_name_start)                   \
    X(GOMP_critical_name_end) X(GOMP_atomic_start) X(GOMP_atomic_end) X(GOMP_ordered_start) X(GOMP_ordered_end)       \
    X(GOMP_task) X(GOMP_taskwait) X(GOMP_taskwait_depend) X(GOMP_taskgroup_start) X(GOMP_taskgroup_end)               \
    X(GOMP_taskloop) X(GOMP_taskloop_ull) X(GOMP_target_ext) X(GOMP_cancel)                                           \
    X(__kmpc_critical) X(__kmpc_critical_with_hint) X(__kmpc_end_critical) X(__kmpc_ordered) X(__kmpc_end_ordered)    \
    X(__kmpc_reduce) X(__kmpc_reduce_nowait) X(__kmpc_end_reduce) X(__kmpc_end_reduce_nowait)   \
    X(__kmpc_for_static_fini) X(__kmpc_flush) X(__kmpc_omp_task_alloc) X(__kmpc_copyprivate)                                                                                         \
    OMP_REAL_LOOPS(X)

#define OMP_REAL_LOOPS(X)                                                                                             \
    OMP_REAL_STARTS(X, GOMP_loop_) OMP_REAL_STARTS(X, GOMP_loop_ull_) OMP_REAL_ORDERED(X, GOMP_loop_ordered_)         \
    OMP_REAL_ORDERED(X, GOMP_loop_ull_ordered_) OMP_REAL_ORDERED(X, GOMP_loop_doacross_)                              \
    OMP_REAL_ORDERED(X, GOMP_loop_ull_doacross_)                                                                      \
    X(GOMP_loop_start) X(GOMP_loop_ull_start) X(GOMP_loop_ordered_start) X(GOMP_loop_ull_ordered_start)               \
    X(GOMP_loop_doacross_start) X(GOMP_loop_ull_doacross_start)                                                       \
    X(GOMP_parallel_loop_static) X(GOMP_parallel_loop_dynamic) X(GOMP_parallel_loop_guided)                           \
    X(GOMP_parallel_loop_runtime) X(GOMP_parallel_loop_nonmonotonic_dynamic)                                          \
    X(GOMP_parallel_loop_nonmonotonic_guided) X(GOMP_parallel_loop_nonmonotonic_runtime)                              \
    X(GOMP_parallel_loop_maybe_nonmonotonic_runtime)                                                                  \
    X(__kmpc_for_static_init_4) X(__kmpc_for_static_init_4u) X(__kmpc_for_static_init_8) X(__kmpc_for_static_init_8u) \
    X(__kmpc_dispatch_init_4) X(__kmpc_dispatch_init_4u) X(__kmpc_dispatch_init_8) X(__kmpc_dispatch_init_8u) \
    X(__kmpc_dispatch_next_4) X(__kmpc_dispatch_next_4u) X(__kmpc_dispatch_next_8) X(__kmpc_dispatch_next_8u)

#define OMP_REAL_STARTS(X, prefix)                                                                                    \
    OMP_REAL_ORDERED(X, prefix) X(prefix##nonmonotonic_dynamic_start) X(prefix##nonmonotonic_guided_start)            \
    X(prefix##nonmonotonic_runtime_start) X(prefix##maybe_nonmonotonic_runtime_start)
#define OMP_REAL_ORDERED(X, prefix)                                                                                   \
    X(prefix##static_start) X(prefix##dynamic_start) X(prefix##guided_start) X(prefix##runtime_start)

#define OMP_REAL_INDEX(name) OMP_INDEX_##name,
enum omp_real { OMP_REAL(OMP_REAL_INDEX) OMP_REAL_COUNT };

void *hnrt_omp_real(enum omp_real which);
bool hnrt_omp_has(enum omp_real which);
/* The real function, as one of this type. */
#define OMP(name, type, arguments) ((type(*) arguments)hnrt_omp_real(OMP_INDEX_##name))

/* ---- omp.c ---------------------------------------------------------------------------------------------------------- */

extern bool hnrt_omp_tool; /* the runtime reports to the interface for tools: its regions, barriers and tasks are recorded there */

void hnrt_omp_phase(struct hn_thread *t, bool begins, const struct hn_omp_phase *phase);
void hnrt_omp_unseen(const char *what, uintptr_t pc);
void hnrt_omp_loop(const char *schedule, int64_t chunk, uintptr_t pc);
void hnrt_omp_asked(struct hn_thread *t, uintptr_t pc);
void hnrt_omp_loop_over(void);
void hnrt_omp_fork(struct hn_omp_team *team);
void hnrt_omp_join(struct hn_omp_team *team);
/* What a thread was in before it became a member of a team. */
struct hn_omp_before {
    struct hn_omp_team *team;
    uint64_t generation, task, group;
    struct hn_omp_open open;
};
void hnrt_omp_enter(struct hn_omp_team *team, uint32_t parties, struct hn_omp_before *before);
void hnrt_omp_finish(struct hn_omp_team *team);
void hnrt_omp_restore(const struct hn_omp_before *before);
void hnrt_omp_member(void *team); /* what gcc's runtime calls in each member of a team */
void hnrt_omp_arrive(void);
void hnrt_omp_depart(void);

/* ---- tasks ----------------------------------------------------------------------------------------------------------- */

/* A task as it is created: its own number, its creator's, that of the group, and the team, whose threads may run it when they have
 * left the region's code. */
struct hn_omp_task {
    uint64_t number, creator, group;
    struct hn_omp_team *team;
};
struct hn_omp_task hnrt_omp_created(void);
void hnrt_omp_task_begins(const struct hn_omp_task *task);
void hnrt_omp_task_ends(const struct hn_omp_task *task);
void hnrt_omp_waited(void);               /* for all tasks that the running one has created */
void hnrt_omp_group_begins(void);
void hnrt_omp_group_ends(void);
/* Memory that a task depends on: begins after who wrote it, or, if it writes, after who read it, too. */
void hnrt_omp_needs(const void *memory, bool writes);
void hnrt_omp_provides(const void *memory, bool writes);
