#!/usr/bin/env python3
"""The 14 programs of Splash-3: built with the hooks, recorded with small inputs, and what their reports say.

    splash3.py CHECKOUT [--homenode PATH] [--only WORD,...] [--folder DIR] [--threads N]

CHECKOUT is a checkout of https://github.com/SakalisC/Splash-3; it is copied, not changed. m4 and make must be installed.
Prints a row a program and its first sentences, then what non-contiguous LU and OCEAN cost over the contiguous ones. --folder
keeps datasets and reports; there, programs that have a dataset are not recorded again.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import kit
from kit import harness

# Name: folder, program, arguments, file for its standard input ("#" is the number of threads) or the input's text.
PROGRAMS = {
    "barnes": ("apps/barnes", "BARNES", [], "\n1024\n123\n\n0.025\n0.05\n1.0\n2.0\n5.0\n0.075\n0.25\n#\n"),
    "fmm": ("apps/fmm", "FMM", [], "two cluster\nplummer\n512\n1e-6\n#\n3\n0.025\n0.0\ncost zones\n"),
    "ocean": ("apps/ocean/contiguous_partitions", "OCEAN", ["-p#", "-n258"], ""),
    "ocean-noncontiguous": ("apps/ocean/non_contiguous_partitions", "OCEAN", ["-p#", "-n258"], ""),
    "radiosity": ("apps/radiosity", "RADIOSITY", ["-p", "#", "-ae", "20000", "-bf", "0.5", "-en", "0.5", "-batch"], ""),
    "raytrace": ("apps/raytrace", "RAYTRACE", ["-p#", "-m64", "inputs/teapot.env"], ""),
    "volrend": ("apps/volrend", "VOLREND", ["#", "inputs/head-scaleddown4", "2"], ""),
    "water-nsquared": ("apps/water-nsquared", "WATER-NSQUARED", [], "1.5e-16 125 2 6\n-1 3000 3 0\n# 6.212752\n"),
    "water-spatial": ("apps/water-spatial", "WATER-SPATIAL", [], "1.5e-16 125 2 6\n-1 3000 3 0\n# 6.212752\n"),
    "cholesky": ("kernels/cholesky", "CHOLESKY", ["-p#"], "inputs/lshp.O"),
    "fft": ("kernels/fft", "FFT", ["-p#", "-m14"], ""),
    "lu": ("kernels/lu/contiguous_blocks", "LU", ["-p#", "-n256", "-b16"], ""),
    "lu-noncontiguous": ("kernels/lu/non_contiguous_blocks", "LU", ["-p#", "-n256", "-b16"], ""),
    "radix": ("kernels/radix", "RADIX", ["-p#", "-n262144"], ""),
}
PAIRS = [("lu-noncontiguous", "lu"), ("ocean-noncontiguous", "ocean")]


def build(homenode, codes, place, program):
    """The program, built by its own Makefile; the C standard of today's compilers is too strict for it."""
    folder = codes / place
    if not (folder / program).is_file():
        command = ["make", "-C", str(folder), f"CC={homenode} cc -fcommon -w"]
        done = subprocess.run(command, capture_output=True, text=True)
        harness.expect(done.returncode == 0, f"{program} cannot be built: {harness.tail(done.stderr)}")
    return folder / program


def record(session, codes, name, threads):
    """The dataset of one program."""
    place, program, arguments, text = PROGRAMS[name]
    dataset = session.folder / f"{name}.hnt"
    if dataset.exists():
        return dataset
    binary = build(session.homenode, codes, place, program)
    given = (binary.parent / text).read_text() if text.startswith("inputs/") else text.replace("#", str(threads))
    words = [a.replace("#", str(threads)) for a in arguments]
    part = session.path(f"{name}.part.hnt")
    session.run("record", "-q", "-o", part, "--", f"./{program}", *words, cwd=binary.parent, input=given, timeout=300)
    return part.rename(dataset)


def told(session, codes, name, threads):
    """Prints what the report says of one program; its total under first touch and its finding objects."""
    dataset = record(session, codes, name, threads)
    document, text = session.json("report", dataset, "--json"), session.run("report", dataset).stdout
    (session.folder / f"{name}.txt").write_text(text)
    evaluation = document["evaluations"][0]
    total, totals = harness.first_touch(document), evaluation["totals"]
    print(f"{name:20} {int(totals['refs']):>12,} {total / 1e9:>10.2f} {100 * int(totals['transfer_cost']) / total:>9.1f} %", flush=True)
    print("    " + re.sub(r"^.*?references · ", "", kit.head(text)))
    for f in evaluation["findings"]:
        print(f"    {f['kind']}: {f['object']} at {', '.join(f['places'][:3])}: {100 * (f['saving_share'] or 0):.1f} %: {f['advice']}")
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("HOMENODE", harness.ROOT / "target/release/homenode")
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--homenode", type=pathlib.Path, default=default)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    if not (options.checkout / "codes").is_dir():
        parser.error(f"{options.checkout} is no checkout of Splash-3: it has no folder `codes`")
    words, failed, totals = [w for w in options.only.split(",") if w], 0, {}
    with tempfile.TemporaryDirectory(prefix="homenode-splash3-") as folder:
        session = harness.Session(options.homenode, options.folder or folder)
        codes = session.folder / "codes"
        if not codes.is_dir():
            shutil.copytree(options.checkout / "codes", codes)
        print(f"{'program':20} {'references':>12} {'cost, ms':>10} {'transfers':>11}")
        for name in [n for n in PROGRAMS if not words or any(w in n for w in words)]:
            try:
                totals[name] = told(session, codes, name, options.threads)
            except (AssertionError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"{name:20} FAILED: {error}", flush=True)
    for bad, good in PAIRS:
        if bad in totals and good in totals:
            print(f"{bad} over {good}: x{totals[bad] / totals[good]:.1f}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
