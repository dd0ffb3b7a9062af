/* kit
class = "true sharing: producer and consumer"
truth = "Items go through a ring of 16 under a mutex: what one thread writes the other reads. The items must travel."
build = ["clang", "-O1"]
shared = [{object = "ring", line = "hot"}]
*/
#include "team.h"

enum { SLOTS = 16, ITEMS = 20000 };
static struct {
    _Alignas(64) pthread_mutex_t mutex;
    pthread_cond_t filled, freed;
    volatile unsigned head, tail;
    volatile long slot[SLOTS];
} ring = {.mutex = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .freed = PTHREAD_COND_INITIALIZER};
static volatile long total;

static void body(int id) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&ring.mutex);  // hot
        if (id == 0) {
            while (ring.head - ring.tail == SLOTS)  // hot
                pthread_cond_wait(&ring.freed, &ring.mutex);
            ring.slot[ring.head % SLOTS] = i;  // hot
            ring.head++;                       // hot
            pthread_cond_signal(&ring.filled);
        } else {
            while (ring.head == ring.tail)  // hot
                pthread_cond_wait(&ring.filled, &ring.mutex);
            total += ring.slot[ring.tail % SLOTS];  // hot
            ring.tail++;                            // hot
            pthread_cond_signal(&ring.freed);
        }
        pthread_mutex_unlock(&ring.mutex);  // hot
    }
}

int main(void) {
    team(2);
    printf("%ld\n", total);
}
