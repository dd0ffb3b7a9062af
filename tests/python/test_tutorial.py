"""The tutorial notebook from beginning to end, and the package's types."""
import importlib.metadata
import pathlib
import subprocess
import sys

import nbformat
from nbclient import NotebookClient

import homenode as hn

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples/notebooks/tutorial.ipynb"
CONFIG = ROOT / "crates/python/pyproject.toml"


def test_the_tutorial_runs(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "kept without outputs"
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    nbformat.write(notebook, tmp_path / "executed.ipynb")
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert any("image/png" in data for data in shown)
    pages = [data["text/html"] for data in shown if "text/html" in data]
    assert any("<iframe srcdoc=" in page for page in pages) and any("vega" in page for page in pages)


def test_types_are_right():
    """mypy, strictly: the package with the stub of its native module, and the stub against the module."""
    checked = subprocess.run([sys.executable, "-m", "mypy", "--config-file", CONFIG, "-p", "homenode"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    same = subprocess.run([sys.executable, "-m", "mypy.stubtest", "homenode._native"], capture_output=True, text=True)
    assert same.returncode == 0, same.stdout + same.stderr


def test_the_version_is_the_wheels():
    assert importlib.metadata.version("homenode") == hn.__version__
