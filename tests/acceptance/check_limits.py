"""Limits of the system and of users' patience: descriptors, threads, signals to stop at any moment."""
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from harness import ROOT, SLOW, check, expect, tail

sys.path.insert(0, str(ROOT / "tests" / "kit"))
import kit  # noqa: E402

SEED = 5
ROUNDS = 100 if SLOW else 12
THREADS = 5000 if SLOW else 2000
SHARED = Path("/dev/shm")


def few_descriptors():
    """What `ulimit -n 1024` does."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))


@check
def thousands_of_threads(session):
    """Thousands of threads that live at once, with 1,024 descriptors: recorded, sound, reported, and none is missing."""
    binary = kit.build(session, kit.PROGRAMS / "many_at_once.c", "gcc", "-O1")
    dataset = session.path("limits/threads.hnt")
    done = session.run("record", "-q", "-o", dataset, "--", binary, THREADS, preexec_fn=few_descriptors)
    expect(done.stdout.split() == [str(THREADS)] and not done.stderr, f"the program ran unharmed: {tail(done.stderr)}")
    session.run("check", dataset, preexec_fn=few_descriptors)
    document = session.json("info", dataset, "--json", preexec_fn=few_descriptors)
    expect(document["provenance"]["threads"] == THREADS + 1, f"{document['provenance']['threads']} threads")
    session.run("report", "-q", dataset, preexec_fn=few_descriptors)


# Of what the checker and the report need for a recording of nothing but locks, in bytes for an event.
EVENT_BYTES = 17
EVENTS = 30_000_000 if SLOW else 1_600_000
MEMORY = 512 << 20
# What a report needs besides, in bytes: among it the caches of the machine, 8 MiB for each part of the memory that is replayed by itself, of which
# there are two a processor, and of each what-if as many as leave no processor idle.
BESIDES = 64 << 20


# A process begins with what its parent had resident, so the one that is measured has a small parent.
PEAK = ("import resource, subprocess, sys; status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(status)")


def peak(session, *arguments):
    """Most memory that a command has had resident, in bytes; no less than that of a bare Python."""
    words = [sys.executable, "-I", "-S", "-c", PEAK, *map(str, (session.homenode, *arguments))]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout) << 10


@check
def memory_of_events(session):
    """A recording of nothing but locks is checked and reported in a few bytes for each event, 30 million within 512 MiB."""
    binary = kit.build(session, kit.PROGRAMS / "locks_again.c", "gcc", "-O1")
    # A lock taken is an event and a lock given back another one.
    rounds_of = {"mutex": EVENTS // 8, "atomic": EVENTS // 4, **({"rwlock": EVENTS // 8} if SLOW else {})}
    for what, rounds in rounds_of.items():
        dataset = session.path(f"limits/{what}.hnt")
        session.run("record", "-q", "-o", dataset, "--", binary, 4, rounds, what)
        events = session.json("info", dataset, "--json")["provenance"]["events"]
        expect(events >= EVENTS, f"{events} events")
        for command in (("check",), ("report", "-q")):
            most = peak(session, *command, dataset)
            print(f"  {what}, {events} events, {command[0]}: {most >> 20} MiB")
            allowed = MEMORY if SLOW and what == "mutex" else BESIDES + EVENT_BYTES * events
            expect(most <= allowed, f"{command[0]} of {events} events ({what}): {most >> 20} MiB of {allowed >> 20}")
        shutil.rmtree(dataset)


def rings():
    """Directories of rings in memory."""
    return {p.name for p in SHARED.glob("homenode-rings-*")} if SHARED.is_dir() else set()


@check
def stopped_at_any_moment(session):
    """SIGINT, SIGTERM and SIGHUP from the first moment to the last: no temporary folder is left, and no dataset needs recovery."""
    rng, ended = random.Random(SEED), {}
    program = session.build() / "lu"
    for n in range(ROUNDS):
        folder, dataset = session.path(f"limits/stop-{n}/tmp"), session.path(f"limits/stop-{n}/x.hnt")
        folder.mkdir(parents=True)
        what = ["--count-only"] if n % 4 == 3 else ["-o", dataset]
        command = [str(w) for w in (session.homenode, "record", "-q", *what, "--", program, "-n", "256", "-p", "2")]
        before = rings()
        process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(folder)}, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        # A time in which the shell has started the command, and often the recording is over.
        try:
            process.wait(0.02 + rng.random() * 0.8)
        except subprocess.TimeoutExpired:
            process.send_signal(rng.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)))
        said = process.communicate(timeout=120)[1]
        ended[process.returncode] = ended.get(process.returncode, 0) + 1
        label = f"round {n}: status {process.returncode}: {tail(said)}"
        # A signal before anything was made kills, as it would any program.
        early = process.returncode < 0 and not dataset.exists()
        expect(process.returncode in (0, 1) or early, label)
        expect(list(folder.iterdir()) == [], f"{label}: left {list(folder.iterdir())}")
        # Other recordings of this user come and go meanwhile; one that is left has no recorder.
        left = [r for r in rings() - before if (SHARED / r / "control").exists() and belongs_to(r, dataset)]
        expect(left == [], f"{label}: left {left}")
        expect(not (dataset / "rings").exists(), f"{label}: needs recovery")
        if dataset.exists():
            session.run("check", "-q", dataset)
    print(f"  {ROUNDS} recordings ended with these statuses: {ended}")


def belongs_to(name, dataset):
    """Whether rings in memory are those of a dataset."""
    try:
        return str(dataset).encode() in (SHARED / name / "control").read_bytes()[:4096]
    except FileNotFoundError:
        return False
