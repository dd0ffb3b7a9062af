/* Loops as gcc makes them. Those with a static schedule call the runtime only to ask how many threads there are and which one this is;
 * all others say their schedule. */
#include "omp.h"

/* ---- static: how many threads are there? Which line asks is looked at where the program's source is --------------------- */

INTERPOSE int omp_get_num_threads(void) {
    struct hn_thread *t = hnrt_recording();
    if (t && t->own.team && t->own.team->parties > 1 && !hnrt_omp_tool)
        hnrt_omp_asked(t, CALLER());
    return hnrt_omp_has(OMP_INDEX_omp_get_num_threads) ? OMP(omp_get_num_threads, int, (void))() : 1;
}

/* ---- the others ------------------------------------------------------------------------------------------------------ */

/* Arguments differ in type and number, and are passed on as they came, up to nine words: which of them is the chunk is all that we look at. */
#define WORDS (long a, long b, long c, long d, long e, long f, long g, long h, long i)
#define TYPES (long, long, long, long, long, long, long, long, long)
#define PASSED (a, b, c, d, e, f, g, h, i)

#define START(name, schedule, chunk)                                                                                  \
    INTERPOSE long name WORDS {                                                                                       \
        if (!hnrt_omp_tool)                                                                                           \
            hnrt_omp_loop("for " schedule, chunk, CALLER());                                                       \
        return OMP(name, long, TYPES) PASSED;                                                                         \
    }
#define STARTS(prefix, chunk)                                                                                         \
    START(prefix##static_start, "static", chunk)                                                                      \
    START(prefix##dynamic_start, "dynamic", chunk)                                                                    \
    START(prefix##guided_start, "guided", chunk)                                                                      \
    START(prefix##runtime_start, "runtime", 0)
#define NONMONOTONIC(prefix, chunk)                                                                                   \
    START(prefix##nonmonotonic_dynamic_start, "dynamic", chunk)                                                       \
    START(prefix##nonmonotonic_guided_start, "guided", chunk)                                                         \
    START(prefix##nonmonotonic_runtime_start, "runtime", 0)                                                           \
    START(prefix##maybe_nonmonotonic_runtime_start, "runtime", 0)
STARTS(GOMP_loop_, d)
NONMONOTONIC(GOMP_loop_, d)
STARTS(GOMP_loop_ull_, e)
NONMONOTONIC(GOMP_loop_ull_, e)
STARTS(GOMP_loop_ordered_, d)
STARTS(GOMP_loop_ull_ordered_, e)

/* The schedule is an argument: static, dynamic, guided, auto from 1 on, 0 what the program is started with; the highest bit says monotonic. */
static const char *schedule_of(long code) {
    static const char *const names[] = {"for runtime", "for static", "for dynamic", "for guided", "for auto"};
    code &= 0x7fffffff;
    return (unsigned long)code < sizeof names / sizeof *names ? names[code] : "for runtime";
}

#define START_OF(name, schedule, chunk)                                                                               \
    INTERPOSE long name WORDS {                                                                                       \
        if (!hnrt_omp_tool)                                                                                           \
            hnrt_omp_loop(schedule_of(schedule), chunk, CALLER());                                                 \
        return OMP(name, long, TYPES) PASSED;                                                                         \
    }
START_OF(GOMP_loop_start, d, e)
START_OF(GOMP_loop_ordered_start, d, e)
START_OF(GOMP_loop_ull_start, e, f)
START_OF(GOMP_loop_ull_ordered_start, e, f)

/* Which iteration waits for which is said by calls that are not understood. */
#define DOACROSS(name)                                                                                                \
    INTERPOSE long name WORDS {                                                                                       \
        hnrt_omp_unseen("? doacross", CALLER());                                                                      \
        return OMP(name, long, TYPES) PASSED;                                                                         \
    }
#define DOACROSSES(prefix)                                                                                            \
    DOACROSS(prefix##static_start) DOACROSS(prefix##dynamic_start) DOACROSS(prefix##guided_start)                     \
    DOACROSS(prefix##runtime_start) DOACROSS(prefix##start)
DOACROSSES(GOMP_loop_doacross_)
DOACROSSES(GOMP_loop_ull_doacross_)

/* ---- a region that is a loop ------------------------------------------------------------------------------------------- */

#define PARALLEL(name, schedule, has_chunk)                                                                           \
    INTERPOSE void name(void (*fn)(void *), void *data, long threads, long begin, long end, long by, long chunk,      \
                        long flags) {                                                                                 \
        struct hn_omp_team team = {.fn = fn, .data = data, .pc = (uintptr_t)fn, .loop = "for " schedule};                  \
        void (*real)(void (*)(void *), void *, long, long, long, long, long, long) =                                  \
            OMP(name, void, (void (*)(void *), void *, long, long, long, long, long, long));                          \
        if (hnrt_omp_tool)                                                                                            \
            return real(fn, data, threads, begin, end, by, chunk, flags);                                             \
        team.chunk = has_chunk ? chunk : 0;                                                                           \
        hnrt_omp_fork(&team);                                                                                         \
        real(hnrt_omp_member, &team, threads, begin, end, by, chunk, flags);                                                   \
        hnrt_omp_join(&team);                                                                                         \
    }
PARALLEL(GOMP_parallel_loop_static, "static", true)
PARALLEL(GOMP_parallel_loop_dynamic, "dynamic", true)
PARALLEL(GOMP_parallel_loop_guided, "guided", true)
PARALLEL(GOMP_parallel_loop_runtime, "runtime", false)
PARALLEL(GOMP_parallel_loop_nonmonotonic_dynamic, "dynamic", true)
PARALLEL(GOMP_parallel_loop_nonmonotonic_guided, "guided", true)
PARALLEL(GOMP_parallel_loop_nonmonotonic_runtime, "runtime", false)
PARALLEL(GOMP_parallel_loop_maybe_nonmonotonic_runtime, "runtime", false)
