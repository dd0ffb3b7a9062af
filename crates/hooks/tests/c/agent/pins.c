/* Which processors every thread may use: threads 0 and 1 of the initial one, a thread of each, a forked child and a
 * program that it executes. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *who) {
    char line[1024];
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    int used = sprintf(line, "%s", who), first = 1;
    for (int i = 0; i < 200; i++)
        if (CPU_ISSET(i, &set)) {
            used += sprintf(line + used, "%s%d", first ? " " : ",", i);
            first = 0;
        }
    line[used++] = '\n';
    if (write(1, line, used) != used)
        abort();
}

static void *inner(void *name) {
    say(name);
    return NULL;
}

static void *outer(void *name) {
    char text[16];
    pthread_t t;
    say(name);
    sprintf(text, "%s.0", (char *)name);
    pthread_create(&t, NULL, inner, text);
    pthread_join(t, NULL);
    return NULL;
}

int main(int count, char **arguments) {
    if (count > 1) {
        say(arguments[1]);
        return 0;
    }
    say("-");
    char *names[2] = {"0", "1"};
    for (int i = 0; i < 2; i++) {
        pthread_t t;
        pthread_create(&t, NULL, outer, names[i]);
        pthread_join(t, NULL);
    }
    if (fork() == 0) {
        say("child");
        unsetenv("HOMENODE_AGENT_PLAN");
        execl(arguments[0], arguments[0], "executed", (char *)NULL);
    }
    wait(NULL);
    return 0;
}
