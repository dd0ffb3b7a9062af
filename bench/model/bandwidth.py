#!/usr/bin/env python3
"""What `--model overlap` says that threads take which go through memory in order, without and with bandwidth, beside the time that they take here:
bandwidth.c with one thread to as many as there are processors, on the machine as `homenode topo --measure` has measured it (anew, unless --machine names a file).
Of both, what more passes take than few: first touches and starting threads are left out. Nothing here is a test.

    bandwidth.py [--homenode PATH] [--machine FILE] [--repeats 9] [--threads 1,2]
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

from run import ROOT, TARGET, output

SOURCE = ROOT / "bench/model/bandwidth.c"
PASSES = (2, 10)
# As programs that need bandwidth are built.
FLAGS = ["-O3", "-ffast-math", "-g", "-pthread"]


def native(program, threads, passes, kernel, repeats):
    """Milliseconds of the passes, the least of so many runs."""
    return min(float(output([program, threads, passes, kernel])) * 1e3 for _ in range(repeats))


def modelled(homenode, machine, recording):
    """Milliseconds of first touch: all windows, and by how much they are longer; and what is waited for."""
    words = [homenode, "report", "--quiet", recording, "--machine", machine, "--model", "overlap", "--policy", "first-touch", "--json"]
    found = json.loads(output(words))["evaluations"][0].get("traffic")
    if not found:
        sys.exit(f"bench: {machine} does not say what its memories serve")
    row = found["policies"][0]
    return row["time"] / 1e9, row["longer"] / 1e9, row["most"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--machine", type=pathlib.Path, help="machine file; default: measured now")
    parser.add_argument("--repeats", type=int, default=9, help="native runs; default %(default)s")
    parser.add_argument("--threads", help="default 1 to the number of processors, doubling")
    options = parser.parse_args()
    counts = [2**i for i in range(9) if 2**i <= (os.cpu_count() or 1)]
    if options.threads:
        counts = [int(word) for word in options.threads.split(",")]
    print(f"{'kernel':8}{'threads':>8}{'here, ms':>10}{'modelled':>10}{'ratio':>7}{'with bandwidth':>16}{'ratio':>7}  asked and served, GB/s")
    with tempfile.TemporaryDirectory(prefix="homenode-bandwidth-") as temporary:
        folder = pathlib.Path(temporary)
        machine = options.machine or folder / "this.toml"
        if not options.machine:
            output([options.homenode, "topo", "--measure", "--quiet", "--force", "-o", machine])
        plain, recorded = folder / "plain", folder / "recorded"
        output(["cc", *FLAGS, "-o", plain, SOURCE])
        output([options.homenode, "cc", *FLAGS, "-o", recorded, SOURCE])
        for kernel in ("read", "copy"):
            for threads in counts:
                here, said = [], []
                for passes in PASSES:
                    recording = folder / f"{kernel}-{threads}-{passes}.hnt"
                    output([options.homenode, "record", "--quiet", "-o", recording, "--", recorded, threads, passes, kernel])
                    here.append(native(plain, threads, passes, kernel, options.repeats))
                    said.append(modelled(options.homenode, machine, recording))
                (took, time, longer), most = ((b - a for a, b in zip(*((x, *y[:2]) for x, y in zip(here, said)))), said[1][2])
                words = f"{most['asked_mbs'] / 1e3:.1f} and {most['serves_mbs'] / 1e3:.1f}" if most else "less than it serves"
                print(f"{kernel:8}{threads:8}{took:10.1f}{time:10.1f}{time / took:7.2f}{time + longer:16.1f}{(time + longer) / took:7.2f}  {words}")


if __name__ == "__main__":
    sys.exit(main())
