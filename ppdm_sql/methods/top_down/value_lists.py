"""Measures states where a sensitive column has more values than can be counted in a column each.

The table of counts has a row for each combination and sensitive value, and the values of a group become a
list of their counts, which the privacy models' formulas read. What is left of a group where a part is taken
out of it is found value by value, so that no list is ever subtracted from another.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engine import Engine
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.methods.top_down.counts import CountTable, Params, breaking_sql, names_of, split_by, worst_of
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.privacy import Formula

HELD = "held"
"""The column that lists the values of a group."""
MOST_CELLS = 30_000_000
"""Values of a divided column times those of the sensitive one, a row of a statement each."""
_LISTED = "sum({0})::BIGINT AS {1}n, list({{'n': {0}, 'q': q}}) FILTER ({0} > 0) AS {1}held"
_SIDES = ("one", "other")


class ValueTable(CountTable):
    """The records of each combination and sensitive value: ``c<i>, v, q, n``; ``q`` is of the whole table."""

    element = "v, q"

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

    def merged(self, names: Sequence[str]) -> str:
        return f"{self.element}, sum(n)::BIGINT AS n"

    def counts(self, names: Sequence[str]) -> str:
        return _LISTED.format("n", "")

    def read(self, names: Sequence[str]) -> list[str]:
        return ["v", "q", "n"]

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        for attribute in split_by(cuts, candidates).rests:
            self._check_divided(attribute)
        return super().after(cuts, candidates, formulas)

    def path(
        self,
        cuts: Cuts,
        attribute: int,
        disclosed: Sequence[int],
        formulas: Sequence[Formula],
        rivals: Sequence[Candidate] = (),
    ) -> Floats:
        self._check_divided(attribute)
        return super().path(cuts, attribute, disclosed, formulas, rivals)

    def _check_divided(self, attribute: int) -> None:
        """Refuse a column that a value at a time is taken out of, where all pairs of values are too many."""
        divided = self.atoms.coded[attribute]
        if divided.size * self._values.size > MOST_CELLS:
            raise InvalidOption(
                f"Columns {divided.column.name!r} and {self._values.column.name!r} have {divided.size} and "
                f"{self._values.size} values, too many to measure each of the one without each of the other.",
                f"Give {divided.column.name!r} a taxonomy, or release one of them in coarser values.",
            )

    def _boundaries(
        self, cuts: Cuts, attribute: int, part: Codes, formulas: Sequence[Formula], *, sums: bool
    ) -> tuple[str, Params]:
        self._check_divided(attribute)
        keys, text, params = self._by_part(cuts, attribute, part)
        keys, by = [*keys, f"{text} AS part"], ", ".join([*names_of(keys), "part"])
        up_to = "sum(n) OVER earlier"
        where = f"WHERE {text} >= 0"
        both = _sides(keys, f"c{attribute}", self.rows, where, up_to, f"sum(n) OVER whole - {up_to}")
        following = f"lead(place) OVER (PARTITION BY {by} ORDER BY place) AS next"
        found = f"(SELECT *, place AS code, {following} FROM ({both}))"
        return breaking_sql(found, [worst_of(f, map(_side, _SIDES)) for f in formulas], formulas), params

    def _after_disclosures(
        self, parts: Sequence[str], groups: Sequence[str], names: Sequence[str], formulas: Sequence[Formula]
    ) -> str:
        numbers = ", ".join(map(_of_sides, formulas))
        return " UNION ALL ".join(
            f"SELECT $candidate[place + 1] AS candidate, {numbers} FROM "
            f"({_sides(groups, part, 'coded', f'WHERE {part} >= -1', 'n', 'sum(n) OVER whole - n')}) "
            "WHERE place >= 0 GROUP BY candidate"
            for part in parts
        )

    def path_sql(
        self, keys: Sequence[str], place: str, formulas: Sequence[Formula], part: str | None = None
    ) -> str:
        owner, where = "0", f"WHERE {place} >= 0"
        if part is not None:
            owner, where = "$candidate[part + 1]", f"{where} AND {part} >= 0"
            keys = [*keys, f"{part} AS part"]
        both = _sides(keys, place, self.rows, where, "n", "sum(n) OVER later - n")
        numbers = ", ".join([f"{owner} AS candidate", "place", *map(_of_sides, formulas)])
        return f"SELECT {numbers} FROM ({both}) WHERE place < $steps GROUP BY candidate, place"


def _sides(keys: Sequence[str], place: str, rows: str, where: str, one: str, other: str) -> str:
    """Write each group divided at each of its places, with the values of both sides listed.

    ``one`` and ``other`` are the records of a value on each side. A group has at each place all its values,
    of which there may be none.
    """
    names = ", ".join(names_of(keys))
    windows = f"whole AS (PARTITION BY {names}, v)"
    for name, order in ("later", "place DESC"), ("earlier", "place"):
        windows += (
            f", {name} AS (PARTITION BY {names}, v ORDER BY {order} "
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        )
    return (
        f"WITH cells AS MATERIALIZED (SELECT {', '.join(keys)}, {place} AS place, v, q, "
        f"sum(n)::BIGINT AS n FROM {rows} {where} GROUP BY ALL), "
        f"every AS (SELECT {names}, place, v, q, coalesce(n, 0) AS n "
        f"FROM (SELECT DISTINCT {names}, place FROM cells) "
        f"JOIN (SELECT DISTINCT {names}, v, q FROM cells) USING ({names}) "
        f"LEFT JOIN cells USING ({names}, place, v, q)), "
        f"divided AS (SELECT {names}, place, q, ({one})::BIGINT AS one, ({other})::BIGINT AS other "
        f"FROM every WINDOW {windows}) "
        f"SELECT {names}, place, {_LISTED.format('one', 'one_')}, {_LISTED.format('other', 'other_')} "
        f"FROM divided GROUP BY {names}, place"
    )


def _side(side: str) -> dict[str, str]:
    return {name: f"{side}_{name}" for name in ("n", HELD)}


def _of_sides(formula: Formula) -> str:
    return f"{formula.total}({worst_of(formula, map(_side, _SIDES))})"
