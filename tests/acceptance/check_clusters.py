"""Sweeps of clusters in virtual time: the rows of `sim cluster`, and the same table whatever happens on the way."""
import csv
import os
import random
import signal
import time

import check_sweep
from check_sweep import begin
from harness import SLOW, check, children, expect, one_line, tail

KILLS = 12 if SLOW else 4
SEED = 13
STUDY = """name = "fabric"
traces = ["a.hnt", "b.hnt"]
[[cluster]]
machine = ["svm-achievable", "rdma100"]
nodes = ["2x2", "4x1"]
protocols = ["base", "nil"]
vary = "each"
what_if = ["no-diffs", "io=4x"]
interrupts = { from = 0, to = 10000, points = 3 }
l1 = [4096, 32768]
"""
WHAT_IFS = "no-diffs,io=4x,interrupts=0,interrupts=5000,interrupts=10000,l1=4096,l1=32768"
ROWS = 2 * 2 * 2 * 2 * 8


def study(session, text=STUDY):
    """A study of clusters over the recordings of other sweeps."""
    return check_sweep.study(session, text)


def table(folder):
    return [(folder / "out.sweep" / name).read_bytes() for name in ("results.parquet", "results.csv")]


def undisturbed(session):
    """A folder with the result of a sweep that nothing happened to, and its seconds."""
    def make():
        folder = study(session)
        began = time.monotonic()
        session.run("sweep", folder / "study.toml", "-o", folder / "out.sweep", "--workers", 2, "--csv")
        return folder, time.monotonic() - began
    return session.once("undisturbed sweep of clusters", make)


@check
def rows_are_those_of_sim_cluster(session):
    """Every column that both tables have is equal, for each trace, machine, shape, step and counterfactual."""
    folder, _ = undisturbed(session)
    ours = list(csv.DictReader((folder / "out.sweep/results.csv").open()))
    expect(len(ours) == ROWS, f"{len(ours)} rows, not {ROWS}")
    found = {tuple(row[name] for name in ("trace", "machine", "nodes", "protocol", "what_if")): row for row in ours}
    for trace in ("a.hnt", "b.hnt"):
        for machine in ("svm-achievable", "rdma100"):
            said = session.run("sim", "cluster", folder / trace, "--machine", machine, "--nodes", "2x2,4x1", "--protocol", "base,nil",
                               "--what-if", WHAT_IFS, "--csv").stdout
            for row in csv.DictReader(said.splitlines()):
                mine = found.pop((trace, machine, row["nodes"], row["protocol"], row["what if"]))
                expect(len(row) == 34, f"{len(row)} columns")
                for name, value in row.items():
                    got = mine[name.replace(" ", "_")]
                    expect(got == value, f"{trace} {machine} {row['nodes']} {row['what if']}: {name} is {got}, not {value}")
                if row["what if"].startswith("interrupts="):
                    expect(row["what if"] == f"interrupts={mine['set_interrupts']}", f"{mine['set_interrupts']}")
    expect(not found, f"no other rows: {list(found)[:3]}")


@check
def the_number_of_workers_and_kills_change_nothing(session):
    """One worker or two; SIGKILL of the sweep or of a worker at random moments, then the same command again: the same table."""
    whole, seconds = undisturbed(session)
    wanted, rng, resumed = table(whole), random.Random(SEED), 0
    folder = study(session)
    session.run("sweep", folder / "study.toml", "-o", folder / "out.sweep", "--workers", 1, "--csv")
    expect(table(folder) == wanted, "the table of one worker is that of two")
    for i in range(KILLS):
        folder, victim = study(session), ("sweep", "worker")[i % 2]
        process = begin(session, folder, "--csv")
        time.sleep(seconds * rng.uniform(0.2, 0.9))
        for pid in [process.pid] if victim == "sweep" else children(process.pid)[:1]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it was done already
        _, said = process.communicate(timeout=300)
        expect("panicked" not in said, f"nothing panics: {tail(said)}")
        work = folder / "out.sweep/work"
        resumed += work.is_dir() and any(p.name.startswith("cluster-") for p in work.iterdir())
        session.run("sweep", folder / "study.toml", "-o", folder / "out.sweep", "--workers", 2, "--csv")
        expect(table(folder) == wanted, f"the table after the death of a {victim} is that of an undisturbed sweep")
        expect(not work.exists(), "it is done")
    print(f"  {seconds:.1f} s undisturbed; {resumed} of {KILLS} resumed with units there")


@check
def bad_studies_of_clusters(session):
    """One line with the line of the study, the trace or the key; nothing left behind."""
    folder = study(session)
    for old, new, status, words in [
        ('"4x1"]', '"3x1"]', 3, "on svm-achievable 3x1: barrier"),
        ('"rdma100"', '"numa"', 3, "line 4: machine 'numa' has no [network] section"),
        ('"rdma100"', '"rdma10"', 3, "did you mean 'rdma100'?"),
        ('"nil"', '"nul"', 3, "line 6: there is no protocol of clusters 'nul'; did you mean 'nil'?"),
        ("interrupts =", "interupts =", 3, "line 9: there is no key of [[cluster]] 'interupts'; did you mean 'interrupts'?"),
        ("32768]", "32767]", 3, "line 10: l1: 'l1=32767' is no power of two"),
        ('name = "fabric"', 'blocks = "64"', 3, "ask about clusters in a study of their own"),
    ]:
        (folder / "bad.toml").write_text(STUDY.replace(old, new))
        done = session.run("sweep", folder / "bad.toml", "-o", folder / "bad.sweep", status={status, 2})
        expect(words in one_line(done), f"{words}: {tail(done.stderr)}")
    expect(not (folder / "bad.sweep").exists(), "a question that is refused makes no folder")
