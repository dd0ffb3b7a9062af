"""Another user of the machine: what he prepares, swaps, foresees, opens or names does not reach this user's files, and holds nothing up.

Two users are root and 65534; `attacks/attacker.c` is what the second one runs. Who does not run as root gets these checks skipped."""
import contextlib
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import time

import check_hostile
from harness import SLOW, Skipped, alone, check, expect, tail

OTHER = 65534
SECRET = "xyzzy-kept-secret"
ROUNDS = 60 if SLOW else 6
SECONDS = 120


@contextlib.contextmanager
def shared(session):
    """A folder that both users reach, with the command and the attacker in it; gone at the end."""
    if os.geteuid() != 0:
        raise Skipped("being two users needs root")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="homenode-users-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        shutil.copy(session.homenode, folder / "homenode")
        source = pathlib.Path(__file__).parent / "attacks" / "attacker.c"
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", folder / "attacker", source], check=True)
        if as_other("true").returncode:
            raise Skipped("this machine has one user only")
        yield folder


def as_other(*command, start=subprocess.run, **options):
    """Runs a command as the other user, in a folder of his own and without this user's environment."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": "/", **options}
    return start([str(c) for c in command], user=OTHER, group=OTHER, extra_groups=[], env=environment, **options)


@contextlib.contextmanager
def attack(*command):
    """The attacker at work beside what is tried; he has to be alive at its end."""
    process = as_other(*command, start=subprocess.Popen)
    try:
        yield
        expect(process.poll() is None, "the attacker went on to the end")
    finally:
        process.kill()
        process.communicate()


def give(path):
    """Gives a folder and all in it to the other user."""
    for each in (path, *path.rglob("*")):
        os.chown(each, OTHER, OTHER, follow_symlinks=False)
    return path


def state(folder):
    """Everything in a folder: names, contents, moments of change."""
    return {str(p): (p.read_bytes() if p.is_file() else None, p.lstat().st_mtime_ns) for p in sorted(folder.rglob("*"))}


def secret_dataset(session, folder):
    """A good dataset that only this user may read, with a word in it that must come out nowhere."""
    target = folder / "target"
    shutil.copytree(check_hostile.small(session), target)
    for name in ("manifest.json", "symbols.json"):
        text = (target / name).read_text()
        (target / name).write_text(text.replace("lu", SECRET))
    target.chmod(0o700)
    done = session.run("info", target)
    expect(SECRET in done.stdout, "the secret dataset can be read by its owner")
    return target


@check
def a_dataset_that_is_swapped_meanwhile(session):
    """The other user replaces files and folders of his dataset while this one reads, recovers, compacts and replaces it."""
    with shared(session) as folder:
        target, seen = secret_dataset(session, folder), {}
        before = state(target)
        for n in range(ROUNDS):
            theirs, out = folder / f"theirs-{n}", folder / f"out-{n}"
            theirs.mkdir()
            out.mkdir()
            for copy in ("x.hnt", "saved"):
                shutil.copytree(check_hostile.small(session), theirs / copy)
            give(theirs)
            with attack(folder / "attacker", "swap", theirs / "x.hnt", theirs / "saved", target):
                for name in check_hostile.COMMANDS:
                    done = check_hostile.run(session, name, theirs / "x.hnt", out)
                    label = f"round {n}: {name}"
                    expect(done.returncode in (0, 1, 2, 3), f"{label}: status {done.returncode}: {tail(done.stderr)}")
                    expect("panicked" not in done.stderr, f"{label} panicked: {tail(done.stderr)}")
                    expect(SECRET not in done.stdout + done.stderr, f"{label} tells the secret")
                    seen[name, done.returncode] = seen.get((name, done.returncode), 0) + 1
            expect(state(target) == before, f"round {n}: the other dataset is as it was")
            written = [p for p in (*out.rglob("*"), *theirs.rglob("*")) if p.is_file() and not p.is_symlink()]
            told = [p for p in written if p.stat().st_size < 1 << 26 and SECRET.encode() in p.read_bytes()]
            expect(not told, f"round {n}: the secret is in {told}")
            shutil.rmtree(theirs)
            shutil.rmtree(out)
        table = ", ".join(f"{name} {status}: {n}" for (name, status), n in sorted(seen.items()))
        print(f"  {ROUNDS} rounds; status of each command: {table}")


def last_process(count):
    """The number of the newest process, after which there are so many before numbers begin anew."""
    most = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text())
    while (last := int(pathlib.Path("/proc/loadavg").read_text().split()[-1])) + count >= most:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    return last


@check
@alone
def names_that_can_be_foreseen(session):
    """Links at the names of files that are being written, for every process number that comes next, in a folder for all."""
    with shared(session) as folder:
        common, victim, count = folder / "common", folder / "victim", 3000
        common.mkdir()
        common.chmod(0o777)
        victim.write_text("mine")
        dataset = check_hostile.small(session)
        for name, words in {
            "x.html": ("report", dataset, "-o"), "x.json": ("place", dataset, "--machine", "two-socket", "-o"),
            "x.csv": ("export", dataset, "-o"), "x.parquet": ("export", dataset, "-o"), "x.hnt": ("compact", dataset, "-o"),
            "y.hnt": ("record", "--force", "-o"),
        }.items():
            more = ("--", session.build() / "lu", "-n", "64", "-b", "8") if words[0] == "record" else ()
            for force in ((), ("--force",)) if words[0] not in ("compact", "record") else ((),):
                first = last_process(count)
                patterns = [f"{n}.{kind}" for n, kind in ((f".{name}", "PID.part"), (f".{name}", "PID.spill"), (name, "recording-PID"),
                                                          (name, "compacting-PID"), (name, "replaced-PID"))]
                made = as_other(folder / "attacker", "links", first, count, victim, *(common / p for p in patterns))
                expect(made.returncode == 0, made.stdout)
                command = [str(c) for c in (session.homenode, *words, common / name, *force, *more)]
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                said = process.communicate(timeout=SECONDS)[1]
                expect(first <= process.pid < first + count, "its number was among those foreseen")
                # A link where a directory is to be made is a reason to stop, not to follow it.
                expect(process.returncode == 0 or "File exists" in said, f"{name}: status {process.returncode}: {tail(said)}")
                expect(victim.read_text() == "mine", f"{name}: the file of this user was overwritten")
                if process.returncode == 0:
                    made = (common / name).lstat()
                    expect(not stat.S_ISLNK(made.st_mode) and made.st_uid == 0, f"{name}: what was written is this user's")
        print("  six kinds of output, none through a link")


@check
def a_recording_is_closed(session):
    """While this user records, the other can neither read its rings, nor change the dataset, nor touch recorder or program."""
    with shared(session) as folder:
        dataset = folder / "x.hnt"
        command = [str(c) for c in (session.homenode, "record", "-o", dataset, "--", session.build() / "lu", "-n", "640", "-p", "3")]
        recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (dataset / "threads" / "0.frames").exists():
            expect(recorder.poll() is None, "the recording goes on")
            time.sleep(0.01)
        children = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
        tried = as_other(folder / "attacker", "open", 3, dataset, recorder.pid, *children)
        expect(tried.returncode == 0 and tried.stdout.strip() == "nothing could be done", f"the other user {tried.stdout.strip()}")
        said = recorder.communicate(timeout=SECONDS)[1]
        expect(recorder.returncode == 0, f"the recording ends as it would have: {tail(said)}")
        session.run("check", dataset)
        print(f"  {1 + len(children)} processes, {sum(1 for p in dataset.rglob('*') if p.is_file())} files: {tried.stdout.strip()}")


@check
def rings_that_somebody_else_names(session):
    """The other user's dataset says that this user's rings are its own: `recover` leaves them, and the recording is whole."""
    with shared(session) as folder:
        mine, theirs = folder / "mine.hnt", folder / "theirs.hnt"
        command = [str(c) for c in (session.homenode, "record", "-o", mine, "--", session.build() / "lu", "-n", "640", "-p", "3")]
        recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (mine / "rings" / "memory").exists() or not (mine / "threads" / "0.frames").exists():
            if recorder.poll() is not None:
                raise Skipped("rings are not in memory here")
            time.sleep(0.01)
        shutil.copytree(check_hostile.small(session), theirs)
        (theirs / "manifest.json").unlink()
        (theirs / "rings").mkdir(exist_ok=True)
        shutil.copy(mine / "rings" / "memory", theirs / "rings" / "memory")
        give(theirs)
        done = session.run("recover", theirs, status={0, 1, 2, 3})
        said = recorder.communicate(timeout=SECONDS)[1]
        expect(recorder.returncode == 0, f"the recording ends as it would have: {tail(said)}")
        session.run("check", mine)
        alone = session.record(session.build() / "lu", "-n", "640", "-p", "3")[0]
        refs = [session.json("info", d, "--json")["ops"] for d in (mine, alone)]
        expect(refs[0] == refs[1], f"no reference is lost: {refs}")
        print(f"  recover: status {done.returncode}: {tail(done.stderr + done.stdout, 1)}")


@check
def a_debug_file_that_is_a_fifo(session):
    """A stripped program of the other user names a FIFO beside it as its debug file: the recording does not wait for it."""
    with shared(session) as folder:
        program, debug = folder / "lu", folder / "lu.debug"
        shutil.copy(session.build() / "lu", program)
        subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program], check=True)
        debug.unlink()
        os.mkfifo(debug, 0o666)
        os.chown(debug, OTHER, OTHER)
        session.run("record", "-o", folder / "x.hnt", "--", program, "-n", "64", "-b", "8", timeout=SECONDS)
        session.run("check", folder / "x.hnt")


@check
def results_of_somebody_else(session):
    """A folder of a sweep that belongs to another user is neither believed nor written to."""
    with shared(session) as folder:
        theirs = folder / "x.sweep"
        session.run("sweep", check_hostile.small(session), "--workers", "1", "-o", theirs)
        give(theirs)
        before = state(theirs)
        done = session.run("sweep", check_hostile.small(session), "--workers", "1", "-o", theirs, status=2)
        expect("belongs to user" in done.stderr, tail(done.stderr))
        expect(state(theirs) == before, "it is as it was")
        print(f"  {tail(done.stderr)}")


@check
def what_the_other_user_may_not(session):
    """He cannot move pages of this user's process, nor set the kernel, nor record a set-user-ID program of this user."""
    with shared(session) as folder:
        theirs = give(shutil.copytree(check_hostile.small(session), folder / "theirs")).parent / "out"
        theirs.mkdir()
        give(theirs)
        setuid = folder / "setuid"
        shutil.copy(session.build() / "lu", setuid)
        setuid.chmod(0o4755)
        balancing = pathlib.Path("/proc/sys/kernel/numa_balancing")
        before = balancing.read_text() if balancing.exists() else None
        sleeper = subprocess.Popen(["sleep", "60"])
        homenode = folder / "homenode"
        try:
            for words, why in (
                (("migrate", "--pid", sleeper.pid, "--duration", "1"), ("another user",)),
                (("run", "--tune-kernel", "--", "true"), ("root", "permit")),
                (("record", "-o", theirs / "s.hnt", "--", setuid, "-n", "64"), ("setuid", "set-user-ID")),
            ):
                done = as_other(homenode, *words, timeout=SECONDS)
                print(f"  {words[0]}: status {done.returncode}: {tail(done.stdout, 1)}")
                alone = "one memory node" in done.stdout  # and nothing to be allowed or not
                expect(alone or done.returncode in (1, 2, 3), f"{words[0]}: status {done.returncode}: {tail(done.stdout)}")
                expect(alone or any(w in done.stdout for w in why), f"{words[0]} says why: {tail(done.stdout)}")
        finally:
            sleeper.kill()
            sleeper.wait()
        as_other(homenode, "doctor", timeout=SECONDS)
        expect(before is None or balancing.read_text() == before, "the kernel's setting is as it was")
        owned = [p for p in theirs.rglob("*") if p.lstat().st_uid == 0]
        expect(not owned, f"the set-user-ID program wrote {owned} for him")
