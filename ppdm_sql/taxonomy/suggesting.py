"""Suggests a taxonomy for a column: a draft that lists its values, for the owner to edit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from decimal import ROUND_FLOOR, Decimal, InvalidOperation, localcontext

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, resolve
from ppdm_sql.engine.names import column as column_of
from ppdm_sql.engine.source import check_counts
from ppdm_sql.engine.source import count_column as named_count
from ppdm_sql.engine.statements import bind, literal
from ppdm_sql.engine.types import MOMENTS, NUMBERS, is_ordered, kind_of
from ppdm_sql.errors import InvalidOption, InvalidSource
from ppdm_sql.taxonomy.derived import MASK, MOST_PREFIXES, DerivedTaxonomy, prefix_paths
from ppdm_sql.taxonomy.model import ROOT, Taxonomy

LEVELS, FANOUT = 4, 2
MOST_PARTS = 10_000
"""Intervals or groups that a suggestion may have."""
MOST_TEXTS = 10_000
"""Texts that a suggestion may list, if they are not codes."""
_EXACT = 80
"""Digits that every exact number type has room for."""
SAFE_DIGITS = {"FLOAT": 6, "DOUBLE": 15}
"""Digits that a number type keeps in every number; other types are exact."""


def suggest(
    engine: Engine,
    table: str,
    column: str,
    *,
    levels: int | None = None,
    fanout: int = FANOUT,
    count_column: str | None = None,
    rule: str | None = None,
) -> Taxonomy:
    """Suggest a taxonomy from the values of a column.

    Numbers, dates and times become intervals of about equal numbers of records, grouped by ``fanout`` into
    wider ones; equal values are never split. Texts that are codes, such as zip codes, are masked from the
    right, a character a level. Of other texts the frequent ones stay apart, and the rare ones form groups of
    about equal numbers of records. The root is ``*``. NULL is not part of it.
    """
    if (levels is not None and levels < 1) or fanout < 2:
        raise InvalidOption(
            f"{levels} levels of {fanout} parts each are not a taxonomy.",
            "Give --levels 1 or more, and --fanout 2 or more.",
        )
    source = engine.find(table)
    columns = engine.columns(source)
    name = resolve(column, [item.name for item in columns], table=table)
    item = next(item for item in columns if item.name == name)
    count = named_count(count_column, columns, table=table)
    if count is not None:
        check_counts(engine, source, count)
    with engine.workspace():
        records = {"count": literal(1) if count is None else column_of(count, "s")}
        roles = {"attribute": [name]}
        query = bind("taxonomy/value_counts", tables={"source": source}, columns=roles, values=records)
        values = engine.materialize("value_counts", query)
        if rule is not None:
            return DerivedTaxonomy.named(rule).of_values(engine, values, item, table=table)
        moment_or_number = kind_of(item.type) in (*MOMENTS, *NUMBERS) and is_ordered(item.type)
        in_order = item.type == "TIME" or moment_or_number
        paths = (_interval_paths if in_order else _text_paths)(engine, values, item, levels, fanout)
    if not paths:
        raise InvalidSource(f"Column {name!r} of table {table} holds no value.", "Name another column.")
    return Taxonomy.from_paths(paths)


def _parts(levels: int, fanout: int) -> int:
    """Give the number of intervals or groups."""
    parts: int = fanout ** min(levels, MOST_PARTS.bit_length())
    if parts > MOST_PARTS:
        raise InvalidOption(
            f"{levels} levels of {fanout} parts each make more than {MOST_PARTS} parts.",
            "Give fewer --levels, or a smaller --fanout.",
        )
    return parts


# -- numbers, dates and times -----------------------------------------------------------------


def _interval_paths(
    engine: Engine, values: Table, column: Column, levels: int | None, fanout: int
) -> list[list[str]]:
    """Give a path for each interval, from itself through wider ones to the root."""
    levels = levels or LEVELS
    parts = {"intervals": _parts(levels, fanout)}
    query = bind("taxonomy/quantiles", tables={"value_counts": values}, values=parts)
    is_moment = kind_of(column.type) in MOMENTS
    step = "moment_bounds" if is_moment else "run_bounds"
    runs = engine.materialize("quantiles", query)
    rows = engine.query(bind(f"taxonomy/{step}", tables={"quantiles": runs}), step=step)
    starts = [
        lower if before is None or is_moment else roundest(before, lower, column.type)
        for lower, _, before in rows
    ]
    last = rows[-1][1] if rows else ""
    return [_path(starts, last, place, levels, fanout) for place in range(len(starts))]


def _path(starts: Sequence[str], last: str, place: int, levels: int, fanout: int) -> list[str]:
    """Widen an interval level by level, so that the wider ones hold about equal numbers of intervals.

    Example:
        >>> _path(["1", "4", "6", "7", "9"], "9", 2, levels=2, fanout=2)
        ['[6, 7)', '[1, 7)', '*']
    """
    path = [_interval(starts, last, place, place + 1)]
    for level in range(levels - 1, 0, -1):
        parts = fanout**level
        part = place * parts // len(starts)
        first, end = (-(-at * len(starts) // parts) for at in (part, part + 1))
        path.append(_interval(starts, last, first, end))
    return [*path, ROOT]


def _interval(starts: Sequence[str], last: str, first: int, end: int) -> str:
    """Write an interval; that of the largest value is closed."""
    upper = f"{starts[end]})" if end < len(starts) else f"{last}]"
    return f"[{starts[first]}, {upper}"


def roundest(above: str, upto: str, type_text: str) -> str:
    """Give the number with the fewest digits that is larger than one and at most the other."""
    try:
        low, high = Decimal(above), Decimal(upto)
    except InvalidOperation:
        return upto
    if not (low.is_finite() and high.is_finite()) or abs(high.adjusted()) > _EXACT // 2:
        return upto
    with localcontext(prec=2 * _EXACT):
        for exponent in range(high.adjusted() + 1, int(high.as_tuple().exponent), -1):
            number = high.quantize(Decimal((0, (1,), exponent)), ROUND_FLOOR)
            if number > low:
                fits = len(number.as_tuple().digits) <= SAFE_DIGITS.get(type_text, _EXACT)
                return f"{number:f}" if fits else upto
    return upto


# -- texts ------------------------------------------------------------------------------------


def _text_paths(
    engine: Engine, values: Table, column: Column, levels: int | None, fanout: int
) -> list[list[str]]:
    """Give a path for each text: through its masks if it is a code, else through its group."""
    tables = {"value_counts": values}
    shape = engine.query(bind("taxonomy/text_shape", tables=tables), step="text_shape")
    ((texts, longest, are_codes),) = shape
    if texts > (MOST_PREFIXES if are_codes else MOST_TEXTS):
        raise InvalidSource(
            f"Column {column.name!r} holds {texts} different texts, too many to draft a taxonomy of them.",
            "Derive a coarser column in a view, store a taxonomy of your own as a table with the columns "
            "child and parent, or do without one: the values are then suppressed.",
        )
    if are_codes:
        codes = [code for (code,) in engine.query(bind("taxonomy/texts", tables=tables), step="texts")]
        return list(prefix_paths(codes, _lengths(longest, levels)))
    groups = math.isqrt(texts) + 1 if levels is None else _parts(levels, fanout)
    query = bind("taxonomy/text_groups", tables=tables, values={"groups": groups})
    return _group_paths(engine.query(query, step="text_groups"))


def _lengths(longest: int, levels: int | None) -> Sequence[int] | None:
    """Give how many characters of codes so many levels keep; None for every number."""
    if levels is None:
        return None
    levels = min(levels, longest)
    return [longest * level // levels for level in range(levels - 1, 0, -1)]


def _group_paths(rows: Sequence[Sequence[object]]) -> list[list[str]]:
    """Give a path for each text; the name of a group is none of the texts."""
    texts = {str(text) for text, _ in rows}
    sizes = Counter(part for _, part in rows if part is not None)
    groups = [part for part in sizes if sizes[part] > 1]
    names = {part: [_free(f"Group {number}", texts)] for number, part in enumerate(groups, 1)}
    root = _free(ROOT, texts)
    return [[str(text), *names.get(part, []), root] for text, part in rows]


def _free(name: str, names: Collection[str]) -> str:
    """Add asterisks to a name that is taken."""
    while name in names:
        name += MASK
    return name
