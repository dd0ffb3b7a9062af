"""SIGKILL of the program or of the recorder at random moments: what was surely done is in the recovered dataset."""
import mmap
import os
import random
import struct
import subprocess
import tempfile
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness import SLOW, check, end, expect, tail
from rows import number

MAGIC, WORDS_AT, LINE = 0x31656D6C6C696B68, 64, 64
FRAME_REFS = 1 << 16
WORDS = 4096  # as in killme.c
THREADS = 3
KILLS = 200 if SLOW else 8
# Longest time from the beginning to the kill. What is recorded in it is examined row by row, so all kills are late in the slow
# tier only, else one in five.
LATE_S, SOON_S, LATE_EVERY = 0.1, 0.02, 5
SEED = 5


class Board:
    """The file through which `killme` says how far it is."""

    def __init__(self, path):
        self.path = path

    def wait(self, process):
        """Until every thread has begun."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            expect(process.poll() is None, f"the recording ended before it began: {process.poll()}")
            try:
                if self.words(0, 1)[0] == MAGIC and all(line[0] and line[1] for line in self.lines()):
                    return
            except (OSError, struct.error, ValueError):
                pass  # not there yet, or not whole
            time.sleep(0.005)
        raise AssertionError("killme did not begin within 30 s")

    def words(self, offset, count):
        with open(self.path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as board:
            return struct.unpack_from(f"<{count}Q", board, offset)

    def lines(self):
        """(steps done, address of the array, address of the counter) of each thread."""
        with open(self.path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as board:
            return [struct.unpack_from("<3Q", board, WORDS_AT + LINE * t) for t in range(THREADS)]


def child_of(process):
    """Process id of the recorded program: the recorder's only child that runs killme."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        children = file.read().split()
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/children") as file:
            children += file.read().split()
    for child in children:
        with open(f"/proc/{child}/comm") as file:
            if file.read().strip() == "killme":
                return int(child)
    raise AssertionError("the recorder has no child named killme")


def crash(session, folder, rng, victim, longest):
    """Records killme, kills the victim at a random moment of at most `longest` seconds; returns the dataset and the board as it was then."""
    dataset, board = folder / "x.hnt", Board(folder / "board")
    command = [session.homenode, "record", "-o", dataset, "--", session.build() / "killme", "-p", THREADS, board.path]
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    program = None
    try:
        board.wait(process)
        program = child_of(process)
        time.sleep(rng.uniform(0, longest))
        seen = board.lines()
        if victim == "program":
            os.kill(program, 9)
            _, errors = process.communicate(timeout=60)
            expect(process.returncode == 1, f"the recorder ends with status 1, not {process.returncode}: {tail(errors)}")
            seen = board.lines()
        else:
            os.kill(process.pid, 9)
            process.wait()
            survives(board, program)
    finally:
        end(process)
        if program is not None:
            finish(program)
    return dataset, seen


def survives(board, program):
    """The program goes on after the recorder's death."""
    before = board.lines()
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if all(now[0] > then[0] for now, then in zip(board.lines(), before)):
            return
        time.sleep(0.01)
    raise AssertionError(f"the program {program} stands still after the recorder was killed")


def finish(program):
    """Kills the program if it still runs and waits until it is gone (it is not our child)."""
    try:
        os.kill(program, 9)
    except ProcessLookupError:
        return
    for _ in range(1000):
        try:
            with open(f"/proc/{program}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.005)


def sequence(table, t, line):
    """Checks that thread t's writes are a prefix of its known sequence; returns how many steps they hold."""
    _, words, counter = line
    addr = table["addr"]
    inside = pc.and_(pc.greater_equal(addr, words), pc.less(addr, words + 8 * WORDS))
    mine = table.filter(pc.or_(inside, pc.equal(addr, counter)))
    if mine.num_rows == 0:
        return 0
    expect(pc.all(pc.equal(mine["size"], 8)).as_py(), f"thread {t}: all its references have 8 bytes")
    expect(pc.all(pc.equal(mine["op"], "store")).as_py(), f"thread {t}: all its references are writes")
    expect(len(pc.unique(mine["thread"])) == 1, f"thread {t}: one dataset thread makes them")
    recorded = mine["addr"].combine_chunks()
    index = pa.array(range(len(recorded)), pa.uint64())
    word = pc.bit_wise_and(pc.multiply(pc.shift_right(index, number(1)), number(2 * t + 1)), number(WORDS - 1))
    data = pc.add(pc.multiply(word, number(8)), number(words))
    wanted = pc.if_else(pc.equal(pc.bit_wise_and(index, number(1)), number(0)), data, number(counter))
    same = pc.equal(recorded, wanted)
    if not pc.all(same).as_py():
        raise AssertionError(f"thread {t}: its sequence breaks at reference {pc.index(same, False).as_py()} of {len(recorded)}")
    return (len(recorded) + 1) // 2


def examine(session, folder, dataset, seen):
    """Recovers, checks, exports and compares; returns how many steps were seen but are not in the dataset, at most."""
    session.run("recover", dataset)
    session.run("check", dataset)
    session.run("report", dataset, "--quiet")
    rows = folder / "rows.parquet"
    session.run("export", dataset, "-o", rows, "--quiet")
    table = pq.read_table(rows, columns=["thread", "addr", "size", "op"])
    worst = 0
    for t, line in enumerate(seen):
        steps = sequence(table, t, line)
        missing = 2 * line[0] - 2 * steps
        worst = max(worst, missing)
        expect(missing <= FRAME_REFS, f"thread {t}: {line[0]} steps were seen, {steps} are recorded: {missing} references lost")
    return worst, table.num_rows


def kills(session, victim, count):
    """`count` crashes, each in a folder of its own."""
    rng = random.Random(f"{SEED} {victim}")
    worst = most = 0
    for n in range(count):
        longest = LATE_S if SLOW or n % LATE_EVERY == 0 else SOON_S
        with tempfile.TemporaryDirectory(dir=session.folder) as name:
            folder = session.folder / name
            lost, rows = examine(session, folder, *crash(session, folder, rng, victim, longest))
            worst, most = max(worst, lost), max(most, rows)
    print(f"  {count} kills of the {victim}: every recovered dataset is a prefix; at most {worst} references of a thread "
          f"were seen and lost (a frame is {FRAME_REFS}); largest dataset {most:,} references")


@check
def kill_program(session):
    """SIGKILL of the program: the recorder finishes the dataset, nothing seen is lost but one frame a thread."""
    kills(session, "program", KILLS // 2)


@check
def kill_recorder(session):
    """SIGKILL of the recorder: the program goes on, `recover` makes the dataset usable."""
    kills(session, "recorder", KILLS - KILLS // 2)
