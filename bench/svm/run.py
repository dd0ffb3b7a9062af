#!/usr/bin/env python3
"""What operations of shared virtual memory cost on two nodes of this machine, a column a step of the protocol, beside floors of the same
run: transports by themselves (crates/svm/examples/transport_speed.rs), traps (crates/sys/examples/trap_speed.rs), a copied page, a futex between processes; and the ten
operations of table 1.5 of Bilas and Singh, with an MPI too, where one is installed. Nothing here is a test.

    run.py [--homenode PATH] [--steps base,dw,rf,dd,nil] [--transport shm,tcp] [--folder DIR]
    run.py --published [--homenode PATH] [--folder DIR]       # table 1.5 alone
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import basic  # noqa: E402
from examples import example  # noqa: E402
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
STEPS = ("base", "dw", "rf", "dd", "nil")


def output(words):
    """What a command prints; a failure stops the bench."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"bench: {' '.join(map(str, words))}: status {done.returncode}")
    return done.stdout


def measured(words):
    """Median and 99th percentile by name, in microseconds."""
    rows = (line.split("\t") for line in output(words).splitlines())
    return {name: (float(median), float(tail)) for name, _, median, tail in rows}


def table(homenode, ops, steps, transports):
    """One row an operation and transport: median and 99th percentile of each step."""
    floors = measured([ops])
    svm = [homenode, "svm", "run", "--quiet", "-n", "2"]
    words = {step: ["--protocol", step.partition("+")[0], *(f"--{o}" for o in step.split("+")[1:])] for step in steps}
    by = {(transport, step): measured([*svm, "--transport", transport, *words[step], "--", ops])
          for transport in transports for step in steps}
    names = list(by[transports[0], steps[0]])
    width = max(map(len, names)) + max(map(len, transports)) + 2
    lines = [f"{'operation (us: median / 99 %)':{width}}" + "".join(f"{step:>18}" for step in steps)]
    for name in names:
        for transport in transports:
            cells = (by[transport, step][name] for step in steps)
            lines.append(f"{f'{name}, {transport}':{width}}" + "".join(f"{f'{m:.2f} / {t:.1f}':>18}" for m, t in cells))
    lines += [f"floor: {name}: {m:.2f} / {t:.1f}" for name, (m, t) in floors.items()]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--steps", default=",".join((*STEPS, "nil+prefetch=15")),
                        help="with options of `homenode svm run` behind them; default %(default)s")
    parser.add_argument("--transport", default="shm,tcp", help="those to be measured; default %(default)s")
    parser.add_argument("--published", action="store_true", help="only the operations of table 1.5 of Bilas and Singh")
    parser.add_argument("--wait", type=float, default=15, help="seconds that the machine may take to become quiet before a column of that; default %(default)s")
    parser.add_argument("--folder", type=pathlib.Path, help="where the program is built; default a temporary folder")
    options = parser.parse_args()
    transports = options.transport.split(",")
    with tempfile.TemporaryDirectory(prefix="homenode-svm-") as temporary:
        ops = (options.folder or pathlib.Path(temporary)) / "ops"
        output(["cc", "-O2", "-g", "-Wall", "-Wextra", "-I", "include", "-o", ops, "bench/svm/ops.c"])
        if not options.published:
            print(table(options.homenode, ops, options.steps.split(","), transports))
        print("operations of table 1.5 of Bilas and Singh, medians:")
        for line in basic.table(options.homenode, ops, [*transports, "mpi"], pathlib.Path(temporary), options.wait):
            print(line, flush=True)
    if options.published:
        return
    print("what a transport costs by itself:")
    example("transport_speed", transports)
    print("floors: traps of this machine:")
    example("trap_speed")


if __name__ == "__main__":
    sys.exit(main())
