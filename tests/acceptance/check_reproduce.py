"""Reproductions of Bolosky 1993, Markatos 1993, Kuo and others 1998, Bilas and Singh, and Thakkar 2008, whole: exact rows, a verdict and a reason for every claim, page, pictures
and data; Thakkar's verdicts are drawn again here from the numbers of the page.

    check_reproduce.py [--homenode PATH] [--size S] [--keep DIR] [--against OTHER.json]

runs it at one size. With the `bolosky.json` of another run, no claim may have another verdict there; one that recordings
leave unsettled in either run is shown. Programs are recorded anew each time, so only what follows from the model, or holds for these
programs in any order, is asserted; verdicts that hang on order are counted and shown.
"""
import argparse
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import harness
import schema
from harness import Session, alone, expect, slow_check

# Place and text of claims that follow from the model, whatever the programs: they hold to the last unit.
IDENTITIES = [
    ("table 6.1", "reach words of others"),
    ("table 6.2", "formulas of r and R"),
    ("table 6.3", "remote reference and move"),
    ("figure 3.1", "the ACE: processors"),
    ("section 6.2.1", "moving 4 KB as one NUMA page"),
    ("section 6.2.1", "moving 4 KB as 64 lines"),
    ("figure 5.4", "concave"),
    ("figure 5.5", "the same over R"),
    ("section 5.3, figure 5.7", "any fixed policy is a straight line"),
    ("corollary 1", "scaling"),
    ("figure 6.1", "at equal block size"),
    ("section 6.2.4", "CC and CC+ do not depend"),
    ("section 6.2.1", "over the price of a remote word"),
    ("section 4.1.5", "cost of the optimum over lambda"),
]
# What follows from printed numbers, or from references at random.
EXACT = [
    ("table 3.1", "follow from its times"),
    ("section 3.2.3", "e-hyd's"),
    ("section 7.1.6", "T_F, T_S and T_Gamma"),
    ("chapter 4", "variant of Dietz"),
    ("figure 3.3", "on a fault"),
    ("figure 4.1", "without replication"),
    ("figure 4.2", "run of reads"),
    ("figure 7.1", "not unique"),
]
# What is printed wrongly, or is not what the text says of it.
MISPRINTED = [
    ("table 3.1", "beta of matmult"),
    ("table 3.1", "beta of e-fft"),
    ("table 3.2", "for IMatMult"),
    ("table 4.1", "the text quotes"),
    ("figure 4.3", "computes the optimal policy"),
]
# What our programs show too: they do the same work in the same pieces in whatever order.
ALIKE = [
    ("figure 5.7", "sorbyr: as moves get cheaper"),
    ("section 5.3.1", "where the optimum trades"),
    ("figure 6.7", "sorbyr"),
]
# A reproduction at size P takes hours.
TIMEOUT_S = 24 * 3600
VERDICTS = ["agrees", "differs", "unsettled", "identity", "cannot be known", "not judged"]
# Programs of the thesis, each with a card.
PROGRAMS = 19
PICTURES_MIN = 60


def reproduced(session, size, against=None):
    """Runs the whole reproduction and looks at everything it leaves."""
    out = session.path(f"reproduce/bolosky-{size}")
    began = time.monotonic()
    text = session.run("reproduce", "bolosky", "--size", size, "-o", out, timeout=TIMEOUT_S).stdout
    seconds = time.monotonic() - began
    document = json.loads((out / "bolosky.json").read_text())
    expect(not schema.problems(document), "the document is of its schema")
    expect(document["size"] == size and len(document["tables"]) > 10, "the document is of this size and has its tables")
    rows(document["claims"], size)
    whole(document)
    pictures = page(out, document)
    counts = collections.Counter(c["verdict"] for c in document["claims"])
    print(f"  {seconds:.0f} s; {len(document['claims'])} claims: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS)
          + f"; {pictures} pictures")
    if against:
        turned(document, json.loads(against.read_text()))
    print("\n".join(f"  {note}" for note in document["notes"] if note.startswith(("Cost", "Two rules"))))
    expect("Claims" in text and all(c["what"] in text for c in document["claims"]), "the terminal shows every claim")


def turned(document, other):
    """Verdicts of two runs of one size: none turns from agreement to difference or back."""
    expect(document["size"] == other["size"], f"two runs of one size, not {document['size']} and {other['size']}")
    before = {c["what"]: c["verdict"] for c in other["claims"]}
    expect(set(before) == {c["what"] for c in document["claims"]}, "two runs judge the same claims")
    changed = [(c["what"], before[c["what"]], c["verdict"]) for c in document["claims"] if before[c["what"]] != c["verdict"]]
    open_ = [c for c in changed if "unsettled" in c[1:]]
    print("\n".join(f"  {what}: {one}, then {two}" for what, one, two in changed) or "  no verdict of the other run is another")
    expect(len(open_) == len(changed), f"verdicts that turn: {[c for c in changed if c not in open_]}")


def rows(claims, size):
    """The claims whose verdict is known beforehand; at size XS nothing else has one."""
    alike = [] if size == "XS" else ALIKE
    for verdict, wanted in (("identity", IDENTITIES), ("agrees", EXACT + alike), ("differs", MISPRINTED)):
        for place, what in wanted:
            found = [c for c in claims if place in c["place"] and what in c["what"]]
            expect(len(found) == 1, f"one claim of {place} on '{what}', not {len(found)}")
            c = found[0]
            expect(c["verdict"] == verdict, f"{place}, {what}: {c['verdict']}, not {verdict}: {c['ours']}; {c['why']}")
    open_ = sum(c["verdict"] == "not judged" for c in claims)
    expect((open_ > 0) == (size == "XS"), f"{open_} claims are not judged at size {size}")


def whole(document):
    """Every claim has a verdict with a reason and, where it can be known, a value; every table is full."""
    known = 0
    for c in document["claims"]:
        expect(c["verdict"] in VERDICTS and c["why"] and c["place"] and c["theirs"], f"{c['what']}: verdict and reason")
        known += c["verdict"] != "cannot be known"
        expect(c["ours"] or c["verdict"] == "cannot be known", f"{c['what']}: a value of ours")
        expect("NaN" not in c["ours"] and "not measured" not in c["ours"], f"{c['what']}: {c['ours']}")
        expect(c["verdict"] != "unsettled" or "recordings disagree" in c["why"], f"{c['what']}: who disagrees")
        expect(c["verdict"] != "differs" or re.search("(Cause|Probable cause, which nothing here decides): ", c["why"]), f"{c['what']} differs, and nothing says why: {c['why']}")
    expect(sum(c["verdict"] == "identity" for c in document["claims"]) == len(IDENTITIES), "each identity is known")
    cards = [t for t in document["tables"] if "table 2.1" in t["title"]]
    expect(len(cards) == 1 and len(cards[0]["rows"]) == PROGRAMS, "a card for each program")
    expect(4 * known > 3 * len(document["claims"]), f"most can be known: {known} of {len(document['claims'])}")
    for t in document["tables"]:
        expect(t["rows"] and all(len(r) == len(t["columns"]) for r in t["rows"]), f"{t['title']}: rows as wide as headings")
        expect(not any("NaN" in cell for r in t["rows"] for cell in r), f"{t['title']}: numbers")
    for begin in ("Figure 4.3 as printed is not optimal", "Two rules of the verdicts are ours", "Cost of this page"):
        expect(any(n.startswith(begin) for n in document["notes"]), f"a note that begins: {begin}")


def page(out, document):
    """The page has every claim and picture, and each picture has its data; returns how many there are."""
    text = (out / "bolosky.md").read_text()
    expect(all(c["what"].replace("|", "\\|") in text for c in document["claims"]), "the page has every claim")
    pictures = sorted(out.glob("*.svg"))
    expect(len(pictures) >= PICTURES_MIN, f"pictures: {len(pictures)}")
    for picture in pictures:
        expect(f"]({picture.name})" in text, f"{picture.name} is on the page")
        drawn(picture)
        with picture.with_suffix(".csv").open(newline="") as file:
            data = list(csv.reader(file))
        expect(len(data) > 1 and len({len(row) for row in data}) == 1, f"{picture.name} has data")
        expect(not any("NaN" in cell for row in data for cell in row), f"{picture.name}: numbers")
    html = (out / "bolosky.html").read_text()
    expect(html.count("<svg") == len(pictures) and html.endswith("</html>\n"), "the page in HTML has every picture inside")
    outside = re.search(r"<(script|link|img|iframe|object)\b|@import|url\(|https?://(?!www\.w3\.org/2000/svg)", html)
    expect(not outside, f"the page in HTML needs nothing from outside: {outside and outside.group()}")
    expect(all(html.count(f">{v}</td>") == sum(c["verdict"] == v for c in document["claims"]) for v in VERDICTS),
           "the page in HTML has every verdict")
    return len(pictures)


# Of a text in a picture: its attributes, and what it says.
TEXT = re.compile(r"<text([^>]*)>\s*(.*?)\s*</text>", re.DOTALL)
NUMBERS_MIN = 3


def drawn(picture):
    """A picture is whole and has a title, units, and three numbers on each axis that has numbers."""
    svg = picture.read_text()
    expect(svg.endswith("</svg>\n"), f"{picture.name} is whole")
    texts = TEXT.findall(svg)
    axes = {"middle": set(), "end": set()}
    for attributes, text in texts:
        for anchor, found in axes.items():
            if f'text-anchor="{anchor}"' in attributes and re.fullmatch(r"-?[\d.]+(e-?\d+)?", text):
                found.add(float(text))
    # Bars have the names of programs along one axis.
    bars = picture.name.startswith(("E4-", "E7-"))
    expect(len(axes["middle"]) >= NUMBERS_MIN, f"{picture.name}: numbers along x: {axes['middle']}")
    expect(bars or len(axes["end"]) >= NUMBERS_MIN, f"{picture.name}: numbers along y: {axes['end']}")
    # One text for each axis, with its unit in parentheses, and the title.
    axes_named = 1 if bars else 2
    said = [text for _, text in texts if re.search(r"\(.+\)", text) or len(text) > 15]
    units = [text for text in said if re.search(r"\(.+\)", text)]
    expect(len(units) >= axes_named and len(said) > axes_named, f"{picture.name}: a title and units: {said}")


# Claims of Thakkar 2008 that no number of the page speaks of.
UNKNOWN = ["loss of LU", "migration once", "captured at sampling interval", "share of run time", "mbind against"]


def guided_placement(session):
    """`reproduce thakkar`: each verdict follows from the tables beside it."""
    out = session.path("reproduce/thakkar")
    session.run("reproduce", "thakkar", "--size", "XS", "-o", out, timeout=1800)
    document = json.loads((out / "thakkar.json").read_text())
    expect(not schema.problems(document), "the document is of its schema")
    claims = document["claims"]
    expect(len(claims) == 18, f"18 claims, not {len(claims)}")
    saved, differ = ([[row[0], *map(float, row[1:])] for row in t["rows"]] for t in document["tables"][:2])
    wanted = {what: verdict for what, verdict in directions(saved, differ)}
    for what, verdict in wanted.items():
        found = [c for c in claims if what in c["what"]]
        expect(found, f"a claim on '{what}'")
        for c in found:
            expect(c["verdict"] == verdict, f"{c['what']}: {c['verdict']}, not {verdict}: {c['ours']}; {c['why']}")
            expect(c["ours"] and c["why"], f"{c['what']}: numbers and a reason")
    for what in UNKNOWN:
        found = [c for c in claims if what in c["what"]]
        expect([c["verdict"] for c in found] == ["cannot be known"], f"{what}: {found}")
    judged = sum(c["verdict"] != "cannot be known" for c in claims)
    expect(judged == 18 - len(UNKNOWN), f"{judged} of 18 have a verdict")
    print(f"  {judged} of 18 claims have a verdict: " + ", ".join(
        f"{n} {v}" for v, n in collections.Counter(c["verdict"] for c in claims).items()))


def directions(saved, differ):
    """Claim and verdict, from rows of savings (program, hop-sensitive, uniform, filtered, interleaved) and of pages that differ."""
    def column(machine, at):
        return [row[at] for row in saved if row[0].endswith(machine)]

    def mean(values):
        return sum(values) / len(values)

    def same(alike):
        return "agrees" if alike else "differs"

    eight = "on opteron8"
    hop, uniform, interleaved = (mean(column(eight, at)) for at in (1, 2, 4))
    loses = {machine: min(column(machine, 1)) < 0 for machine in ("on opteron4", eight, "")}
    yield "average saving of run time", same(mean(column("", 1)) > 0)
    yield "average improvement of run time", same(mean(column("", 1)) > 0)
    yield "range and mean of the improvement", same(mean(column("on opteron4", 1)) > 0 and loses["on opteron4"])
    yield "8 nodes, traces of L2 misses: range", same(loses[eight])
    yield "8 nodes, traces of L1 misses: range", same(loses[eight])
    yield "mean of hop-sensitive; uniform", same(uniform - hop > 0.05)
    yield "mean improvement of interleaving", same(interleaved > 0)
    yield "worst slowdown", same(loses[""])
    yield "remote access on the Opterons", "agrees"
    yield "extra latency", "differs"
    yield "pages on which uniform and hop-sensitive", same(max(row[1] for row in differ) <= 7.76)


# Claims of Markatos and Chronaki that follow from printed numbers: identities, and what the tables contradict.
COHERENCE_EXACT, COHERENCE_PROGRAMS = 19, 4
CONTRADICTED = ["a counter starts at an eighth", "the tables: invalidation beats updates only", "the tables: update protocols",
                "the tables: counters are always useful", "the tables: re-alignment gains two orders", "the tables: re-alignment improves all"]


def coherence(session, size):
    """`reproduce markatos`: exact rows to the last, a verdict with a reason for each claim, tables, pictures and data."""
    out = session.path(f"reproduce/markatos-{size}")
    began = time.monotonic()
    session.run("reproduce", "markatos", "--size", size, "-o", out, timeout=3600)
    seconds = time.monotonic() - began
    document = json.loads((out / "markatos.json").read_text())
    expect(not schema.problems(document), "the document is of its schema")
    claims = document["claims"]
    exact = [c for c in claims if c["what"].startswith("E1: ")]
    expect(len(exact) == COHERENCE_EXACT, f"{len(exact)} claims of E1")
    for c in exact:
        wanted = "differs" if any(what in c["what"] for what in CONTRADICTED) else "identity"
        expect(c["verdict"] == wanted, f"{c['what']}: {c['verdict']}, not {wanted}: {c['ours']}")
    for c in claims:
        expect(c["ours"] and c["why"] and "not measured" not in c["ours"], f"{c['what']}: {c['ours']}")
        judged = size != "XS" or c["what"].startswith("E1: ") or c["verdict"] in ("not judged", "cannot be known")
        expect(judged, f"{c['what']}: size XS judges exact rows alone")
    for t in document["tables"]:
        expect(t["rows"] and all(len(r) == len(t["columns"]) for r in t["rows"]), f"{t['title']}: rows as wide as headings")
    for number in range(2, 14):
        expect(sum(f"table {number}, " in t["title"] for t in document["tables"]) == 1, f"table {number} of the paper")
    expect(any("turn 18 orders" in n for n in document["notes"]), "how many orders exact sums turn")
    pictures = sorted(out.glob("*.svg"))
    expect(len(pictures) == 12, f"the paper's twelve figures: {len(pictures)}")
    for picture in pictures:
        expect(picture.read_text().endswith("</svg>\n") and picture.with_suffix(".csv").exists(), f"{picture.name} is whole, with data")
    counts = collections.Counter(c["verdict"] for c in claims)
    print(f"  {seconds:.0f} s; {len(claims)} claims: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS))


def coherence_smallest(session):
    """Markatos and Chronaki again at size XS."""
    coherence(session, "XS")


def taken_up_after_a_kill(session):
    """A reproduction that is killed once a recording is finished: the next one records only the other programs."""
    out = session.path("reproduce/killed")
    command = ["reproduce", "markatos", "--size", "XS", "-o", out]
    kept = out / "markatos-XS.recordings"
    first = subprocess.Popen([str(session.homenode), *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until = time.monotonic() + 120
    while not list(kept.glob("*.card")) and first.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    first.kill()
    first.communicate()
    finished = list(kept.glob("*.card"))
    expect(finished and first.returncode != 0, "it was killed after its first recording")
    done = session.run(*command)
    made = done.stdout.count("verified OK")
    expect(made == COHERENCE_PROGRAMS - len(finished), f"{len(finished)} recordings were kept and {made} made")
    expect((out / "markatos.html").is_file() and not kept.exists(), "the page is there, and nothing is kept beyond the end")
    print(f"  {len(finished)} recordings of {COHERENCE_PROGRAMS} taken up")


# Claims of Kuo and others 1998, and what holds for any programs.
ASCOMA_CLAIMS, ASCOMA_IDENTITIES, ASCOMA_PROGRAMS = 32, 5, 6


def hybrids_again(session, size="XS"):
    """`reproduce ascoma`: identities hold; at XS nothing else is judged, from S on every claim that can be."""
    out = session.path(f"reproduce/ascoma-{size}")
    session.run("reproduce", "ascoma", "--size", size, "-o", out, timeout=7200)
    document = json.loads((out / "ascoma.json").read_text())
    expect(not schema.problems(document), "the document is of its schema")
    claims = document["claims"]
    identities = [c for c in claims if c["what"].startswith("identity")]
    expect((len(claims), len(identities)) == (ASCOMA_CLAIMS + ASCOMA_IDENTITIES, ASCOMA_IDENTITIES), "every claim")
    for c in identities:
        expect(c["verdict"] == "identity", f"{c['what']}: {c['verdict']}: {c['ours']}")
    known = sum(c["verdict"] not in ("not judged", "cannot be known") for c in claims)
    expect(known == ASCOMA_IDENTITIES + (0 if size == "XS" else ASCOMA_CLAIMS - 1), f"{known} claims have a verdict")
    for t in document["tables"]:
        expect(t["rows"] and all(len(r) == len(t["columns"]) for r in t["rows"]), f"{t['title']}: rows as wide as headings")
    pictures = sorted(out.glob("*.svg"))
    expect(len(pictures) == 2 * ASCOMA_PROGRAMS, f"two pictures a program, not {len(pictures)}")
    text = (out / "ascoma.md").read_text()
    for picture in pictures:
        expect(f"]({picture.name})" in text and picture.with_suffix(".csv").is_file(), f"{picture.name} is on the page, with data")
    print("  " + ", ".join(f"{n} {v}" for v, n in collections.Counter(c["verdict"] for c in claims).items()))


# Claims of Bilas and Singh, of which some are about machines alone and some cannot be known, and what holds for any programs.
BILAS_CLAIMS, BILAS_EXACT, BILAS_UNKNOWN, BILAS_IDENTITIES = 49, 3, 3, 2
# Programs of tables: of all ten, and of three of them, which are enough where no verdict hangs on programs.
BILAS_ROWS = {"table 1.2": (10, 3), "table 1.3": (10, 2), "tables 1.6 and 1.9": (6, 1)}
BILAS_FEW = ("--only", "fft,lu,radix")


def clusters_again(session, size="XS"):
    """`reproduce bilas`: simulated, measured and emulated clusters; at XS only machines and identities are judged, with three programs."""
    out, few = session.path(f"reproduce/bilas-{size}"), size == "XS"
    session.run("reproduce", "bilas", "--size", size, *(BILAS_FEW if few else ()), "-o", out, timeout=7200)
    document = json.loads((out / "bilas.json").read_text())
    expect(not schema.problems(document), "the document is of its schema")
    claims = document["claims"]
    expect(len(claims) == BILAS_CLAIMS + BILAS_IDENTITIES, f"every claim, not {len(claims)}")
    verdicts = collections.Counter(c["verdict"] for c in claims)
    expect(verdicts["identity"] == BILAS_IDENTITIES, f"{verdicts}")
    expect(verdicts["cannot be known"] == BILAS_UNKNOWN, f"{verdicts}")
    exact = [c for c in claims if "svm-myrinet" in c["why"]]
    expect([c["verdict"] for c in exact] == ["agrees"] * BILAS_EXACT, "the cluster that was measured has its prices")
    known = sum(c["verdict"] not in ("not judged", "cannot be known") for c in claims)
    every = len(claims) - BILAS_UNKNOWN
    expect(known == (BILAS_EXACT + BILAS_IDENTITIES if size == "XS" else every), f"{known} claims have a verdict")
    for t in document["tables"]:
        expect(t["rows"] and all(len(r) == len(t["columns"]) for r in t["rows"]), f"{t['title']}: rows as wide as headings")
    for name, rows in BILAS_ROWS.items():
        found = [t for t in document["tables"] if t["title"].startswith(f"{name}:")]
        expect([len(t["rows"]) for t in found] == [rows[few]], f"{name} has {rows[few]} programs")
    text = (out / "bilas.md").read_text()
    pictures = sorted(out.glob("*.svg"))
    expect(len(pictures) == 6, f"four parameters, nodes and the ladder, not {len(pictures)}")
    for picture in pictures:
        expect(f"]({picture.name})" in text and picture.with_suffix(".csv").is_file(), f"{picture.name} is on the page, with data")
    print("  " + ", ".join(f"{n} {v}" for v, n in verdicts.items()))


@slow_check
@alone
def clusters_at_size_s(session):
    """`reproduce bilas --size S`, three recordings."""
    clusters_again(session, "S")


@slow_check
@alone
def coherence_again(session):
    """`reproduce markatos --size S`: every claim with a verdict on programs of a quarter of the paper's length."""
    coherence(session, "S")


@slow_check
@alone
def hybrids_at_size_s(session):
    """`reproduce ascoma --size S`, three recordings and every open point."""
    hybrids_again(session, "S")


@slow_check
@alone
def thesis_at_its_size(session):
    """`reproduce bolosky --size M`: programs as long as those of the thesis."""
    reproduced(session, "M")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homenode", type=pathlib.Path, default=harness.ROOT / "target/release/homenode")
    parser.add_argument("--size", default="S", choices=["XS", "S", "M", "P"])
    parser.add_argument("--against", type=pathlib.Path, help="bolosky.json of another run of this size")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for everything that is made; kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="homenode-reproduce-") as folder:
        def thesis_again(session):
            """The thesis again on our programs."""
            reproduced(session, options.size, options.against)
        checks = [guided_placement, coherence_smallest, taken_up_after_a_kill, hybrids_again, clusters_again, thesis_again]
        sys.exit(bool(harness.run_all(Session(options.homenode, options.keep or folder), checks)))


if __name__ == "__main__":
    main()
