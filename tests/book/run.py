#!/usr/bin/env python3
"""Every command that a page of the book or the README shows, run again: what it prints is what the page says.

A page's commands run one after the other in an empty folder, with the files that the page shows: a block whose text above ends
with a name in back quotes and a colon is that file. In blocks ```console, lines that begin with `$ ` are commands of bash and the
others their output, standard error included. A command that fails ends its page; one that is meant to says `|| echo "status $?"`.
Output may differ in what stands for anything (`[..]` in a line, a line `...` for any lines), in what a comment
`<!-- varies: REGEX -->` of the page matches, and in figures as far as one says: `<!-- figures: within 20 % -->`.
`<!-- run: COMMAND -->` is run and not shown; ROOT is this repository there.
--update writes what was printed into the pages.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from page import Command, Page

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRESS = re.compile(r"^homenode: .* left$")
SECONDS = 120  # that one command may take


def pages():
    """The README and all pages of tutorials and how-tos."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *sorted(docs.glob("tutorials/*.md")), *sorted(docs.glob("howto/*.md"))]


def run(page, homenode, folder):
    """Runs a page; what is wrong with it, and what its commands printed."""
    wrong, outputs = [], []
    path = f"{homenode.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "ROOT": str(ROOT), "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    for step in page.steps:
        if not isinstance(step, Command):
            (folder / step.name).write_text(step.text)
            continue
        done = subprocess.run(["bash", "-c", step.text], cwd=folder, env=environment, stdin=subprocess.DEVNULL, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        lines = [line.rstrip() for line in done.stdout.splitlines() if not PROGRESS.match(line)]
        place = f"{page.path.relative_to(ROOT)}:{step.line + 1}: `{step.text}`"
        if done.returncode:
            return [*wrong, f"{place}: status {done.returncode}", *lines[-20:]], outputs
        if step.first is not None:
            outputs.append((step, lines))
            differs = page.differences(step, lines)
            wrong += [f"{place}: the page shows something else; `tests/book/run.py --update` takes what was printed"] if differs else []
            wrong += differs
    return wrong, outputs


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homenode", type=pathlib.Path, default=ROOT / "target/release/homenode")
    parser.add_argument("--update", action="store_true", help="write what was printed into the pages")
    parser.add_argument("--keep", type=pathlib.Path, help="run in folders below this one, and keep them")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="pages [default: README, tutorials, how-tos]")
    args = parser.parse_args()
    failed = []
    for path in args.pages or pages():
        page, began = Page(path.resolve()), time.monotonic()
        with tempfile.TemporaryDirectory(prefix="homenode-book-") as made:
            folder = args.keep / path.stem if args.keep else pathlib.Path(made)
            folder.mkdir(parents=True, exist_ok=True)
            wrong, outputs = run(page, args.homenode.resolve(), folder)
        if args.update:
            path.write_text(page.with_outputs(outputs))
        print(f"{'FAILED' if wrong else 'ok'}  {path.name}  {len(outputs)} outputs  {time.monotonic() - began:.1f} s", flush=True)
        print("".join(f"  {line}\n" for line in wrong), end="", flush=True)
        failed += [path.name] if wrong else []
    print(f"{len(args.pages or pages()) - len(failed)} passed, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
