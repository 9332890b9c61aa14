"""What a page is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ppdm_sql.audit.model import Counted
from ppdm_sql.engine import Engine
from ppdm_sql.privacy import Requirement
from ppdm_sql.release import ReleasedColumn
from ppdm_sql.release.layout import Shape
from ppdm_sql.report.charts import AFTER, BEFORE, COLOURS, Drawing
from ppdm_sql.report.measuring import Measurements
from ppdm_sql.report.sides import UNCOUNTED, CountedSide

MOST_BARS = 12
"""Values that a picture shows at most."""


@dataclass(frozen=True)
class Subject:
    """A release, as both editions of its page may look at it.

    The public edition has no ``before``, so that nothing of the source can come into it.

    Args:
        engine: Inside a workspace.
        drawing: Draws the pictures.
        name: The release.
        method: How it was made.
        shape: Its columns.
        requirements: What it keeps.
        after: Its rows.
        measured: What the audit's steps say of these.
        before: The rows of the source, for the owner, where it is still there.
        measured_before: What the audit's steps say of the source.
        left_out: Records of the source that the release does not have.
    """

    engine: Engine
    drawing: Drawing
    name: str
    method: str
    shape: Shape
    requirements: tuple[Requirement, ...]
    after: CountedSide
    measured: Measurements
    before: CountedSide | None = None
    measured_before: Measurements | None = None
    left_out: int = 0

    @property
    def counted(self) -> Counted:
        """What the requirements count, and with them classes and risks: records, or persons."""
        return self.measured.findings[0].counted if self.measured.findings else "records"

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that there are."""
        return (AFTER,) if self.before is None else (BEFORE, AFTER)

    def columns(self, *treatments: str) -> list[ReleasedColumn]:
        """List the released columns of some treatments; of all that are counted where none is given."""
        every = [item for item in self.shape.columns if item.treatment not in UNCOUNTED]
        return [item for item in every if not treatments or item.treatment in treatments]

    def draw(self, chart: str, rows: Sequence[Mapping[str, Any]], **values: Any) -> str:
        """Draw a chart of some sides, in their order; a legend is there where there are several."""
        sides = values.pop("sides", self.sides)
        seen = [side for side in sides if any(row["side"] == side for row in rows)]
        symbol = "stroke" if chart in ("curve", "lines") else "square"
        legend = {"symbolType": symbol} if len(seen) > 1 else None
        colours = [COLOURS.get(side, "var(--accent)") for side in seen]
        return self.drawing.draw(chart, rows, sides=seen, colours=colours, legend=legend, **values)
