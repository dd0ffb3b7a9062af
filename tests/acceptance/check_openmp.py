"""OpenMP: what a recording holds of programs whose synchronisation is known by construction, with gcc's runtime and with clang's, and what
a report says of their loops."""
import os
import pathlib
import re
import shutil
import subprocess

from harness import Skipped, check, expect, first_touch, tail

PROGRAMS = pathlib.Path(__file__).parent / "openmp"
COMPILERS = ("gcc", "clang")
THREADS = 4


def recorded(session, name, compiler, *flags):
    """Dataset of a program of this folder."""
    def make():
        source = PROGRAMS / name
        binary = session.path(f"openmp/{len(session.made)}/{source.stem}")
        session.run("cc", "-O1", "-g", "-fopenmp", *flags, source, "-o", binary, env={**os.environ, "HOMENODE_REAL_CC": compiler})
        plain = subprocess.run([binary], capture_output=True, text=True, check=True).stdout
        dataset, output, _ = session.record(binary)
        expect(output == plain or "-DRACE" in flags, f"{name} computes the same while it is recorded: {output} and {plain}")
        return dataset
    return session.once(("openmp", name, compiler, flags), make)


def of_kind(session, dataset, kind):
    """Acquires and releases of one kind of synchronisation."""
    rows = [s for s in session.json("info", dataset, "--json")["synchronisation"] if s["kind"] == kind]
    return sum(r["acquires"] for r in rows), sum(r["releases"] for r in rows)


def races(session, dataset):
    """Pairs of code locations whose references nothing recorded orders."""
    command = session.homenode.parent / "examples" / "races"
    if not command.is_file():
        raise Skipped("cargo build --release -p homenode-command --examples has not been run")
    done = subprocess.run([command, dataset], capture_output=True, text=True)
    expect(done.returncode == 0, f"races: {tail(done.stderr)}")
    return int(done.stdout.split()[0]), done.stdout


def phases(session, dataset):
    """Entries of each phase by its name."""
    return {p["name"]: p["entered"] for p in session.json("info", dataset, "--json")["phases"]}


@check
def constructs_are_counted_exactly(session):
    """Barriers, locks, begins of regions and of tasks, loops: as many as the program has, under both compilers."""
    for compiler in COMPILERS:
        dataset = recorded(session, "counts.c", compiler)
        expect(of_kind(session, dataset, "mutex") == (60, 60), f"{compiler}: {of_kind(session, dataset, 'mutex')} locks, not 60")
        expect(of_kind(session, dataset, "barrier") == (12, 12), f"{compiler}: {of_kind(session, dataset, 'barrier')} at 3 barriers of 4")
        # A region's begin is released once and acquired by three, a task's once each.
        begins = of_kind(session, dataset, "thread begin")
        expect(begins == (4 * 3 + 64, 4 + 64), f"{compiler}: {begins} begins")
        found = phases(session, dataset)
        texts = (PROGRAMS / "counts.c").read_text().splitlines()
        for construct, directive in [("omp for schedule(static)", r"schedule\(static\)$"), ("omp for schedule(dynamic,1000)", r"schedule\(dynamic"),
                                     ("omp for schedule(static)", "reduction"), (r"omp for schedule(guided,1)", "guided")]:
            line = max(i for i, text in enumerate(texts, 1) if re.search(directive, text))
            # A compiler may give the loop the line of the directive or that of its `for`.
            entered = [n for p, n in found.items() if p in [f"{construct} at counts.c:{line + i}" for i in range(3)]]
            expect(entered == [THREADS], f"{compiler}: {construct} at line {line} is not entered by {THREADS} threads: {found}")
        tasks = [n for p, n in found.items() if p.startswith("omp task at counts.c:")]
        expect(tasks == [64], f"{compiler}: 64 tasks: {found}")
        print(f"  {compiler}: 60 locks, 12 arrivals, {begins[0]} begins")


@check
def what_openmp_orders_is_ordered(session):
    """Tasks, dependences, groups, sections, ordered, copyprivate, reductions: nothing unordered; without one barrier there is."""
    for compiler in COMPILERS:
        for name in ("order.c", "counts.c"):
            n, told = races(session, recorded(session, name, compiler))
            expect(n == 0, f"{compiler}: {name} has no data race, and {told}")
        n, _ = races(session, recorded(session, "counts.c", compiler, "-DRACE"))
        expect(n > 0, f"{compiler}: a barrier is missing and nothing is unordered")
        print(f"  {compiler}: 0 pairs without an order; {n} without a barrier")


@check
def threads_of_a_team_stay_who_they_are(session):
    """Teams of 4, 2, 4 and 4 threads are four threads, each with the references of its regions; nesting is told."""
    for compiler in COMPILERS:
        info = session.json("info", recorded(session, "teams.c", compiler), "--json")
        n = 65536
        writes = [t["ops"]["write"] for t in info["threads"]]
        expect(len(writes) == 4, f"{compiler}: {len(writes)} threads")
        for got, regions in zip(writes, (4, 4, 3, 3)):
            expect(regions * n <= got <= regions * n + 16, f"{compiler}: {writes} writes of threads in 4, 4, 3 and 3 regions")
        evidence = session.report(recorded(session, "teams.c", compiler, "-DNESTED"))["evaluations"][0]["evidence"]["gaps"]
        told = [g["sentence"] for g in evidence if g["kind"] == "open-mp"]
        expect(told and "nested parallelism at teams.c:" in told[0], f"{compiler}: nested regions are told: {evidence}")
        plain = session.report(recorded(session, "teams.c", compiler))["evaluations"][0]["evidence"]["gaps"]
        expect(not [g for g in plain if g["kind"] == "open-mp"], f"{compiler}: nothing of OpenMP is missing: {plain}")


def numbers(marker):
    """Numbers of the lines of first_touch.c that are marked so."""
    texts = (PROGRAMS / "first_touch.c").read_text().splitlines()
    return [i for i, text in enumerate(texts, 1) if text.endswith(f"// {marker}")]


def lines(marker):
    """`file:line` of a loop: from its first marked line to the last, as a compiler may say either; of what fills, both lines."""
    first, last = numbers(marker)[0], numbers(marker)[-1]
    return [f"first_touch.c:{i}" for i in range(first, last + 1)]


@check
def advice_speaks_of_the_loop(session):
    """Filled by main and used by a static loop: both lines are named; filled alike: silent; used by whoever comes next: said."""
    for compiler in COMPILERS:
        bad = session.report(recorded(session, "first_touch.c", compiler))
        findings = bad["evaluations"][0]["findings"]
        expect(len(findings) == 2, f"{compiler}: x and y: {[f['advice'] for f in findings]}")
        for f in findings:
            loop = re.search(r"same static schedule as the loop at (first_touch\.c:\d+)", f["advice"])
            expect(loop and loop[1] in lines("loop"), f"{compiler}: the loop's line is not named: {f['advice']}")
            expect(any(p in f["advice"] for p in lines("fill")),
                   f"{compiler}: the line that fills is not named: {f['advice']}")
        good = session.report(recorded(session, "first_touch.c", compiler, "-DFIXED"))
        expect(not good["evaluations"][0]["findings"], f"{compiler}: the repaired program: {good['evaluations'][0]['findings']}")
        before, after_ = first_touch(bad), first_touch(good)
        predicted = int(bad["evaluations"][0]["predicted_all"])
        saved, said = before - after_, before - predicted
        expect(abs(said - saved) <= 0.1 * saved, f"{compiler}: predicted to save {said}, saved {saved}")
        dealt = session.report(recorded(session, "first_touch.c", compiler, "-DFIXED", "-DDYNAMIC"))["evaluations"][0]["evidence"]["gaps"]
        told = [g for g in dealt if g["kind"] == "schedule"]
        expect(told and "schedule(dynamic,64)" in told[0]["sentence"] and "schedule(static)" in told[0]["remedy"],
               f"{compiler}: the dynamic loop is told: {dealt}")
        noted = {}
        for more in ((), ("-DDYNAMIC",)):
            plan = session.path(f"openmp/plan-{len(more)}.json")
            plan.parent.mkdir(parents=True, exist_ok=True)
            place = session.run("place", recorded(session, "first_touch.c", compiler, "-DFIXED", *more), "--force", "-o", plan)
            noted[more] = "whoever comes next" in place.stdout
        expect(noted == {(): False, ("-DDYNAMIC",): True}, f"{compiler}: plans say which homes are of this run: {noted}")
        still = good["evaluations"][0]["evidence"]["gaps"]
        expect(not [g for g in still if g["kind"] in ("schedule", "open-mp")], f"{compiler}: nothing is missing with static loops: {still}")
        print(f"  {compiler}: predicted {said / before:.1%}, saved {saved / before:.1%}")


@check
def questions_of_the_program_are_no_loop(session):
    """Who asks how many threads there are and which one this is, in one line, begins no loop; gcc's static loops only ask."""
    number = next(i for i, text in enumerate((PROGRAMS / "first_touch.c").read_text().splitlines(), 1) if "omp_get_num_threads" in text)
    for compiler in COMPILERS:
        report = session.report(recorded(session, "first_touch.c", compiler, "-DASKS"))["evaluations"][0]
        places = [row["place"] for row in report["loops"] if row["construct"].startswith("omp for")]
        expect(f"first_touch.c:{number}" not in places, f"{compiler}: the program's own questions are no loop: {places}")
        expect(any(p in places for p in lines("loop")), f"{compiler}: the loop is one: {places}")


@check
def fortran_is_understood(session):
    """The same by gfortran."""
    if not shutil.which("gfortran"):
        raise Skipped("no gfortran")
    binary = session.path("openmp/fortran/loop")
    session.run("cc", "--compiler=gfortran", "-O1", "-g", "-fopenmp", PROGRAMS / "loop.f90", "-o", binary)
    dataset, _, _ = session.record(binary)
    found = phases(session, dataset)
    number = next(i for i, text in enumerate((PROGRAMS / "loop.f90").read_text().splitlines(), 1) if "parallel do schedule" in text)
    expect(found.get(f"omp for schedule(static) at loop.f90:{number}") == 16, f"four threads, four times: {found}")
    findings = session.report(dataset)["evaluations"][0]["findings"]
    expect(any(f"the loop at loop.f90:{number}" in f["advice"] for f in findings), f"the loop is named: {[f['advice'] for f in findings]}")
