/* Another library that is preloaded, with its own idea of malloc. */
#include <dlfcn.h>
#include <stddef.h>

static unsigned long calls;

void *malloc(size_t bytes) {
    static void *(*real)(size_t);
    if (!real)
        real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    calls++;
    return real(bytes);
}
