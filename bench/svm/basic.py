"""The ten operations of table 1.5 of Bilas and Singh: the published figures of both their machines, and those measured here over each transport.
What a transport does by itself is measured without a protocol (`transport_speed`, and `rank_speed` where an MPI carries it); locks are those of the
step `nil` (`ops.c`). Before each column the machine is given some time to become quiet; the last row says what share of the processors other work had."""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from examples import built  # noqa: E402
from programs import busy, share_of_others, until_quiet  # noqa: E402
PUBLISHED = ROOT / "crates/papers/data/bilas_table_1_5.csv"

# Rows of the published table: its words, and what is measured for it, of which the lines of transport_speed, or of ops, have that name.
ROWS = {
    "1-word_send": ("1-word send, one way, us", "send of a word, one way"),
    "1-word_fetch": ("1-word fetch, round trip, us", "fetch of a word"),
    "4_kbyte_send": ("4-KByte send, one way, us", "send of 4 KiB, one way"),
    "4_kbyte_fetch": ("4-KByte fetch, round trip, us", "fetch of 4 KiB"),
    "maximum_ping-pong_bandwidth": ("maximum ping-pong bandwidth, MB/s", "ping-pong, largest bandwidth"),
    "maximum_fetch_bandwidth": ("maximum fetch bandwidth, MB/s", "fetch, largest bandwidth"),
    "notification": ("notification, us", "notification of a thread that computes"),
    "remote_lock_acquire": ("remote lock acquire, us", "lock that was last at the other node"),
    "local_lock_acquire": ("local lock acquire, us", "lock that was last here"),
    "remote_lock_release": ("remote lock release, us", "unlock of that, nobody waits"),
}
# Variables with which an MPI reads memory without the other side's help, and what its mpirun wants besides.
MPIS = {
    "mpirun.openmpi": ({}, ["--allow-run-as-root", "--oversubscribe"]),
    "mpirun.mpich": ({"MPICH_ASYNC_PROGRESS": "1"}, []),
}
# An MPI's own thread may have no processor when it is tried whether the MPI needs help.
TRIALS = 20
OTHERS = "other work's share of the processors"
LINE = re.compile(r"  (.+?) +([0-9.]+) / +[0-9.]+(?:  ([0-9]+) MB/s.*)?")


def printed(words, **environment):
    """What a command prints; a failure stops the bench."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **environment})
    if done.returncode:
        sys.exit(f"bench: {' '.join(map(str, words))}: status {done.returncode}")
    return done.stdout


def of_transport(text):
    """Medians in microseconds, or rates, by name."""
    found = (LINE.fullmatch(line) for line in text.splitlines())
    return {row[1]: float(row[3] or row[2]) for row in found if row}


def of_ops(text):
    """Medians in microseconds by name."""
    rows = (line.split("\t") for line in text.splitlines())
    return {name: float(median) for name, _, median, _ in rows}


def over(transport, svm, ops):
    """What operations cost over a transport of this machine."""
    locks = of_ops(printed([*svm, "-n", "2", "--transport", transport, "--", ops, "locks"]))
    return {**of_transport(printed([built("transport_speed"), transport])), **locks}


def when_quiet(wait, measure):
    """What a function measures when other work leaves the processors alone, or has not for so many seconds; and the share that this had."""
    until_quiet(wait)
    before = busy()
    return {**measure(), OTHERS: 100 * share_of_others(before, busy())}


def version(mpirun):
    """Name and version of an MPI."""
    name, pattern = ("Open MPI", r"\) ([0-9.]+)") if mpirun.endswith("openmpi") else ("MPICH", r"Version: +([0-9.]+)")
    found = re.search(pattern, printed([mpirun, "--version"]))
    return f"{name} {found[1]}" if found else name


def over_mpi(mpirun, svm, ops, folder):
    """The same over one-sided operations of an MPI; nothing if it does not have them here."""
    environment, more = MPIS[mpirun]
    ranks, kept = [mpirun, *more, "-n", "2"], folder / "mpi.svm"
    for _ in range(TRIALS):
        measured = of_transport(printed([*ranks, built("rank_speed")], **environment))
        if measured:
            break
    for _ in range(TRIALS):
        locks = printed([*ranks, *svm, "--transport", "mpi", "--force", "-o", kept, "--", ops, "locks"], **environment)
        if json.loads(kept.read_text())["transport"] == "mpi":
            return {**measured, **of_ops(locks)}
    return measured


def table(homenode, ops, transports, folder, wait):
    """Lines of the table, in Markdown."""
    published = {row["operation"]: row for row in csv.DictReader(PUBLISHED.read_text().splitlines())}
    svm = [homenode, "svm", "run", "--quiet", "--protocol", "nil"]
    built("transport_speed"), built("rank_speed")
    columns = {t: when_quiet(wait, lambda t=t: over(t, svm, ops)) for t in transports if t != "mpi"}
    for mpirun in MPIS if "mpi" in transports else ():
        if shutil.which(mpirun):
            columns[f"mpi, {version(mpirun)}"] = when_quiet(wait, lambda m=mpirun: over_mpi(m, svm, ops, folder))
        else:
            yield f"{mpirun} is not here"
    yield f"| operation | published: SAN cluster | published: Origin2000 | {' | '.join(f'measured here: {name}' for name in columns)} |"
    yield "|" + " --- |" * (3 + len(columns))
    for key, (name, what) in ROWS.items():
        theirs = published[key]["san_cluster"], published[key]["origin2000"]
        ours = (column.get(what) for column in columns.values())
        cells = (("cannot tell" if value is None else f"{value:,.0f}" if "MB/s" in name else f"{value:.2f}") for value in ours)
        yield f"| {' | '.join((name, *theirs, *cells))} |"
    yield f"| {OTHERS} | | | {' | '.join(f'{column[OTHERS]:.0f} %' for column in columns.values())} |"
