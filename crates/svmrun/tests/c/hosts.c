/* What a program finds on nodes of several hosts, a subcommand each:
 *   hosts variables           every kind of variable means on each node what it meant when the first thread was created
 *   hosts pointer             a variable points to memory of malloc
 *   hosts argument            a thread gets such memory as its argument
 *   hosts says                each thread writes a line to stdout, more than a pipe holds
 *   hosts exits               a thread of the last node calls exit(7)
 *   hosts crashes             a thread of the last node crashes
 *   hosts alone               no thread is created
 *   hosts forever FILE        never ends by itself; FILE gets the processes of the nodes */
#include <homenode.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 100000, LINES = 3000 };

static unsigned long many[MANY], *in_shared, *in_many = many + 7;
static const char *text = "nothing";
static double (*function)(double);
static FILE *stream;
static char bytes[5] = {1, 2, 3, 4, 5};
static __thread unsigned own = 5;
static unsigned long *results;
/* Nobody reads them, but the launcher. */
__attribute__((used)) static void *private;
__attribute__((used)) static char **arguments;
static char path[4096], found_in[8192];

static void prepare(void) {
    for (unsigned long at = 0; at < MANY; at++)
        many[at] = at * at;
    in_shared = homenode_shared_alloc(4096);
    in_shared[3] = 33;
    in_many++;
    text = "something";
    function = cos;
    stream = stdout;
    bytes[4] = 55;
    own = 6;
    strncpy(found_in, getenv("PATH"), sizeof found_in - 1);
}

/* 0 if all is as it was; otherwise the number of the first that is not. */
static int wrong(void) {
    for (unsigned long at = 0; at < MANY; at++)
        if (many[at] != at * at)
            return 1;
    if (in_shared[3] != 33)
        return 2;
    if (in_many != many + 8 || *in_many != 64)
        return 3;
    if (strcmp(text, "something") != 0)
        return 4;
    if (function(0) != 1 || stream != stdout)
        return 5;
    if (bytes[0] != 1 || bytes[4] != 55)
        return 6;
    /* A thread has its own, as everywhere. */
    if (own != 5)
        return 7;
    return getenv("PATH") && strcmp(getenv("PATH"), found_in) == 0 ? 0 : 8;
}

static void variables(void *argument) {
    if (argument != in_many)
        exit(9);
    int found = wrong();
    if (found)
        exit(10 + found);
    /* Each node's variables are its own from now on. */
    bytes[2] = 99;
    results[homenode_thread()] = homenode_node();
}

static void says(void *argument) {
    (void)argument;
    for (int line = 0; line < LINES; line++)
        printf("thread %u says line %d to whoever reads what it has to say\n", homenode_thread(), line);
}

static void exits(void *argument) {
    (void)argument;
    if (homenode_thread() == homenode_svm_threads() - 1)
        exit(7);
    for (;;)
        sleep(1);
}

static void crashes(void *argument) {
    (void)argument;
    if (homenode_thread() == homenode_svm_threads() - 1)
        abort();
    for (;;)
        sleep(1);
}

static void forever(void *argument) {
    (void)argument;
    results[homenode_thread()] = (unsigned long)getpid();
    homenode_barrier(results, homenode_svm_threads());
    if (homenode_thread() == 0) {
        FILE *to = fopen(path, "w");
        for (unsigned thread = 0; thread < homenode_svm_threads(); thread++)
            fprintf(to, "%lu\n", results[thread]);
        fclose(to);
    }
    for (volatile unsigned long turn = 0;; turn++)
        if (turn % 1000000 == 0)
            homenode_barrier(results + 1, homenode_svm_threads());
}

static void run(void (*body)(void *), void *argument) {
    results = homenode_shared_alloc(homenode_svm_threads() * sizeof *results);
    for (unsigned thread = 1; thread < homenode_svm_threads(); thread++)
        homenode_create(body, argument);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    if (strcmp(what, "variables") == 0) {
        prepare();
        run(variables, in_many);
        homenode_join();
        for (unsigned thread = 1; thread < homenode_svm_threads(); thread++)
            if (results[thread] != thread / (homenode_svm_threads() / homenode_nodes()))
                return 30;
        return bytes[2] == 3 || homenode_svm_threads() > homenode_nodes() ? 0 : 31;
    }
    if (strcmp(what, "pointer") == 0) {
        private = malloc(100);
        arguments = words;
        run(says, NULL);
    }
    if (strcmp(what, "argument") == 0)
        run(says, malloc(100));
    if (strcmp(what, "says") == 0) {
        run(says, NULL);
        homenode_join();
        return 0;
    }
    if (strcmp(what, "exits") == 0) {
        run(exits, NULL);
        homenode_join();
    }
    if (strcmp(what, "crashes") == 0) {
        run(crashes, NULL);
        homenode_join();
    }
    if (strcmp(what, "alone") == 0)
        return 4;
    if (strcmp(what, "forever") == 0) {
        strncpy(path, words[2], sizeof path - 1);
        run(forever, NULL);
        forever(NULL);
    }
    return 2;
}
