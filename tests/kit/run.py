#!/usr/bin/env python3
"""Recall, precision and prediction error over the kit: small programs whose bugs are known by construction.

    run.py [--homenode PATH] [--only WORD,...] [--all-builds] [--jobs N] [--keep DIR]

Prints a row a program and the score. --only takes programs whose name or class contains one of the words; --all-builds
compiles each with gcc and clang at -O0, -O1 and -O2 instead of as it says. The status is 1 if the score is too low.
"""
import argparse
import os
import pathlib
import sys
import tempfile

import kit
from kit import harness


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("HOMENODE", harness.ROOT / "target/release/homenode")
    parser.add_argument("--homenode", type=pathlib.Path, default=default)
    parser.add_argument("--only", default="")
    parser.add_argument("--all-builds", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for everything that is made; kept")
    options = parser.parse_args()
    if not pathlib.Path(options.homenode).is_file():
        parser.error(f"no such command: {options.homenode}")
    chosen = [p for p in kit.programs([w for w in options.only.split(",") if w]) if harness.SLOW or not p.truth.get("slow")]
    builds = [(c, level) for c in kit.COMPILERS for level in kit.LEVELS] if options.all_builds else [(None, None)]
    low = False
    with tempfile.TemporaryDirectory(prefix="homenode-kit-") as folder:
        session = harness.Session(options.homenode, options.keep or folder)
        for compiler, level in builds:
            print(f"\n{compiler} {level}" if compiler else "", kit.HEADER, sep="\n", flush=True)
            score = kit.score(kit.run_all(session, chosen, options.jobs, compiler, level, lambda line: print(line, flush=True)))
            print(f"\n{score}")
            low |= not score.enough
    sys.exit(low)


if __name__ == "__main__":
    main()
