"""`record --sample`: some of the pages, exactly, and estimates of all from them."""
import os
import signal
import subprocess
import time

import pyarrow.parquet as pq

from check_bad_input import source
from check_quick import PARTS, judge
from harness import check, children, end, expect, tail

GOLDEN, AGAIN, WORD = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 1 << 64


def is_drawn(address, one_in):
    """Whether the page of an address is recorded, computed apart."""
    once = (address >> 12) * GOLDEN % WORD
    return (once ^ once >> 30) * AGAIN % WORD <= (WORD - 1) // one_in


def references(session, dataset):
    """All references in order: operation, address, bytes."""
    rows = dataset.parent / f"{dataset.stem}.parquet"
    session.run("export", dataset, "-o", rows, "-q", "--force")
    table = pq.read_table(rows, columns=["op", "addr", "size"])
    return list(zip(*(table.column(c).to_pylist() for c in ("op", "addr", "size"))))


@check
def what_is_recorded_of_a_page_is_all_of_it(session):
    """One thread at fixed addresses, recorded whole and by one page in four: of those pages the same references in the same order; the
    rest is counted."""
    program, folder = session.build("gcc") / "sor", session.path("pages")
    folder.mkdir(parents=True, exist_ok=True)
    fixed = ("setarch", "-R", program, "-n", "130", "-i", "2", "-p", "1")
    whole, some = folder / "whole.hnt", folder / "some.hnt"
    session.run("record", "-q", "--force", "-o", whole, "--", *fixed)
    said = session.json("record", "-q", "--force", "--json", "--sample", "1/4", "-o", some, "--", *fixed)
    all_rows, rows = references(session, whole), references(session, some)
    wanted = [r for r in all_rows if is_drawn(r[1], 4) or is_drawn(r[1] + r[2] - 1, 4)]
    found = [r for r in rows if is_drawn(r[1], 4) or is_drawn(r[1] + r[2] - 1, 4)]
    inside = lambda rows: [r for r in rows if r[1] >> 12 == r[1] + r[2] - 1 >> 12]
    single = inside(wanted)
    print(f"  {len(all_rows):,} references, {len(rows):,} recorded and {said['left_out']:,} left out; {len(wanted):,} are to drawn pages")
    expect(len(rows) == said["refs"] and len(single) > 1000, f"{said}, {len(single)}")
    # A range that lies in several pages has parts in the one, and is whole in the other.
    there = set(single)
    expect([r for r in found if r in there] == single, "the same references, in order")
    # Locks, and ranges that lie in several pages, of which the parts are recorded.
    expect(abs(len(rows) + said["left_out"] - len(all_rows)) <= 0.001 * len(all_rows), f"{len(rows)} + {said['left_out']} of {len(all_rows)}")
    document = session.json("info", some, "--json")
    expect(document["pages"] == {"one_in": 4, "page_bytes": 4096, "left_out": said["left_out"]}, f"{document['pages']}")
    expect(session.json("check", some, "--json")["ok"], "sound")


@check
def verdicts_of_a_program_and_its_clean_twin_from_some_pages(session):
    """Half of all pages at the wrong node, and none: one page in 16 says so, and what it does not know."""
    for own, verdict, words in ((0, "worth", "placement matters: "), (1, "little", "placement matters little")):
        program = source(session, f"quick-{own}", PARTS, flags=(f"-DOWN={own}",))
        dataset = session.path(f"pages/{own}.hnt")
        session.run("record", "-q", "--force", "--sample", "1/16", "-o", dataset, "--", program)
        document = session.json("report", dataset, "--json")
        text = session.run("report", dataset, "-q").stdout.replace("\n  ", " ")
        print(f"  {document['sentence']} {document['blocks']} pages")
        expect(document["verdict"] == verdict and words in text.lower(), document["sentence"])
        expect("One page in 16 was recorded" in text and document["pages"]["one_in"] == 16, tail(text))
        if own == 1:
            expect("as far as was recorded" in text.lower(), "what is not there was not seen")


@check
def changes_of_a_program_and_its_clean_twin_from_some_pages(session):
    """Who should initialise the pages, with a range that holds what the report of a whole recording says; and nothing to change."""
    for own in (0, 1):
        program = source(session, f"quick-{own}", PARTS, flags=(f"-DOWN={own}",))
        dataset = session.path(f"pages/changes-{own}.hnt")
        dataset.parent.mkdir(parents=True, exist_ok=True)
        # At addresses that are the same each time, so are the pages that are drawn: one range in twenty holds nothing.
        session.run("record", "-q", "--force", "--sample", "1/16", "-o", dataset, "--", "setarch", "-R", program)
        changes = session.json("report", dataset, "--json")["changes"]
        text = session.run("report", dataset, "-q").stdout.replace("\n  ", " ")
        expect(session.json("report", dataset, "--quick", "--json")["changes"] is None, "an estimate alone")
        whole = session.report(session.record(program)[0])["evaluations"][0]["findings"]
        expect(len(changes) == len(whole) == 1 - own, f"{changes} {whole}")
        if own:
            expect("Changes: none of who initialises, keeps or copies an object was found" in text, text)
            continue
        # Another run, of which other threads may come first here and there.
        judge(changes, whole, text, 0.03, 0.3)


@check
def a_recording_of_some_pages_is_not_taken_for_the_whole(session):
    """Everything that would take its sums for those of all pages refuses it, in one line that says what to do."""
    dataset = session.path("pages/1.hnt")
    if not dataset.exists():
        program = source(session, "quick-1", PARTS, flags=("-DOWN=1",))
        session.run("record", "-q", "--force", "--sample", "1/16", "-o", dataset, "--", program)
    plan = session.path("pages/plan.json")
    for words, status in ((("place", dataset, "-o", plan), 3), (("sim", "memory", dataset), 3), (("sweep", dataset, "--protocols", "all"), 3),
                          (("report", dataset, "--block", "65536"), 2), (("report", dataset, "-o", session.path("pages/x.html")), 2),
                          (("report", dataset, "--verify"), 2), (("report", dataset, "--compare", dataset), 2),
                          (("export", dataset, "-o", session.path("pages/x.parquet"), "--after-caches"), 3)):
        done = session.run(*words, "-q", status=status)
        expect("--sample" in done.stderr and len(done.stderr.splitlines()) == 1 and not done.stdout, f"{words}: {tail(done.stderr)}")
    for words in (("--sample", "1/1"), ("--sample", "x"), ("--sample", "1/64", "--sample-page", "3000"), ("--sample-page", "4K"),
                  ("--sample", "1/64", "--count-only"), ("--sample", "1/64", "--backend", "faults")):
        done = session.run("record", *words, "-o", session.path("pages/no.hnt"), "--", "true", status=2)
        expect(done.stderr.startswith("homenode: "), tail(done.stderr))
    expect(not session.path("pages/no.hnt").exists(), "nothing is left")


@check
def a_killed_recorder_leaves_what_pages_it_drew(session):
    """SIGKILL of recorder and program: the recovered recording still says that it is of some pages."""
    program = source(session, "quick-0", PARTS, flags=("-DOWN=0",))
    dataset = session.path("pages/killed.hnt")
    dataset.parent.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen([session.homenode, "record", "-q", "--backend", "hooks", "--sample", "1/4", "-o", dataset, "--", "sh", "-c", f"while {program}; do :; done"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(1.5)
    # The program has a group of its own.
    for group in (process.pid, *children(process.pid)):
        os.killpg(group, signal.SIGKILL)
    end(process)
    session.run("recover", dataset, "-q")
    document = session.json("info", dataset, "--json")
    print(f"  {document['provenance']['refs']:,} references, {document['pages']['left_out']:,} left out")
    expect(document["pages"]["one_in"] == 4 and document["pages"]["left_out"] > 1_000_000, f"{document['pages']}")
