/* Says where pages of a process are, and judges whether they are where they belong: an independent witness, which asks the
 * kernel (move_pages without targets) and knows nothing of Homenode.
 *
 *   where [-w SECONDS] [-l PERCENT] count PID START BYTES              "node0=12 node2=500 absent=3"
 *   where [-w SECONDS] [-l PERCENT] regions PID FILE                   every page on the node of the thread in FILE
 *   where [-w SECONDS] [-l PERCENT] [-b] split PID START BYTES UNIT THREADS
 *                                                                      units dealt out contiguously to threads 0, 1, ...
 *   where [-w SECONDS] [-l PERCENT] avoid PID NODE FILE                no page of the regions in FILE on NODE
 *   where maps PID                                                     /proc/PID/numa_maps says the same as move_pages
 *
 * -w: ask again until the answer is yes or the time is over; -l: enough if so many percent are right (default 100);
 * -b: the first and the last unit of each part may also be with the neighbouring thread, which uses it too, or on any node where
 *     both together are as near as there, by the firmware's distances: where both use a page alike, all of these cost the same.
 * Status: 0 yes, 1 no, 2 could not ask. A region without any present page is a "no": nothing was seen. */
#include "tool.h"

#define USAGE "[-w SECONDS] [-l PERCENT] [-b] count|regions|split|avoid|maps PID ..."

struct tally {
    size_t on[NODES_MAX], absent;
};

static double least_percent = 100;
static bool shared_borders;

static struct tally ask(int pid, uintptr_t start, size_t bytes) {
    uintptr_t first;
    size_t count = whole_pages(start, bytes, &first);
    void **pages = need(malloc((count + 1) * sizeof *pages));
    int *status = need(malloc((count + 1) * sizeof *status));
    struct tally t = {{0}, 0};
    for (size_t i = 0; i < count; i++) {
        pages[i] = (void *)(first + i * PAGE);
        status[i] = -ENOENT;
    }
    if (count && pages_call(pid, count, pages, NULL, status) < 0)
        die("move_pages");
    for (size_t i = 0; i < count; i++)
        if (status[i] >= 0 && status[i] < NODES_MAX)
            t.on[status[i]]++;
        else
            t.absent++;
    free(pages);
    free(status);
    return t;
}

static size_t present(const struct tally *t) {
    size_t sum = 0;
    for (int n = 0; n < NODES_MAX; n++)
        sum += t->on[n];
    return sum;
}

static void print_tally(const struct tally *t) {
    for (int n = 0; n < NODES_MAX; n++)
        if (t->on[n])
            printf(" node%d=%zu", n, t->on[n]);
    if (t->absent)
        printf(" absent=%zu", t->absent);
    printf("\n");
}

/* ---- the node of a thread ------------------------------------------------------------------------------------- */

static void note_node(int cpu, void *node) {
    int n = node_of_cpu(cpu), *one = node;
    *one = *one == -1 || *one == n ? n : -2; /* -2: several */
}

/* Node of the only processors a thread may use, or else of the processor it ran on last. */
static int node_of_thread(int pid, int tid) {
    char path[64], line[4096];
    int node = -1, cpu = -1;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
    FILE *f = fopen(path, "re");
    if (!f)
        die(path);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, "Cpus_allowed_list:", 18))
            for_each(line + 18 + strspn(line + 18, "\t "), note_node, &node);
    fclose(f);
    if (node >= 0)
        return node;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    if (!first_line(path, line, sizeof line))
        die(path);
    /* The fields after the name, which is in parentheses, begin with number 3; the processor is number 39. */
    char *at = strrchr(line, ')');
    for (int field = 2; at && field < 39; field++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%d", &cpu) != 1)
        die(path);
    return node_of_cpu(cpu);
}

static int by_value(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* Threads of a process in the order of their numbers; how many. */
static int threads_of(int pid, int *tids, int most) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    int n = 0;
    if (!folder)
        die(path);
    for (struct dirent *e; (e = readdir(folder)) && n < most;)
        if (e->d_name[0] != '.')
            tids[n++] = atoi(e->d_name);
    closedir(folder);
    qsort(tids, (size_t)n, sizeof *tids, by_value);
    return n;
}

/* ---- judgements ------------------------------------------------------------------------------------------------ */

struct verdict {
    size_t right, seen;
    bool all_seen;
};

static void judge(struct verdict *v, int pid, const char *name, uintptr_t start, size_t bytes, int tid) {
    struct tally t = ask(pid, start, bytes);
    int home = node_of_thread(pid, tid);
    size_t seen = present(&t), right = home >= 0 ? t.on[home] : 0;
    printf("%s of thread %d on node %d: %zu of %zu at home;", name, tid, home, right, seen);
    print_tally(&t);
    v->right += right;
    v->seen += seen;
    v->all_seen = v->all_seen && seen;
}

static bool conclude(const struct verdict *v) {
    double percent = v->seen ? 100.0 * (double)v->right / (double)v->seen : 0;
    printf("%zu of %zu pages at home (%.2f %%)\n", v->right, v->seen, percent);
    return v->all_seen && percent >= least_percent;
}

static bool regions(int pid, const char *path) {
    struct region *list;
    size_t n = read_regions(path, &list);
    struct verdict v = {0, 0, true};
    for (size_t i = 0; i < n; i++)
        judge(&v, pid, list[i].name, list[i].start, list[i].bytes, list[i].tid);
    free(list);
    return conclude(&v);
}

/* Distances from a node to all nodes, as the firmware tells them. */
static void distances_from(int node, int *to) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/distance", node);
    if (!first_line(path, line, sizeof line))
        die(path);
    char *at = line, *end;
    for (int n = 0; n < NODES_MAX; n++, at = end) {
        long distance = strtol(at, &end, 10);
        to[n] = end == at ? INT_MAX / 2 : (int)distance;
    }
}

/* A unit that two neighbours use: right where both together are as near as beside either. */
static void judge_border(struct verdict *v, int pid, uintptr_t start, size_t bytes, int tid, int other) {
    struct tally t = ask(pid, start, bytes);
    int home = node_of_thread(pid, tid), also = node_of_thread(pid, other), of_home[NODES_MAX], of_also[NODES_MAX];
    size_t seen = present(&t), right = 0;
    bool known = home >= 0 && also >= 0;
    if (known) {
        distances_from(home, of_home);
        distances_from(also, of_also);
    }
    for (int n = 0; known && n < NODES_MAX; n++)
        if (n == home || n == also || of_home[n] + of_also[n] <= of_home[home] + of_also[home])
            right += t.on[n];
    printf("border of threads %d and %d, nodes %d and %d: %zu of %zu at home;", tid, other, home, also, right, seen);
    print_tally(&t);
    v->right += right;
    v->seen += seen;
    v->all_seen = v->all_seen && seen;
}

static bool split(int pid, uintptr_t start, size_t bytes, size_t unit, int threads) {
    int tids[1024], found = threads_of(pid, tids, 1024);
    size_t units = bytes / unit, each = units / (size_t)threads, more = units % (size_t)threads, from = 0;
    struct verdict v = {0, 0, true};
    if (found < threads) {
        printf("only %d threads\n", found);
        return false;
    }
    for (int t = 0; t < threads; t++) {
        size_t to = from + each + ((size_t)t < more);
        size_t first = from, last = to;
        if (shared_borders && t > 0)
            judge_border(&v, pid, start + first++ * unit, unit, tids[t], tids[t - 1]);
        if (shared_borders && t + 1 < threads && last - first > 1)
            judge_border(&v, pid, start + --last * unit, unit, tids[t], tids[t + 1]);
        judge(&v, pid, "part", start + first * unit, (last - first) * unit, tids[t]);
        from = to;
    }
    return conclude(&v);
}

static bool avoid(int pid, int node, const char *path) {
    struct region *list;
    size_t n = read_regions(path, &list);
    struct verdict v = {0, 0, true};
    for (size_t i = 0; i < n; i++) {
        struct tally t = ask(pid, list[i].start, list[i].bytes);
        size_t seen = present(&t);
        printf("%s:", list[i].name);
        print_tally(&t);
        v.right += seen - t.on[node];
        v.seen += seen;
        v.all_seen = v.all_seen && seen;
    }
    free(list);
    return conclude(&v);
}

/* ---- the witness of the witness -------------------------------------------------------------------------------- */

/* Counts "N<node>=<pages>" of one line of numa_maps. */
static struct tally said_by(const char *line) {
    struct tally t = {{0}, 0};
    for (const char *at = line; (at = strstr(at, " N")); at++) {
        int node;
        size_t pages;
        if (sscanf(at, " N%d=%zu", &node, &pages) == 2 && node >= 0 && node < NODES_MAX)
            t.on[node] = pages;
    }
    return t;
}

static size_t bytes_mapped_at(int pid, uintptr_t start) {
    char path[64], line[4096];
    uintptr_t from, to;
    size_t bytes = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2 && from == start)
            bytes = to - from;
    if (f)
        fclose(f);
    return bytes;
}

/* Compares private anonymous mappings; of files, numa_maps counts in other ways. */
static bool maps(int pid) {
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/%d/numa_maps", pid);
    FILE *f = fopen(path, "re");
    size_t pages = 0, different = 0;
    if (!f)
        die(path);
    while (fgets(line, sizeof line, f)) {
        uintptr_t start = strtoul(line, NULL, 16);
        if (!strstr(line, " anon=") || strstr(line, " file="))
            continue;
        struct tally said = said_by(line), asked = ask(pid, start, bytes_mapped_at(pid, start));
        pages += present(&said);
        for (int n = 0; n < NODES_MAX; n++)
            if (said.on[n] != asked.on[n]) {
                different++;
                printf("%" PRIxPTR " node %d: numa_maps %zu, move_pages %zu\n", start, n, said.on[n], asked.on[n]);
            }
    }
    fclose(f);
    printf("%zu pages in numa_maps, %zu counts differ\n", pages, different);
    return pages && !different;
}

static bool answer(int argc, char **argv) {
    const char *what = argv[0];
    int pid = argc > 1 ? (int)number(argv[1], USAGE) : 0;
    if (argc == 4 && !strcmp(what, "count")) {
        struct tally t = ask(pid, number(argv[2], USAGE), number(argv[3], USAGE));
        print_tally(&t);
        return present(&t);
    }
    if (argc == 3 && !strcmp(what, "regions"))
        return regions(pid, argv[2]);
    if (argc == 4 && !strcmp(what, "avoid"))
        return avoid(pid, (int)(number(argv[2], USAGE) % NODES_MAX), argv[3]);
    if (argc == 6 && !strcmp(what, "split")) {
        size_t unit = number(argv[4], USAGE), threads = number(argv[5], USAGE);
        if (!unit || !threads || threads > 1024)
            misuse(USAGE);
        return split(pid, number(argv[2], USAGE), number(argv[3], USAGE), unit, (int)threads);
    }
    if (argc == 2 && !strcmp(what, "maps"))
        return maps(pid);
    misuse(USAGE);
}

int main(int argc, char **argv) {
    double wait = 0;
    for (int option; (option = getopt(argc, argv, "+w:l:b")) != -1;) {
        if (option == 'w')
            wait = (double)number(optarg, USAGE);
        else if (option == 'l')
            least_percent = (double)number(optarg, USAGE);
        else if (option == 'b')
            shared_borders = true;
        else
            misuse(USAGE);
    }
    if (optind >= argc)
        misuse(USAGE);
    double deadline = seconds_now() + wait;
    bool yes;
    while (!(yes = answer(argc - optind, argv + optind)) && seconds_now() < deadline)
        usleep(250000);
    return yes ? 0 : 1;
}
