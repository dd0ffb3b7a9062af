#!/usr/bin/env python3
"""Types of the native module, from the module itself: crates/python/stub.py WHEEL writes python/homenode/_native.pyi.

The wheel is one that was built with --generate-stubs:
    maturin build --release --locked -m crates/python/Cargo.toml -o wheels --generate-stubs
That the stub is the module's, mypy.stubtest says (tests/python/test_tutorial.py).
"""
import pathlib
import sys
import zipfile

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


def main():
    text = zipfile.ZipFile(sys.argv[1]).read(STUB).decode()
    for worse, better in BETTER:
        text = text.replace(worse, better)
    (pathlib.Path(__file__).parent / "python" / STUB).write_text(text)


if __name__ == "__main__":
    main()
