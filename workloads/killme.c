/* For crash tests: each thread writes words of its own array in a known order and, after each, its own counter in a file
 * mapping. An observer that maps the same file knows at any moment, and after a SIGKILL, how many references have surely
 * been made; the recording must hold them, except for what the last frame of each thread may lose.
 *
 * The file holds 8-byte words: [0] magic, [1] threads, [2] words of an array, then a line of 8 words per thread:
 * [0] steps done, [1] address of the array, [2] address of the step counter.
 * Step i of thread t writes word ((i * stride(t)) mod words) of the array and then `i + 1` to the counter. */

#include "hn_workload.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x31656d6c6c696b68) /* "hkillme1" */
#define WORDS 4096u

static _Noreturn void usage(FILE *to, int status) {
    fprintf(to, "usage: killme [-p THREADS] [-n STEPS] FILE\nWrites known sequences for ever, or STEPS words a thread.\n");
    exit(status);
}

struct killme {
    volatile uint64_t *board;
    uint64_t steps;
};

static uint64_t stride(unsigned t) {
    return 2 * (uint64_t)t + 1; /* odd: visits every word */
}

static void work(unsigned t, unsigned threads, void *shared) {
    (void)threads;
    const struct killme *s = shared;
    volatile uint64_t *line = s->board + 8 + 8 * (size_t)t;
    volatile uint64_t *words = hn_shared_alloc("words", WORDS * sizeof(uint64_t));
    uint64_t steps = s->steps, by = stride(t), at = 0;
    line[2] = (uint64_t)(uintptr_t)&line[0];
    line[1] = (uint64_t)(uintptr_t)words;
    for (uint64_t i = 0; i != steps; i++) {
        words[at] = i;
        line[0] = i + 1;
        at = (at + by) % WORDS;
    }
    hn_shared_free((void *)(uintptr_t)words);
}

static volatile uint64_t *map_board(const char *path, size_t bytes) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0 || ftruncate(file, (off_t)bytes))
        hn_die(path, errno);
    void *board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (board == MAP_FAILED)
        hn_die(path, errno);
    close(file);
    return board;
}

static uint64_t number(const char *text, uint64_t highest) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value == 0 || value > highest)
        usage(stderr, 2);
    return value;
}

int main(int argc, char **argv) {
    unsigned threads = 2;
    struct killme s = {.steps = 0}; /* 0: for ever */
    int letter;
    while ((letter = getopt(argc, argv, "p:n:h")) != -1) {
        if (letter == 'p')
            threads = (unsigned)number(optarg, HN_MAX_THREADS);
        else if (letter == 'n')
            s.steps = number(optarg, UINT64_MAX);
        else
            usage(letter == 'h' ? stdout : stderr, letter == 'h' ? 0 : 2);
    }
    if (optind + 1 != argc)
        usage(stderr, 2);
    s.steps = s.steps ? s.steps : UINT64_MAX;
    s.board = map_board(argv[optind], (8 + 8 * (size_t)threads) * sizeof(uint64_t));
    s.board[1] = threads;
    s.board[2] = WORDS;
    s.board[0] = MAGIC;
    hn_run(threads, work, &s);
    printf("killme: %u threads made %" PRIu64 " steps each\n", threads, s.steps);
    return 0;
}
