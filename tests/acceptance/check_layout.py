"""Layouts of data for page coherence: programs in two versions, as they were written first and as the report advises."""
import csv

from check_bad_input import source
from harness import check, expect

COMMON = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { THREADS = 8, ROUNDS = 2000, PAGE = 4096 };
#ifndef APART
#define APART 0
#endif
static void work(long me);
static void *begin(void *me) { work((long)me); return NULL; }
static int go(void) {
    pthread_t all[THREADS];
    for (long t = 0; t < THREADS; t++) pthread_create(&all[t], NULL, begin, (void *)t);
    for (long t = 0; t < THREADS; t++) pthread_join(all[t], NULL);
    return 0;
}
"""
# A counter a thread, in one page.
COUNTERS = COMMON + """
static _Alignas(PAGE) struct counter { volatile long n;
#if APART
    char rest[PAGE - sizeof(long)];
#endif
} counts[THREADS];
static void work(long me) { for (long i = 0; i < 4 * ROUNDS; i++) counts[me].n += i; }
int main(void) { return go(); }
"""
# Two fields that one thread uses, beside one that all do.
FIELDS = COMMON + """
#if APART
static _Alignas(PAGE) struct own { volatile long hits, bytes; char rest[PAGE - 2 * sizeof(long)]; } own[THREADS];
static _Alignas(PAGE) struct account { volatile long total; char rest[PAGE / THREADS - sizeof(long)]; } accounts[THREADS];
#else
static _Alignas(PAGE) struct account { volatile long hits, bytes, total; } accounts[THREADS];
#define own accounts
#endif
static void work(long me) {
    for (long i = 0; i < ROUNDS; i++) {
        own[me].hits++;
        own[me].bytes += i;
        if (i % 16 == 0) __atomic_fetch_add(&accounts[(i / 16 + me) % THREADS].total, 1, __ATOMIC_RELAXED);
    }
}
int main(void) { return go(); }
"""
# Sums dealt out in turn.
SUMS = COMMON + """
enum { PARTS = 128 };
#if APART
static _Alignas(PAGE) volatile double sums[THREADS][PAGE / sizeof(double)];
#define SUM(me, i) sums[me][i]
#else
static _Alignas(PAGE) volatile double sums[PARTS * THREADS];
#define SUM(me, i) sums[(i) * THREADS + (me)]
#endif
static void work(long me) {
    for (long r = 0; r < ROUNDS / 64; r++)
        for (long i = 0; i < PARTS; i++) SUM(me, i) += r * i;
}
int main(void) { return go(); }
"""
# Settings that all read, beside a ticket that all draw.
SETTINGS = COMMON + """
struct settings { volatile long limit, scale[7]; };
#if APART
static _Alignas(PAGE) struct settings settings;
static _Alignas(PAGE) struct { volatile long ticket; char rest[PAGE - sizeof(long)]; } state;
#else
static _Alignas(PAGE) struct { volatile long limit, scale[7], ticket; } state;
#define settings state
#endif
static _Alignas(PAGE) volatile long sink[THREADS][PAGE / sizeof(long)];
static void work(long me) {
    long sum = 0;
    for (long i = 0; i < ROUNDS; i++) {
        sum += settings.limit + settings.scale[i % 7] * i;
        if (i % 8 == 0) __atomic_fetch_add(&state.ticket, 1, __ATOMIC_RELAXED);
    }
    sink[me][0] = sum;
}
int main(int n, char **v) { (void)v; settings.limit = n; for (int i = 0; i < 7; i++) settings.scale[i] = i; return go(); }
"""
# Memory without a type: a place a thread.
UNTYPED = COMMON + """
enum { APART_BYTES = APART ? PAGE : 16 };
static void *pool;
#define MINE(me) (*(volatile int *)((char *)pool + (me) * APART_BYTES))
static void work(long me) { for (long i = 0; i < 4 * ROUNDS; i++) MINE(me) += i; }
int main(void) { pool = aligned_alloc(PAGE, PAGE * (APART ? THREADS : 1)); return go(); }
"""
# Nothing to do: rows of the threads' own, a table that is read, a ticket, each on pages of its own.
CLEAN = COMMON + """
static _Alignas(PAGE) volatile long rows[THREADS][PAGE / sizeof(long)];
static _Alignas(PAGE) volatile long table[PAGE / sizeof(long)];
static _Alignas(PAGE) struct { volatile long n; char rest[PAGE - sizeof(long)]; } ticket;
static void work(long me) {
    for (long i = 0; i < ROUNDS; i++) {
        rows[me][i % 100] += table[i % 64];
        if (i % 16 == 0) __atomic_fetch_add(&ticket.n, 1, __ATOMIC_RELAXED);
    }
}
int main(int n, char **v) { (void)v; table[0] = n; return go(); }
"""
# Words that would be apart on pages of their own, but are hardly used: the pages would cost more than they save.
LOSS = COMMON + """
static _Alignas(PAGE) struct { volatile long own, all; } items[THREADS];
static volatile _Alignas(PAGE) long sink[THREADS][PAGE / sizeof(long)];
static void work(long me) {
    long sum = 0;
    for (long i = 0; i < ROUNDS; i++) {
        sum += items[i % THREADS].all;
        if (i % 500 == 0) items[me].own += i;
    }
    sink[me][0] = sum;
}
int main(int n, char **v) { (void)v; for (int t = 0; t < THREADS; t++) items[t].all = n; return go(); }
"""
# Program, and what is advised: kind, object, fields.
PAIRS = {
    "counters": (COUNTERS, [("pad", "counts", [])]),
    "fields": (FIELDS, [("separate", "accounts", ["[].bytes", "[].hits"])]),
    "sums": (SUMS, [("separate", "sums", ["[]"])]),
    "settings": (SETTINGS, [("group", "state", [".limit", ".scale[]"])]),
    "untyped": (UNTYPED, [("pad", "pool", [])]),
}
PAGES = (256, 1024, 4096)


def recorded(session, name, text, apart):
    """Dataset of one version."""
    program = source(session, f"{name}{apart}", f"#define APART {apart}\n{text}")
    return session.record(program)[0]


def costs(session, dataset, *more):
    """Costs by page size and protocol; of realigned references with True."""
    folder = session.path("sweep/layout.sweep")
    session.run("sweep", dataset, "--protocols", "all", "--machines", "markatos", "--blocks", ",".join(map(str, PAGES)),
                "--csv", "-o", folder, *more)
    with open(folder / "results.csv", newline="") as file:
        rows = [r for r in csv.DictReader(file) if not r["what"].startswith("optimum")]
    return {(int(r["block_bytes"]), r["what"], bool(r["realigned"])): int(r["cost"]) for r in rows}


@check
def layouts_gain_what_they_are_said_to(session):
    """Five pairs of programs: the gain that is predicted from the first version is that of the second within a tenth."""
    for name, (text, advised) in PAIRS.items():
        first, second = (recorded(session, name, text, apart) for apart in (0, 1))
        before, after = costs(session, first, "--realign", "field"), costs(session, second)
        for (page, protocol, realigned), cost in sorted(before.items()):
            if realigned:
                continue
            predicted, real = before[page, protocol, True], after[page, protocol, False]
            print(f"  {name:9} {page:5} {protocol:14} {cost:12} before, predicted {predicted:9}, recorded {real:9}")
            gain, came = cost - predicted, cost - real
            expect(came > 0, f"{name}: {protocol} at {page}: the second version is no better")
            expect(abs(gain - came) <= 0.1 * came, f"{name}: {protocol} at {page}: gain {gain} predicted, {came} came")
        layout = session.json("report", first, "--machine", "markatos", "--json")["layout"]
        found = [(c["kind"], c["object"].split()[0], c["fields"]) for c in layout["changes"]]
        print(f"  {name}: {layout['sentence']}")
        for change in layout["changes"]:
            print(f"    {change['advice']}")
        expect(layout["verdict"] == "advice" and found == advised, f"{name}: {layout['verdict']}, {found}")
        again = session.json("report", second, "--machine", "markatos", "--json")["layout"]
        expect(again["verdict"] != "advice" and not again["changes"], f"{name}, repaired: {again['sentence']}")


@check
def nothing_is_advised_where_nothing_helps(session):
    """A program whose data lies as it should, one whose cure would cost more, and machines without protocols."""
    dataset = recorded(session, "loss", LOSS, 0)
    layout = session.json("report", dataset, "--machine", "markatos", "--json")["layout"]
    print(f"  {layout['sentence']}")
    expect(layout["verdict"] == "no-gain" and not layout["changes"], layout["sentence"])
    both = costs(session, dataset, "--realign", "field")
    expect(both[4096, "upt", True] > both[4096, "upt", False], "moving it would cost more")
    dataset = recorded(session, "clean", CLEAN, 0)
    layout = session.json("report", dataset, "--machine", "markatos", "--json")["layout"]
    print(f"  {layout['sentence']}")
    expect(layout["verdict"] == "no-gain" and not layout["changes"], layout["sentence"])
    before = costs(session, dataset, "--realign", "field")
    moved = [key for key, cost in before.items() if key[2] and cost != before[key[0], key[1], False]]
    expect(not moved, f"nothing moves: {moved}")
    expect(session.json("report", dataset, "--json")["layout"] is None, "no machine with protocols")
