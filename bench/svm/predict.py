#!/usr/bin/env python3
"""What `homenode sim cluster` says that programs take on two nodes of this machine, beside what they take: time classes of each step of the protocol over each
transport. Nothing here is a test.

    predict.py [--programs lu,fft,...] [--transport shm,tcp] [--steps base,nil] [--repeats 5] [--wait 15]
        [--homenode PATH] [--folder DIR [--again]] [--details FILE]

Calibrated, for each transport, by the primitive operations of ops.c alone: a machine file with a section [network], FOLDER/TRANSPORT.toml. Its cycles are of 0.1 ns.
Calibrated for each program, by the processor time of two threads that share memory: how long its instructions take (`--gaps`). Predicted: everything that two nodes do to each other. Programs
are recorded with two threads and run on nodes of one thread, each bound to a processor; all figures are milliseconds a thread, measured ones the median of the rounds, with lowest and highest.

What a trap costs in the kernel is compute in a run's document, and data in the model's: it is moved from data to compute. Compute has serving and interrupts in it, too.
A class is right if it is within 20 % of what was measured, or within 5 % of the whole.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench/svm"))
from calibrate import CYCLES, calibrated  # noqa: E402
from programs import FLAGS, TARGET, busy, done, share_of_others, until_quiet  # noqa: E402

CLASSES = ("compute", "data", "lock", "barrier")
NEAR, SMALL = 0.2, 0.05

# Phases that are parallel, and arguments with which a step takes some tens of milliseconds.
Program = collections.namedtuple("Program", "phases words")
PROGRAMS = {
    "lu": Program(("factor",), "-n 512"),
    "fft": Program(("transform", "inverse"), "-s XS"),
    "radix": Program(("sort",), "-s XS"),
    "radix_local": Program(("sort",), "-s XS"),
    "water": Program(("simulate",), "-n 343 -i 2"),
    "water_spatial": Program(("simulate",), "-s XS"),
    "ocean": Program(("steps",), "-s XS"),
    "barnes": Program(("gravity", "steps"), "-s XS"),
    "raytrace": Program(("render",), "-s XS"),
    "sor": Program(("relax",), "-s XS"),
}


class Bench:
    """Programs and recordings in a folder, and how they are run."""

    def __init__(self, options, folder):
        self.homenode, self.wait, self.folder, self.again = options.homenode, options.wait, folder, options.again
        self.preload = folder / "phases.so"
        done(["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", self.preload, ROOT / "bench/svm/phases.c"])

    def build(self, name):
        """Builds a program twice, natively and to be recorded, and records it with two threads."""
        recording = self.folder / f"{name}.hnt"
        if self.again and recording.exists():
            return
        flags = ["-O2", *FLAGS.get(name, "").split()]
        # What is recorded says that its memory is shared, whoever uses it: on nodes the protocol has all of it.
        for compiler, out, more in (("cc", self.folder, []), (f"{self.homenode} cc", self.folder / "recorded", ["-DHN_TRACED=1"])):
            done([ROOT / "workloads/build.sh", compiler, out, *flags, *more], env={**os.environ, "HN_ONLY": name})
        done([self.homenode, "record", "--quiet", "--force", "-o", recording, "--", self.folder / "recorded" / name,
              *PROGRAMS[name].words.split(), "-p", "2"])

    def on_nodes(self, nodes, transport, step, words, *more):
        """The document of a run."""
        kept = self.folder / "run.svm"
        kept.unlink(missing_ok=True)
        done([self.homenode, "-q", "svm", "run", "--pin", "-n", nodes, "--transport", transport, "--protocol", step, "-o", kept, *more, "--", *words])
        return json.loads(kept.read_text())

    def program(self, name, nodes, transport, step, *more):
        """Milliseconds a thread, by class, in the parallel phases of a program."""
        words = [self.folder / name, *PROGRAMS[name].words.split(), "-p", str(nodes)]
        run = self.on_nodes(nodes, transport, step, words, *more)
        threads = [t for p in run["phases"] if p["name"] in PROGRAMS[name].phases for t in p["threads"]]
        of = lambda *keys: 1e3 * sum(t[f"{key}_seconds"] for t in threads for key in keys) / nodes  # noqa: E731
        times = {"compute": of("compute", "serving"), **{key: of(key) for key in CLASSES[1:]}}
        faults = sum(t[f"{kind}_faults"] for t in threads for kind in ("read", "write")) / nodes
        return {**times, "all": sum(times.values()), "faults": faults}

    def simulated(self, name, machine, step, gaps):
        """The rows of the parallel phases of a program."""
        for phase in PROGRAMS[name].phases:
            document = printed([self.homenode, "sim", "cluster", "--quiet", "--json", "--machine", machine, "--nodes", "2x1", "--protocol", step,
                                "--phase", phase, "--gaps", f"{gaps:.4f}", self.folder / f"{name}.hnt"])
            yield json.loads(document)["rows"][0]

    def predicted(self, name, machine, step, gaps, trap):
        """As `program`, of the model; a trap takes so many cycles in the kernel."""
        rows = list(self.simulated(name, machine, step, gaps))
        of = lambda *keys: sum(row[key] for row in rows for key in keys)  # noqa: E731
        traps = trap * of("faults")
        cycles = {"compute": of("compute", "local", "interrupted") + traps, "data": of("data") - traps, "lock": of("lock"), "barrier": of("barrier")}
        times = {key: value / 2 / (1e6 * CYCLES) for key, value in cycles.items()}
        return {**times, "all": sum(times.values()), "faults": of("faults") / 2}

    def alone(self, name):
        """Milliseconds of processor time that the parallel phases of a program take with two threads that share memory, both together."""
        said = self.folder / "phases"
        said.unlink(missing_ok=True)
        done([self.folder / name, *PROGRAMS[name].words.split(), "-p", "2"],
             env={**os.environ, "LD_PRELOAD": str(self.preload), "HN_PHASES": str(said), "HN_PROCESSOR_TIME": "1"})
        phases = dict(line.split() for line in said.read_text().splitlines())
        return 1e3 * sum(float(phases[p]) for p in PROGRAMS[name].phases)

    def gaps(self, name, machine, rounds):
        """How many cycles an instruction between two references takes, so that all together take as long as natively; and how long that is. Other work only adds."""
        alone = min(self.alone(name) for _ in range(2 * rounds))
        low, high = (sum(row["compute"] + row["local"] for row in self.simulated(name, machine, "nil", g)) / (1e6 * CYCLES) for g in (0, 4))
        return max(0.0, 4 * (alone - low) / (high - low)), alone


def printed(words):
    """What a command prints."""
    ended = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"bench: {' '.join(map(str, words))}: status {ended.returncode}: {ended.stderr.strip()}")
    return ended.stdout


def is_right(measured, said, whole):
    """Whether a class is as near as it is to be."""
    return abs(said - measured) <= max(NEAR * measured, SMALL * whole)


def cell(values, said, whole):
    """What was measured, and what the model says of it."""
    middle = statistics.median(values)
    mark = "" if is_right(middle, said, whole) else " **off**"
    return f"{middle:.2f} ({min(values):.2f}-{max(values):.2f}) {said:.2f}{mark}"


def table(bench, options, machines):
    """Rows of the table, and what they come to."""
    yield ["program", "arguments", "step", "transport", *(f"{key}: measured, model" for key in CLASSES), "all: measured, model", "others"]
    right, ladder, totals = collections.Counter(), [], []
    for name in options.programs:
        bench.build(name)
        gaps, alone = bench.gaps(name, machines[options.transport[0]].path, options.repeats)
        options.details.append({"program": name, "gaps": gaps, "alone": alone})
        for transport in options.transport:
            found, others = [], []
            for _ in range(options.repeats):
                until_quiet(bench.wait)
                before = busy()
                found.append({step: bench.program(name, 2, transport, step) for step in options.steps})
                others.append(share_of_others(before, busy()))
            whole = {}
            for step in options.steps:
                machine = machines[transport]
                said = bench.predicted(name, machine.path, step, gaps, machine.trap)
                by = {key: [f[step][key] for f in found] for key in said}
                options.details.append({"program": name, "step": step, "transport": transport, "measured": by, "model": said})
                total = statistics.median(by["all"])
                whole[step] = by["all"], said["all"]
                right.update(["right" if is_right(statistics.median(by[key]), said[key], total) else "off" for key in CLASSES])
                totals.append(said["all"] / total)
                cells = [cell(by[key], said[key], total) for key in (*CLASSES, "all")]
                yield [name, PROGRAMS[name].words, step, transport, *cells, f"{100 * statistics.median(others):.0f} %"]
            ladder.append((name, transport, whole))
    yield [f"{right['right']} of {sum(right.values())} classes are within {100 * NEAR:.0f} %, or within {100 * SMALL:.0f} % of the whole; "
           f"the whole is {min(totals):.2f} to {max(totals):.2f} times what was measured, median {statistics.median(totals):.2f}"]
    yield [order(ladder, options.steps)]


def order(ladder, steps):
    """The sentence about the order of the steps."""
    told, wrong = 0, []
    for name, transport, whole in ladder:
        for a, b in zip(steps, steps[1:]):
            (first, said), (second, also) = whole[a], whole[b]
            ratios = [x / y for x, y in zip(first, second)]
            if not (min(ratios) > 1 or max(ratios) < 1):
                continue
            told += 1
            if (said > also) != (ratios[0] > 1):
                wrong.append(f"{name} over {transport} ({a} to {b})")
    return f"order of the ladder: right in {told - len(wrong)} of {told} pairs that all rounds tell apart" + (f"; wrong: {', '.join(wrong)}" if wrong else "")


def show(rows):
    """Prints rows as a table of Markdown, each as soon as it is known; a row of one cell is a sentence."""
    for number, row in enumerate(rows):
        print(f"| {' | '.join(row)} |" if len(row) > 1 else f"\n{row[0]}", flush=True)
        if number == 0:
            print("|" + " --- |" * len(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--programs", type=words, default=list(PROGRAMS))
    parser.add_argument("--transport", type=words, default=["shm", "tcp"])
    parser.add_argument("--steps", type=words, default=["base", "nil"])
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--wait", type=float, default=15, help="seconds that the machine may take to become quiet before a round; default %(default)s")
    parser.add_argument("--folder", type=pathlib.Path, help="where machines, programs and recordings go; default a temporary folder")
    parser.add_argument("--again", action="store_true", help="use what the folder has: machines, programs and recordings")
    parser.add_argument("--details", type=pathlib.Path, help="write all figures as JSON to this file")
    options = parser.parse_args()
    unknown = [name for name in options.programs if name not in PROGRAMS]
    if unknown or options.repeats < 1:
        parser.error(f"unknown programs {unknown}; there are {', '.join(PROGRAMS)}" if unknown else "repeats are at least 1")
    file, options.details = options.details, []
    with tempfile.TemporaryDirectory(prefix="homenode-svm-") as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        bench = Bench(options, folder)
        machines = {transport: calibrated(bench, transport, options.repeats) for transport in options.transport}
        for machine in machines.values():
            print(machine.sentence())
        print(f"\nmilliseconds a thread, {options.repeats} rounds: median (lowest-highest), and the model's\n")
        show(table(bench, options, machines))
    if file:
        file.write_text(json.dumps(options.details, indent=1))


if __name__ == "__main__":
    sys.exit(main())
