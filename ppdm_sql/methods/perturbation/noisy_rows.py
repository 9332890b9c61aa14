"""Writes the noisy rows: one SELECT over the source, the same wherever the source lives.

Columns have working names: ``x0``, ``x1`` ... are the originals of the randomized ones, ``r0``, ``r1`` ...
what is released of them, ``k0``, ``k1`` ... all that is released as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.names import Table, alias, aliased, column, quoted
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.engine.types import double, plain_type
from ppdm_sql.methods.base import released_rows
from ppdm_sql.methods.base.collapse import Kept
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Cells, Retain, Uniform, rounding_of
from ppdm_sql.methods.perturbation.noise_draws import Draws, RecordKey
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn, as_double
from ppdm_sql.methods.perturbation.person_draws import WHO, DrawnPersons

RECORD_KEYS, PERSON_KEYS = "k", "p"
"""What the keys of draws for records and for persons are called in the table of keys."""


def originals(noisy: Sequence[NoisyColumn]) -> list[exp.Expression]:
    """Give the originals of the randomized columns: numbers with a floating point, or text."""
    return [
        alias(as_double(item.name) if it.numeric else exp.cast(column(item.name, "s"), "TEXT"), f"x{place}")
        for place, it in enumerate(noisy)
        for item in (it.column,)
    ]


@dataclass(frozen=True)
class NoisyRows:
    """What the noisy rows are made of.

    Args:
        noisy: The randomized columns.
        kept: What is released as it is, with aliases ``k0``, ``k1`` ...
        records: What a record is known by, where records get draws.
        of_records: Their draws.
        persons: The persons, who get one draw for a column that is the same in all of their rows.
        of_persons: Their draws.
        pseudonym_keys: The keys of pseudonyms among what is kept.
    """

    noisy: Sequence[NoisyColumn]
    kept: Sequence[exp.Expression]
    records: RecordKey | None = None
    of_records: Draws | None = None
    persons: DrawnPersons | None = None
    of_persons: Draws | None = None
    pseudonym_keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def keys(self) -> dict[str, str | bytes]:
        """Give all keys, by the column of the table ``k`` in which the SELECT finds each."""
        kinds = ((self.of_records, RECORD_KEYS), (self.of_persons, PERSON_KEYS))
        drawing = {name: key for draws, kind in kinds if draws for name, key in draws.keys(kind).items()}
        return drawing | dict(self.pseudonym_keys)

    def select(self, source: Table, keys: Table) -> str:
        """Write the SELECT of the noisy rows, beside their originals.

        Example: a salary of which the cell is shown.
            >>> from ppdm_sql.engine.statements import formatted
            >>> age = NoisyColumn(Column("age", "BIGINT"), Cells((0, 40, 100)))
            >>> print(formatted(NoisyRows([age], []).select(Table("people"), Table("keys"))))
            SELECT
              x0,
              CASE
                WHEN x0 IS NULL
                THEN NULL
                WHEN x0 < CAST('40.0' AS DOUBLE)
                THEN '[0, 40)'
                ELSE '[40, 100]'
              END AS r0
            FROM (
              SELECT
                CAST("s"."age" AS DOUBLE) AS "x0"
              FROM "people" AS s
            ) AS drawn
        """
        items = [render(item.copy()) for item in (*originals(self.noisy), *self.kept)]
        if self.persons is not None:
            items.append(f"{render(self.persons.who.copy())} AS {WHO}")
        if self.of_records is not None and self.records is not None:
            items += self.of_records.hashes(render(self.records.value.copy()), RECORD_KEYS)
        joined = f" CROSS JOIN {keys} AS k" if self.keys() else ""
        drawn = f"SELECT {', '.join(items)} FROM {source} AS s{joined}"
        if self.of_records is not None:
            drawn = self.of_records.select(drawn)
        drawn = f"({drawn}) AS drawn"
        if self.persons is not None and self.of_persons is not None:
            digests = ", ".join(self.of_persons.hashes("o.person", PERSON_KEYS))
            people = f"SELECT o.*, {digests} FROM {self.persons.table} AS o CROSS JOIN {keys} AS k"
            drawn += f" JOIN ({self.of_persons.select(people)}) AS p ON p.person = drawn.{WHO}"
        carried = [f"x{place}" for place in range(len(self.noisy))] + [item.alias for item in self.kept]
        carried += [] if self.persons is None else [WHO]
        return f"SELECT {', '.join(carried + self._released())} FROM {drawn}"

    def _released(self) -> list[str]:
        released, place = list[str](), 0
        for position, it in enumerate(self.noisy):
            draw = f"drawn.d{place}"
            if self.persons is not None:
                draw = self.persons.draw(position, it, place)
            released.append(f"{_released(it, f'x{position}', draw)} AS r{position}")
            place += not isinstance(it.noise, Cells)
        return released


def _released(it: NoisyColumn, value: str, draw: str) -> str:
    """Write what is released for a value and its draw: standard normal, or else uniform on (0, 1)."""
    match it.noise:
        case Uniform(scale):
            return _rounded(it, f"{value} + {_double(scale)} * (2 * {draw} - 1)", it.noise)
        case AdditiveNoise(scale):
            return _rounded(it, f"{value} + {_double(scale)} * {draw}", it.noise)
        case Cells():
            return _cell(it.noise, value)
        case Retain():
            return _retained(it, it.noise, value, draw)


def _rounded(it: NoisyColumn, noisy: str, noise: AdditiveNoise) -> str:
    # 0 is added, since the sign of a zero would tell from which side it was rounded
    if it.decimals is None:
        unit = _double(rounding_of(noise))
        return f"round(({noisy}) / {unit}) * {unit} + 0e0"
    return f"round({noisy}, {it.decimals}) + 0e0" if it.decimals else f"round({noisy})::BIGINT"


def _cell(noise: Cells, value: str) -> str:
    """Compare with one edge after the other; the last cell takes what is left."""
    labels = [render(literal(label)) for label in noise.labels]
    ends = zip(noise.edges[1:-1], labels[:-1], strict=True)
    below = " ".join(f"WHEN {value} < {_double(edge)} THEN {label}" for edge, label in ends)
    return f"CASE WHEN {value} IS NULL THEN NULL {below} ELSE {labels[-1]} END"


def _retained(it: NoisyColumn, noise: Retain, value: str, draw: str) -> str:
    """Keep the value if the draw is below the probability; else the rest of the draw picks one of all."""
    keep, size = noise.probability, len(noise.values)
    picked = f"least(floor(({draw} - {_double(keep)}) * {_double(size / (1 - keep))}), {size - 1})::BIGINT"
    listed = ", ".join(render(literal(text)) for text in noise.values)
    chosen = (
        f"CASE WHEN {value} IS NULL THEN NULL WHEN {draw} < {_double(keep)} THEN {value} "
        f"ELSE [{listed}][1 + {picked}] END"
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


def packed_text(
    engine: Engine, table: Table, kept: Sequence[Kept], columns: Mapping[str, Column], records: int
) -> dict[str, exp.Expression]:
    """Make an ENUM type of each carried column of text that has few values; none in a small table.

    The release is a sort of all noisy rows. Text takes 16 bytes a value there, a code one or two.

    Args:
        engine: Where the source is.
        table: The source, read under the alias ``s``.
        kept: The carried columns, none of which may hold text that is not released.
        columns: The columns of the source, by name.
        records: How many records there are.

    Returns:
        By the name of a column, the expression that gives its value in its type.

    Cost: one scan of the columns of text, and one of each that is packed.
    """
    texts = [item for item in kept if columns[item.name].type == "VARCHAR"]
    if records < released_rows.WORTH_PACKING or not texts:
        return {}
    few = [
        exp.ApproxDistinct(this=item.expression.copy()).between(1, released_rows.MOST_PACKED)
        for item in texts
    ]
    (found,) = engine.query(render(exp.select(*few).from_(aliased(table, "s"))), step="text values")
    return {
        item.name: exp.cast(item.expression.copy(), _enumerated(engine, table, item.expression))
        for item, is_few in zip(texts, found, strict=True)
        if is_few
    }


def _enumerated(engine: Engine, table: Table, value: exp.Expression) -> exp.DataType:
    """Make the type of the values that occur, in their order."""
    values = exp.select(value.copy()).distinct().from_(aliased(table, "s"))
    values = values.where(value.is_(exp.null()).not_())
    kind = engine.enumerate_values(f"{render(values)} ORDER BY ALL")
    return exp.DataType.build(str(kind), dialect="duckdb", udt=True)
