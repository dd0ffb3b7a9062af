/* Moves pages of a running process by bare system calls, with no policy behind it.
 *
 *   mover random PID SECONDS SEED [BATCH]   any pages to any nodes, until the time is over or the process is
 *   mover home PID FILE                     every page of a regions file to the node of its thread's only processor
 *   mover node PID START BYTES NODE         a range to a node
 *
 * Prints what became of the pages; status 0, or 1 if not one page moved, 3 if the process went away. */
#include "tool.h"

#define USAGE "random PID SECONDS SEED [BATCH] | home PID FILE | node PID START BYTES NODE"
#define BATCH_MAX 4096

static struct {
    uint64_t calls, asked, moved, stayed, absent, refused, no_room;
    bool gone;
} done;

static int memory_nodes[NODES_MAX], memory_node_count;

static void note_memory_node(int node, void *unused) {
    (void)unused;
    if (memory_node_count < NODES_MAX)
        memory_nodes[memory_node_count++] = node;
}

/* One batch; what the pages' own status says is counted, because the call's result does not tell. */
static void move(int pid, unsigned long count, void **pages, const int *nodes) {
    static int before[BATCH_MAX], status[BATCH_MAX];
    memset(before, 0xff, sizeof before);
    memset(status, 0xff, sizeof status);
    if (pages_call(pid, count, pages, NULL, before) < 0 || pages_call(pid, count, pages, nodes, status) < 0) {
        if (errno == ESRCH || errno == EINVAL)
            done.gone = true;
        else if (errno != ENOMEM)
            die("move_pages");
        done.no_room += errno == ENOMEM;
    }
    /* Pages of an error's batch may have moved all the same: look where they are. */
    if (!done.gone)
        pages_call(pid, count, pages, NULL, status);
    done.calls++;
    done.asked += count;
    for (unsigned long i = 0; i < count; i++)
        if (before[i] < 0)
            done.absent++;
        else if (status[i] == before[i] && nodes[i] == before[i])
            done.stayed++;
        else if (status[i] == nodes[i])
            done.moved++;
        else
            done.refused++;
}

/* ---- at random --------------------------------------------------------------------------------------------------- */

struct mapping {
    uintptr_t start;
    size_t pages;
};

/* Writable mappings; returns how many pages they span. */
static size_t writable(int pid, struct mapping *list, int most, int *count) {
    char path[64], line[4096], rights[5];
    uintptr_t from, to;
    size_t pages = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *f = fopen(path, "re");
    *count = 0;
    while (f && *count < most && fgets(line, sizeof line, f))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, rights) == 3 && rights[1] == 'w') {
            list[(*count)++] = (struct mapping){from, (to - from) / PAGE};
            pages += (to - from) / PAGE;
        }
    if (f)
        fclose(f);
    return pages;
}

static void *page_number(const struct mapping *list, size_t page) {
    while (page >= list->pages)
        page -= list++->pages;
    return (void *)(list->start + page * PAGE);
}

static void at_random(int pid, double seconds, uint64_t seed, unsigned long batch) {
    static struct mapping list[1024];
    static void *pages[BATCH_MAX];
    static int nodes[BATCH_MAX];
    double deadline = seconds_now() + seconds;
    while (!done.gone && seconds_now() < deadline) {
        int count;
        size_t all = writable(pid, list, 1024, &count);
        if (!all) {
            done.gone = true;
            break;
        }
        for (unsigned long i = 0; i < batch; i++) {
            pages[i] = page_number(list, (seed = mix(seed)) % all);
            nodes[i] = memory_nodes[(seed = mix(seed)) % (unsigned)memory_node_count];
        }
        move(pid, batch, pages, nodes);
    }
}

/* ---- to a place -------------------------------------------------------------------------------------------------- */

static void range(int pid, uintptr_t start, size_t bytes, int node) {
    static void *pages[BATCH_MAX];
    static int nodes[BATCH_MAX];
    uintptr_t first;
    size_t count = whole_pages(start, bytes, &first);
    for (size_t at = 0; at < count && !done.gone;) {
        unsigned long n = 0;
        for (; n < BATCH_MAX && at < count; n++, at++) {
            pages[n] = (void *)(first + at * PAGE);
            nodes[n] = node;
        }
        move(pid, n, pages, nodes);
    }
}

static void note_cpu(int cpu, void *only) {
    *(int *)only = *(int *)only == -1 ? cpu : -2;
}

static int only_node(int pid, int tid) {
    char path[64], line[4096];
    int cpu = -1;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "Cpus_allowed_list:\t", 19))
            for_each(line + 19, note_cpu, &cpu);
    if (f)
        fclose(f);
    if (cpu < 0) {
        fprintf(stderr, "mover: thread %d has not one processor\n", tid);
        exit(2);
    }
    return node_of_cpu(cpu);
}

static void home(int pid, const char *path) {
    struct region *list;
    size_t n = read_regions(path, &list);
    for (size_t i = 0; i < n; i++)
        range(pid, list[i].start, list[i].bytes, only_node(pid, list[i].tid));
    free(list);
}

int main(int argc, char **argv) {
    char list[256];
    if (argc < 4)
        misuse(USAGE);
    if (!first_line("/sys/devices/system/node/has_memory", list, sizeof list))
        die("has_memory");
    for_each(list, note_memory_node, NULL);
    int pid = (int)number(argv[2], USAGE);
    if (!strcmp(argv[1], "random") && (argc == 5 || argc == 6)) {
        uint64_t batch = argc == 6 ? number(argv[5], USAGE) : 64;
        if (!batch || batch > BATCH_MAX)
            misuse(USAGE);
        at_random(pid, (double)number(argv[3], USAGE), number(argv[4], USAGE), batch);
    } else if (!strcmp(argv[1], "home") && argc == 4)
        home(pid, argv[3]);
    else if (!strcmp(argv[1], "node") && argc == 6)
        range(pid, number(argv[3], USAGE), number(argv[4], USAGE), (int)number(argv[5], USAGE));
    else
        misuse(USAGE);
    printf("mover: calls %" PRIu64 " asked %" PRIu64 " moved %" PRIu64 " stayed %" PRIu64 " absent %" PRIu64
           " refused %" PRIu64 " without-room %" PRIu64 "%s\n",
           done.calls, done.asked, done.moved, done.stayed, done.absent, done.refused, done.no_room,
           done.gone ? " process gone" : "");
    return done.gone ? 3 : done.moved ? 0 : 1;
}
