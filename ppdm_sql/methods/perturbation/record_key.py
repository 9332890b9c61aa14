"""By what the records of a source are told apart, so that each keeps its noise."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, aliased, column
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.statements import render
from ppdm_sql.errors import EngineError, InvalidOption, InvalidSource
from ppdm_sql.methods.perturbation.noise_draws import Identity

_NUMBER = re.compile(r"U?(TINY|SMALL)INT|U?INTEGER|BIGINT")


@dataclass(frozen=True)
class RecordKey:
    """What a record is known by: its row, or a number or text of the source under the alias ``s``."""

    identity: Identity
    value: exp.Expression


def records_by_row(engine: Engine, table: Table, columns: list[Column], source: str) -> RecordKey:
    """Know records by their rows; refuse what is no table of this engine, or hides the rows' numbers."""
    query = exp.select(column("rowid", "s")).from_(aliased(table, "s")).limit(0)
    hidden = any(item.name.lower() == "rowid" for item in columns)
    try:
        if not hidden:
            engine.look_up(render(query), step="rows")
            return RecordKey("row", column("rowid", "s"))
    except EngineError:
        pass
    raise unknown_rows(source)


def unknown_rows(source: str) -> InvalidOption:
    """Say that the rows of a source have no numbers."""
    return InvalidOption(
        f"The rows of {source!r} have no numbers by which records could be told apart.",
        "Give --record ID, a column with another value in each record.",
    )


def records_by_column(engine: Engine, table: Table, item: Column) -> RecordKey:
    """Know records by a column, which one scan must find NULL nowhere and different everywhere."""
    value = column(item.name, "s")
    different_values = exp.Distinct(expressions=[value.copy()])
    counts = [exp.Count(this=counted) for counted in (exp.Star(), value.copy(), different_values)]
    source = source_of(engine, table)
    (found,) = source.aggregate(lambda rows: exp.select(*counts).from_(rows), step="record_key")
    records, values, different = map(int, found)
    if different < records:
        raise InvalidSource(
            f"Column {item.name!r} does not tell records apart: it is NULL in {records - values} of them and "
            f"holds {different} different values in the other {values}.",
            "Give --record a column with another value in each record.",
        )
    if _NUMBER.fullmatch(item.type):
        return RecordKey("number", exp.cast(value, "BIGINT"))
    return RecordKey("text", exp.cast(value, "TEXT"))
