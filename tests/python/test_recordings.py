"""Recordings, references as Arrow, failures, Ctrl-C."""
import csv
import os
import signal
import subprocess
import sys
import time

import duckdb
import pandas
import polars
import pyarrow
import pytest

import homenode as hn


def test_references_are_those_of_export(slow, tmp_path, homenode):
    out = tmp_path / "rows.csv"
    assert homenode("export", slow.path, "-o", out).returncode == 0
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    table = pyarrow.table(slow.refs())
    assert table.num_rows == len(rows) == slow.info()["provenance"]["refs"]
    assert table.column_names == list(rows[0])
    for name in ["thread", "addr", "size", "line", "node"]:
        said = [None if row[name] == "" else int(row[name]) for row in rows]
        assert table[name].to_pylist() == said, name
    for name in ["op", "file", "function", "object"]:
        assert table[name].to_pylist() == [row[name] or None for row in rows], name


def test_batches_have_the_size_that_was_asked_for_and_the_same_rows(slow):
    whole = pyarrow.table(slow.refs())
    batches = list(slow.refs(rows=1000))
    assert {len(b) for b in batches[:-1]} == {1000} and 0 < len(batches[-1]) <= 1000
    joined = pyarrow.concat_tables([pyarrow.table(b) for b in batches]).unify_dictionaries()
    assert joined.to_pylist() == whole.to_pylist()


def test_orders(slow):
    rows = [pyarrow.table(slow.refs(order)).num_rows for order in ["model", "recorded"]]
    assert rows[0] == rows[1]
    with pytest.raises(hn.UsageError, match="no order 'random'"):
        slow.refs("random")


def test_who_takes_arrow_takes_tables(slow):
    table = slow.report(policies=["first-touch", "interleave"]).policies
    names = ["first-touch", "interleave"]
    assert pyarrow.table(table)["name"].to_pylist() == names
    assert polars.DataFrame(table)["name"].cast(str).to_list() == names
    assert list(pandas.DataFrame(pyarrow.table(table).to_pandas())["name"]) == names
    rows = pyarrow.table(table)
    assert duckdb.sql("select name from rows order by name").fetchall() == [(n,) for n in names]
    refs = polars.DataFrame(slow.refs())
    assert refs.height == slow.info()["provenance"]["refs"]
    assert set(refs["op"].cast(str)) <= {"load", "store", "rmw", "spin"}


def test_a_stream_is_taken_once(slow):
    refs = slow.refs()
    assert pyarrow.table(refs).num_rows > 0
    with pytest.raises(hn.WorkError, match="taken already"):
        pyarrow.table(refs)


def test_failures_are_exceptions_with_the_commands_text_and_status(slow, tmp_path, homenode):
    cases = [
        (hn.UsageError, lambda: slow.report(machine="cray"), ["report", slow.path, "--machine", "cray"]),
        (hn.UsageError, lambda: slow.report(policies=["best"]), ["report", slow.path, "--policy", "best"]),
        (hn.InputError, lambda: hn.Recording(tmp_path).report(), ["report", tmp_path]),
        (hn.InputError, lambda: hn.Recording(tmp_path).info(), ["info", tmp_path]),
        (hn.InputError, lambda: hn.import_recording(__file__, tmp_path / "x.hnt"),
         ["import", __file__, "-o", tmp_path / "x.hnt"]),
    ]
    for kind, call, words in cases:
        with pytest.raises(kind) as said:
            call()
        done = homenode(*words)
        assert done.returncode == said.value.exit_status, done
        assert done.stderr == f"homenode: {said.value}\n"
    assert not (tmp_path / "x.hnt").exists()
    with pytest.raises(hn.InputError, match="no recording"):
        hn.open(tmp_path)


def test_a_program_that_fails_is_said(tmp_path):
    with pytest.raises(hn.WorkError):
        hn.record(["false"], tmp_path / "x.hnt")


def test_the_command_is_in_the_package(homenode):
    done = homenode("--version")
    assert (done.returncode, done.stdout) == (0, f"homenode {hn.__version__}\n")
    assert homenode("reprot").returncode == 2
    assert set(hn.policies()) > {"first-touch"} and "two-socket" in hn.machines()


BUSY = """
import homenode as hn, sys, pathlib
print("ready", flush=True)
try:
    while True:
        {work}
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize("work", [
    "hn.open(sys.argv[1]).report(verify=True)",
    "sum(len(b) for b in hn.open(sys.argv[1]).refs(rows=100))",
    "hn.sweep(traces=sys.argv[1], blocks='64..8192', policies='ace(1..64)', output=sys.argv[2], force=True)",
])
def test_control_c_stops_within_a_second_and_leaves_nothing(slow, tmp_path, work):
    command = [sys.executable, "-c", BUSY.format(work=work), str(slow.path), str(tmp_path / "x.sweep")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.7)
    began = time.monotonic()
    os.killpg(child.pid, signal.SIGINT)
    out, _ = child.communicate(timeout=20)
    # The goal is a second; a loaded machine gets more.
    assert time.monotonic() - began < 10
    assert (out, child.returncode) == ("stopped\n", 0)
    left = [p.name for p in tmp_path.rglob("*") if p.name.endswith(".part")]
    assert left == []


def test_what_a_program_writes_appears(tmp_path, capfd):
    (tmp_path / "app.c").write_text('#include <stdio.h>\nint main(void) { puts("out"); fputs("err\\n", stderr); return 0; }\n')
    hn.cc(tmp_path / "app.c", "-o", tmp_path / "app")
    recording = hn.record([tmp_path / "app"], tmp_path / "app.hnt")
    out, err = capfd.readouterr()
    assert out == "out\n" and "err\n" in err and "next:" not in err
    assert "hooks" == recording.info()["provenance"]["backend"]
    with pytest.raises(hn.UsageError, match="--force"):
        hn.record([tmp_path / "app"], tmp_path / "app.hnt")
