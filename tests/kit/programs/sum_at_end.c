/* kit
class = "clean"
truth = "Each thread adds its part up by itself and adds to the one sum under a lock once."
build = ["gcc", "-O0"]
*/
#include "team.h"

enum { T = 8, N = 80000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static int values[N] __attribute__((aligned(4096)));

static void body(int id) {
    long mine = 0;
    for (int i = id * (N / T); i < (id + 1) * (N / T); i++) values[i] = i & 15;
    for (int round = 0; round < 4; round++)
        for (int i = id * (N / T); i < (id + 1) * (N / T); i++) mine += values[i];
    pthread_mutex_lock(&lock);
    sum += mine;
    pthread_mutex_unlock(&lock);
}

int main(void) {
    team(T);
    printf("%ld\n", sum);
}
