"""Sweeps, and runs of reproductions, on a Dask cluster: the tasks of local ones, done by Dask's workers.

A task reads its trace or its partition and writes its answer into the folder of the sweep, whole or not at all. What is done is
what is there: a task that is done twice, because its worker was thought to be dead, leaves the same file. The table is made of the
files alone, so it is that of a local sweep byte for byte.

`python -m homenode.dask ADDRESS VERSION` does a request that it reads, and prints the summary: `homenode sweep --dask` calls it, and
`homenode reproduce --dask` with --runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

from distributed import Client, as_completed
from distributed.scheduler import KilledWorker

from . import _errors, _native

#: Is told how far work is: stage, tasks done, and tasks known so far.
Progress = Callable[[str, int, Optional[int]], object]
#: How often a task is given to workers that die, which Dask itself does some times for each of these.
TRIES = 5
#: How long a scheduler may take to answer.
SECONDS = 10
#: What a group's part of a partition has, as schedulers are told: enough that a task rather waits a little for it.
GROUP_BYTES = 64 << 20


def identity() -> dict[str, str]:
    """What a worker and its client must have in common: version, and for one architecture the same module."""
    module = Path(_native.__file__)
    return {
        "version": _native.version(),
        "machine": os.uname().machine,
        "module": hashlib.sha256(module.read_bytes()).hexdigest(),
    }


def sweep(client: Client, request: dict[str, Any], progress: Progress | None = None) -> str:
    """Does what a request (as JSON, `SweepRequest` of the sweep's crate) asks with the client's workers; the summary, as JSON."""
    own = identity()
    check_workers(client, own)
    asked = request["asked"]
    traces = asked["inline"]["traces"] if "inline" in asked else []
    urls = {url: str(cached(url)) for url in traces if "://" in url}
    fetch_all(urls)
    if urls:
        asked = {"inline": asked["inline"] | {"traces": [urls.get(trace, trace) for trace in traces]}}
    study = _native.Sweep(json.dumps(request | {"asked": asked}))
    if study.done is not None:
        return study.done
    given = (str(Path(study.folder).absolute()), request["memory_bytes"], urls, own)
    run_all(client, study, given, progress)
    return study.finish()


def check_workers(client: Client, own: dict[str, str]) -> None:
    """Refuses workers of another version, before anything is done. One that dies while it is asked is looked at with its first task."""
    for worker, theirs in client.run(identity, on_error="return").items():
        if isinstance(theirs, OSError):
            continue
        if isinstance(theirs, Exception):
            raise theirs
        check_identity(theirs, own, worker)


def check_identity(theirs: dict[str, str], own: dict[str, str], worker: str) -> None:
    if theirs["version"] != own["version"]:
        raise _errors.UsageError(
            f"worker {worker} has homenode {theirs['version']}, and this is {own['version']}: install the same on both"
        )
    if theirs["machine"] == own["machine"] and theirs["module"] != own["module"]:
        raise _errors.UsageError(
            f"worker {worker} has another build of homenode {own['version']} than this: install the same wheel on both"
        )


def run_all(client: Client, study: _native.Sweep, given: tuple[Any, ...], progress: Progress | None) -> None:
    """Hands out tasks until none is left. Those that become possible when a partition is there come at once."""
    done = 0
    groups = Groups(client, given[0])
    handed = Handed(client, given[0])

    def hand_out(task: str) -> None:
        handed.give(task, carry_out, task, *given, groups.of(task))

    for task in study.pending():
        hand_out(task)
    for task, _ in handed.done():
        done += 1
        replay = json.loads(task).get("partition")
        if replay is not None:
            for more in study.pending(replay):
                hand_out(more)
        if progress is not None:
            progress("sweeping", done, handed.known())
    left = study.pending()
    if left:
        raise _errors.WorkError(f"{len(left)} tasks are done and their answers are not in {given[0]}: is it shared by all workers?")


class Handed:
    """Tasks in the hands of workers. Those whose worker died are given to another one."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._name = name
        self._given: dict[str, tuple[Any, ...]] = {}
        self._tries: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._pending = as_completed([], loop=client.loop, raise_errors=False)

    def give(self, task: str, *call: Any) -> None:
        """Has some worker do a task: a function and what it is called with."""
        self._given[task] = call
        self._tries[task] = self._tries.get(task, 0) + 1
        key = f"homenode-{hashlib.sha256((self._name + task).encode()).hexdigest()[:24]}-{self._tries[task]}"
        self._names[key] = task
        self._pending.add(self._client.submit(*call, key=key, pure=False))

    def done(self) -> Iterator[tuple[str, Any]]:
        """Tasks as they are done, with what they returned. More may be given meanwhile; what is left at the end is cancelled."""
        try:
            for future in self._pending:
                task = self._names.pop(future.key)
                error = future.exception()
                result = None if error is not None else future.result()
                future.release()
                if error is None:
                    yield task, result
                elif is_lost(error) and self._tries[task] < TRIES:
                    self.give(task, *self._given[task])
                else:
                    raise failure(error)
        finally:
            self._client.cancel(list(self._pending.futures), force=True)

    def known(self) -> int:
        """How many tasks were given so far."""
        return len(self._tries)


def runs(client: Client, units: list[str], progress: Progress | None = None) -> Iterator[tuple[int, str]]:
    """Has the client's workers do runs of recordings for the reproduction of a paper (`Unit` of the papers' crate, as JSON); each unit's
    number with its result, as JSON, in the order in which they are done."""
    own = identity()
    check_workers(client, own)
    numbers = {unit: number for number, unit in enumerate(units)}
    # Nobody else's results of runs with these names, should the cluster remember some.
    handed = Handed(client, str(time.time_ns()))
    for unit in numbers:
        handed.give(unit, carry_out_run, unit, own)
    for done, (unit, result) in enumerate(handed.done(), 1):
        if progress is not None:
            progress("running", done, handed.known())
        yield numbers[unit], result


class Held:
    """What the page cache of a worker has of a group of regions, as far as the scheduler is to know: tasks prefer the worker that has
    it. It is empty, and goes to another worker for nothing."""

    def __sizeof__(self) -> int:
        return GROUP_BYTES


class Groups:
    """The groups of regions that units are about: all batches of a group go to one worker if they can. A worker by its address would
    be too much: Dask leaves a task lying whose preferred worker died when no other was there (distributed 2026.8)."""

    def __init__(self, client: Client, folder: str) -> None:
        self._client = client
        self._name = hashlib.sha256(folder.encode()).hexdigest()[:16]
        self._held: dict[str, Any] = {}

    def of(self, task: str) -> Any:
        """What the unit depends on; nothing for other tasks."""
        unit = json.loads(task)
        if "unit" not in unit:
            return None
        group = f"{unit['unit']['replay']}-{unit['unit']['group']}"
        if group not in self._held:
            self._held[group] = self._client.submit(Held, key=f"homenode-group-{self._name}-{group}", pure=False)
        return self._held[group]


def is_lost(error: BaseException) -> bool:
    """Whether a task has no answer because its workers died, or the answer was lost with them."""
    return isinstance(error, KilledWorker) or type(error).__name__ in {"FutureCancelledError", "CancelledError"}


def failure(error: BaseException) -> BaseException:
    """What to raise for a task that failed: ours as it is, that of a task whose workers died in our words."""
    if is_lost(error):
        return _errors.WorkError(f"a task's workers died one after the other ({error}); the same call tries only that again")
    return error


def carry_out(
    task: str, folder: str, memory_bytes: int, urls: dict[str, str], client: dict[str, str], held: Held | None = None
) -> None:
    """Does a task: what a worker runs."""
    check_identity(identity(), client, "here")
    if not Path(folder).is_dir():
        raise _errors.UsageError(f"{os.uname().nodename} does not see {folder}: output must be a folder that all workers share")
    fetch_all(urls)
    _native.carry_out(folder, memory_bytes, task)


def carry_out_run(unit: str, client: dict[str, str]) -> str:
    """Does a run of a recording: what a worker runs."""
    check_identity(identity(), client, "here")
    recording = Path(json.loads(unit)["recording"])
    if not recording.is_dir():
        raise _errors.UsageError(f"{os.uname().nodename} does not see {recording}: output must be a folder that all workers share")
    return _native.carry_out_run(unit)


def cached(url: str) -> Path:
    """Where a node keeps a trace that it fetched: HOMENODE_CACHE, or the user's cache."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "homenode")
    root = Path(os.environ.get("HOMENODE_CACHE") or default)
    name = url.rstrip("/").rsplit("/", 1)[-1]
    return root / "traces" / hashlib.sha256(url.encode()).hexdigest()[:16] / name


def fetch_all(urls: dict[str, str]) -> None:
    """Traces that are not on this node yet are fetched by the first that needs them."""
    for url in urls:
        fetch(url, cached(url))


def fetch(url: str, to: Path) -> None:
    """Copies the folder at a URL, whole or not at all."""
    if to.is_dir():
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    with open(to.parent / ".lock", "w", encoding="ascii") as lock:
        # Other workers of this node wait for the one that fetches.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if to.is_dir():
            return
        import fsspec

        part = to.with_name(f".{to.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        files, root = fsspec.core.url_to_fs(url)
        try:
            files.get(root.rstrip("/") + "/", str(part) + "/", recursive=True)
        except FileNotFoundError as e:
            raise _errors.InputError(f"cannot fetch {url}: there is no such folder") from e
        part.rename(to)


def main() -> int:
    """Does what is asked on standard input on the cluster whose scheduler is at the address, for a command of this version: the request of a
    sweep, of which the summary is printed; or with --runs a list of runs, of which each result is printed when it is there."""
    address, version, *words = sys.argv[1:]
    as_runs = words == ["--runs"]
    # The command says what went wrong where it reads line by line.
    tell = (lambda why: print(f"!{why}")) if as_runs else (lambda why: print(f"homenode: {why}", file=sys.stderr))
    if version != _native.version():
        tell(f"--dask: the Python package is homenode {_native.version()}, and this is {version}")
        return 2
    asked = json.load(sys.stdin)
    last = time.monotonic()

    def told(stage: str, done: int, known: int | None) -> None:
        nonlocal last
        if time.monotonic() - last >= 10:
            last = time.monotonic()
            print(f"homenode: {stage}: {done} of {known} tasks", file=sys.stderr)

    try:
        with Client(address, timeout=SECONDS) as client:
            if as_runs:
                for number, result in runs(client, asked, told):
                    print(number, result, sep="\t", flush=True)
            else:
                print(sweep(client, asked, told), end="")
    except _errors.Error as e:
        tell(str(e))
        return e.exit_status
    except OSError as e:
        tell(f"--dask: cannot reach the scheduler at {address}: {e}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
