/* The functions behind the ones we stand in front of. */
#pragma once
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "real_list.h"

#define HN_REAL_FIELD(name, type, arguments) type(*name) arguments;
struct hnrt_real {
    HN_REAL(HN_REAL_FIELD)
};
extern struct hnrt_real hnrt_real;

void hnrt_real_resolve(void);
/* Whether the table is being filled: dlsym may allocate, and then the bootstrap heap serves it. */
extern bool hnrt_resolving;
static inline bool hnrt_real_resolving(void) {
    return __atomic_load_n(&hnrt_resolving, __ATOMIC_RELAXED);
}

/* The real function; resolves the table when something of ours is called before the first constructor. */
#define REAL(name)                                                                                                    \
    (__builtin_expect(hnrt_real.name != NULL, 1) ? hnrt_real.name : (hnrt_real_resolve(), hnrt_real.name))
