/* What a program must not notice: errno, its own dlsym, its children, and what calls answer. */
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "where.h"

static void errors_are_kept(void) {
    errno = 77;
    char *p = malloc(1 << 20);
    p = realloc(p, 1 << 22);
    void *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(m, 1 << 20);
    free(p);
    if (errno != 77)
        abort();
}

static void errors_come_through(void) {
    volatile size_t most = SIZE_MAX / 2;
    errno = 0;
    if (calloc(most, 3) || errno != ENOMEM)
        abort();
    char *p = malloc(10000);
    memset(p, 5, 10000);
    if (realloc(p, most) || p[9999] != 5)
        abort();
    if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED || errno != EINVAL)
        abort();
    if (munmap((void *)1, 4096) != -1 || errno != EINVAL)
        abort();
    free(p);
}

#ifdef OWN_DLSYM
static int asked;
void *dlsym(void *handle, const char *name) {
    static void *(*real)(void *, const char *);
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    asked++;
    return real ? real(handle, name) : NULL;
}
#endif

int main(int count, char **arguments) {
    if (count > 1) {
        char *p = malloc(444444);
        where(arguments[1], p, 444444);
        return 0;
    }
    errors_are_kept();
    errors_come_through();
#ifdef OWN_DLSYM
    if (asked)
        abort();
#endif
    if (dlsym(RTLD_DEFAULT, "malloc") == NULL)
        abort();
    if (fork() == 0) {
        char *p = malloc(333333);
        where("forked", p, 333333);
        _exit(0);
    }
    wait(NULL);
    if (fork() == 0)
        execl(arguments[0], arguments[0], "executed", (char *)NULL);
    wait(NULL);
    char *p = malloc(333333);
    where("parent", p, 333333);
    return 0;
}
