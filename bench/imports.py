#!/usr/bin/env python3
"""Importing a table of references, beside what pyarrow takes to read the same file into memory and nothing more.

    .venv/bin/python bench/imports.py [--homenode PATH] [--rows N]

Seconds are of the processor; pyarrow has one thread. An import reads the table twice, and orders, encodes and writes the references. Binary
recordings, of which there are more records a second: `cargo run --release -p homenode-import --example import_speed`.
"""
import argparse
import pathlib
import random
import resource
import subprocess
import tempfile
import time

import pyarrow.csv
import pyarrow.parquet

import measure

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROUNDS = 3


def table(path, rows):
    """References of two threads to an array and to random places, with the columns of an export."""
    rng = random.Random(1)
    with path.open("w") as file:
        file.write("thread,addr,size,op,site,file,line,function\n")
        for i in range(rows):
            addr = 0x7100_0000 + rng.randrange(1 << 20) * 8 if i % 2 else 0x7000_0000 + i % 100_000 * 8
            op = ("load", "load", "store")[i % 3]
            file.write(f"{i // 1000 % 2},{addr},8,{op},{i % 3},src/walk.c,{40 + i % 3},walk\n")


def imported(homenode, path):
    """Processor seconds of an import."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used()
    subprocess.run([homenode, "import", "-q", "--force", "-o", path.with_suffix(".hnt"), path], check=True, stdout=subprocess.DEVNULL)
    return used() - before


def read(path):
    """Processor seconds of pyarrow."""
    began = time.process_time()
    if path.suffix == ".csv":
        dictionaries = pyarrow.csv.ConvertOptions(auto_dict_encode=True)
        pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(use_threads=False), convert_options=dictionaries)
    else:
        pyarrow.parquet.read_table(path, use_threads=False)
    return time.process_time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homenode", type=pathlib.Path, default=ROOT / "target/release/homenode")
    parser.add_argument("--rows", type=int, default=4_000_000)
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory(prefix="homenode-imports-") as folder:
        text, packed = pathlib.Path(folder) / "text.csv", pathlib.Path(folder) / "packed.parquet"
        table(text, options.rows)
        pyarrow.parquet.write_table(pyarrow.csv.read_csv(text), packed, compression="zstd")
        for path in (text, packed):
            rounds = [(imported(options.homenode, path), read(path)) for _ in range(ROUNDS)]
            ours, theirs = (min(times) for times in zip(*rounds))
            millions = options.rows / 1e6
            lines.append((path.suffix[1:], f"{millions / ours:.1f}", f"{millions / theirs:.1f}", f"{ours / theirs:.2f}"))
    measure.table(f"import of {options.rows:,} rows (least of {ROUNDS})", ("file", "import, M rows/s", "pyarrow reads, M rows/s", "times"), lines)


if __name__ == "__main__":
    main()
