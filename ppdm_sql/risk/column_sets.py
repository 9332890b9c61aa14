"""Which sets of columns single records out: what they tell apart, keys, minimal sample uniques, SUDA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial

from ppdm_sql.audit.collapsing import Collapsed
from ppdm_sql.engine.names import Table, column
from ppdm_sql.engine.statements import bind, joined, sql
from ppdm_sql.errors import InvalidOption
from ppdm_sql.progress import Progress

MOST_COLUMNS = 60
"""A set of columns is known by a whole number with a bit for each of them."""
MOST_COLUMNS_OF_DIS = 27
"""With more columns the exponent of DIS-SUDA is not above 0, and a higher score would be a lower risk."""
MOST_SETS = 20_000
MOST_VALUES = 10


@dataclass(frozen=True)
class ColumnSet:
    """How far a set of columns tells the records of a table apart.

    Args:
        columns: The columns.
        classes: Combinations of their values.
        alone: Records, or persons, whose combination nobody else has.
        share_alone: Those as a share of all, in [0, 1].
        distinction: Classes over records, in (0, 1].
        separation: Share of the pairs of records that the columns tell apart, in [0, 1].
        minimal_uniques: Records alone by these columns, and not once any of them is left out.
    """

    columns: tuple[str, ...]
    classes: int
    alone: int
    share_alone: float
    distinction: float
    separation: float
    minimal_uniques: int


@dataclass(frozen=True)
class Suda:
    """What SUDA2 tells of the records that sets of columns single out.

    Args:
        by_size: ``(size, minimal sample uniques, records whose smallest one has this size)``.
        by_column: Each column's part of all scores, in [0, 1]: that of the minimal sample uniques it is in.
        by_value: ``(column, value as text, part of all scores)``, those with the largest part; holds cells.
        fraction: The sampling fraction that DIS-SUDA is computed for.
        disclosive: DIS of the table, the probability that a match with a record that is alone is right; None
            where no record is, or there are too many columns.
        highest: The highest DIS-SUDA of a record; None likewise.
        average: The mean DIS-SUDA of the records with a score; None likewise.
    """

    by_size: tuple[tuple[int, int, int], ...]
    by_column: Mapping[str, float]
    by_value: tuple[tuple[str, str | None, float], ...]
    fraction: float
    disclosive: float | None
    highest: float | None
    average: float | None

    @property
    def records(self) -> int:
        """Records with a minimal sample unique."""
        return sum(records for _, _, records in self.by_size)


class SetCounting:
    """Counts the sets of columns of a collapsed table, level by level, on codes instead of values."""

    def __init__(self, collapsed: Collapsed, columns: Sequence[str], max_size: int) -> None:
        self.collapsed, self.engine, self.columns = collapsed, collapsed.engine, tuple(columns)
        self.sizes = range(1, min(max_size, len(columns)) + 1)
        self.number = sum(comb(len(columns), size) for size in self.sizes)
        if len(columns) > MOST_COLUMNS:
            raise InvalidOption(
                f"There are {len(columns)} columns to try, and at most {MOST_COLUMNS} are tried at a time.",
                "Name those that others may know with --by A,B, or select them in a view.",
            )
        if self.number > MOST_SETS:
            raise InvalidOption(
                f"{len(columns)} columns have {self.number:,} sets of up to {max_size}, and at most "
                f"{MOST_SETS:,} are tried.",
                "Name those that others may know with --by A,B, or give a smaller --max-size.",
            )
        self.codes = dict(zip(columns, collapsed.codes(columns), strict=True))
        self._values = dict[str, Table]()
        for code in self.codes.values():
            text = bind("base/dictionary", tables={"source": collapsed.atoms}, columns={"attribute": [code]})
            self._values[code] = self.engine.materialize("dictionary", text)
        self.coded = self._code_atoms()
        nothing = sql("SELECT NULL::BIGINT AS atom, NULL::BIGINT AS columns LIMIT 0")
        self.minimal = self.engine.materialize("minimal_uniques", nothing)
        self.counts: dict[frozenset[str], ColumnSet] = {}
        self.keys: list[frozenset[str]] = []

    def _code_atoms(self) -> Table:
        """Write the atoms with a number for each value, NULL being one."""
        parts = [
            {"c": column(code), "v": column(code, "a"), "d": column(f"d{code}"), "t": table}
            for code, table in self._values.items()
        ]
        joins = [sql("JOIN {t} AS {d} ON {v} IS NOT DISTINCT FROM {d}.value", **part) for part in parts]
        text = sql(
            "SELECT a.* REPLACE ({codes}) FROM {atoms} AS a {joins}",
            codes=[sql("{d}.code::INTEGER AS {c}", **part) for part in parts],
            atoms=self.collapsed.atoms,
            joins=joined(joins, " "),
        )
        return self.engine.materialize("coded", text)

    def count(self, progress: Progress) -> None:
        """Count every set up to the size; a superset of a key is a key, and not counted."""
        for size in self.sizes:
            for columns in combinations(self.columns, size):
                if not any(key <= set(columns) for key in self.keys):
                    self._count(columns)
                    progress.update(sets=f"{len(self.counts)} of {self.number}", size=size)

    def _count(self, names: tuple[str, ...]) -> None:
        codes = [self.codes[name] for name in names]
        classes = self._classes(codes)
        text = bind("risk/set_measures", tables={"set_classes": classes})
        ((number, total, together, alone),) = self.engine.query(text, step="set_measures")
        records, pairs = int(total), int(total) * (int(total) - 1) // 2
        self.counts[frozenset(names)] = ColumnSet(
            columns=names,
            classes=number,
            alone=alone,
            share_alone=alone / records,
            distinction=number / records,
            separation=(pairs - int(together)) / pairs if pairs else 1.0,
            minimal_uniques=self._keep(names, codes, classes) if alone else 0,
        )
        self.engine.discard(classes)
        if alone == number:
            self.keys.append(frozenset(names))

    def _classes(self, codes: Sequence[str]) -> Table:
        """Give the classes of a set: ``class``, one of its atoms, and ``class_records``."""
        tables = {"atoms": self.collapsed.atoms_of(codes, self.coded)}
        text = bind("audit/classes", tables=tables, columns={"qi": codes})
        return self.engine.materialize("set_classes", text)

    def _keep(self, names: Sequence[str], codes: Sequence[str], classes: Table) -> int:
        """Keep the atoms that are alone by a set and by none of its subsets; say how many."""
        subsets = [subset for size in range(1, len(names)) for subset in combinations(names, size)]
        smaller = [self._bits(subset) for subset in subsets if self.counts[frozenset(subset)].minimal_uniques]
        alone = sql("SELECT class AS atom FROM {classes} WHERE class_records = 1", classes=classes)
        if self.collapsed.unit == "persons":
            alone = bind("risk/lone_persons", tables={"coded": self.coded}, columns={"columns": codes})
        text = sql(
            "INSERT INTO {minimal} SELECT u.atom, {bits} FROM ({alone}) AS u WHERE u.atom NOT IN "
            "(SELECT m.atom FROM {minimal} AS m WHERE m.columns IN ({smaller}))",
            minimal=self.minimal,
            bits=self._bits(names),
            alone=alone,
            smaller=smaller or [0],
        )
        ((number,),) = self.engine.query(text, step="minimal_uniques")
        return int(number)

    def _bits(self, names: Sequence[str]) -> int:
        return sum(1 << self.columns.index(name) for name in names)

    def _weight(self, size: int) -> int:
        """Give what a minimal sample unique of a size adds to a score."""
        # Source: Elliot, Manning, Mayes, Gurd, Bane 2005: the product of M - i for i from the size to M - 1.
        return factorial(len(self.columns) - size)

    def disclosive(self, alone: int, pairs: int, fraction: float) -> float | None:
        """Give DIS by the records alone by all columns, and those in classes of two; None if not defined."""
        if not alone or len(self.columns) > MOST_COLUMNS_OF_DIS:
            return None
        return alone * fraction / (alone * fraction + pairs * (1 - fraction))

    def scores(self, alone: int, disclosive: float | None) -> Table:
        """Give ``atom, score, minimal_uniques, smallest, dis_suda`` and the columns' parts ``s0, s1 ...``."""
        sizes = sorted({len(one.columns) for one in self.counts.values()})
        cases = [sql("WHEN {size} THEN {w}", size=size, w=float(self._weight(size))) for size in sizes]
        part = "coalesce(sum(weight) FILTER (columns & {bit} <> 0), 0) AS {s}"
        text = sql(
            "SELECT atom, sum(weight) AS score, count(*) AS minimal_uniques, min(size) AS smallest, {parts} "
            "FROM (SELECT *, bit_count(columns) AS size, CASE size {cases} END AS weight FROM {minimal}) "
            "GROUP BY atom",
            parts=[sql(part, bit=1 << n, s=column(f"s{n}")) for n in range(len(self.columns))],
            cases=joined(cases, " "),
            minimal=self.minimal,
        )
        tables = {"suda_scores": self.engine.materialize("suda_scores", text)}
        exponent = 1 + (8 - len(self.columns)) / 20
        values = {"uniques": alone, "disclosive": disclosive, "exponent": exponent}
        return self.engine.materialize("scores", bind("risk/dis_suda", tables=tables, values=values))

    def suda(self, scores: Table, disclosive: float | None, fraction: float) -> Suda:
        """Sum up what the scores say."""
        text = bind("risk/suda_totals", tables={"scores": scores})
        totals = {size: row for size, *row in self.engine.query(text, step="suda_totals")}
        sets = self.counts.values()
        uniques = {len(one.columns): 0 for one in sets}
        for one in sets:
            uniques[len(one.columns)] += one.minimal_uniques
        parts = [(one.columns, one.minimal_uniques * self._weight(len(one.columns))) for one in sets]
        total = sum(part for _, part in parts)
        records = sum(row[0] for row in totals.values())
        has_scores = disclosive is not None and records > 0
        return Suda(
            by_size=tuple((size, n, totals[size][0] if size in totals else 0) for size, n in uniques.items()),
            by_column={
                name: sum(part for names, part in parts if name in names) / max(total, 1)
                for name in self.columns
            },
            by_value=self._by_value(scores, total) if total else (),
            fraction=fraction,
            disclosive=disclosive,
            highest=max(row[1] for row in totals.values()) if has_scores else None,
            average=sum(row[2] for row in totals.values()) / records if has_scores else None,
        )

    def _by_value(self, scores: Table, total: int) -> tuple[tuple[str, str | None, float], ...]:
        """Give the values with the largest parts of all scores."""
        parts: list[tuple[str, str | None, float]] = []
        for place, (name, code) in enumerate(self.codes.items()):
            tables = {"scores": scores, "coded": self.coded, "dictionary": self._values[code]}
            columns = {"part": [f"s{place}"], "code": [code]}
            text = bind("risk/suda_values", tables=tables, columns=columns, values={"most": MOST_VALUES})
            rows = self.engine.query(text, step="suda_values")
            parts += [(name, value, score / total) for value, score in rows]
        return tuple(sorted(parts, key=lambda one: -one[2])[:MOST_VALUES])
