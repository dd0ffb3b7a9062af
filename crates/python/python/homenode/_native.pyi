"""
Functions and classes behind the package `homenode`, which is what to import.
"""

from os import PathLike
from pathlib import Path
from typing import Any, Literal, final

from typing_extensions import CapsuleType

__all__ = ["Access", "References", "Report", "Sweep", "Table", "carry_out", "carry_out_run", "check", "import_files", "info", "main", "members", "place", "sweep", "version"]

@final
class Access:
    """
    One access to a block.
    """
    def __repr__(self, /) -> str: ...
    @property
    def block(self, /) -> int:
        """
        Number of the block: address / block size.
        """
    @property
    def copies(self, /) -> list[int | Literal["global"]]:
        """
        Where copies are: numbers of nodes, and "global". Empty before the first access.
        """
    @property
    def is_first(self, /) -> bool:
        """
        Whether nothing has accessed the block before.
        """
    @property
    def is_free(self, /) -> bool:
        """
        Whether it costs nothing wherever the block is: a hit in a cache that shows for the first time that the node reads the block, or
        that it writes it.
        """
    @property
    def is_write(self, /) -> bool:
        """
        Whether it writes: then there may be one copy, once the policy has decided.
        """
    @property
    def is_write_back(self, /) -> bool:
        """
        Whether a cache writes a dirty line back, which no page fault tells of: policies of real machines leave the block where it is.
        """
    @property
    def node(self, /) -> int:
        """
        Node of the processor.
        """
    @property
    def time(self, /) -> int:
        """
        Virtual time: references of the whole program until now.
        """
    @property
    def weight(self, /) -> int:
        """
        Number of equal accesses in a row that this one stands for: 1 unless the policy says that it folds them.
        """

@final
class References:
    """
    References of a recording in order, as an iterator of tables and as an Arrow stream, once.
    """
    def __arrow_c_schema__(self, /) -> CapsuleType:
        """
        The schema, by Arrow's C interface.
        """
    def __arrow_c_stream__(self, /, requested_schema: Any | None = None) -> CapsuleType:
        """
        What has not been taken yet, by Arrow's C interface. Columns come as they are, whatever schema is asked for.
        """
    def __iter__(self, /) -> References: ...
    def __new__(cls, /, dataset: str | PathLike[str], *, order: str, seed: int, machine: str, block: int | None, map: str | None, after_caches: bool, realign: str | None, rows: int) -> References:
        """
        Begins to read.
        """
    def __next__(self, /) -> Table: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """

@final
class Report:
    """
    Where pages should live, what that is worth and what to change.
    """
    def __new__(cls, /, dataset: str | PathLike[str], *, compare: str | PathLike[str] | None, machine: str, blocks: list[int], policies: list[Any], map: str | None, order: str, charge_spins: bool, model: str, threshold: int, capacity: list[str], verify: bool, progress: Any | None) -> Report:
        """
        Replays the recording.
        """
    def table(self, /, name: str, evaluation: int = 0) -> Table:
        """
        A list of the document as a table; of evaluation `evaluation` (one a block size) unless it is that of the document.
        """
    def to_html(self, /) -> str:
        """
        The page, as `homenode report -o page.html` writes it.
        """
    def to_json(self, /) -> str:
        """
        The document, as `homenode report --json` prints it.
        """
    def to_text(self, /, width: int = 100) -> str:
        """
        The text, as `homenode report` prints it.
        """

@final
class Sweep:
    """
    A study whose tasks somebody else hands out.
    """
    def __new__(cls, /, asked: str) -> Sweep:
        """
        Reads the study and takes its folder, in which an earlier call may have done some of it.
        """
    @property
    def done(self, /) -> str | None:
        """
        The summary, as JSON, if an earlier call did all of it.
        """
    def finish(self, /) -> str:
        """
        Makes the table when nothing is pending; the summary, as JSON.
        """
    @property
    def folder(self, /) -> Path:
        """
        Folder of the sweep.
        """
    def pending(self, /, replay: int | None = None) -> list[str]:
        """
        What can be done now and is not done, as JSON, one text a task; of one replay, its units alone. A partition that was made brings
        more.
        """

@final
class Table:
    """
    Rows and columns, for whatever takes Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`, a query of
    DuckDB.
    """
    def __arrow_c_schema__(self, /) -> CapsuleType:
        """
        The schema, by Arrow's C interface.
        """
    def __arrow_c_stream__(self, /, requested_schema: Any | None = None) -> CapsuleType:
        """
        The rows, by Arrow's C interface. Columns come as they are, whatever schema is asked for.
        """
    def __len__(self, /) -> int: ...
    def __repr__(self, /) -> str: ...
    @property
    def column_names(self, /) -> list[str]:
        """
        Names of the columns.
        """
    @property
    def num_rows(self, /) -> int:
        """
        Number of rows.
        """

def carry_out(folder: str | PathLike[str], memory_bytes: int, task: str) -> None:
    """
    Does a task in the folder of a sweep, in this process.
    """

def carry_out_run(unit: str) -> str:
    """
    Does one run of a recording for the reproduction of a paper; its result, as JSON on one line.
    """

def check(dataset: str | PathLike[str]) -> str:
    """
    Whether a recording is whole, as JSON.
    """

def import_files(files: list[str | PathLike[str]], output: str | PathLike[str], force: bool) -> str:
    """
    Makes a recording of files of another tool; what was made of them, as JSON.
    """

def info(dataset: str | PathLike[str]) -> str:
    """
    What a recording holds, as JSON.
    """

def main(words: list[str], itself: list[str]) -> int:
    """
    Runs a command line of `homenode`, whose first word is the command's own name; `itself` starts another process that does. Returns
    the exit status.
    """

def members(family: str | None) -> str:
    """
    Members of a family, or the families, as JSON.
    """

def place(dataset: str | PathLike[str], *, machine: str, rule: str | None, map: str | None, move_threads: bool, capacity: list[int] | None, page_bytes: int | None) -> str:
    """
    A plan of where data and threads of the recorded program should live, as JSON.
    """

def sweep(asked: str, worker: list[str], progress: Any | None) -> str:
    """
    Answers a study with worker processes, which `worker` starts; the summary, as JSON.
    """

def version() -> str:
    """
    Version of the native module.
    """
