"""The kit: small programs whose bugs are known by construction, and what a report says of them.

The truth stands at the head of each program, in a comment that begins with `kit` and holds TOML:

    /* kit
    class = "false sharing of writers"     # one of CLASSES
    truth = "why this is the truth"        # for people
    build = ["gcc", "-O1"]                 # compiler and flags
    args = ["20000"]                       # of the program; machine = "two-socket" unless another is named
    repaired = ["-DFIXED"]                     # flags, or the name of a file, of the repaired program; absent: no repair exists
    bugs = [{object = "hits", line = "hot", remedy = ["pad"]}]
    */

A bug's `line` is a marker: the lines of the program that end in `// hot` (or `// hot, ...`). A finding is right if it is
about the object, names one of the marked lines, and its advice is one of the remedies. `shared` in place of `bugs` is
data that threads truly share: no finding, but the head of the report names object and line; with `turns = true` it says what
that costs at both ends, each thread's turns in one run and in strict alternation. `unseen = true`: the report must
say that it cannot tell. Neither bugs nor shared: nothing is wrong and nothing may be found. A repaired program has no finding, and saves
what was predicted (`realised = false`: is only looked at for findings; `threshold` is the report's). The truths come from how
a program is written, never from what a report said.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import sys
import time
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "acceptance"))
import harness  # noqa: E402

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
SETTINGS = {"class", "truth", "build", "args", "machine", "repaired", "bugs", "shared", "unseen", "realised", "required", "slow",
            "report", "libs", "turns"}
COMPILERS = ("gcc", "clang")
LEVELS = ("-O0", "-O1", "-O2")

# What an advice says when it means a remedy.
REMEDIES = {
    "pad": r"\b[Pp]ad\b|\b[Aa]lign\b",
    "align": r"\b[Aa]lign",
    "split": r"array for each field|\b[Ss]plit\b|\b[Ss]eparate|\b[Mm]ove\b|apart|line of its own|lines of (its|their) own|\b[Pp]ad\b",
    "blocks": r"block|contiguous|consecutive|chunk|(own|per-thread|thread's) (part|copy|array|piece)",
    "private": r"(per[- ]thread|each thread|thread's own|of its own|local (copy|variable|sum))",
    "initialise": r"nitialis",
    "copy": r"\b[Cc]op(y|ies)\b",
    "loops": r"loop|row|partition|transpos|order|layout",
    "partition": r"partition|initialis|[Ii]nitialis|uses|part",
}


@dataclasses.dataclass
class Program:
    """One program of the kit and its truth."""
    source: pathlib.Path
    truth: dict

    @property
    def name(self):
        return self.source.stem

    def lines(self, marker):
        """`file:line` of the lines that carry a marker."""
        texts = enumerate(self.source.read_text().splitlines(), 1)
        pattern = re.compile(rf"// (\w+, )*{marker}(,.*)?$")
        found = [f"{self.source.name}:{i}" for i, text in texts if pattern.search(text)]
        harness.expect(found, f"{self.source.name} has no line marked `// {marker}`")
        return found


@dataclasses.dataclass
class Verdict:
    """What a report said of a program, beside the truth."""
    program: Program
    found: int = 0
    bugs: int = 0
    false: list = dataclasses.field(default_factory=list)
    wrong: list = dataclasses.field(default_factory=list)
    findings: int = 0
    predicted: float = None
    realised: float = None
    seconds: float = 0.0

    @property
    def right(self):
        return not self.false and not self.wrong

    @property
    def off(self):
        """Predicted over realised saving, less one; None if there is nothing to compare."""
        if self.predicted is None or self.realised is None:
            return None
        return self.predicted / self.realised - 1 if self.realised > 0 else float("inf")


def read(source):
    """A program of the kit."""
    text = source.read_text()
    head = re.match(r"/\* kit\n(.*?)\n\*/", text, re.DOTALL)
    harness.expect(head, f"{source.name} does not begin with its truth (`/* kit`)")
    truth = tomllib.loads(head[1])
    unknown = set(truth) - SETTINGS
    harness.expect(not unknown, f"{source.name}: unknown settings {sorted(unknown)}")
    harness.expect("class" in truth and "truth" in truth, f"{source.name}: class and truth are missing")
    return Program(source, truth)


def programs(words=()):
    """The programs of the kit whose name or class contains one of the words; all without words."""
    sources = sorted(p for p in PROGRAMS.iterdir() if p.suffix in (".c", ".cpp"))
    kit = [read(p) for p in sources if p.read_text().startswith("/* kit\n")]
    return [p for p in kit if not words or any(w in p.name or w in p.truth["class"] for w in words)]


def build(session, source, compiler, *flags, libs=()):
    """The program, compiled with the hooks."""
    def make():
        binary = session.path(f"kit/{len(session.made)}/{source.stem}")
        cpp = source.suffix == ".cpp"
        environment = {**os.environ, "HOMENODE_REAL_CC": compiler,
                       "HOMENODE_REAL_CXX": {"gcc": "g++", "clang": "clang++"}.get(compiler, compiler)}
        standard = ("-std=c++17",) if cpp else ()
        session.run("c++" if cpp else "cc", "-g", "-pthread", *standard, *flags, source, "-o", binary, *libs, "-lm", env=environment)
        return binary
    return session.once(("kit", source, compiler, flags, tuple(libs)), make)


def said(session, binary, truth):
    """Document and text of the report on one run."""
    dataset, _, _ = session.record(binary, *truth.get("args", []))
    options = ["--machine", machine(truth), *truth.get("report", [])]
    document = session.report(dataset, *options)
    text = session.run("report", dataset, *options).stdout
    session.forget(dataset)
    return document, text


def machine(truth):
    """The machine's name, or the path of a machine of the kit."""
    name = truth.get("machine", "two-socket")
    return PROGRAMS.parent / name if name.endswith(".toml") else name


def head(text):
    """The first paragraph of a report: what a reader takes home."""
    return re.sub(r"\s+", " ", text.split("\n\n")[0])


def names(finding_object, wanted):
    """Whether the object of a finding is the wanted one: its name, or the place of its allocation."""
    return re.search(rf"(^|[^\w]){re.escape(wanted)}($|[^\w])", finding_object) is not None


def about(program, finding, bug):
    """Whether a finding is about the object of a bug: by name, or by the place where the program allocates it. What its object
    is called counts before its places, which may name lines of others ("one of four")."""
    mine = called(program, finding, bug)
    others = any(called(program, finding, other) for other in program.truth.get("bugs", []) if other is not bug)
    return mine or not others and any(names(place, m) for place in finding["places"] for m in made(program, bug))


def called(program, finding, bug):
    """Whether the object of a finding has a name of the bug's object, or is called after the line that allocates it."""
    wanted = bug["object"] if isinstance(bug["object"], list) else [bug["object"]]
    return any(names(finding["object"], name) for name in [*wanted, *made(program, bug)])


def made(program, bug):
    """Where the program allocates the object of a bug."""
    return program.lines(bug["made"]) if "made" in bug else []


def judge(program, evaluation, verdict):
    """Compares the findings of one evaluation with the bugs of the program."""
    bugs, left = program.truth.get("bugs", []), list(evaluation["findings"])
    verdict.bugs, verdict.findings = len(bugs), len(left)
    for bug in bugs:
        mine = [f for f in left if about(program, f, bug)]
        left = [f for f in left if f not in mine]
        if not mine:
            verdict.wrong.append(f"nothing about {bug['object']}")
            continue
        lines = program.lines(bug["line"]) if "line" in bug else []
        told = [f for f in mine if any(re.search(REMEDIES[r], f["advice"]) for r in bug["remedy"])]
        placed = [f for f in mine if not lines or any(names(p, line) for p in f["places"] for line in lines)]
        if not told:
            verdict.wrong.append(f"{bug['object']}: advice is not {' or '.join(bug['remedy'])}: {mine[0]['advice']}")
        if not placed:
            verdict.wrong.append(f"{bug['object']}: places {mine[0]['places']} lack {lines}")
        verdict.found += bool(told and placed)
    # A copy for each thread may be offered, on conditions, for what is truly shared.
    shared = program.truth.get("shared", [])
    left = [f for f in left if f["kind"] != "shared-updates" or not any(about(program, f, s) for s in shared)]
    verdict.false += [f"{f['kind']} {f['object']}: {f['advice']}" for f in left]


def judge_head(program, text, verdict):
    """What the first sentences must say, or must not."""
    first, truth = head(text), program.truth
    if (truth.get("bugs") or truth.get("shared") or truth.get("unseen")) and "Nothing to change" in first:
        verdict.wrong.append("the head says that there is nothing to change")
    if truth.get("unseen") and not re.search(r"[Cc]annot tell", first):
        verdict.wrong.append(f"the head does not say that it cannot tell: {first}")
    if truth.get("turns") and not re.search(r"is up to the machine: .*in one run, .*alternate strictly", re.sub(r"\s+", " ", text)):
        verdict.wrong.append("no word of what it costs at both ends")
    for item in truth.get("shared", []):
        wanted = item["object"] if isinstance(item["object"], list) else [item["object"]]
        named = any(names(first, w) for w in [*wanted, *made(program, item)])
        placed = any(names(first, line) for line in program.lines(item["line"]))
        verdict.bugs, verdict.found = verdict.bugs + 1, verdict.found + (named and placed)
        if not named or not placed:
            verdict.wrong.append(f"the head does not name {item['object']} and its line: {first}")


def run(session, program, compiler=None, level=None):
    """Builds, records, reports and judges one program and its repaired version."""
    began, truth, verdict = time.monotonic(), program.truth, Verdict(program)
    own = truth.get("build", ["gcc", "-O1"])
    flags = [compiler or own[0], *([level] if level else own[1:2]), *own[2:]]
    document, text = said(session, build(session, program.source, *flags, libs=truth.get("libs", [])), truth)
    before = document["evaluations"][0]
    judge(program, before, verdict)
    judge_head(program, text, verdict)
    if "repaired" in truth:
        judge_twin(session, program, flags, before, verdict)
    verdict.seconds = time.monotonic() - began
    return verdict


def judge_twin(session, program, flags, before, verdict):
    """The repaired program: no finding, and the saving that was predicted."""
    truth, repaired = program.truth, program.truth["repaired"]
    other = isinstance(repaired, str)
    source = PROGRAMS / repaired if other else program.source
    document, _ = said(session, build(session, source, *flags, *([] if other else repaired), libs=truth.get("libs", [])), truth)
    after = document["evaluations"][0]
    verdict.findings += len(after["findings"])
    verdict.false += [f"in the repaired program: {f['kind']} {f['object']}: {f['advice']}" for f in after["findings"]]
    base = harness.first_touch(document | {"evaluations": [before]})
    verdict.realised = (base - harness.first_touch(document)) / base if truth.get("realised", True) else None
    if before["predicted_all"] is not None:
        verdict.predicted = (base - int(before["predicted_all"])) / base


def run_all(session, kit, jobs=1, compiler=None, level=None, say=print):
    """Verdicts of many programs; a program that fails to build or to be recorded is wrong."""
    def one(program):
        try:
            return run(session, program, compiler, level)
        except (AssertionError, OSError, ValueError, KeyError) as error:
            return Verdict(program, bugs=len(program.truth.get("bugs", [])), wrong=[f"failed: {error}"])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        verdicts = []
        for verdict in pool.map(one, kit):
            say(row(verdict))
            for why in verdict.wrong + [f"FALSE: {f}" for f in verdict.false]:
                say(f"    {why}")
            verdicts.append(verdict)
    return verdicts


HEADER = f"{'program':22} {'class':44} {'found':>5} {'false':>5} {'predicted':>9} {'realised':>9} {'off':>7} {'s':>5}"


def percent(value):
    """A share for people."""
    return "-" if value is None else f"{100 * value:.1f} %"


def row(v):
    """One line of the table."""
    off = "-" if v.off is None else f"{100 * v.off:+.1f} %"
    return (f"{v.program.name:22} {v.program.truth['class']:44} {v.found:>3}/{v.bugs} {len(v.false):>4} {percent(v.predicted):>10} "
            f"{percent(v.realised):>9} {off:>7} {v.seconds:5.1f}")


@dataclasses.dataclass
class Score:
    """The kit as a whole."""
    bugs: int
    found: int
    findings: int
    false: int
    pairs: int
    near: int
    programs: int
    right: int

    @property
    def recall(self):
        return self.found / self.bugs if self.bugs else 1.0

    @property
    def enough(self):
        """Recall of 95 %, no false finding, nine tenths of the predictions within 10 %."""
        return self.recall >= 0.95 and not self.false and self.near >= 0.9 * self.pairs

    @property
    def holds(self):
        """What has been reached and may not be lost: the goal, but for one false finding (memory that one thread frees and the
        next one gets passes for changing owners, if the host runs them one after another)."""
        return self.recall >= 0.95 and self.false <= 1 and self.near >= 0.9 * self.pairs

    def __str__(self):
        precision = 1 - self.false / self.findings if self.findings else 1.0
        return (f"{self.programs} programs, {self.right} right in everything; recall {self.found} of {self.bugs} = {100 * self.recall:.1f} %; "
                f"precision {100 * precision:.1f} % ({self.false} of {self.findings} findings false); predicted within 10 % of realised: "
                f"{self.near} of {self.pairs}")


def score(verdicts):
    """Recall over all bugs, precision over all findings, and how many predictions came true."""
    pairs = [v for v in verdicts if v.realised is not None and v.bugs]
    near = [v for v in pairs if v.off is not None and abs(v.off) <= 0.10]
    return Score(sum(v.bugs for v in verdicts), sum(v.found for v in verdicts), sum(v.findings for v in verdicts),
                 sum(len(v.false) for v in verdicts), len(pairs), len(near), len(verdicts), sum(v.right for v in verdicts))
