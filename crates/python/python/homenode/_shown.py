"""What plots and charts have in common: the page's colours and units."""

from __future__ import annotations

from typing import Any, NamedTuple

#: Parts of a cost, in the page's order and colours.
PARTS = {
    "local": "#86a3ba", "remote": "#c9481a", "global": "#2c8f86", "movement": "#8763ad", "transfer": "#4d5761",
}
INK, MUTED, GRID, ACCENT, BYTES = "#16191d", "#55606c", "#e4e8eb", "#0a5f9e", "#b4c3ce"
#: Nodes.
NODES = ["#0072b2", "#e69f00", "#009e73", "#b8609a", "#c4501b", "#56b4e9", "#7a5aa6", "#6b7480"]


class Unit(NamedTuple):
    """A unit of costs that suits the largest: its name, and how many of the machine's make one."""

    name: str
    each: float


def unit_of(evaluation: dict[str, Any], largest: float) -> Unit:
    """The unit for costs of an evaluation."""
    if evaluation["unit"] != "ps":
        return Unit(evaluation["unit"], 1.0)
    for name, each in [("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3)]:
        if largest >= each:
            return Unit(name, each)
    return Unit("ps", 1.0)


def number(cost: Any) -> float:
    """A cost of a document, which has large ones as digits."""
    return float(cost)


def evaluation_of(doc: dict[str, Any], which: int) -> dict[str, Any]:
    """An evaluation of a document by its number."""
    found: dict[str, Any] = doc["evaluations"][which]
    return found


def policy_parts(evaluation: dict[str, Any]) -> tuple[Unit, list[dict[str, Any]]]:
    """By policy its cost in parts; bounds at the end, whole."""
    rows = evaluation["policies"]
    bounds = evaluation["optimum"]
    unit = unit_of(evaluation, max((number(r["total"]) for r in [*rows, *bounds]), default=0.0))
    parts = [{"name": row["name"], **{part: number(row[part]) / unit.each for part in PARTS}} for row in rows]
    whole = [{"name": row["name"], "total": number(row["total"]) / unit.each} for row in bounds]
    return unit, parts + whole
