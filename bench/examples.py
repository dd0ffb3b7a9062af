"""The speed examples of the crates, built as `bootstrap test` builds them: what it compiled is not compiled again."""
import functools
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# As in bootstrap: stateright, which homenode-hlrc is tested with, would have every crate compiled with other features.
BUILD = ["cargo", "build", "-q", "--release", "--locked", "--workspace", "--exclude", "homenode-hlrc", "--example"]


@functools.cache
def built(name):
    """The path of an example, which is up to date then."""
    subprocess.run([*BUILD, name], cwd=ROOT, check=True)
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/examples" / name


def example(name, arguments=()):
    """What an example prints, below its command line; a failure stops the bench."""
    words = [str(built(name)), *arguments]
    print(f"  $ {' '.join(words)}", flush=True)
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"bench: {name} ended with status {done.returncode}")
    print("".join(f"  {line}\n" for line in done.stdout.splitlines()), end="", flush=True)
