/* kit
class = "true sharing: a token passed by semaphores"
truth = "Three threads pass one token round through semaphores, 3,000 times, and each changes the one record that it stands for."
build = ["gcc", "-O1"]
shared = [{object = ["turn", "record"], line = "hot"}]
*/
#include <semaphore.h>
#include "team.h"

enum { T = 3 };
static struct { _Alignas(64) sem_t sem; } turn[T];
static struct { _Alignas(64) volatile long words[8]; } record;

static void body(int id) {
    for (int i = 0; i < 3000; i++) {
        sem_wait(&turn[id].sem);  // hot
        for (int w = 0; w < 8; w++) record.words[w] += w;  // hot
        sem_post(&turn[(id + 1) % T].sem);  // hot
    }
}

int main(void) {
    for (int i = 0; i < T; i++) sem_init(&turn[i].sem, 0, i == 0);
    team(T);
    printf("%ld\n", record.words[1]);
}
