/* Memory, string and I/O functions, and aggregates. Built with -fno-builtin, so that they are calls. */
#include "expect.h"

#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <wchar.h>

/* Compilers drop calls of pure functions whose result nobody wants. */
#define KEEP(call)                                                                                                    \
    do {                                                                                                              \
        unsigned long result = (unsigned long)(call);                                                                 \
        HIDE(result);                                                                                                 \
    } while (0)

static char a[512], b[512];

UNRECORDED static void both(unsigned long n) {
    ref('r', n, a);
    ref('w', n, b);
}

static void memory(void) {
    memcpy(b, a, 100);
    both(100);
    memmove(b, a, 16);
    both(16);
    mempcpy(b, a, 3);
    both(3);
    memset(b, 1, 200);
    ref('w', 200, b);
    memcpy(b, a, 0);
    memset(b, 0, 512);
    ref('w', 512, b);
    KEEP(memchr(b, 1, 300));
    ref('r', 300, b);
    KEEP(memcmp(a, b, 77));
    ref('r', 77, a);
    ref('r', 77, b);
}

/* Those that only programs compiled without optimisation call. */
static void rare_memory(void) {
    bzero(b, 40);
    ref('w', 40, b);
    explicit_bzero(b, 48);
    ref('w', 48, b);
    bcopy(a, b, 24);
    both(24);
    b[7] = 'q';
    FENCE();
    KEEP(bcmp(a, b, 30));
    ref('w', 1, b + 7);
    ref('r', 8, a);
    ref('r', 8, b);
    KEEP(memccpy(a, b, 'q', 30));
    ref('r', 8, b);
    ref('w', 8, a);
    KEEP(memccpy(a, b, 'z', 30));
    ref('r', 30, b);
    ref('w', 30, a);
    KEEP(memrchr(b, 'q', 30));
    ref('r', 23, b + 7);
    KEEP(memrchr(b, 'z', 30));
    ref('r', 30, b);
    KEEP(rawmemchr(b, 'q'));
    ref('r', 8, b);
    KEEP(memmem(b, 30, a + 7, 1));
    ref('r', 1, a + 7);
    ref('r', 8, b);
    swab(a, b, 11);
    both(10);
    wmemcpy((wchar_t *)b, (wchar_t *)a, 5);
    both(20);
    wmemset((wchar_t *)b, 0, 3);
    ref('w', 12, b);
}

static void rare_strings(void) {
    static const char hello[] = "hello, world", Hello[] = "HELLO";
    stpcpy(a, hello);
    ref('r', 13, hello);
    ref('w', 13, a);
    stpncpy(b, hello, 5);
    ref('r', 5, hello);
    ref('w', 5, b);
    KEEP(strnlen(a, 4));
    ref('r', 4, a);
    KEEP(strnlen(a, 40));
    ref('r', 13, a);
    KEEP(strrchr(a, 'o'));
    ref('r', 13, a);
    KEEP(strchrnul(a, 'w'));
    ref('r', 8, a);
    KEEP(strstr(a, Hello));
    ref('r', 6, Hello);
    ref('r', 13, a);
    KEEP(strcasestr(a, Hello));
    ref('r', 6, Hello);
    ref('r', 5, a);
    KEEP(strcasecmp(a, Hello));
    ref('r', 6, a);
    ref('r', 6, Hello);
    KEEP(strncasecmp(a, Hello, 3));
    ref('r', 3, a);
    ref('r', 3, Hello);
    KEEP(strspn(a, Hello));
    ref('r', 6, Hello);
    ref('r', 1, a);
    strncat(a, Hello, 2);
    ref('r', 13, a);
    ref('r', 2, Hello);
    ref('w', 3, a + 12);
}

static void strings(void) {
    static const char hello[] = "hello, world"; /* 13 bytes with its end */
    strcpy(a, hello);
    ref('r', 13, hello);
    ref('w', 13, a);
    strncpy(b, hello, 20);
    ref('r', 13, hello);
    ref('w', 20, b);
    KEEP(strlen(a));
    ref('r', 13, a);
    KEEP(strcmp(a, b));
    ref('r', 13, a);
    ref('r', 13, b);
    KEEP(strncmp(a, "hexagon", 7));
    ref('r', 3, a);
    printf("r 3 ?\n"); /* the literal has no address that we could name */
    KEEP(strchr(a, 'w'));
    ref('r', 8, a);
    strcat(a, hello);
    ref('r', 13, a);
    ref('r', 13, hello);
    ref('w', 13, a + 12);
}

static void files(void) {
    int ends[2], sockets[2];
    if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        exit(1);
    struct iovec out[2] = {{a, 5}, {a + 100, 6}}, in[2] = {{b, 8}, {b + 100, 200}};
    int from = ends[0], to = ends[1], left = sockets[0], right = sockets[1];
    FENCE();
    homenode_phase_begin("files");
    long moved = write(to, a, 40) + read(from, b, 200) + send(left, a, 10, 0) + recv(right, b, 99, 0);
    moved += writev(to, out, 2) + readv(from, in, 2);
    moved += pwrite(to, a, 1, 0); /* fails on a pipe: nothing moved, nothing recorded */
    homenode_phase_end("files");
    if (moved != 2 * 40 + 2 * 10 + 2 * 11 - 1)
        exit(1);
    both(40);
    both(10);
    ref('r', 5, a);
    ref('r', 6, a + 100);
    ref('w', 8, b);
    ref('w', 3, b + 100);
}

static void stdio(const char *path) {
    FILE *f = fopen(path, "w+");
    homenode_phase_begin("stdio");
    size_t moved = fwrite(a, 3, 7, f);
    rewind(f);
    moved += fread(b, 4, 20, f);
    homenode_phase_end("stdio");
    fclose(f);
    ref('r', 21, a);
    ref('w', 20, b);
    if (moved != 12)
        exit(1);
}

int main(int argc, char **argv) {
    (void)argc;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    homenode_phase_begin("memory");
    memory();
    homenode_phase_end("memory");
    homenode_phase_begin("strings");
    strings();
    homenode_phase_end("strings");
    homenode_phase_begin("rare memory");
    rare_memory();
    homenode_phase_end("rare memory");
    homenode_phase_begin("rare strings");
    rare_strings();
    homenode_phase_end("rare strings");
    files();
    stdio(argv[1]);
    return 0;
}
