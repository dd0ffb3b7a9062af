#!/usr/bin/env python3
"""What recording costs, how small the data is, how fast it is read and evaluated: one table, with everything that is
needed to run it again. Nothing here is a test: it prints, it does not judge.

    run.py [--size XS|S|M] [--homenode PATH] [--kernels lu,sor,radix] [--tables capture,report,...] [--folder DIR]

At size M (the slow tier) every native run of the gcc -O2 builds takes at least a second on two cores, and what is recorded has 3 to 10 G references.
Reports, sweeps and policies are measured at size S then, on 120 to 180 M references of each kernel; reports also on 105 MB that are referenced up to 1.5 G times.
"""
import argparse
import json
import os
import pathlib
import platform
import sys
import tempfile

import measure
from measure import Bench

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILERS = ("gcc", "clang")
LEVELS = ("-O2", "-O3")
TABLES = ("capture", "report", "sweep", "policies", "virtual", "examples", "peer")
PEER_ARGUMENTS = {"lu": ["-n", "128"], "sor": ["-n", "258", "-i", "2"], "radix": ["-n", "65536"]}


def capture_table(bench, kernels):
    """Native against counting against recording, for each kernel, compiler and level; how small the data is and how fast it is read, for
    one of each kernel, as compilers hardly change that."""
    rows, datasets = [], []
    for kernel in kernels:
        for compiler in COMPILERS:
            for level in LEVELS:
                row, dataset, refs = capture_row(bench, kernel, compiler, level)
                if (compiler, level) == ("gcc", "-O2"):
                    row += data_columns(bench, dataset, refs)
                    datasets.append((kernel, dataset))
                else:
                    row += ("", "", "")
                    bench.remove(dataset)
                rows.append(row)
    head = ("kernel", "compiler", "native s", "references", "counting s", "x", "recording s", "x", "B/ref", "compact B/ref",
            "M refs/s read")
    measure.table("capture (x: times native; goals: recording lu 9, with -O3 15, with clang 22, sor 5, radix 12; counting lu 4, with clang 11, "
                  "sor and radix 2.5; B/ref .02 on lu and sor, 1.1 on radix; read 130 M refs/s a core)", head, rows)
    return datasets


def capture_row(bench, kernel, compiler, level):
    """What a program takes natively, counting and recording; its dataset; the references in it."""
    arguments = [kernel, "-s", bench.size, "-p", bench.threads]
    native = bench.native(compiler, level, arguments)
    program = bench.program(compiler, level, kernel, hooks=True)
    counting = bench.json("record", "--count-only", "--json", "--", program, *arguments[1:])
    dataset, recording = recorded(bench, kernel, compiler, level, bench.size)
    record_s, refs = recording["run_seconds"] + recording["finish_seconds"], recording["refs"]
    row = (kernel, f"{compiler} {level}", f"{native:.3f}", f"{refs:,}", f"{counting['run_seconds']:.3f}",
           f"{counting['run_seconds'] / native:.1f}", f"{record_s:.3f}", f"{record_s / native:.1f}")
    return row, dataset, refs


def recorded(bench, kernel, compiler, level, size):
    """The dataset of a program, and what recording it printed."""
    program = bench.program(compiler, level, kernel, hooks=True)
    dataset = bench.folder / f"{kernel}-{compiler}{level}.hnt"
    return dataset, bench.json("record", "--force", "--json", "-o", dataset, "--", program, "-s", size, "-p", bench.threads)


def data_columns(bench, dataset, refs):
    """Bytes a reference as recorded and after compact, and millions of references read a second."""
    before = bench.bytes_of(dataset) / refs
    bench.run("compact", dataset)
    after = bench.bytes_of(dataset) / refs
    return f"{before:.4f}", f"{after:.4f}", f"{refs / bench.seconds('info', dataset) / 1e6:.0f}"


def report_table(bench, datasets):
    """Whole reports on one processor and on all, and first answers, beside the floor of reading the dataset once (`check`); memory that
    should follow the pages and not the references."""
    rows = []
    for name, dataset in datasets:
        info = bench.json("info", dataset, "--json")
        refs = info["ops"]["read"] + info["ops"]["write"] + info["ops"]["atomic"]
        floor, _ = bench.timed([bench.homenode, "check", dataset, "--quiet"])
        for machine in ("butterfly", "two-socket"):
            seconds, peak, document = bench.report(dataset, machine)
            alone, _, _ = bench.report(dataset, machine, processors=1)
            quick, _, first = bench.report(dataset, machine, "--quick")
            changes, _, _ = bench.report(dataset, machine, "--quick", "--changes")
            evaluation = document["evaluations"][0]
            touched = evaluation["blocks"] * evaluation["block_bytes"]
            rows.append((name, machine, f"{refs:,}", f"{touched / 1e6:.1f}", f"{seconds:.2f}", f"{1e9 * seconds / refs:.1f}",
                         f"{refs / alone / 1e6:.1f}", f"{alone / seconds:.2f}", f"{peak / 1e6:.0f}", f"{quick:.2f}",
                         first["verdict"], f"{changes:.2f}", f"{floor:.2f}"))
    head = ("dataset", "machine", "references", "MB touched", "s", "ns/ref all in", "M refs/s on one", "all over one", "peak MB", "--quick s",
            "it says", "with --changes s", "check s")
    measure.table("report (goals: 50 M references/s a core on lu and sor, 25 on radix; 1.7 on two processors; --quick 1 s for 100 M references; "
                  "1 G references over 100 MB in under 2 GiB)", head, rows)


SWEEP = """traces = ["{dataset}"]
blocks = "64..262144"
[[machine]]
base = "butterfly"
r = {{ from = 2, to = 40, points = 8 }}
R = {{ from = 100, to = 20000, points = 8, log = true }}
"""


def sweep_table(bench, datasets):
    """Whole sweeps of the exact optimum: 13 block sizes on 64 machines, by one worker and by two, from start to end."""
    rows = []
    for name, dataset in datasets:
        study = bench.folder / "sweep.toml"
        study.write_text(SWEEP.format(dataset=pathlib.Path(dataset).resolve()))
        for workers in (1, 2):
            out = bench.folder / "bench.sweep"
            done = bench.json("sweep", study, "-o", out, "--workers", workers, "--json", "--force")
            refs, spent = done["traces"][0]["refs"], done["seconds"]
            points = refs * done["rows"]
            rows.append((name, workers, f"{refs:,}", done["rows"], f"{spent['last_call']:.2f}",
                         f"{1e9 * spent['partitions'] / refs:.1f}", f"{1e9 * spent['units'] / refs:.1f}",
                         f"{points / spent['units']:.2e}", f"{points / spent['last_call']:.2e}"))
            bench.remove(out)
    head = ("dataset", "workers", "references", "configurations", "s", "cutting ns/ref", "answering ns/ref",
            "refs x conf/s/worker", "refs x conf/s all in")
    measure.table("sweep (goal: 1e10 references x configurations / s a core with AVX-512, cutting 3 ns/ref without the merge)",
                  head, rows)


def policies_table(bench, datasets):
    """What policies cost beside the optimum, on one machine at one block size, from start to end by one worker."""
    rows = []
    for name, dataset in datasets:
        alone = None
        for policies in ("none", "first-touch", "ace", "ace(1..4)"):
            study = bench.folder / "policies.toml"
            asked = "" if policies == "none" else f'policies = ["{policies}"]\n'
            study.write_text(f'traces = ["{pathlib.Path(dataset).resolve()}"]\nblocks = 4096\nmachines = ["butterfly"]\n{asked}')
            out = bench.folder / "bench.sweep"
            done = bench.json("sweep", study, "-o", out, "--workers", 1, "--json", "--force")
            seconds = done["seconds"]["last_call"]
            alone = alone or seconds
            rows.append((name, policies, f"{done['traces'][0]['refs']:,}", f"{seconds:.2f}", f"{seconds / alone:.2f}"))
            bench.remove(out)
    measure.table("sweep of policies, one machine and one block size (goals: one policy 1.5 times the optimum alone, each further one 0.1 more)",
                  ("dataset", "policies", "references", "s", "x"), rows)


VIRTUAL = {"em3d": ("-p", "8"), "lu": ("-p", "8", "-n", "128"), "radix": ("-p", "8", "-n", "131072")}


def virtual_table(bench):
    """Recordings of eight threads run again on memory systems that take time, every server on, from start to end."""
    rows = []
    for kernel, arguments in VIRTUAL.items():
        dataset = bench.folder / f"virtual-{kernel}.hnt"
        bench.json("record", "--force", "--json", "-o", dataset, "--", bench.program("gcc", "-O2", kernel, hooks=True), *arguments)
        words = [bench.homenode, "sim", "memory", dataset, "--architecture", "ascoma,rnuma,scoma", "--pressure", "70", "--json", "--quiet"]
        seconds, text = bench.timed(words)
        ran = [row["refs"] for row in json.loads(text)["rows"]]
        rows.append((" ".join([kernel, *arguments]), len(ran), f"{ran[0]:,}", f"{seconds:.2f}", f"{sum(ran) / seconds / 1e6:.1f}"))
        bench.remove(dataset)
    head = ("program", "architectures", "references", "s", "M refs/s all in")
    measure.table("virtual time: homenode sim memory at a pressure of 70 % (goal: 10 M references/s a core, all servers on)", head, rows)


def memory_datasets(bench):
    """The same memory, referenced more and more often; at size M up to 1 G references over 105 MB."""
    n, sweeps = ("3620", (2, 8, 18)) if bench.size == "M" else ("1024", (1, 4))
    program, found = bench.program("gcc", "-O2", "sor", hooks=True), []
    for i in sweeps:
        dataset = bench.folder / f"memory-{i}.hnt"
        bench.json("record", "--force", "--json", "-o", dataset, "--", program, "-n", n, "-i", i, "-p", bench.threads)
        found.append((f"sor -n {n} -i {i}", dataset))
    return found


def peer_table(bench, kernels):
    """valgrind's lackey beside the recorder, and its cachegrind beside recorder and report, per reference and both from start to end, on
    programs that they can bear."""
    rows, whole = [], []
    for kernel in kernels:
        arguments = [kernel, *PEER_ARGUMENTS[kernel], "-p", bench.threads]
        shown, native = " ".join(arguments), bench.native("gcc", "-O2", arguments)
        plain = bench.program("gcc", "-O2", kernel, hooks=False)
        lackey_s, lackey_refs = bench.lackey(plain, arguments[1:])
        cachegrind_s, cachegrind_refs = bench.cachegrind(plain, arguments[1:])
        dataset = bench.folder / "peer.hnt"
        program = bench.program("gcc", "-O2", kernel, hooks=True)
        own = bench.json("record", "--force", "--json", "-o", dataset, "--", program, *arguments[1:])
        own_s = own["run_seconds"] + own["finish_seconds"]
        report_s, _, _ = bench.report(dataset, "two-socket")
        rows.append((shown, f"{native:.4f}", f"{lackey_s:.2f}", f"{lackey_refs:,}", f"{1e9 * lackey_s / lackey_refs:.0f}",
                     f"{own_s:.3f}", f"{own['refs']:,}", f"{1e9 * own_s / own['refs']:.1f}"))
        whole.append((shown, f"{native:.4f}", f"{cachegrind_s:.2f}", f"{cachegrind_refs:,}", f"{1e9 * cachegrind_s / cachegrind_refs:.0f}",
                      f"{own_s + report_s:.2f}", f"{own['refs']:,}", f"{1e9 * (own_s + report_s) / own['refs']:.0f}"))
        bench.remove(dataset)
    head = ("program", "native s", "lackey s", "its refs", "ns/ref", "record s", "its refs", "ns/ref")
    measure.table("peer: valgrind --tool=lackey --trace-mem=yes, text to /dev/null, against homenode record, data kept", head, rows)
    head = ("program", "native s", "cachegrind s", "its refs", "ns/ref", "record + report s", "its refs", "ns/ref")
    measure.table("peer: valgrind --tool=cachegrind, the caches of one processor, against homenode record and report on two-socket: caches of "
                  "all processors, every policy, optimum and what-ifs", head, whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=["XS", "S", "M"], default="XS")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--homenode", type=pathlib.Path, default=target / "release/homenode")
    parser.add_argument("--kernels", default="lu,sor,radix")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--tables", default=",".join(TABLES), help="some of them; all if it is not given: %(default)s")
    parser.add_argument("--folder", type=pathlib.Path, help="where datasets go; default a temporary folder")
    options = parser.parse_args()
    if not options.homenode.is_file():
        parser.error(f"no such command: {options.homenode}")
    kernels, tables = options.kernels.split(","), options.tables.split(",")
    if unknown := set(tables) - set(TABLES):
        parser.error(f"no such table: {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    with tempfile.TemporaryDirectory(prefix="homenode-bench-") as temporary:
        bench = Bench(ROOT, options.homenode.resolve(), options.folder or pathlib.Path(temporary), options.size, options.threads)
        print(f"homenode bench, size {options.size}, {os.cpu_count()} processors, {platform.platform()}, {measure.processor()}")
        if options.size == "XS":
            print("At this size programs end within milliseconds: most of the x below is start-up. --size M is what the goals mean.")
        for compiler in COMPILERS:
            print(measure.first_line([compiler, "--version"]))
        if "capture" in tables:
            datasets = capture_table(bench, kernels)
        if bench.size == "M" or "capture" not in tables:
            size = "S" if bench.size == "M" else bench.size
            wanted = kernels if set(tables) - {"capture", "virtual", "peer"} else []
            datasets = [(kernel, recorded(bench, kernel, "gcc", "-O2", size)[0]) for kernel in wanted]
        made = {"report": lambda: report_table(bench, datasets + memory_datasets(bench)), "sweep": lambda: sweep_table(bench, datasets),
                "policies": lambda: policies_table(bench, datasets), "virtual": lambda: virtual_table(bench),
                "examples": lambda: measure.examples(bench.size, datasets), "peer": lambda: peer_table(bench, kernels)}
        for name in TABLES[1:]:
            if name in tables:
                made[name]()
        bench.print_commands()


if __name__ == "__main__":
    sys.exit(main())
