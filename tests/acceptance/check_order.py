"""The model order of a recording is the program's: how busy the host was does not show in it."""
import hashlib
import os
import subprocess
import sys

from harness import alone, check, expect

SPIN = [sys.executable, "-c", "while True: pass"]


def rows(session, name, busy, arguments):
    """Digest of the exported rows of one run, at fixed addresses, with `busy` other processes on the host."""
    dataset, table = session.path(f"order/{name}.hnt"), session.path(f"order/{name}.csv")
    others = [subprocess.Popen(SPIN) for _ in range(busy)]
    try:
        # Without address-space randomisation two runs of a program use the same addresses.
        session.run("record", "-q", "-o", dataset, "--", "setarch", "-R", *arguments)
    finally:
        for other in others:
            other.kill()
            other.wait()
    session.run("export", "-q", dataset, "-o", table)
    lines = table.read_bytes().splitlines(keepends=True)[1:]
    # Where stacks and the runtime's own mappings lie may still differ from run to run, so the digest leaves addresses out.
    who = hashlib.sha256()
    for line in lines:
        thread, _, size, op, site = line.split(b",")[:5]
        who.update(b",".join((thread, size, op, site)))
    return who.hexdigest(), len(lines)


@check
@alone
def model_order_on_a_busy_host(session):
    """SOR, recorded idle and beside three busy processes a core: the same references in the same model order."""
    program = session.build() / "sor"
    arguments = [program, "-n", "130", "-i", "3", "-p", "4"]
    seen = [rows(session, f"sor-{busy}", busy, arguments) for busy in (0, 3 * (os.cpu_count() or 1), 0)]
    for digest, count in seen:
        print(f"  {count} rows, {digest[:16]}")
    expect(len(set(seen)) == 1, "the model order differs between runs")
