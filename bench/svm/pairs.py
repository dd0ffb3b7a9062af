#!/usr/bin/env python3
"""Pairs of workloads on a modelled cluster, the version before and the one after: recorded, then run in virtual time. Prints a table: milliseconds and
speedup over one processor in the parallel phase, with each step of the protocol; the recordings' median, and the lowest and the highest
where they differ, because locks are had in another order.

    pairs.py [--size XS|S] [--pairs ssort,volrend_balanced] [--steps base,nil] [--machine svm-achievable] [--nodes 4x4] [--repeats 3]
             [--homenode PATH] [--folder DIR]

Threads are as many as processors. Programs whose threads take tasks from queues are built with -DHN_RECKONED=1: who takes which does not depend on this machine.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

from programs import ROOT, TARGET, done, show

# Programs from the worst to the best, the phase, what is given besides the size; named by the last.
PAIRS = [
    (("fft", "fft_staggered", "fft_balanced"), "transform", {}),
    (("radix", "radix_local", "ssort"), "sort", {"XS": "-n 262144", "S": "-n 2097152"}),
    (("barnes_rebuild", "barnes_spatial"), "gravity", {}),
    (("volrend", "volrend_balanced"), "render", {}),
    (("raytrace_ids", "raytrace"), "render", {"S": "-n 96"}),
    (("water", "water_spatial"), "simulate", {"S": "-n 1000 -i 1"}),
]


def simulated(options, folder, name, phase, words):
    """Rows of the model by step, of one recording."""
    dataset = folder / f"{name}.hnt"
    shutil.rmtree(dataset, ignore_errors=True)
    nodes, processors = map(int, options.nodes.split("x"))
    done([options.homenode, "-q", "record", "-o", dataset, "--", folder / name, *words, "-p", nodes * processors])
    text = done([options.homenode, "-q", "sim", "cluster", dataset, "--machine", options.machine, "--nodes", options.nodes,
                 "--protocol", ",".join(options.steps), "--phase", phase, "--json"])
    shutil.rmtree(dataset)
    document = json.loads(text)
    return {row["protocol"]: (row["cycles"] / document["mhz"] / 1000, row["speedup"]) for row in document["rows"]}


def told(values, digits):
    """The median, and the range unless it rounds to one figure."""
    low, middle, high = (f"{v:.{digits}f}" for v in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low}-{high})"


def table(options, folder):
    """Rows, the heading first."""
    yield ["program", "arguments"] + [f"{step}, {what}" for step in options.steps for what in ("ms", "speedup")]
    for names, phase, more in PAIRS:
        if options.pairs and names[-1] not in options.pairs:
            continue
        words = ["-s", options.size, *more.get(options.size, "").split()]
        done([ROOT / "workloads/build.sh", f"{options.homenode} cc", folder, "-O2", "-DHN_RECKONED=1"],
             env={**os.environ, "HN_ONLY": " ".join(names)})
        for name in names:
            found = [simulated(options, folder, name, phase, words) for _ in range(options.repeats)]
            yield [f"`{name}`", f"`{' '.join(words)}`"] + [
                told([f[step][part] for f in found], 1) for step in options.steps for part in (0, 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--size", choices=("XS", "S"), default="XS")
    parser.add_argument("--pairs", type=words, default=[])
    parser.add_argument("--steps", type=words, default=["base", "nil"])
    parser.add_argument("--machine", default="svm-achievable")
    parser.add_argument("--nodes", default="4x4")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--folder", type=pathlib.Path, help="for programs and recordings; default a temporary folder")
    options = parser.parse_args()
    unknown = set(options.pairs) - {names[-1] for names, _, _ in PAIRS}
    if unknown or options.repeats < 1:
        parser.error(f"unknown pairs {sorted(unknown)}; there are {', '.join(names[-1] for names, _, _ in PAIRS)}" if unknown else "repeats are at least 1")
    with tempfile.TemporaryDirectory(prefix="homenode-pairs-") as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        show(table(options, folder))


if __name__ == "__main__":
    sys.exit(main())
