#!/usr/bin/env python3
"""What `homenode record --sample` costs and what its ranges are worth: programs recorded whole and by some of their pages, the same run
of each as far as their threads allow, and the report of the one beside that of the other. Nothing here is a test.

    sample.py [--one-in 16] [--homenode PATH] [--only lu,sor] [--machine two-socket] [--repeats 1] [--folder DIR]
    sample.py --draws 20 ...

Held: of the ranges of policies, bounds and data objects, how many hold what the whole report says. Order: whether the objects that have a
tenth of the cost or more are in the same order in both, as far as their ranges do not overlap. Findings: those of
placement, which a report of some pages has as changes, with what they save in per cent.

With --draws nothing is recorded by some of its pages: of each whole recording so many sets of pages are drawn, and what is estimated from each
is held against all of it, by kind of figure. Ranges of one draw stand and fall together. Recordings that are in the folder are used again.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import measure

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROGRAMS = {
    "lu": "-n 768 -p 4", "sor": "-n 2050 -i 4 -p 4", "radix": "-n 1048576 -p 4", "stencil": "-n 1536 -i 3 -p 4", "fft": "-s S -p 4",
    "matmult": "-s S -p 4", "gauss": "-s S -p 4", "kv": "-s S -p 4", "msort": "-s S -p 4", "bfs": "-s S -p 4", "em3d": "-s S -p 4", "barnes": "-s S -p 4",
}


def run(words):
    """What a command prints, and how long it took; a failure stops the bench."""
    began = time.monotonic()
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"sample: {' '.join(map(str, words))}: status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout, time.monotonic() - began


def record(homenode, out, command, *more):
    """The summary of a recording, and the seconds that it took."""
    document = json.loads(run([homenode, "record", "-q", "--force", "--json", *more, "-o", out, "--", *command])[0])
    seconds = document["run_seconds"] + document["finish_seconds"]
    return document, seconds


def costs(objects):
    """Cost by name."""
    sums = {}
    for o in objects:
        sums[o["name"]] = sums.get(o["name"], 0) + o["cost"]
    return sums


def held(estimate, whole):
    """Of each range, whether it holds what the whole report says; and the objects in order."""
    base = next(p["total"] for p in whole["policies"] if p["name"] == "first-touch")
    inside = lambda value, i: i["low"] - 1e-9 * value <= value and (i["high"] is None or value <= i["high"] + 1e-9 * value)
    found = []
    for said, true in zip(estimate["policies"] + estimate["optimum"], whole["policies"] + whole["optimum"]):
        found += [inside(true["total"], said["total"]), inside(true["total"] / base, said["ratio"])]
    truth = costs(whole["objects"])
    found += [inside(truth.get(o["name"], 0) / base, o["share"]) for o in estimate["objects"]]
    large = sorted((n for n, c in truth.items() if c >= base / 10), key=lambda n: -truth[n])
    shares = {o["name"]: o["share"] for o in estimate["objects"]}
    wrong = [(a, b) for i, a in enumerate(large) for b in large[i + 1:] if a in shares and b in shares and shares[a]["high"] < shares[b]["low"]]
    return found, all(n in shares for n in large) and not wrong


PLACEMENT = ("first-touch", "owners-change", "read-shared")


def told(estimate, whole):
    """Of the whole report's findings of placement, how many are changes of the estimate, and of how many the range holds what they save; how many
    changes there are besides that save something for certain; whether those that both have are in the same order, as far as ranges do not overlap."""
    changes = {c["object"]: c["saving"] for c in estimate["changes"]}
    findings = {f["object"]: f["saving_share"] for f in whole["findings"] if f["kind"] in PLACEMENT}
    both = [o for o in findings if o in changes]
    holds = [changes[o]["low"] - 1e-9 <= findings[o] <= changes[o]["high"] + 1e-9 for o in both]
    more = [o for o, saving in changes.items() if o not in findings and saving["low"] > 0]
    wrong = [(a, b) for a in both for b in both if findings[a] > findings[b] and changes[a]["high"] < changes[b]["low"]]
    words = [f"{100 * findings[o]:.1f} in {100 * changes[o]['low']:.1f}-{100 * changes[o]['high']:.1f}" for o in both]
    return f"{len(both)}/{len(findings)} found, {sum(holds)} hold, {len(more)} more{', order differs' if wrong else ''}{': ' if words else ''}{', '.join(words)}"


def row(homenode, folder, machine, one_in, name, arguments):
    """A line of the table."""
    native, hooked = folder / "native" / name, folder / "hooked" / name
    native_s = min(run([native, *arguments])[1] for _ in range(3))
    whole_set, some_set = folder / f"{name}.hnt", folder / f"{name}-some.hnt"
    whole_recording, whole_s = record(homenode, whole_set, [hooked, *arguments])
    some_recording, some_s = record(homenode, some_set, [hooked, *arguments], "--sample", f"1/{one_in}")
    text, whole_report_s = run([homenode, "report", whole_set, "--machine", machine, "--json", "-q"])
    whole = json.loads(text)["evaluations"][0]
    text, some_report_s = run([homenode, "report", some_set, "--machine", machine, "--json", "-q"])
    estimate = json.loads(text)
    found, order = held(estimate, whole)
    base = next(p["total"] for p in whole["policies"] if p["name"] == "first-touch")
    saving = 1 - whole["optimum"][0]["total"] / base
    right = {"worth": saving >= 0.05, "little": saving < 0.05, "cannot-tell": True}[estimate["verdict"]]
    ratio, total = estimate["optimum"][0]["ratio"], next(p["total"] for p in estimate["policies"] if p["name"] == "first-touch")
    refs = some_recording["refs"] + some_recording["left_out"]
    return (name, f"{refs:,}", f"{native_s:.2f}", f"{whole_s / native_s:.1f}", f"{some_s / native_s:.1f}",
            f"{some_recording['bytes'] / whole_recording['bytes']:.3f}", f"{whole_report_s:.1f}", f"{some_report_s:.1f}", f"{estimate['blocks']:,}",
            f"{sum(found)}/{len(found)}", f"{total['low'] / base:.2f}-{(total['high'] or 0) / base:.2f}", f"{100 * (1 - ratio['high']):.0f}-{100 * (1 - ratio['low']):.0f} %", f"{100 * saving:.1f} %",
            estimate["verdict"], "" if right else "WRONG", "same" if order else "differs", told(estimate, whole)), found


def is_inside(true, low, high):
    return low - 1e-9 * true <= true <= high + 1e-9 * true


def judged(low, high, saving):
    """The verdict of a range of the optimum's ratio, as a report gives it, and whether it is wrong."""
    low, high = max(0.0, 1 - high), max(0.0, 1 - low)
    verdict = "worth" if low >= 0.05 else "little" if high < 0.05 else "cannot-tell"
    return verdict, verdict != "cannot-tell" and (verdict == "worth") != (saving >= 0.05)


def drawn(homenode, draws, folder, machine, one_in, name, arguments):
    """A line of the table of draws; what held of the totals, the ratios and the shares, each as (held, all)."""
    whole_set, said = folder / f"{name}.hnt", folder / f"{name}.{machine}.json"
    if not whole_set.exists():
        record(homenode, whole_set, [folder / "hooked" / name, *arguments])
    if not said.exists():
        said.write_text(run([homenode, "report", whole_set, "--machine", machine, "--json", "-q"])[0])
    whole = json.loads(said.read_text())["evaluations"][0]
    lines = run([TARGET / "release/examples/draws", whole_set, machine, one_in, draws])[0].splitlines()
    totals, shares = {p["name"]: p["total"] for p in whole["policies"] + whole["optimum"]}, costs(whole["objects"])
    base, best = totals["first-touch"], whole["optimum"][0]["name"]
    held_of = {kind: [0, 0] for kind in ("total", "ratio", "share")}
    verdicts, wrong, unlike, widths, saved = {"worth": 0, "little": 0, "cannot-tell": 0}, 0, 0, [], 0
    for _, kind, what, low, high in (line.split("\t") for line in lines):
        low, high = float(low), float(high)
        if kind == "unlike":
            unlike += low > 0
            continue
        true = {"total": totals.get(what, 0), "ratio": totals.get(what, 0) / base, "share": shares.get(what, 0) / base}[kind]
        held_of[kind][0] += is_inside(true, low, high)
        held_of[kind][1] += 1
        if kind == "ratio" and what == best:
            verdict, is_wrong = judged(low, high, 1 - true)
            verdicts[verdict] += 1
            wrong += is_wrong
            saved += is_inside(true, low, high)
        if kind == "total" and what == "first-touch":
            widths.append((low / base, high / base))
    middle = sorted(widths, key=lambda w: w[1] - w[0])[len(widths) // 2]
    counts = [f"{good}/{of}" for good, of in held_of.values()]
    saving = 1 - totals[best] / base
    return (name, *counts, f"{saved}/{draws}", f"{middle[0]:.2f}-{middle[1]:.2f}", str(unlike), f"{100 * saving:.1f} %",
            *(str(n) for n in verdicts.values()), str(wrong)), held_of


def table_of_draws(options, folder, names):
    """Coverage over draws of each program, and of all."""
    run(["cargo", "build", "-q", "--release", "--locked", "-p", "homenode-sim", "--example", "draws"])
    rows, sums = [], {}
    for name in names:
        line, held_of = drawn(options.homenode, options.draws, folder, options.machine, options.one_in, name, PROGRAMS[name].split())
        rows.append(line)
        print(" ".join(line), file=sys.stderr)
        for kind, (good, of) in held_of.items():
            sums[kind] = (sums.get(kind, (0, 0))[0] + good, sums.get(kind, (0, 0))[1] + of)
    head = ("program", "totals", "ratios", "shares", "saving", "total", "unlike", "true", "worth", "little", "cannot tell", "wrong")
    measure.table(f"{options.draws} draws of one page in {options.one_in} on {options.machine} (total: a middling range over the true one)", head, rows)
    print("; ".join(f"{good} of {of} {kind}s hold ({100 * good / max(of, 1):.1f} %)" for kind, (good, of) in sums.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one-in", type=int, default=16)
    parser.add_argument("--homenode", type=pathlib.Path, default=TARGET / "release/homenode")
    parser.add_argument("--machine", default="two-socket")
    parser.add_argument("--only", help="programs; default all")
    parser.add_argument("--repeats", type=int, default=1, help="recordings of each program; default %(default)s")
    parser.add_argument("--draws", type=int, help="draws from each whole recording, instead of recordings of some pages")
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the recordings; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hn-sample-") as temporary:
        folder = options.folder or pathlib.Path(temporary)
        for kind, compiler in (() if (folder / "hooked").exists() else (("native", "cc"), ("hooked", f"{options.homenode} cc"))):
            run([ROOT / "workloads/build.sh", compiler, folder / kind])
        names = options.only.split(",") if options.only else list(PROGRAMS)
        if options.draws:
            return table_of_draws(options, folder, names)
        rows, all_found = [], []
        for name in names:
            for _ in range(options.repeats):
                line, found = row(options.homenode, folder, options.machine, options.one_in, name, PROGRAMS[name].split())
                rows.append(line)
                all_found += found
                print(" ".join(line), file=sys.stderr)
    head = ("program", "references", "native s", "whole x", "some x", "size", "report s", "s", "pages", "held", "total", "saving", "true", "verdict", "", "objects", "findings")
    measure.table(f"one page in {options.one_in} on {options.machine} (x: times native; size: of the whole recording; total: range over the true one)", head, rows)
    print(f"{sum(all_found)} of {len(all_found)} ranges hold")


if __name__ == "__main__":
    main()
