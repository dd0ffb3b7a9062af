"""The two mistakes and their repaired program: the right array, line and remedy, and a promise that comes true."""
import re
import shutil

from harness import SLOW, WORKLOADS, check, expect, first_touch, line_of, slow_check

ARRAYS = ["now", "next"]
OTHER_THREADS = [3, 5, 6, 7, 8]
# Options of a small stencil, whose grids are just worth a finding.
SMALL = ("-n", "193", "-i", "3")


def findings(document, kind):
    """Findings of one kind."""
    return [f for f in document["evaluations"][0]["findings"] if f["kind"] == kind]


def told(session, dataset, words):
    """The text and the page say all of these words; the page loads nothing from elsewhere."""
    text = session.run("report", dataset).stdout
    page = session.path(f"data/{dataset.stem}.html")
    session.run("report", dataset, "-o", page)
    html = page.read_text()
    page.unlink()
    flat = re.sub(r"\s+", " ", text)
    for word in words:
        expect(word in flat, f"the text report does not say {word!r}")
        expect(word in html, f"the page does not say {word!r}")
    expect(not re.search(r'(src|href)="https?:', html), "the page works without network")


def came_true(session, bad, good):
    """Predicted against realised saving of a pair of datasets; the repaired one has no finding."""
    before, after = session.report(bad), session.report(good)
    base, realised = first_touch(before), first_touch(after)
    predicted = int(before["evaluations"][0]["predicted_all"])
    promised, saved = base - predicted, base - realised
    print(f"  {bad.stem}: {base:,} as it is, {predicted:,} predicted, {realised:,} realised; saving {100 * promised / base:.1f} % "
          f"predicted, {100 * saved / base:.1f} % realised ({100 * (promised / saved - 1) if saved else 0:+.2f} % off)")
    expect(saved > 0 and abs(promised / saved - 1) <= 0.10, "the predicted saving is within 10 % of the realised one")
    rest = after["evaluations"][0]["findings"]
    expect(not rest, f"the repaired program has findings: {[(f['kind'], f['object'], f['saving_share']) for f in rest]}")


def blamed(document, kind, wanted):
    """The findings of this kind name each of the wanted (object word or place) and nothing else."""
    found = findings(document, kind)
    for f in found:
        print(f"  {f['kind']}: {f['object']} at {', '.join(f['places'])}: {100 * f['saving_share']:.1f} %: {f['advice']}")
    others = [f["kind"] for f in document["evaluations"][0]["findings"] if f["kind"] != kind]
    expect(not others, f"no other kind of finding, not {others}")
    names = [f["object"] + " " + " ".join(f["places"]) for f in found]
    for word in wanted:
        expect(sum(word in n for n in names) == 1, f"exactly one finding names {word}: {names}")
    expect(len(found) == len(wanted), f"{len(wanted)} findings, not {len(found)}: {names}")
    return found


def stencil(session, folder, threads, wanted, source, remedy_line, *arguments):
    """One pair of stencils, built in `folder`."""
    pair = [session.record(folder / name, "-p", threads, *arguments)[0] for name in ("stencil", "stencil_fixed")]
    found = blamed(session.report(pair[0]), "first-touch", wanted)
    for f in found:
        expect("nitialise" in f["advice"] and "parallel" in f["advice"], f"the remedy is named: {f['advice']}")
        expect(any(abs(int(p.rsplit(":", 1)[1]) - remedy_line) <= 1 for p in f["places"][1:]),
               f"the initialisation at {source}:{remedy_line} is named: {f['places']}")
    came_true(session, *pair)
    return pair


def places(source, arrays):
    """`file:line` of the allocation of each array."""
    return [f"{source.name}:{line_of(source, f'hn_shared_alloc.*.{a}.,')}" for a in arrays]


def first_store(source):
    """Line of the store that touches a page first."""
    return line_of(source, r"^            c->x = ")


@check
def first_touch_twins(session):
    """Stencil, 8 threads: the two arrays, their lines and the remedy in text, JSON and page; the promise comes true."""
    source, folder = WORKLOADS / "stencil.c", session.build()
    wanted = places(source, ARRAYS)
    size = () if SLOW else ("-n", "384", "-i", "8")
    pair = stencil(session, folder, "8", wanted, source.name, first_store(source), *size)
    told(session, pair[0], [*wanted, "parallel"])
    text = session.run("report", pair[1]).stdout
    expect("parallel" not in text, "the repaired program's text gives no advice")
    page = session.path("data/compare.html")
    session.run("report", pair[0], "--compare", pair[1], "-o", page)
    for dataset in pair:
        session.forget(dataset)


@check
def first_touch_other_threads(session):
    """Stencil with numbers of threads that do not divide the size: the same advice; below the optimum of the program as it is
    only with a word of why."""
    source = WORKLOADS / "stencil.c"
    for threads in OTHER_THREADS + ([4, 9, 13] if SLOW else []):
        pair = stencil(session, session.build(), str(threads), places(source, ARRAYS), source.name, first_store(source),
                       *SMALL)
        evaluation = session.report(pair[0])["evaluations"][0]
        below = int(evaluation["predicted_all"]) < min(int(o["total"]) for o in evaluation["optimum"])
        text = re.sub(r"\s+", " ", session.run("report", pair[0]).stdout)
        expect(("worth more than any placement" in text) == below, f"{threads} threads: below the optimum without a word")
        for dataset in pair:
            session.forget(dataset)


@slow_check
def first_touch_five_threads(session):
    """Stencil of full size with 5 threads."""
    source = WORKLOADS / "stencil.c"
    for dataset in stencil(session, session.build(), "5", places(source, ARRAYS), source.name,
                           first_store(source)):
        session.forget(dataset)


RENAMED = "stencil stencil_fixed kv kv_padded"


def moved_sources(session):
    """The workloads with other names for the arrays and other line numbers."""
    copy = session.path("renamed")
    shutil.copytree(WORKLOADS, copy)
    renames = {"stencil.c": [("now", "alpha_field"), ("next", "omega")], "kv.c": [("stats", "tallies")]}
    for name, words in renames.items():
        text = (copy / name).read_text()
        for old, new in words:
            text = re.sub(rf"\b{old}\b", new, text)
        text = text.replace('#include "hn_workload.h"\n', '#include "hn_workload.h"\n' + "\n" * 37, 1)
        (copy / name).write_text(text)
    return copy


@check
def first_touch_renamed(session):
    """Stencil with renamed arrays and moved lines: the advice follows."""
    sources = session.once("renamed", lambda: moved_sources(session))
    folder = session.build("gcc", "-O2", sources=sources, only=RENAMED)
    wanted = places(sources / "stencil.c", ["alpha_field", "omega"])
    print(f"  the allocations are now at {', '.join(wanted)}")
    expect(wanted != places(WORKLOADS / "stencil.c", ARRAYS), "the lines did move")
    for dataset in stencil(session, folder, "8", wanted, "stencil.c", first_store(sources / "stencil.c"),
                           *(() if SLOW else SMALL)):
        session.forget(dataset)


@slow_check
def first_touch_beside_an_innocent_array(session):
    """Stencil with a large array that one thread initialises and only that thread uses: it is not blamed."""
    folder = session.build("gcc", "-O2", "-DHN_INNOCENT=1", only="stencil stencil_fixed")
    source = WORKLOADS / "stencil.c"
    wanted = places(source, ARRAYS)
    for dataset in stencil(session, folder, "8", wanted, source.name, first_store(source)):
        session.forget(dataset)


@slow_check
def first_touch_of_globals(session):
    """Stencil on global arrays: the findings name the symbols."""
    folder = session.build("gcc", "-O2", "-DHN_GLOBAL=1", only="stencil stencil_fixed")
    pair = [session.record(folder / name, "-p", "8")[0] for name in ("stencil", "stencil_fixed")]
    blamed(session.report(pair[0]), "first-touch", ["now_grid", "next_grid"])
    came_true(session, *pair)
    for dataset in pair:
        session.forget(dataset)


def kv_pair(session, folder, source, name, threads):
    """One pair of servers."""
    pair = [session.record(folder / program, "-p", threads)[0] for program in ("kv", "kv_padded")]
    wanted = f"{source.name}:{line_of(source, f'hn_shared_alloc.*.{name}.,')}"
    found = blamed(session.report(pair[0]), "false-sharing", [wanted])
    expect("24-byte" in found[0]["advice"] and "64" in found[0]["advice"], f"the padding: {found[0]['advice']}")
    lines = [r for r in session.report(pair[0])["evaluations"][0]["false_sharing"] if wanted in r["object"]]
    users = [set(word["threads"]) - {0} for r in lines for word in r["words"]]  # thread 0 reads all of them at the end
    expect(lines and all(len(u) <= 1 for u in users), f"the falsely shared lines show words of one thread each: {users}")
    expect(set().union(*users) == set(range(1, int(threads))), "and all threads")
    update = line_of(source, r"->requests\+\+")
    sites = {s for r in lines for word in r["words"] for s in word["sites"]}
    expect(any(f"{source.name}:{update}" in s for s in sites), f"the update at {source.name}:{update} is named: {sites}")
    came_true(session, *pair)
    told(session, pair[0], [wanted, "24-byte"])


@check
def false_sharing_twins(session):
    """Key-value server, 8 threads: the statistics array, its line and its padding; the promise comes true."""
    kv_pair(session, session.build(), WORKLOADS / "kv.c", "stats", "8")


@check
def false_sharing_renamed(session):
    """Key-value server with a renamed array, moved lines and 6 threads: the advice follows."""
    sources = session.once("renamed", lambda: moved_sources(session))
    kv_pair(session, session.build("gcc", "-O2", sources=sources, only=RENAMED), sources / "kv.c", "tallies", "6")


@check
def right_programs_are_left_alone(session):
    """LU, SOR and radix sort initialise in parallel: no first-touch or false-sharing finding."""
    for name in ("lu", "sor", "radix"):
        dataset, _, _ = session.record(session.build() / name, "-p", "8")
        found = [(f["kind"], f["object"], f["saving_share"]) for f in session.report(dataset)["evaluations"][0]["findings"]]
        print(f"  {name}: {found or 'no finding'}")
        expect(not found, f"{name}: {found}")
