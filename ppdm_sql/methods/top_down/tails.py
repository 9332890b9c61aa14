"""Tails of columns: all values from a bound up, or down from one, share one label.

Source: the Privacy Rule of HIPAA, 45 CFR 164.514(b)(2)(i)(C): "all ages over 89 ... may be aggregated into a
single category of age 90 or older"; statistical offices call it top and bottom coding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import option_for
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Codes
from ppdm_sql.methods.base.collapse import Dictionary
from ppdm_sql.methods.top_down.interval_cuts import ClassHistogram


@dataclass(frozen=True)
class Tails:
    """The tails of one column, which no boundary may split.

    Args:
        bottom: Text of the greatest value of the lower tail; None where there is none.
        top: Text of the smallest value of the upper tail; None where there is none.
        above_bottom: The first code above the lower tail.
        from_top: The first code of the upper tail.
    """

    bottom: str | None
    top: str | None
    above_bottom: int
    from_top: int

    @property
    def bounds(self) -> tuple[str | None, str | None]:
        """The texts of both bounds."""
        return self.bottom, self.top

    def __call__(
        self, histogram: ClassHistogram, low: int, high: int, boundaries: Codes
    ) -> NDArray[np.bool_]:
        """Tell which boundaries split no tail."""
        above = (boundaries >= self.above_bottom) if self.bottom is not None else True
        below = (boundaries <= self.from_top) if self.top is not None else True
        return np.asarray(np.ones(len(boundaries), dtype=bool) & above & below)


def tails_of(engine: Engine, dictionary: Dictionary, bottom: object, top: object) -> Tails:
    """Find the tails of a column among its values.

    Args:
        engine: Where they are.
        dictionary: The column's values.
        bottom: The greatest value of the lower tail; None for no tail.
        top: The smallest value of the upper tail; None for no tail.

    Raises:
        InvalidOption: A bound is no value of the column's type, or they meet.

    Cost: one scan of the dictionary.
    """
    query = statements.bind("top_down/tails", tables={"dictionary": dictionary.table})
    given = {
        name: None if one is None else str(one).strip() for name, one in (("bottom", bottom), ("top", top))
    }
    ((usable, lower, upper, above_bottom, from_top),) = engine.query(query, given, step="tails")
    if usable:
        return Tails(lower, upper, above_bottom, from_top)
    name, kind = dictionary.column
    raise InvalidOption(
        f"The tails of column {name!r} do not begin at values of {kind}, the lower one below the upper.",
        f"Write them as {option_for('--bottom', name, '18')} and {option_for('--top', name, '90')}; "
        "both values are in their tails.",
    )
