/* Threads that allocate, use and free a block again and again, slowly: what a sampling recorder has to put in order. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 16384 };

static int rounds = 12;

static char table[BYTES];

static void *work(void *arg) {
    for (int i = 0; i < rounds; i++) {
        char *block = malloc(BYTES);
        if (!block)
            return NULL;
        memset(block, i, BYTES);
        usleep(30000);
        table[i % BYTES] += block[i * 7 % BYTES];
        free(block);
    }
    return arg;
}

int main(int argc, char **argv) {
    if (argc > 1)
        rounds = atoi(argv[1]);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
        usleep(50000);
    }
    work(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 3;
}
