"""Timelines for Perfetto and the Firefox Profiler against the report and the exported rows of the same recording, and the rules of their formats."""
import gzip
import json

import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness import check, expect, first_touch, one_line

WORKLOAD = ("-n", "96", "-i", "2", "-p", "4")
# Picoseconds of a line written back on the machine two-socket, near and far.
NEAR, FAR = 11_300, 24_100


def recording(session):
    return session.record(session.build() / "stencil", *WORKLOAD)[0]


def exported(session, name, option):
    """The document, and what was said of it."""
    to = session.path(name)
    done = session.run("export", recording(session), option, to)
    text = gzip.decompress(to.read_bytes()) if to.suffix == ".gz" else to.read_bytes()
    return json.loads(text), done.stderr


def written_back(session):
    """What write-backs cost under first touch, by the rows of what policies see."""
    to = session.path("timeline-seen.parquet")
    session.run("export", recording(session), "--after-caches", "--machine", "two-socket", "-o", to)
    table = pq.read_table(to, columns=["charged", "times", "thread_node", "node"])
    table = table.filter(pc.equal(table["charged"], "write-back"))
    near = pc.equal(table["thread_node"], table["node"])
    times = [pc.sum(table.filter(which)["times"]).as_py() or 0 for which in (near, pc.invert(near))]
    return times[0] * NEAR + times[1] * FAR, sum(times)


@check
def perfetto(session):
    """Perfetto: slices nest, times of each counter ascend, and bytes are those of all misses."""
    document, said = exported(session, "timeline.json", "--perfetto")
    expect("Time is not that of the recording" in said, f"the axis is explained: {said}")
    expect(document["otherData"]["notes"][0] in said, "the file says so, too")
    events = document["traceEvents"]
    expect({e["ph"] for e in events} == {"M", "X", "C"}, "metadata, slices and counters")
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    slices = [e for e in events if e["ph"] == "X"]
    expect(slices and {(e["pid"], e["tid"]) for e in slices} <= named, "each slice is of a thread with a name")
    for thread in named:
        ends = []
        for e in (s for s in slices if (s["pid"], s["tid"]) == thread):
            while ends and ends[-1] <= e["ts"] + 1e-6:
                ends.pop()
            expect(not ends or e["ts"] + e["dur"] <= ends[-1] + 1e-6, f"slices nest: {e}")
            ends.append(e["ts"] + e["dur"])
    counters = {}
    for e in (e for e in events if e["ph"] == "C"):
        (value,) = e["args"].values()
        counters.setdefault((e["pid"], e["name"]), []).append((e["ts"], value))
    expect(all(v == sorted(v, key=lambda point: point[0]) for v in counters.values()), "times of a counter ascend")
    shares = [value for (_, name), points in counters.items() if "accesses" in name or "time in" in name for _, value in points]
    expect(all(0 <= value <= 100 for value in shares), "shares are percentages")
    area = lambda side: sum(
        value * (then - now) for (_, name), points in counters.items() if name.endswith(side) for (now, value), (then, _) in zip(points, points[1:]))
    totals = session.report(recording(session))["evaluations"][0]["totals"]
    _, backs = written_back(session)
    read, written = area(": read"), area(": written")
    print(f"  read {read:.0f} bytes, written {written:.0f}; {totals['memory_accesses']} accesses, {backs} of them write-backs")
    expect(abs(read / (64 * (totals["memory_accesses"] - backs)) - 1) < 0.01, "what memories read is what missed")
    expect(abs(written / (64 * backs) - 1) < 0.01, "what they write is what was written back")


@check
def firefox(session):
    """Firefox Profiler: weights add up to the report's cost but for write-backs; the hottest line is the report's."""
    document, _ = exported(session, "timeline.json.gz", "--firefox")
    expect(document["meta"]["preprocessedProfileVersion"] > 0, "the processed format")
    sums, total = {}, 0.0
    for thread in document["threads"]:
        samples, stacks, frames, funcs = (thread[t] for t in ("samples", "stackTable", "frameTable", "funcTable"))
        expect(samples["length"] == len(samples["stack"]) == len(samples["weight"]) == len(samples["timeDeltas"]), "columns are of one length")
        expect(min(samples["timeDeltas"], default=0) >= 0, "time goes forward")
        for stack, weight in zip(samples["stack"], samples["weight"]):
            total += weight
            names = []
            while stack is not None:
                names.append(thread["stringArray"][funcs["name"][frames["func"][stacks["frame"][stack]]]])
                stack = stacks["prefix"][stack]
            if len(names) > 1:
                sums[names[1]] = sums.get(names[1], 0.0) + weight
    whole = (first_touch(session.report(recording(session))) - written_back(session)[0]) / 1e9
    print(f"  {total:.6f} ms of samples, {whole:.6f} ms in the report")
    expect(abs(total - whole) <= 1e-6 * whole + 1e-9, "costs are those of the report")
    hottest = max(sums, key=sums.get)
    line = session.report(recording(session))["evaluations"][0]["lines"][0]
    expect(line["place"] in hottest and line["function"] in hottest, f"{hottest} is {line['function']} at {line['place']}")


@check
def timelines_refused(session):
    """Timelines that make no sense: refused in one line, and nothing is left."""
    dataset = recording(session)
    for arguments, status, words in [
        (("--perfetto", "x.json", "--machine", "butterfly"), 2, "its costs are no times"),
        (("--perfetto", "x.txt"), 2, "must end in .json or .gz"),
        (("--perfetto", "x.json", "--order", "recorded"), 2, "--order"),
        (("--perfetto", "x.json", "--firefox", "y.json"), 2, "cannot be used with"),
        ((), 2, "--output"),
        (("--firefox", "nowhere/x.json"), 1, "there is no folder"),
    ]:
        folder = session.path("refused")
        folder.mkdir()
        done = session.run("export", dataset, *arguments, status=status, cwd=folder)
        expect(words in one_line(done), f"{arguments}: {done.stderr}")
        expect(not list(folder.iterdir()), "nothing is left")
