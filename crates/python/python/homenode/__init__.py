"""Where should each page live, what would the best placement be worth, and how do I get it?

    import homenode as hn

    recording = hn.record(["./app"], "app.hnt")     # built by `homenode cc`
    report = recording.report(machine="two-socket")
    print(report)                                   # in a notebook the page
    report.policies                                 # a table: pyarrow, Polars, pandas and DuckDB take it
    for batch in recording.refs(rows=100_000):      # references in order
        ...

Tables implement Arrow's PyCapsule interface. Costs are whole numbers in the machine's unit (picoseconds, if it is given in time).
Failures are exceptions with the text that the command prints; `Error.exit_status` is its exit status.
"""

from ._errors import Error, InputError, UsageError, WorkError
from ._machine import Machine
from ._native import Access, References, Table, version as _version
from ._policy import Copy, Drop, Move, Place, Policy
from ._recording import Recording, cc, compare, import_recording, open, record
from ._report import Comparison, Report
from ._sweep import SweepResult, sweep
from ._families import backends, machines, members, policies, protocols

__version__: str = _version()

__all__ = [
    "Access", "Comparison", "Copy", "Drop", "Error", "InputError", "Machine", "Move", "Place", "Policy", "Recording",
    "References", "Report", "SweepResult", "Table", "UsageError", "WorkError", "backends", "cc", "compare",
    "import_recording", "machines", "members", "open", "policies", "protocols", "record", "sweep",
]
