#!/usr/bin/env python3
"""Recomputes a report from the exported rows with pyarrow alone, and compares to the last unit.

    recompute.py HOMENODE DATASET [ace|butterfly ...]

Machines without caches: first touch, interleave, ACE(4), best static, both optima, and bytes per sharing pattern.
"""
import concurrent.futures
import json
import os
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

    def visit(self, node, lead, middle, trail):
        """A run of one node: reads, then references from the first to the last write, then reads."""
        self.uses[node] += lead + middle + trail
        self.single.step(node, lead + middle + trail)
        if lead:
            self.ace.step(node, False, lead)
            self.copies.step(node, False, lead)
        if middle:
            self.ace.step(node, True, middle)
            self.copies.solo(node, middle)
        if trail:
            self.ace.step(node, False, trail)
            self.copies.step(node, False, trail)


def static(machine, uses, home):
    """Cost of a page that always lives at `home`."""
    return sum(uses) * machine.r - uses[home] * (machine.r - 1)


def best_static(machine, uses):
    return min([static(machine, uses, home) for home in range(machine.nodes)] + [sum(uses) * machine.g])


def visits(steps, short):
    """Runs of one node; not folded over writes where a run of reads between them could pay for a copy."""
    folded, longest = rows.page_visits(steps)
    if longest <= short:
        return folded
    singles = zip(*(c.to_pylist() for c in steps))
    return ((page, node, 0 if writes else n, n if writes else 0, 0) for page, node, writes, n in singles)


def costs(path, machine, node_of):
    """Totals over all pages, by the report's names."""
    pages = {}
    page_shift, word_shift = machine.page_bytes.bit_length() - 1, machine.word_bytes.bit_length() - 1
    short = model.short_reads(machine)
    for table in rows.batches(path):
        for number, *visit in visits(rows.page_steps(table, page_shift, word_shift, node_of), short):
            page = pages.get(number)
            if page is None:
                page = pages[number] = Page(machine, visit[0])
            page.visit(*visit)
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
    word_bytes = max(1, machine.unit_bytes // 64)  # of patterns, not of the machine
    unit_shift, word_shift = machine.unit_bytes.bit_length() - 1, word_bytes.bit_length() - 1
    for table in rows.batches(path):
        for number, thread, touched, written, read_first in rows.line_turns(table, unit_shift, word_shift):
            line = lines.get(number)
            if line is None:
                line = lines[number] = patterns.Line()
            line.add(thread, touched, written, read_first)
    return patterns.totals(lines.values(), word_bytes)


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
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        reports = {name: report(homenode, dataset, name) for name in machines}
        jobs = {name: pool.submit(costs, path, model.MACHINES[name], nodes(reports[name])) for name in machines}
        lines = pool.submit(sharing, path, model.MACHINES[machines[0]])
        wrong = []
        for name, job in jobs.items():
            wrong += compare(name, job.result(), reported(reports[name]))
        theirs = {row["pattern"]: [row["bytes"], row["units"]] for row in reports[machines[0]]["patterns"]}
        return wrong + compare("patterns", lines.result(), theirs)


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
