#!/usr/bin/env python3
"""Acceptance: the command line from outside, on real programs.

    run.py [--homenode PATH] [--only WORD,...] [--lanes N] [--keep DIR]

HOMENODE names the command if --homenode does not; HOMENODE_SLOW=1 is the slow tier. --only runs the checks whose full
name contains one of the words. Checks run in --lanes processes side by side, save for those that are about time. Ends with 'N passed, N failed'; the status is 1 if something failed.
"""
import argparse
import os
import pathlib
import sys
import tempfile
import unittest

import harness
# Each registers its checks. The longest modules come first, so that no lane is left with one of them at the end.
import check_rows  # noqa: F401
import check_repaired  # noqa: F401
import check_pages  # noqa: F401
import check_kills  # noqa: F401
import check_clusters  # noqa: F401
import check_sweep  # noqa: F401
import check_kit  # noqa: F401
import check_counts  # noqa: F401
import check_cases  # noqa: F401
import check_users  # noqa: F401
import check_bad_input  # noqa: F401
import check_hostile  # noqa: F401
import check_json  # noqa: F401
import check_limits  # noqa: F401
import check_workloads  # noqa: F401
import check_openmp  # noqa: F401
import check_order  # noqa: F401
import check_tiers  # noqa: F401
import check_svm  # noqa: F401
import check_svm_simulated  # noqa: F401
import check_layout  # noqa: F401
import check_quick  # noqa: F401
import check_gate  # noqa: F401
import check_timeline  # noqa: F401
import check_golden  # noqa: F401
import check_completions  # noqa: F401
import check_reproduce  # noqa: F401
import test_model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("HOMENODE", harness.ROOT / "target/release/homenode")
    parser.add_argument("--homenode", type=pathlib.Path, default=default)
    parser.add_argument("--only", default="")
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1, metavar="N", help="default: the number of processors")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for everything that is made; kept")
    options = parser.parse_args()
    if not pathlib.Path(options.homenode).is_file():
        parser.error(f"no such command: {options.homenode}")
    words = [w for w in options.only.split(",") if w]
    checks = [c for c in harness.CHECKS if not words or any(w in f"{c.__module__}.{c.__name__}" for w in words)]
    if not words:
        suite = unittest.defaultTestLoader.loadTestsFromModule(test_model)
        if not unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful():
            sys.exit("the plain-Python model is wrong; nothing else was tried")
    with tempfile.TemporaryDirectory(prefix="homenode-acceptance-") as folder:
        failed = harness.run_all(harness.Session(options.homenode, options.keep or folder), checks, options.lanes)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
