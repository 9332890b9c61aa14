"""Tables of counts to measure on: one row per combination of codes of some attributes.

Columns: ``c<i>`` for the attribute at position ``i`` of the run, ``n`` records, ``p<j>`` of them that hold
the ``j``-th value counted. A table becomes smaller as a run goes on: values that no reachable state tells
apart are merged, and attributes that nothing depends on yet are left out.
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
        records: How many it counts, all rows together.
        values: For each attribute in it, an original value code for each code of the table.
        codes: For each attribute in it, the code of the table for each original value code.
        counted: Names of the counted columns: ``n, p0, p1, ...``.
    """

    table: Table
    rows: int
    records: int
    values: Mapping[int, Codes]
    codes: Mapping[int, Codes]
    counted: Sequence[str]

    @property
    def combinations(self) -> float:
        """Logarithm of the number of combinations that the codes could form."""
        return float(sum(np.log(len(codes)) for codes in self.values.values()))

    def tells(self, attribute: int, parts: Codes) -> bool:
        """Whether values of different parts have different codes here."""
        values, codes = self.values[attribute], self.codes[attribute]
        return len(values) == len(codes) or bool((parts[values][codes] == parts).all())

    def project(self, engine: Engine, attributes: Sequence[int]) -> CountTable:
        """Give a smaller table over some of the attributes; one scan of this one."""
        columns = ", ".join(f"c{i}" for i in attributes)
        query = f"SELECT {columns}, {sums(self.counted)} FROM {self.table} GROUP BY {columns}"
        values, codes = ({i: some[i] for i in attributes} for some in (self.values, self.codes))
        return CountTable(*_made(engine, query, {}), self.records, values, codes, self.counted)

    def merge(self, engine: Engine, parts: Sequence[Codes]) -> CountTable:
        """Give a smaller table in which values of the same part have one code; one scan of this one."""
        values, codes, merged = {}, {}, {}
        for i, before in self.values.items():
            _, first, inverse = np.unique(parts[i][before], return_index=True, return_inverse=True)
            values[i], codes[i] = before[first], inverse.ravel()[self.codes[i]]
            merged[i] = inverse.ravel()
        columns, params = _coded(merged)
        query = f"SELECT {', '.join([*columns, sums(self.counted)])} FROM {self.table} GROUP BY ALL"
        return CountTable(*_made(engine, query, params), self.records, values, codes, self.counted)


def sums(counted: Iterable[str]) -> str:
    """Write the sums of counted columns as a select list."""
    return ", ".join(f"sum({name})::BIGINT AS {name}" for name in counted)


def _made(engine: Engine, query: str, params: Mapping[str, object]) -> tuple[Table, int]:
    table = engine.materialize("grid", query, params)
    return table, engine.size(table)


def count_table(
    engine: Engine, atoms: Atoms, parts: Mapping[int, Codes | None], counted: Sequence[Counted]
) -> CountTable:
    """Count the atoms by some attributes; one scan of them.

    Args:
        engine: Where the tables are.
        atoms: The collapsed source.
        parts: Positions of the attributes, each with the part of each of its value codes, or None where all
            differ.
        counted: The values whose records are counted as ``p0, p1, ...``.
    """
    values, codes = {}, {}
    for i, part in parts.items():
        values[i] = codes[i] = np.arange(atoms.coded[i].size)
        if part is not None:
            _, first, inverse = np.unique(part, return_index=True, return_inverse=True)
            values[i], codes[i] = first, inverse.ravel()
    names = ["n", *(f"p{j}" for j in range(len(counted)))]
    merged = {i: None if part is None else codes[i] for i, part in parts.items()}
    made = _made(engine, *count_table_sql(atoms.table, merged, counted))
    return CountTable(*made, atoms.records, values, codes, names)


def count_table_sql(
    atoms: Table, codes: Mapping[int, Codes | None], counted: Sequence[Counted]
) -> tuple[str, dict[str, object]]:
    """Write the SELECT of a table of counts, with its parameters.

    Args:
        atoms: The table of the collapsed source.
        codes: For each attribute the new code of each value code, None where they stay.
        counted: The values whose records are counted as ``p0, p1, ...``.

    Example: the papers' bank customers by Job and Country, with those who were discharged; the US is not told
    apart from the UK.
        >>> from ppdm_sql.engine.statements import formatted
        >>> text, params = count_table_sql(Table("atoms"), {0: None, 1: np.array([0, 1, 2, 2])}, [(3, 1)])
        >>> print(formatted(text), params)
        SELECT
          c0 AS c0,
          CAST(CASE WHEN c1 < 1 THEN 0 ELSE CASE WHEN c1 < 2 THEN 1 ELSE 2 END END AS UINTEGER) AS c1,
          CAST(SUM(n) AS BIGINT) AS n,
          CAST(COALESCE(SUM(n) FILTER(WHERE
            c3 = 1), 0) AS BIGINT) AS p0
        FROM "atoms"
        GROUP BY
          1,
          2 {}
    """
    counts = ["sum(n)::BIGINT AS n"]
    for j, (column, code) in enumerate(counted):
        counts.append(f"coalesce(sum(n) FILTER (WHERE c{column} = {code}), 0)::BIGINT AS p{j}")
    columns, params = _coded(codes)
    # The names are those of the atoms' columns too, so the groups are named by position.
    groups = ", ".join(str(place) for place in range(1, len(columns) + 1))
    return f"SELECT {', '.join([*columns, *counts])} FROM {atoms} GROUP BY {groups}", params


def counted_rows_sql(atoms: Table, counted: Sequence[Counted]) -> str:
    """Write the SELECT of all rows of the collapsed source, ``p0, p1, ...`` beside their codes and ``n``.

    Example:
        >>> counted_rows_sql(Table("atoms"), [(3, 1)])
        'SELECT *, CASE WHEN c3 = 1 THEN n ELSE 0 END AS p0 FROM "atoms"'
    """
    held = (
        f", CASE WHEN c{column} = {code} THEN n ELSE 0 END AS p{j}"
        for j, (column, code) in enumerate(counted)
    )
    return f"SELECT *{''.join(held)} FROM {atoms}"


def _coded(codes: Mapping[int, Codes | None]) -> tuple[list[str], dict[str, object]]:
    """Write columns of codes, those that change by their new ones, with the parameters."""
    columns, params = [], dict[str, object]()
    for i, numbers in codes.items():
        text, own = (f"c{i}", {}) if numbers is None else recoded(f"c{i}", numbers, f"code{i}", "UINTEGER")
        params |= own
        columns.append(f"{text} AS c{i}")
    return columns, params
