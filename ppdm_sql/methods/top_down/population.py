"""Counts a population beside the source, in the source's codes, so that states can be measured in both.

The population is read once and collapsed. Its records stand below those of the source in one table, told
apart by a coded column of their own: what a formula counts as ``n`` is both.

A value that only the population has is shown as the labels say: a leaf of a taxonomy as the node above it, a
number between two others as their interval, in a suppressed column as the symbol. What no label holds is in
no class of the release, but it is counted: nobody of these people is in the table, which is a presence of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.exact import exact_columns
from ppdm_sql.engine.names import quoted, resolve
from ppdm_sql.engine.source import check_counts, count_column
from ppdm_sql.engine.statements import bind
from ppdm_sql.engine.types import MOMENTS, NUMBERS, Kind, kind_of, type_title
from ppdm_sql.errors import InvalidSource
from ppdm_sql.methods.base.arrays import Codes
from ppdm_sql.methods.base.collapse import Atoms, Dictionary, collapse, read_source
from ppdm_sql.methods.base.released_rows import recoded
from ppdm_sql.methods.top_down.counts import CountTable, Params
from ppdm_sql.methods.top_down.cuts import ClosedCut, Cut, Cuts
from ppdm_sql.methods.top_down.maskings import Generalization, Intervals, Masking, Suppression
from ppdm_sql.privacy import PopulationTable

POPULATION = "p0"
"""The counted column of the population's records."""
NO_NODE = -1
_ALIKE = (NUMBERS, MOMENTS, (Kind.TEXT, Kind.ENUM))
_COMMON = ("DOUBLE", "TIMESTAMP", "VARCHAR")
"""Kinds that can be compared, and the type in which different ones of them are."""


# -- cuts over the values of both -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Beyond:
    """Codes of one attribute, behind the source's, for values that only the population has."""

    nodes: Codes
    """For each the nodes that show it beside values of the source, one at most in a cut; then ``NO_NODE``."""
    codes: Codes  # for each of these nodes a value of the source that it may show, too; shaped alike

    @classmethod
    def of(cls, pairs_by_value: Sequence[Sequence[tuple[int, int]]]) -> Beyond:
        """Give a code for each list of nodes, with the values of the source."""
        wide = max([1, *map(len, pairs_by_value)])
        padded = [[*pairs, *[(NO_NODE, 0)] * (wide - len(pairs))] for pairs in pairs_by_value]
        nodes, codes = np.moveaxis(np.array(padded, dtype=np.int64).reshape(-1, wide, 2), 2, 0)
        return cls(nodes, codes)


class PopulationCut(ClosedCut):
    """A cut as a grouping sees it that counts a population too."""

    def __init__(self, cut: Cut, beyond: Beyond) -> None:
        self.cut, self.beyond, self.disjoint = cut, beyond, cut.disjoint

    @cached_property
    def parts(self) -> Codes:
        own, nodes, codes = self.cut.parts, self.beyond.nodes, self.beyond.codes
        of_nodes = np.where(self.cut.nodes[codes] == nodes, own[codes], own.max() + 1)
        return np.concatenate([own, of_nodes.min(axis=1)])

    @property
    def nodes(self) -> Codes:
        return self.parts

    def split(self, candidate: int) -> Sequence[Codes]:
        parts = self.cut.split(candidate)
        if not self.disjoint:  # a value that the source lacks is never disclosed
            return parts
        nodes, size = self.beyond.nodes, len(self.cut.parts)
        node, children = self.cut.specialization(candidate)
        places, steps = np.nonzero(np.isin(nodes, children))
        beside = self.beyond.codes[places, steps]
        wide = [np.concatenate([part, size + places[np.isin(beside, part)]]) for part in parts]
        rest = np.setdiff1d(np.nonzero(nodes == node)[0], places)  # shown by this node, and by none below
        return [*wide, size + rest] if len(rest) else wide


class PopulationCounts(CountTable):
    """Counts of source and population in one, told apart by the last coded column."""

    def __init__(
        self, engine: Engine, atoms: Atoms, attributes: Sequence[int], beyond: dict[int, Beyond]
    ) -> None:
        self._beyond = beyond
        super().__init__(engine, atoms, attributes, [(len(atoms.coded), 1)])

    def full_cuts(self, cuts: Cuts) -> Cuts:
        beyond = self._beyond
        return tuple(PopulationCut(cut, beyond[i]) if i in beyond else cut for i, cut in enumerate(cuts))


# -- source and population in one -----------------------------------------------------------------------


def population_table(
    engine: Engine,
    atoms: Atoms,
    maskings: Sequence[Masking],
    attributes: Sequence[int],
    population: PopulationTable,
) -> PopulationCounts:
    columns = [(atoms.coded[i].column, isinstance(maskings[i], Suppression)) for i in attributes]
    theirs = _atoms_of(engine, population, columns)
    beyond, coded = dict[int, Beyond](), list(atoms.coded)
    here, there, params = list[str](), list[str](), Params()
    for number, i in enumerate(attributes):
        beyond[i], codes = _in_codes_of_the_source(engine, maskings[i], theirs.coded[number])
        coded[i] = replace(coded[i], size=coded[i].size + len(beyond[i].nodes))
        text, own = recoded(f"c{number}", codes, f"code{i}", "UINTEGER")
        here.append(f"c{i}::UINTEGER AS c{i}")
        there.append(f"{text} AS c{i}")
        params |= own
    groups = ", ".join(str(number + 1) for number in range(len(attributes)))
    both = " UNION ALL ".join(
        f"SELECT {', '.join([*codes, f'{side} AS c{len(coded)}'])}, sum(n)::BIGINT AS n FROM {table} "
        f"GROUP BY {groups}"
        for side, (codes, table) in enumerate([(here, atoms.table), (there, theirs.table)])
    )
    table = engine.materialize("with_population", both, params)
    union = replace(atoms, table=table, coded=tuple(coded), records=atoms.records + theirs.records)
    return PopulationCounts(engine, union, attributes, beyond)


def _atoms_of(engine: Engine, population: PopulationTable, sources: Sequence[tuple[Column, bool]]) -> Atoms:
    """Collapse the columns of a population that have the names of the source's, in codes of its own."""
    table = engine.find(population.name)
    all_columns = engine.columns(table)
    columns = exact_columns(all_columns)
    types = dict(columns)
    names = [resolve(item.name, list(types), table=population.name) for item, _ in sources]
    weights = count_column(population.weights, columns, table=population.name)
    rows = read_source(engine, table, [item for item in all_columns if item.name in {*names, weights}])
    if weights is not None:
        check_counts(engine, rows, weights)
    items = [
        f"{_comparable(name, types[name], *item, population)} AS v{place}"
        for place, (name, item) in enumerate(zip(names, sources, strict=True))
    ]
    weight = "1" if weights is None else f"s.{quoted(weights)}"
    view = engine.overlay(f"SELECT {', '.join(items)}, {weight} AS n FROM {rows} AS s")
    if not engine.query(f"SELECT 1 FROM {view} WHERE n > 0 LIMIT 1", step="population"):
        raise InvalidSource(
            f"The population {population.name} holds no records.", "Give a table with everybody in it."
        )
    values = engine.columns(view)[:-1]
    count = None if weights is None else "n"
    return collapse(engine, view, values, (), count, masked=(), symbol="", shown=population.name)


def _comparable(name: str, type_text: str, source: Column, as_text: bool, population: PopulationTable) -> str:
    """Read a column so that it can be compared with the source's; what is suppressed is compared as text."""
    value, there, here = f"s.{quoted(name)}", kind_of(type_text), kind_of(source.type)
    for kinds, common in zip(_ALIKE, _COMMON, strict=True):
        if there in kinds and here in kinds and not (as_text and _differ(type_text, source.type)):
            return value if there is here and common != "VARCHAR" else f"{value}::{common}"
    if type_text != source.type and (as_text or there is not here):
        raise InvalidSource(
            f"Column {name!r} of the population {population.name} holds {type_title(type_text)}, which "
            f"cannot be compared with {type_title(source.type)}.",
            "Cast it, in a view, to the type that the table has.",
        )
    return value


def _differ(one: str, other: str) -> bool:
    """Whether equal values of two comparable types can have different texts, as 5 and 5.0 do."""
    kinds = {kind_of(one), kind_of(other)}
    return one != other and not (kinds <= {Kind.WHOLE} or kinds <= {Kind.TEXT, Kind.ENUM})


# -- the population's values in the codes of the source -------------------------------------------------


def _in_codes_of_the_source(engine: Engine, masking: Masking, there: Dictionary) -> tuple[Beyond, Codes]:
    """Give the code of each of the population's values, and what those behind the source's stand for."""
    size, has_null = masking.dictionary.size, masking.dictionary.has_null
    if isinstance(masking, Intervals):
        bounds = (*(masking.range or (None, None)), masking.range is None)
        places = _look_up(engine, "population_places", masking, there, bounds)
        codes = np.where(places["is_inside"] > 0, places["place"], size)
        if has_null and there.has_null:
            codes[-1] = size - 1
        return Beyond.of([[(masking.root, 0)] if has_null else []]), codes  # only the symbol holds all
    codes = _look_up(engine, "population_values", masking, there)["found"]
    if isinstance(masking, Generalization):
        return _under_taxonomy(engine, masking, there, codes)
    beyond = Beyond.of([[]])
    if isinstance(masking, Suppression):  # the symbol stands for it as long as for any value
        beyond = Beyond(np.zeros((1, size), dtype=np.int64), np.arange(size)[None])
    return beyond, np.where(codes < 0, size, codes)


def _under_taxonomy(
    engine: Engine, masking: Generalization, there: Dictionary, same: Codes
) -> tuple[Beyond, Codes]:
    """Give each value the code of the source's, else one for the nodes above it that the source has, too."""
    from ppdm_sql.taxonomy.tables import NO_LEAF, leaf_codes  # few runs count a population

    taxonomy, name, below = masking.taxonomy, masking.dictionary.column.name, masking.tree.codes
    leaves = leaf_codes(engine, there.table, taxonomy, column=name, text=there.column.type == "VARCHAR")
    lowest = np.where(leaves == NO_LEAF, 0, leaves)  # what no leaf holds is below the root alone
    root = taxonomy.intervals[0] if masking.by_interval else None
    if root is not None:  # a label with bounds holds what is within them, and nothing else
        bounds = (root[0], root[1], root.closed)
        inside = _look_up(engine, "population_places", masking, there, bounds)["is_inside"]
        lowest[(leaves == NO_LEAF) & (inside == 0)] = NO_NODE

    def above(node: int) -> list[tuple[int, int]]:
        pairs = []
        while node >= 0:
            pairs += [(node, int(below[node][0]))] if len(below[node]) else []
            node = taxonomy.parents[node]
        return pairs

    own, places = np.unique(lowest[same < 0], return_inverse=True)
    codes = same.copy()
    codes[same < 0] = masking.dictionary.size + places.ravel()
    return Beyond.of([above(node) for node in own.tolist()]), codes


def _look_up(
    engine: Engine,
    step: str,
    masking: Masking,
    there: Dictionary,
    bounds: tuple[str | None, str | None, bool] | None = None,
) -> dict[str, Codes]:
    tables = {"values_there": there.table, "dictionary": masking.dictionary.table}
    params = None if bounds is None else dict(zip(("lower", "upper", "closed"), bounds, strict=True))
    rows = engine.arrays(bind(f"top_down/{step}", tables=tables), params, step=step)
    order = np.argsort(rows["code"])
    return {name: numbers[order].astype(np.int64) for name, numbers in rows.items()}
