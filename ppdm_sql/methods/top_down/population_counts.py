"""Counts a population beside the source, in the source's codes, so that states can be measured in both.

The population is read once and collapsed. Its records stand below those of the source in one table, told
apart by a coded column of their own: what a formula counts as ``n`` is both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.count_column import check_counts, count_column
from ppdm_sql.engine.exact import exact_columns
from ppdm_sql.engine.names import Table, alias, column, resolve
from ppdm_sql.engine.statements import bind
from ppdm_sql.engine.types import MOMENTS, NUMBERS, Kind, kind_of, type_title
from ppdm_sql.errors import InvalidSource
from ppdm_sql.methods.base.arrays import Codes, Floats
from ppdm_sql.methods.base.code_mapping import recoded
from ppdm_sql.methods.base.collapse import Atoms, Dictionary, coded_columns, coded_rows
from ppdm_sql.methods.base.source import count_coded_records, read_source
from ppdm_sql.methods.top_down.counts import CountTable, GroupsByValue, Params
from ppdm_sql.methods.top_down.cuts import Candidate, Cuts
from ppdm_sql.methods.top_down.maskings import Generalization, Intervals, Masking, Suppression
from ppdm_sql.methods.top_down.population_cuts import (
    UNKNOWN,
    Generalized,
    Grown,
    PopulationCut,
    Suppressed,
    Unmasked,
    Widening,
)
from ppdm_sql.privacy import Formula, PopulationTable

POPULATION = "p0"
"""The counted column of the population's records."""
_ALIKE = (NUMBERS, MOMENTS, (Kind.TEXT, Kind.ENUM))
_COMMON = ("DOUBLE", "TIMESTAMP", "VARCHAR")
"""Kinds that can be compared, and the type in which different ones of them are."""


class PopulationCounts(CountTable):
    """Counts of a population beside the source: source and population in one, told apart by a coded column.

    Args:
        engine: Where the tables are.
        atoms: Source and population in one.
        attributes: Positions of the attributes.
        widenings: How the cuts of each of them reach over the population.
        horizon: For each attribute of the run, the parts that the first states can tell apart.
    """

    def __init__(
        self,
        engine: Engine,
        atoms: Atoms,
        attributes: Sequence[int],
        widenings: dict[int, Widening],
        horizon: Sequence[Codes],
    ) -> None:
        self._widenings = widenings
        super().__init__(engine, atoms, attributes, [(len(atoms.coded), 1)], self._widened(horizon))

    def state(self, cuts: Cuts, formulas: Sequence[Formula]) -> Floats:
        return super().state(self._wide(cuts), formulas)

    def after(self, cuts: Cuts, candidates: Sequence[Candidate], formulas: Sequence[Formula]) -> Floats:
        return super().after(self._wide(cuts), candidates, formulas)

    def _path(
        self,
        cuts: Cuts,
        attribute: int,
        disclosed: Sequence[int],
        formulas: Sequence[Formula],
        rivals: Sequence[Candidate] = (),
    ) -> tuple[str, Params]:
        return super()._path(self._wide(cuts), attribute, disclosed, formulas, rivals)

    def by_value(self, cuts: Cuts, attribute: int, part: Codes, boundaries: Codes) -> GroupsByValue:
        outside = np.full(self._widenings[attribute].extra, -1)  # in no interval
        return super().by_value(self._wide(cuts), attribute, np.concatenate([part, outside]), boundaries)

    def shrink(self, horizon: Sequence[Codes]) -> None:
        super().shrink(self._widened(horizon))

    def _widened(self, horizon: Sequence[Codes]) -> list[Codes]:
        parts = list(horizon)
        for place, widening in self._widenings.items():
            parts[place] = widening.horizon(horizon[place])
        return parts

    def _wide(self, cuts: Cuts) -> Cuts:
        return tuple(
            PopulationCut(cut, self._widenings[place], cut.disjoint) if place in self._widenings else cut
            for place, cut in enumerate(cuts)
        )


def population_table(
    engine: Engine,
    atoms: Atoms,
    maskings: Sequence[Masking],
    attributes: Sequence[int],
    population: PopulationTable,
    horizon: Sequence[Codes],
) -> PopulationCounts:
    """Read a population, and make what counts it by some attributes.

    Args:
        engine: Where the tables are.
        atoms: The collapsed source.
        maskings: Of all attributes.
        attributes: Positions of those that group.
        population: The table, with columns of these names.
        horizon: For each attribute, the parts that the first states can tell apart.

    Raises:
        UnknownTable: There is no such table.
        UnknownColumn: It lacks a column.
        InvalidSource: It has no records, a column of values that cannot be compared, or no usable weights.

    Cost: one scan of the population for each attribute, one for the GROUP BY, and one of the atoms.
    """
    wanted = [(atoms.coded[place].column, maskings[place].treatment == "suppressed") for place in attributes]
    found = _Population.read(engine, population, wanted)
    widenings: dict[int, Widening] = {}
    codes: dict[int, Codes] = {}
    for place, there in zip(attributes, found.dictionaries, strict=True):
        widenings[place], codes[place] = _widened(engine, maskings[place], there)
    wide = [
        replace(item, size=item.size + widenings[place].extra) if place in widenings else item
        for place, item in enumerate(atoms.coded)
    ]
    both = engine.materialize("with_population", *_stacked(atoms, found.atoms, attributes, codes))
    records = atoms.records + found.records
    stacked = replace(atoms, table=both, coded=tuple(wide), records=records)
    return PopulationCounts(engine, stacked, attributes, widenings, horizon)


class _Population:
    """A population, collapsed over some columns in codes of its own."""

    def __init__(self, dictionaries: Sequence[Dictionary], atoms: Table, records: int) -> None:
        self.dictionaries, self.atoms, self.records = dictionaries, atoms, records

    @classmethod
    def read(
        cls, engine: Engine, population: PopulationTable, wanted: Sequence[tuple[Column, bool]]
    ) -> _Population:
        """Read the columns that have the names of the source's."""
        table = engine.find(population.name)
        columns = exact_columns(engine.columns(table))
        types = dict(columns)
        names = [resolve(item.name, list(types), table=population.name) for item, _ in wanted]
        weights = count_column(population.weights, columns, table=population.name)
        needed = {*names, *([] if weights is None else [weights])}
        described = engine.columns(table)
        rows = read_source(engine, table, [item for item in described if item.name in needed])
        if weights is not None:
            check_counts(engine, rows, weights)
        read = [
            alias(_comparable(name, types[name], *item, population), f"v{place}")
            for place, (name, item) in enumerate(zip(names, wanted, strict=True))
        ]
        weight = exp.Literal.number(1) if weights is None else column(weights, "s")
        query = exp.select(*read, alias(weight, "n")).from_(exp.alias_(rows.expression(), "s", table=True))
        view = engine.overlay(query)
        kinds = dict(engine.columns(view))
        coded = [Column(f"v{place}", kinds[f"v{place}"]) for place in range(len(wanted))]
        dictionaries = coded_columns(engine, view, coded, "n", masked=(), symbol="")
        atoms = engine.materialize("population", _collapsed(view, dictionaries))
        codes = [f"c{place}" for place in range(len(coded))]
        records = count_coded_records(engine, atoms, codes, "n", source=population.name)
        if not records:
            raise InvalidSource(
                f"The population {population.name} holds no records.", "Give a table with everybody in it."
            )
        return cls(dictionaries, atoms, records)


def _comparable(
    name: str, type_text: str, wanted: Column, as_text: bool, population: PopulationTable
) -> exp.Expression:
    """Read a column so that it can be compared with the source's; what is suppressed is compared as text."""
    there, here = kind_of(type_text), kind_of(wanted.type)
    for kinds, common in zip(_ALIKE, _COMMON, strict=True):
        if there in kinds and here in kinds and not (as_text and _differ(type_text, wanted.type)):
            value: exp.Expression = column(name, "s")
            return (
                value if there is here and common != "VARCHAR" else exp.cast(value, common, dialect="duckdb")
            )
    if type_text != wanted.type and (as_text or there is not here):
        raise InvalidSource(
            f"Column {name!r} of the population {population.name} holds {type_title(type_text)}, which "
            f"cannot be compared with {type_title(wanted.type)}.",
            "Cast it, in a view, to the type that the table has.",
        )
    return column(name, "s")


def _differ(one: str, other: str) -> bool:
    """Whether equal values of two comparable types can have different texts, as 5 and 5.0 do."""
    kinds = {kind_of(one), kind_of(other)}
    return one != other and not (kinds <= {Kind.WHOLE} or kinds <= {Kind.TEXT, Kind.ENUM})


def _collapsed(view: Table, dictionaries: Sequence[Dictionary]) -> exp.Select:
    query = coded_rows(view, dict(enumerate(dictionaries)))
    query.select(alias(exp.cast(exp.Sum(this=column("n", "s")), "BIGINT"), "n"), copy=False)
    query.set("group", exp.Group(all=True))
    return query.where(exp.GT(this=column("n", "s"), expression=exp.convert(0)), copy=False)


def _stacked(
    atoms: Atoms, population: Table, attributes: Sequence[int], codes: dict[int, Codes]
) -> tuple[str, dict[str, object]]:
    """Write the SELECT of both in the source's codes, with its parameters; the last code tells them apart."""
    side = f"c{len(atoms.coded)}"
    here = ", ".join(f"c{place}::UINTEGER AS c{place}" for place in attributes)
    there, params = list[str](), dict[str, object]()
    for number, place in enumerate(attributes):
        text, own = recoded(f"c{number}", codes[place], f"code{place}", "UINTEGER")
        there.append(f"{text} AS c{place}")
        params |= own
    groups = ", ".join(str(number) for number in range(1, len(attributes) + 1))
    text = (
        f"SELECT {here}, 0 AS {side}, sum(n)::BIGINT AS n FROM {atoms.table} GROUP BY {groups} UNION ALL "
        f"SELECT {', '.join(there)}, 1 AS {side}, sum(n)::BIGINT AS n FROM {population} GROUP BY {groups}"
    )
    return text, params


# -- the population's values in the codes of the source -------------------------------------------------


def _widened(engine: Engine, masking: Masking, there: Dictionary) -> tuple[Widening, Codes]:
    """Say how an attribute reaches over the population, and the code of each of the population's values."""
    size = masking.dictionary.size
    if isinstance(masking, Intervals):
        return _among_intervals(engine, masking, there)
    same = _same(engine, masking, there)
    if isinstance(masking, Generalization):
        return _under_taxonomy(engine, masking, there, same)
    widening = Suppressed(size) if isinstance(masking, Suppression) else Unmasked(size)
    return widening, np.where(same < 0, size, same)


def _same(engine: Engine, masking: Masking, there: Dictionary) -> Codes:
    tables = {"values_there": there.table, "dictionary": masking.dictionary.table}
    rows = engine.arrays(bind("top_down/population_values", tables=tables), step="population_values")
    return _by_code(rows["code"], rows["found"])


def _places(
    engine: Engine, masking: Masking, there: Dictionary, bounds: tuple[str | None, str | None, bool]
) -> tuple[Codes, Codes]:
    """Give the place of each value among the source's, and 1 where it is within the bounds, else 0."""
    tables = {"values_there": there.table, "dictionary": masking.dictionary.table}
    params = dict(zip(("lower", "upper", "closed"), bounds, strict=True))
    text = bind("top_down/population_places", tables=tables)
    rows = engine.arrays(text, params, step="population_places")
    return _by_code(rows["code"], rows["place"]), _by_code(rows["code"], rows["is_inside"])


def _by_code(codes: Codes, numbers: Codes) -> Codes:
    found = np.empty(len(codes), dtype=np.int64)
    found[codes.astype(np.int64)] = numbers
    return found


def _among_intervals(engine: Engine, masking: Intervals, there: Dictionary) -> tuple[Widening, Codes]:
    size, has_null = masking.dictionary.size, masking.dictionary.has_null
    lower, upper = masking.range or (None, None)
    places, inside = _places(engine, masking, there, (lower, upper, masking.range is None))
    codes = np.where(inside > 0, places, size)
    if has_null and there.has_null:
        codes[-1] = size - 1
    return Grown(size, has_null), codes


def _under_taxonomy(
    engine: Engine, masking: Generalization, there: Dictionary, same: Codes
) -> tuple[Widening, Codes]:
    """Give each value the code of the source's, else one of its leaf."""
    from ppdm_sql.taxonomy.matching import leaf_codes  # few runs count a population

    name, size = masking.dictionary.column.name, masking.dictionary.size
    text = there.column.type == "VARCHAR"
    leaves = leaf_codes(engine, there.table, masking.taxonomy, column=name, text=text)
    own = np.unique(leaves[(same < 0) & (leaves != UNKNOWN)])
    widening = Generalized.of(masking.tree, own)
    below, outside = size + len(own), size + len(own) + 1
    root = masking.taxonomy.intervals[0] if masking.by_interval else None
    unknown = np.full(len(same), below)
    if root is not None:  # a label with bounds holds what is within them, and nothing else
        _, inside = _places(engine, masking, there, (root[0], root[1], root.closed))
        unknown = np.where(inside > 0, below, outside)
    of_leaf = np.where(leaves == UNKNOWN, unknown, size + np.searchsorted(own, leaves))
    return widening, np.where(same < 0, of_leaf, same)
