"""`report --quick`: a first answer beside the whole one."""
import perf_file
from check_bad_input import source
from harness import check, expect, tail

# Threads of the second node use half of the pages, which the first thread wrote unless each thread writes its own.
PARTS = """
#include <pthread.h>
#include <stdlib.h>
enum { THREADS = 4, PAGES = 2048, WORDS = 512, ROUNDS = 4 };
static volatile long *data;
static void touch(long me) { for (long i = 0; i < PAGES * WORDS; i += 8) data[me * PAGES * WORDS + i] = i; }
static void *work(void *argument) {
    long me = (long)argument, sum = 0;
    if (OWN) touch(me);
    for (int round = 0; round < ROUNDS; round++)
        for (long i = 0; i < PAGES * WORDS; i += 8) sum += data[me * PAGES * WORDS + i];
    return (void *)sum;
}
int main(void) {
    pthread_t all[THREADS];
    data = aligned_alloc(4096, THREADS * PAGES * WORDS * sizeof *data);
    for (long me = 0; me < THREADS && !OWN; me++) touch(me);
    for (long t = 0; t < THREADS; t++) pthread_create(&all[t], NULL, work, (void *)t);
    for (long t = 0; t < THREADS; t++) pthread_join(all[t], NULL);
    return 0;
}
"""
WORKLOADS = {"lu": ("-n", "256", "-p", "4"), "radix": ("-n", "262144", "-p", "4"), "sor": ("-n", "514", "-i", "3", "-p", "4"),
             "stencil": ("-n", "512", "-i", "2", "-p", "4"), "kv": ("-p", "4",)}


def held(quick, whole):
    """Of the intervals of a first answer, whether each holds what the whole one says."""
    evaluation = whole["evaluations"][0]
    base = next(p["total"] for p in evaluation["policies"] if p["name"] == "first-touch")
    inside = lambda value, i: i["low"] - 1e-9 * value <= value <= (i["high"] if i["high"] is not None else value) + 1e-9 * value
    for said, true in ((quick["policies"], evaluation["policies"]), (quick["optimum"], evaluation["optimum"])):
        expect([r["name"] for r in said] == [r["name"] for r in true], "the same rows")
        for row, truth in zip(said, true):
            yield inside(truth["total"], row["total"])
            yield inside(truth["total"] / base, row["ratio"])
    costs = {}
    for o in evaluation["objects"]:
        costs[o["name"]] = costs.get(o["name"], 0) + o["cost"]
    for o in quick["objects"]:
        yield inside(costs.get(o["name"], 0) / base, o["share"])


@check
def ranges_hold_the_whole_answer(session):
    """Five programs: most ranges hold what the whole report says, and no verdict is against it."""
    built, all_held = session.build("gcc"), []
    for name, arguments in WORKLOADS.items():
        dataset = session.record(built / name, *arguments)[0]
        quick, whole = session.json("report", dataset, "--quick", "--json"), session.report(dataset)
        results = list(held(quick, whole))
        evaluation = whole["evaluations"][0]
        base = next(p["total"] for p in evaluation["policies"] if p["name"] == "first-touch")
        saving = 1 - evaluation["optimum"][0]["total"] / base
        print(f"  {name}: {sum(results)} of {len(results)} ranges hold; {quick['verdict']}, the best saves {100 * saving:.1f} %; "
              f"{100 * quick['replayed'] / quick['refs']:.0f} % of {quick['refs']:,} references replayed")
        right = {"worth": saving >= 0.05, "little": saving < 0.05, "cannot-tell": True}
        expect(right[quick["verdict"]], f"{name}: {quick['sentence']}")
        all_held += results
    # Those of a recording stand and fall together, as they are of one sample: nineteen in twenty is what many recordings have.
    expect(sum(all_held) >= 0.75 * len(all_held), f"{sum(all_held)} of {len(all_held)}")


@check
def verdicts_of_a_program_and_its_clean_twin(session):
    """Half of all pages at the wrong node, and none: said of each without the whole report."""
    for own, verdict, words in ((0, "worth", "Placement matters: "), (1, "little", "Placement matters little")):
        program = source(session, f"quick-{own}", PARTS, flags=(f"-DOWN={own}",))
        dataset = session.record(program)[0]
        document = session.json("report", dataset, "--quick", "--json")
        text = session.run("report", dataset, "--quick", "-q").stdout
        print(f"  {document['sentence']}")
        expect(document["verdict"] == verdict and words in text.replace("\n  ", " "), document["sentence"])
        best = document["optimum"][0]["ratio"]
        expect(own == 1 or best["high"] - best["low"] < 0.1, f"{best}")


def judge(changes, findings, text, apart, width):
    """The one change is the one finding, its range holds what that saves, but for so much, and is no wider than that."""
    (change,), (finding,) = changes, findings
    print(f"  {change['advice']} {change['saving']}, {finding['saving_share']:.4f}")
    same = all(change[member] == finding[member] for member in ("kind", "object", "places", "advice"))
    saving = change["saving"]
    expect(same and saving["low"] - apart <= finding["saving_share"] <= saving["high"] + apart, f"{change} {finding}")
    expect(saving["high"] - saving["low"] < width and "Change: saves " in text, text)


@check
def changes_of_a_program_and_its_clean_twin(session):
    """Who should initialise the pages, with a range that holds what the whole report says; and nothing to change."""
    for own in (0, 1):
        program = source(session, f"quick-{own}", PARTS, flags=(f"-DOWN={own}",))
        dataset = session.record(program)[0]
        changes = session.json("report", dataset, "--quick", "--changes", "--json")["changes"]
        text = session.run("report", dataset, "--quick", "--changes", "-q").stdout.replace("\n  ", " ")
        whole = session.report(dataset)["evaluations"][0]["findings"]
        expect(len(changes) == len(whole) == 1 - own, f"{changes} {whole}")
        if own:
            expect("Changes: none of who initialises, keeps or copies an object was found" in text, text)
            continue
        judge(changes, whole, text, 1e-9, 0.1)


@check
def what_it_cannot_answer(session):
    """Samples, blocks that fill a cache, and options of the whole report: one line that says so."""
    program = source(session, "quick-1", PARTS, flags=("-DOWN=1",))
    dataset = session.record(program)[0]
    sampled = session.path("quick/perf.data")
    sampled.parent.mkdir(parents=True, exist_ok=True)
    perf_file.write(sampled, program)
    session.run("import", sampled, "-o", sampled.parent / "sampled.hnt")
    session.run("report", dataset, "--changes", "-q", status=2)
    for words, part in (((sampled.parent / "sampled.hnt",), "of samples"), ((dataset, "--block", "2097152"), "in parts"),
                        ((dataset, "--block", "4096,8192"), "one --block"), ((dataset, "-o", session.path("quick/x.html")), "cannot be used"),
                        ((dataset, "--compare", dataset), "cannot be used"), ((dataset, "--charge-spins"), "cannot be used")):
        done = session.run("report", *words, "--quick", "-q", status=2)
        expect(part in done.stderr and not done.stdout, tail(done.stderr))
