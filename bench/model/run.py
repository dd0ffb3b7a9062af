#!/usr/bin/env python3
"""What the models of misses say that kernels cost, beside the time that they take here: kernels.c, natively and recorded, on the machine as
`homenode topo --measure` has measured it (anew, unless --machine names a file). Ratios are of predicted to measured time; a kernel that also computes takes longer than its
misses. Nothing here is a test.

    run.py [--homenode PATH] [--machine FILE] [--repeats 5] [--only stream,chase] [--folder DIR]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SOURCE = ROOT / "bench/model/kernels.c"
MODELS = ("latency", "overlap")


def output(words):
    """What a command prints; a failure stops the bench."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"bench: {' '.join(map(str, words))}: status {done.returncode}")
    return done.stdout


def native(program, name, repeats):
    """Least milliseconds of a kernel in so many runs: other work on the machine only adds."""
    return min(float(output([program, name]).split()[1]) for _ in range(repeats)) * 1e3


def predicted(homenode, machine, recording, model, name):
    """Milliseconds that a model charges to the kernel's function, and the misses of the whole program by class."""
    document = json.loads(output([homenode, "report", "--quiet", recording, "--machine", machine, "--model", model, "--policy", "first-touch", "--json"]))
    found = document["evaluations"][0]
    lines = [line for line in found["lines"] if line["function"] == name]
    return sum(line["cost"] for line in lines) / 1e9, found["totals"]["misses"]


def ranks(values):
    """Places in ascending order."""
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def correlation(a, b):
    """Spearman's, without ties."""
    n = len(a)
    return 1 - 6 * sum((x - y) ** 2 for x, y in zip(ranks(a), ranks(b))) / (n * (n * n - 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--machine", type=pathlib.Path, help="machine file; default: measured now")
    parser.add_argument("--repeats", type=int, default=5, help="native runs of each kernel; default %(default)s")
    parser.add_argument("--only", help="kernels; default all")
    parser.add_argument("--folder", type=pathlib.Path, help="where programs and recordings go; default a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="homenode-model-") as temporary:
        folder = options.folder or pathlib.Path(temporary)
        machine = options.machine or folder / "this.toml"
        if not options.machine:
            output([options.homenode, "topo", "--measure", "--quiet", "-o", machine])
        plain, recorded = folder / "kernels", folder / "kernels-recorded"
        output(["cc", "-O2", "-g", "-Wall", "-Wextra", "-o", plain, SOURCE])
        output([options.homenode, "cc", "-O2", "-g", "-o", recorded, SOURCE])
        names = options.only.split(",") if options.only else output([plain]).split()
        measured, said, unknown = [], {model: [] for model in MODELS}, []
        for name in names:
            measured.append(native(plain, name, options.repeats))
            recording = folder / f"{name}.hnt"
            output([options.homenode, "record", "--quiet", "--force", "-o", recording, "--", recorded, name])
            for model in MODELS:
                cost, misses = predicted(options.homenode, machine, recording, model, name)
                said[model].append(cost)
            unknown.append(misses["unknown"])
    print(f"{'kernel':10}{'here, ms':>10}" + "".join(f"{model:>12}{'ratio':>8}" for model in MODELS) + f"{'unknown':>10}")
    for i, name in enumerate(names):
        cells = "".join(f"{said[m][i]:12.1f}{said[m][i] / measured[i]:8.2f}" for m in MODELS)
        print(f"{name:10}{measured[i]:10.1f}{cells}{unknown[i]:10}")
    for model in MODELS:
        near = sum(1 / 1.5 <= s / m <= 1.5 for s, m in zip(said[model], measured))
        print(f"{model}: rank correlation {correlation(said[model], measured):.2f}, {near} of {len(names)} within a factor of 1.5")


if __name__ == "__main__":
    sys.exit(main())
