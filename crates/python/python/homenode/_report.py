"""Reports."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._native import Table

if TYPE_CHECKING:
    from ._charts import Charts
    from ._plots import Plots

#: Height of a page in a notebook, in pixels: its first screen.
SCREEN = 720


class Report:
    """Where pages should live, what that is worth and what to change. In a notebook it shows the page."""

    def __init__(self, native: _native.Report) -> None:
        self._native = native
        self._doc: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The document: `homenode report --json`; its schema is `docs/schema/report.json`."""
        if self._doc is None:
            self._doc = json.loads(self.to_json())
        assert self._doc is not None
        return self._doc

    def to_json(self) -> str:
        """The document as text."""
        return self._native.to_json()

    def to_html(self) -> str:
        """The self-contained page."""
        return self._native.to_html()

    def to_text(self, width: int = 100) -> str:
        """What `homenode report` prints."""
        return self._native.to_text(width)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page, or the document if the name ends in `.json`."""
        text = self.to_json() if os.fspath(path).endswith(".json") else self.to_html()
        Path(path).write_text(text, encoding="utf-8")

    def table(self, name: str, evaluation: int = 0) -> Table:
        """A list of the document as a table: `table("policies")`, `table("totals.sampled.sources")`. Members of members get names
        joined by `_`. `evaluation` is the number of the block size."""
        return self._native.table(name, evaluation)

    @property
    def policies(self) -> Table:
        """What each policy costs, and of what kind."""
        return self.table("policies")

    @property
    def optimum(self) -> Table:
        """What the best placements cost."""
        return self.table("optimum")

    @property
    def findings(self) -> Table:
        """What to do, worth most first."""
        return self.table("findings")

    @property
    def objects(self) -> Table:
        """Data objects by cost, dearest first."""
        return self.table("objects")

    @property
    def lines(self) -> Table:
        """Source lines by cost, dearest first."""
        return self.table("lines")

    @property
    def patterns(self) -> Table:
        """Sharing patterns."""
        return self.table("patterns")

    @property
    def false_sharing(self) -> Table:
        """Falsely shared lines by cost, dearest first."""
        return self.table("false_sharing")

    @property
    def threads(self) -> Table:
        """Threads, and where they ran."""
        return self.table("threads")

    @property
    def verified(self) -> Table:
        """What the independent checker says that each figure is; without rows unless `verify` was asked for."""
        return self.table("verified.rows")

    @property
    def warnings(self) -> list[str]:
        """Sentences for the reader."""
        doc = self.to_dict()
        return [*doc["warnings"], *doc["evaluations"][0]["warnings"]]

    @property
    def comparison(self) -> Comparison | None:
        """What became of a change, if a second recording was compared with."""
        found = self.to_dict()["compare"]
        return None if found is None else Comparison(found, self)

    @property
    def plot(self) -> Plots:
        """Plots by matplotlib, which `homenode[plot]` installs."""
        from ._plots import Plots

        return Plots(self)

    @property
    def chart(self) -> Charts:
        """Charts by Altair, which `homenode[altair]` installs."""
        from ._charts import Charts

        return Charts(self)

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:{SCREEN}px;border:0" title="homenode report"></iframe>'

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        doc = self.to_dict()
        found = doc["evaluations"][0]
        name, refs = doc["provenance"]["dataset"], doc["provenance"]["refs"]
        return f"<homenode.Report: {name}, {refs} references on {found['machine']}, {len(found['findings'])} findings>"


class Comparison:
    """What a change came to: a second recording beside the first."""

    def __init__(self, doc: dict[str, Any], report: Report) -> None:
        #: Member `compare` of the document.
        self.doc = doc
        #: The report that it is part of, whose page shows both.
        self.report = report

    @property
    def before(self) -> int:
        """Cost of the first recording under first touch."""
        return int(self.doc["before"])

    @property
    def after(self) -> int:
        """Cost of the second one."""
        return int(self.doc["after"])

    @property
    def predicted(self) -> int:
        """What the first report promised."""
        return int(self.doc["predicted"])

    @property
    def remedied(self) -> list[str]:
        """Objects whose findings are gone."""
        return list(self.doc["remedied"])

    @property
    def saving(self) -> float:
        """Share of the first cost that is gone; negative if the second is dearer."""
        return (self.before - self.after) / self.before if self.before else 0.0

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def __repr__(self) -> str:
        return f"<homenode.Comparison: {self.before} before, {self.after} after, {self.predicted} predicted>"
