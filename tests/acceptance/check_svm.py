"""`homenode svm run` from outside: programs of the repository on nodes, statuses, mistakes."""
import schema
from check_bad_input import source
from harness import ROOT, check, expect, one_line

STATIC = "int main(void) { return 0; }"


@check
def programs_verify_on_nodes(session):
    """LU and water on 4 nodes, on the lowest and the highest step; the document counts interrupts on the lowest alone."""
    built = session.build("gcc", only="lu water", hooks=False)
    for name in ("lu", "water"):
        for protocol in ("base", "genima"):
            document = session.json("svm", "run", "-n", "4", "--protocol", protocol, "--json", "--", built / name, "-p", "4")
            expect(document["exit_status"] == 0 and len(document["nodes"]) == 4, f"{name}, {protocol}: four nodes, verified")
            pages = sum(c["times"] for n in document["nodes"] for c in n["interrupts"] if c["what"] in ("page", "lock", "diff"))
            expect((pages > 0) == (protocol == "base"), f"{name}, {protocol}: {pages} interrupts")
            print(f"  {name}, {protocol}: {document['seconds']:.2f} s, {pages} interrupts")


@check
def programs_verify_over_sockets(session):
    """LU and water on nodes with only sockets between them, which the list of transports has."""
    built = session.build("gcc", only="lu water", hooks=False)
    listed = session.run("list", "svm-transports").stdout
    expect("tcp" in listed and "shm" in listed, listed)
    for name, nodes in (("lu", 2), ("water", 4)):
        document = session.json("svm", "run", "-n", nodes, "--transport", "tcp", "--json", "--", built / name, "-p", nodes)
        expect(document["exit_status"] == 0 and len(document["nodes"]) == nodes, f"{name}: {nodes} nodes, verified")
        expect(document["transport"] == "tcp", document["transport"])
        print(f"  {name}, {nodes} nodes: {document['seconds']:.2f} s")


@check
def statuses_and_mistakes(session):
    """The program's status is the command's; wrong sizes are usage, a program that cannot be a node is one line."""
    lu = session.build("gcc", only="lu water", hooks=False) / "lu"
    session.run("-q", "svm", "run", "-n", "2", "--", lu, "-p", "3", status=1)
    session.run("-q", "svm", "run", "-n", "2", "--", "sh", "-c", "exit 7", status=7)
    for words in (["-n", "0"], ["-n", "65"], ["-n", "2", "--page", "5000"], ["-n", "2", "--protocol", "mesi"], ["-n", "2", "--transport", "ether"]):
        one_line(session.run("svm", "run", *words, "--", lu, status=2))
    static = source(session, "static", STATIC, hooks=False, flags=["-static"])
    said = one_line(session.run("svm", "run", "-n", "2", "--", static, status=1))
    expect("linked statically" in said, said)


MACHINE = """name = "2-nodes"
unit = "ns"
word_bytes = 8
page_bytes = 4096
cores = [1, 1]
[read]
near = 100
far = 1000
[write]
near = 100
far = 1000
[copy]
fixed = 20000
per_word = 1
"""
# Thread 0 fills the data in, and then each thread changes its own half, ten times.
HALVES = """
#include "hn_workload.h"
#define WORDS (64 * 512)
static uint64_t *data;
static hn_barrier barrier;
static void work(unsigned thread, unsigned threads, void *unused) {
    (void)threads, (void)unused;
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned w = 0; w < WORDS; w++)
            data[thread * WORDS + w] += w;
        hn_barrier_wait(&barrier);
    }
}
int main(void) {
    data = hn_shared_alloc("data", 2 * WORDS * sizeof *data);
    memset(data, 1, 2 * WORDS * sizeof *data);
    hn_barrier_init(&barrier, 2);
    hn_run(2, work, NULL);
    return 0;
}
"""


@check
def homes_by_a_plan(session):
    """A recording with threads, its plan, and nodes whose pages live as it says: 640 diffs of what each changes elsewhere become 64, when
    what was filled in goes home. The same by the very program that records itself; other clusters and programs are refused."""
    folder = session.path("svm-homes")
    folder.mkdir()
    (folder / "2-nodes.toml").write_text(MACHINE)
    flags = ["-g", "-pthread", "-I", ROOT / "workloads"]
    recorded = source(session, "halves", HALVES, hooks=True, flags=flags).rename(folder / "recorded")
    plain = source(session, "halves", HALVES, hooks=False, flags=flags)
    session.run("record", "-o", folder / "x.hnt", "--", recorded)
    plan = folder / "plan.json"
    session.run("place", folder / "x.hnt", "--machine", folder / "2-nodes.toml", "-o", plan)

    def diffs(program, *words):
        document = session.json("svm", "run", "-n", "2", *words, "--json", "--", program)
        expect(document["exit_status"] == 0, f"{words}: {document['exit_status']}")
        expect(not schema.problems(document), str(schema.problems(document)[:3]))
        return sum(c["times"] for n in document["nodes"] for c in n["counts"] if c["what"] == "diffs"), document

    for program in (plain, recorded):
        by_touch, _ = diffs(program)
        by_plan, document = diffs(program, "--homes", plan)
        print(f"  {program.name}: {by_touch} diffs by first touch, {by_plan} by plan")
        expect((by_touch, by_plan) == (640, 64), f"{by_touch} and {by_plan} diffs")
        planned = document["planned"]
        expect(planned["met"] == 1 and planned["placed_pages"] == 128, str(planned))
    said = one_line(session.run("svm", "run", "-n", "3", "--homes", plan, "--", plain, status=3))
    expect("2 nodes (2-nodes), and the run has 3" in said, said)
    lu = session.build("gcc", only="lu water", hooks=False) / "lu"
    # Both have the threads of hn_workload.h, and nothing else.
    said = session.run("svm", "run", "-n", "2", "--homes", plan, "--", lu, "-p", "2").stderr
    expect("nothing of the plan was found" in said and "halves.c:15 is no code of this program" in said, said)
    other = source(session, "shares_nothing", STATIC, hooks=False, flags=["-g"])
    said = one_line(session.run("svm", "run", "-n", "2", "--homes", plan, "--", other, status=3))
    expect("another program" in said, said)
    plan.write_text(plan.read_text()[:999])
    one_line(session.run("svm", "run", "-n", "2", "--homes", plan, "--", plain, status=3))
    one_line(session.run("svm", "run", "-n", "2", "--homes", folder / "none.json", "--", plain, status=2))


@check
def where_the_time_went(session):
    """A run kept, reported on, and compared with one on another step; what is no such document is one line."""
    lu = session.build("gcc", only="lu water", hooks=False) / "lu"
    folder = session.path("svm-report")
    folder.mkdir()
    for step in ("base", "genima"):
        session.run("-q", "svm", "run", "-n", "2", "--protocol", step, "-o", folder / step, "--", lu, "-p", "2")
    one_line(session.run("svm", "run", "-n", "2", "-o", folder / "base", "--", lu, "-p", "2", status=2))
    said = session.json("svm", "report", "--json", folder / "base", "--compare", folder / "genima")
    phases = {p["name"] for p in said["run"]["phases"]}
    expect({"initialise", "factor", "verify"} <= phases, f"phases {phases}")
    expect(any("lu.c:" in o["site"] for o in said["run"]["objects"]), f"objects {said['run']['objects']}")
    pages = sum(sum(o["traffic"]["fetches"]) for o in said["run"]["objects"])
    counted = sum(c["times"] for n in said["run"]["nodes"] for c in n["counts"] if c["what"] == "pages fetched")
    expect(0 < pages == counted, f"{pages} fetches by object, {counted} by node")
    text = session.run("svm", "report", folder / "base", "--compare", folder / "genima")
    expect("beside it:" in text.stdout and "lu.c:" in text.stdout, text.stdout)
    homes = folder / "homes.json"
    said = session.run("svm", "report", folder / "genima", "--plan", homes).stdout
    expect("lives there already" in said or "move to the node" in said, said)
    document = session.json("svm", "run", "-n", "2", "--homes", homes, "--json", "--", lu, "-p", "2")
    expect(document["exit_status"] == 0 and document["planned"]["met"] == document["planned"]["objects"] > 0, str(document["planned"]))
    one_line(session.run("svm", "report", folder / "genima", "--plan", homes, status=2))
    (folder / "half").write_bytes((folder / "base").read_bytes()[:1000])
    one_line(session.run("svm", "report", folder / "half", status=3))
    one_line(session.run("svm", "report", folder / "none", status=1))
