"""Measures states where a sensitive column has more values than can be counted in a column each.

The table of counts has a row for each combination and sensitive value, and the values of a group become a
list of their counts, which the privacy models' formulas read. What is left of a group where a part is taken
out of it is found value by value, so that no list is ever subtracted from another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.counts import (
    CountTable,
    Params,
    by_candidate,
    coded,
    split_by,
    totals,
)
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.privacy import Formula

HELD = "held"
"""The column that lists the values of a group."""
MOST_CELLS = 30_000_000
"""Values of a divided column times those of the sensitive one, a row of a statement each."""
_LISTED = "sum({0})::BIGINT AS {1}n, list({{'n': {0}, 'q': q}}) FILTER ({0} > 0) AS {1}held"


class ValueTable(CountTable):
    """The records of each combination and sensitive value: ``c<i>, v, q, n``; ``q`` is of the whole table.

    Args:
        engine: Where the tables are.
        atoms: The collapsed source.
        attributes: Positions of those that group.
        sensitive: Position of the sensitive column.
    """

    def __init__(self, engine: Engine, atoms: Atoms, attributes: Sequence[int], sensitive: int) -> None:
        self._sensitive, self._values = f"c{sensitive}", atoms.coded[sensitive]
        super().__init__(engine, atoms, attributes, ())

    def _made(self) -> str:
        columns = ", ".join([*(f"c{i}" for i in self.attributes), self._sensitive])
        text = (
            f"SELECT {columns}, {self._sensitive} AS v, sum(n)::BIGINT AS n, "
            f"(sum(sum(n)) OVER (PARTITION BY {self._sensitive}))::BIGINT AS q "
            f"FROM {self.atoms.table} GROUP BY {columns}"
        )
        return str(self.engine.materialize("grid", text))

    def source(self, formulas: Sequence[Formula]) -> Floats:
        keys = [f"c{i} AS group{place}" for place, i in enumerate(self.attributes)]
        text = state_sql(self.rows, keys, formulas)
        return np.array(self.engine.query(text, step="detail")[0], dtype=np.float64)

    def _state_sql(self, keys: Sequence[str], formulas: Sequence[Formula]) -> str:
        return state_sql(self.rows, keys, formulas)

    def _path(
        self,
        cuts: Cuts,
        attribute: int,
        disclosed: Sequence[int],
        formulas: Sequence[Formula],
        rivals: Sequence[Candidate] = (),
    ) -> tuple[str, Params]:
        self._check_divided(attribute)
        return super()._path(cuts, attribute, disclosed, formulas, rivals)

    def _path_sql(
        self, keys: Sequence[str], place: str, formulas: Sequence[Formula], part: str | None = None
    ) -> str:
        return path_sql(self.rows, keys, place, formulas, part)

    def _check_divided(self, attribute: int) -> None:
        """Refuse a column that a value at a time is taken out of, where all pairs of values are too many."""
        divided = self.atoms.coded[attribute]
        if divided.size * self._values.size > MOST_CELLS:
            raise InvalidOption(
                f"Columns {divided.column.name!r} and {self._values.column.name!r} have {divided.size} and "
                f"{self._values.size} values, too many to measure each of the one without each of the other.",
                f"Give {divided.column.name!r} a taxonomy, or release one of them in coarser values.",
            )

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        read = np.full((len(candidates), len(formulas)), np.nan)
        for attribute in dict.fromkeys(attribute for attribute, _ in candidates):
            rows = [row for row, (other, _) in enumerate(candidates) if other == attribute]
            split = split_by(cuts, [candidates[row] for row in rows])
            keys, params = self._keys(cuts, but=split.parts)
            parts, own = coded(split.parts, "part")
            if attribute in split.rests:
                self._check_divided(attribute)
            write = disclosed_sql if attribute in split.rests else specialized_sql
            text = write(self.rows, keys, parts[attribute], formulas)
            found = self.engine.query(text, {**params, **own, "candidate": split.owner}, step="after")
            read[rows] = by_candidate(found, len(rows), len(formulas))
        return read

    def _boundaries(
        self, cuts: Cuts, attribute: int, part: Codes, formulas: Sequence[Formula]
    ) -> tuple[str, Params]:
        self._check_divided(attribute)
        keys, params = self._keys(cuts, but=[attribute])
        texts, own = coded({attribute: part}, "part")
        return breaks_sql(self.rows, keys, texts[attribute], f"c{attribute}", formulas), params | own


# -- the statements: those of counts.py, with a list in the place of the columns of values ---------------


def state_sql(rows: str, keys: Sequence[str], formulas: Sequence[Formula]) -> str:
    """Measure a state: the number of groups, then the formulas'."""
    return f"SELECT {', '.join(['count(*)', *totals(formulas)])} FROM ({_groups(rows, keys)})"


def specialized_sql(rows: str, keys: Sequence[str], part: str, formulas: Sequence[Formula]) -> str:
    """Measure the states after candidates that split groups of their own, a row each."""
    groups = _groups(rows, [*keys, f"{part} AS part"], f"WHERE {part} >= 0")
    numbers = ", ".join(["$candidate[part + 1] AS candidate", *totals(formulas)])
    return f"SELECT {numbers} FROM ({groups}) GROUP BY candidate"


def disclosed_sql(rows: str, keys: Sequence[str], part: str, formulas: Sequence[Formula]) -> str:
    """Measure the states after candidates that each take a value out of a group, a row each."""
    sides = _sides(rows, keys, part, f"{part} >= -1", "n", "sum(n) OVER whole - n")
    numbers = ", ".join(["$candidate[place + 1] AS candidate", *map(_of_sides, formulas)])
    return f"{sides} SELECT {numbers} FROM sides WHERE place >= 0 GROUP BY candidate"


def path_sql(
    rows: str, keys: Sequence[str], place: str, formulas: Sequence[Formula], part: str | None = None
) -> str:
    """Measure the states along a path of disclosures, as :func:`counts.path_sql` does."""
    told, where = "place", f"{place} >= 0"
    if part is not None:
        keys, told = [*keys, f"{part} AS part"], "place, $candidate[part + 1]"
        where = f"{where} AND {part} >= 0"
    sides = _sides(rows, keys, place, where, "n", "sum(n) OVER later - n")
    numbers = ", ".join([told, *map(_of_sides, formulas)])
    return f"{sides} SELECT {numbers} FROM sides WHERE place < $steps GROUP BY {told}"


def breaks_sql(rows: str, keys: Sequence[str], part: str, value: str, formulas: Sequence[Formula]) -> str:
    """Write which boundaries break a limit: all those after ``code``, up to ``next``; a row each ``code``."""
    keys = [*keys, f"{part} AS part"]
    sides = _sides(
        rows, keys, value, f"{part} >= 0", "sum(n) OVER earlier", "sum(n) OVER whole - sum(n) OVER earlier"
    )
    following = f"lead(place) OVER (PARTITION BY {_names(keys)} ORDER BY place) AS next"
    broken = " OR ".join(
        f"{_each_side(formula)}::DOUBLE {'<' if formula.total == 'min' else '>'} $limit{j}"
        for j, formula in enumerate(formulas)
    )
    return (
        f"{sides} SELECT place AS code, max(next) AS next FROM (SELECT *, {following} FROM sides) "
        f"WHERE next IS NOT NULL AND ({broken}) GROUP BY place"
    )


def _names(keys: Sequence[str]) -> str:
    return ", ".join(key.rpartition(" AS ")[2] for key in keys)


def _groups(rows: str, keys: Sequence[str], where: str = "") -> str:
    """Write the groups with their values listed."""
    names = _names(keys)
    cells = f"SELECT {', '.join(keys)}, v, q, sum(n)::BIGINT AS n FROM {rows} {where} GROUP BY ALL"
    return f"SELECT {names}, {_LISTED.format('n', '')} FROM ({cells}) GROUP BY {names}"


def _sides(rows: str, keys: Sequence[str], place: str, where: str, one: str, other: str) -> str:
    """Write ``sides``: each group divided at each of its places, with the values of both sides listed.

    ``one`` and ``other`` are the records of a value on each side. A group has at each place all its values,
    of which there may be none.
    """
    names = _names(keys)
    windows = f"whole AS (PARTITION BY {names}, v)"
    for name, order in ("later", "place DESC"), ("earlier", "place"):
        windows += (
            f", {name} AS (PARTITION BY {names}, v ORDER BY {order} "
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        )
    return (
        f"WITH cells AS MATERIALIZED (SELECT {', '.join(keys)}, {place} AS place, v, q, "
        f"sum(n)::BIGINT AS n FROM {rows} WHERE {where} GROUP BY ALL), "
        f"every AS (SELECT {names}, place, v, q, coalesce(n, 0) AS n "
        f"FROM (SELECT DISTINCT {names}, place FROM cells) "
        f"JOIN (SELECT DISTINCT {names}, v, q FROM cells) USING ({names}) "
        f"LEFT JOIN cells USING ({names}, place, v, q)), "
        f"divided AS (SELECT {names}, place, q, ({one})::BIGINT AS one, ({other})::BIGINT AS other "
        f"FROM every WINDOW {windows}), "
        f"sides AS (SELECT {names}, place, "
        f"{_LISTED.format('one', 'one_')}, {_LISTED.format('other', 'other_')} "
        f"FROM divided GROUP BY {names}, place)"
    )


def _each_side(formula: Formula) -> str:
    sides = ({name: f"{side}_{name}" for name in formula.columns} for side in ("one", "other"))
    return f"{'least' if formula.total == 'min' else 'greatest'}({', '.join(map(formula.of, sides))})"


def _of_sides(formula: Formula) -> str:
    return f"{formula.total}({_each_side(formula)})"
