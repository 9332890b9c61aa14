"""Direct identifiers, kept columns, and columns that nobody named."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import ppdm_sql


@pytest.fixture
def db() -> Iterator[ppdm_sql.Database]:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT * FROM (VALUES "
            "('ann', 'cook', 'ill', 'good', 30), ('ann', 'cook', 'well', 'bad', 31), "
            "('bob', 'clerk', 'well', 'good', 32), (NULL, 'clerk', 'well', 'bad', 33)) "
            "v(name, job, health, rating, age)"
        )
        yield ppdm_sql.open(connection)


def columns(db: ppdm_sql.Database, release: str) -> list[str]:
    return [row[0] for row in db.engine.connection.execute(f"DESCRIBE {release}").fetchall()]


def test_identifiers_and_unnamed_columns_are_not_released(db: ppdm_sql.Database) -> None:
    db.suppress(
        "people",
        ["job -> health = ill <= 60%"],
        class_column="rating",
        into="safe",
        identifiers={"name": "drop"},
    )
    assert columns(db, "safe") == ["job", "health", "rating"]


def test_a_kept_attribute_of_a_channel_stays_in_the_clear_and_still_groups(db: ppdm_sql.Database) -> None:
    with pytest.raises(ppdm_sql.GuaranteeNotMet, match="still 50.00%"):
        db.suppress(
            "people", ["job -> health = ill <= 40%"], class_column="rating", into="safe", keep=["job"]
        )
    release = db.suppress(
        "people", ["job, age -> health = ill <= 50%"], class_column="rating", into="safe", keep=["job"]
    )
    jobs = {row[0] for row in db.engine.connection.execute("SELECT job FROM safe").fetchall()}
    assert jobs == {"cook", "clerk"}
    assert {step.attribute for step in release.steps()} <= {"age"}


@pytest.mark.parametrize(
    "options",
    [
        {"class_column": "health"},
        {"class_column": "job"},
        {"keep": ["rating"]},
        {"identifiers": {"job": "drop"}},
        {"identifiers": {"rating": "pseudonym"}},
        {"count_column": "age", "keep": ["age"]},
    ],
)
def test_a_column_in_two_roles_is_refused(db: ppdm_sql.Database, options: dict[str, object]) -> None:
    asked = {"class_column": "rating", "into": "safe"} | options
    with pytest.raises(ppdm_sql.ColumnRoleError, match="cannot be both"):
        db.suppress("people", ["job -> health = ill <= 60%"], **asked)  # type: ignore[arg-type]
    assert db.releases() == []


def test_a_sensitive_column_that_is_kept_is_released_once(db: ppdm_sql.Database) -> None:
    asked = {"class_column": "rating", "require": ["job -> health = ill <= 60%"]}
    alone = db.suppress("people", into="alone", **asked)  # type: ignore[arg-type]
    kept = db.suppress("people", into="kept", keep=["health"], **asked)  # type: ignore[arg-type]
    assert kept.relation().columns == alone.relation().columns
    assert kept.verify().holds
