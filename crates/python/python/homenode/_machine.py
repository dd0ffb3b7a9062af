"""Machines that are written in Python."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union


class Machine:
    """A machine as `homenode --machine FILE.toml` has it: from a dictionary, or from TOML.

        slow = homenode.Machine({"base": "two-socket", "cost": {...}})
        recording.report(machine=slow)

    What a machine consists of is described in the documentation ("Machine files").
    """

    def __init__(self, what: str | dict[str, Any]) -> None:
        self.toml: str = what if isinstance(what, str) else _toml(what)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Machine:
        """The machine in a file."""
        return Machine(Path(path).read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        return f"<homenode.Machine\n{self.toml}>"


#: A machine by its name, "this", a file, or one of one's own.
AnyMachine = Union[str, "os.PathLike[str]", Machine]


@contextlib.contextmanager
def as_argument(machine: AnyMachine) -> Iterator[str]:
    """What the command takes for a machine, as long as it is wanted."""
    if not isinstance(machine, Machine):
        yield os.fspath(machine)
        return
    with tempfile.TemporaryDirectory(prefix="homenode-") as folder:
        path = Path(folder, "machine.toml")
        path.write_text(machine.toml, encoding="utf-8")
        yield str(path)


def _toml(table: dict[str, Any], prefix: str = "") -> str:
    lines = [f"{_key(k)} = {_value(v)}" for k, v in table.items() if not _is_table(v)]
    for name, value in table.items():
        if isinstance(value, dict):
            lines += ["", f"[{prefix}{_key(name)}]", _toml(value, f"{prefix}{_key(name)}.")]
        elif _is_table(value):
            for item in value:
                lines += ["", f"[[{prefix}{_key(name)}]]", _toml(item, f"{prefix}{_key(name)}.")]
    return "\n".join(lines)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _key(name: str) -> str:
    plain = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    return name if plain else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in value)
        return f'"{escaped}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    raise TypeError(f"a machine cannot hold {value!r}")
