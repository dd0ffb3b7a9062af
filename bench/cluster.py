#!/usr/bin/env python3
"""What a sweep's tasks cost, and what that comes to for a trace of a terabyte and a thousand workers (docs/python.md, "Limits").

    target/python/bin/python bench/cluster.py RECORDING.hnt

Measured here, one after the other: making a partition, doing units, reading answers for the table, and Dask's scheduler with tasks that do
nothing on two processes (the floor: what no sweep can be below).
"""
import json
import pathlib
import sys
import tempfile
import time

import distributed

import homenode as hn
from homenode import _native

STUDY = {"blocks": ["64..8192"], "machines": ["numa"], "policies": ["first-touch", "ace(1..8)"], "optimum": "cost"}
#: Tasks that do nothing.
NOTHING = 2000
TRACE_BYTES = 1e12
WORKERS = 1000


def nothing(_):
    return None


def timed(work):
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done


def measure(recording, folder):
    """Seconds and bytes of a sweep's parts."""
    request = {"asked": {"inline": STUDY | {"traces": [str(recording.path)]}}, "output": str(folder / "x.sweep")}
    study = _native.Sweep(json.dumps(request))
    info = recording.info()
    found = {"refs": info["provenance"]["refs"], "bytes": info["dataset_bytes"], "units": []}
    (task,) = study.pending()
    found["partition"], _ = timed(lambda: _native.carry_out(study.folder, 1 << 30, task))
    found["partition_bytes"] = (pathlib.Path(study.folder) / "work" / "partition-0").stat().st_size
    for unit in study.pending():
        found["units"].append(timed(lambda: _native.carry_out(study.folder, 1 << 30, unit))[0])
    found["again"], _ = timed(study.pending)
    answers = [p.stat().st_size for p in pathlib.Path(study.folder).rglob("*") if "answer" in p.name or "unit" in p.name]
    found["answer_bytes"] = sum(answers) / max(1, len(answers))
    found["finish"], _ = timed(study.finish)
    return found


def scheduler():
    """Seconds of a task that does nothing."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            client.gather(client.map(nothing, range(10), pure=False))
            took, _ = timed(lambda: client.gather(client.map(nothing, range(NOTHING), pure=False)))
    return took / NOTHING


def main():
    recording = hn.open(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        m = measure(recording, pathlib.Path(folder))
    task = scheduler()
    units, each = len(m["units"]), sum(m["units"]) / len(m["units"])
    rate, unit_rate = m["refs"] / m["partition"], m["refs"] / sum(m["units"])
    print(f"{m['refs']} references in {m['bytes']} bytes ({m['bytes'] / m['refs']:.2f} a reference)")
    print(f"partition: {rate / 1e6:.1f} M references/s, {m['partition_bytes'] / m['refs']:.2f} bytes a reference")
    print(f"units: {units} of {each:.3f} s each; all of them {unit_rate / 1e6:.1f} M references/s a worker")
    print(f"answers: {m['answer_bytes']:.0f} bytes each; table {m['finish'] / units * 1e3:.2f} ms each; pending again {m['again'] * 1e3:.1f} ms")
    print(f"scheduler: {task * 1e3:.2f} ms a task, {1 / task:.0f} tasks/s")
    refs = TRACE_BYTES * m["refs"] / m["bytes"]
    print(f"\nA trace of 1 TB has {refs / 1e9:.0f} G references:")
    print(f"  its partition, one task: {refs / rate / 3600:.1f} h, and {refs * m['partition_bytes'] / m['refs'] / 1e12:.2f} TB")
    work = refs / unit_rate
    print(f"  its units: {work / 3600:.0f} h of a worker, {work / WORKERS / 60:.1f} min of {WORKERS}")
    print(f"  units that the scheduler keeps {WORKERS} workers busy with take at least {WORKERS * task:.1f} s each")
    print(f"  table: {work / (WORKERS * task) * m['finish'] / units:.0f} s if units are no longer than that")


if __name__ == "__main__":
    main()
