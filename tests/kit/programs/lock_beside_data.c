/* kit
class = "a lock beside another thread's data"
truth = "Threads 0 and 1 pass a mutex seldom, thread 2 counts in the same line all the time without it: each lock takes the line from the counter."
build = ["gcc", "-O1"]
repaired = ["-DFIXED"]
bugs = [{object = "station", line = "hot", remedy = ["split", "pad"]}]
*/
#include "team.h"

enum { T = 3 };
static struct {
    _Alignas(64) pthread_mutex_t mutex;
#ifdef FIXED
    _Alignas(64)
#endif
    volatile long ticks;
} station = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct { _Alignas(64) volatile long n; } private[T];

static void body(int id) {
    if (id == 2) {
        for (int i = 0; i < 200000; i++)
            station.ticks++;  // hot
        return;
    }
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&station.mutex);  // hot
        private[id].n++;
        pthread_mutex_unlock(&station.mutex);  // hot
        for (int k = 0; k < 80; k++) private[id].n += k;
    }
}

int main(void) {
    team(T);
    printf("%ld\n", station.ticks);
}
