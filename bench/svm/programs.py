#!/usr/bin/env python3
"""Workloads on nodes that share no memory: against threads that share it, and step by step up the ladder of the protocol. Measured on this
machine: the time of the first thread in the phases that are parallel, without initialising and checking. Nothing here is a test.

    programs.py threads [--programs lu,sor,fft,radix,water] [--transport shm,tcp] [--steps base,nil]
    programs.py ladder  [--programs lu,radix_local,...] [--transport shm] [--steps base,dw,rf,dd,nil]
    programs.py journals [--programs lu,water] [--transport shm] [--steps base,nil]
        [--homenode PATH] [--nodes 2] [--repeats 5] [--wait 15] [--folder DIR]

threads: seconds with as many pthreads as nodes, and how many times as long on nodes; locks taken there. A step may have an option of
`homenode svm run` behind it: nil+exclusive.
ladder: time on each step beside that of the first, and the gain of each step over the one before it.
journals: how many times as long with --journal, and how much more the processors do for the whole command; bytes of the journals of all nodes. Run in
turn with and without.

A round runs everything that is compared in turn; all figures are medians of the rounds' ratios, and in brackets the lowest and the highest. A gain is not
told ("cannot tell") unless it is more than the rounds are apart. Before a round the machine is given --wait seconds to become
quiet; `others` is the median share of the processors that other work had meanwhile.
"""
import argparse
import collections
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PUBLISHED = ROOT / "crates/papers/data/bilas_table_1_3.csv"
QUIET = 0.1  # share of the processors that others may have

# Phases that are parallel; arguments against threads, and on the ladder, where each step takes about a second; row of the published table.
Program = collections.namedtuple("Program", "phases threads ladder published")
PROGRAMS = {
    "lu": Program(("factor",), "-s M", "-n 1024", "LU-contiguous"),
    "sor": Program(("relax",), "-s M -i 12", "-s S", None),
    "fft": Program(("transform", "inverse"), "-s M", "-s S", "FFT"),
    "fft_staggered": Program(("transform", "inverse"), "-s M", "-s S", None),
    "fft_balanced": Program(("transform", "inverse"), "-s M", "-s S", None),
    "radix": Program(("sort",), "-s M", "-s S", None),
    "radix_local": Program(("sort",), "-s M", "-s S", "Radix-local"),
    "water": Program(("simulate",), "-s M -i 2", "-n 1000 -i 4", "Water-nsquared"),
    "water_gathered": Program(("simulate",), "-s M -i 8", "-n 1000 -i 20", None),
    "water_spatial": Program(("simulate",), "-s M", "-s M", "Water-spatial"),
    "barnes": Program(("gravity", "steps"), "-s S", "-s S", None),
    "barnes_rebuild": Program(("gravity", "steps"), "-s S", "-s S", "Barnes-original"),
    "barnes_spatial": Program(("gravity", "steps"), "-s S", "-s S", "Barnes-spatial"),
    "ssort": Program(("sort",), "-s M", "-s M -n 8388608", None),
    "ocean": Program(("steps",), "-s M -i 20", "-s M -i 10", "Ocean-rowwise"),
    "raytrace": Program(("render",), "-s M -n 192", "-s S", "Raytrace"),
    "raytrace_ids": Program(("render",), "-s M -n 192", "-s S -n 96", None),
    "volrend": Program(("render",), "-s M -i 8", "-s S", None),
    "volrend_balanced": Program(("render",), "-s M -i 8", "-s S", "Volrend-stealing"),
}
# Built otherwise than `build.sh` has it: the paper's Ocean is cut into strips of rows.
FLAGS = {"ocean": "-DHN_STRIPS=1"}
JOURNALLED = ("lu", "water", "raytrace_ids")
AGAINST_THREADS = ("lu", "sor", "fft", "radix", "radix_local", "water", "water_gathered", "water_spatial", "raytrace", "raytrace_ids")


class Bench:
    """Programs in a folder, and how they are run."""

    def __init__(self, options, folder):
        self.homenode, self.nodes, self.wait, self.folder = options.homenode, options.nodes, options.wait, folder
        for name in options.programs:
            build = [ROOT / "workloads/build.sh", "cc", folder, "-O2", *FLAGS.get(name, "").split()]
            done(build, env={**os.environ, "HN_ONLY": name})
        self.preload = folder / "phases.so"
        done(["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", self.preload, ROOT / "bench/svm/phases.c"])

    def on_threads(self, name, words):
        """Seconds in the parallel phases with pthreads."""
        said = self.folder / "phases"
        said.unlink(missing_ok=True)
        done([self.folder / name, *words, "-p", str(self.nodes)],
             env={**os.environ, "LD_PRELOAD": str(self.preload), "HN_PHASES": str(said)})
        phases = dict(line.split() for line in said.read_text().splitlines())
        return sum(float(phases[p]) for p in PROGRAMS[name].phases)

    def on_nodes(self, name, words, transport, step):
        """Seconds in the parallel phases on nodes, and locks taken: all, and those that came from another node. After a step's name may stand
        options, as in nil+exclusive+prefetch=4."""
        run = self.run(name, words, transport, step)
        first = [t["seconds"] for p in run["phases"] if p["name"] in PROGRAMS[name].phases for t in p["threads"] if t["thread"] == 0]
        locks = [sum(g[key] for g in run["lock_groups"]) for key in ("taken", "remote")]
        return sum(first), locks

    def run(self, name, words, transport, step, *more):
        """The document of a run on nodes."""
        step, *options = step.split("+")
        kept = self.folder / "run.svm"
        kept.unlink(missing_ok=True)
        done([self.homenode, "-q", "svm", "run", "-n", str(self.nodes), "--transport", transport, "--protocol", step, "-o", kept,
              *(f"--{option}" for option in options), *more, "--", self.folder / name, *words, "-p", str(self.nodes)])
        return json.loads(kept.read_text())

    def noted(self, name, words, transport, step, writes):
        """Seconds in the parallel phases, processor seconds of the whole command, and bytes of the journals if it `writes` some."""
        with tempfile.TemporaryDirectory(dir=self.folder) as journals:
            more = ["--journal", journals] if writes else []
            before = busy()
            run = self.run(name, words, transport, step, *more)
            processor = busy()[2] - before[2]
            size = sum(file.stat().st_size for file in pathlib.Path(journals).iterdir())
        phases = PROGRAMS[name].phases
        return sum(t["seconds"] for p in run["phases"] if p["name"] in phases for t in p["threads"] if t["thread"] == 0), processor, size

    def rounds(self, repeats, ways):
        """What each way of `ways` (name to function) gave in each round, run in turn; and the share of the processors that others had."""
        found, others = [], []
        for _ in range(repeats):
            until_quiet(self.wait)
            before = busy()
            found.append({name: way() for name, way in ways.items()})
            others.append(share_of_others(before, busy()))
        return found, statistics.median(others)


def done(words, **options):
    """Runs a command; a failure stops the bench with its last line."""
    try:
        ended = subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)
    except OSError as why:
        sys.exit(f"bench: {words[0]}: {why.strerror}; --homenode names the command, `cargo build --release -p homenode-cli` builds it")
    if ended.returncode:
        said = (ended.stdout + ended.stderr).strip().splitlines()
        sys.exit(f"bench: {' '.join(map(str, words))}: status {ended.returncode}: {said[-1] if said else ''}")


def busy():
    """Seconds: now, of the machine's processors in use, of those our own programs had."""
    fields = [int(f) for f in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    used = (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")
    own = os.times()
    return time.monotonic(), used, own.user + own.system + own.children_user + own.children_system


def share_of_others(before, after):
    """Share of all processors that were in use and not by us."""
    wall, used, own = (b - a for a, b in zip(before, after))
    return max(0.0, used - own) / (wall * os.cpu_count())


def until_quiet(seconds):
    """Waits until others leave the processors alone, but no longer than that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = busy()
        time.sleep(0.5)
        if share_of_others(before, busy()) < QUIET:
            return


def ratio(over, under):
    """Median of the rounds' ratios, with the lowest and the highest."""
    all_of = [a / b for a, b in zip(over, under)]
    return f"{statistics.median(all_of):.2f} ({min(all_of):.2f}-{max(all_of):.2f})"


def gain(slower, faster):
    """Gain in percent, the median of the rounds'; and whether it is more than they are apart. Gains and losses are told apart alike: the
    scale is that of factors."""
    factors = [math.log(a / b) for a, b in zip(slower, faster)]
    middle = statistics.median(factors)
    return 100 * math.expm1(middle), len(factors) > 2 and abs(middle) > max(factors) - min(factors)


def told(slower, faster):
    """The gain in words."""
    percent, is_certain = gain(slower, faster)
    return f"{percent:+.0f} %" if is_certain else f"cannot tell ({percent:+.0f} %)"


def against_threads(bench, options):
    """Rows of the first table."""
    ways = [(transport, step) for transport in options.transport for step in options.steps]
    yield ["program", "arguments", "pthreads, s"] + [f"{t} {s}" for t, s in ways] + ["locks: all", "remote", "others"]
    for name in options.programs:
        words = PROGRAMS[name].threads.split()
        run = {way: (lambda w=way: bench.on_nodes(name, words, *w)) for way in ways}
        found, others = bench.rounds(options.repeats, {"threads": lambda: bench.on_threads(name, words), **run})
        threads = [f["threads"] for f in found]
        locks = found[-1][ways[-1]][1]
        yield ([name, " ".join(words), f"{statistics.median(threads):.3f}"] +
               [ratio([f[way][0] for f in found], threads) for way in ways] + [*map(str, locks), f"{100 * others:.0f} %"])


def ladder(bench, options):
    """Rows of the second table, and under it the mean gain beside the published one."""
    published = {row["application"]: float(row["overall_improvement_base_to_genima_percent"])
                 for row in csv.DictReader(PUBLISHED.read_text().splitlines())}
    steps = options.steps
    pairs = list(zip(steps, steps[1:]))
    yield (["program", "arguments", f"{steps[0]}, s"] + [f"{s}/{steps[0]}" for s in steps[1:]] +
           [f"gain {a} to {b}" for a, b in pairs] + [f"{steps[0]} to {steps[-1]}", "published", "others"])
    means = []
    for name in options.programs:
        words = PROGRAMS[name].ladder.split()
        ways = {step: (lambda s=step: bench.on_nodes(name, words, options.transport[0], s)[0]) for step in steps}
        found, others = bench.rounds(options.repeats, ways)
        by = {step: [f[step] for f in found] for step in steps}
        theirs = published.get(PROGRAMS[name].published)
        if theirs is not None:
            means.append((gain(by[steps[0]], by[steps[-1]])[0], theirs))
        yield ([name, " ".join(words), f"{statistics.median(by[steps[0]]):.3f}"] + [ratio(by[s], by[steps[0]]) for s in steps[1:]] +
               [told(by[a], by[b]) for a, b in pairs] + [told(by[steps[0]], by[steps[-1]])] +
               [f"{theirs:+.1f} %" if theirs is not None else "", f"{100 * others:.0f} %"])
    if means:
        ours, theirs = (statistics.mean(side) for side in zip(*means))
        yield [f"mean of the {len(means)} that are published, {steps[0]} to {steps[-1]}: {ours:+.1f} % measured here, {theirs:+.1f} % published "
               f"({statistics.mean(published.values()):+.1f} % for all {len(published)})"]


def journals(bench, options):
    """Rows of the third table."""
    transport = options.transport[0]
    yield ["program", "arguments", "step", "phases, s", "with journals", "processors, s", "with journals", "MB of journals", "others"]
    for name in options.programs:
        words = PROGRAMS[name].ladder.split()
        for step in options.steps:
            ways = {writes: (lambda w=writes, s=step: bench.noted(name, words, transport, s, w)) for writes in (False, True)}
            found, others = bench.rounds(options.repeats, ways)
            without, noted = ([f[writes] for f in found] for writes in (False, True))
            cells = []
            for part in (0, 1):
                before = [way[part] for way in without]
                cells += [f"{statistics.median(before):.3f}", ratio([way[part] for way in noted], before)]
            yield [name, " ".join(words), step, *cells, f"{statistics.median(way[2] for way in noted) / 1e6:.1f}", f"{100 * others:.0f} %"]


def show(rows):
    """Prints rows as a table of Markdown, each as soon as it is known; a row of one cell is a sentence."""
    for number, row in enumerate(rows):
        print(f"| {' | '.join(row)} |" if len(row) > 1 else f"\n{row[0]}", flush=True)
        if number == 0:
            print("|" + " --- |" * len(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("threads", "ladder", "journals"))
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--programs", type=words)
    parser.add_argument("--transport", type=words)
    parser.add_argument("--steps", type=words)
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--wait", type=float, default=15)
    parser.add_argument("--folder", type=pathlib.Path, help="where programs are built; default a temporary folder")
    options = parser.parse_args()
    table, programs, transport, steps = {
        "threads": (against_threads, AGAINST_THREADS, ["shm", "tcp"], ["base", "nil"]),
        "ladder": (ladder, PROGRAMS, ["shm"], ["base", "dw", "rf", "dd", "nil"]),
        "journals": (journals, JOURNALLED, ["shm"], ["base", "nil"]),
    }[options.table]
    options.programs = options.programs or list(programs)
    options.transport, options.steps = options.transport or transport, options.steps or steps
    unknown = [name for name in options.programs if name not in PROGRAMS]
    if unknown or options.repeats < 1 or options.nodes < 1:
        parser.error(f"unknown programs {unknown}; there are {', '.join(PROGRAMS)}" if unknown else "nodes and repeats are at least 1")
    with tempfile.TemporaryDirectory(prefix="homenode-svm-") as temporary:
        bench = Bench(options, options.folder or pathlib.Path(temporary))
        print(f"measured: {options.nodes} nodes of one thread, {os.cpu_count()} processors, {options.repeats} rounds; medians (lowest-highest)\n")
        show(table(bench, options))


if __name__ == "__main__":
    sys.exit(main())
