"""Running, timing and printing for the bench."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from examples import example

NATIVE_RUNS = 3
NATIVE_SECONDS = 1.0  # short programs run again until they have run this long, within reason
NATIVE_RUNS_MOST = 12
EXAMPLES = (("codec_speed", "encode and decode (goal: read 130 M refs/s a core)"),
            ("engine_speed", "plain engine (goal: 10 ns per reference and configuration)"),
            ("sweep_speed", "folded engine (goals: partition 3 ns/ref; 1e10 references x configurations / s a core "
                                              "with AVX-512, 5e9 with AVX2; two workers 1.85x; 30x the plain engine; six protocols of page coherence at six "
                                              "page sizes: 10 M refs/s)"),
            ("sample_speed", "ring bytes to samples to frames (goal: 5 M samples/s a core)"),
            ("move_speed", "batches of page moves beside a bare loop of the call (goal: 1.10x)"))

# Examples whose first argument is millions of references.
TAKE_MILLIONS = ("engine_speed", "sweep_speed")


class Bench:
    """One run: remembers every command line it timed."""

    def __init__(self, root, homenode, folder, size, threads):
        self.root, self.homenode, self.folder, self.size, self.threads = root, homenode, folder, size, threads
        self.built, self.commands, self.natives = {}, [], {}
        folder.mkdir(parents=True, exist_ok=True)

    def program(self, compiler, level, kernel, hooks):
        """Path of a workload, built, and no other, when first needed."""
        key = (compiler, level, hooks, kernel)
        if key not in self.built:
            out = self.folder / f"bin-{compiler}{level}{'-hooks' if hooks else ''}"
            command = f"{self.homenode} cc" if hooks else compiler
            environment = {**os.environ, "HOMENODE_REAL_CC": compiler, "HN_ONLY": kernel}
            words = [str(self.root / "workloads/build.sh"), command, str(out), level]
            subprocess.run(words, env=environment, check=True)
            real = f"HOMENODE_REAL_CC={compiler} " if hooks else ""
            self.note(f"{real}HN_ONLY={kernel} workloads/build.sh '{command}' {out} {level}")
            self.built[key] = out / kernel
        return self.built[key]

    def note(self, text, seconds=None):
        """Remembers a command line and, if it was timed, its raw seconds."""
        shown = text.replace(str(self.homenode), "homenode")
        shown = shown.replace(str(self.root) + "/", "").replace(str(self.folder) + "/", "")
        if not self.commands or self.commands[-1][0] != shown:
            self.commands.append((shown, []))
        self.commands[-1][1].extend([] if seconds is None else [seconds])

    def timed(self, words, **options):
        """Seconds from start to end of a command; a failure stops the bench."""
        words = [str(w) for w in words]
        began = time.monotonic()
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **options)
        seconds = time.monotonic() - began
        if done.returncode:
            sys.exit(f"bench: {' '.join(words)}: status {done.returncode}: {done.stderr.strip()[-500:]}")
        self.note(" ".join(words), seconds)
        return seconds, done.stdout

    def native(self, compiler, level, arguments):
        """Best of several runs of the native build, in seconds."""
        key = (compiler, level, tuple(arguments))
        if key not in self.natives:
            program = self.program(compiler, level, arguments[0], hooks=False)
            runs = []
            while len(runs) < NATIVE_RUNS or (sum(runs) < NATIVE_SECONDS and len(runs) < NATIVE_RUNS_MOST):
                runs.append(self.timed([program, *arguments[1:]])[0])
            self.natives[key] = min(runs)
        return self.natives[key]

    def run(self, *arguments):
        """Runs homenode; returns what it printed."""
        return self.timed([self.homenode, *arguments])[1]

    def seconds(self, *arguments):
        """Runs homenode; seconds from start to end."""
        return self.timed([self.homenode, *arguments])[0]

    def json(self, *arguments):
        """Runs homenode; the document is the last line (a recorded program may print before it)."""
        return json.loads(self.run(*arguments).strip().splitlines()[-1])

    def report(self, dataset, machine, *more, processors=None):
        """Seconds, peak resident bytes and document of a report, on so many of the processors if not on all."""
        words = [str(w) for w in (self.homenode, "report", dataset, "--machine", machine, "--json", "--quiet", *more)]
        some = sorted(os.sched_getaffinity(0))[:processors]
        out = self.folder / "report.json"
        began = time.monotonic()
        with open(out, "wb") as file:
            process = subprocess.Popen(words, stdout=file, preexec_fn=lambda: os.sched_setaffinity(0, some))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        if process.returncode:
            sys.exit(f"bench: {' '.join(words)}: status {process.returncode}")
        self.note(" ".join(words), seconds)
        return seconds, usage.ru_maxrss * 1024, json.loads(out.read_text())

    def lackey(self, program, arguments):
        """Seconds and number of references of a lackey run; its text is counted in a second run and thrown away."""
        if not shutil.which("valgrind"):
            sys.exit("bench: valgrind is missing")
        words = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--log-file=/dev/null", str(program), *arguments]
        seconds, _ = self.timed(words)
        words[3] = "--log-fd=9"
        count = " ".join(words) + r" 9>&1 >/dev/null | grep -c '^ [LSM] '"
        refs = int(subprocess.run(["bash", "-c", count], check=True, stdout=subprocess.PIPE).stdout)
        return seconds, refs

    def cachegrind(self, program, arguments):
        """Seconds and number of data references of a cachegrind run, caches simulated."""
        out = self.folder / "cachegrind.out"
        words = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={out}", str(program), *arguments]
        seconds, _ = self.timed(words)
        lines = out.read_text().splitlines()
        names, sums = (next(line for line in lines if line.startswith(key)).split()[1:] for key in ("events:", "summary:"))
        counts = dict(zip(names, map(int, sums)))
        return seconds, counts["Dr"] + counts["Dw"]

    def bytes_of(self, dataset):
        """Bytes of all files of a dataset."""
        return sum(p.stat().st_size for p in pathlib.Path(dataset).rglob("*") if p.is_file())

    def remove(self, dataset):
        """Makes room."""
        shutil.rmtree(dataset, ignore_errors=True)

    def print_commands(self):
        """Every command line with its raw seconds."""
        print("\ncommands, in order, raw seconds of every run (programs run in the folder of the bench)")
        for text, seconds in self.commands:
            print(f"  {text}")
            if seconds:
                print("      " + " ".join(f"{s:.3f}" for s in seconds))


def table(title, head, rows):
    """Prints a table, first column to the left, numbers to the right."""
    lines = [head, *rows]
    widths = [max(len(str(line[i])) for line in lines) for i in range(len(head))]
    print(f"\n{title}")
    for line in lines:
        cells = [str(c).ljust(w) if i < 2 else str(c).rjust(w) for i, (c, w) in enumerate(zip(line, widths))]
        print("  " + "  ".join(cells).rstrip(), flush=True)


def examples(size, datasets):
    """The speed examples of the crates, which measure what no command shows alone; at size XS on a million references. The
    folded engine is measured on recorded datasets and on synthetic ones, with both widths of vectors, and at size M with
    more references than its budget of memory holds."""
    for name, title in EXAMPLES:
        runs = [["1"] if size == "XS" and name in TAKE_MILLIONS else []]
        if name == "sweep_speed":
            inputs = [*(str(path.resolve()) for _, path in datasets), "1" if size == "XS" else "4"]
            runs = [inputs] + ([["--vectors", "avx2", *inputs]] if " avx2 " in pathlib.Path("/proc/cpuinfo").read_text() else [])
            runs.append(["--protocols", *inputs])
            runs += [["--budget", "1024", "1000"]] if size == "M" else []
        print(f"\n{title}")
        for arguments in runs:
            example(name, arguments)


def processor():
    """Name of the processor."""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def first_line(words):
    """First line of what a command prints."""
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]
