"""Noise as a release records it, read by the audit itself, which takes no method's word for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import bind, text
from ppdm_sql.taxonomy.model import Interval


@dataclass(frozen=True)
class NoiseModel:
    """The noise of one column.

    Args:
        kind: ``gaussian``, ``uniform``, ``cells`` or ``retain``; None where the text cannot be read.
        amount: The scale, or the probability with which a category is kept.
        lower: The least original number.
        upper: The largest original number.
        whole: Whether original numbers are whole.
        rounded: Whether noisy numbers are rounded to the grid of the originals.
        unit: What noisy numbers are rounded to, or its upper bound.
        labels: Of the cells, in order, or the categories.

    Example:
        >>> import duckdb
        >>> found = noise_models(Engine(duckdb.connect()), {"age": "cells 0,20,40.5"})
        >>> found["age"].labels
        ('[0, 20)', '[20, 40.5]')
    """

    kind: str | None
    amount: float
    lower: float
    upper: float
    whole: bool
    rounded: bool
    unit: float
    labels: tuple[str, ...]

    @property
    def added(self) -> bool:
        """Whether it is added to numbers."""
        return self.kind in ("gaussian", "uniform")

    def is_recorded(self, record: Mapping[str, Any]) -> bool:
        """Whether the parameters of a release say the same of the noise as its text."""
        return bool({"kind": self.kind, **self._fields()} == record)

    def _fields(self) -> dict[str, object]:
        if self.kind == "cells":
            found = [interval for label in self.labels if (interval := Interval.of_label(label))]
            edges = [*(interval.lower for interval in found), found[-1].upper]
            return {"edges": [float(edge) for edge in edges if edge is not None]}
        if self.kind == "retain":
            return {"probability": self.amount, "values": list(self.labels)}
        domain = {"lower": self.lower, "upper": self.upper, "whole": self.whole}
        return {"scale": self.amount, "domain": domain, "rounded": self.rounded}

    def moments(self) -> tuple[float, float]:
        """Give variance and fourth central moment of added noise, that of rounding included.

        Rounded noise is at least as wide as the grid.

        Example:
            >>> NoiseModel("uniform", 1.0, 0, 9, True, True, 1.0, ()).moments()[0]
            0.5
        """
        unit = self.unit if self.rounded else 0.0
        if self.kind == "gaussian":
            variance = self.amount**2 + unit**2 / 12
            return variance, 3 * variance**2
        if not unit:
            return self.amount**2 / 3, self.amount**4 / 5
        # a number on the grid moves by k units as often as noise falls within half a unit of k
        reach = self.amount / unit
        last = math.floor(reach + 0.5)
        squares = (last - 1) * last * (2 * last - 1) / 6 + last**2 * (reach - last + 0.5)
        return unit**2 * squares / reach, (self.amount + unit / 2) ** 4 / 5


def noise_models(
    engine: Engine, noises: Mapping[str, str], types: Mapping[str, str] | None = None
) -> dict[str, NoiseModel]:
    """Read the noise of columns from the texts that a release keeps, such as ``gaussian 5 on 0,99 rounded``.

    Args:
        engine: Any.
        noises: The text of each column.
        types: Of the columns in the source, where it is at hand: some have decimals to round to.
    """
    params = {
        "columns": list(noises),
        "noises": list(noises.values()),
        "types": [(types or {}).get(name, "") for name in noises],
    }
    rows = engine.query(text("audit/noise_models"), params, step="noise_models")
    models = {}
    for name, kind, amount, lower, upper, whole, rounded, unit, labels in rows:
        models[name] = NoiseModel(kind, amount, lower, upper, whole, rounded, unit, tuple(labels))
    return models


def impossible_values(engine: Engine, released: Table, models: Mapping[str, NoiseModel]) -> dict[str, int]:
    """Count, for each column, the records with a value that its noise cannot give; NULL is none.

    Noise that cannot be read gives nothing.

    Cost: one scan of each column.
    """
    return {name: _impossible(engine, released, name, model) for name, model in models.items()}


def _impossible(engine: Engine, released: Table, name: str, model: NoiseModel) -> int:
    step = "impossible_numbers" if model.added else "impossible_labels"
    params: dict[str, object] = {"labels": list(model.labels if model.kind else ())}
    if model.added:
        fields: Sequence[str] = ("lower", "upper", "amount", "unit", "whole", "rounded")
        params = {field: getattr(model, field) for field in fields} | {"uniform": model.kind == "uniform"}
    query = bind(f"audit/{step}", tables={"released": released}, columns={"value": [name]})
    ((records,),) = engine.query(query, params, step=step)
    return int(records)
