"""Sweeps: the same table whatever happens on the way; bounded memory; bad questions."""
import csv
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq

from harness import ROOT, SLOW, check, children, expect, one_line, tail

sys.path.insert(0, str(ROOT / "tests" / "kit"))
import kit  # noqa: E402

KILLS = 60 if SLOW else 8
SEED = 11
STUDY = """traces = ["a.hnt", "b.hnt"]
blocks = "256..4096"
policies = ["first-touch", "ace(1..3)", "dsm"]
optimum = "parts"
machines = ["cc", "numa"]
analyses = ["false-sharing"]
[[machine]]
base = "butterfly"
r = [5, 50]
R = { from = 200, to = 3000, points = 2 }
"""
BUDGET_BYTES = 64 << 20


def study(session, text=STUDY):
    """A study over two small recordings, in a folder of its own."""
    folder = session.path(f"sweep/{len(session.made)}-{random.randrange(1 << 40)}")
    folder.mkdir(parents=True)
    first = session.record(session.build() / "lu", "-n", "64", "-b", "8", "-p", "4")[0]
    second = session.record(session.build() / "sor", "-n", "256", "-i", "3", "-p", "4")[0]
    (folder / "a.hnt").symlink_to(first)
    (folder / "b.hnt").symlink_to(second)
    (folder / "study.toml").write_text(text)
    return folder


def table(folder, name="out.sweep"):
    files = ["results.parquet", "false-sharing.csv", "false-sharing-objects.csv"]
    return [(folder / name / file).read_bytes() for file in files]


def undisturbed(session):
    """The table of a sweep that nothing happened to, and its seconds."""
    def make():
        folder = study(session)
        began = time.monotonic()
        session.run("sweep", folder / "study.toml", "-o", folder / "out.sweep", "--workers", 2)
        return table(folder), time.monotonic() - began
    return session.once("undisturbed sweep", make)


def begin(session, folder, *more):
    words = [session.homenode, "sweep", folder / "study.toml", "-o", folder / "out.sweep", "--workers", 2, *more]
    return subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@check
def the_number_of_workers_changes_nothing(session):
    """One worker, two, and a little memory: the same table, byte for byte."""
    wanted, seconds = undisturbed(session)
    for more in (["--workers", 1], ["--workers", 2, "--memory", "96M"]):
        folder = study(session)
        done = session.json("sweep", folder / "study.toml", "-o", folder / "out.sweep", "--json", *more)
        expect(table(folder) == wanted, f"the table with {more} is that of two workers")
        expect(not (folder / "out.sweep/work").exists(), "no work is left behind")
    print(f"  {done['rows']} rows, {done['units']} units, {seconds:.1f} s")


@check
def killed_parents_and_workers_change_nothing(session):
    """SIGKILL of the sweep or of a worker at random moments, then the same command again: the same table."""
    wanted, seconds = undisturbed(session)
    rng = random.Random(SEED)
    killed = resumed = 0
    for i in range(KILLS):
        folder, victim = study(session), ("worker", "sweep")[i % 2]
        process = begin(session, folder)
        time.sleep(rng.uniform(0.02, max(0.1, seconds * 0.9)))
        pids = [process.pid] if victim == "sweep" else rng.sample(children(process.pid), min(1, len(children(process.pid))))
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        _, said = process.communicate(timeout=300)
        expect("panicked" not in said, f"nothing panics: {tail(said)}")
        if process.returncode != 0:
            expect(victim == "sweep", f"a sweep survives the death of one worker: {tail(said)}")
        work = folder / "out.sweep/work"
        resumed += work.is_dir() and any(p.name.startswith("answer-") for p in work.iterdir())
        again = session.json("sweep", folder / "study.toml", "-o", folder / "out.sweep", "--json", "--workers", 2)
        expect(table(folder) == wanted, f"the table after the death of a {victim} is that of an undisturbed sweep")
        expect(not work.exists() and again["rows"] > 0, "it is done")
    expect(killed >= KILLS // 2, f"most kills found somebody: {killed} of {KILLS}")
    print(f"  {killed} killed, {resumed} resumed with answers there")


@check
def damaged_work_is_done_again(session):
    """Answers that are cut off, damaged or of another unit count as not there."""
    wanted, seconds = undisturbed(session)
    rng = random.Random(SEED)
    folder = study(session)
    process = begin(session, folder)
    work, until = folder / "out.sweep/work", time.monotonic() + 60
    while process.poll() is None and len(list(work.glob("answer-*"))) < 2 and time.monotonic() < until:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    answers = sorted(work.glob("answer-*")) if work.is_dir() else []
    if len(answers) >= 2:
        whole = answers[0].read_bytes()
        answers[0].write_bytes(whole[: rng.randrange(len(whole))])
        answers[1].write_bytes(whole)
    session.run("sweep", folder / "study.toml", "-o", folder / "out.sweep", "--workers", 2)
    expect(table(folder) == wanted, "the table is that of an undisturbed sweep")
    print(f"  {len(answers)} answers were there, {min(2, len(answers))} spoiled")


@check
def stopping_leaves_a_state_to_go_on_from(session):
    """Ctrl-C: status 1 and one line that says how to go on; a second sweep on the same folder is refused meanwhile."""
    wanted, seconds = undisturbed(session)
    folder = study(session)
    process = begin(session, folder)
    until = time.monotonic() + 30
    while not (folder / "out.sweep/study.json").exists() and time.monotonic() < until:
        time.sleep(0.002)
    other = session.run("sweep", folder / "study.toml", "-o", folder / "out.sweep", status={0, 2})
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if other.returncode == 2:
        expect("another sweep is at work" in other.stderr, f"it says why: {tail(other.stderr)}")
    if process.returncode:
        expect(process.returncode == 1, f"status 1, not {process.returncode}")
        expect("stopped with" in said and "goes on" in said, f"how to go on: {tail(said)}")
    session.run("sweep", folder / "study.toml", "-o", folder / "out.sweep")
    expect(table(folder) == wanted, "the table is that of an undisturbed sweep")
    print(f"  first ended with {process.returncode}, second with {other.returncode}")


def peak(process):
    """The greatest resident size of a process and its children until it ends, in bytes; disk used meanwhile."""
    most = 0
    while process.poll() is None:
        for pid in [process.pid, *children(process.pid)]:
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            values = dict(line.split(":", 1) for line in status.splitlines())
            if "VmHWM" in values and "homenode" in values["Name"]:
                most = max(most, int(values["VmHWM"].split()[0]) * 1024)
        time.sleep(0.01)
    return most


@check
def a_trace_larger_than_memory_streams(session):
    """Several times more records than the budget: peak resident size stays within it, and the table is the same."""
    n, sweeps = (1024, 40) if SLOW else (640, 24)
    trace = session.record(session.build() / "sor", "-n", n, "-i", sweeps, "-p", "4")[0]
    refs = session.json("info", trace, "--json")["ops"]
    records = 4 * sum(v for k, v in refs.items() if k in ("read", "write", "atomic"))
    expect(records > 3 * BUDGET_BYTES, f"the trace is larger than memory: {records >> 20} MiB of records")
    tables = []
    for memory in ("64M", "4G"):
        out = session.path(f"sweep/memory-{memory}.sweep")
        words = [session.homenode, "sweep", trace, "--blocks", "4096", "--machines", "numa", "-o", out,
                 "--workers", 1, "--memory", memory]
        began = time.monotonic()
        process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        most = peak(process)
        expect(process.returncode == 0, f"it ends well: {tail(process.stderr.read())}")
        print(f"  --memory {memory}: {records >> 20} MiB of records, peak {most >> 20} MiB, {time.monotonic() - began:.1f} s")
        if memory == "64M":
            expect(most <= BUDGET_BYTES, f"peak {most >> 20} MiB within the budget of 64 MiB")
        tables.append((out / "results.parquet").read_bytes())
    expect(tables[0] == tables[1], "the same table")


def small_files():
    """Files may have 1 MiB and no more: what a full disk is to those who write."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


@check
def a_full_disk_is_said_and_gone_on_from(session):
    """Files that cannot grow: one line, status 1; with room again the same table."""
    wanted, _ = undisturbed(session)
    folder = study(session)
    words = ["sweep", folder / "study.toml", "-o", folder / "out.sweep"]
    done = session.run(*words, status=1, preexec_fn=small_files)
    expect("cannot write to disk" in one_line(done), tail(done.stderr))
    session.run(*words)
    expect(table(folder) == wanted, "the table is that of an undisturbed sweep")


@check
def the_table_is_readable_by_others(session):
    """pyarrow reads it: exact costs, one row a point, the optimum never above a policy."""
    folder = study(session)
    session.run("sweep", folder / "study.toml", "-o", folder / "numbers.parquet", "--csv")
    rows = pq.read_table(folder / "numbers.parquet").to_pylist()
    everywhere = [r for r in rows if r["machine"] != "cc"]
    expect(len(everywhere) == 2 * 5 * 5 * 6, f"a row a point: {len(everywhere)}")
    expect(all(r["what"] != "first-touch" for r in rows if r["machine"] == "cc"), "cc has no remote references")
    optimum = {key(r): r["cost"] for r in rows if r["what"] == "optimum"}
    for r in rows:
        expect(r["cost"] >= optimum[key(r)], f"no policy beats the optimum: {r}")
    lines = (folder / "numbers.sweep/results.csv").read_text().splitlines()
    expect(len(lines) == len(rows) + 1, "the CSV has as many")
    run = json.loads((folder / "numbers.sweep/run.json").read_text())
    expect(run["rows"] == len(rows), "the manifest too")


def key(row):
    return row["trace"], row["machine"], row["params"], row["block_bytes"]


@check
def phases_lie_between_barriers(session):
    """Three barriers crossed once and one crossed three times are four phases; a reader-writer lock makes none."""
    for how, phases in (("three", 4), ("one", 4), ("rwlock", 1)):
        folder = session.path(f"phases/{how}.sweep")
        binary = kit.build(session, kit.PROGRAMS / "phases.c", "gcc", "-O1")
        dataset, _, _ = session.record(binary, how)
        session.run("sweep", dataset, "-q", "--machines", "numa", "-a", "phases", "-o", folder)
        rows = list(csv.DictReader((folder / "phases.csv").open()))
        found = {row["phases_by"]: int(row["phases"]) for row in rows}
        print(f"  {how}: {found}")
        expect(found["barriers"] == phases and found["windows"] == phases, f"{how}: {phases} phases, not {found}")


@check
def protocols(session):
    """Each reference to shared memory is one of four things, at the prices of the paper; nothing is below the optimum."""
    folder = study(session)
    session.run("sweep", folder / "a.hnt", "-o", folder / "p.sweep", "--protocols", "all", "--counters", "--blocks", "64..65536", "--csv")
    rows = list(csv.DictReader((folder / "p.sweep" / "results.csv").open()))
    expect(len(rows) == 11 * (6 + 1 + 4), f"{len(rows)} rows")
    optimum = {row["block_bytes"]: int(row["cost"]) for row in rows if row["what"] == "optimum-coherence"}
    for row in rows:
        page, cost = int(row["block_bytes"]), int(row["cost"])
        expect(cost >= optimum[row["block_bytes"]], f"{row['what']} at {page} bytes is below the optimum")
        if not row["updates"]:
            continue
        reads, writes, updates, copies = (int(row[name]) for name in ("remote_reads", "remote_writes", "updates", "copies"))
        local = int(row["accesses"]) - reads - writes - copies
        copy = 90 + page + 500 * (2 if "-del" in row["what"] else 1)
        expect(cost == 5 * local + 100 * reads + 10 * (writes + updates) + copy * copies, f"{row['what']} at {page} bytes")
        expect(int(row["accesses"]) >= int(row["between"]) > 0, f"{row['what']} at {page} bytes")
        if row["what"].startswith("inv"):
            expect(updates == 0, "nobody is sent updates where copies are invalidated")
        else:
            expect(copies <= 64 * int(row["blocks_touched"]) and row["invalidations"] == "0", "copies stay where they are updated")


@check
def bad_questions(session):
    """One line, the right status, nothing left behind."""
    folder = study(session)
    lu = folder / "a.hnt"
    cases = [
        (["--blocks", "100"], 2, "'100' is not allowed: powers of two"),
        (["--blocks", "4096..64"], 2, "empty"),
        (["--machines", "nuna"], 2, "did you mean 'numa'?"),
        (["--policies", "first-tuch"], 2, "did you mean 'first-touch'?"),
        (["--optimum", "part"], 2, "did you mean 'parts'?"),
        (["--memory", "10M"], 2, "at least 48M"),
        (["--protocols", "upd"], 2, "did you mean 'upt'?"),
        (["--protocols", "all", "--machines", "numa"], 2, "no machine has prices for protocols"),
    ]
    for more, status, words in cases:
        done = session.run("sweep", lu, "-o", folder / "bad.sweep", *more, status=status)
        expect(words in one_line(done), f"{more}: {tail(done.stderr)}")
    costs = STUDY.replace('analyses = ["false-sharing"]\n', '')
    for text, status, words in [
        (costs.replace("machines =", "machins ="), 3, "line 5: unknown field `machins`"),
        (costs.replace("r = [5, 50]", "r = []"), 3, "line 8: r: the list is empty"),
        (costs.replace("r = [5, 50]", "r = 0"), 3, "r = 0 is less than a local reference"),
        (costs.replace("a.hnt", "missing.hnt"), 3, "missing.hnt"),
        (costs.replace("a.hnt", "study.toml"), 3, "a dataset is a directory"),
        (costs.replace('"butterfly"', '"ace"'), 3, "is more than 2G"),
        (costs.replace("points = 2", "step = 1").replace("3000", "1_000_000_000"), 2, "points; more than 10000000"),
        (costs.replace("3000", "3000000000000"), 3, "no cost can overflow"),
        (STUDY.replace("false-sharing", "false-shearing"), 3, "did you mean 'false-sharing'?"),
    ]:
        (folder / "bad.toml").write_text(text)
        done = session.run("sweep", folder / "bad.toml", "-o", folder / "bad.sweep", status=status)
        expect(words in one_line(done), f"{words}: {tail(done.stderr)}")
    expect(not (folder / "bad.sweep").exists(), "a question that is refused makes no folder")
    session.run("sweep", lu, "-o", folder / "good.sweep")
    done = session.run("sweep", lu, "-o", folder / "good.sweep", "--blocks", "64", status=2)
    expect("results of another study" in one_line(done), tail(done.stderr))
    full = subprocess.run([str(session.homenode), "sweep", str(lu), "-o", "/proc/none.sweep"], capture_output=True, text=True)
    expect(full.returncode == 1, f"a folder that cannot be made: {full.returncode}, {tail(full.stderr)}")
