"""A machine file of two nodes of this machine for `homenode sim cluster`, from the primitive operations of ops.c alone: what its parts take, by phase, in the documents
of `homenode svm run`, and the medians that it prints. What each parameter comes from is said where it is computed."""
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE, WORDS, HALVES = 4096, 512, 1024
DIRTY, ALTERNATE = 64, 256  # pages of a release; runs of a page of which every other word is written
CYCLES = 10  # a nanosecond
CYCLES_MOST = 1 << 20  # of anything, in a machine file
TURNS = {"shm": 20_000, "tcp": 200}  # looks of a thread that waits, before it sleeps (crates/svm/src/node.rs)
LINK_BYTES = PAGE + 8 * 3  # a page and its stamps


def run(words):
    """What a command prints; a failure stops the bench."""
    ended = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"bench: {' '.join(map(str, words))}: status {ended.returncode}: {ended.stderr.strip()}")
    return ended.stdout


def medians(text):
    """Nanoseconds by name of a line that ops prints."""
    rows = (line.split("\t") for line in text.splitlines())
    return {name: 1e3 * float(median) for name, _, median, _ in rows}


def phases(document):
    """Nanoseconds and faults by phase and thread."""
    times = lambda t: {k.removesuffix("_seconds"): 1e9 * v for k, v in t.items() if k.endswith("_seconds")}  # noqa: E731
    faults = lambda t: {"faults": t["read_faults"] + t["write_faults"]}  # noqa: E731
    return {(p["name"], t["thread"]): {**times(t), **faults(t)} for p in document["phases"] for t in p["threads"]}


class Ops:
    """The operations on one step over one transport."""

    def __init__(self, bench, ops, transport, step):
        kept = bench.folder / "ops.svm"
        kept.unlink(missing_ok=True)
        self.medians = medians(run([bench.homenode, "-q", "svm", "run", "--pin", "-n", "2", "--transport", transport, "--protocol", step, "-o", kept, "--", ops]))
        self.phases = phases(json.loads(kept.read_text()))

    def each(self, phase, what, thread=1):
        """Nanoseconds of a class for each fault of thread 1 in a phase."""
        return self.phases[phase, thread][what] / self.phases[phase, 1]["faults"]


def from_ops(floors, nil, base, transport):
    """Costs in nanoseconds, by what they are of."""
    n = {}
    # A trap in the kernel: what a thread that only writes computes, a fault.
    n["trap"] = nil.each("release", "compute")
    n["protect_page"] = 60.0
    n["protect"] = nil.each("computing, again", "protect")
    # What the library does of a fault besides: a write fault, without protection and the twin, which is a copy of a page that was just read.
    write = nil.each("release", "data") - n["protect"]
    n["twin"] = min(floors["copy of a page"], write)
    n["fault"] = write - n["twin"]
    # Diffs: of one word, of every other, of all; a run takes what a message does beside its words.
    one, other, whole = (nil.each(phase, "diff") for phase in ("release", "release of every other", "release of all"))
    n["word"] = max(0.0, (whole - one) / (HALVES - 2))
    n["message"] = max(0.0, (other - one) / (ALTERNATE - 1) - 2 * n["word"])
    n["compare"] = max(0.0, (one - 2 * n["message"] - 2 * n["word"]) / HALVES)
    # A notice: what is left of a release.
    n["notice"] = max(0.0, nil.each("release", "lock") - one - n["protect_page"] - n["message"] / DIRTY)
    # A lock that was at the other node is two round trips more than one that was here, which is two entries.
    here = nil.medians["lock that was last here"]
    n["latency"] = max(0.0, (nil.medians["lock that was last at the other node"] - here) / 4)
    n["local"] = here
    # A page: what is left of a fetch.
    n["page"] = max(1.0, nil.each("computing, again", "data") - n["protect"] - n["fault"] - 2 * n["latency"] - n["message"])
    # Memory of a page, and of a twin, at the first time.
    n["first"] = max(0.0, nil.each("cold", "data") - nil.each("computing, again", "data"))
    n["first_twin"] = max(0.0, nil.each("first write", "data") - nil.each("release", "data"))
    # With interrupts: what the home computes of a request, and what is left of a fetch, half to issue, half to deliver.
    serving = base.each("computing, again", "serving", 0)
    n["request"] = max(0.0, serving - n["page"] - n["message"])
    n["interrupt"] = max(0.0, (base.each("computing, again", "data") - nil.each("computing, again", "data") - n["request"] - 2 * n["message"]) / 2)
    n["seen"] = max(0.0, base.each("order", "data") - nil.each("order", "data") - n["request"] - 2 * n["message"])
    # Who waits: some looks, then a futex.
    n["turns"] = TURNS[transport] * floors["1,000 turns of waiting"] / 1000
    n["woken"] = floors["futex round trip, parked"] / 2
    return n


class Machine:
    """A machine file, and what of a fault is the kernel's."""

    def __init__(self, path, transport, costs):
        self.path, self.transport, self.costs = path, transport, costs
        self.trap = costs["trap"] * CYCLES
        path.write_text(toml(transport, costs))

    def sentence(self):
        """The costs, for readers."""
        return f"{self.transport}, ns: " + ", ".join(f"{name} {value:.4g}" for name, value in self.costs.items())


def toml(transport, n):
    """The file. Memory: what takes longest of references, page fetches and diffs is of processors; buses and interfaces take no time of their own."""
    cycles = {name: round(value * CYCLES) for name, value in n.items()}
    rate = round(LINK_BYTES * 1000 / (n["page"] * CYCLES))
    return f"""name = "two-nodes-{transport}"
title = "Two processes of this machine, {transport}"
sources = ["operations of bench/svm/ops.c, measured by bench/svm/predict.py"]
unit = "cycle of 10000 MHz"
word_bytes = 4
page_bytes = {PAGE}
cores = [1, 1]

[read]
near = 47
far = {2 * cycles["latency"] + cycles["page"] + 1}

[copy]
fixed = {2 * cycles["latency"] + 1}
per_word = {max(1, cycles["page"] // HALVES)}

[network]
mhz = {1000 * CYCLES}
line_bytes = 64
l1_bytes = 32768
l2_bytes = 1048576
l2_ways = 8
l2_hit = 8
memory = 47
arbitration = 0
bus = 0
io = 0
link = {rate}
latency = {cycles["latency"]}
packet_bytes = {PAGE}
header_bytes = 0
host_overhead = {cycles["message"]}
occupancy = 0
interrupt = {cycles["interrupt"]}
seen = {cycles["seen"]}
sleep = [{min(cycles["turns"], CYCLES_MOST)}, {cycles["woken"]}]

[network.handlers]
fault = {cycles["fault"] + cycles["trap"]}
request = {cycles["request"]}
local = {cycles["local"]}
leader = 0
notices = [0, {cycles["notice"]}]
protect = [{cycles["protect"]}, {cycles["protect_page"]}]
shootdown = 0
first = [{cycles["first"]}, {cycles["first_twin"]}]
twin = {max(0, round(cycles["twin"] / HALVES))}
diff = [{round(n["compare"] * CYCLES)}, {round(n["word"] * CYCLES)}]
"""


def calibrated(bench, transport, repeats):
    """The machine of a transport: of each cost, the median of so many runs of the operations."""
    path, kept = bench.folder / f"{transport}.toml", bench.folder / f"{transport}.json"
    if bench.again and kept.exists():
        return Machine(path, transport, json.loads(kept.read_text()))
    ops = bench.folder / "ops"
    run(["cc", "-O2", "-g", "-Wall", "-Wextra", "-I", ROOT / "include", "-o", ops, ROOT / "bench/svm/ops.c"])
    found = []
    for _ in range(repeats):
        floors = medians(run([ops]))
        found.append(from_ops(floors, Ops(bench, ops, transport, "nil"), Ops(bench, ops, transport, "base"), transport))
    costs = {name: statistics.median(f[name] for f in found) for name in found[0]}
    kept.write_text(json.dumps(costs))
    return Machine(path, transport, costs)
