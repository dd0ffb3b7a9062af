#!/usr/bin/env python3
"""Types of the native module, from the module itself: `python crates/python/stub.py` builds it and writes python/homenode/_native.pyi.

maturin must be installed. That the stub is the module's, mypy.stubtest says (tests/python/test_tutorial.py).
"""
import pathlib
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).parent

STUB = "homenode/_native.pyi"
#: What the generator cannot know, or says for newer versions of Python only.
BETTER = [
    ("from types import CapsuleType\nfrom typing import Any, SupportsIndex, final\n",
     "from typing import Any, final\n\nfrom typing_extensions import CapsuleType\n"),
    ("from _typeshed import Incomplete, SupportsGetItem\n", ""),
    ("list[Incomplete]", 'list[int | Literal["global"]]'),
    ("import Any, final", "import Any, Literal, final"),
    ("SupportsGetItem[int, ", "list["),
    ("SupportsIndex", "int"),
]


def generated():
    """What maturin makes of the module. It writes no stub where there is one."""
    stub = HERE / "python" / STUB
    before = stub.read_bytes()
    stub.unlink()
    try:
        with tempfile.TemporaryDirectory() as folder:
            build = ["build", "--release", "--locked", "-m", HERE / "Cargo.toml", "-o", folder, "--generate-stubs"]
            subprocess.run([sys.executable, "-m", "maturin", *build], check=True)
            (wheel,) = pathlib.Path(folder).glob("*.whl")
            return zipfile.ZipFile(wheel).read(STUB).decode()
    finally:
        stub.write_bytes(before)


def main():
    text = generated()
    for worse, better in BETTER:
        text = text.replace(worse, better)
    (HERE / "python" / STUB).write_text(text)


if __name__ == "__main__":
    main()
