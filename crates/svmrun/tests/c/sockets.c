/* What a node does with its own sockets, a subcommand each:
 *   sockets garbage FILE      node 1 sends to others what is no request; stderr of all goes to FILE
 *   sockets forever FILE      never ends by itself; FILE gets the processes of the nodes, and FILE.said stderr of all */
#include <homenode.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DESCRIPTORS = 256 };

static const char *path;
static unsigned long *processes;

static void garbage(void *argument) {
    unsigned char bytes[16];
    (void)argument;
    memset(bytes, 0xff, sizeof bytes);
    for (int socket = 3; homenode_node() == 1 && socket < DESCRIPTORS; socket++) {
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        if (!getpeername(socket, (struct sockaddr *)&peer, &length) && peer.sin_family == AF_INET)
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
    path = argv[2];
    alarm(100); /* a test that waits for ever says nothing */
    processes = homenode_shared_alloc(4096);
    void (*body)(void *) = strcmp(argv[1], "garbage") ? forever : garbage;
    char said[4096];
    snprintf(said, sizeof said, "%s%s", path, body == garbage ? "" : ".said");
    if (!freopen(said, "w", stderr))
        return 2;
    for (unsigned t = 1; t < homenode_svm_threads(); t++)
        homenode_create(body, NULL);
    if (body == garbage)
        homenode_join();
    else
        body(NULL);
    return 0;
}
