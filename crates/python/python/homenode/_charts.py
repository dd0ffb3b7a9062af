"""Charts by Altair, in the page's colours and units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from ._shown import ACCENT, BYTES, PARTS, evaluation_of, number, policy_parts, unit_of

if TYPE_CHECKING:
    from ._report import Report


class Charts:
    """Each returns a chart. `evaluation` is the number of the block size."""

    def __init__(self, report: Report) -> None:
        self._doc = report.to_dict()

    def policies(self, *, evaluation: int = 0) -> alt.Chart:
        """What each policy costs, in parts, and what the best placements cost."""
        unit, rows = policy_parts(evaluation_of(self._doc, evaluation))
        colours = PARTS | {"total": ACCENT}
        values = [
            {"name": row["name"], "part": part, "cost": row[part]} for row in rows for part in colours if part in row
        ]
        return _bars(values, "cost:Q", f"cost ({unit.name})", "part:N", colours)

    def patterns(self, *, evaluation: int = 0) -> alt.Chart:
        """Sharing patterns: their share of the bytes touched and of the cost under first touch."""
        rows = evaluation_of(self._doc, evaluation)["patterns"]
        values = []
        for key in ("bytes", "cost"):
            whole = sum(number(row[key]) for row in rows) or 1.0
            values += [{"name": row["pattern"], "part": key, "share": 100 * number(row[key]) / whole} for row in rows]
        chart = _bars(values, "share:Q", "share (%)", "part:N", {"bytes": BYTES, "cost": ACCENT}, stack=False)
        beside: alt.Chart = chart.encode(yOffset="part:N")
        return beside

    def objects(self, *, most: int = 10, evaluation: int = 0) -> alt.Chart:
        """The dearest objects under first touch, and how much of that is remote."""
        found = evaluation_of(self._doc, evaluation)
        rows = found["objects"][:most]
        unit = unit_of(found, max((number(row["cost"]) for row in rows), default=0.0))
        values = []
        for row in rows:
            remote = number(row["remote_cost"])
            for part, cost in [("remote", remote), ("local", number(row["cost"]) - remote)]:
                values.append({"name": row["name"], "part": part, "cost": cost / unit.each})
        colours = {"remote": PARTS["remote"], "local": PARTS["local"]}
        return _bars(values, "cost:Q", f"cost under first touch ({unit.name})", "part:N", colours)


def _bars(
    values: list[dict[str, Any]], x: str, title: str, colour: str, colours: dict[str, str], *, stack: bool = True
) -> alt.Chart:
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    chart: alt.Chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X(x, title=title, stack="zero" if stack else None),
            y=alt.Y("name:N", sort=None, title=None),
            color=alt.Color(colour, scale=scale, title=None),
            order=alt.Order("rank:Q"),
            tooltip=["name:N", colour, x],
        )
        .transform_calculate(rank=f"indexof({list(colours)!r}, datum.part)")
    )
    return chart
