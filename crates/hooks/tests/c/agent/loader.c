/* Loads, unloads and loads again a library. */
#include <dlfcn.h>

#include "where.h"

int main(int count, char **arguments) {
    if (count < 2)
        return 2;
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void (*show)(void) = (void (*)(void))dlsym(library, "show");
        show();
        dlclose(library);
    }
    return 0;
}
