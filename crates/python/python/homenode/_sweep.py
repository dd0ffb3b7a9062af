"""Sweeps: many machines, block sizes, policies and protocols at once."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._command import ITSELF
from ._machine import Machine, _toml

if TYPE_CHECKING:
    from distributed import Client

AnyPath = Union[str, "os.PathLike[str]"]
Words = Union[str, Sequence[str]]


class SweepResult:
    """What a sweep found."""

    def __init__(self, doc: dict[str, Any]) -> None:
        #: The summary: `homenode sweep --json`.
        self.doc = doc

    @property
    def path(self) -> Path:
        """The table, as Parquet."""
        return Path(self.doc["table"])

    @property
    def table(self) -> Any:
        """The table, as pyarrow has it (which is needed for this; Polars, pandas and DuckDB read `path`)."""
        import pyarrow.parquet

        return pyarrow.parquet.read_table(self.path)

    @property
    def notes(self) -> list[str]:
        """What the reader should know."""
        return list(self.doc["notes"])

    def __repr__(self) -> str:
        return f"<homenode.SweepResult: {self.doc['rows']} rows in {self.path}>"


def sweep(
    study: AnyPath | Mapping[str, Any] | None = None,
    *,
    traces: AnyPath | Sequence[AnyPath] = (),
    blocks: Words = "4096",
    machines: str | Machine | Sequence[str | Machine] = (),
    policies: Words = (),
    protocols: Words = (),
    counters: bool = False,
    realign: Words = (),
    optimum: str | None = None,
    analyses: Words = (),
    perturb: bool = False,
    output: AnyPath | None = None,
    workers: int | None = None,
    memory_bytes: int = 1 << 30,
    csv: bool = False,
    force: bool = False,
    yes: bool = False,
    client: Client | None = None,
    progress: Callable[[str, int, int | None], object] | None = None,
) -> SweepResult:
    """Prices recordings on many machines, block sizes and policies: `homenode sweep`.

    `study` is a file, or what one holds as a dictionary; without it the options say what to ask. With a Dask `client` its workers
    do the work: `output` is then a folder that all of them see under the same path, and traces are such folders too, or URLs that
    fsspec knows, which each node fetches once. `memory_bytes` is that of all local workers together, or of each worker of Dask.

    Called again after it was stopped it goes on from there.
    """
    lists = {
        "traces": traces, "blocks": blocks, "machines": machines, "policies": policies, "protocols": protocols,
        "realign": realign, "analyses": analyses,
    }
    with tempfile.TemporaryDirectory(prefix="homenode-") as folder:
        words: dict[str, Any] = {name: _words(value, Path(folder)) for name, value in lists.items()}
        asked: dict[str, Any]
        if study is None:
            _defaults(words)
            asked = {"inline": words | {"counters": counters, "optimum": optimum, "perturb": perturb}}
        elif isinstance(study, Mapping):
            output = output if output is not None else "study.sweep"
            asked = {"file": str(_written(study, Path(folder)))}
        else:
            asked = {"file": os.fspath(study)}
        request = {
            "asked": asked, "output": None if output is None else os.fspath(output), "workers": workers,
            "memory_bytes": memory_bytes, "csv": csv, "force": force, "yes": yes,
        }
        if client is not None:
            from . import dask

            return SweepResult(json.loads(dask.sweep(client, request, progress)))
        return SweepResult(json.loads(_native.sweep(json.dumps(request), [*ITSELF, "sweep-worker"], progress)))


def _defaults(words: dict[str, Any]) -> None:
    """As on the command line."""
    words["machines"] = words["machines"] or ["markatos" if words["protocols"] else "numa"]
    if not words["protocols"]:
        words["policies"] = words["policies"] or ["first-touch"]


def _words(value: Any, folder: Path) -> list[str]:
    items = [value] if isinstance(value, (str, os.PathLike, Machine)) else list(value)
    return [_word(item, folder / f"machine-{i}.toml") for i, item in enumerate(items)]


def _word(item: Any, path: Path) -> str:
    if not isinstance(item, Machine):
        return str(os.fspath(item))
    path.write_text(item.toml, encoding="utf-8")
    return str(path)


def _written(study: Mapping[str, Any], folder: Path) -> Path:
    """The dictionary as a file; paths of traces are relative to where we are."""
    study = dict(study)
    if "traces" in study:
        study["traces"] = [os.path.abspath(trace) for trace in study["traces"]]
    path = folder / "study.toml"
    path.write_text(_toml(study), encoding="utf-8")
    return path
