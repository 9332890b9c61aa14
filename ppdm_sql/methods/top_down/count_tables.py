"""Collapsed counts to measure on: a grid holds one row per combination of codes of some attributes.

Columns: ``c<i>`` for the attribute at position ``i`` of the run, ``n`` records, ``p<j>`` of them that hold
the ``j``-th value counted.
A grid becomes smaller as a run goes on: values that no reachable state tells apart are merged, and
attributes that nothing depends on yet are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.base.arrays import Codes
from ppdm_sql.methods.base.code_mapping import recoded
from ppdm_sql.methods.base.collapse import Atoms

Counted = tuple[int, int]
"""Position of a coded column, and the code of the value whose records are counted."""


@dataclass(frozen=True)
class CountTable:
    """A working table of counts.

    Args:
        table: Its name.
        rows: How many it has.
        values: For each attribute in it, an original value code for each code of the table.
        codes: For each attribute in it, the code of the table for each original value code.
        counted: Names of the counted columns: ``n, p0, p1, ...``.
    """

    table: Table
    rows: int
    values: Mapping[int, Codes]
    codes: Mapping[int, Codes]
    counted: Sequence[str]

    @staticmethod
    def sums(counted: Iterable[str]) -> str:
        """The sums of counted columns, as a select list."""
        return ", ".join(f"sum({name})::BIGINT AS {name}" for name in counted)

    @property
    def combinations(self) -> float:
        """Logarithm of the number of combinations that the codes could form."""
        return float(sum(np.log(len(codes)) for codes in self.values.values()))

    def tells(self, attribute: int, parts: Codes) -> bool:
        """Whether values of different parts have different codes here."""
        values, codes = self.values[attribute], self.codes[attribute]
        return len(values) == len(codes) or bool((parts[values][codes] == parts).all())

    def project(self, engine: Engine, attributes: Sequence[int]) -> CountTable:
        """Give a smaller grid over some of the attributes; one scan of this one."""
        columns = ", ".join(f"c{i}" for i in attributes)
        query = f"SELECT {columns}, {self.sums(self.counted)} FROM {self.table} GROUP BY {columns}"
        values, codes = ({i: some[i] for i in attributes} for some in (self.values, self.codes))
        return CountTable(*_made(engine, query, {}), values, codes, self.counted)

    def merge(self, engine: Engine, parts: Mapping[int, Codes]) -> CountTable:
        """Give a smaller grid in which values of the same part have one code; one scan of this one.

        Args:
            engine: Where the tables are.
            parts: For each attribute, the part of each of its original value codes.
        """
        values, codes, params, columns = {}, {}, dict[str, object](), []
        for i, before in self.values.items():
            _, first, inverse = np.unique(parts[i][before], return_index=True, return_inverse=True)
            values[i], codes[i] = before[first], inverse.ravel()[self.codes[i]]
            text, own = recoded(f"c{i}", inverse.ravel(), f"b{i}", "UINTEGER")
            params |= own
            columns.append(f"{text} AS c{i}")
        sums = self.sums(self.counted)
        query = f"SELECT {', '.join(columns)}, {sums} FROM {self.table} GROUP BY ALL"
        return CountTable(*_made(engine, query, params), values, codes, self.counted)


def _made(engine: Engine, query: str, params: Mapping[str, object]) -> tuple[Table, int]:
    table = engine.materialize("grid", query, params)
    ((rows,),) = engine.query(f"SELECT count(*) FROM {table}", step="grid_rows")
    return table, rows


def count_table_of(
    engine: Engine, atoms: Atoms, parts: Mapping[int, Codes | None], counted: Sequence[Counted]
) -> CountTable:
    """Make the grid of a channel from the atoms; one scan of them.

    Args:
        engine: Where the tables are.
        atoms: The collapsed source.
        parts: Positions of the attributes to group by, each with the part of each of its value codes, or
            None where all differ.
        counted: The values whose records are counted as ``p0, p1, ...``.
    """
    values, codes = {}, {}
    for i, part in parts.items():
        values[i] = codes[i] = np.arange(atoms.coded[i].size)
        if part is not None:
            _, first, inverse = np.unique(part, return_index=True, return_inverse=True)
            values[i], codes[i] = first, inverse.ravel()
    names = ["n", *(f"p{j}" for j in range(len(counted)))]
    coarse = {i: None if part is None else codes[i] for i, part in parts.items()}
    return CountTable(*_made(engine, *count_table_sql(atoms, coarse, counted)), values, codes, names)


def count_table_sql(
    atoms: Atoms, codes: Mapping[int, Codes | None], counted: Sequence[Counted]
) -> tuple[str, dict[str, object]]:
    """Write the SELECT of a grid, as :func:`count_table_of` makes it, with its parameters.

    Args:
        atoms: The collapsed source.
        codes: For each attribute the grid's code of each value code, None where they are the same.
        counted: The values whose records are counted as ``p0, p1, ...``.
    """
    counts = ["sum(n)::BIGINT AS n"]
    for j, (column, code) in enumerate(counted):
        counts.append(f"coalesce(sum(n) FILTER (WHERE c{column} = {code}), 0)::BIGINT AS p{j}")
    columns, params = [], dict[str, object]()
    for i, numbers in codes.items():
        text, own = (f"c{i}", {}) if numbers is None else recoded(f"c{i}", numbers, f"b{i}", "UINTEGER")
        params |= own
        columns.append(f"{text} AS c{i}")
    # The names are those of the atoms' columns too, so the groups are named by position.
    groups = ", ".join(str(place) for place in range(1, len(columns) + 1))
    return f"SELECT {', '.join([*columns, *counts])} FROM {atoms.table} GROUP BY {groups}", params
