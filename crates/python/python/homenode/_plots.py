"""Plots by matplotlib, in the page's colours and units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from . import _shown
from ._shown import ACCENT, BYTES, GRID, INK, MUTED, NODES, PARTS, evaluation_of, number, policy_parts, unit_of

if TYPE_CHECKING:
    from ._report import Report


class Plots:
    """Each draws on axes, new ones unless they are given, and returns them. `evaluation` is the number of the block size."""

    def __init__(self, report: Report) -> None:
        self._doc = report.to_dict()

    def policies(self, ax: Axes | None = None, *, evaluation: int = 0) -> Axes:
        """What each policy costs, in parts, and what the best placements cost."""
        found = evaluation_of(self._doc, evaluation)
        unit, rows = policy_parts(found)
        ax = _axes(ax, len(rows))
        for y, row in enumerate(rows):
            left = 0.0
            for part, colour in PARTS.items():
                width = row.get(part, 0.0)
                ax.barh(y, width, left=left, color=colour, height=0.7, label=part if y == 0 else None)
                left += width
            if "total" in row:
                ax.barh(y, row["total"], color="none", edgecolor=ACCENT, linewidth=1.2, height=0.7, label=None)
        return _finish(ax, [row["name"] for row in rows], f"cost ({unit.name})", found, legend=True)

    def patterns(self, ax: Axes | None = None, *, evaluation: int = 0) -> Axes:
        """Sharing patterns: their share of the bytes touched and of the cost under first touch."""
        found = evaluation_of(self._doc, evaluation)
        rows = found["patterns"]
        ax = _axes(ax, len(rows))
        for key, colour, offset in [("bytes", BYTES, -0.2), ("cost", ACCENT, 0.2)]:
            whole = sum(number(row[key]) for row in rows) or 1.0
            shares = [100 * number(row[key]) / whole for row in rows]
            ax.barh([y + offset for y in range(len(rows))], shares, height=0.38, color=colour, label=f"share of {key}")
        return _finish(ax, [row["pattern"] for row in rows], "share (%)", found, legend=True)

    def objects(self, ax: Axes | None = None, *, most: int = 10, evaluation: int = 0) -> Axes:
        """The dearest objects under first touch, and how much of that is remote."""
        return self._costs("objects", "name", ax, most, evaluation)

    def lines(self, ax: Axes | None = None, *, most: int = 10, evaluation: int = 0) -> Axes:
        """The dearest source lines under first touch, and how much of that is remote."""
        return self._costs("lines", "place", ax, most, evaluation)

    def heat(self, ax: Axes | None = None, *, evaluation: int = 0) -> Axes:
        """Who references what, when: the node with most references in each cell."""
        found = evaluation_of(self._doc, evaluation)
        heat = found["heat"]
        if ax is None:
            _, ax = plt.subplots(figsize=(8, 5), layout="constrained")
        for y, row in enumerate(heat["rows"]):
            for x, cell in enumerate(row["cells"]):
                if sum(cell):
                    ax.barh(y, 1, left=x, height=1.0, color=NODES[cell.index(max(cell)) % len(NODES)])
        ax.set_ylim(len(heat["rows"]) - 0.5, -0.5)
        every = max(1, len(heat["rows"]) // 16)
        ax.set_yticks(range(0, len(heat["rows"]), every), [_short(row["object"]) for row in heat["rows"][::every]])
        ax.set_xlabel(f"time (one column is {heat['bin_refs']} references)")
        return _styled(ax, found)

    def _costs(self, list_name: str, key: str, ax: Axes | None, most: int, evaluation: int) -> Axes:
        found = evaluation_of(self._doc, evaluation)
        rows = found[list_name][:most]
        unit = unit_of(found, max((number(row["cost"]) for row in rows), default=0.0))
        ax = _axes(ax, len(rows))
        costs = [number(row["cost"]) / unit.each for row in rows]
        remote = [number(row["remote_cost"]) / unit.each for row in rows]
        ax.barh(range(len(rows)), costs, color=PARTS["local"], height=0.7, label="all")
        ax.barh(range(len(rows)), remote, color=PARTS["remote"], height=0.7, label="remote")
        names = [_short(row[key] or "unknown") for row in rows]
        return _finish(ax, names, f"cost under first touch ({unit.name})", found, legend=True)


def _axes(ax: Axes | None, rows: int) -> Axes:
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 1.2 + 0.34 * rows), layout="constrained")
    return ax


def _finish(ax: Axes, names: list[str], label: str, evaluation: dict[str, Any], *, legend: bool) -> Axes:
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel(label)
    if legend:
        ax.legend(loc="lower right", frameon=False, fontsize="small", labelcolor=INK)
    return _styled(ax, evaluation)


def _styled(ax: Axes, evaluation: dict[str, Any]) -> Axes:
    ax.set_title(f"{evaluation['machine']}, blocks of {evaluation['block_bytes']} bytes", loc="left", color=MUTED, fontsize="small")
    ax.tick_params(colors=MUTED, labelcolor=INK, length=0)
    ax.grid(axis="x", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(_shown.GRID)
    return ax


def _short(name: str, most: int = 32) -> str:
    return name if len(name) <= most else "..." + name[-most + 3:]
