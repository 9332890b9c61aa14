"""A method of one's own needs a request, its roles and a run; the base does all else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.engine.names import resolve_all
from ppdm_sql.errors import ColumnRoleError, InvalidOption, NameTaken
from ppdm_sql.methods.base.collapse import Atoms, collapse, read_source
from ppdm_sql.methods.base.released_rows import MaskedAtoms, released_rows
from ppdm_sql.methods.base.roles import Roles, Treatments, treated_identifiers
from ppdm_sql.methods.base.run import Run
from ppdm_sql.options import Request
from ppdm_sql.progress import SilentProgress
from ppdm_sql.release import Draft, ReleasedColumn


class SortRequest(Request):
    """Release columns as they are, in an order that says nothing of the source's."""

    columns: Sequence[str]
    class_column: str | None = None


@dataclass(frozen=True, kw_only=True)
class SortRoles(Roles):
    columns: tuple[str, ...]

    @property
    def own_treatments(self) -> Treatments:
        return (("kept", self.columns),)


class SortRun(Run[Atoms]):
    request: SortRequest
    roles: SortRoles

    def assign_roles(self) -> SortRoles:
        names, request = list(self.columns), self.request
        pseudonyms, dropped = treated_identifiers(request.identifiers, names, table=self.source)
        roles = SortRoles(
            class_column=request.class_column,
            kept=resolve_all(request.keep, names, table=self.source),
            pseudonyms=pseudonyms,
            dropped=dropped,
            count=request.count_column,
            columns=resolve_all(request.columns, names, table=self.source),
        )
        roles.refuse_two([("sorted", roles.columns), ("kept", roles.kept)])
        return roles

    def transform(self) -> Atoms:
        self.progress.start(f"sorting {self.source}")
        self.progress.notice("Nothing is hidden.")
        coded = [self.columns[name] for name in self.roles.columns]
        table = read_source(self.engine, self.table, list(self.columns.values()))
        return collapse(self.engine, table, coded, self.kept, self.roles.count, masked=(), symbol="")

    def draft(self, transformed: Atoms) -> Draft:
        masked, outputs = MaskedAtoms(transformed), self.outputs(transformed)
        return Draft(
            name=self.request.into,
            method="sort",
            source=self.source,
            parameters={"identifiers": self.roles.identifiers},
            select=released_rows(self.engine, masked, outputs),
            count=self.roles.count,
            columns=tuple(ReleasedColumn(o.name, o.treatment, masked.is_packed(o)) for o in outputs),
            number=transformed.records,
            stepwise=False,
        )


class Phases(SilentProgress):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def start(self, what: str) -> None:
        self.heard.append(what)

    def stop(self) -> None:
        self.heard.append("over")


@pytest.fixture
def db() -> Iterator[ppdm_sql.Database]:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT * FROM (VALUES ('ann', 'nurse', 31, 2), ('bob', 'cook', 30, 1), "
            "('ann', 'cook', NULL, 1)) v(name, job, age, n)"
        )
        yield ppdm_sql.open(connection)


def rows(db: ppdm_sql.Database, query: str) -> list[tuple[object, ...]]:
    return db.engine.connection.execute(query).fetchall()


def test_a_method_of_ones_own_publishes_a_release_that_verifies(db: ppdm_sql.Database) -> None:
    phases = Phases()
    request = SortRequest(
        into="safe", columns=["JOB"], keep=["age"], identifiers={"name": "pseudonym"}, count_column="n"
    )
    release = SortRun(db.engine, "people", request, phases).publish()
    found = rows(db, "SELECT job, age, n FROM safe")
    assert sorted(found, key=str) == [("cook", 30, 1), ("cook", None, 1), ("nurse", 31, 2)]
    assert rows(db, "SELECT count(DISTINCT name), min(length(name)) FROM safe") == [(2, 32)]
    assert release.verify().holds
    assert [row.method for row in db.releases()] == ["sort"]
    assert phases.heard == ["sorting people", "publishing safe", "over"]


def test_rows_are_unfolded_and_sorted_by_what_is_released(db: ppdm_sql.Database) -> None:
    SortRun(db.engine, "people", SortRequest(into="safe", columns=["job", "n"]), SilentProgress()).publish()
    assert rows(db, "FROM safe") == [("cook", 1), ("cook", 1), ("nurse", 2)]


@pytest.mark.parametrize(
    ("given", "refused", "problem"),
    [
        ({"keep": ["job"]}, ColumnRoleError, "'job' cannot be both sorted and kept"),
        ({"identifiers": {"job": "drop"}}, ColumnRoleError, "both sorted and a direct identifier"),
        ({"identifiers": {"name": "hash"}}, InvalidOption, "cannot be treated"),
        ({"into": "people"}, NameTaken, "people"),
    ],
)
def test_a_run_is_checked_when_it_is_made(
    db: ppdm_sql.Database, given: dict[str, object], refused: type[Exception], problem: str
) -> None:
    asked: dict[str, object] = {"into": "safe", "columns": ["job"], **given}
    with pytest.raises(refused, match=problem):
        SortRun(db.engine, "people", SortRequest(**asked), SilentProgress())  # type: ignore[arg-type]


def test_nothing_is_left_of_a_run_that_fails(db: ppdm_sql.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run: SortRun, transformed: Atoms) -> Draft:
        raise KeyboardInterrupt

    monkeypatch.setattr(SortRun, "draft", broken)
    phases, before = Phases(), rows(db, "SELECT count(*) FROM duckdb_tables()")
    run = SortRun(db.engine, "people", SortRequest(into="safe", columns=["job"]), phases)
    with pytest.raises(KeyboardInterrupt):
        run.publish()
    assert rows(db, "SELECT count(*) FROM duckdb_tables()") == before
    assert phases.heard[-1] == "over"
    assert not db.releases()
