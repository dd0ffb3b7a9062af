"""What every check stands on: building workloads, recording, reporting, running checks in lanes, and counting what passed."""
import concurrent.futures
import functools
import itertools
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORKLOADS = ROOT / "workloads"
SLOW = os.environ.get("HOMENODE_SLOW") == "1"
CHECKS = []


def check(function):
    """Registers a check: a function of one Session. It prints what it measured and raises AssertionError if wrong."""
    CHECKS.append(function)
    return function


def alone(function):
    """The check runs beside no other: it is about time, about a busy host, or about what the whole machine does next."""
    function.alone = True
    return function


def expect(condition, sentence):
    """An assertion that survives -O and says what was wanted."""
    if not condition:
        raise AssertionError(sentence)


def slow_check(function):
    """As `check`, in the slow tier only."""
    @functools.wraps(function)
    def gated(session):
        if not SLOW:
            raise Skipped("slow tier")
        function(session)
    return check(gated)


class Skipped(Exception):
    """This machine cannot do it; the reason."""


class Session:
    """One run of the acceptance tests: the command under test and a folder for everything made on the way."""

    def __init__(self, homenode, folder, processors=os.cpu_count() or 1):
        self.homenode, self.folder = pathlib.Path(homenode).resolve(), pathlib.Path(folder).resolve()
        self.processors = processors  # that one check may use
        self.folder.mkdir(parents=True, exist_ok=True)
        self.made = {}

    def once(self, key, make):
        """make(), or what it returned the last time for this key."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def path(self, name):
        """A path in the folder that does not exist yet, its parent does."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
        return path

    def run(self, *arguments, status=0, **options):
        """Runs homenode; returns the finished process. `status` is the exit status wanted, or a set of them."""
        command = [str(a) for a in (self.homenode, *arguments)]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 600, **options}
        done = subprocess.run(command, text=True, errors="replace", **options)
        wanted = status if isinstance(status, set) else {status}
        if status is not None and done.returncode not in wanted:
            raise AssertionError(f"{shown(command)}: status {done.returncode}, not {status}; stderr: {tail(done.stderr)}")
        expect("panicked at" not in (done.stderr or ""), f"{shown(command)} panicked: {tail(done.stderr)}")
        return done

    def json(self, *arguments, **options):
        """Runs homenode and reads what it printed."""
        return json.loads(self.run(*arguments, **options).stdout)

    def build(self, compiler="gcc", *flags, sources=WORKLOADS, only="", hooks=True):
        """Folder with the workloads built with the hooks (or natively) by this compiler."""
        return self.once(("build", compiler, flags, sources, only, hooks), lambda: self.compile(
            compiler, flags, sources, only, hooks))

    def compile(self, compiler, flags, sources, only, hooks):
        out = self.folder / "bin" / f"{compiler}-{len(self.made)}"
        command = f"{self.homenode} cc" if hooks else compiler
        environment = {**os.environ, "HOMENODE_REAL_CC": compiler, "HN_ONLY": only}
        words = [str(sources / "build.sh"), command, str(out), *(flags or ("-O2",))]
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        expect(done.returncode == 0, f"{shown(words)}: {tail(done.stderr)}")
        expect(not done.stderr.strip(), f"the workloads compile without a warning: {tail(done.stderr)}")
        return out

    def record(self, program, *arguments, status=0):
        """Dataset of one run of a program (a path), recorded once; also its stdout and stderr."""
        def make():
            dataset = self.path(f"data/{program.name}-{len(self.made)}.hnt")
            done = self.run("record", "-o", dataset, "--", program, *arguments, status=status)
            return dataset, done.stdout, done.stderr
        return self.once(("record", program, arguments), make)

    def report(self, dataset, *arguments):
        """The report's document."""
        return self.once(("report", dataset, arguments), lambda: self.json("report", dataset, "--json", *arguments))

    def forget(self, dataset):
        """Deletes a dataset, to keep the folder small."""
        shutil.rmtree(dataset, ignore_errors=True)
        self.made = {k: v for k, v in self.made.items() if not (k[0] == "record" and v[0] == dataset)}


def shown(command):
    """A command line for people."""
    return " ".join(str(c) for c in command)


def tail(text, lines=5):
    """The end of an output on one line."""
    return " | ".join((text or "").strip().splitlines()[-lines:])


def one_line(done):
    """The single error line of a failed run, without the program's name; the hooks speak for the recorded program."""
    lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("homenode hooks: ")]
    expect(len(lines) == 1, f"one clear line on stderr, not {len(lines)}: {tail(done.stderr, 8)}")
    expect(lines[0].startswith("homenode: "), f"the line says who speaks: {lines[0]}")
    return lines[0].removeprefix("homenode: ")


def first_touch(document):
    """Total under first touch in a report's first evaluation."""
    return int(next(r["total"] for r in document["evaluations"][0]["policies"] if r["name"] == "first-touch"))


def line_of(source, pattern):
    """Number of the only line of a source file that matches."""
    found = [i for i, line in enumerate(source.read_text().splitlines(), 1) if re.search(pattern, line)]
    expect(len(found) == 1, f"{source.name} has {len(found)} lines like {pattern}")
    return found[0]


def end(process):
    """Ends a process of ours, by its number."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def children(pid):
    """Process ids of a process's children."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()
    except OSError:
        pass  # it has ended
    return [int(c) for c in found]


def run_one(session, function):
    """Runs a check; returns how it ended: passed, failed or skipped."""
    began = time.monotonic()
    print(f"\n== {function.__module__}.{function.__name__}: {(function.__doc__ or '').strip().splitlines()[0]}", flush=True)
    try:
        function(session)
        ended, word = "passed", "passed"
    except Skipped as reason:
        ended, word = "skipped", f"SKIPPED: {reason}"
    except (AssertionError, subprocess.SubprocessError, OSError, ValueError, KeyError, StopIteration, IndexError) as e:
        ended, word = "failed", f"FAILED: {type(e).__name__}: {e}"
        if not isinstance(e, AssertionError):
            traceback.print_exc()
    print(f"  {word} ({time.monotonic() - began:.1f} s)", flush=True)
    return ended


class Lane:
    """A process that runs checks beside other processes that do; what a check prints comes out at once when it has ended."""

    def __init__(self, homenode, folder, processors, printing):
        self.session = Session(homenode, pathlib.Path(folder) / f"lane-{os.getpid()}", processors)
        self.printing, self.out = printing, os.dup(1)

    def run(self, function):
        """Runs a check; returns how it ended."""
        with tempfile.TemporaryFile() as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            ended = run_one(self.session, function)
            said.seek(0)
            with self.printing:
                with open(self.out, "wb", closefd=False) as out:
                    out.write(said.read())
        return ended


LANE = None  # of this process, if it is one


def begin_lane(*arguments):
    """Makes this process a lane."""
    global LANE
    LANE = Lane(*arguments)


def run_module(places):
    """Runs these checks, which share what they record, one after the other; returns how each ended."""
    return [LANE.run(CHECKS[place]) for place in places]


def in_lanes(session, checks, lanes):
    """Runs checks in so many processes, those of one module in one of them, in their order; returns how each ended."""
    context = multiprocessing.get_context("fork")
    places = {c: i for i, c in enumerate(CHECKS)}
    modules = [[places[c] for c in of] for _, of in itertools.groupby(checks, lambda c: c.__module__)]
    processors = max(1, (os.cpu_count() or 1) // lanes)
    begin = (session.homenode, session.folder, processors, context.Lock())
    sys.stdout.flush()
    with concurrent.futures.ProcessPoolExecutor(lanes, context, begin_lane, begin) as pool:
        return [ended for of in pool.map(run_module, modules) for ended in of]


def running(folder):
    """Commands of processes that have a file below the folder among their words; whoever runs the checks has none."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it has ended
        if int(process.name) != os.getpid() and any(f"{folder}/" in word for word in words):
            found.append(f"{process.name} {' '.join(words).strip()[:200]}")
    return found


def run_all(session, checks, lanes=1):
    """Runs the checks, in so many lanes but for those that run alone, afterwards; returns how many failed."""
    beside = [c for c in checks if lanes > 1 and not hasattr(c, "alone")]
    ended = in_lanes(session, beside, lanes) if beside else []
    ended += [run_one(session, c) for c in checks if c not in beside]
    left = running(session.folder)
    if left:
        print(f"\nFAILED: still running: {'; '.join(left)}")
        ended.append("failed")
    passed, failed, skipped = (ended.count(word) for word in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed
