"""`homenode svm run` from outside: programs of the repository on nodes, statuses, mistakes."""
import collections
import contextlib
import csv
import os
import pathlib
import shutil
import subprocess

import schema
from check_bad_input import source
from check_workloads import result
from harness import ROOT, WORKLOADS, Skipped, check, expect, line_of, one_line

STATIC = "int main(void) { return 0; }"
PRIVATE = """
#include <homenode.h>
#include <stdlib.h>
double *table, *shared;
static void work(void *argument) { (void)argument; shared[1] = 2; }
int main(void) {
    table = calloc(10, sizeof *table);
    shared = homenode_shared_alloc(4096);
    homenode_create(work, NULL);
    homenode_join();
    return shared[1] + table[1] == 2 ? 0 : 1;
}
"""

# A barrier made of a mutex and a condition, as in many programs of the nineties; each word is read by another thread in the next round.
CONDITIONS = """
#include <pthread.h>
#define THREADS 4
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static unsigned here, rounds;
static long words[THREADS], wrong;
static void wait_for_all(void) {
    pthread_mutex_lock(&mutex);
    unsigned round = rounds;
    if (++here == THREADS)
        here = 0, rounds++, pthread_cond_broadcast(&all_here);
    while (round == rounds)
        pthread_cond_wait(&all_here, &mutex);
    pthread_mutex_unlock(&mutex);
}
static void *work(void *argument) {
    long me = (long)argument;
    for (long round = 1; round <= 20; round++) {
        words[me] = round;
        wait_for_all();
        __atomic_fetch_add(&wrong, words[(me + 1) % THREADS] != round, __ATOMIC_RELAXED);
        wait_for_all();
    }
    return NULL;
}
int main(void) {
    pthread_t threads[THREADS];
    for (long t = 1; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    work(NULL);
    for (long t = 1; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    return wrong != 0;
}
"""


@check
def conditions_in_virtual_time(session):
    """Threads that wait for a signal do not keep its mutex on a modelled cluster, where mutexes are granted anew."""
    dataset = session.record(source(session, "conditions", CONDITIONS))[0]
    document = session.json("sim", "cluster", dataset, "--nodes", "2x2", "--protocol", "base,genima", "--json")
    expect([r["protocol"] for r in document["rows"]] == ["base", "nil"], "both steps come to their end")
    for r in document["rows"]:
        expect(r["counts"]["locks_remote"] > 0 and r["recorded_objects"] == 0, f"{r['protocol']}: the mutex goes between nodes")


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


@check
def journals_replay(session):
    """What nodes noted, over both transports, is carried out again effect for effect; a byte that is changed is found, with status 1."""
    lu = session.build("gcc", only="lu water", hooks=False) / "lu"
    for transport, step in (("shm", "base"), ("shm", "nil"), ("tcp", "nil")):
        folder = session.path(f"journals-{transport}-{step}")
        session.run("-q", "svm", "run", "-n", "2", "--transport", transport, "--protocol", step, "--journal", folder, "--", lu, "-s", "XS", "-p", "2")
        document = session.json("svm", "replay", folder, "--json")
        expect(not schema.problems(document), str(schema.problems(document)[:3]))
        found = document["journals"]
        expect(len(found) == 2 and all(j["difference"] is None and j["compared"] > 5000 for j in found), str(found))
        print(f"  {transport}, {step}: " + "; ".join(f"{j['operations']} operations, {j['compared']} effects" for j in found))
    one_line(session.run("svm", "run", "-n", "2", "--journal", folder, "--", lu, status=2))
    journal = folder / "node-1.journal"
    damaged = bytearray(journal.read_bytes())
    damaged[4096] ^= 0x40
    journal.write_bytes(damaged)
    said = session.run("svm", "replay", folder, status=1).stdout
    expect("node-1.journal: differs" in said and "record 0" in said, said)
    one_line(session.run("svm", "replay", session.path("no-journals"), status=3))


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


@contextlib.contextmanager
def two_hosts():
    """Two network namespaces with nothing but a link between them: their names, and their addresses."""
    if os.geteuid() != 0:
        raise Skipped("network namespaces are root's to make")
    names = [f"hn{os.getpid()}{end}" for end in "ab"]
    hosts = [(name, f"10.200.77.{number}") for number, name in enumerate(names, 1)]

    def ip(*words, check=True):
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
        if check and done.returncode:
            raise Skipped(f"ip {' '.join(words)}: {done.stderr.strip()}")
    try:
        for name in names:
            ip("netns", "add", name)
        ip("-n", names[0], "link", "add", "up0", "type", "veth", "peer", "name", "up0", "netns", names[1])
        for name, address in hosts:
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "up0")
            for device in ("lo", "up0"):
                ip("-n", name, "link", "set", device, "up")
        yield hosts
    finally:
        for name in names:
            ip("netns", "del", name, check=False)


@check
def programs_run_across_hosts(session):
    """LU and water on nodes of two network namespaces; who cannot be reached, and pointers to memory of one process, are one line."""
    built = session.build("gcc", only="lu water", hooks=False)
    with two_hosts() as hosts:
        inside = ["ip", "netns", "exec", hosts[0][0], session.homenode, "-q", "svm", "run", "--agent", "ip netns exec {host}"]
        where = ",".join(f"{name}={address}" for name, address in hosts)

        def run(*words, status=0):
            done = subprocess.run([str(w) for w in (*inside, *words)], capture_output=True, text=True, timeout=120)
            expect(done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}")
            return done
        for name, nodes in (("lu", 2), ("water", 4)):
            file = session.path(f"hosts-{name}.svm")
            said = run("--hosts", where, "-n", nodes, "-o", file, "--", built / name, "-p", nodes).stdout
            expect("verified OK" in said, said)
            told = session.json("svm", "report", "--json", file)["run"]
            on = [node["host"] for node in told["nodes"]]
            expect(on == sorted(on) and set(on) == {name for name, _ in hosts} and len(on) == nodes, f"{name}: {on}")
            print(f"  {name}, {nodes} nodes: {told['seconds']:.2f} s")
        words = ("-n", 2, "--", built / "lu", "-p", 2)
        said = one_line(run("--hosts", f"{hosts[1][0]}={hosts[1][1]},{hosts[0][0]}={hosts[0][1]}", *words, status=2))
        expect("must be this machine" in said, said)
        # The other host believes to have an address that it does not have.
        said = one_line(run("--hosts", f"{hosts[0][0]}={hosts[0][1]},{hosts[1][0]}=10.200.77.9", *words, status=1))
        expect("cannot listen at 10.200.77.9" in said and hosts[1][0] in said, said)
    private = source(session, "private", PRIVATE, hooks=False, flags=["-g", "-I", str(ROOT / "include")])
    words = ["-q", "svm", "run", "-n", "2", "--hosts", "127.0.0.1,127.0.0.2", "--agent", "env HN_HOST={host}"]
    said = one_line(session.run(*words, "--", private, status=1))
    expect("variable table points" in said and "homenode_shared_alloc" in said, said)
    session.run(*words, "--private-pointers", "null", "--", private, status=0)
    # What no launcher says is answered in a frame, with a status.
    done = session.run("svm", "agent", input="hello, who is there?\n", status=1)
    expect("standard input is not what" in done.stdout, done.stdout)
    expect(session.run("svm", "agent", input="", status=1).stdout, "an end is no beginning")
    for wrong in (["--hosts", "127.0.0.1", "--transport", "shm"], ["--agent", "ssh {host}"], ["--hosts", "127.0.0.1", "--agent", "ssh"]):
        session.run("svm", "run", "-n", "2", *wrong, "--", private, status=2)


def mpiruns():
    """The mpiruns of this machine, each with what it needs here."""
    words = {"mpirun.openmpi": ["--allow-run-as-root", "--oversubscribe"], "mpirun.mpich": []}
    found = [[shutil.which(name), *rest] for name, rest in words.items() if shutil.which(name)]
    expect(len(found) == len(words) or os.environ.get("HOMENODE_NO_MPI"), f"both of {list(words)}: `./bootstrap test` installs them")
    return found


@check
def programs_run_under_mpirun(session):
    """LU on the ranks of each mpirun; without one the command line is said; as root, ranks of two network namespaces."""
    lu = session.build("gcc", only="lu water", hooks=False) / "lu"
    words = [session.homenode, "svm", "run", "--transport", "mpi"]

    def run(*command, status=0):
        done = subprocess.run([str(w) for w in command], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        expect(done.returncode == status, f"{command}: status {done.returncode}: {done.stderr}")
        return done
    for mpirun in mpiruns():
        file = session.path(f"{os.path.basename(mpirun[0])}.svm")
        done = run(*mpirun, "-n", 2, *words, "-o", file, "--", lu, "-p", 2)
        expect("verified OK" in done.stdout and "note: mpi: " in done.stderr, f"{done.stdout} {done.stderr}")
        told = session.json("svm", "report", "--json", file)["run"]
        expect(len(told["nodes"]) == 2, f"{mpirun}: {told['nodes']}")
        print(f"  {os.path.basename(mpirun[0])}: {told['seconds']:.2f} s over {told['transport']}")
    said = one_line(session.run("svm", "run", "-n", "2", "--transport", "mpi", "--", lu, "-p", "2", status=2))
    expect("mpirun -n 2 homenode svm run --transport mpi --" in said, said)
    session.run("svm", "run", "-n", "2", "--mpicc", "mpicc", "--", lu, "-p", "2", status=2)
    session.run("svm", "run", "--", lu, "-p", "2", status=2)
    hydra = shutil.which("mpirun.mpich")
    if not hydra:
        return
    with two_hosts() as hosts:
        names, file = [name for name, _ in hosts], session.path("namespaces.svm")
        start, known = session.path("start.sh"), session.path("known-hosts")
        # Each namespace is a host with its own name, and knows the other's.
        known.write_text(pathlib.Path("/etc/hosts").read_text() + "".join(f"{address} {name}\n" for name, address in hosts))
        inside = f'exec ip netns exec $host unshare --uts --mount sh -c "hostname $host; mount --bind {known} /etc/hosts; $*"'
        start.write_text(f'#!/bin/sh\nwhile [ "${{1#-}}" != "$1" ]; do shift; done\nhost=$1\nshift\n{inside}\n')
        start.chmod(0o755)
        mpirun = [hydra, "-launcher", "rsh", "-launcher-exec", start, "-hosts", ",".join(names), "-ppn", 1, "-n", 2]
        # MPICH's own thread serves one-sided operations, if it has a processor when that is tried.
        for thread in "01":
            variable = f"MPICH_ASYNC_PROGRESS={thread}"
            done = run(start, names[0], "env", variable, *mpirun, *words, "-o", file, "--force", "--", lu, "-p", 2)
            expect("verified OK" in done.stdout, f"{variable}: {done.stdout} {done.stderr}")
            told = session.json("svm", "report", "--json", file)["run"]
            on = [node["host"] for node in told["nodes"]]
            expect(on == names, f"{variable}: nodes ran on {on}")
            print(f"  mpirun.mpich, two hosts, {variable}: {told['seconds']:.2f} s over {told['transport']}")


def beside(session, worse, better):
    """The report of a program's run on two nodes beside that of a better one, which prints the same result; and its text."""
    built = session.build("gcc", only=f"{worse.name} {better.name}", hooks=False)
    folder = session.path(f"beside-{worse.name}")
    folder.mkdir()
    for program in (worse, better):
        session.run("-q", "svm", "run", "-n", "2", "-o", folder / program.name, "--", built / program.name, *program.words)
    files = (folder / worse.name, "--compare", folder / better.name)
    return session.json("svm", "report", "--json", *files), session.run("svm", "report", *files).stdout


class Program:
    """A workload with its arguments, but for the number of threads: those of two nodes."""

    def __init__(self, name, *arguments):
        self.name, self.words = name, (*arguments, "-p", "2")


def locks_taken(run):
    """Times that locks were taken, by the place that took the memory they lie in."""
    sites = [o["site"].split(",")[0] for o in run["objects"]]
    return {sites[g["object"]]: g for g in run["lock_groups"] if g["taken"]}


@check
def the_lock_of_ray_ids_is_named(session):
    """The ray tracer whose rays take their numbers under a lock, and the one without: the lock, each ray, and what it took."""
    said, text = beside(session, Program("raytrace_ids"), Program("raytrace"))
    place = f"raytrace.c:{line_of(WORKLOADS / 'raytrace.c', 'hn_shared_alloc.*.ray ids.,')}"
    group = locks_taken(said["run"])[place]
    expect(group["locks"] == 1 and group["taken"] > 80 * 80, f"each ray takes it, at least one a pixel: {group}")
    expect(0 < group["remote"] <= group["taken"] and group["seconds"] > 0, f"{group}")
    advice = [a for a in said["advice"] if a["about"] == "lock"]
    expect(advice and place in advice[0]["text"] and f"taken {group['taken']} times" in advice[0]["text"], f"{said['advice']}")
    expect(abs(advice[0]["seconds"] - group["seconds"] / 2) < 1e-6, f"half of the lock's seconds a thread: {advice[0]}, {group}")
    expect(place not in locks_taken(said["compared"]["run"]), "the better one has no such lock")
    expect(said["mean"]["lock"] > said["compared"]["mean"]["lock"], "it waits less for locks")
    expect(any(line.startswith("lock, s a thread") for line in text.splitlines()), text)
    print(f"  the lock {group['seconds'] / 2:.3f} s a thread of {said['mean']['seconds']:.3f}, without it "
          f"{said['compared']['mean']['seconds']:.3f} (measured)")


@check
def cells_take_fewer_locks(session):
    """Water with its molecules in cells, beside every pair under locks: the locks of molecules are gone, those of cells are few."""
    long = ("-n", "343", "-i", "40")
    said, _ = beside(session, Program("water", *long), Program("water_spatial", *long))
    taken = [sum(g["taken"] for g in locks_taken(run).values()) for run in (said["run"], said["compared"]["run"])]
    expect(taken[0] > 343 * 41 and taken[1] < taken[0] / 100, f"{taken} locks taken")
    place = f"water.c:{line_of(WORKLOADS / 'water.c', 'hn_shared_alloc.*.locks.,')}"
    expect(any(a["about"] == "lock" and place in a["text"] for a in said["advice"]), f"{place}: {said['advice']}")
    fetched = [sum(sum(o["traffic"]["fetches"]) for o in run["objects"]) for run in (said["run"], said["compared"]["run"])]
    expect(fetched[1] < fetched[0], f"{fetched} pages fetched")
    print(f"  locks taken {taken}, pages fetched {fetched}, seconds a thread {said['mean']['seconds']:.3f} and "
          f"{said['compared']['mean']['seconds']:.3f} (measured)")


@check
def variants_agree_on_nodes(session):
    """Variants of a program print one result: with pthreads and on 1, 2 and 4 nodes, base and nil."""
    variants = {("water", "water_gathered", "water_spatial"): ("-n", "125", "-i", "10"), ("raytrace", "raytrace_ids"): ("-n", "40"),
                ("barnes", "barnes_rebuild", "barnes_spatial"): ("-n", "512"), ("volrend", "volrend_balanced"): ("-n", "16"),
                ("fft", "fft_staggered", "fft_balanced"): ("-n", "1024")}
    built = session.build("gcc", only=" ".join(name for names in variants for name in names), hooks=False)
    for names, words in variants.items():
        sums = set()
        for name in names:
            for threads in ("1", "2", "4"):
                sums.add(result(built / name, "-p", threads, *words))
                for step in ("base", "nil"):
                    under = (session.homenode, "-q", "svm", "run", "-n", threads, "--protocol", step, "--")
                    sums.add(result(built / name, "-p", threads, *words, under=under))
        expect(len(sums) == 1, f"{names}: {sums}")


@check
def molecules_change_cells_on_nodes(session):
    """Water in cells, long enough for molecules to go to other threads' cells: as with every pair compared, and cells' locks were taken."""
    built = session.build("gcc", only="water water_spatial", hooks=False)
    words = ("-n", "343", "-i", "300")
    wanted = result(built / "water", "-p", "2", *words)
    for nodes in ("2", "4"):
        kept = session.path(f"cells-{nodes}")
        under = (session.homenode, "-q", "svm", "run", "-n", nodes, "-o", kept, "--")
        found = result(built / "water_spatial", "-p", nodes, *words, under=under)
        expect(found == wanted, f"{nodes} nodes: {found}, not {wanted}")
        taken = sum(g["taken"] for g in locks_taken(session.json("svm", "report", "--json", kept)["run"]).values())
        expect(taken > 0, f"{nodes} nodes: no molecule changed its cell")
        print(f"  {nodes} nodes: {taken} molecules changed their cells")


def references(session, dataset):
    """References to memory that LU's own lines took, by object, block of 4 KiB in it, thread (in order) and kind."""
    table = session.path(f"{dataset.name}.csv")
    session.run("export", dataset, "-o", table)
    with open(table, newline="") as file:
        rows = [row for row in csv.DictReader(file) if "from lu.c:" in row["object"]]
    line = lambda row: row["object"].split("from ")[1]  # noqa: E731
    first = {}
    for row in rows:
        first[line(row)] = min(first.get(line(row), 1 << 64), int(row["addr"]))
    threads = sorted({int(row["thread"]) for row in rows})
    return collections.Counter((line(row), (int(row["addr"]) - first[line(row)]) // 4096, threads.index(int(row["thread"])), row["op"])
                               for row in rows)


@check
def recordings_on_nodes_are_those_of_threads(session):
    """LU recorded with threads and on nodes: the same references to every block, the same synchronisation, the same verdict."""
    built = session.build("gcc", only="lu water")
    # Locks, too, are numbered for all nodes together: else the checker finds a number twice, and no order of threads.
    locks = session.path("data/water-on-nodes.hnt")
    session.run("-q", "record", "-o", locks, "--", session.homenode, "-q", "svm", "run", "-n", 2, "--", built / "water", "-p", 2, "-n", 27)
    session.run("check", locks)
    session.run("report", locks)
    expect("mutex" in session.run("info", locks).stdout, "locks are recorded")
    words = [built / "lu", "-p", 2, "-n", 64, "-b", 8]
    wanted, runs = None, {"threads": [], "shm": ["-n", 2], "tcp": ["-n", 2, "--transport", "tcp", "--protocol", "base"]}
    for name, options in runs.items():
        dataset = session.path(f"data/lu-on-{name}.hnt")
        before = [session.homenode, "-q", "svm", "run", *options, "--"] if options else []
        session.run("-q", "record", "-o", dataset, "--", *before, *words)
        session.run("check", dataset)
        found, info = references(session, dataset), session.run("info", dataset).stdout
        barriers = next(line.split()[-2:] for line in info.splitlines() if line.startswith("barrier of 2"))
        document = session.json("report", "--json", dataset)["evaluations"][0]
        gaps = [gap["kind"] for gap in document["evidence"]["gaps"]]
        expect("shared-memory" not in gaps, f"{name}: {gaps}")
        best = document["optimum"][0]["total"]
        wanted = wanted or (found, barriers, best)
        expect(found == wanted[0], f"{name}: {len(found)} blocks, threads and kinds, not as with threads")
        expect(barriers == wanted[1], f"{name}: barriers {barriers}, with threads {wanted[1]}")
        # Who comes to a line first is not the same every time.
        expect(abs(best / wanted[2] - 1) < 0.03, f"{name}: the best placement costs {best}, with threads {wanted[2]}")
        print(f"  {name}: {sum(found.values())} references in {len(found)} blocks, threads and kinds; barriers {' '.join(barriers)}; optimum {best}")
