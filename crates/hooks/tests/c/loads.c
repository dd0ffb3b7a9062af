/* Loads a library at run time, with hooks or without. */
#include "expect.h"

#include <dlfcn.h>

int main(int argc, char **argv) {
    (void)argc;
    void *handle = dlopen(argv[1], RTLD_NOW);
    int (*library)(const char *) = handle ? (int (*)(const char *))dlsym(handle, "library") : NULL;
    if (!library)
        return fprintf(stderr, "%s\n", dlerror()), 1;
    homenode_phase_begin("library");
    int n = library("four");
    homenode_phase_end("library");
    return n != 4;
}
