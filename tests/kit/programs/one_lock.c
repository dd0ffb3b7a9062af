/* kit
class = "true sharing: one contended lock"
truth = "Five threads take one mutex for each step on one sum: the lock and the sum go to whoever has it."
build = ["gcc", "-O1"]
turns = true
shared = [{object = ["account", "account.mutex", "account.sum"], line = "hot"}]
*/
#include "team.h"

enum { T = 5 };
static struct { _Alignas(64) pthread_mutex_t mutex; volatile long sum; } account = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void body(int id) {
    for (int i = 0; i < 10000; i++) {
        pthread_mutex_lock(&account.mutex);  // hot
        account.sum += id;                   // hot
        pthread_mutex_unlock(&account.mutex);  // hot
    }
}

int main(void) {
    team(T);
    printf("%ld\n", account.sum);
}
