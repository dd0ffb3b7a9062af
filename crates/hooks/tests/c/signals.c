/* A known sequence while signals arrive as fast as they can. Handlers make references and atomics, allocate nothing,
 * and every third one jumps out instead of returning, wherever it found the thread. */
#include "expect.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#define REFS 3000000
static uint32_t cells[64];
static long progress;
static long in_handler[16];
static sigjmp_buf out;
static volatile sig_atomic_t jumps, returns, may_jump;

static void handler(int number, siginfo_t *info, void *context) {
    (void)info, (void)context;
    for (int i = 0; i < 16; i++) {
        in_handler[i]++;
        FENCE();
    }
    __atomic_fetch_add(&in_handler[0], number, __ATOMIC_SEQ_CST);
    if (may_jump && ++returns % 3 == 0) {
        jumps++;
        siglongjmp(out, 1);
    }
}

/* Where it goes on after a jump is in memory, by a store that is not recorded. */
UNRECORDED static void passed(long i) {
    *(volatile long *)&progress = i + 1;
}

static NOINLINE void sequence(void) {
    for (long i = *(volatile long *)&progress; i < REFS; i++) {
        cells[i * 7 % 64] = (uint32_t)i;
        passed(i);
    }
}

int main(int argc, char **argv) {
    (void)argv;
    struct sigaction action = {.sa_flags = SA_SIGINFO}, old;
    struct itimerval fast = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    action.sa_sigaction = handler;
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGALRM, NULL, &old);
    if (old.sa_sigaction != handler || signal(SIGUSR1, SIG_IGN) != SIG_DFL || signal(SIGUSR1, SIG_DFL) != SIG_IGN)
        return 2;
    homenode_phase_begin("sequence");
    setitimer(ITIMER_REAL, &fast, NULL);
    may_jump = argc > 1;
    sigsetjmp(out, 1);
    sequence();
    may_jump = 0;
    setitimer(ITIMER_REAL, &never, NULL);
    homenode_phase_end("sequence");
    printf("%#lx %d %d\n", (unsigned long)cells, (int)jumps, (int)returns);
    return 0;
}
