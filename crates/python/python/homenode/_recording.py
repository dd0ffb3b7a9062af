"""Recordings."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Union

from . import _command, _errors, _native
from ._machine import AnyMachine, as_argument
from ._native import References
from ._policy import Policy
from ._report import Comparison, Report
from ._sweep import SweepResult, sweep

AnyPath = Union[str, "os.PathLike[str]"]
#: Is told how far work is: stage, what is done, and of how much (None where that is not known).
Progress = Callable[[str, int, Union[int, None]], object]


class Recording:
    """A recording: a dataset `X.hnt`."""

    def __init__(self, path: AnyPath) -> None:
        self.path = Path(path)

    def info(self) -> dict[str, Any]:
        """What the recording holds: `homenode info --json`."""
        found: dict[str, Any] = json.loads(_native.info(self.path))
        return found

    def check(self) -> dict[str, Any]:
        """Whether every frame, every count and the order are right: `homenode check --json`."""
        found: dict[str, Any] = json.loads(_native.check(self.path))
        return found

    def refs(
        self,
        order: str = "model",
        *,
        seed: int = 1,
        machine: AnyMachine = "two-socket",
        block: int | None = None,
        map: str | None = None,
        after_caches: bool = False,
        realign: str | None = None,
        rows: int = 65536,
    ) -> References:
        """The references in an order, `rows` at a time: thread, address, size, operation, file, line, function, object, node and more
        (the columns of `homenode export`). An iterator of tables, and an Arrow stream; read while they are taken, once.

        `order` is "model" or "recorded", with the seed of its ties. `after_caches` has what policies see on the machine instead.
        """
        with as_argument(machine) as name:
            return References(
                self.path, order=order, seed=seed, machine=name, block=block, map=map, after_caches=after_caches,
                realign=realign, rows=rows,
            )

    def report(
        self,
        machine: AnyMachine = "two-socket",
        *,
        policies: Sequence[str | Policy] = (),
        block: int | Sequence[int] = (),
        compare: Recording | AnyPath | None = None,
        map: str | None = None,
        order: str = "model",
        model: str = "latency",
        threshold: int = 5,
        capacity: Sequence[str] = (),
        charge_spins: bool = False,
        verify: bool = False,
        progress: Progress | None = None,
    ) -> Report:
        """Where pages should live, what that is worth and what to change: `homenode report`.

        Policies are names, and objects of classes derived from `Policy`; with none, those meant for reports. Names may be left out
        where only one's own are given: then those meant for reports are there too.
        """
        blocks = [block] if isinstance(block, int) else list(block)
        second = compare.path if isinstance(compare, Recording) else compare
        with as_argument(machine) as name:
            native = _native.Report(
                self.path, compare=second, machine=name, blocks=blocks, policies=list(policies), map=map, order=order,
                charge_spins=charge_spins, model=model, threshold=threshold, capacity=list(capacity), verify=verify,
                progress=progress,
            )
        return Report(native)

    def optimum(self, machine: AnyMachine = "two-socket", *, block: int | Sequence[int] = ()) -> _native.Table:
        """What the best placements cost: with copies, without, and for ever."""
        return self.report(machine, policies=["first-touch"], block=block).optimum

    def policies(self, machine: AnyMachine = "two-socket", *, block: int | Sequence[int] = ()) -> _native.Table:
        """What every policy costs that is meant for reports."""
        return self.report(machine, block=block).policies

    def false_sharing(self, machine: AnyMachine = "two-socket") -> _native.Table:
        """Falsely shared lines by cost, dearest first."""
        return self.report(machine, policies=["first-touch"]).false_sharing

    def protocols(
        self,
        protocols: str | Sequence[str] = "all",
        *,
        blocks: str = "4096",
        machine: str = "markatos",
        output: AnyPath | None = None,
    ) -> SweepResult:
        """What protocols of page coherence cost: a sweep of this recording."""
        return sweep(traces=[self.path], protocols=protocols, blocks=blocks, machines=machine, output=output)

    def place(
        self,
        machine: AnyMachine = "two-socket",
        *,
        rule: str | None = None,
        map: str | None = None,
        move_threads: bool = False,
        capacity: Sequence[int] | None = None,
        page_bytes: int | None = None,
    ) -> dict[str, Any]:
        """A plan of where data and threads should live, which `homenode run --plan` takes: `homenode place --json`."""
        with as_argument(machine) as name:
            text = _native.place(
                self.path, machine=name, rule=rule, map=map, move_threads=move_threads,
                capacity=None if capacity is None else list(capacity), page_bytes=page_bytes,
            )
        plan: dict[str, Any] = json.loads(text)
        return plan

    def __repr__(self) -> str:
        return f"homenode.open({str(self.path)!r})"


def open(path: AnyPath) -> Recording:
    """The recording in a folder.

    Raises InputError if there is none.
    """
    if not Path(path, "manifest.json").is_file():
        raise _errors.InputError(f"{os.fspath(path)} is no recording: it has no manifest.json")
    return Recording(path)


def record(
    command: Sequence[AnyPath],
    output: AnyPath | None = None,
    *,
    force: bool = False,
    backend: str | None = None,
    limit_refs: int | None = None,
    roi: bool = False,
    sample: int | None = None,
) -> Recording:
    """Runs a program that `cc` built and records it: `homenode record`. What the program wrote appears when it has ended.

    Raises WorkError if the program fails.
    """
    out = Path(output) if output is not None else Path(Path(os.fspath(command[0])).name + ".hnt")
    options = _command.words_of([
        ("--force", force), ("--backend", backend), ("--limit-refs", limit_refs), ("--roi", roi), ("--sample", sample),
    ])
    sys.stdout.write(_command.run("record", "-o", out, *options, "--", *command))
    return open(out)


def cc(*words: AnyPath, language: str = "c") -> None:
    """Compiles and links with the capture hooks: `homenode cc` with these words, or `homenode c++`."""
    _command.run("c++" if language == "c++" else "cc", *words)


def import_recording(files: AnyPath | Sequence[AnyPath], output: AnyPath, *, force: bool = False) -> Recording:
    """Makes a recording of files of another tool: `homenode import`."""
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    _native.import_files([Path(path) for path in paths], Path(output), force)
    return open(output)


def compare(
    before: Recording | AnyPath, after: Recording | AnyPath, machine: AnyMachine = "two-socket"
) -> Comparison:
    """What a change came to: `homenode report BEFORE --compare AFTER`."""
    first = before if isinstance(before, Recording) else open(before)
    found = first.report(machine, compare=after).comparison
    assert found is not None
    return found
