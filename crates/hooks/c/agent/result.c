/* What came of a plan, one line an item, appended to a file when the process ends. */
#include <fcntl.h>
#include <stdlib.h>

#include "os.h"
#include "plan.h"

struct writer {
    long fd;
    uint32_t used;
    char text[8192];
};

static void flush(struct writer *w) {
    for (uint32_t at = 0; at < w->used;) {
        long n = os(SYS_write, w->fd, w->text + at, w->used - at);
        if (n <= 0)
            break;
        at += (uint32_t)n;
    }
    w->used = 0;
}

static void put(struct writer *w, const char *text) {
    for (; *text; text++) {
        if (w->used == sizeof w->text)
            flush(w);
        w->text[w->used++] = *text;
    }
}

static void put_number(struct writer *w, uint64_t n) {
    char digits[24], *d = digits + sizeof digits;
    *--d = 0;
    do
        *--d = (char)('0' + n % 10);
    while (n /= 10);
    put(w, " ");
    put(w, d);
}

static void put_item(struct writer *w, const struct hnag_item *item) {
    static const char *const why[] = {[OUT_UNSEEN] = " not-seen", [OUT_SIZE] = " another-size-or-build",
                                      [OUT_RANGE] = " outside-the-module"};
    const struct hnag_progress *state = hnag_progress_of(item);
    switch (state->outcome) {
    case OUT_MATCHED: put(w, state->came ? "scaled" : "matched"); break;
    case OUT_FAILED: put(w, "failed"); break;
    default: put(w, "unmatched"); break;
    }
    put_number(w, item->line);
    if (state->outcome == OUT_MATCHED || state->outcome == OUT_FAILED) {
        put_number(w, state->times);
        put_number(w, state->placed);
    } else {
        put(w, why[state->outcome]);
    }
    if (state->outcome == OUT_MATCHED && state->came)
        put_number(w, state->came);
    if (state->outcome == OUT_FAILED)
        put_number(w, state->error);
    put(w, "\n");
}

static bool anything_happened(void) {
    for (uint32_t i = 0; i < hnag_plan.count; i++)
        if (hnag_plan.progress[i].outcome >= OUT_MATCHED)
            return true;
    return false;
}

static void write_all(struct writer *w) {
    put(w, "homenode-agent-result 1\nprocess");
    put_number(w, hnrt_pid);
    put(w, "\n");
    for (uint32_t i = 0; i < hnag_plan.count; i++)
        put_item(w, &hnag_plan.items[i]);
    put(w, "calls");
    put_number(w, hnag_counts.calls);
    put(w, "\nbytes");
    put_number(w, hnag_counts.bytes);
    put(w, "\nerrors");
    put_number(w, hnag_counts.errors);
    put(w, "\nrefused");
    put_number(w, hnag_counts.refused);
    put(w, "\nend\n");
    flush(w);
}

static struct writer w;

/* Several processes may append; each holds the file's lock meanwhile. */
static void append(void (*write)(struct writer *)) {
    const char *path = getenv("HOMENODE_AGENT_RESULT");
    if (!path || !*path)
        return;
    w.fd = os(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
    if (os_failed(w.fd))
        return hnrt_complain("HOMENODE_AGENT_RESULT names a file that cannot be written");
    os(SYS_flock, w.fd, 2 /* LOCK_EX */);
    write(&w);
    os(SYS_close, w.fd);
}

/* Once a process. */
void hnag_result_write(void) {
    static uint32_t written_by;
    if (!hnag_planning || !(hnag_plan.meant || anything_happened()))
        return;
    if (__atomic_exchange_n(&written_by, hnrt_pid, __ATOMIC_ACQ_REL) != hnrt_pid)
        append(write_all);
}

static void write_beside(struct writer *to) {
    put(to, "homenode-agent-result 1\nprocess");
    put_number(to, hnrt_pid);
    put(to, "\nbeside\nend\n");
    flush(to);
}

/* Another process of the program, alive now, has the plan. */
void hnag_result_beside(void) {
    append(write_beside);
}

/* A forked child reports what happens in it, not what its parent did. */
void hnag_result_forget(void) {
    hnag_plan.meant = false;
    hnag_counts = (struct hnag_counts){0};
    for (uint32_t i = 0; i < hnag_plan.count; i++)
        hnag_plan.progress[i] = (struct hnag_progress){0};
}
