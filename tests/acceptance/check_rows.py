"""The report against a recomputation from the exported rows, and LU against its closed form."""
import csv
import subprocess
import tempfile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import recompute
import rows
from harness import SLOW, check, expect, slow_check

MACHINES = ["ace", "butterfly"]
THREADS = "8"
# A stencil of a million references.
SMALL = ("-n", "96", "-i", "3")
# A matrix of an eighth of the references of size XS, a smaller grid and a smaller stencil; the slow tier takes XS.
LU_ORDER, SOR, STENCIL = ("256", (), ()) if SLOW else ("128", ("-n", "258", "-i", "2"), SMALL)
# Picoseconds of the machine two-socket, near and far.
CHARGES = {"read": (81_100, 142_050), "write": (81_100, 142_050), "write-back": (11_300, 24_100), "nothing": (0, 0)}


def with_rows(session, name, *arguments):
    """Records one workload, exports its rows and compares all that the report says; then hands the file on."""
    dataset, _, errors = session.record(session.build() / name, "-p", THREADS, *arguments)
    with tempfile.TemporaryDirectory(dir=session.folder) as folder:
        path = recompute.export(session.homenode, dataset, folder)
        yield path, errors
        wrong = recompute.check(session.homenode, dataset, path, MACHINES)
    expect(not wrong, f"these differ: {', '.join(wrong)}")


def in_range(path, first, size):
    """References to an address range by operation, and how many of them are not 8 bytes long."""
    counts, odd = {0: 0, 1: 0, 2: 0}, 0
    for table in rows.batches(path):
        addr = rows.column(table, "addr")
        inside = pc.and_(pc.greater_equal(addr, rows.number(first)), pc.less(addr, rows.number(first + size)))
        for item in pc.value_counts(rows.column(table, "op").filter(inside)).to_pylist():
            counts[item["values"]] += item["counts"]
        odd += pc.sum(pc.not_equal(rows.column(table, "size").filter(inside), rows.number(8))).as_py() or 0
    return counts, odd


@check
def lu(session):
    """LU: the matrix's loads and stores equal the closed form; the report equals the recomputation."""
    expected = subprocess.run([str(session.build() / "lu"), "--expect", "-n", LU_ORDER], capture_output=True, text=True, check=True).stdout
    wanted = {word: int(count) for word, count in (line.split() for line in expected.splitlines())}
    for path, errors in with_rows(session, "lu", "-v", "-n", LU_ORDER):
        fields = next(line.split() for line in errors.splitlines() if line.startswith("shared matrix "))
        counts, odd = in_range(path, int(fields[2], 16), int(fields[3]))
        print(f"  closed form: {wanted}; recorded: {counts}")
        expect((counts[0], counts[1]) == (wanted["loads"], wanted["stores"]), "LU's counts differ from the closed form")
        expect(counts[2] == 0 and odd == 0, "the matrix sees loads and stores of double only")


@check
def sor(session):
    """Red-black SOR: the report equals the recomputation."""
    for _ in with_rows(session, "sor", *SOR):
        pass


@slow_check
def radix(session):
    """Radix sort at size XS: the report equals the recomputation."""
    for _ in with_rows(session, "radix"):
        pass


@check
def stencil(session):
    """The first-touch mistake: the report equals the recomputation."""
    for _ in with_rows(session, "stencil", *STENCIL):
        pass


@slow_check
def kv(session):
    """The key-value server at size XS: the report equals the recomputation."""
    for _ in with_rows(session, "kv"):
        pass


def seen_by_policies(session, dataset, *options):
    """What `export --after-caches` writes, with the cost of each row if the block were near and if it were far."""
    with tempfile.TemporaryDirectory(dir=session.folder) as folder:
        path = f"{folder}/seen.parquet"
        session.run("export", dataset, "-o", path, "--after-caches", "--quiet", *options)
        table = pq.read_table(path, columns=["addr", "charged", "times", "thread_node", "node", "space"])
    expect(pc.max(table["space"]).as_py() == 0, "one process")
    which = pc.index_in(table["charged"], value_set=pa.array(list(CHARGES)))
    times = pc.cast(table["times"], pa.int64())
    near, far = (pc.multiply(pa.array(c, pa.int64()).take(which), times) for c in zip(*CHARGES.values()))
    charged = pc.sum(pc.if_else(pc.equal(table["charged"], "nothing"), 0, times)).as_py()
    return table, near, far, charged


def homes(table, near, far):
    """Cost of all blocks where first touch, interleaving and the better node for each block put them; two nodes."""
    thread_node, block = table["thread_node"], pc.shift_right(table["addr"], pa.scalar(12, pa.uint64()))

    def at(home):
        return pc.if_else(pc.equal(thread_node, home), near, far)

    odd = pc.cast(pc.bit_wise_and(block, pa.scalar(1, pa.uint64())), pa.uint16())
    at_each = pa.table({"block": block, "zero": at(pa.scalar(0, pa.uint16())), "one": at(pa.scalar(1, pa.uint16()))})
    sums = at_each.group_by("block").aggregate([("zero", "sum"), ("one", "sum")])
    return {
        "first-touch": pc.sum(at(table["node"])).as_py(),
        "interleave": pc.sum(at(odd)).as_py(),
        "fixed(0)": pc.sum(sums["zero_sum"]).as_py(),
        "best static": pc.sum(pc.min_element_wise(sums["zero_sum"], sums["one_sum"])).as_py(),
    }


@check
def what_policies_see(session):
    """The costs of placements on a machine with caches, recomputed from `export --after-caches`, are the report's."""
    for name, size in (("stencil", SMALL), ("sor", ())):
        dataset, _, _ = session.record(session.build() / name, "-p", THREADS, *size)
        wanted = session.report(dataset, "--policy", "first-touch,interleave,fixed(0)")["evaluations"][0]
        table, near, far, charged = seen_by_policies(session, dataset)
        print(f"  {name}: {table.num_rows:,} rows; memory accesses {charged:,}")
        expect(charged == wanted["totals"]["memory_accesses"], f"{name}: {wanted['totals']['memory_accesses']} accesses")
        transfers = int(wanted["totals"]["transfer_cost"])
        for placement, cost in homes(table, near, far).items():
            row = next(r for r in wanted["policies"] + wanted["optimum"] if r["name"] == placement)
            print(f"    {placement:<12} {cost + transfers:>20,} {int(row['total']):>20,}")
            expect(cost + transfers == int(row["total"]), f"{name}: {placement} costs {row['total']}")


@check
def columns(session):
    """An export says where, what, in which phase and on which node, in words and in both kinds of file."""
    dataset, _, _ = session.record(session.build() / "stencil", "-p", THREADS, *SMALL)
    files = {kind: session.path(f"columns/rows.{kind}") for kind in ("csv", "parquet")}
    for path in files.values():
        session.run("export", dataset, "-o", path, "--quiet")
    table = pq.read_table(files["parquet"])
    with files["csv"].open(newline="") as file:
        reader = csv.reader(file)
        expect(next(reader) == table.column_names, "both have the same columns")
        first = [next(reader) for _ in range(1000)]
    rows_of = zip(*(column.to_pylist() for column in table.slice(0, 1000).columns))
    wanted = [["" if cell is None else str(cell) for cell in row] for row in rows_of]
    expect(first == wanted, "both have the same rows")
    expect(set(pc.unique(table["op"]).to_pylist()) <= set(rows.OPS), "operations are words")
    source = table.filter(pc.equal(table["file"], pc.max(table["file"])))
    for name in ("file", "line", "function", "object", "thread_node", "node"):
        expect(source[name].null_count < source.num_rows, f"{name} is known of some rows")
    remote = pc.sum(pc.not_equal(table["node"], table["thread_node"])).as_py()
    print(f"  {table.num_rows:,} rows, {remote:,} by threads of another node; {table.column_names}")
    expect(0 < remote < table.num_rows, "the first-touch mistake is visible in the columns")


@check
def policies_by_their_printed_names(session):
    """Every policy can be given back by the name that a report prints; with recorded orders all bounds spread."""
    dataset, _, _ = session.record(session.build() / "sor", "-n", "34", "-i", "2", "-p", "4")
    known = [m["name"] for m in session.json("list", "policies", "--json")["members"]]
    asked = known + ["delay(100,4)", "ace(2,0,1)", "fixed(1)", "platinum(3,7)", "affinity(1,1,1000)"]
    for machine in ("ace", "two-socket"):
        def rows_of(names):
            evaluation = session.json(
                "report", dataset, "--machine", machine, "--policy", ",".join(names), "--order", "recorded", "--json"
            )["evaluations"][0]
            return evaluation["policies"], evaluation["optimum"]
        possible = [n for n in asked if session.run(
            "report", dataset, "--machine", machine, "--policy", n, "--json", status={0, 2}).returncode == 0]
        policies, bounds = rows_of(possible)
        again, _ = rows_of([p["name"] for p in policies])
        print(f"  {machine}: {', '.join(p['name'] for p in policies)}")
        expect([p["name"] for p in policies] == [p["name"] for p in again], "the printed names are read back")
        expect([p["total"] for p in policies] == [p["total"] for p in again], "and mean the same")
        expect(len(possible) > len(known) // 2, f"most of {asked} can be had")
        expect(all(len(b["spread"]) == 2 for b in bounds + policies), "bounds and policies say how far orders matter")
        text = session.run("report", dataset, "--machine", machine, "--order", "recorded", "--quiet").stdout
        expect("over" in text and "orders" in text, "and the text says it too")
