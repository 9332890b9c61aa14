"""Reads the audited table once: its distinct combinations of the columns in question, with counts.

Working tables made here, all temporary, all from the one that was read:

- ``atoms``: ``c0, c1, ...`` (the columns), ``atom`` (number of the row), ``records``; where persons are
  counted, a row for each, with ``person`` (a number);
- ``classes`` of a quasi-identifier, ``cells`` of a quasi-identifier and a sensitive column: `sql/audit/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from ppdm_sql.audit.model import Counted
from ppdm_sql.audit.recorded_cut import RecordedCut
from ppdm_sql.engine import Column, Engine
from ppdm_sql.engine.count_column import check_counts
from ppdm_sql.engine.exact import exact_values
from ppdm_sql.engine.names import Table, alias, aliased, column
from ppdm_sql.engine.person_columns import check_persons
from ppdm_sql.engine.source import source_of
from ppdm_sql.engine.statements import Scalar, bind, render
from ppdm_sql.errors import ColumnRoleError, no_records
from ppdm_sql.privacy.level import labelled, sources


class Collapsed:
    """The audited table, collapsed, with the tables of classes and cells that were asked for so far.

    Args:
        engine: Where the working tables are made.
        source: The table or view to read; it is never written.
        columns: The columns in question, spelled as in the table, each once; a column of labels is made.
        count: Column with the number of records of a row, or None where a row is a record.
        person: Columns that say whose record a row is; none where records are counted.
        cut: For the rows of a release, the cut that it records, by which populations are mapped; None where
            a population's values are compared as they are.

    Raises:
        InvalidSource: The count column is NULL or negative somewhere, or a row is nobody's.
        ColumnRoleError: The count column, or one of the person's, is one of the columns in question.

    Cost: one scan of the source for the atoms, one of the count column; with persons two more, of
        their columns. Everything else reads the atoms.
    """

    def __init__(
        self,
        engine: Engine,
        source: Table,
        columns: Sequence[str],
        count: str | None,
        person: Sequence[str] = (),
        cut: RecordedCut | None = None,
    ) -> None:
        self.engine = engine
        self.source = source
        self.cut = cut
        self.unit: Counted = "persons" if person else "records"
        self._codes = {name: f"c{position}" for position, name in enumerate(columns)}
        self._made: dict[tuple[str, ...], Table] = {}
        if count is not None:
            _check_counts(engine, source, count, columns)
        names = sources((*columns, *person))
        rows = source_of(engine, source).counted(engine, names, count)
        read = rows.table
        if person:
            _check_persons(engine, read, person, columns)
        types = dict(engine.columns(read))
        values = exact_values(engine, read, [Column(name, types[name]) for name in names])
        made = labelled(engine, read, values, columns, types)
        coded = [alias(made[name], code) for name, code in self._codes.items()]
        people = _People.of(engine, read, [values[name] for name in person]) if person else None
        self.atoms = engine.materialize("atoms", _atoms(read, coded, rows.count, people))

    @cached_property
    def size(self) -> tuple[int, int]:
        """The number of atoms, and of the records in them; one scan of the atoms."""
        atoms, records = column("atom"), column("records")
        query = exp.select(exp.Count(this=atoms), exp.cast(exp.Sum(this=records), "HUGEINT"))
        (found,) = self.engine.query(render(query.from_(self.atoms.expression())), step="size")
        return int(found[0]), int(found[1] or 0)

    @cached_property
    def counted(self) -> int:
        """What is counted in the whole table: records, or different persons; one scan of the atoms."""
        if self.unit == "records":
            return self.size[1]
        different = exp.Count(this=exp.Distinct(expressions=[column("person")]))
        query = exp.select(different).from_(self.atoms.expression())
        ((persons,),) = self.engine.query(render(query), step="persons")
        return int(persons)

    def codes(self, names: Sequence[str]) -> list[str]:
        """Give the names of the columns as the atoms have them."""
        return [self._codes[name] for name in names]

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Sort names of columns as the atoms have them, each once: COLUMNS reads them in that order."""
        wanted = set(names)
        return [name for name in self._codes if name in wanted]

    def classes(self, quasi_identifier: Sequence[str]) -> Table:
        """Give the classes of a quasi-identifier: ``class, class_records, population_records``.

        Cost: one scan of the atoms, the first time.
        """
        qi = sorted(self.codes(quasi_identifier))
        return self._once(self._step("classes"), {"qi": qi})

    def class_count(self, quasi_identifier: Sequence[str]) -> int:
        """Give the number of classes of a quasi-identifier, at least 1.

        Raises:
            InvalidSource: The table has no records.
        """
        number = self.engine.size(self.classes(quasi_identifier))
        if not number:
            raise no_records(self.source.name)
        return number

    def cells(self, quasi_identifier: Sequence[str], sensitive: str) -> Table:
        """Give the sensitive values of each class: ``class, class_records, value, records, class_values``.

        Cost: one scan of the atoms, the first time.
        """
        qi = sorted(self.codes(quasi_identifier))
        return self._once(self._step("cells"), {"qi": qi, "sensitive": self.codes([sensitive])})

    def value_totals(self, sensitive: str) -> Table:
        """Give the sensitive values of the table: ``value, value_records, table_values, table_records``.

        Cost: one scan of the atoms, the first time.
        """
        return self._once(self._step("value_totals"), {"sensitive": self.codes([sensitive])})

    def _step(self, name: str) -> str:
        """Name the step that counts what is counted here."""
        return f"person_{name}" if self.unit == "persons" else name

    def make(
        self,
        step: str,
        tables: Mapping[str, Table],
        *,
        columns: Mapping[str, Sequence[str]] | None = None,
        values: Mapping[str, Scalar] | None = None,
    ) -> Table:
        """Write what a step of ``sql/audit/`` gives into a working table."""
        text = bind(f"audit/{step}", tables=tables, columns=columns, values=values)
        return self.engine.materialize(step, text)

    def _once(self, step: str, columns: dict[str, list[str]]) -> Table:
        key = (step, *(name for names in columns.values() for name in ["|", *names]))
        if key not in self._made:
            self._made[key] = self.make(step, {"atoms": self.atoms}, columns=columns)
        return self._made[key]


def _check_counts(engine: Engine, source: Table, count: str, columns: Sequence[str]) -> None:
    if count in columns:
        raise ColumnRoleError(
            f"Column {count!r} is the count column and also part of what is measured.",
            "Leave it out of the requirements, or give another count column.",
        )
    check_counts(engine, source, count)


def _check_persons(engine: Engine, source: Table, person: Sequence[str], columns: Sequence[str]) -> None:
    for name in person:
        if name in columns:
            raise ColumnRoleError(
                f"Column {name!r} says who the person is and is also part of what is measured.",
                "Leave it out of the requirements, or give another --person.",
            )
    check_persons(engine, source, person)


@dataclass(frozen=True)
class _People:
    """The persons of a table, numbered.

    Args:
        table: Working table ``p0, p1, ...`` (who it is) and ``person`` (a number).
        same: Whether a row of the source ``s`` is that of a person ``p``.
    """

    table: Table
    same: exp.Condition

    @classmethod
    def of(cls, engine: Engine, source: Table, who: Sequence[exp.Expression]) -> _People:
        """Number the persons in one scan of the source."""
        named = [alias(value.copy(), f"p{place}") for place, value in enumerate(who)]
        everybody = exp.select(*named).distinct().from_(aliased(source, "s"))
        number = alias(exp.Window(this=exp.RowNumber()), "person")
        table = engine.materialize("people", exp.select(exp.Star(), number).from_(everybody.subquery("e")))
        pairs = [exp.EQ(this=value.copy(), expression=column(f"p{n}", "p")) for n, value in enumerate(who)]
        return cls(table, exp.and_(*pairs))


def _atoms(
    source: Table, coded: Sequence[exp.Expression], count: str | None, people: _People | None = None
) -> exp.Select:
    """Collapse the source; columns are renamed at once, so that no name of a user meets one of ours."""
    read = aliased(source, "s")
    query = exp.select(*coded).from_(read)
    records: exp.Expression = exp.Count(this=exp.Star())
    if count is not None:
        records = exp.cast(exp.Sum(this=column(count, "s")), "BIGINT")
        query = query.where(exp.GT(this=column(count, "s"), expression=exp.convert(0)))
    number = exp.Window(this=exp.RowNumber())
    query = query.select(alias(number, "atom"), alias(records, "records"))
    places = [exp.convert(place) for place in range(1, len(coded) + 1)]
    if people is not None:
        query = query.select(column("person", "p"))
        query.append("joins", exp.Join(this=aliased(people.table, "p"), on=people.same))
        return query.group_by(*places, column("person", "p"))
    return query.group_by(*places)
