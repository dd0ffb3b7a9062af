"""The example for Slurm: the same script on processes of this machine, and the job that it would give to sbatch."""
import hashlib
import pathlib
import subprocess
import sys

import pytest

import homenode as hn

pytest.importorskip("distributed")

SCRIPT = pathlib.Path(__file__).parents[2] / "examples/slurm/sweep.py"


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, timeout=300)


@pytest.fixture
def study(slow, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(f'traces = ["{slow.path}"]\nblocks = ["64..4096"]\nmachines = ["numa", "ace"]\npolicies = ["first-touch", "ace(1..8)"]\n')
    return path


def test_the_script_sweeps_with_workers_of_this_machine(study, tmp_path):
    done = run(study, "--output", tmp_path / "far.sweep", "--local", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    local = hn.sweep(study, output=tmp_path / "near.sweep")
    assert f"{local.doc['rows']} rows in " in done.stdout and "sweeping: " in done.stdout
    far, near = (hashlib.sha256((tmp_path / f"{name}.sweep/results.parquet").read_bytes()).digest() for name in ("far", "near"))
    assert far == near


def test_the_job_has_what_was_asked_for(study, tmp_path):
    pytest.importorskip("dask_jobqueue")
    done = run(study, "--output", tmp_path, "--print-job", "--queue", "normal", "--account", "us", "--cores", "8", "--gib-each", "4")
    assert done.returncode == 0, done.stderr
    for line in ("#SBATCH -p normal", "#SBATCH -A us", "#SBATCH --cpus-per-task=8", "#SBATCH --mem=32G", "#SBATCH -t 02:00:00"):
        assert line in done.stdout.splitlines(), done.stdout
    assert "--nworkers 8 " in done.stdout and "--nthreads 1 " in done.stdout
