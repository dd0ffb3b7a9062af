"""Sweeps: by this machine's worker processes, and on a Dask cluster of which workers are killed."""
import hashlib
import json
import os
import random
import shutil
import signal
import threading
import time

import pytest

import homenode as hn

distributed = pytest.importorskip("distributed")

STUDY = dict(blocks="64..4096", machines=["numa", "ace"], policies=["first-touch", "ace(1..8)", "delay(100)"], optimum="parts")


def digest(result):
    return hashlib.sha256(result.path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def local(slow, tmp_path_factory):
    return hn.sweep(traces=slow.path, output=tmp_path_factory.mktemp("local") / "x.sweep", **STUDY)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            yield client


def test_a_sweep_is_the_commands(slow, local, tmp_path, homenode):
    assert homenode("sweep", slow.path, *words(tmp_path)).returncode == 0
    assert digest(local) == hashlib.sha256((tmp_path / "x.sweep" / "results.parquet").read_bytes()).hexdigest()
    assert local.table.num_rows == local.doc["rows"] and "rows in" in repr(local)


def words(tmp_path):
    lists = ["--blocks", STUDY["blocks"], "--machines", "numa,ace", "--policies", ",".join(STUDY["policies"])]
    return [*lists, "--optimum", STUDY["optimum"], "-o", tmp_path / "x.sweep"]


def test_the_command_takes_a_cluster(slow, local, tmp_path, cluster, homenode):
    done = homenode("sweep", slow.path, *words(tmp_path), "--json", "--dask", cluster.scheduler.address)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["table_sha256"] == digest(local)
    done = homenode("sweep", slow.path, *words(tmp_path / "y"), "--dask", "tcp://127.0.0.1:1")
    assert done.returncode == 1 and "cannot reach the scheduler" in done.stderr
    assert homenode("sweep", tmp_path, *words(tmp_path / "z"), "--dask", cluster.scheduler.address).returncode == 3


def test_a_study_is_a_dictionary_too(slow, local, tmp_path):
    study = dict(STUDY, traces=[str(slow.path)])
    assert digest(hn.sweep(study, output=tmp_path / "x.sweep")) == digest(local)
    with pytest.raises(hn.UsageError):
        hn.sweep(traces=slow.path, machines="cray", output=tmp_path / "y.sweep")


def test_protocols(slow, tmp_path):
    found = slow.protocols("all", blocks="4096", output=tmp_path / "p.sweep")
    assert found.doc["rows"] > 3


def test_dask_computes_the_same_table(slow, local, tmp_path, cluster):
    told = []
    out = tmp_path / "x.sweep"
    result = hn.sweep(traces=slow.path, output=out, client=cluster, progress=lambda *at: told.append(at), **STUDY)
    assert digest(result) == digest(local)
    assert told and told[-1][1] == told[-1][2]
    again = hn.sweep(traces=slow.path, output=out, client=cluster, **STUDY)
    assert again.doc["table_sha256"] == result.doc["table_sha256"]


def test_workers_that_are_killed_change_nothing(slow, local, tmp_path, cluster):
    """Ten times a worker process gets SIGKILL at a random moment, over as many sweeps as that takes."""
    rng, killed, stop = random.Random(15), [], threading.Event()

    def kill():
        while len(killed) < 10 and not stop.is_set():
            time.sleep(rng.uniform(0.05, 0.6))
            try:
                pids = [pid for pid in cluster.run(os.getpid, on_error="return").values() if isinstance(pid, int)]
            except (OSError, RuntimeError):
                continue  # a worker died while it was asked
            if pids:
                victim = rng.choice(pids)
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        sweeps = 0
        while killer.is_alive() or sweeps == 0:
            result = hn.sweep(traces=slow.path, output=tmp_path / f"{sweeps}.sweep", client=cluster, **STUDY)
            assert digest(result) == digest(local), f"sweep {sweeps} with {len(killed)} kills"
            sweeps += 1
    finally:
        stop.set()
        killer.join()
    assert len(killed) == 10


def test_other_versions_are_refused(cluster):
    from homenode import dask

    own = dask.identity()
    dask.check_workers(cluster, own)
    for change, why in [({"version": "9.9.9"}, "install the same on both"), ({"module": "0"}, "install the same wheel")]:
        with pytest.raises(hn.UsageError, match=why):
            dask.check_workers(cluster, own | change)
        with pytest.raises(hn.UsageError, match=why):
            dask.carry_out('{"partition":0}', "/", 1 << 28, {}, own | change)
    dask.check_workers(cluster, own | {"machine": "vax", "module": "0"})


def test_a_folder_that_is_not_shared_is_said(tmp_path, slow):
    from homenode import dask

    task = '{"partition":0}'
    with pytest.raises(hn.UsageError, match="all workers share"):
        dask.carry_out(task, str(tmp_path / "none"), 1 << 28, {}, dask.identity())


def test_traces_are_fetched_once_a_node(monkeypatch, slow, local, tmp_path, cluster):
    """file:// stands for any file system that fsspec knows."""
    from homenode import dask

    cache = tmp_path / "cache"
    monkeypatch.setenv("HOMENODE_CACHE", str(cache))
    cluster.run(os.environ.__setitem__, "HOMENODE_CACHE", str(cache))
    url = f"file://{slow.path}"
    result = hn.sweep(traces=url, output=tmp_path / "x.sweep", client=cluster, **STUDY)
    assert result.doc["rows"] == local.doc["rows"]
    copies = [p for p in (cache / "traces").rglob("manifest.json")]
    assert len(copies) == 1 and dask.cached(url) == copies[0].parent
    with pytest.raises(hn.InputError, match="no such folder"):
        hn.sweep(traces=f"file://{tmp_path}/none.hnt", output=tmp_path / "y.sweep", client=cluster, **STUDY)


def tasks_done(dask_scheduler):
    """How many of our tasks the cluster has done."""
    return len({step[0] for step in dask_scheduler.transition_log if str(step[0]).startswith("homenode-") and step[2] == "memory"})


def test_a_reproduction_with_the_runs_of_a_cluster_is_the_local_one(tmp_path, cluster, homenode):
    """Of one recording, since two of a program with threads differ: a run that finds no scheduler leaves it behind."""
    out, kept = tmp_path / "out", tmp_path / "kept"
    asked = ["reproduce", "ascoma", "--only", "lu", "--size", "XS", "--json", "-o", out]
    pages = []
    assert homenode(*asked, "--dask", "tcp://127.0.0.1:1").returncode == 1
    shutil.copytree(out, kept)
    before = cluster.run_on_scheduler(tasks_done)
    for dask in (["--dask", cluster.scheduler.address], []):
        shutil.rmtree(out)
        shutil.copytree(kept, out)
        done = homenode(*asked, *dask)
        assert done.returncode == 0 and "recorded anew" not in done.stderr, done.stderr
        pages.append((done.stdout, {p.name: p.read_bytes() for p in out.iterdir()}))
    assert pages[0] == pages[1] and "ascoma.html" in pages[0][1]
    assert cluster.run_on_scheduler(tasks_done) - before > 20, "workers did the runs"


def test_a_reproduction_that_no_cluster_can_do_is_refused(tmp_path, cluster, homenode):
    asked = ["reproduce", "ascoma", "--only", "lu", "-o", tmp_path]
    done = homenode(*asked, "--dask", "tcp://127.0.0.1:1")
    assert done.returncode == 1 and "cannot reach the scheduler" in done.stderr and len(done.stderr.splitlines()) == 1
    assert homenode("reproduce", "ascoma", "--dask", cluster.scheduler.address).returncode == 2, "no folder to share"


def test_a_recording_that_is_not_shared_is_said(tmp_path):
    from homenode import dask

    unit = json.dumps({"paper": "ascoma", "program": "lu", "recording": str(tmp_path / "none"), "run": "ours, rnuma at 10 %"})
    with pytest.raises(hn.UsageError, match="all workers share"):
        dask.carry_out_run(unit, dask.identity())
