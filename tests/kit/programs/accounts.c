/* kit
class = "true sharing: accounts with locks"
truth = "Four threads move money between 64 accounts at random, each with its lock on lines of its own: all use all."
build = ["gcc", "-O1"]
turns = true
shared = [{object = "accounts", line = "hot"}]
*/
#include "team.h"

enum { T = 4, ACCOUNTS = 64 };
static struct { _Alignas(64) pthread_mutex_t lock; long balance; } accounts[ACCOUNTS];

static void body(int id) {
    unsigned x = 99 + id;
    for (int i = 0; i < 8000; i++) {
        x = x * 1664525 + 1013904223;
        int from = x >> 16 & 63, to = x >> 24 & 63;
        if (from == to) continue;
        int first = from < to ? from : to, second = from < to ? to : from;
        pthread_mutex_lock(&accounts[first].lock);   // hot
        pthread_mutex_lock(&accounts[second].lock);  // hot
        accounts[from].balance--;                    // hot
        accounts[to].balance++;                      // hot
        pthread_mutex_unlock(&accounts[second].lock);  // hot
        pthread_mutex_unlock(&accounts[first].lock);   // hot
    }
}

int main(void) {
    for (int i = 0; i < ACCOUNTS; i++) pthread_mutex_init(&accounts[i].lock, NULL);
    team(T);
    printf("%ld\n", accounts[3].balance);
}
