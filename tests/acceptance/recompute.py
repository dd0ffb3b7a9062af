#!/usr/bin/env python3
"""Recomputes a report from the exported rows with pyarrow alone, and compares to the last unit.

    recompute.py HOMENODE DATASET [ace|butterfly ...]

Machines without caches: first touch, interleave, ACE(4), best static, both optima, and bytes per sharing pattern.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import model
import patterns
import rows

ACE_K = 4


class Page:
    """What one page costs under everything that depends on the order."""

    __slots__ = ("first", "uses", "ace", "single", "copies")

    def __init__(self, machine, node):
        self.first, self.uses = node, [0] * machine.nodes
        self.ace, self.single = model.Ace(machine, ACE_K), model.NoReplication(machine)
        self.copies = model.Replication(machine)

    def step(self, node, writes, weight):
        self.uses[node] += weight
        self.ace.step(node, writes, weight)
        self.single.step(node, writes, weight)
        self.copies.step(node, writes, weight)


def static(machine, uses, home):
    """Cost of a page that always lives at `home`."""
    return sum(uses) * machine.r - uses[home] * (machine.r - 1)


def best_static(machine, uses):
    return min([static(machine, uses, home) for home in range(machine.nodes)] + [sum(uses) * machine.g])


def costs(path, machine, node_of):
    """Totals over all pages, by the report's names."""
    pages = {}
    page_shift, word_shift = machine.page_bytes.bit_length() - 1, machine.word_bytes.bit_length() - 1
    for table in rows.batches(path):
        for number, node, writes, weight in rows.page_steps(table, page_shift, word_shift, node_of):
            page = pages.get(number)
            if page is None:
                page = pages[number] = Page(machine, node)
            page.step(node, writes, weight)
    every = pages.items()
    return {
        "first-touch": sum(static(machine, p.uses, p.first) for p in pages.values()),
        "interleave": sum(static(machine, p.uses, n % machine.nodes) for n, p in every),
        f"ace({ACE_K})": sum(p.ace.cost for p in pages.values()),
        "best static": sum(best_static(machine, p.uses) for p in pages.values()),
        "optimum without replication": sum(p.single.cost() for p in pages.values()),
        "optimum with replication": sum(p.copies.cost() for p in pages.values()),
        "blocks": len(pages),
        "accesses": sum(sum(p.uses) for p in pages.values()),
    }


def sharing(path, machine):
    """Bytes and lines by pattern."""
    lines = {}
    unit_shift, word_shift = machine.unit_bytes.bit_length() - 1, machine.word_bytes.bit_length() - 1
    for table in rows.batches(path):
        for number, thread, touched, written, read_first in rows.line_turns(table, unit_shift, word_shift):
            line = lines.get(number)
            if line is None:
                line = lines[number] = patterns.Line()
            line.add(thread, touched, written, read_first)
    return patterns.totals(lines.values(), machine.word_bytes)


def report(homenode, dataset, machine):
    """First evaluation of the report as JSON."""
    command = [homenode, "report", dataset, "--machine", machine, "--json", "--quiet"]
    done = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["evaluations"][0]


def reported(evaluation):
    """The same names from the report."""
    found = {row["name"]: int(row["total"]) for row in evaluation["policies"] + evaluation["optimum"]}
    found["blocks"] = evaluation["blocks"]
    found["accesses"] = evaluation["totals"]["memory_accesses"]
    return found


def nodes(evaluation):
    """Node of each thread, index = thread."""
    found = {row["thread"]: row["node"] for row in evaluation["threads"]}
    return [found.get(t, 0) for t in range(max(found) + 1)]


def compare(name, mine, theirs):
    """Prints both; returns the names that differ."""
    wrong = []
    for key, value in mine.items():
        other = theirs.get(key)
        same = other == value
        print(f"  {name:<10} {key:<28} {value!s:>22} {other!s:>22} {'equal' if same else 'DIFFERENT'}")
        if not same:
            wrong.append(f"{name}: {key}")
    return wrong


def check(homenode, dataset, path, machines):
    """Compares the report of a dataset with its exported rows; returns what differs."""
    wrong = []
    for name in machines:
        machine, evaluation = model.MACHINES[name], report(homenode, dataset, name)
        wrong += compare(name, costs(path, machine, nodes(evaluation)), reported(evaluation))
    theirs = {row["pattern"]: [row["bytes"], row["units"]] for row in evaluation["patterns"]}
    return wrong + compare("patterns", sharing(path, machine), theirs)


def export(homenode, dataset, folder):
    """Exports the rows in model order; returns the file."""
    path = pathlib.Path(folder) / "rows.parquet"
    subprocess.run([str(homenode), "export", str(dataset), "-o", str(path), "--quiet"], check=True)
    return path


def main():
    homenode, dataset, machines = sys.argv[1], sys.argv[2], sys.argv[3:] or list(model.MACHINES)
    with tempfile.TemporaryDirectory() as folder:
        wrong = check(homenode, dataset, export(homenode, dataset, folder), machines)
    print("recompute: " + (f"{len(wrong)} DIFFER" if wrong else "all equal"))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
