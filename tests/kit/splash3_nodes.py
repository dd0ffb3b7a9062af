#!/usr/bin/env python3
"""Splash-3 on nodes that share no memory: built unchanged with include/parmacs.m4, and run with pthreads and on nodes.

    splash3_nodes.py CHECKOUT [--homenode PATH] [--only WORD,...] [--nodes 2,4] [--steps base,nil] [--threads N]
                     [--transport shm | --hosts HOST,... --agent COMMAND]

CHECKOUT is a checkout of https://github.com/SakalisC/Splash-3; it is copied, not changed. m4 and make must be installed.
Prints a row a run: seconds, and whether the result is right: the program's own check passes, and it prints what it prints with pthreads.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import kit  # noqa: F401
from kit import harness

# Name: folder, program, arguments ("#" is the number of threads), file for standard input, and the lines that are its result; with
# none its end is.
PROGRAMS = {
    "lu": ("kernels/lu/contiguous_blocks", "LU", ["-p#", "-n256", "-t"], None, "TEST PASSED"),
    "lu-noncontiguous": ("kernels/lu/non_contiguous_blocks", "LU", ["-p#", "-n128", "-t"], None, "TEST PASSED"),
    "fft": ("kernels/fft", "FFT", ["-p#", "-m14", "-t"], None, "Checksum|TEST PASSED"),
    "radix": ("kernels/radix", "RADIX", ["-p#", "-n131072", "-t"], None, "PASSED: All keys in place"),
    "cholesky": ("kernels/cholesky", "CHOLESKY", ["-p#", "-t"], "inputs/tk14.O", "^PASSED"),
    "ocean": ("apps/ocean/contiguous_partitions", "OCEAN", ["-p#", "-n130", "-o"], None, "residual norm"),
    "ocean-noncontiguous": ("apps/ocean/non_contiguous_partitions", "OCEAN", ["-p#", "-n66", "-o"], None, "residual norm"),
    "water-nsquared": ("apps/water-nsquared", "WATER-NSQUARED", [], "inputs/n512-p#", r"^\s+[-0-9.]+\s+[-0-9.]+\s+[-0-9.]+(\s+[-0-9.]+)*$"),
    "water-spatial": ("apps/water-spatial", "WATER-SPATIAL", [], "inputs/n512-p#", r"^\s+[-0-9.]+\s+[-0-9.]+\s+[-0-9.]+(\s+[-0-9.]+)*$"),
    "raytrace": ("apps/raytrace", "RAYTRACE", ["-p#", "inputs/teapot.env"], None, None),
    "volrend": ("apps/volrend", "VOLREND", ["#", "inputs/head-scaleddown4", "4"], None, None),
    "barnes": ("apps/barnes", "BARNES", [], "inputs/n16384-p#", None),
    "radiosity": ("apps/radiosity", "RADIOSITY", ["-p", "#", "-batch", "-bf", "0.005"], None, None),
}
HEAP = "128G"  # non-contiguous OCEAN has its grids at their largest size


def build(codes, place, program):
    """The program, built by its own Makefile with our macros."""
    folder, include = codes / place, harness.ROOT / "include"
    command = ["make", "-C", str(folder), f"MACROS={include / 'parmacs.m4'}"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CPATH": str(include)})
    harness.expect(done.returncode == 0, f"{program} cannot be built: {harness.tail(done.stderr)}")
    return folder


def result(folder, before, program, words, text, lines):
    """What the program says of its result, and the seconds it took."""
    given = (folder / text).read_text() if text else ""
    begin = time.monotonic()
    done = subprocess.run([*before, f"./{program}", *words], cwd=folder, input=given, capture_output=True, text=True, timeout=300)
    seconds = time.monotonic() - begin
    harness.expect(done.returncode == 0, f"status {done.returncode}: {harness.tail(done.stderr)}")
    found = [line for line in done.stdout.splitlines() if lines and re.search(lines, line)]
    harness.expect(found or not lines, f"no line of a result: {harness.tail(done.stdout)}")
    return found, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("HOMENODE", harness.ROOT / "target/release/homenode")
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--homenode", type=pathlib.Path, default=default)
    parser.add_argument("--only", default="")
    parser.add_argument("--nodes", default="2,4")
    parser.add_argument("--steps", default="base,nil")
    parser.add_argument("--threads", type=int, default=1, help="threads a node")
    parser.add_argument("--transport", default="shm")
    parser.add_argument("--hosts", help="as of `homenode svm run`; 127.0.0.1,127.0.0.2 are hosts for want of others")
    parser.add_argument("--agent", default="env HN_HOST={host}", help="default %(default)s, for addresses of this machine")
    parser.add_argument("--private-pointers", default="refuse", choices=("refuse", "null"))
    options = parser.parse_args()
    if not (options.checkout / "codes").is_dir():
        parser.error(f"{options.checkout} is no checkout of Splash-3: it has no folder `codes`")
    wanted, failed = [w for w in options.only.split(",") if w], 0
    homenode = options.homenode.resolve()
    with tempfile.TemporaryDirectory(prefix="homenode-splash3-") as folder:
        codes = pathlib.Path(folder) / "codes"
        made = shutil.ignore_patterns("*.o", "*.c", "*.h")
        for top in ("apps", "kernels"):
            # What another build has expanded is left out; libraries of their own have no .in files.
            keep = ("glibdumb", "glibps", "libtiff", "rltotiff")
            ignore = lambda at, names: set() if any(k in at for k in keep) else set(made(at, names))  # noqa: E731
            shutil.copytree(options.checkout / "codes" / top, codes / top, ignore=ignore)
        shutil.copy(options.checkout / "codes/Makefile.config", codes)
        print(f"{'program':20} {'nodes':>5} {'step':5} {'pthreads, s':>12} {'nodes, s':>10}  result")
        for name in [n for n in PROGRAMS if not wanted or any(w in n for w in wanted)]:
            place, program, arguments, text, lines = PROGRAMS[name]
            for nodes in [int(n) for n in options.nodes.split(",")]:
                all_threads = str(nodes * options.threads)
                words = [a.replace("#", all_threads) for a in arguments]
                text_of = text.replace("#", all_threads) if text else None
                for step in options.steps.split(","):
                    where = ["--hosts", options.hosts, "--agent", options.agent, "--private-pointers", options.private_pointers] if options.hosts else ["--transport", options.transport]
                    before = [homenode, "-q", "svm", "run", "-n", str(nodes), "--threads", str(options.threads), "--heap", HEAP, *where]
                    try:
                        at = build(codes, place, program)
                        right, alone = result(at, [], program, words, text_of, lines)
                        found, seconds = result(at, [*before, "--protocol", step, "--"], program, words, text_of, lines)
                        harness.expect(found == right, f"pthreads say {right[-1:]}, nodes {found[-1:]}")
                        said = found[-1].strip() if found else "it ends"
                    except (AssertionError, OSError, subprocess.SubprocessError) as error:
                        failed, alone, seconds, said = failed + 1, 0.0, 0.0, f"FAILED: {error}"
                    print(f"{name:20} {nodes:>5} {step:5} {alone:>12.2f} {seconds:>10.2f}  {said}", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
