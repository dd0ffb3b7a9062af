/* Homes of nodes of shared virtual memory, and where they belong: near FOLDER SECONDS, by `homenode svm run --homes block`.
 *
 * Thread 0 writes all pages, so what another node has of its own part came there from node 0's process and not by a thread of its own; then each
 * node's first thread reads its part. FOLDER/node-N has a line in the form of `struct region` (tool.h): the part, and the first thread
 * of node N; FOLDER/pid-N its process. All stay until there is a FOLDER/end, or for that long. Status 3: a wrong byte. */
#include "tool.h"
#include "../../../include/homenode.h"

#define PAGES ((size_t)64)

static const char *folder;
static unsigned seconds;
static char *data;

static void fail(const char *what) {
    fprintf(stderr, "near: thread %u: %s\n", homenode_thread(), what);
    exit(3);
}

/* A file appears when it is whole. */
static void say(const char *name, unsigned node, const char *text) {
    char path[256], other[256];
    snprintf(other, sizeof other, "%s/.%s-%u", folder, name, node);
    snprintf(path, sizeof path, "%s/%s-%u", folder, name, node);
    FILE *f = need(fopen(other, "we"));
    fputs(text, f);
    if (fclose(f) || rename(other, path))
        die(path);
}

static void work(void *unused) {
    unsigned threads = homenode_svm_threads(), nodes = homenode_nodes(), node = homenode_node();
    bool is_first = homenode_thread() % (threads / nodes) == 0;
    char *part = data + node * PAGES * PAGE;
    (void)unused;
    homenode_barrier(data, threads);
    for (size_t at = 0; homenode_thread() == 0 && at < nodes * PAGES * PAGE; at++)
        data[at] = (char)(at / PAGE + 1);
    homenode_barrier(data, threads);
    if (is_first) {
        for (size_t at = 0; at < PAGES * PAGE; at++)
            if (part[at] != (char)(node * PAGES + at / PAGE + 1))
                fail("a wrong byte");
        char text[256];
        snprintf(text, sizeof text, "region heap %" PRIxPTR " %zu %d\n", (uintptr_t)part, PAGES * PAGE, gettid());
        say("node", node, text);
        snprintf(text, sizeof text, "%d\n", getpid());
        say("pid", node, text);
    }
    homenode_barrier(data, threads);
    char end[256];
    snprintf(end, sizeof end, "%s/end", folder);
    for (double until = seconds_now() + seconds; access(end, F_OK) && seconds_now() < until;)
        usleep(50000);
}

int main(int argc, char **argv) {
    if (argc != 3 || !homenode_svm_threads)
        misuse("FOLDER SECONDS");
    folder = argv[1];
    seconds = (unsigned)number(argv[2], "FOLDER SECONDS");
    data = need(homenode_shared_alloc(homenode_nodes() * PAGES * PAGE));
    for (unsigned t = 1; t < homenode_svm_threads(); t++)
        homenode_create(work, NULL);
    work(NULL);
    homenode_join();
    return 0;
}
