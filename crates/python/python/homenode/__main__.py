"""The command, as the package has it: `python -m homenode`, and `homenode` where the package is installed."""

import signal
import sys

from . import _native
from ._command import ITSELF


def main() -> int:
    # What the command does on these is its own affair, not Python's.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return _native.main(["homenode", *sys.argv[1:]], ITSELF)


if __name__ == "__main__":
    sys.exit(main())
