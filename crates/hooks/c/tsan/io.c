/* Input and output: the kernel (or the C library's buffer) reads and writes the program's memory. Recorded as ranges
 * of the calling site, as many bytes as were moved. */
#include <errno.h>

#include "real.h"
#include "runtime.h"

static inline bool ours(uintptr_t pc) {
    struct hn_thread *t = hnrt_self;
    return hnrt_attached && t && !t->guard && hnrt_module_has(pc);
}

/* `bytes` is the result of the call: negative for failure. */
static ssize_t moved(ssize_t bytes, const void *buffer, enum hn_op op, uintptr_t pc) {
    if (bytes > 0 && ours(pc))
        hnrt_put_bytes(buffer, (size_t)bytes, op, pc);
    return bytes;
}

static ssize_t moved_pieces(ssize_t bytes, const struct iovec *piece, int pieces, enum hn_op op, uintptr_t pc) {
    size_t left = bytes > 0 && ours(pc) ? (size_t)bytes : 0;
    for (int i = 0; i < pieces && left; i++) {
        size_t n = piece[i].iov_len < left ? piece[i].iov_len : left;
        hnrt_put_bytes(piece[i].iov_base, n, op, pc);
        left -= n;
    }
    return bytes;
}

INTERPOSE ssize_t read(int fd, void *buffer, size_t n) {
    return moved(REAL(read)(fd, buffer, n), buffer, OP_WRITE, CALLER());
}

INTERPOSE ssize_t write(int fd, const void *buffer, size_t n) {
    return moved(REAL(write)(fd, buffer, n), buffer, OP_READ, CALLER());
}

INTERPOSE ssize_t pread(int fd, void *buffer, size_t n, off_t at) {
    return moved(REAL(pread)(fd, buffer, n, at), buffer, OP_WRITE, CALLER());
}

INTERPOSE ssize_t pread64(int fd, void *buffer, size_t n, off_t at) {
    return moved(REAL(pread)(fd, buffer, n, at), buffer, OP_WRITE, CALLER());
}

INTERPOSE ssize_t pwrite(int fd, const void *buffer, size_t n, off_t at) {
    return moved(REAL(pwrite)(fd, buffer, n, at), buffer, OP_READ, CALLER());
}

INTERPOSE ssize_t pwrite64(int fd, const void *buffer, size_t n, off_t at) {
    return moved(REAL(pwrite)(fd, buffer, n, at), buffer, OP_READ, CALLER());
}

INTERPOSE ssize_t readv(int fd, const struct iovec *piece, int pieces) {
    return moved_pieces(REAL(readv)(fd, piece, pieces), piece, pieces, OP_WRITE, CALLER());
}

INTERPOSE ssize_t writev(int fd, const struct iovec *piece, int pieces) {
    return moved_pieces(REAL(writev)(fd, piece, pieces), piece, pieces, OP_READ, CALLER());
}

INTERPOSE ssize_t recv(int fd, void *buffer, size_t n, int flags) {
    ssize_t got = REAL(recv)(fd, buffer, n, flags);
    moved(got > (ssize_t)n ? (ssize_t)n : got, buffer, OP_WRITE, CALLER());
    return got;
}

INTERPOSE ssize_t send(int fd, const void *buffer, size_t n, int flags) {
    return moved(REAL(send)(fd, buffer, n, flags), buffer, OP_READ, CALLER());
}

INTERPOSE size_t fread(void *restrict buffer, size_t size, size_t n, FILE *restrict file) {
    size_t done = REAL(fread)(buffer, size, n, file);
    moved((ssize_t)(done * size), buffer, OP_WRITE, CALLER());
    return done;
}

INTERPOSE size_t fwrite(const void *restrict buffer, size_t size, size_t n, FILE *restrict file) {
    size_t done = REAL(fwrite)(buffer, size, n, file);
    moved((ssize_t)(done * size), buffer, OP_READ, CALLER());
    return done;
}

INTERPOSE ssize_t preadv(int fd, const struct iovec *piece, int pieces, off_t at) {
    return moved_pieces(REAL(preadv)(fd, piece, pieces, at), piece, pieces, OP_WRITE, CALLER());
}

INTERPOSE ssize_t pwritev(int fd, const struct iovec *piece, int pieces, off_t at) {
    return moved_pieces(REAL(pwritev)(fd, piece, pieces, at), piece, pieces, OP_READ, CALLER());
}

/* With MSG_TRUNC the result is the message's length, which may be more than there was room for. */
INTERPOSE ssize_t recvfrom(int fd, void *restrict buffer, size_t n, int flags, struct sockaddr *restrict from,
                           socklen_t *restrict from_bytes) {
    ssize_t got = REAL(recvfrom)(fd, buffer, n, flags, from, from_bytes);
    moved(got > (ssize_t)n ? (ssize_t)n : got, buffer, OP_WRITE, CALLER());
    return got;
}

INTERPOSE ssize_t sendto(int fd, const void *buffer, size_t n, int flags, const struct sockaddr *to,
                         socklen_t to_bytes) {
    return moved(REAL(sendto)(fd, buffer, n, flags, to, to_bytes), buffer, OP_READ, CALLER());
}

INTERPOSE ssize_t recvmsg(int fd, struct msghdr *m, int flags) {
    return moved_pieces(REAL(recvmsg)(fd, m, flags), m->msg_iov, (int)m->msg_iovlen, OP_WRITE, CALLER());
}

INTERPOSE ssize_t sendmsg(int fd, const struct msghdr *m, int flags) {
    return moved_pieces(REAL(sendmsg)(fd, m, flags), m->msg_iov, (int)m->msg_iovlen, OP_READ, CALLER());
}

/* A line with its end. */
INTERPOSE char *fgets(char *restrict line, int n, FILE *restrict file) {
    char *got = REAL(fgets)(line, n, file);
    uintptr_t pc = CALLER();
    if (got && ours(pc))
        hnrt_put_bytes(line, REAL(strlen)(line) + 1, OP_WRITE, pc);
    return got;
}

INTERPOSE int fputs(const char *restrict text, FILE *restrict file) {
    uintptr_t pc = CALLER();
    if (ours(pc))
        hnrt_put_bytes(text, REAL(strlen)(text) + 1, OP_READ, pc);
    return REAL(fputs)(text, file);
}
