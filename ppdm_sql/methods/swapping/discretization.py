"""Confidential numbers become categories: bins of about equal numbers of records, or with given edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from sqlglot import exp

from ppdm_sql.engine import Column, Engine, statements, type_title
from ppdm_sql.engine.names import Table, alias, aliased, column, option_for
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.engine.types import is_ordered, read, wide_type
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.methods.base.collapse import Atoms, Dictionary
from ppdm_sql.methods.swapping.request import Edges
from ppdm_sql.release.bins import bin_label


def requested_bins(
    bins: int | Mapping[str, int | Edges] | None, confidential: Sequence[Column]
) -> dict[str, int | Edges]:
    """Say how each confidential column is discretized: into how many bins, or by which edges.

    Args:
        bins: As the owner gave them, with names that are resolved; under ``""`` what is meant for all.
        confidential: The confidential columns.

    Raises:
        InvalidOption: A column of numbers, dates or times has no bins, bins are given for another one, or
            there are fewer than two.
    """
    given: Mapping[str, int | Edges] = {"": bins} if isinstance(bins, int) else bins or {}
    asked: dict[str, int | Edges] = {}
    for item in confidential:
        if not is_ordered(item.type):
            if item.name in given:
                raise InvalidOption(
                    f"Column {item.name!r} holds {type_title(item.type)}, which cannot be binned.",
                    "Leave it out of --bins.",
                )
            continue
        wanted = given.get(item.name, given.get(""))
        if wanted is None:
            raise InvalidOption(
                f"Confidential column {item.name!r} holds {type_title(item.type)}, not categories.",
                f"Give --bins 5 or {option_for('--bins', item.name, '0,10,20')}, "
                "or cast codes to text in a view.",
            )
        asked[item.name] = _enough(item.name, wanted)
    if "" in given and not asked:
        raise InvalidOption("No confidential column holds numbers, dates or times.", "Leave --bins out.")
    return asked


def _enough(name: str, wanted: int | Edges) -> int | Edges:
    number = wanted if isinstance(wanted, int) else len(wanted) - 1
    if number < 2:
        raise InvalidOption(
            f"{max(number, 0)} bins of {name!r} leave nothing to swap.",
            "Give 2 bins or more, so 3 edges or more.",
        )
    return wanted


def discretized(
    engine: Engine, atoms: Atoms, position: int, wanted: int | Edges
) -> tuple[Atoms, tuple[str, ...]]:
    """Replace the codes of a confidential column by those of its bins.

    Args:
        engine: Where the atoms are.
        atoms: The collapsed source; the column holds no NULL.
        position: The column.
        wanted: A number of bins, or their edges in order; the last bin of given edges is half-open too.

    Returns:
        The atoms with the bins' labels as values, and the labels.

    Raises:
        InvalidOption: The edges are no ascending values of the column's kind.
        InvalidSource: Values lie outside the edges.

    Cost: one scan of the atoms; for a number of bins another.
    """
    dictionary = atoms.coded[position]
    if isinstance(wanted, int):
        labels = _equal_bins(engine, atoms, position, wanted)
    else:
        labels = _given_bins(engine, dictionary.column, wanted)
    coded = _recoded(engine, dictionary, labels)
    _refuse_outside(engine, atoms, position, coded)
    columns = [f"a.c{i}" if i != position else f"b.bin AS c{i}" for i in range(len(atoms.coded))]
    columns += [f"a.k{i}" for i in range(len(atoms.kept))]
    table = engine.materialize(
        "discretized",
        f"SELECT {', '.join(columns)}, sum(a.n)::BIGINT AS n FROM {atoms.table} AS a "
        f"JOIN {coded} AS b ON b.code = a.c{position} GROUP BY ALL",
    )
    values = engine.materialize("bins", statements.bind("swapping/bins", tables={"binned_codes": coded}))
    changed, shown = list(atoms.coded), Column(dictionary.column.name, "VARCHAR")
    changed[position] = Dictionary(shown, values, engine.size(values), False)
    return replace(atoms, table=table, coded=tuple(changed)), tuple(labels)


def _equal_bins(engine: Engine, atoms: Atoms, position: int, number: int) -> list[str]:
    """Cut the values into runs of about equal numbers of records; a value is never split."""
    tables = {"atoms": atoms.table, "dictionary": atoms.coded[position].table}
    columns = {"code": [f"c{position}"]}
    counts = statements.bind("swapping/value_counts", tables=tables, columns=columns)
    values = engine.materialize("value_counts", counts)
    query = statements.bind(
        "taxonomy/quantiles", tables={"value_counts": values}, values={"intervals": number}
    )
    runs = engine.materialize("quantiles", query)
    text = statements.bind("taxonomy/run_bounds", tables={"quantiles": runs})
    rows = engine.query(text, step="run_bounds")
    ends = [f"{lower})" for lower, *_ in rows[1:]] + [f"{rows[-1][1]}]"]
    return [f"[{lower}, {end}" for (lower, *_), end in zip(rows, ends, strict=True)]


def _given_bins(engine: Engine, item: Column, edges: Edges) -> list[str]:
    """Label the bins between edges, which must be values of the column's kind, in order."""
    texts = [str(edge).strip() for edge in edges]
    kind = wide_type(item.type) or item.type
    values = [read(literal(text), kind) for text in texts]
    ascending: list[exp.Expression] = [exp.LT(this=a, expression=b) for a, b in pairwise(values)]
    query = exp.select(exp.Coalesce(this=exp.and_(*ascending), expressions=[exp.false()]))
    ((ordered,),) = engine.query(render(query), step="edges")
    if not ordered or any("," in text for text in texts):
        raise InvalidOption(
            f"The edges of {item.name!r} are not ascending values of the type {item.type}.",
            f"Write them as {option_for('--bins', item.name, '0,10,20')}.",
        )
    return [f"[{lower}, {upper})" for lower, upper in pairwise(texts)]


def _recoded(engine: Engine, dictionary: Dictionary, labels: Sequence[str]) -> Table:
    """Give each value's code the label and the number of its bin: those bins that hold a value, from 0."""
    label = bin_label(column("value", "d"), labels, dictionary.column.type)
    source = aliased(dictionary.table, "d")
    found = exp.select(column("code", "d"), alias(label, "label")).from_(source)
    labelled = engine.materialize("labelled", found)
    query = statements.bind("swapping/binned_codes", tables={"labelled": labelled})
    return engine.materialize("binned_codes", query, {"labels": list(labels)})


def _refuse_outside(engine: Engine, atoms: Atoms, position: int, coded: Table) -> None:
    query = statements.bind(
        "swapping/outside_bins",
        tables={"atoms": atoms.table, "binned_codes": coded},
        columns={"code": [f"c{position}"]},
    )
    ((records,),) = engine.query(query, step="outside_bins")
    if records:
        raise InvalidSource(
            f"{records} records of {atoms.coded[position].column.name!r} lie outside the bins.",
            "Give a lower first edge or a higher last one; a bin holds its lower edge, not its upper one.",
        )
