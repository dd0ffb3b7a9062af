#!/usr/bin/env python3
"""How slow policies in Python are: accesses a second of one that does nothing, asked one by one and folded, and of references as Arrow.

    python tests/python/speed.py RECORDING.hnt
"""
import sys
import time

import homenode as hn


class Nothing(hn.Policy):
    def decide(self, state, access):
        return None


class Folded(Nothing):
    folds = True


def main():
    recording = hn.open(sys.argv[1])

    def seconds(*policies):
        began = time.perf_counter()
        found = recording.report("numa", policies=["first-touch", *policies], threshold=100).to_dict()
        return time.perf_counter() - began, found["evaluations"][0]["totals"]["memory_accesses"]

    base, accesses = seconds()
    print(f"{accesses} accesses; the report without them takes {base:.2f} s")
    for policy in (Nothing(), Folded()):
        more = seconds(policy)[0] - base
        print(f"{type(policy).__name__}: {more:.2f} s more, {accesses / more / 1e6:.2f} M accesses/s")
    began = time.perf_counter()
    rows = sum(len(batch) for batch in recording.refs())
    took = time.perf_counter() - began
    print(f"refs(): {rows / took / 1e6:.1f} M references/s")


if __name__ == "__main__":
    main()
