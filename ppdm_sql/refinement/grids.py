"""Collapsed counts to measure on: a grid holds one row per combination of codes of some attributes.

Columns: ``c<i>`` for the attribute at position ``i`` of the run, ``n`` records, ``p<j>`` of them protected.
A grid becomes smaller as a run goes on: values that no reachable state tells apart are merged, and
attributes that nothing depends on yet are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.names import Table
from ppdm_sql.refinement.collapse import Atoms
from ppdm_sql.refinement.cuts import Codes


@dataclass(frozen=True)
class Grid:
    """A working table of counts.

    Args:
        table: Its name.
        values: For each attribute in it, an original value code for each code of the table.
        protected: Number of protected columns ``p0, p1, ...``.
        rows: Rows of the table.
    """

    table: Table
    values: Mapping[int, Codes]
    protected: int
    rows: int

    @property
    def counted(self) -> list[str]:
        """The names of the counted columns."""
        return ["n", *(f"p{j}" for j in range(self.protected))]

    @property
    def sums(self) -> str:
        """The sums of all counted columns, as a select list."""
        return ", ".join(f"sum({name})::BIGINT AS {name}" for name in self.counted)

    @property
    def combinations(self) -> float:
        """Logarithm of the number of combinations that the codes could form."""
        return float(sum(np.log(len(codes)) for codes in self.values.values()))

    def project(self, engine: Engine, attributes: Sequence[int]) -> Grid:
        """Give a smaller grid over some of the attributes; one scan of this one."""
        codes = ", ".join(f"c{i}" for i in attributes)
        query = f"SELECT {codes}, {self.sums} FROM {self.table} GROUP BY {codes}"
        return _made(engine, query, {}, {i: self.values[i] for i in attributes}, self.protected)

    def merge(self, engine: Engine, parts: Mapping[int, Codes]) -> Grid:
        """Give a smaller grid in which values of the same part have one code; one scan of this one.

        Args:
            engine: Where the tables are.
            parts: For each attribute, the part of each of its original value codes.
        """
        merged, params, columns = {}, {}, []
        for i, codes in self.values.items():
            _, first, inverse = np.unique(parts[i][codes], return_index=True, return_inverse=True)
            merged[i], params[f"b{i}"] = codes[first], inverse.ravel().tolist()
            columns.append(f"CAST($b{i} AS INTEGER[])[c{i} + 1]::UINTEGER AS c{i}")
        query = f"SELECT {', '.join(columns)}, {self.sums} FROM {self.table} GROUP BY ALL"
        return _made(engine, query, params, merged, self.protected)


def _made(
    engine: Engine, query: str, params: Mapping[str, object], values: Mapping[int, Codes], protected: int
) -> Grid:
    table = engine.materialize("grid", query, params)
    ((rows,),) = engine.query(f"SELECT count(*) FROM {table}", step="grid_rows")
    return Grid(table, values, protected, rows)


def grid_of(
    engine: Engine, atoms: Atoms, attributes: Sequence[int], protected: Sequence[tuple[int, int]]
) -> Grid:
    """Make the grid of a channel from the atoms; one scan of them.

    Args:
        engine: Where the tables are.
        atoms: The collapsed source.
        attributes: Positions of the attributes to group by.
        protected: Position of the sensitive column and code, for each protected value.
    """
    counts = ["sum(n)::BIGINT AS n"]
    for j, (column, code) in enumerate(protected):
        counts.append(f"coalesce(sum(n) FILTER (WHERE c{column} = {code}), 0)::BIGINT AS p{j}")
    codes = ", ".join(f"c{i}" for i in attributes)
    query = f"SELECT {codes}, {', '.join(counts)} FROM {atoms.table} GROUP BY {codes}"
    values = {i: np.arange(atoms.coded[i].size) for i in attributes}
    return _made(engine, query, {}, values, len(protected))
