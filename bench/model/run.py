#!/usr/bin/env python3
"""What the models of misses say that kernels cost, beside the time that they take here: kernels.c, natively and recorded, on the machine as
`homenode topo --measure` has measured it (anew, unless --machine names a file). Modelled is memory time: misses, and hits in the last level where the machine prices them.
A kernel computes, too, and uses its private cache, which the models take as free: that time is measured with the same work on a quarter of a MiB. A processor does both at
once as far as it can: a kernel which computes for longer than its memory time says nothing of the model, and what it takes is the longer of the two. Nothing here is a test.

    run.py [--homenode PATH] [--machine FILE] [--repeats 5] [--only stream,chase] [--folder DIR [--again]]
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
# What a kernel takes by computing and by the model of misses that overlap.
LONGER = "longer"
NEAR = 1.5


def output(words):
    """What a command prints; a failure stops the bench."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"bench: {' '.join(map(str, words))}: status {done.returncode}")
    return done.stdout


def native(program, name, repeats):
    """Milliseconds of processor time of a kernel in so many runs, ascending: other work on the machine only adds."""
    return sorted(float(output([program, name]).split()[1]) * 1e3 for _ in range(repeats))


def predicted(homenode, machine, recording, model, name):
    """Milliseconds that a model charges to the kernel's function for misses and for hits in the last level, and the misses of the whole program by class."""
    document = json.loads(output([homenode, "report", "--quiet", recording, "--machine", machine, "--model", model, "--policy", "first-touch", "--json"]))
    found = document["evaluations"][0]
    lines = [line for line in found["lines"] if line["function"] == name]
    misses, hits = (sum(line.get(member, 0) for line in lines) / 1e9 for member in ("cost", "hit_cost"))
    return misses, hits, found["totals"]["misses"]


class Kernel:
    """A kernel: its time here, that of the same work without memory, and what the models say."""

    def __init__(self, name, here, computing):
        self.name, self.runs, self.compute = name, here, computing[0]
        self.here, self.said, self.hits, self.unknown = here[0], {}, 0.0, 0

    def ratio(self, model):
        return self.said[model] / self.here

    def computes(self, model):
        """Whether it computes for longer than the model says that it is at memory."""
        return self.compute > self.said[model]

    def is_near(self, model):
        return 1 / NEAR <= self.ratio(model) <= NEAR

    def is_before(self, other):
        """Whether it takes less time here, by more than runs of either differ: their lower halves do not overlap."""
        return self.runs[len(self.runs) // 2] < other.runs[0]


def ranks(values):
    """Places in ascending order."""
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def correlation(a, b):
    """Spearman's, without ties."""
    n = len(a)
    return 1 - 6 * sum((x - y) ** 2 for x, y in zip(ranks(a), ranks(b))) / (n * (n * n - 1)) if n > 1 else 1.0


def rank_order(kernels, model):
    """The sentence about the order of kernels: right, or which pairs the model has the wrong way round."""
    pairs = [(a, b) for a in kernels for b in kernels if a.is_before(b)]
    wrong = [(a, b) for a, b in pairs if a.said[model] >= b.said[model]]
    alike = len(kernels) * (len(kernels) - 1) // 2 - len(pairs)
    words = "right" if not wrong else "wrong: " + ", ".join(f"{b.name} before {a.name}" for a, b in wrong)
    return f"rank order: {words} ({len(pairs) - len(wrong)} of {len(pairs)} pairs{f'; {alike} more take the same time here' if alike else ''})"


def table(kernels):
    """The table, a line a kernel."""
    print(f"{'kernel':10}{'here, ms':>10}{'computing':>11}" + "".join(f"{model:>12}{'ratio':>8}" for model in (*MODELS, LONGER)) + f"{'of it hits':>12}{'unknown':>10}")
    for k in kernels:
        cells = "".join(f"{k.said[m]:12.1f}{k.ratio(m):8.2f}" for m in (*MODELS, LONGER))
        note = "  computes for longer" if k.computes("overlap") else ""
        print(f"{k.name:10}{k.here:10.1f}{k.compute:11.1f}{cells}{k.hits:12.1f}{k.unknown:10}{note}")


def summary(kernels, model):
    """What the table comes to for a model."""
    near = sum(k.is_near(model) for k in kernels)
    print(f"{model}: {near} of {len(kernels)} within a factor of {NEAR}; rank correlation {correlation([k.said[model] for k in kernels], [k.here for k in kernels]):.2f}; {rank_order(kernels, model)}")
    judged = [k for k in kernels if not k.computes(model)]
    if model != LONGER and len(judged) < len(kernels):
        near = sum(k.is_near(model) for k in judged)
        print(f"  without those that compute for longer: {near} of {len(judged)} within a factor of {NEAR}; {rank_order(judged, model)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--machine", type=pathlib.Path, help="machine file; default: measured now")
    parser.add_argument("--repeats", type=int, default=5, help="native runs of each kernel; default %(default)s")
    parser.add_argument("--only", help="kernels; default all")
    parser.add_argument("--folder", type=pathlib.Path, help="where programs and recordings go; default a temporary folder")
    parser.add_argument("--again", action="store_true", help="use the recordings that the folder has")
    options = parser.parse_args()
    if options.again and not options.folder:
        parser.error("--again needs --folder")
    with tempfile.TemporaryDirectory(prefix="homenode-model-") as temporary:
        folder = options.folder or pathlib.Path(temporary)
        machine = options.machine or folder / "this.toml"
        if not options.machine:
            output([options.homenode, "topo", "--measure", "--quiet", "--force", "-o", machine])
        plain, small, recorded = (folder / name for name in ("kernels", "kernels-small", "kernels-recorded"))
        flags = ["-O2", "-g", "-Wall", "-Wextra"]
        output(["cc", *flags, "-o", plain, SOURCE])
        output(["cc", *flags, "-DSMALL", "-o", small, SOURCE])
        if not (options.again and recorded.exists()):
            output([options.homenode, "cc", "-O2", "-g", "-o", recorded, SOURCE])
        kernels = []
        for name in options.only.split(",") if options.only else output([plain]).split():
            kernel = Kernel(name, native(plain, name, options.repeats), native(small, name, options.repeats))
            recording = folder / f"{name}.hnt"
            if not (options.again and recording.exists()):
                output([options.homenode, "record", "--quiet", "--force", "-o", recording, "--", recorded, name])
            for model in MODELS:
                misses, hits, classes = predicted(options.homenode, machine, recording, model, name)
                kernel.said[model] = misses + hits
                kernel.said[LONGER] = max(kernel.compute, kernel.said[model])
                kernel.hits, kernel.unknown = hits, classes["unknown"] if classes else 0
            kernels.append(kernel)
    table(kernels)
    for model in (*MODELS, LONGER):
        summary(kernels, model)


if __name__ == "__main__":
    sys.exit(main())
