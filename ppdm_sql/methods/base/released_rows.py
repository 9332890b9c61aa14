"""Writes the rows of a release from the collapsed source: masked, regrouped, decoded, sorted, unfolded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, column
from ppdm_sql.engine.statements import render
from ppdm_sql.engine.types import has_enum
from ppdm_sql.methods.base.arrays import Codes
from ppdm_sql.methods.base.collapse import Atoms
from ppdm_sql.release import Treatment

Params = dict[str, object]

WORTH_PACKING = 250_000
"""Records from which on text columns are stored as ENUMs."""
MOST_PACKED = 2**16
"""Values of a column above which its text is stored as it is."""
UNFOLDED = "unnest(CASE WHEN n = 1 THEN [0] ELSE range(n) END)"
"""A row for each record of a combination: a list that is the same for many costs a sixth of one for each."""


@dataclass(frozen=True)
class Output:
    """One column of a release: where it comes from in the atoms, and its name."""

    atom: str  # ``c<i>`` or ``k<i>``, or ``n`` for the count column
    name: str  # its released name
    treatment: Treatment  # what the release says of it
    of: str | None = None  # the interval column whose bound it is, if it is one

    @property
    def position(self) -> int | None:
        """Position of the coded column that it shows or bounds; None for what is carried, and the count."""
        return int(self.atom[1:]) if self.atom[0] == "c" else None


@dataclass(frozen=True)
class MaskedAtoms:
    """A collapsed source with what a release shows in place of codes."""

    atoms: Atoms  # the collapsed source
    # for masked columns, by position, the node that each code is shown as. A column that is not here shows
    # its values
    nodes: Mapping[int, Codes] = field(default_factory=dict)
    # working table ``attribute`` (position), ``node, label, lower, upper``; None where nothing is masked
    labels: Table | None = None
    # positions of coded columns that show every value of the source somewhere
    whole: frozenset[int] = frozenset()

    def is_packed(self, output: Output) -> bool:
        """Tell whether a column is worth storing as an ENUM of its released values (decision 3).

        A sensitive column stays text: a requirement may name a value that no record of the release holds,
        and an ENUM could not be asked for it.
        """
        position = output.position
        if position is None or output.of or output.treatment == "sensitive":
            return False
        if self.atoms.records < WORTH_PACKING:
            return False
        dictionary = self.atoms.coded[position]
        is_text = dictionary.column.type == "VARCHAR" or position in self.nodes
        return is_text and dictionary.size <= MOST_PACKED


def released_rows(
    engine: Engine, masked: MaskedAtoms, outputs: Sequence[Output], person: str | None = None
) -> str:
    """Write the SELECT that gives the release, ordered by its own values alone.

    The atoms are masked and regrouped as codes, decoded, sorted, and only then written out one row a
    record, so that sorting and decoding cost by combination, not by record. Where ``outputs`` holds a count
    column the combinations stay collapsed.
    """
    counted = any(output.atom == "n" for output in outputs)
    as_they_are = not masked.nodes and not counted
    table = masked.atoms.table if as_they_are else engine.materialize("masked", *_regrouped(masked))
    joins, values, order, named = dict[int, str](), ["m.n"], list[str](), list[str]()
    for i, output in enumerate(outputs):
        named.append(render(alias(column("n" if output.atom == "n" else f"r{i}"), output.name)))
        if output.atom == "n":
            continue
        position = output.position
        if position is not None:
            packed = _packed(engine, masked, position, table) if masked.is_packed(output) else None
            joins.setdefault(position, _join(masked, position, packed))
        values.append(f"{_value(masked, output)} AS r{i}")
        order.append(_order(masked, i, output))
    if person is not None:
        values.append("m.person")
        order.append("m.person")
        named.append(render(alias(column("person"), person)))
    rows = (
        f"SELECT {', '.join(values)} FROM {table} AS m {' '.join(joins.values())} "
        f"ORDER BY {', '.join(order) or 'ALL'}"
    )
    if not counted:
        rows = f"SELECT *, {UNFOLDED} AS copy FROM ({rows}) AS combinations"
    return f"SELECT {', '.join(named)} FROM ({rows}) AS records"


def _packed(engine: Engine, masked: MaskedAtoms, position: int, table: Table) -> Table:
    """Make an ENUM type of the values of a column that are released."""
    if position in masked.whole:
        every = f"SELECT value FROM {masked.atoms.coded[position].table} WHERE value IS NOT NULL ORDER BY ALL"
        return engine.enumerate_values(every)
    shown = f"(SELECT DISTINCT c{position} FROM {table}) AS m"
    value = "label" if position in masked.nodes else "value"
    text = f"d{position}.{value}"
    known = f"{shown} {_join(masked, position)} WHERE {text} IS NOT NULL"
    return engine.enumerate_values(f"SELECT DISTINCT {text} FROM {known} ORDER BY ALL")


def _order(masked: MaskedAtoms, place: int, output: Output) -> str:
    """Give what the rows are ordered by: a code where codes stand in the order of what is released."""
    position = output.position
    if position is None or output.of or position in masked.nodes:
        return f"r{place} NULLS LAST"
    return f"r{place} NULLS LAST" if has_enum(masked.atoms.coded[position].column.type) else f"m.c{position}"


def _regrouped(masked: MaskedAtoms) -> tuple[str, Params]:
    """Replace the codes of masked attributes by nodes and add up what has become equal."""
    params: Params = {}
    columns = [f"k{position}" for position in range(len(masked.atoms.kept))]
    columns += [] if masked.atoms.persons is None else ["person"]
    for position in range(len(masked.atoms.coded)):
        if position not in masked.nodes:
            columns.append(f"c{position}")
            continue
        text, own = recoded(f"c{position}", masked.nodes[position], f"r{position}", "BIGINT")
        params |= own
        columns.append(f"{text} AS c{position}")
    rows = f"SELECT {', '.join(columns)}, sum(n)::BIGINT AS n FROM {masked.atoms.table} GROUP BY ALL"
    return rows, params


def _join(masked: MaskedAtoms, position: int, packed: Table | None = None) -> str:
    """Join what an attribute's codes, or its nodes, are released as; as an ENUM where one is given."""
    if position not in masked.nodes:
        table, key, value, rest = masked.atoms.coded[position].table, "code", "value", ""
        where = ""
    else:
        assert masked.labels is not None
        table, key, value, rest = masked.labels, "node", "label", ", lower, upper"
        where = f" WHERE attribute = {position}"
    text = value if packed is None else f"TRY_CAST({value} AS {packed}) AS {value}"
    shown = f"(SELECT {key}, {text}{rest} FROM {table}{where})"
    return f"LEFT JOIN {shown} AS d{position} ON d{position}.{key} = m.c{position}"


def _value(masked: MaskedAtoms, output: Output) -> str:
    position = output.position
    if position is None:
        return f"m.{output.atom}"
    type_text = masked.atoms.coded[position].column.type
    if output.of:
        bound = "lower" if output.treatment == "lower bound" else "upper"
        return f"CAST(d{position}.{bound} AS {type_text})"
    if position in masked.nodes:
        return f"d{position}.label"
    value = f"d{position}.value"
    return f"{value}::VARCHAR" if has_enum(type_text) else value


FEW_RUNS = 4
"""Runs of equal numbers up to which comparisons, 1 ns each, are cheaper than a look-up in a list, 6 ns."""
CODES_A_RUN = 128
"""Codes that make a list, which is passed on with the statement and with every 2,048 rows, as dear as the
comparison of one more run, which is to be planned: 0.1 ms."""


def runs_of(numbers: Codes) -> tuple[Codes, Codes]:
    """Shorten a list: the first place of each run of equal numbers, and the number.

    Example:
        >>> runs_of(np.array([7, 7, 3]))
        (array([0, 2]), array([7, 3]))
    """
    first = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    return first, numbers[first]


def recoded(column: str, numbers: Codes, name: str, kind: str) -> tuple[str, dict[str, object]]:
    """Give the expression that replaces code ``c`` of a column by ``numbers[c]``, and its parameters."""
    first, values = runs_of(numbers)
    if 0 < len(first) <= max(FEW_RUNS, len(numbers) // CODES_A_RUN):
        return f"CAST({_compared(column, first.tolist(), values.tolist())} AS {kind})", {}
    return f"CAST(${name} AS {kind}[])[{column} + 1]", {name: numbers.tolist()}


def _compared(column: str, first: list[int], values: list[int]) -> str:
    """Halve the runs until one is left."""
    if len(first) == 1:
        return str(values[0])
    half = len(first) // 2
    below, above = (_compared(column, first[part], values[part]) for part in (slice(half), slice(half, None)))
    return f"CASE WHEN {column} < {first[half]} THEN {below} ELSE {above} END"
