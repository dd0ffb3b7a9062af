"""Datasets that somebody prepared: links, FIFOs, sockets, devices, folders, sparse tails and damage anywhere in them."""
import os
import random
import resource
import shutil
import signal
import socket
import subprocess

from harness import SLOW, check, expect, tail

ROUNDS = 400 if SLOW else 25
SEED = 9
SECONDS = 120
MEMORY = 3 << 30
COMMANDS = ("info", "check", "report", "export", "place", "sweep", "compact", "recover", "check again", "report again", "record")
VICTIM = b"a file that belongs to somebody else\n" * 100


def small(session):
    """A small good dataset."""
    return session.record(session.build() / "lu", "-n", "64", "-b", "8", "-p", "3")[0]


def replace(path, rng, victim):
    """Puts something in the place of a file that is no file of the dataset."""
    kind = rng.choice(("link", "zero", "up", "fifo", "socket", "folder", "hard", "tty"))
    path.unlink()
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "tty":
        path.symlink_to("/dev/tty")
    elif kind == "up":
        path.symlink_to(path.parent)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as s:
            here = os.getcwd()
            os.chdir(path.parent)  # names of sockets are short
            s.bind(path.name)
            os.chdir(here)
    elif kind == "folder":
        path.mkdir()
    else:
        os.link(victim, path)
    return kind


def damage(path, rng):
    """Changes the content of a file so that it is not the dataset's any more."""
    data = path.read_bytes()
    kind = rng.choice(("flip", "cut", "sparse", "huge", "text", "empty"))
    if kind == "flip":
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:])
    elif kind == "cut":
        path.write_bytes(data[:rng.randrange(len(data))])
    elif kind in ("sparse", "huge"):
        with open(path, "r+b") as file:
            file.truncate((8 << 30) if kind == "sparse" else (1 << 40))
    elif kind == "text":
        path.write_bytes(b"HNFRHNEV" * 4096)
    else:
        path.write_bytes(b"")
    return kind


def spoil(dataset, rng, victim):
    """One to three changes; what was done, in words."""
    files = sorted(p for p in dataset.rglob("*") if p.is_file() and p.stat().st_size > 0)
    done = []
    for path in rng.sample(files, rng.choice((1, 1, 2, 3))):
        change = replace(path, rng, victim) if rng.random() < 0.5 else damage(path, rng)
        done.append(f"{change} at {path.relative_to(dataset)}")
    if rng.random() < 0.15:
        shutil.move(dataset / "threads", dataset.parent / "elsewhere")
        (dataset / "threads").symlink_to(dataset.parent / "elsewhere")
        done.append("threads is a link")
    if rng.random() < 0.15:
        (dataset / "rings").symlink_to("/proc/self")
        done.append("rings is a link")
    return ", ".join(done)


def limits():
    """What a command may use: 3 GiB of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(session, name, dataset, folder):
    """Runs one command on a dataset within limits; the finished process."""
    words = {"export": ["-o", folder / "rows.csv"], "place": ["--machine", "two-socket", "-o", folder / "plan.json"],
             "sweep": ["--workers", "1", "-o", folder / "x.sweep"], "record": ["-o", dataset, "--force", "--", "/no/such/program"]}
    verb = name.split()[0]
    arguments = words["record"] if verb == "record" else [dataset, *words.get(verb, [])]
    command = [str(w) for w in (session.homenode, verb, *arguments)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=SECONDS, preexec_fn=limits)


def outside(folder):
    """Everything beside the dataset and its content."""
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and p.name.startswith("victim")}


@check
def mutations(session):
    """Any file replaced or damaged: commands end in time, say why in a line, and touch nothing outside the dataset."""
    good, seen, sound = small(session), {}, 0
    for n in range(ROUNDS):
        rng = random.Random(f"{SEED} {n}")
        folder = session.path(f"hostile/{n}")
        folder.mkdir()
        victim, dataset = folder / "victim", folder / "x.hnt"
        victim.write_bytes(VICTIM)
        shutil.copytree(good, dataset)
        what = spoil(dataset, rng, victim)
        before, recovered = outside(folder), False
        for name in COMMANDS:
            label = f"round {n} ({what}): {name}"
            done = run(session, name, dataset, folder)
            expect(done.returncode in (0, 1, 2, 3), f"{label}: status {done.returncode}: {tail(done.stderr)}")
            expect("panicked" not in done.stderr, f"{label} panicked: {tail(done.stderr)}")
            if done.returncode and name != "check":
                lines = [line for line in done.stderr.splitlines() if line.startswith("homenode: ")]
                expect(len(lines) >= 1 or name.startswith("check"), f"{label}: no line says why: {tail(done.stderr)}")
            expect(outside(folder) == before, f"{label}: a file outside the dataset changed")
            # A bit of a name in a JSON file changes nothing that any other file contradicts.
            if name == "check" and "symbols.json" not in what and "flip at manifest.json" not in what:
                expect(done.returncode != 0, f"{label}: damaged, and called sound: {tail(done.stdout)}")
            if name == "recover":
                recovered = done.returncode == 0
                # Without a manifest a foreign number may be that of a version to come, which is not this program's to mend.
                may = "neither manifest" in done.stderr or "newer homenode" in done.stderr
                expect(recovered or may, f"{label}: not recovered: {tail(done.stderr)}")
            if name == "check again" and recovered:
                expect(done.returncode == 0, f"{label}: recovered, and not sound: {tail(done.stdout + done.stderr)}")
                sound += 1
            seen[name, done.returncode] = seen.get((name, done.returncode), 0) + 1
        shutil.rmtree(folder)
    table = ", ".join(f"{name} {status}: {n}" for (name, status), n in sorted(seen.items()))
    print(f"  {ROUNDS} datasets, {sound} of them sound after recover; status of each command: {table}")


@check
def force_keeps_the_old(session):
    """`record --force` that fails, or is interrupted at once, leaves the dataset that it was to replace."""
    dataset = session.path("hostile/kept.hnt")
    shutil.copytree(small(session), dataset)
    before = {p.name: p.read_bytes() for p in dataset.rglob("*") if p.is_file()}
    session.run("record", "-o", dataset, "--force", "--", "/no/such/program", status={1, 2})
    session.run("record", "-o", dataset, "--force", "--backend", "hooks", "--", "/bin/true", status={1, 2})
    after = {p.name: p.read_bytes() for p in dataset.rglob("*") if p.is_file()}
    expect(after == before, "the old dataset is there as it was")
    expect([p.name for p in dataset.parent.iterdir() if p.name.startswith("kept")] == ["kept.hnt"], "nothing is beside it")


@check
def unfinished_is_said(session):
    """A recording whose recorder was killed is called that by every reading command, which names `recover`."""
    dataset = session.path("hostile/killed.hnt")
    program = session.build() / "lu"
    command = [str(c) for c in (session.homenode, "record", "-o", dataset, "--", program, "-n", "1024", "-p", "3")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (dataset / "threads" / "0.frames").exists():
        expect(process.poll() is None, "the recording goes on")
    process.send_signal(signal.SIGKILL)
    process.wait()
    for name in ("info", "report", "export", "check"):
        more = ["-o", session.path("hostile/rows.csv")] if name == "export" else []
        done = session.run(name, dataset, *more, status=3)
        expect("recover" in done.stdout + done.stderr, f"{name} names recover: {tail(done.stdout + done.stderr)}")
    session.run("recover", dataset)
    session.run("check", dataset)
    frames = max((dataset / "threads").iterdir(), key=lambda p: p.stat().st_size)
    os.truncate(frames, frames.stat().st_size // 2)
    session.run("check", dataset, status=3)


@check
def file_size_limit(session):
    """A limit on the size of files is named, the status is 1, and the program ends as it would have."""
    for limit in (0, 1 << 16, 1 << 20):
        dataset = session.path(f"hostile/limited-{limit}.hnt")
        command = [str(c) for c in (session.homenode, "record", "-o", dataset, "--", session.build() / "lu", "-n", "512", "-p", "3")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        expect(done.returncode == 1, f"limit {limit}: status {done.returncode}: {tail(done.stderr)}")
        expect("large" in done.stderr or "disk full" in done.stderr, f"limit {limit}: it is named: {tail(done.stderr)}")
