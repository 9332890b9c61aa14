"""Confidential numbers become categories: bins of about equal numbers of records, or with given edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ppdm_sql.engine import Column, Engine, statements, type_title
from ppdm_sql.engine.names import column, option_for
from ppdm_sql.engine.statements import literal, render, sql
from ppdm_sql.engine.types import is_ordered, read, wide_type
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.methods.base.collapse import Atoms, Dictionary
from ppdm_sql.release.labels import bin_label

Edges = Sequence[object]


def requested_bins(
    bins: int | Mapping[str, int | Edges] | None, confidential: Sequence[Column]
) -> dict[str, int | Edges]:
    """Say into how many bins, or by which edges, each confidential column is cut; ``""`` is meant for all."""
    options: Mapping[str, int | Edges] = {"": bins} if isinstance(bins, int) else bins or {}
    binnings: dict[str, int | Edges] = {}
    for item in confidential:
        if not is_ordered(item.type):
            if item.name in options:
                raise InvalidOption(
                    f"Column {item.name!r} holds {type_title(item.type)}, which cannot be binned.",
                    "Leave it out of --bins.",
                )
            continue
        binning = options.get(item.name, options.get(""))
        if binning is None:
            raise InvalidOption(
                f"Confidential column {item.name!r} holds {type_title(item.type)}, not categories.",
                f"Give --bins 5 or {option_for('--bins', item.name, '0,10,20')}, "
                "or cast codes to text in a view.",
            )
        number = binning if isinstance(binning, int) else len(binning) - 1
        if number < 2:
            raise InvalidOption(
                f"{max(number, 0)} bins of {item.name!r} leave nothing to swap.",
                "Give 2 bins or more, so 3 edges or more.",
            )
        binnings[item.name] = binning
    if "" in options and not binnings:
        raise InvalidOption("No confidential column holds numbers, dates or times.", "Leave --bins out.")
    return binnings


def discretize(
    engine: Engine, atoms: Atoms, position: int, binning: int | Edges
) -> tuple[Atoms, tuple[str, ...]]:
    """Replace a confidential column's codes by those of its bins, half-open ones if edges are given."""
    item = atoms.coded[position].column
    if isinstance(binning, int):
        labels = _equal_bins(engine, atoms, position, binning)
    else:
        labels = _bins_with_edges(engine, item, binning)
    label = render(bin_label(column("value", "d"), labels, item.type))
    labelled = engine.materialize(
        "labelled", f"SELECT d.code, {label} AS label FROM {atoms.coded[position].table} AS d"
    )
    query = statements.bind("swapping/binned_codes", tables={"labelled": labelled})
    bin_codes = engine.materialize("binned_codes", query, {"labels": list(labels)})
    tables, code = {"atoms": atoms.table, "binned_codes": bin_codes}, {"code": [f"c{position}"]}
    outside = statements.bind("swapping/outside_bins", tables=tables, columns=code)
    ((records,),) = engine.query(outside, step="outside_bins")
    if records:
        raise InvalidSource(
            f"{records} records of {item.name!r} lie outside the bins.",
            "Give a lower first edge or a higher last one; a bin holds its lower edge, not its upper one.",
        )
    columns = [f"a.c{i}" if i != position else f"b.bin AS c{i}" for i in range(len(atoms.coded))]
    columns += [f"a.k{i}" for i in range(len(atoms.kept))]
    table = engine.materialize(
        "discretized",
        f"SELECT {', '.join(columns)}, sum(a.n)::BIGINT AS n FROM {atoms.table} AS a "
        f"JOIN {bin_codes} AS b ON b.code = a.c{position} GROUP BY ALL",
    )
    values = engine.materialize("bins", statements.bind("swapping/bins", tables={"binned_codes": bin_codes}))
    dictionaries = list(atoms.coded)
    dictionaries[position] = Dictionary(Column(item.name, "VARCHAR"), values, engine.size(values), False)
    return replace(atoms, table=table, coded=tuple(dictionaries)), tuple(labels)


def _equal_bins(engine: Engine, atoms: Atoms, position: int, number: int) -> list[str]:
    values = engine.materialize("value_counts", counts_of_values(atoms, position))
    query = statements.bind(
        "taxonomy/quantiles", tables={"value_counts": values}, values={"intervals": number}
    )
    runs = engine.materialize("quantiles", query)
    text = statements.bind("taxonomy/run_bounds", tables={"quantiles": runs})
    rows = engine.query(text, step="run_bounds")
    ends = [f"{lower})" for lower, *_ in rows[1:]] + [f"{rows[-1][1]}]"]
    return [f"[{lower}, {end}" for (lower, *_), end in zip(rows, ends, strict=True)]


def counts_of_values(atoms: Atoms, position: int) -> str:
    counting = (
        "SELECT d.value, CAST(sum(a.n) AS BIGINT) AS records FROM {atoms} AS a "
        "JOIN {dictionary} AS d ON d.code = a.c{p} GROUP BY d.value"
    )
    return sql(counting, atoms=atoms.table, dictionary=atoms.coded[position].table, p=position)


def _bins_with_edges(engine: Engine, item: Column, edges: Edges) -> list[str]:
    texts = [str(edge).strip() for edge in edges]
    kind = wide_type(item.type) or item.type
    values = [render(read(literal(text), kind)) for text in texts]
    ascending = " AND ".join(f"{lower} < {upper}" for lower, upper in pairwise(values))
    ((is_ascending,),) = engine.query(f"SELECT coalesce({ascending}, FALSE)", step="edges")
    if not is_ascending or any("," in text for text in texts):
        raise InvalidOption(
            f"The edges of {item.name!r} are not ascending values of the type {item.type}.",
            f"Write them as {option_for('--bins', item.name, '0,10,20')}.",
        )
    return [f"[{lower}, {upper})" for lower, upper in pairwise(texts)]
