/* Finding the functions behind ours. */
#include "real.h"

#include <dlfcn.h>

#include "runtime.h"

struct hnrt_real hnrt_real;
bool hnrt_resolving;

/* Condition variables changed in glibc 2.3.2, and dlsym without a version may find the older ones. */
static void *find(const char *name) {
#if defined(__x86_64__)
    static const char prefix[] = "pthread_cond_";
    size_t i = 0;
    while (prefix[i] && name[i] == prefix[i])
        i++;
    void *versioned = prefix[i] ? NULL : dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (versioned)
        return versioned;
#endif
    return dlsym(RTLD_NEXT, name);
}

#define HN_REAL_FIND(name, type, arguments) hnrt_real.name = (type(*) arguments)find(#name);

void hnrt_real_resolve(void) {
    if (__atomic_load_n(&hnrt_resolving, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&hnrt_resolving, true, __ATOMIC_RELAXED);
    HN_REAL(HN_REAL_FIND)
    __atomic_store_n(&hnrt_resolving, false, __ATOMIC_RELAXED);
}
