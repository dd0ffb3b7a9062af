"""Everything that can be wrong with what a user gives: one clear line, the right status, no panic."""
import json
import os
import shutil
import subprocess
import tempfile

from harness import Skipped, check, expect, one_line, tail

READERS = ("info", "check", "report", "export")

ODD_ADDRESSES = r"""
#include <stdint.h>
#include <stdio.h>
extern void __tsan_read8(void *), __tsan_write8(void *), __tsan_write1(void *), __tsan_read_range(void *, uintptr_t);
extern void __tsan_unaligned_write8(void *);
int main(void) {
    static _Alignas(4096) char page[8192];
    __tsan_write1((void *)0);
    __tsan_read8((void *)0);
    __tsan_write1((void *)~(uintptr_t)0);
    __tsan_write8((void *)(~(uintptr_t)0 - 7));
    __tsan_unaligned_write8((void *)(~(uintptr_t)0 - 3)); /* wraps */
    __tsan_unaligned_write8(page + 4092);
    __tsan_read_range(page + 4000, 200);
    puts("done");
    return 0;
}
"""
CRASHES = "volatile int x; int main(void) { for (int i = 0; i < 1000; i++) x += i; *(volatile int *)8 = x; return 0; }\n"
FAILS = "volatile int x; int main(void) { for (int i = 0; i < 7; i++) x++; return x; }\n"


def small(session):
    """A small good dataset."""
    return session.record(session.build() / "lu", "-n", "64", "-b", "8", "-p", "3")[0]


def copy(session, name):
    """A copy of it to spoil."""
    path = session.path(f"bad/{name}.hnt")
    shutil.copytree(small(session), path)
    return path


def read(session, command, dataset):
    """Runs one reading command on a dataset."""
    more = ["-o", session.path("bad/rows.csv")] if command == "export" else []
    return session.run(command, dataset, *more, status=None)


def refused(session, name, dataset, commands=READERS, may_pass=()):
    """Each command ends with status 3 and one line; `may_pass` ones may also succeed."""
    said = ""
    for command in commands:
        done = read(session, command, dataset)
        expect("panicked" not in done.stderr, f"{name}: {command} panicked: {tail(done.stderr)}")
        if command in may_pass and done.returncode == 0:
            continue
        expect(done.returncode == 3, f"{name}: {command} has status {done.returncode}, not 3: {tail(done.stderr)}")
        if command == "check" and not done.stderr.strip():
            expect(done.stdout.strip(), f"{name}: check says what is wrong")
            continue
        said = said or one_line(done)
    print(f"  {name}: {said}")


def manifest(dataset, change):
    """Changes the manifest of a dataset in place."""
    path = dataset / "manifest.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def largest(dataset):
    """The largest frame file."""
    return max((p for p in dataset.rglob("*") if p.is_file() and p.suffix == ".frames"), key=lambda p: p.stat().st_size)


@check
def damaged_frames(session):
    """Truncated, bit-flipped, missing and foreign thread files: status 3; `recover` makes them readable again."""
    dataset = copy(session, "truncated")
    with open(largest(dataset), "r+b") as file:
        file.truncate(largest(dataset).stat().st_size * 2 // 3)
    refused(session, "truncated", dataset)
    session.run("recover", dataset)
    session.run("check", dataset)
    dataset = copy(session, "flipped")
    data = bytearray(largest(dataset).read_bytes())
    for position in (0, 5, 39, len(data) // 2, len(data) - 1):
        spoilt = bytearray(data)
        spoilt[position] ^= 0x10
        largest(dataset).write_bytes(spoilt)
        refused(session, f"bit {position * 8 + 4} flipped", dataset, may_pass=())
    session.run("recover", dataset)
    session.run("check", dataset)
    dataset = copy(session, "missing")
    largest(dataset).unlink()
    refused(session, "missing thread file", dataset)
    dataset = copy(session, "foreign")
    largest(dataset).write_bytes(b"#!/bin/sh\nexit 0\n" * 100)
    refused(session, "foreign thread file", dataset)


@check
def damaged_manifests(session):
    """Empty, foreign, newer and lying manifests: status 3."""
    spoils = {
        "empty manifest": lambda p: p.write_text(""),
        "manifest of something else": lambda p: p.write_text('{"format": "other", "version": 1}'),
        "manifest is a list": lambda p: p.write_text("[]"),
        "manifest is binary": lambda p: p.write_bytes(bytes(range(256)) * 50),
        "manifest is deep": lambda p: p.write_text("[" * 100000),
        "no manifest": lambda p: p.unlink(),
    }
    for name, spoil in spoils.items():
        dataset = copy(session, "manifest")
        spoil(dataset / "manifest.json")
        refused(session, name, dataset)
    lies = {
        "newer version": lambda m: m.update(version=99),
        "version is text": lambda m: m.update(version="one"),
        "more references": lambda m: m["threads"][0].update(refs=m["threads"][0]["refs"] + 1),
        "fewer references": lambda m: m["threads"][0].update(refs=1),
        "references beyond 64 bits": lambda m: [t.update(refs=2**64 - 1) for t in m["threads"]],
        "more spins than references": lambda m: m["threads"][0].update(spins=2**40),
        "a thread too many": lambda m: m["threads"].append(dict(m["threads"][0])),
        "a thread too few": lambda m: m["threads"].pop(),
        "no threads": lambda m: m["threads"].clear(),
        "process that does not exist": lambda m: m["threads"][1].update(process=7),
        "thread that created itself": lambda m: m["threads"][1].update(parent=1),
    }
    for name, lie in lies.items():
        dataset = copy(session, "lie")
        manifest(dataset, lie)
        refused(session, name, dataset)


@check
def not_a_dataset(session):
    """Nothing there, a file, an empty folder: status 3."""
    refused(session, "nothing there", session.path("bad/nothing.hnt"))
    file = session.path("bad/file.hnt")
    file.write_text("hello")
    refused(session, "a file", file)
    empty = session.path("bad/empty.hnt")
    empty.mkdir()
    refused(session, "an empty folder", empty)


@check
def wrong_usage(session):
    """Unknown options, machines, policies, blocks: status 2 (3 for files that are not what they should be)."""
    dataset = small(session)
    for arguments in ([], ["nonsense"], ["report"], ["report", dataset, "--nonsense"], ["record", "--"],
                      ["report", dataset, "--block", "x"], ["export", dataset, "-o", session.path("bad/rows.xlsx")],
                      ["list", "nonsense"]):
        done = session.run(*arguments, status=2)
        expect(done.stderr.strip(), f"{arguments} says what is wrong")
    for arguments in (["--machine", "nonsense"], ["--policy", "nonsense"], ["--policy", "fixed(99)"], ["--block", "100"],
                      ["--block", "0"], ["--map", "nonsense"]):
        done = session.run("report", dataset, *arguments, status={2, 3})
        print(f"  {' '.join(arguments)}: status {done.returncode}: {one_line(done)}")
    bad = session.path("bad/machine.toml")
    for text in ("", "name = 3", "= = =", 'name = "x"\ncores = []\n'):
        bad.write_text(text)
        done = session.run("report", dataset, "--machine", bad, status=3)
        print(f"  machine file {text!r}: {one_line(done)}")


def source(session, name, text, hooks=True, flags=()):
    """Compiles a small program."""
    path = session.path(f"bad/{name}.c")
    path.write_text(text)
    out = session.folder / "bad" / name
    if hooks:
        session.run("cc", "-O1", "-g", *flags, path, "-o", out)
    else:
        subprocess.run(["gcc", "-O1", *flags, str(path), "-o", str(out)], check=True)
    return out


@check
def bad_programs(session):
    """A program that does not exist, is no program, was not built with the hooks, crashes, fails, is stripped."""
    folder = session.path("bad/programs")
    folder.mkdir()
    text = folder / "text"
    text.write_text("not a program\n")
    plain = source(session, "plain", FAILS.replace("return x", "return 0"), hooks=False)
    for name, program in (("does not exist", folder / "nothing"), ("no program", text), ("no hooks", plain)):
        done = session.run("record", "-o", folder / "x.hnt", "--", program, status={1, 3})
        print(f"  {name}: status {done.returncode}: {one_line(done)}")
        expect(not (folder / "x.hnt").exists(), f"{name}: no dataset is left behind")
    for name, text, status in (("crashes", CRASHES, -11), ("fails", FAILS, 7)):
        dataset = folder / f"{name}.hnt"
        done = session.run("record", "-o", dataset, "--", source(session, name, text), status=1)
        found = session.json("info", dataset, "--json")["provenance"]["exit_status"]
        refs = sum(session.json("info", dataset, "--json")["ops"].values())
        print(f"  {name}: status 1, exit status {found} and {refs} references in the dataset: {tail(done.stderr)}")
        expect(found == status, f"{name}: exit status {found}, not {status}")
        expect(refs >= 14, f"{name}: what it did until then is recorded")
        session.run("check", dataset)
        session.run("report", dataset)
    program = source(session, "stripped", FAILS.replace("return x", "return 0"))
    subprocess.run(["strip", "-s", str(program)], check=True)
    session.run("record", "-o", folder / "stripped.hnt", "--", program)
    session.run("check", folder / "stripped.hnt")
    document = session.json("report", folder / "stripped.hnt", "--json")
    said = " ".join(document["blind"] + document["warnings"])
    print(f"  stripped: {said}")
    expect("stripped" in said or "symbol" in said or "debug" in said, "the report says what a stripped program hides")


@check
def a_static_program_cannot_be_sampled(session):
    """Status 1 and a reason where no library can be preloaded, no dataset, and an old one stays; linked dynamically it works."""
    text = "int main(void) { static volatile int words[1 << 20]; for (int i = 0; i < 99999999; i++) words[i % (1 << 20)] = i; }"
    dataset = session.path("bad/sampled.hnt")
    for name, flags, status in (("dynamic", (), 0), ("static", ("-static",), 1)):
        program = source(session, name, text, hooks=False, flags=flags)
        done = session.run("record", "--force", "--backend", "faults", "-o", dataset, "--", program, status=status)
    expect("linked statically" in one_line(done), done.stderr)
    expect(session.json("info", dataset, "--json")["provenance"]["command"][0].endswith("dynamic"), "the old dataset stays")


@check
def setuid_program(session):
    """A setuid program: the recording says why it cannot see it."""
    if os.geteuid() != 0:
        raise Skipped("only root can make a setuid program of somebody else")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        program = os.path.join(folder, "setuid")
        shutil.copy(source(session, "honest", FAILS.replace("return x", "return 0")), program)
        os.chmod(folder, 0o755)
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o4755)
        done = session.run("record", "-o", session.path("bad/setuid.hnt"), "--", program, status={1, 3})
        print(f"  status {done.returncode}: {one_line(done)}")
        expect("setuid" in done.stderr, "the line says that the program is setuid")


@check
def odd_addresses(session):
    """References at 0 and across a page are recorded; those that no user program can make (2^64 - 1) harm nothing."""
    program = source(session, "odd", ODD_ADDRESSES)
    dataset, _, _ = session.record(program)
    session.run("check", dataset)
    for machine in ("ace", "butterfly", "two-socket"):
        session.run("report", dataset, "--machine", machine)
    rows = session.path("bad/odd.csv")
    session.run("export", dataset, "-o", rows, "--quiet")
    fields = [line.split(",")[1:4] for line in rows.read_text().splitlines()[1:]]
    found = [(int(addr), int(size), op) for addr, size, op in fields]
    print(f"  exported: {[(hex(addr), size, op) for addr, size, op in found]}")
    expect((0, 1, "store") in found and (0, 8, "load") in found, "references to address 0 are recorded")
    expect(any(addr % 4096 == 4092 and (size, op) == (8, "store") for addr, size, op in found), "and across a page end")
    expect(any(addr % 4096 == 4000 and (size, op) == (200, "load") for addr, size, op in found), "and ranges across a page end")


@check
def a_thousand_threads(session):
    """1,000 threads: recorded, checked, reported with a warning that they share processors."""
    dataset, _, _ = session.record(session.build() / "kv", "-n", "100000", "-b", "1024", "-p", "1000")
    session.run("check", dataset)
    document = session.report(dataset)
    said = document["evaluations"][0]["warnings"] + document["warnings"]
    print(f"  {document['provenance']['threads']} threads, {document['provenance']['refs']:,} references; {said}")
    expect(document["provenance"]["threads"] == 1000, "all threads are there")
    expect(any("thread" in w and "processor" in w for w in said), "the report warns that threads share processors")


HYBRID = """name = "small"
word_bytes = 4
page_bytes = {page}
cores = {cores}
unit = "cycle"
read = {{ near = 58, far = 147 }}
copy = {{ fixed = 6000, per_word = 5 }}
[hybrid]
cache_bytes = {cache}
line_bytes = 32
chunk_bytes = 128
banks = 4
bus = 6
bank = 52
fill = 5
engine = 12
network = 15
port = 6
fault = 2000
interrupt = 2000
relocation = 6000
daemon = [2000, 20]
daemon_gap = [1_000_000, 64_000_000]
free_percent = [5, 7]
threshold = [32, 8]
threshold_steps = 16
break_even = 16
evaluation = 2
"""


@check
def memory_systems_that_cannot_be(session):
    """Sizes, pressures and machines that make no sense in virtual time; and what is not known of a recording is said."""
    dataset, machine = small(session), session.path("bad/hybrid.toml")

    def asked(*arguments, nodes=4, page=4096, cache=8192, **options):
        machine.write_text(HYBRID.format(cores=[1] * nodes, page=page, cache=cache))
        return session.run("sim", "memory", dataset, "--machine", machine, "--json", *arguments, **options)

    done = asked("--pressure", "70")
    expect(done.stdout == asked("--pressure", "70").stdout, "the same question has the same answer to the byte")
    document = json.loads(done.stdout)
    expect(document["instructions"]["counted"] == 0 and any("estimated" in n for n in document["notes"]), "gaps are labelled")
    wrong = [
        ("0 %", {}, ["--pressure", "0"]), ("101 %", {}, ["--pressure", "101"]), ("'high'", {}, ["--pressure", "high"]),
        ("hybrid.cache_bytes = 0", {"cache": 0}, []), ("more than a node's memory", {"cache": 1 << 26}, []),
        ("page_bytes = 3000", {"page": 3000}, []), ("page_bytes = 0", {"page": 0}, []),
        ("fewer frames than nodes", {"nodes": 60}, []), ("more threads than processors", {"nodes": 2}, []),
        ("scoma at a pressure of 100 %", {}, ["--architecture", "scoma", "--pressure", "100"]),
    ]
    for said, change, arguments in wrong:
        done = asked(*arguments, **change, status={2, 3})
        expect(said in one_line(done) and not done.stdout, f"{said}: {done.stderr}")


@check
def outputs(session):
    """An output that exists is refused without --force; one that cannot be made is named; the program is unharmed."""
    program, dataset = session.build() / "lu", copy(session, "taken")
    before = (dataset / "manifest.json").read_bytes()
    done = session.run("record", "-o", dataset, "--", program, "-n", "64", status={1, 2})
    print(f"  exists: status {done.returncode}: {one_line(done)}")
    expect("--force" in done.stderr and (dataset / "manifest.json").read_bytes() == before, "it is refused and left alone")
    session.run("record", "--force", "-o", dataset, "--", program, "-n", "64")
    session.run("check", dataset)
    for name in ("report", "export"):
        taken = session.path(f"bad/taken.{'html' if name == 'report' else 'csv'}")
        taken.write_text("mine")
        done = session.run(name, dataset, "-o", taken, status={1, 2})
        expect("--force" in one_line(done) and taken.read_text() == "mine", f"{name}: refused and left alone")
        session.run(name, dataset, "-o", taken, "--force")
        expect(taken.read_text() != "mine", f"{name} --force replaces it")
    folder = session.path("bad/not-mine")
    folder.mkdir()
    (folder / "precious").write_text("mine")
    done = session.run("record", "--force", "-o", folder, "--", program, "-n", "64", status={1, 2, 3})
    print(f"  a folder that is no dataset: status {done.returncode}: {one_line(done)}")
    expect((folder / "precious").exists(), "--force deletes datasets and nothing else")
    for where in ("/proc/x.hnt", taken / "x.hnt"):
        done = session.run("record", "-o", where, "--", program, "-n", "64", status=1)
        print(f"  {where}: {one_line(done)}")
    done = session.run("report", dataset, "-o", "/proc/x.html", status=1)
    print(f"  report: {one_line(done)}")


@check
def full_disk(session):
    """The output fills up: the program is unharmed, the recording ends cleanly and says so."""
    folder = session.path("bad/full")
    folder.mkdir()
    script = ('mount -t tmpfs -o size=24m none "$1" && cd "$1" && "$2" record -o x.hnt -- "$3" -n 3000000 2>&1; '
              'echo "status $?"; "$2" recover x.hnt; "$2" check x.hnt > /dev/null; echo "check $?"; df -k . | tail -n 1')
    words = ["unshare", "-m", "-r", "sh", "-c", script, "sh", str(folder), str(session.homenode), str(session.build() / "radix")]
    if os.geteuid() == 0:
        words.remove("-r")
    if subprocess.run(["unshare", *words[1:words.index("sh")], "mount", "-t", "tmpfs", "none", str(folder)],
                      capture_output=True).returncode:
        raise Skipped("no private mounts here")
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    print("  " + "\n  ".join(done.stdout.splitlines()))
    expect("status 1" in done.stdout, f"status 1: {done.stdout} {done.stderr}")
    expect("verified OK" in done.stdout, "the program ran to its end and verified itself")
    expect("check 0" in done.stdout, f"what was recorded is a good dataset: {done.stderr}")
    expect("space" in done.stdout or "full" in done.stdout, "the recording says why it ended early")
