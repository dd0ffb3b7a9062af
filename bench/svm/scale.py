#!/usr/bin/env python3
"""Programs on modelled clusters of ever more nodes: recorded with as many threads, then run in virtual time. Prints a table: speedup and efficiency over
one processor in the parallel phase, what most of the time is, the bus, interface or link that is used most, bytes in messages and how much of them
is the protocol's own (notices and vectors), and which change saves most.

    scale.py [--programs sor,sor_grown,water] [--shapes 16x1,64x1,256x1,1024x1,64x16] [--steps base,nil] [--machine rdma100]
             [--what-if tree,overhead=0,occupancy=0,io=4x,latency=0] [--what-if-most 256] [--base-most 256] [--homenode PATH] [--folder DIR]

Base is run on up to --base-most nodes, changes on up to --what-if-most. A thousand nodes take minutes and up to 8 GB a row.
"""
import argparse
import json
import math
import pathlib
import re
import shutil
import sys
import tempfile

from programs import ROOT, TARGET, done, show

# Program, its phase, and arguments by number of threads: of the same size, grown with the threads, and one with locks.
PROGRAMS = {
    "sor": ("sor", "relax", lambda threads: "-n 2050 -i 2"),
    "sor_grown": ("sor", "relax", lambda threads: f"-n {64 * math.isqrt(threads) + 2} -i 2"),
    "water": ("water", "simulate", lambda threads: "-n 1024 -i 1"),
}
CLASSES = ["compute", "local", "data", "lock", "barrier", "other", "interrupted", "idle"]


def rows(options, dataset, shape, phase, steps, changes):
    """Rows of the model."""
    words = ["--what-if", ",".join(changes)] if changes else []
    text = done([options.homenode, "-q", "sim", "cluster", dataset, "--machine", options.machine, "--nodes", shape,
                 "--protocol", ",".join(steps), "--phase", phase, "--json", *words])
    document = json.loads(text)
    return document["mhz"], document["rows"]


def told(name, words, shape, mhz, plain, changed):
    """A row of the table: the machine as it is, and what the best change saves."""
    nodes, each = map(int, shape.split("x"))
    spent, classes = plain["cycles"] * nodes * each, sorted(CLASSES, key=lambda c: -plain[c])
    server = max(plain["servers"], key=lambda s: s["busiest"])
    counts = plain["counts"]
    own = 8 * (counts["notices"] + nodes * counts["vectors"])
    best = min(changed, key=lambda r: r["cycles"], default=None)
    saves = "" if best is None else f"{best['what_if']}: {100 - 100 * best['cycles'] / plain['cycles']:.0f} %"
    return [f"`{name}`", f"`{words}`", shape, plain["protocol"], f"{plain['cycles'] / mhz / 1000:.3f}", f"{plain['speedup']:.1f}",
            f"{100 * plain['speedup'] / (nodes * each):.1f} %", ", ".join(f"{c} {100 * plain[c] / spent:.0f}" for c in classes[:2]),
            f"{server['name']} {100 * server['busiest'] / plain['cycles']:.0f} %", f"{counts['bytes'] / 1e6:.1f}",
            f"{100 * own / max(counts['bytes'], 1):.0f} %", saves]


def table(options, folder):
    """Rows, the heading first."""
    yield ["program", "arguments", "nodes", "step", "ms", "speedup", "efficiency", "most of the time, %", "used most", "MB", "own", "saves most"]
    for name in options.programs:
        program, phase, arguments = PROGRAMS[name]
        done([*str(options.homenode).split(), "cc", "-O2", "-pthread", ROOT / f"workloads/{program}.c", "-o", folder / program, "-lm"])
        for shape in options.shapes:
            nodes, each = map(int, shape.split("x"))
            words, dataset = arguments(nodes * each), folder / f"{name}.hnt"
            shutil.rmtree(dataset, ignore_errors=True)
            done([options.homenode, "-q", "record", "-o", dataset, "--", folder / program, *words.split(), "-p", nodes * each])
            steps = [step for step in options.steps if step != "base" or nodes <= options.base_most]
            changes = options.what_if if nodes <= options.what_if_most else []
            mhz, found = rows(options, dataset, shape, phase, steps, changes)
            for step in steps:
                mine = [r for r in found if r["protocol"] == step]
                yield told(name, words, shape, mhz, mine[0], mine[1:])
            shutil.rmtree(dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: [word for word in text.split(",") if word]  # noqa: E731
    parser.add_argument("--programs", type=words, default=list(PROGRAMS))
    parser.add_argument("--shapes", type=words, default=["16x1", "64x1", "256x1", "1024x1", "64x16"])
    parser.add_argument("--steps", type=words, default=["base", "nil"])
    parser.add_argument("--machine", default="rdma100")
    parser.add_argument("--what-if", type=words, default=["tree", "overhead=0", "occupancy=0", "io=4x", "latency=0"])
    parser.add_argument("--what-if-most", type=int, default=256)
    parser.add_argument("--base-most", type=int, default=256)
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--folder", type=pathlib.Path, help="for programs and recordings; default a temporary folder")
    options = parser.parse_args()
    unknown = set(options.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"unknown programs {sorted(unknown)}; there are {', '.join(PROGRAMS)}")
    wrong = [shape for shape in options.shapes if not re.fullmatch(r"[1-9]\d*x[1-9]\d*", shape)]
    if wrong:
        parser.error(f"shapes {wrong} are not nodes x processors of each, such as 64x16")
    with tempfile.TemporaryDirectory(prefix="homenode-scale-") as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        show(table(options, folder))


if __name__ == "__main__":
    sys.exit(main())
