"""Writes the noisy rows: one SELECT over the source, the same wherever the source lives.

Columns have working names: ``x0``, ``x1`` ... are the originals of the randomized ones, ``r0``, ``r1`` ...
what is released of them, ``k0``, ``k1`` ... all that is released as it is.

The mean of many noisy rows of one person would be close to the truth. So a value that is the same in all rows
of a person gets one draw for the person: more rows tell no more. Where the rows of a person differ each gets
its own draw: then their mean is better known than each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.keys import one_text
from ppdm_sql.engine.names import Table, column, quoted
from ppdm_sql.engine.statements import Sql, Statement, literal, render, sql
from ppdm_sql.engine.types import double, plain_type
from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.base import released_rows
from ppdm_sql.methods.base.collapse import Kept
from ppdm_sql.methods.perturbation.correlations import deviation
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Cells, Retain, Uniform, rounding_of
from ppdm_sql.methods.perturbation.noise_draws import Draws, RecordKey
from ppdm_sql.methods.perturbation.noisy_columns import NoisyColumn, originals

RECORD_KEYS, PERSON_KEYS = "k", "p"
"""What the keys of draws for records and for persons are called in the table of keys."""
WHO = "who"
"""The column of noisy rows that holds the person of each."""
MEASURE = "noise that averaging a person's rows can remove"
PERSON_DRAWS = "person"
"""Part of what the keys of persons' draws are derived from."""
AVERAGED = 0.25
"""A notice tells how much of the noise the mean of a person's rows removes, from this share on."""


# -- one draw a person -------------------------------------------------------------------------------


@dataclass(frozen=True)
class PersonDraws:
    # `person` (text), and `same0`, `same1` ...: whether all rows of the person with a value have the same
    table: Table
    who: Statement  # the text that says whose a row of the source is
    varying: Mapping[str, int]  # for each column that gets draws, the persons in whose rows it varies, if any

    def draw(self, position: int, noisy: NoisyColumn, place: int) -> str:
        """Choose between the draw of a row and that of its person, for a column that gets draws."""
        if noisy.column.name not in self.varying:
            return f"p.d{place}"
        return f"CASE WHEN p.same{position} THEN p.d{place} ELSE drawn.d{place} END"


def find_persons(
    engine: Engine, rows: Table, person: Sequence[str], noisy: Sequence[NoisyColumn]
) -> PersonDraws:
    who = one_text([column(name, "s") for name in person])
    places = [place for place, it in enumerate(noisy) if not isinstance(it.noise, Cells)]
    same = [sql("min(x{i}) IS NOT DISTINCT FROM max(x{i}) AS same{i}", i=place) for place in places]
    each = sql("SELECT {x}, {who} AS who FROM {rows} AS s", x=originals(noisy), who=who, rows=rows)
    query = "SELECT who AS person, {same} FROM ({each}) AS rows GROUP BY who"
    table = engine.materialize("persons", sql(query, same=same or [Statement("TRUE AS same")], each=each))
    counts = [Statement("count(*)"), *(sql("count(*) FILTER (WHERE NOT same{i})", i=i) for i in places)]
    ((_, *varying),) = engine.query(sql("SELECT {n} FROM {t}", n=counts, t=table), step="persons")
    names = [noisy[place].column.name for place in places]
    return PersonDraws(table, who, {name: int(n) for name, n in zip(names, varying, strict=True) if n})


# -- the rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoisyRows:
    noisy: Sequence[NoisyColumn]
    kept: Sequence[Sql]  # what is released as it is
    records: RecordKey | None = None  # what a record is known by, where records get draws
    of_records: Draws | None = None
    persons: PersonDraws | None = None  # who get one draw for a column that is the same in all of their rows
    of_persons: Draws | None = None
    pseudonym_keys: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # of those that are kept

    def keys(self) -> dict[str, str | bytes]:
        """Give all keys, by the column of the table ``k`` in which the SELECT finds each."""
        kinds = ((self.of_records, RECORD_KEYS), (self.of_persons, PERSON_KEYS))
        drawing = {name: key for draws, kind in kinds if draws for name, key in draws.keys(kind).items()}
        return drawing | dict(self.pseudonym_keys)

    def select(self, source: Table, keys: Table) -> str:
        items = originals(self.noisy)
        items += [sql("{v} AS k{place}", v=value, place=place) for place, value in enumerate(self.kept)]
        if self.persons is not None:
            items.append(sql(f"{{who}} AS {WHO}", who=self.persons.who))
        if self.of_records is not None and self.records is not None:
            items += map(Statement, self.of_records.hashes(self.records.value, RECORD_KEYS))
        keys_join = f" CROSS JOIN {keys} AS k" if self.keys() else ""
        rows = f"SELECT {', '.join(items)} FROM {source} AS s{keys_join}"
        if self.of_records is not None:
            rows = self.of_records.select(rows)
        rows = f"({rows}) AS drawn"
        if self.persons is not None and self.of_persons is not None:
            digests = ", ".join(self.of_persons.hashes("o.person", PERSON_KEYS))
            people = f"SELECT o.*, {digests} FROM {self.persons.table} AS o CROSS JOIN {keys} AS k"
            rows += f" JOIN ({self.of_persons.select(people)}) AS p ON p.person = drawn.{WHO}"
        columns = [f"x{place}" for place in range(len(self.noisy))]
        columns += [f"k{place}" for place in range(len(self.kept))]
        columns += [] if self.persons is None else [WHO]
        return f"SELECT {', '.join(columns + self._release_columns())} FROM {rows}"

    def _release_columns(self) -> list[str]:
        columns, place = list[str](), 0
        for position, it in enumerate(self.noisy):
            draw = f"drawn.d{place}"
            if self.persons is not None:
                draw = self.persons.draw(position, it, place)
            columns.append(f"{_noisy_value(it, f'x{position}', draw)} AS r{position}")
            place += not isinstance(it.noise, Cells)
        return columns


def _noisy_value(it: NoisyColumn, value: str, draw: str) -> str:
    """Write what is released for a value and its draw: standard normal, or else uniform on (0, 1)."""
    match it.noise:
        case Uniform(scale):
            return _round(it, f"{value} + {_double(scale)} * (2 * {draw} - 1)", it.noise)
        case AdditiveNoise(scale):
            return _round(it, f"{value} + {_double(scale)} * {draw}", it.noise)
        case Cells(edges):
            labels = [render(literal(label)) for label in it.noise.labels]
            ends = zip(edges[1:-1], labels[:-1], strict=True)
            below = " ".join(f"WHEN {value} < {_double(edge)} THEN {label}" for edge, label in ends)
            return f"CASE WHEN {value} IS NULL THEN NULL {below} ELSE {labels[-1]} END"
        case Retain(keep, values):
            # below the probability of keeping the draw keeps; the rest of it picks one of all values
            bound, texts = _double(keep), ", ".join(render(literal(text)) for text in values)
            place = f"floor(({draw} - {bound}) * {_double(len(values) / (1 - keep))})"
            pick = f"[{texts}][1 + least({place}, {len(values) - 1})::BIGINT]"
            branches = f"WHEN {value} IS NULL THEN NULL WHEN {draw} < {bound} THEN {value} ELSE {pick}"
            return f"CAST(CASE {branches} END AS {plain_type(it.column.type).sql('duckdb')})"


def _round(it: NoisyColumn, noisy: str, noise: AdditiveNoise) -> str:
    # 0 is added, since the sign of a zero would tell from which side it was rounded
    if it.decimals is None:
        unit = _double(rounding_of(noise))
        return f"round(({noisy}) / {unit}) * {unit} + 0e0"
    return f"round({noisy}, {it.decimals}) + 0e0" if it.decimals else f"round({noisy})::BIGINT"


def _double(value: float) -> str:
    return render(double(value))


def ordered_rows(table: Table, outputs: Sequence[tuple[str, str]]) -> str:
    """Write the SELECT that gives the release, ordered by its own values alone."""
    columns = ", ".join(f"{work} AS {quoted(name)}" for work, name in outputs)
    order = ", ".join(f"{work} NULLS LAST" for work, _ in outputs)
    return f"SELECT {columns} FROM {table} ORDER BY {order}"


def packed_text(
    engine: Engine, table: Table, kept: Sequence[Kept], columns: Mapping[str, Column], records: int
) -> dict[str, Statement]:
    """Make an ENUM type of each carried column of text that has few values; none in a small table.

    The release is a sort of all noisy rows. Text takes 16 bytes a value there, a code one or two.
    """
    texts = [item for item in kept if columns[item.name].type == "VARCHAR"]
    if records < released_rows.WORTH_PACKING or not texts:
        return {}
    few = "approx_count_distinct({c}) BETWEEN 1 AND {most}"
    checks = [sql(few, c=item.expression, most=released_rows.MOST_PACKED) for item in texts]
    (few_values,) = engine.query(sql("SELECT {n} FROM {t} AS s", n=checks, t=table), step="text values")
    casts = dict[str, Statement]()
    for item in (item for item, is_few in zip(texts, few_values, strict=True) if is_few):
        listing = "SELECT DISTINCT {c} FROM {t} AS s WHERE {c} IS NOT NULL ORDER BY ALL"
        kind = engine.enumerate_values(sql(listing, c=item.expression, t=table))
        casts[item.name] = sql("CAST({c} AS {kind})", c=item.expression, kind=kind)
    return casts


# -- what the rows of a person tell --------------------------------------------------------------------


def refuse_correlated(persons: PersonDraws, noisy: Sequence[NoisyColumn]) -> None:
    """Refuse correlated noise where a column gets draws for rows and others, in the same row, for persons."""
    names = [it.column.name for it in noisy if it.additive is not None]
    varying = [name for name in names if name in persons.varying]
    if varying:
        raise InvalidOption(
            f"Column {varying[0]!r} varies in the rows of {persons.varying[varying[0]]} persons, so its "
            "noise cannot be correlated with that of columns that get one draw for a person.",
            f"Leave out --correlated, or give each person one {varying[0]} in a view.",
        )


def person_notices(
    persons: PersonDraws, noisy: Sequence[NoisyColumn], shares: Mapping[str, float]
) -> list[str]:
    notices = []
    if persons.varying:
        columns = ", ".join(
            f"{name} ({number} person{'s' * (number > 1)})" for name, number in persons.varying.items()
        )
        notices.append(
            f"These columns vary in the rows of a person, where each row gets its own draw: {columns}. "
            "Anyone who can tell which rows are one person's can average the noise away."
        )
    worst = max(shares, key=lambda name: shares[name], default=None)
    if worst is not None and shares[worst] >= AVERAGED:
        notices.append(
            f"The mean of a person's rows removes {100 * shares[worst]:.0f} % of the noise of {worst}; "
            "stronger noise, or one row a person, protects better."
        )
    numbers = [it.column.name for it in noisy if it.additive is not None and it.decimals is None]
    fine = [name for name in numbers if name not in persons.varying]
    if fine:
        notices.append(
            f"All rows of a person show the same noisy number, so they can be linked by {', '.join(fine)}; "
            "noise that is rounded tells less."
        )
    return notices


def averaging_attack(engine: Engine, table: Table, noisy: Sequence[NoisyColumn]) -> dict[str, float]:
    """Measure how much of the noise is gone from the mean of a person's noisy rows, as a share of it.

    0 leaves all of the noise, 1 none: it is 1 less the root of the mean squared error of these means, a
    person counting once, over the standard deviation of the noise.
    """
    places = {it.column.name: (n, it.additive) for n, it in enumerate(noisy) if it.additive is not None}
    if not places:
        return {}
    means = [sql("avg(r{i} - x{i}) AS e{i}", i=place) for place, _ in places.values()]
    errors = [sql("sqrt(avg(e{i} * e{i}))", i=place) for place, _ in places.values()]
    query = "SELECT {errors} FROM (SELECT {means} FROM {table} GROUP BY who) AS p"
    (row,) = engine.query(sql(query, errors=errors, means=means, table=table), step="averaging")
    return {
        name: round(min(1.0, max(0.0, 1 - error / deviation(noise))), 6)
        for (name, (_, noise)), error in zip(places.items(), row, strict=True)
        if error is not None
    }
