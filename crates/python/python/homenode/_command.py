"""Commands that start programs, as processes of their own: signals and terminals are those of the program then."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from . import _errors

#: What starts another process of the command.
ITSELF = [sys.executable, "-m", "homenode"]

#: How lines begin that are for people at a terminal.
HINTS = ("next: homenode ",)


def run(*words: str | os.PathLike[str], cwd: str | os.PathLike[str] | None = None) -> str:
    """What the command printed on standard output. What it and programs that it started wrote on standard error goes to that of this
    process, but for hints of what to do next."""
    command = [*ITSELF, *(os.fspath(word) for word in words)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", cwd=cwd)
    try:
        out, err = child.communicate()
    except BaseException:
        # A terminal's Ctrl-C reaches it too; whatever else ended the wait does not.
        child.terminate()
        child.communicate()
        raise
    lines = [line for line in err.splitlines() if line.startswith("homenode: ")]
    if child.returncode == 0:
        sys.stderr.write("".join(line for line in err.splitlines(True) if not line.startswith(HINTS)))
        return out
    message = lines[-1].removeprefix("homenode: ") if lines else err.strip() or f"exit status {child.returncode}"
    raise _errors.of(child.returncode, message)


def words_of(options: Sequence[tuple[str, object]]) -> list[str]:
    """Options as words: those that are None or False are left out, lists are said once for each member."""
    words: list[str] = []
    for name, value in options:
        if value is True:
            words.append(name)
        elif isinstance(value, (list, tuple)):
            words += [word for member in value for word in (name, str(member))]
        elif value is not None and value is not False:
            words += [name, str(value)]
    return words
