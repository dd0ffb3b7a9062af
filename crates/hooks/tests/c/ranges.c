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

/* The library's own: what they are called with is in characters of four bytes. */
static void wide(void) {
    static const wchar_t hello[] = L"hello, world"; /* 13 characters with its end */
    wchar_t *to = (wchar_t *)a, *other = (wchar_t *)b;
    wcscpy(to, hello);
    ref('r', 52, hello);
    ref('w', 52, to);
    wcpcpy(other, hello);
    ref('r', 52, hello);
    ref('w', 52, other);
    KEEP(wcslen(to));
    ref('r', 52, to);
    KEEP(wcsnlen(to, 4));
    ref('r', 16, to);
    KEEP(wcscmp(to, other));
    ref('r', 52, to);
    ref('r', 52, other);
    KEEP(wcsncmp(to, other, 2));
    ref('r', 8, to);
    ref('r', 8, other);
    KEEP(wmemcmp(to, other + 1, 9));
    ref('r', 4, to);
    ref('r', 4, other + 1);
    KEEP(wcschr(to, L'w'));
    ref('r', 32, to);
    KEEP(wcschr(to, L'z'));
    ref('r', 52, to);
    KEEP(wcsrchr(to, L'o'));
    ref('r', 52, to);
    KEEP(wmemchr(to, L'e', 9));
    ref('r', 8, to);
    KEEP(wcsstr(to, hello + 7));
    ref('r', 24, hello + 7);
    ref('r', 48, to);
    wcsncpy(other, hello, 20);
    ref('r', 52, hello);
    ref('w', 80, other);
    wcscat(to, hello);
    ref('r', 52, to);
    ref('r', 52, hello);
    ref('w', 52, to + 12);
    wcsncat(other, hello, 3);
    ref('r', 52, other);
    ref('r', 12, hello);
    ref('w', 16, other + 12);
    wmempcpy(to, other, 7);
    ref('r', 28, other);
    ref('w', 28, to);
    wmemmove(to, other, 2);
    ref('r', 8, other);
    ref('w', 8, to);
}

/* What compilers call with _FORTIFY_SOURCE; headers do not declare these. */
void *__memcpy_chk(void *, const void *, size_t, size_t), *__memset_chk(void *, int, size_t, size_t);
void *__memmove_chk(void *, const void *, size_t, size_t), *__mempcpy_chk(void *, const void *, size_t, size_t);
char *__strcpy_chk(char *, const char *, size_t), *__stpcpy_chk(char *, const char *, size_t);
char *__strcat_chk(char *, const char *, size_t), *__strncat_chk(char *, const char *, size_t, size_t);
char *__strncpy_chk(char *, const char *, size_t, size_t), *__stpncpy_chk(char *, const char *, size_t, size_t);
void __explicit_bzero_chk(void *, size_t, size_t);
wchar_t *__wmemcpy_chk(wchar_t *, const wchar_t *, size_t, size_t), *__wmemset_chk(wchar_t *, wchar_t, size_t, size_t);
wchar_t *__wcscpy_chk(wchar_t *, const wchar_t *, size_t), *__wcscat_chk(wchar_t *, const wchar_t *, size_t);
wchar_t *__wcsncpy_chk(wchar_t *, const wchar_t *, size_t, size_t);

static void fortified(void) {
    static const char hello[] = "hello, world";
    static const wchar_t wide_hello[] = L"hello";
    __memcpy_chk(b, a, 100, 512);
    both(100);
    __memmove_chk(b, a, 16, 512);
    both(16);
    __mempcpy_chk(b, a, 3, 512);
    both(3);
    __memset_chk(b, 1, 200, 512);
    ref('w', 200, b);
    __explicit_bzero_chk(b, 48, 512);
    ref('w', 48, b);
    __strcpy_chk(a, hello, 512);
    ref('r', 13, hello);
    ref('w', 13, a);
    __stpcpy_chk(b, hello, 512);
    ref('r', 13, hello);
    ref('w', 13, b);
    __strncpy_chk(b, hello, 20, 512);
    ref('r', 13, hello);
    ref('w', 20, b);
    __stpncpy_chk(b, hello, 5, 512);
    ref('r', 5, hello);
    ref('w', 5, b);
    __strcat_chk(a, hello, 512);
    ref('r', 13, a);
    ref('r', 13, hello);
    ref('w', 13, a + 12);
    __strncat_chk(a, hello, 2, 512);
    ref('r', 25, a);
    ref('r', 2, hello);
    ref('w', 3, a + 24);
    __wcscpy_chk((wchar_t *)b, wide_hello, 128);
    ref('r', 24, wide_hello);
    ref('w', 24, b);
    __wcsncpy_chk((wchar_t *)b, wide_hello, 9, 128);
    ref('r', 24, wide_hello);
    ref('w', 36, b);
    __wcscat_chk((wchar_t *)b, wide_hello, 128);
    ref('r', 24, b);
    ref('r', 24, wide_hello);
    ref('w', 24, b + 20);
    __wmemcpy_chk((wchar_t *)a, (wchar_t *)b, 4, 128);
    ref('r', 16, b);
    ref('w', 16, a);
    __wmemset_chk((wchar_t *)a, 0, 6, 128);
    ref('w', 24, a);
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
    homenode_phase_begin("wide");
    wide();
    homenode_phase_end("wide");
    homenode_phase_begin("fortified");
    fortified();
    homenode_phase_end("fortified");
    files();
    stdio(argv[1]);
    return 0;
}
