"""Sweeps on a Dask cluster: the tasks of local sweeps, done by Dask's workers.

A task reads its trace or its partition and writes its answer into the folder of the sweep, whole or not at all. What is done is
what is there: a task that is done twice, because its worker was thought to be dead, leaves the same file. The table is made of the
files alone, so it is that of a local sweep byte for byte.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from distributed import Client, as_completed
from distributed.scheduler import KilledWorker

from . import _errors, _native

#: How often a task is given to workers that die, which Dask itself does some times for each of these.
TRIES = 5


def identity() -> dict[str, str]:
    """What a worker and its client must have in common: version, and for one architecture the same module."""
    module = Path(_native.__file__)
    return {
        "version": _native.version(),
        "machine": os.uname().machine,
        "module": hashlib.sha256(module.read_bytes()).hexdigest(),
    }


def sweep(client: Client, question: dict[str, Any], progress: Callable[[str, int, int | None], object] | None) -> str:
    """Answers the question with the client's workers; the summary, as JSON."""
    own = identity()
    check_workers(client, own)
    urls = {url: str(cached(url)) for url in question.get("traces", []) if "://" in url}
    fetch_all(urls)
    question = question | {"traces": [urls.get(trace, trace) for trace in question.get("traces", [])]}
    study = _native.Sweep(json.dumps(question))
    if study.done is not None:
        return study.done
    given = (str(Path(study.folder).absolute()), question["memory_bytes"], urls, own)
    run_all(client, study, given, progress)
    return study.finish()


def check_workers(client: Client, own: dict[str, str]) -> None:
    """Refuses workers of another version, before anything is done."""
    for worker, theirs in client.run(identity).items():
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


def run_all(client: Client, study: _native.Sweep, given: tuple[Any, ...], progress: Any) -> None:
    """Hands out tasks until none is left. Those that become possible when a partition is there come at once."""
    tries: dict[str, int] = {}
    names: dict[str, str] = {}
    done = 0
    pending = as_completed([], loop=client.loop, raise_errors=False)

    def hand_out(task: str) -> None:
        tries[task] = tries.get(task, 0) + 1
        key = f"homenode-{hashlib.sha256((given[0] + task).encode()).hexdigest()[:24]}-{tries[task]}"
        names[key] = task
        pending.add(client.submit(carry_out, task, *given, key=key, pure=False, **near(client, task)))

    for task in study.pending():
        hand_out(task)
    try:
        for future in pending:
            task = names.pop(future.key)
            error = future.exception()
            future.release()
            if error is not None:
                if not is_lost(error) or tries[task] == TRIES:
                    raise failure(error)
                hand_out(task)
                continue
            done += 1
            if "partition" in task:
                for more in study.pending():
                    if more not in tries:
                        hand_out(more)
            if progress is not None:
                progress("sweeping", done, len(tries))
    finally:
        client.cancel(list(pending.futures), force=True)
    left = study.pending()
    if left:
        raise _errors.WorkError(f"{len(left)} tasks are done and their answers are not in {given[0]}: is it shared by all workers?")


def near(client: Client, task: str) -> dict[str, Any]:
    """The worker that a unit is to go to if it can: all batches of a group of regions go to one, which has the group's part of the
    partition in its page cache then."""
    unit = json.loads(task)
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    if not workers or "unit" not in unit:
        return {}
    at = (unit["unit"]["replay"] * 7919 + unit["unit"]["group"]) % len(workers)
    return {"workers": [workers[at]], "allow_other_workers": True}


def is_lost(error: BaseException) -> bool:
    """Whether a task has no answer because its workers died, or the answer was lost with them."""
    return isinstance(error, KilledWorker) or type(error).__name__ in {"FutureCancelledError", "CancelledError"}


def failure(error: BaseException) -> BaseException:
    """What to raise for a task that failed: ours as it is, that of a task whose workers died in our words."""
    if is_lost(error):
        return _errors.WorkError(f"a task's workers died one after the other ({error}); the same call tries only that again")
    return error


def carry_out(task: str, folder: str, memory_bytes: int, urls: dict[str, str], client: dict[str, str]) -> None:
    """Does a task: what a worker runs."""
    check_identity(identity(), client, "here")
    if not Path(folder).is_dir():
        raise _errors.UsageError(f"{os.uname().nodename} does not see {folder}: output must be a folder that all workers share")
    fetch_all(urls)
    _native.carry_out(folder, memory_bytes, task)


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
