"""Writes the noisy rows: draws come in as one list a record, everything else is SQL.

Columns have working names: ``x0``, ``x1`` ... are the originals of the randomized ones, ``r0``, ``r1`` ...
what is released of them, ``k0``, ``k1`` ... all that is released as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table, alias, aliased, column, quoted
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.engine.types import double, plain_type
from ppdm_sql.methods.perturbation.column_statistics import as_double
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Cells, Retain, Uniform, rounding_of
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn
from ppdm_sql.methods.perturbation.person_draws import WHO, DrawnPersons
from ppdm_sql.methods.perturbation.record_key import RecordKey

Params = dict[str, object]


def originals(noisy: Sequence[NoisyColumn]) -> list[exp.Expression]:
    """Give the originals of the randomized columns: numbers with a floating point, or text."""
    return [
        alias(as_double(item.name) if it.numeric else exp.cast(column(item.name, "s"), "TEXT"), f"x{place}")
        for place, it in enumerate(noisy)
        for item in (it.column,)
    ]


def noisy_rows(
    engine: Engine,
    table: Table,
    noisy: Sequence[NoisyColumn],
    kept: Sequence[exp.Expression],
    records: RecordKey | None,
    draws: str | None,
    persons: DrawnPersons | None = None,
    draws_of_persons: str | None = None,
) -> Table:
    """Write the noisy rows, beside their originals, into a working table.

    Args:
        engine: Where the source is.
        table: The source.
        noisy: The randomized columns.
        kept: What is released as it is, with aliases ``k0``, ``k1`` ...
        records: What a record is known by, where records get draws.
        draws: The function that gives a record's draws, one for each column but those of cells, if any.
        persons: The persons, who get one draw for a column that is the same in all of their rows.
        draws_of_persons: The function that gives a person's draws.

    Cost: one scan of the source; records known by a number are sorted by it, as near ones share a hash.
    """
    drawn = None
    if persons is not None and draws_of_persons is not None:
        drawn = engine.materialize(
            "person_draws", f"SELECT *, {draws_of_persons}(person) AS z FROM {persons.table}"
        )
    query = noisy_query(table, noisy, kept, records, draws, persons, drawn)
    return engine.materialize("noisy", *query)


def noisy_query(
    table: Table,
    noisy: Sequence[NoisyColumn],
    kept: Sequence[exp.Expression],
    records: RecordKey | None,
    draws: str | None,
    persons: DrawnPersons | None = None,
    drawn: Table | None = None,
) -> tuple[str, Params]:
    """Write the SELECT of the noisy rows, and give its parameters; ``drawn`` holds the draws of persons.

    Example: a salary with Gaussian noise, an age of which the cell is shown.
        >>> from ppdm_sql.engine import Column
        >>> from ppdm_sql.engine.statements import formatted
        >>> from ppdm_sql.methods.perturbation.noise import Domain, Gaussian
        >>> salary = NoisyColumn(Column("salary", "DOUBLE"), Gaussian(2500.0, Domain(0, 150_000)))
        >>> age = NoisyColumn(Column("age", "BIGINT"), Cells((0, 40, 100)))
        >>> rows = RecordKey("row", column("rowid", "s"))
        >>> print(formatted(noisy_query(Table("people"), [salary, age], [], rows, "draws")[0]))
        SELECT
          x0,
          x1,
          ROUND((
            x0 + CAST('2500.0' AS DOUBLE) * z.d0
          ) / CAST('0.001953125' AS DOUBLE)) * CAST('0.001953125' AS DOUBLE) AS r0,
          CASE
            WHEN x1 IS NULL
            THEN NULL
            WHEN x1 < CAST('40.0' AS DOUBLE)
            THEN '[0, 40)'
            ELSE '[40, 100]'
          END AS r1
        FROM (
          SELECT
            *,
            DRAWS(id) AS z
          FROM (
            SELECT
              CAST("s"."salary" AS DOUBLE) AS "x0",
              CAST("s"."age" AS DOUBLE) AS "x1",
              "s"."rowid" AS "id"
            FROM "people" AS s
          ) AS originals
        ) AS drawn
    """
    inner = _read(table, noisy, kept, None if draws is None else records, persons)
    params: Params = {}
    released, place = list[str](), 0
    for position, it in enumerate(noisy):
        draw = f"z.d{place}" if drawn is None or persons is None else persons.draw(position, it, place)
        released.append(f"{_released(it, f'x{position}', draw, params)} AS r{position}")
        place += not isinstance(it.noise, Cells)
    carried = [f"x{position}" for position in range(len(noisy))] + [item.alias for item in kept]
    source = f"({render(inner)}) AS originals"
    if draws is not None:
        source = f"(SELECT *, {draws}(id) AS z FROM {source}) AS drawn"
    carried += [] if persons is None else [WHO]
    if drawn is not None:
        source = f"{source} JOIN {drawn} AS p ON p.person = {WHO}"
    return f"SELECT {', '.join(carried + released)} FROM {source}", params


def _read(
    table: Table,
    noisy: Sequence[NoisyColumn],
    kept: Sequence[exp.Expression],
    records: RecordKey | None,
    persons: DrawnPersons | None,
) -> exp.Select:
    """Select the originals, what is kept, and whose each record is, with what is needed to draw for it."""
    query = exp.select(*originals(noisy), *kept).from_(aliased(table, "s"))
    if records is not None:
        query = query.select(alias(records.value.copy(), "id"))
        if records.identity == "number":
            query = query.order_by(column("id"))
    return query if persons is None else query.select(alias(persons.who.copy(), WHO))


def _released(it: NoisyColumn, value: str, draw: str, params: Params) -> str:
    """Write what is released for a value and its draw: standard normal, or else uniform on (0, 1)."""
    match it.noise:
        case Uniform(scale):
            return _rounded(it, f"{value} + {_double(scale)} * (2 * {draw} - 1)", it.noise)
        case AdditiveNoise(scale):
            return _rounded(it, f"{value} + {_double(scale)} * {draw}", it.noise)
        case Cells():
            return _cell(it.noise, value)
        case Retain():
            return _retained(it, value, draw, params)


def _rounded(it: NoisyColumn, noisy: str, noise: AdditiveNoise) -> str:
    if it.decimals is None:
        unit = _double(rounding_of(noise))
        return f"round(({noisy}) / {unit}) * {unit}"
    return f"round({noisy}, {it.decimals})" if it.decimals else f"round({noisy})::BIGINT"


def _cell(noise: Cells, value: str) -> str:
    """Compare with one edge after the other; the last cell takes what is left."""
    labels = [render(literal(label)) for label in noise.labels]
    ends = zip(noise.edges[1:-1], labels[:-1], strict=True)
    below = " ".join(f"WHEN {value} < {_double(edge)} THEN {label}" for edge, label in ends)
    return f"CASE WHEN {value} IS NULL THEN NULL {below} ELSE {labels[-1]} END"


def _retained(it: NoisyColumn, value: str, draw: str, params: Params) -> str:
    """Keep the value if the draw is below the probability; else the rest of the draw picks one of all."""
    assert isinstance(it.noise, Retain)
    keep, size, name = it.noise.probability, len(it.noise.values), f"values_{value}"
    params[name] = list(it.noise.values)
    picked = f"least(floor(({draw} - {_double(keep)}) * {_double(size / (1 - keep))}), {size - 1})::BIGINT"
    other = f"(${name}::VARCHAR[])[1 + {picked}]"
    chosen = (
        f"CASE WHEN {value} IS NULL THEN NULL WHEN {draw} < {_double(keep)} THEN {value} ELSE {other} END"
    )
    return f"CAST({chosen} AS {plain_type(it.column.type).sql('duckdb')})"


def _double(value: float) -> str:
    return render(double(value))


def ordered_rows(table: Table, outputs: Sequence[tuple[str, str]]) -> str:
    """Write the SELECT that gives the release, ordered by its own values alone.

    Example: the working name and the released name of each column.
        >>> ordered_rows(Table("t"), [("r0", 'a "b'), ("k0", "c")])
        'SELECT r0 AS "a ""b", k0 AS "c" FROM "t" ORDER BY r0 NULLS LAST, k0 NULLS LAST'
    """
    named = ", ".join(f"{work} AS {quoted(name)}" for work, name in outputs)
    order = ", ".join(f"{work} NULLS LAST" for work, _ in outputs)
    return f"SELECT {named} FROM {table} ORDER BY {order}"
