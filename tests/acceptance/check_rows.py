"""The report against a recomputation from the exported rows, and LU against its closed form."""
import subprocess
import tempfile

import pyarrow.compute as pc

import recompute
import rows
from harness import check, expect, slow_check

MACHINES = ["ace", "butterfly"]
THREADS = "8"


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
    """LU at size XS: the matrix's loads and stores equal the closed form; the report equals the recomputation."""
    expected = subprocess.run([str(session.build() / "lu"), "--expect"], capture_output=True, text=True, check=True).stdout
    wanted = {word: int(count) for word, count in (line.split() for line in expected.splitlines())}
    for path, errors in with_rows(session, "lu", "-v"):
        fields = next(line.split() for line in errors.splitlines() if line.startswith("shared matrix "))
        counts, odd = in_range(path, int(fields[2], 16), int(fields[3]))
        print(f"  closed form: {wanted}; recorded: {counts}")
        expect((counts[0], counts[1]) == (wanted["loads"], wanted["stores"]), "LU's counts differ from the closed form")
        expect(counts[2] == 0 and odd == 0, "the matrix sees loads and stores of double only")


@check
def sor(session):
    """Red-black SOR at size XS: the report equals the recomputation."""
    for _ in with_rows(session, "sor"):
        pass


@slow_check
def radix(session):
    """Radix sort at size XS: the report equals the recomputation."""
    for _ in with_rows(session, "radix"):
        pass


@check
def stencil(session):
    """The first-touch mistake at size XS: the report equals the recomputation."""
    for _ in with_rows(session, "stencil"):
        pass


@slow_check
def kv(session):
    """The key-value server at size XS: the report equals the recomputation."""
    for _ in with_rows(session, "kv"):
        pass
