/* What another user of the machine does. Runs as that user, for check_users.py.
 *
 *   attacker swap DATASET SAVED TARGET   until killed: puts links to TARGET's files, FIFOs, hard links, files with 8 GiB of holes and good
 *                                        copies (from SAVED) in the place of the files of a dataset, and a link in that of its directory
 *   attacker links FIRST COUNT TARGET PATTERN...   makes each name that PATTERN gives for the next COUNT process numbers a link to TARGET
 *   attacker open SECONDS PATH...        tries for so long to open, replace and remove PATHs and all below them; fails if it can
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const files[] = {"manifest.json", "events.bin", "symbols.json", "threads/0.frames", "threads/1.frames"};
enum { FILES = sizeof files / sizeof *files };

static void join(char out[PATH_MAX], const char *folder, const char *name) {
    if (snprintf(out, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
        exit(2);
}

static void copy(const char *from, const char *to) {
    static char bytes[1 << 20];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0644);
    for (ssize_t n; in >= 0 && out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0;)
        if (write(out, bytes, (size_t)n) != n)
            break;
    close(in);
    close(out);
}

/* Makes something at `part` and lets it take the place of the file. */
static void swap_file(const char *dataset, const char *saved, const char *target, const char *name) {
    char at[PATH_MAX], part[PATH_MAX], good[PATH_MAX], bad[PATH_MAX];
    join(at, dataset, name);
    join(part, saved, "part");
    join(good, saved, name);
    join(bad, target, name);
    unlink(part);
    switch (rand() % 12) {
    case 0: (void)!symlink(bad, part); break;
    case 1: mkfifo(part, 0666); break;
    case 2: (void)!link(bad, part); break; /* mostly forbidden by the kernel */
    case 3:
        close(open(part, O_WRONLY | O_CREAT, 0644));
        (void)!truncate(part, (off_t)8 << 30);
        break;
    default: copy(good, part);
    }
    rename(part, at);
}

/* Puts a link to TARGET in the place of a directory that is being written beside the dataset. */
static void swap_beside(const char *dataset, const char *target) {
    char folder[PATH_MAX], at[PATH_MAX], away[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", dataset);
    *strrchr(folder, '/') = 0;
    DIR *open_folder = opendir(folder);
    for (struct dirent *e; open_folder && (e = readdir(open_folder));) {
        if (!strstr(e->d_name, ".compacting-") && !strstr(e->d_name, ".recording-"))
            continue;
        join(at, folder, e->d_name);
        snprintf(away, sizeof away, "%s.away-%d", dataset, rand());
        if (rename(at, away) == 0)
            (void)!symlink(target, at);
    }
    if (open_folder)
        closedir(open_folder);
}

static void swap_forever(const char *dataset, const char *saved, const char *target) {
    char threads[PATH_MAX], link_name[PATH_MAX], bad[PATH_MAX];
    join(threads, dataset, "threads");
    join(link_name, saved, "link");
    join(bad, target, "threads");
    (void)!symlink(bad, link_name);
    for (;;) {
        swap_file(dataset, saved, target, files[rand() % FILES]);
        for (int i = rand() % 500; i > 0; i--)
            swap_beside(dataset, target);
        renameat2(AT_FDCWD, threads, AT_FDCWD, link_name, RENAME_EXCHANGE);
        usleep((unsigned)(rand() % 300));
        renameat2(AT_FDCWD, threads, AT_FDCWD, link_name, RENAME_EXCHANGE);
    }
}

static void make_links(int first, int count, const char *target, char **patterns) {
    for (; *patterns; patterns++) {
        const char *at = strstr(*patterns, "PID");
        if (!at)
            exit(2);
        for (int pid = first; pid < first + count; pid++) {
            char name[PATH_MAX];
            snprintf(name, sizeof name, "%.*s%d%s", (int)(at - *patterns), *patterns, pid, at + 3);
            (void)!symlink(target, name);
        }
    }
}

static void done_to(const char *what, const char *path) {
    printf("%s %s\n", what, path);
    exit(1);
}

/* Whatever can be done to a path, and to all in it that can be seen. */
static void try_path(const char *path, int depth) {
    char mine[PATH_MAX];
    if (open(path, O_WRONLY | O_NONBLOCK) >= 0)
        done_to("wrote to", path);
    if (strstr(path, "/dev/shm") && open(path, O_RDONLY | O_NONBLOCK) >= 0)
        done_to("read", path);
    if (truncate(path, 0) == 0)
        done_to("truncated", path);
    if (unlink(path) == 0)
        done_to("removed", path);
    snprintf(mine, sizeof mine, "%s.mine", path);
    if (rename(path, mine) == 0)
        done_to("renamed", path);
    DIR *folder = depth ? opendir(path) : NULL;
    for (struct dirent *e; folder && (e = readdir(folder));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        join(mine, path, e->d_name);
        try_path(mine, depth - 1);
    }
    if (folder)
        closedir(folder);
}

static void try_process(const char *pid) {
    char path[PATH_MAX];
    if (ptrace(PTRACE_SEIZE, atoi(pid), NULL, NULL) == 0)
        done_to("traced", pid);
    snprintf(path, sizeof path, "/proc/%s/mem", pid);
    if (open(path, O_RDWR) >= 0)
        done_to("opened", path);
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    if (opendir(path))
        done_to("looked into", path);
}

static void try_all(double seconds, char **paths) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (char **p = paths; *p; p++)
            (**p == '/') ? try_path(*p, 3) : try_process(*p);
        DIR *memory = opendir("/dev/shm");
        for (struct dirent *e; memory && (e = readdir(memory));) {
            char path[PATH_MAX];
            join(path, "/dev/shm", e->d_name);
            if (!strncmp(e->d_name, "homenode-", 9))
                try_path(path, 1);
        }
        if (memory)
            closedir(memory);
        usleep(2000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < seconds);
    puts("nothing could be done");
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[1], "swap"))
        swap_forever(argv[2], argv[3], argv[4]);
    else if (argc > 5 && !strcmp(argv[1], "links"))
        make_links(atoi(argv[2]), atoi(argv[3]), argv[4], argv + 5);
    else if (argc > 3 && !strcmp(argv[1], "open"))
        try_all(atof(argv[2]), argv + 3);
    else
        return 2;
    return 0;
}
