"""Writes what a descent reached: the rows of the release, the steps and the cuts, all in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from ppdm_sql import statements
from ppdm_sql.engine import Engine
from ppdm_sql.names import Table, alias, column
from ppdm_sql.refinement.collapse import Atoms, Dictionary
from ppdm_sql.refinement.cuts import SuppressionCut
from ppdm_sql.refinement.loop import Step
from ppdm_sql.release import Treatment
from ppdm_sql.statements import render

WORTH_PACKING = 250_000
"""Records from which on text columns are stored as ENUMs."""
MOST_PACKED = 2**16
"""Values of a column above which its text is stored as it is."""


@dataclass(frozen=True)
class Output:
    """One column of a release: where it comes from in the atoms, and its name.

    Args:
        atom: ``c<i>`` or ``k<i>``, or ``n`` for the count column.
        name: Its released name.
        treatment: What the release says of it.
    """

    atom: str
    name: str
    treatment: Treatment


def released_rows(
    engine: Engine,
    atoms: Atoms,
    cuts: Sequence[SuppressionCut | None],
    outputs: Sequence[Output],
    symbol: str,
) -> str:
    """Write the SELECT that gives the release, ordered by its own values alone.

    The atoms are masked and regrouped as codes, decoded, sorted, and only then written out one row a
    record, so that sorting and decoding cost by combination, not by record. Where ``outputs`` holds a count
    column the combinations stay collapsed.

    Args:
        engine: Where the working table of decoded combinations is made.
        atoms: The collapsed source.
        cuts: For each coded column its cut, or None where it is released as it is.
        outputs: Columns of the release, in order.
        symbol: The suppressed symbol.

    Cost: one scan of the atoms; the SELECT itself scans the combinations.
    """
    decoded = engine.materialize("decoded", *_decoded(atoms, cuts, outputs, symbol))
    packed = {
        f"r{i}": engine.enumerate_values(
            f"SELECT DISTINCT r{i} FROM {decoded} WHERE r{i} IS NOT NULL ORDER BY ALL"
        )
        for i, output in enumerate(outputs)
        if is_packed(atoms, cuts, output)
    }
    values = [f"r{i}" for i, output in enumerate(outputs) if output.atom != "n"]
    order = ", ".join(f"{value} NULLS LAST" for value in values)
    stored = ", ".join(f"{v}::{packed[v]} AS {v}" if v in packed else v for v in values)
    rows = f"SELECT {stored}, n FROM (SELECT * FROM {decoded} ORDER BY {order}) AS combinations"
    if len(values) == len(outputs):
        rows = f"SELECT {', '.join(values)}, unnest(range(n)) AS copy FROM ({rows}) AS combinations"
    named = [
        render(alias(column("n" if output.atom == "n" else f"r{i}"), output.name))
        for i, output in enumerate(outputs)
    ]
    return f"SELECT {', '.join(named)} FROM ({rows}) AS records"


def is_packed(atoms: Atoms, cuts: Sequence[SuppressionCut | None], output: Output) -> bool:
    """Tell whether a column is worth storing as an ENUM of its released values.

    Writing text costs most of a large release: at 10 million records of nine columns 5.2 s of CPU time,
    1.8 s as ENUMs. On small ones making the types costs more than it saves. A sensitive column stays text: a
    requirement may name a value that no record of the release holds, and an ENUM could not be asked for it.
    """
    if output.atom[0] != "c" or output.treatment == "sensitive" or atoms.records < WORTH_PACKING:
        return False
    position = int(output.atom[1:])
    dictionary, cut = atoms.coded[position], cuts[position]
    is_text = dictionary.column.type == "VARCHAR" or (cut is not None and len(cut.suppressed) > 0)
    return is_text and dictionary.size <= MOST_PACKED


def _masked(atoms: Atoms, cuts: Sequence[SuppressionCut | None]) -> tuple[str, dict[str, object]]:
    """Replace codes of suppressed values by -1 and add up what has become equal."""
    params: dict[str, object] = {}
    columns = [f"k{position}" for position in range(len(atoms.kept))]
    for position, cut in enumerate(cuts):
        if cut is None or not len(cut.suppressed):
            columns.append(f"c{position}")
            continue
        params[f"r{position}"] = np.where(cut.labels == 0, -1, np.arange(len(cut.labels))).tolist()
        columns.append(f"CAST($r{position} AS INTEGER[])[c{position} + 1] AS c{position}")
    return f"SELECT {', '.join(columns)}, sum(n)::BIGINT AS n FROM {atoms.table} GROUP BY ALL", params


def _decoded(
    atoms: Atoms, cuts: Sequence[SuppressionCut | None], outputs: Sequence[Output], symbol: str
) -> tuple[str, dict[str, object]]:
    """Replace codes by values; a column of which something is suppressed becomes text."""
    masked, params = _masked(atoms, cuts)
    columns, joins = ["m.n AS n"], []
    for i, output in enumerate(outputs):
        if output.atom == "n":
            continue
        position = int(output.atom[1:])
        if output.atom[0] == "k":
            columns.append(f"m.k{position} AS r{i}")
            continue
        columns.append(f"{_value(cuts[position], atoms.coded[position], position)} AS r{i}")
        joins.append(
            f"LEFT JOIN {atoms.coded[position].table} AS d{position} ON d{position}.code = m.c{position}"
        )
    params["symbol"] = symbol
    return f"SELECT {', '.join(columns)}, $symbol AS s FROM ({masked}) AS m {' '.join(joins)}", params


def _value(cut: SuppressionCut | None, dictionary: Dictionary, position: int) -> str:
    value = f"d{position}.value"
    if cut is not None and len(cut.suppressed):
        return f"CASE WHEN m.c{position} < 0 THEN $symbol ELSE {value}::VARCHAR END"
    return f"{value}::VARCHAR" if has_enum(dictionary.column.type) else value


def has_enum(type_text: str) -> bool:
    """Tell whether a type carries a list of values, which would bring all of the source's along."""
    return "ENUM(" in type_text.upper()


def without_enum(value: exp.Expression, type_text: str) -> exp.Expression:
    """Turn an ENUM into text."""
    return exp.cast(value, "TEXT") if has_enum(type_text) else value


def value_texts(engine: Engine, atoms: Atoms, cuts: Sequence[SuppressionCut | None]) -> Table:
    """Gather the masking attributes' values as text: ``attribute`` (position), ``code``, ``value``."""
    parts = [
        f"SELECT {position} AS attribute, code, value::VARCHAR AS value FROM {atoms.coded[position].table}"
        for position, cut in enumerate(cuts)
        if cut is not None
    ]
    nothing = ["SELECT NULL::INTEGER AS attribute, NULL::BIGINT AS code, NULL::VARCHAR AS value WHERE false"]
    return engine.materialize("texts", " UNION ALL ".join(parts or nothing))


def step_rows(
    engine: Engine,
    atoms: Atoms,
    texts: Table,
    steps: Sequence[Step],
    whole: Sequence[tuple[int, Sequence[int]]],
    symbol: str,
) -> Table:
    """Write the steps with the text of the disclosed values.

    Args:
        engine: Where the working table is made.
        atoms: The collapsed source.
        texts: From :func:`value_texts`.
        steps: The steps of the descent, in order.
        whole: Attributes and codes disclosed at the end because the source needs no protection; one
            step an attribute, with score 0.
        symbol: The suppressed symbol, parent of every disclosure.
    """
    moves: list[tuple[int, Sequence[int], float, float, float]]
    moves = [(s.candidate[0], (s.candidate[1],), s.score, s.gain, s.loss) for s in steps]
    moves += [(attribute, codes, 0.0, 0.0, 0.0) for attribute, codes in whole]
    rows = [
        (step, attribute, code, score, gain, loss)
        for step, (attribute, codes, score, gain, loss) in enumerate(moves, start=1)
        for code in codes
    ]
    names = ("step", "attribute", "code", "score", "gain", "loss")
    params: dict[str, object] = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    params |= {"symbol": symbol, "names": _names(atoms)}
    return engine.materialize("steps", statements.bind("refinement/steps", tables={"texts": texts}), params)


def cut_rows(
    engine: Engine, atoms: Atoms, texts: Table, cuts: Sequence[SuppressionCut | None], symbol: str
) -> Table:
    """Write what became of every value of the masking attributes; the owner's, never exported."""
    labels = [[] if cut is None else cut.labels.tolist() for cut in cuts]
    params: dict[str, object] = {"labels": labels, "symbol": symbol, "names": _names(atoms)}
    return engine.materialize("cuts", statements.bind("refinement/cuts", tables={"texts": texts}), params)


def _names(atoms: Atoms) -> list[str]:
    return [dictionary.column.name for dictionary in atoms.coded]
