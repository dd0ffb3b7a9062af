/* kit
class = "true sharing: polling"
truth = "Two threads hand 40 words to and fro, and poll a flag for it. The argument makes the one who is waited for slow: what the program pays may not depend on it."
build = ["gcc", "-O1"]
args = ["0"]
required = true
shared = [{object = ["data", "flag"], line = "hot"}]
*/
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#include "team.h"

static _Atomic int flag;
static volatile long data[40] __attribute__((aligned(64)));
static int slow_us;

static void wait_for(int value) {
    while (atomic_load(&flag) != value)  // hot
        sched_yield();
}

static void body(int id) {
    for (int r = 0; r < 20; r++) {
        if (id == 0) {
            for (int i = 0; i < 40; i++)
                data[i] += r;  // hot
            if (slow_us) usleep(slow_us);
            atomic_store(&flag, 2 * r + 1);  // hot
            wait_for(2 * r + 2);
        } else {
            long s = 0;
            wait_for(2 * r + 1);
            for (int i = 0; i < 40; i++)
                s += data[i];  // hot
            data[0] = s;
            atomic_store(&flag, 2 * r + 2);  // hot
        }
    }
}

int main(int argc, char **argv) {
    slow_us = argc > 1 ? atoi(argv[1]) : 0;
    team(2);
    printf("%ld\n", data[0]);
}
