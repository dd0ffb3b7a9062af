/* kit
class = "true sharing: polling"
truth = "A flag is polled under a mutex until the other thread has set it. How often it is polled is the host's doing, and costs the program nothing it could mend."
build = ["gcc", "-O1"]
args = ["0"]
*/
#include <sched.h>
#include <unistd.h>
#include "team.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int turn;
static struct { _Alignas(64) volatile long n; } work[2];
static int slow_us;

static void body(int id) {
    for (int r = 0; r < 10; r++) {
        for (int mine = 0; !mine;) {
            pthread_mutex_lock(&mutex);
            mine = turn % 2 == id;
            pthread_mutex_unlock(&mutex);
            if (!mine) sched_yield();
        }
        for (int i = 0; i < 500; i++) work[id].n += i;
        if (slow_us && id == 0) usleep(slow_us);
        pthread_mutex_lock(&mutex);
        turn++;
        pthread_mutex_unlock(&mutex);
    }
}

int main(int argc, char **argv) {
    slow_us = argc > 1 ? atoi(argv[1]) : 0;
    team(2);
    printf("%ld\n", work[0].n);
}
