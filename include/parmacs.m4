divert(-1)
PARMACS: the macros in which the SPLASH programs are written, for pthreads and for the nodes of homenode svm run in one binary.

    m4 parmacs.m4 program.c.in > program.c && cc -pthread -I FOLDER program.c

FOLDER is where homenode.h and homenode_parmacs.h are, which say what each function does. Threads: CREATE(body, P) runs P threads, the calling one
among them, and WAIT_FOR_END waits for the others; under homenode svm run P must be the threads of all nodes. Shared is what G_MALLOC
gives; the program's variables are, on each node, what they were at the first CREATE.

Words of m4 that are words of C, too, mean nothing from here on.

changecom(`/*', `*/')

define(`MAIN_ENV', `
#include <homenode_parmacs.h>
struct hn_parmacs hn_parmacs = {PTHREAD_MUTEX_INITIALIZER};
')
define(`EXTERN_ENV', `
#include <homenode_parmacs.h>
')
define(`ENV', `')
define(`MAIN_INITENV', `{}')
define(`MAIN_END', `{exit(0);}')

/* One argument: one more thread, as in the first PARMACS. Two: so many threads, the calling one among them. */
define(`CREATE', `ifelse(`$2', `', `{hn_parmacs_create((hn_parmacs_body *)($1));}', `{hn_parmacs_run((hn_parmacs_body *)($1), ($2));}')')
define(`WAIT_FOR_END', `{hn_parmacs_wait();}')
define(`GET_PID', `{($1) = homenode_thread ? (long)homenode_thread() : 0;}')

define(`G_MALLOC', `hn_parmacs_alloc($1);')
define(`G_MALLOC_F', `hn_parmacs_alloc($1)')
define(`G_FREE', `{hn_parmacs_free((void *)($1));}')
define(`NU_MALLOC', `hn_parmacs_alloc($1);')
define(`NU_MALLOC_F', `hn_parmacs_alloc($1)')
define(`NU_FREE', `{hn_parmacs_free((void *)($1));}')

/* Programs declare these two where they have no more than pthread.h. */
define(`LOCKDEC', `pthread_mutex_t $1;')
define(`LOCKINIT', `{hn_parmacs_lock_init(&($1));}')
define(`LOCK', `{hn_parmacs_take(&($1));}')
define(`UNLOCK', `{hn_parmacs_give(&($1));}')

define(`ALOCKDEC', `pthread_mutex_t $1[$2];')
define(`ALOCKINIT', `{hn_parmacs_locks_init(($1), ($2));}')
define(`ALOCK', `{hn_parmacs_take(&($1)[$2]);}')
define(`AULOCK', `{hn_parmacs_give(&($1)[$2]);}')
define(`AGETL', `(($1)[$2])')

define(`BARDEC', `hn_parmacs_barrier $1;')
define(`BARINIT', `{hn_parmacs_barrier_init(&($1));}')
define(`BARRIER', `{hn_parmacs_meet(&($1), ($2));}')

define(`CONDVARDEC', `pthread_cond_t $1;')
define(`CONDVARINIT', `{hn_parmacs_cond_init(&($1));}')
define(`CONDVARWAIT', `{hn_parmacs_cond_wait(&($1), &($2));}')
define(`CONDVARSIGNAL', `{hn_parmacs_signal(&($1));}')
define(`CONDVARBCAST', `{hn_parmacs_broadcast(&($1));}')

define(`PAUSEDEC', `hn_parmacs_pause $1;')
define(`PAUSEINIT', `{hn_parmacs_pause_init(&($1));}')
define(`CLEARPAUSE', `{hn_parmacs_pause_set(&($1), 0);}')
define(`SETPAUSE', `{hn_parmacs_pause_set(&($1), 1);}')
define(`WAITPAUSE', `{hn_parmacs_pause_wait(&($1));}')

define(`GSDEC', `hn_parmacs_subscripts $1;')
define(`GSINIT', `{hn_parmacs_subscripts_init(&($1));}')
define(`GETSUB', `{($2) = hn_parmacs_subscript(&($1), ($3), ($4));}')
define(`NU_GSDEC', defn(`GSDEC'))
define(`NU_GSINIT', defn(`GSINIT'))
define(`NU_GETSUB', defn(`GETSUB'))

/* Fences order what a thread does for the threads of its node; between nodes nothing but the macros above synchronises. */
define(`RELEASE_FENCE', `{atomic_thread_fence(memory_order_release);}')
define(`ACQUIRE_FENCE', `{atomic_thread_fence(memory_order_acquire);}')
define(`FULL_FENCE', `{atomic_thread_fence(memory_order_seq_cst);}')

define(`CLOCK', `{($1) = hn_parmacs_clock();}')
/* The measured part is a phase, to which a recording can be restricted: homenode record --roi splash. */
define(`SPLASH3_ROI_BEGIN', `HOMENODE_PHASE_BEGIN("splash")')
define(`SPLASH3_ROI_END', `HOMENODE_PHASE_END("splash")')

changecom(`#')
undefine(`decr', `eval', `format', `incr', `index', `len', `shift', `substr', `unix', `__file__', `__line__')
divert(0)dnl
