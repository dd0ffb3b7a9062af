"""Every workload: right whatever compiles it and however many threads it has, and its self-check notices damage."""
import re
import shutil
import subprocess

import sequential
from harness import WORKLOADS, Skipped, check, expect, shown, slow_check, tail

THREADS = ("1", "2", "3", "5", "8")
UNCHECKED = {"killme"}  # no result: it writes until it is killed


def programs():
    """Names of the workloads that check themselves, as build.sh lists them."""
    names = re.findall(r"^one (\w+) ", (WORKLOADS / "build.sh").read_text(), re.MULTILINE)
    expect(len(names) == len(set(names)) >= 36, f"build.sh lists each program once: {names}")
    return [n for n in names if n not in UNCHECKED]


def result(program, *arguments, status=0, under=()):
    """Checksum in the one line that a workload prints; status 1 wants the word that the check failed. `under`: the words of
    a command that starts it."""
    words = [*under, str(program), *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    expect(done.returncode == status, f"{shown(words)}: status {done.returncode}: {tail(done.stdout + done.stderr)}")
    wanted = "SELF-CHECK FAILED" if status else "verified OK"
    found = re.fullmatch(rf"{program.name}: {wanted} checksum ([0-9a-f]{{16}}) \(.*\)\n", done.stdout)
    expect(found and not done.stderr, f"{shown(words)}: not the line of a result: {tail(done.stdout + done.stderr)}")
    return found[1]


def same_for_all(folder, *arguments):
    """Checksums by program; each the same for every number of threads, one thread being the sequential program."""
    found = {}
    for name in programs():
        sums = {result(folder / name, "-p", t, *arguments) for t in THREADS}
        expect(len(sums) == 1, f"{name}: the checksum depends on the number of threads: {sums}")
        found[name] = sums.pop()
    print(f"  {len(found)} programs, {', '.join(THREADS)} threads each")
    return found


def native(session, compiler):
    """Checksums of the workloads without hooks."""
    if not shutil.which(compiler):
        raise Skipped(f"there is no {compiler}")
    return session.once(("sums", compiler), lambda: same_for_all(session.build(compiler, "-O2", hooks=False)))


@check
def native_gcc(session):
    """gcc -O2: every workload verifies itself for 1 to 8 threads, with one checksum."""
    native(session, "gcc")


@check
def native_clang(session):
    """clang -O2: the same."""
    native(session, "clang")


@check
def hooked(session):
    """homenode cc -O2, not recorded: the hooks change no result."""
    sums = same_for_all(session.build())
    expect(sums == native(session, "gcc"), "the same compiler with and without hooks gives the same checksums")


@check
def damage_is_noticed(session):
    """With one value of its result spoilt, every workload says that its self-check failed."""
    folder = session.build("gcc", "-O1", "-DHN_DAMAGE=1", hooks=False)
    for name in programs():
        for threads in ("1", "3"):
            result(folder / name, "-p", threads, status=1)


@check
def sequential_agrees(session):
    """The integer programs give what a sequential transcription in Python gives, whatever the number of threads."""
    folder = session.build("gcc", "-O2", hooks=False)
    cases = [("msort", ("-n", "5000"), sequential.sort(5000)),
             ("qsort_tasks", ("-n", "5000"), sequential.sort(5000)),
             ("ssort", ("-n", "5000"), sequential.sort(5000)),
             ("matmult", ("-n", "23"), sequential.matmult(23)),
             ("em3d", ("-n", "600", "-i", "4"), sequential.em3d(600, 4)),
             ("em3d", ("-n", "17", "-i", "3"), sequential.em3d(17, 3)),
             ("bfs", ("-n", "3000", "-b", "2"), sequential.bfs(3000, 2)),
             ("bfs", ("-n", "700", "-b", "1"), sequential.bfs(700, 1))]
    for name, arguments, wanted in cases:
        for threads in ("1", "3", "8"):
            found = result(folder / name, *arguments, "-p", threads)
            expect(found == f"{wanted:016x}", f"{name} {shown(arguments)}, {threads} threads: {found}, not {wanted:016x}")


@check
def other_sizes(session):
    """The sorts agree on what they sort; the two relaxations are one computation; more threads than work is no harm."""
    folder = session.build("gcc", "-O2", hooks=False)
    for n in ("1", "2", "7", "1000"):
        sums = {result(folder / name, "-n", n, "-p", "16") for name in ("msort", "qsort_tasks", "ssort")}
        expect(len(sums) == 1, f"{n} keys: {sums}")
    sums = {result(folder / name, "-n", "9", "-p", "16") for name in ("sor", "sor_cols")}
    expect(len(sums) == 1, f"by rows and by columns: {sums}")
    for words in (("-n", "27"), ("-n", "64"), ("-n", "125"), ("-n", "343", "-i", "300")):  # in the last molecules change cells
        sums = {result(folder / name, *words, "-p", "16") for name in ("water", "water_gathered", "water_spatial")}
        expect(len(sums) == 1, f"water, {shown(words)}: {sums}")
    for n in ("1", "2", "9", "1000"):
        sums = {result(folder / name, "-n", n, "-p", "16") for name in ("bsort", "kmerge", "p_qsort", "msort")}
        expect(len(sums) == 1, f"{n} keys: {sums}")
    sums = {result(folder / name, "-n", "9", "-i", "3", "-p", "16") for name in ("sorbyr", "sorbyc")}
    expect(len(sums) == 1, f"relaxed by rows and by columns: {sums}")
    for name in ("p_qsort", "p_matmult", "p_gauss", "cholesky", "chip", "m_fft", "m_simple", "m_weather", "m_speech"):
        sums = {result(folder / name, "-r", seed, "-p", "5") for seed in ("1", "2", "3")}
        expect(len(sums) == 1, f"{name}: who does what changes no result: {sums}")
    for words in (("-n", "512"), ("-n", "3000", "-i", "5")):
        sums = {result(folder / name, *words, "-p", "16") for name in ("barnes", "barnes_rebuild", "barnes_spatial")}
        expect(len(sums) == 1, f"bodies, {shown(words)}: {sums}")
    for n in ("8", "30"):
        sums = {result(folder / name, "-n", n, "-p", "16") for name in ("volrend", "volrend_balanced")}
        expect(len(sums) == 1, f"volrend, edge {n}: {sums}")
    small = {"fft": "16", "gauss": "2", "matmult": "1", "em3d": "16", "bfs": "2", "water": "27", "water_spatial": "27", "mp3d": "64",
             "raytrace": "1", "raytrace_ids": "1", "barnes": "512", "e_fft": "4", "e_simp": "3", "e_hyd": "3", "e_nasa": "3", "gauss_bands": "2",
             "sorbyr": "3", "sorbyc": "3", "matmult_timed": "1", "plytrace": "20", "cholesky": "2", "p_gauss": "2",
             "p_matmult": "1", "p_life": "3", "m_fft": "4", "m_simple": "4", "m_weather": "4", "m_speech": "4"}
    for name, n in small.items():
        result(folder / name, "-n", n, "-p", "16")


@check
def fewer_tiles_are_taken_if_dealt_in_turn(session):
    """The renderer of volumes, by the reckoning of who is free: the same each time, and less is taken from others if tiles are dealt in turn."""
    folder = session.build("gcc", "-O2", "-DHN_RECKONED=1", only="volrend volrend_balanced", hooks=False)
    taken = {}
    for name in ("volrend", "volrend_balanced"):
        words = [folder / name, "-v", "-p", "16"]
        said = {tail(subprocess.run(words, capture_output=True, text=True, timeout=300).stderr, 1) for _ in range(3)}
        expect(len(said) == 1, f"{shown(words)}: {said}")
        taken[name] = int(re.fullmatch(r"taken from others (\d+) of 800 tiles", said.pop().strip())[1])
    expect(0 < taken["volrend_balanced"] < taken["volrend"] / 1.3, f"{taken}")
    print(f"  of 800 tiles, 16 threads: {taken}")


@slow_check
def sanitised(session):
    """No data race under gcc's thread sanitizer, no undefined behaviour under its others."""
    under = ("setarch", "-R") if shutil.which("setarch") else ()  # the thread sanitizer wants a plain address space
    kinds = {"thread": "-fsanitize=thread", "undefined": "-fsanitize=address,undefined"}
    for kind, flag in kinds.items():
        folder = session.build("gcc", "-O1", flag, "-fno-sanitize-recover=all", hooks=False)
        for name in programs():
            result(folder / name, "-p", "5", under=under)
        print(f"  {kind}: nothing found")
