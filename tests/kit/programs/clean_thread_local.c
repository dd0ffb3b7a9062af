/* kit
class = "clean"
truth = "Counters are thread-local and added up under a lock once a thread."
build = ["clang", "-O1"]
*/
#include "team.h"

enum { T = 8 };
static __thread volatile long mine;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void body(int id) {
    for (int i = 0; i < 20000; i++) mine += id;
    pthread_mutex_lock(&mutex);
    total += mine;
    pthread_mutex_unlock(&mutex);
}

int main(void) {
    team(T);
    printf("%ld\n", total);
}
