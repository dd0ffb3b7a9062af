#!/usr/bin/env python3
"""The main job on real programs: record a program with the commonest NUMA bug, say what is wrong and what the repair is
worth, record the repaired program and show that the prediction came true.

Exits 1 if the finding, the prediction (within 10 %) or a saving of at least 25 % fails.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command, **options):
    """Runs a command, showing it; stops the demo if it fails."""
    words = [str(c) for c in command]
    print("\n$ " + " ".join(pretty(w) for w in words), flush=True)
    began = time.monotonic()
    done = subprocess.run(words, **options)
    if done.returncode:
        sys.exit(f"demo: {words[0]} {words[1]} ended with status {done.returncode}")
    print(f"  ({time.monotonic() - began:.1f} s)", flush=True)
    return done


def pretty(word):
    """A path of this tree relative to its root."""
    return word.replace(str(ROOT) + "/", "")


def record(homenode, out, name, size, threads):
    """Records one workload; returns the dataset's path."""
    dataset = out / f"{name}.hnt"
    run(homenode, "record", "--force", "-o", dataset, "--", out / "bin" / name, "-s", size, "-p", threads)
    return dataset


def verdict(document):
    """Checks the promise of the demo; returns the sentences that failed."""
    before, after = document["evaluations"][0], document["compare"]["evaluation"]
    failed = []
    findings = [f for f in before["findings"] if f["kind"] == "first-touch"]
    if not findings:
        return ["no first-touch finding on the program that has the bug"]
    if after["findings"]:
        failed.append("the repaired program still has findings")
    if not any("stencil.c" in place for f in findings for place in f["places"]):
        failed.append("the finding does not name the source line")
    base, realised = first_touch(before), first_touch(after)
    predicted = float(document["compare"]["predicted"])
    promised, saved = base - predicted, base - realised
    off = promised / saved - 1 if saved > 0 else float("inf")
    print(f"\ncost as it is                      {base:18,.0f} {before['unit']}")
    print(f"predicted cost after the repair    {predicted:18,.0f} {before['unit']}  saving {100 * promised / base:.1f} %")
    print(f"realised cost of the repaired program {realised:18,.0f} {before['unit']}  saving {100 * saved / base:.1f} %")
    print(f"the predicted saving is off by {100 * off:+.1f} %")
    if abs(off) > 0.10:
        failed.append(f"the predicted saving is off by {100 * off:.1f} %, more than 10 %")
    if saved < 0.25 * base:
        failed.append(f"the saving is {100 * saved / base:.1f} %, less than 25 %")
    return failed


def first_touch(evaluation):
    """Total under first touch."""
    return float(next(r["total"] for r in evaluation["policies"] if r["name"] == "first-touch"))


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homenode", type=pathlib.Path, default=ROOT / "target/release/homenode")
    parser.add_argument("--size", choices=["XS", "S"], default="S")
    parser.add_argument("--threads", default="8")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/demo")
    args = parser.parse_args()
    homenode, out = args.homenode.resolve(), args.out.resolve()
    if out.exists():
        shutil.rmtree(out)
    (out / "bin").mkdir(parents=True)
    run(ROOT / "workloads/build.sh", f"{homenode} cc", out / "bin")
    slow = record(homenode, out, "stencil", args.size, args.threads)
    run(homenode, "report", slow, "-o", out / "stencil.html")
    fast = record(homenode, out, "stencil_fixed", args.size, args.threads)
    done = run(homenode, "report", slow, "--compare", fast, "--json", stdout=subprocess.PIPE)
    failed = verdict(json.loads(done.stdout))
    for sentence in failed:
        print(f"demo: FAILED: {sentence}", file=sys.stderr)
    if not failed:
        print(f"demo: the finding, the prediction and the saving hold; open {pretty(str(out))}/stencil.html")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
