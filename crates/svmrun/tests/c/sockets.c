/* What nodes do that have only sockets between them, a subcommand each:
 *   sockets before FILE       what was written and locked before there were nodes is seen, and can be taken; FILE as next
 *   sockets garbage FILE      node 1 sends to others what is no request; stderr of all goes to FILE
 *   sockets closed FILE       node 1 closes its connections and lives on; stderr as before
 *   sockets forever FILE      never ends by itself; FILE gets the processes of the nodes, and FILE.said stderr of all */
#include <homenode.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DESCRIPTORS = 256 };

/* Not the argument itself, which nodes of other hosts do not have. */
static char path[4096];
static unsigned long *processes;

/* Pages that node 0 wrote while it was alone, whoever their home is, and locks that it had. */
enum { PAGES = 64, PAGE = 4096, LOCKS = 32 };
static struct before {
    unsigned char bytes[PAGES][PAGE], names[LOCKS];
    unsigned long counters[LOCKS];
} *written;

static void alone(void) {
    written = homenode_shared_alloc(sizeof *written);
    for (int page = 0; page < PAGES; page++)
        memset(written->bytes[page], page + 1, PAGE);
    for (int lock = 0; lock < LOCKS; lock++) {
        homenode_lock(&written->names[lock]);
        written->counters[lock] = 100;
        homenode_unlock(&written->names[lock]);
    }
}

static void before(void *argument) {
    (void)argument;
    for (int page = 0; page < PAGES; page++)
        for (int at = 0; at < PAGE; at++)
            if (written->bytes[page][at] != page + 1)
                exit(3);
    for (int lock = 0; lock < LOCKS; lock++) {
        homenode_lock(&written->names[lock]);
        written->counters[lock]++;
        homenode_unlock(&written->names[lock]);
    }
}

static bool closes;

static void garbage(void *argument) {
    unsigned char bytes[16];
    (void)argument;
    memset(bytes, 0xff, sizeof bytes);
    for (int socket = 3; homenode_node() == 1 && socket < DESCRIPTORS; socket++) {
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        if (getpeername(socket, (struct sockaddr *)&peer, &length) || peer.sin_family != AF_INET)
            continue;
        if (closes)
            shutdown(socket, SHUT_RDWR);
        else
            send(socket, bytes, sizeof bytes, MSG_NOSIGNAL);
    }
    pause();
}

static void forever(void *argument) {
    unsigned threads = homenode_svm_threads();
    (void)argument;
    processes[homenode_thread()] = (unsigned long)getpid();
    homenode_barrier(processes, threads);
    if (homenode_thread() == 0) {
        FILE *out = fopen(path, "w");
        for (unsigned t = 0; t < threads; t++)
            fprintf(out, "%lu\n", processes[t]);
        fclose(out);
    }
    for (;;) {
        homenode_barrier(processes, threads);
        processes[homenode_thread()]++;
    }
}

int main(int argc, char **argv) {
    if (argc != 3 || !homenode_svm_threads || !homenode_svm_threads())
        return 2;
    snprintf(path, sizeof path, "%s", argv[2]);
    alarm(100); /* a test that waits for ever says nothing */
    processes = homenode_shared_alloc(4096);
    closes = !strcmp(argv[1], "closed");
    void (*body)(void *) = !strcmp(argv[1], "before") ? before : closes || !strcmp(argv[1], "garbage") ? garbage : forever;
    char said[4096];
    snprintf(said, sizeof said, "%s%s", path, body == garbage ? "" : ".said");
    alone();
    if (!freopen(said, "w", stderr))
        return 2;
    for (unsigned t = 1; t < homenode_svm_threads(); t++)
        homenode_create(body, NULL);
    if (body == garbage)
        homenode_join();
    else
        body(NULL);
    if (body == before) {
        homenode_join();
        for (int lock = 0; lock < LOCKS; lock++)
            if (written->counters[lock] != 100 + homenode_svm_threads())
                return 4;
    }
    return 0;
}
