/* Opens the library named, has it work, and closes it long before the end. */
#include <dlfcn.h>
#include <stdio.h>

static long data[512];

int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    void (*fill)(long *, int) = library ? (void (*)(long *, int))dlsym(library, "fill") : NULL;
    if (!fill) return argc;
    fill(data, 512);
    dlclose(library);
    long sum = 0;
    for (int i = 0; i < 512; i++) sum += data[i];
    printf("%ld\n", sum);
    return 0;
}
