#!/usr/bin/env python3
"""The ten programs of Bilas and Singh, table 1.2, on a modelled cluster: how long a sweep takes, and references a second. Nothing here is a test.

    sweep.py sweep [--points 6] [--kill SECONDS]  host overhead, occupancy of network interfaces, rate of the I/O bus and cost of interrupts, one at a time, at so many
                                                  points each: one `homenode sweep`; after --kill it is killed with its workers, and the same command goes on
    sweep.py speeds                               `homenode sim cluster`, program by program and step by step, on one processor: references, seconds and references a second
    each with [--size XS|S] [--programs lu,fft] [--steps base,nil] [--machine svm-achievable] [--nodes 4x4] [--homenode PATH] [--folder DIR]

Threads are as many as processors. Recordings, study and result stay in --folder, and are taken from there the next time. Seconds are of the processor, and what the clock said beside them:
other work on the machine changes that one more.
"""
import argparse
import collections
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

from programs import ROOT, TARGET, done, show

# Name in workloads/build.sh, what it is built with, and arguments: those of `homenode reproduce bilas`.
Program = collections.namedtuple("Program", "flags words")
PROGRAMS = {
    "fft": Program("-DHN_PAD=2", {"XS": "-n 16384 -i 1", "S": "-n 65536 -i 1"}),
    "lu": Program("-DHN_GROUPED=1", {"XS": "-n 128 -b 8", "S": "-n 256 -b 16"}),
    "ocean": Program("-DHN_STRIPS=1", {"XS": "-n 66 -i 1", "S": "-n 130 -i 2"}),
    "water": Program("-DHN_GATHERED=1", {"XS": "-n 216 -i 1", "S": "-n 512 -i 2"}),
    "water_spatial": Program("", {"XS": "-n 216 -i 1", "S": "-s XS"}),
    "radix": Program("", {"XS": "-n 65536", "S": "-n 524288"}),
    "volrend": Program("-DHN_RECKONED=1", {"XS": "-s XS -n 32", "S": "-s XS"}),
    "raytrace": Program("-DHN_RECKONED=1", {"XS": "-s XS -n 48", "S": "-s XS"}),
    "barnes": Program("-DHN_LOCKED=1", {"XS": "-n 512 -i 1", "S": "-n 4096 -i 1"}),
    "barnes_spatial": Program("", {"XS": "-n 512 -i 1", "S": "-n 4096 -i 1"}),
}
# What is swept: from the best of table 1.1 to well beyond what is achievable.
RANGES = {"overhead": (0, 2500), "occupancy": (0, 5000), "io": (125, 2000), "interrupts": (0, 10000)}


def recordings(options):
    """Builds and records what is not there yet."""
    nodes, processors = map(int, options.nodes.split("x"))
    threads = nodes * processors
    # Instructions between references are estimated from a program that is as it was recorded.
    built = options.folder / "programs"
    for name in options.programs:
        dataset = options.folder / f"{name}-{options.size}-{threads}.hnt"
        if not (built / name).exists():
            done([ROOT / "workloads/build.sh", f"{options.homenode} cc", built, "-O2", *PROGRAMS[name].flags.split()],
                 env={**os.environ, "HN_ONLY": name})
        if not dataset.exists():
            words = PROGRAMS[name].words[options.size].split()
            done([options.homenode, "-q", "record", "-o", dataset, "--", built / name, *words, "-p", threads])
        yield name, dataset


def study(options):
    """Writes the study, beside its recordings; its path."""
    names = [dataset.name for _, dataset in recordings(options)]
    lines = [f"name = \"clusters-{options.size}\"", f"traces = {json.dumps(names)}", "[[cluster]]", "vary = \"each\"",
             f"machine = {json.dumps(options.machine)}", f"nodes = {json.dumps(options.nodes)}", f"protocols = {json.dumps(options.steps)}"]
    lines += [f"{name} = {{ from = {low}, to = {high}, points = {options.points} }}" for name, (low, high) in RANGES.items()]
    path = options.folder / "study.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def used():
    """Seconds of the processor that programs which have ended took."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime


def killed(command, seconds):
    """Runs a command in a group of its own for so long, then kills the group."""
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        process.wait(seconds)
        sys.exit("bench: the sweep was over before it was to be killed: --kill with fewer seconds")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def swept(options):
    """Rows of the table of a sweep."""
    out = options.folder / "clusters.sweep"
    command = [str(w) for w in (options.homenode, "-q", "sweep", study(options), "-o", out, "--csv", "--json", "--force")]
    yield ["call", "rows", "units there before", "clock, s", "processor, s", "M references", "M references/s a processor"]
    if options.kill:
        killed(command, options.kill)
        yield ["killed", "", "0", f"{options.kill:.0f}", "", "", ""]
        command.remove("--force")
    there = len(list((out / "work").glob("cluster-*"))) if options.kill else 0
    began, before = time.monotonic(), used()
    document = json.loads(done(command))
    clock, seconds = time.monotonic() - began, document["seconds"]["units"]
    lines = (out / "results.csv").read_text().splitlines()
    refs = lines[0].split(",").index("refs")
    refs = sum(int(line.split(",")[refs]) for line in lines[1:]) / 1e6
    yield ["to the end", str(document["rows"]), str(there), f"{clock:.0f}", f"{seconds:.0f} in units, {used() - before:.0f} in this call", f"{refs:.0f}", f"{refs / seconds:.1f}"]


# Counterfactuals that change nothing: runs more, without what all runs of a recording on a cluster have in common.
SAME = 6


def simulated(options, dataset, step, runs):
    """Seconds of the processor that so many runs take more than one does, and the references of a run."""
    command = ["taskset", "-c", options.processor, options.homenode, "-q", "sim", "cluster", dataset, "--machine", options.machine, "--nodes", options.nodes,
               "--protocol", step, "--json"]
    for more in (0, runs):
        before = used()
        rows = json.loads(done(command + (["--what-if", ",".join(["overhead=1x"] * more)] if more else [])))["rows"]
        yield used() - before, rows[0]["refs"], rows[0]["counts"]["messages"]


def speeds(options):
    """Rows of the table of speeds."""
    yield ["program", "M references", *(f"{step}, {what}" for step in options.steps for what in ("messages", "s", "M references/s", "whole command, s"))]
    for name, dataset in recordings(options):
        cells = []
        for step in options.steps:
            (first, refs, messages), (all_of, _, _) = simulated(options, dataset, step, SAME)
            run = (all_of - first) / SAME
            cells += [str(messages), f"{run:.2f}", f"{refs / 1e6 / run:.1f}", f"{first:.2f}"]
        yield [f"`{name} {PROGRAMS[name].words[options.size]}`", f"{refs / 1e6:.1f}", *cells]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("table", choices=("sweep", "speeds"))
    parser.add_argument("--size", choices=("XS", "S"), default="XS")
    parser.add_argument("--programs", type=words, default=list(PROGRAMS))
    parser.add_argument("--steps", type=words, default=["base", "nil"])
    parser.add_argument("--machine", default="svm-achievable")
    parser.add_argument("--nodes", default="4x4")
    parser.add_argument("--points", type=int, default=6)
    parser.add_argument("--kill", type=float, help="seconds after which the sweep is killed once")
    parser.add_argument("--processor", default="0", help="that `sim cluster` runs on (default 0)")
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--folder", type=pathlib.Path, help="for programs, recordings and results; default a temporary folder")
    options = parser.parse_args()
    unknown = set(options.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"unknown programs {sorted(unknown)}; there are {', '.join(PROGRAMS)}")
    if not all(part.isdigit() for part in options.nodes.split("x")) or options.nodes.count("x") != 1:
        parser.error("--nodes are nodes x processors of each, such as 4x4")
    with tempfile.TemporaryDirectory(prefix="homenode-sweep-") as temporary:
        options.folder = (options.folder or pathlib.Path(temporary)).resolve()
        options.folder.mkdir(parents=True, exist_ok=True)
        show({"sweep": swept, "speeds": speeds}[options.table](options))


if __name__ == "__main__":
    sys.exit(main())
