"""Where persons are counted, who has several records in a class is there once."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from definitions import MODELS, Case, cases
from hypothesis import given
from runs import one_in

import ppdm_sql
from ppdm_sql.engine.names import quoted
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, UnknownColumn

VISITS = [
    *(("ann", 1, "flu") for _ in range(4)),
    ("ann", 1, "cold"),
    *((name, 2, "flu") for name in ("bob", "eve", "jim", "jan")),
    *((name, 2, "cold") for name in ("joe", "jan")),
]
Row = tuple[Any, ...]


def opened(rows: list[Row] = VISITS, columns: str = "patient, zip, ill") -> ppdm_sql.Database:
    con = duckdb.connect()
    con.execute("CREATE TABLE visits (patient VARCHAR, zip INTEGER, ill VARCHAR)")
    con.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    return ppdm_sql.open(con)


def reached(db: ppdm_sql.Database, *require: str, **options: Any) -> list[float]:
    return [found.reached for found in db.audit("visits", require, **options).findings]


def test_one_person_with_five_rows_fails_k_5() -> None:
    db = opened()
    assert db.audit("visits", ["k >= 5 on zip"]).holds
    found = db.audit("visits", ["k >= 5 on zip"], person="patient").findings[0]
    assert (found.holds, found.reached, found.violating_classes, found.violating_records) == (False, 1, 1, 1)


def test_each_number_is_that_of_persons() -> None:
    numbers = reached(
        opened(),
        *("zip -> ill = flu <= 90%", "zip -> ill = cold <= 90%", "distinct l >= 1 of ill on zip"),
        *("beta <= 9 of ill on zip", "delta <= 9 of ill on zip", "average risk <= 90% on zip"),
        "recursive c = 9, l = 2 of ill on zip",
        person="patient",
    )
    # Ann has both; of the five others four have flu and two a cold; of all six five and three.
    assert numbers == pytest.approx([1, 1, 2, 1 / 1 * 6 / 3 - 1, 1, 2 / 6, 4 / 2])


def test_shares_of_values_count_a_person_once_for_each_value() -> None:
    entropy, t = reached(opened(), "entropy l >= 1 of ill on zip", "t <= 1 of ill on zip", person="patient")
    assert t == pytest.approx(max(abs(Fraction(1, 2) - Fraction(5, 8)), abs(Fraction(4, 6) - Fraction(5, 8))))
    assert entropy == pytest.approx(3 / 2 ** (2 / 3))  # exp of the entropy of (2/3, 1/3)


def oracle(rows: list[Row]) -> dict[str, float]:
    """Count persons by brute force."""
    people, having = defaultdict(set), defaultdict(set)
    for person, place, ill in rows:
        people[place].add(person)
        having[place, ill].add(person)
    everybody = {person for person, *_ in rows}
    shares = {key: Fraction(len(some), len(people[key[0]])) for key, some in having.items()}
    prior = {ill: Fraction(len({p for p, _, i in rows if i == ill}), len(everybody)) for *_, ill in rows}
    return {
        "k >= 1 on zip": min(map(len, people.values())),
        "zip -> ill = 'b' <= 100%": max((s for (_, ill), s in shares.items() if ill == "b"), default=0),
        "distinct l >= 1 of ill on zip": min(sum(1 for z, _ in having if z == place) for place in people),
        "beta <= 100 of ill on zip": max((s - prior[ill]) / prior[ill] for (_, ill), s in shares.items()),
        "average risk <= 100% on zip": Fraction(len(people), len(everybody)),
    }


@pytest.mark.parametrize("seed", range(6))
def test_the_audit_counts_as_a_brute_force_does(seed: int) -> None:
    draw = random.Random(seed)
    rows = [(f"p{draw.randrange(9)}", draw.choice([1, 2, 3, None]), draw.choice("abc")) for _ in range(30)]
    rows.append(("p0", 1, "b"))
    wanted = oracle(rows)
    assert reached(opened(rows), *wanted, person="patient") == pytest.approx(
        [float(n) for n in wanted.values()]
    )


@given(case=cases(least=1))
@one_in(5)
def test_with_a_row_a_person_nothing_changes(case: Case) -> None:
    case.con.execute("ALTER TABLE t ADD COLUMN who INTEGER; UPDATE t SET who = rowid")
    names = [name for name in MODELS if name != "confidence" or case.kind != "INTEGER[]"]
    on, of = ", ".join(map(quoted, case.qi)), quoted(case.sensitive)
    asked = [MODELS[name].asked(2 if MODELS[name].whole is min else Fraction(1, 3), of, on) for name in names]
    options: dict[str, Any] = {"by": case.qi, "sensitive": case.sensitive, "confidential": case.sensitive}
    records, persons = (case.audit(*asked, person=who, **options) for who in ((), "who"))
    for one, other in zip(records.findings, persons.findings, strict=True):
        assert (one.holds, one.violating_records) == (other.holds, other.violating_records)
        assert one.reached == pytest.approx(other.reached)
    assert (records.exposure, records.risks) == (persons.exposure, persons.risks)
    assert records.identifiable == persons.identifiable


def test_several_columns_say_together_who_it_is() -> None:
    con = duckdb.connect()
    con.execute(
        """CREATE TABLE v AS SELECT * FROM (VALUES ('north', 1, 'x'), ('north', 1, 'x'), ('south', 1, 'x')) t
        (clinic, number, zip)"""
    )
    db = ppdm_sql.open(con)
    assert [
        db.audit("v", ["k on zip"], person=who).findings[0].reached
        for who in ("number", ["clinic", "number"])
    ] == [1, 2]


def test_the_population_may_have_persons_too() -> None:
    db = opened()
    db.engine.connection.execute(
        "CREATE TABLE everybody AS SELECT * FROM visits UNION ALL SELECT 'tim', 1, 'none' FROM range(7)"
    )
    journalist = db.audit("visits", by="zip", population="everybody", person="patient").risks[1]
    assert (journalist.attacker, journalist.highest) == ("journalist", 1 / 2)
    db.engine.connection.execute("ALTER TABLE everybody DROP COLUMN patient")
    assert db.audit("visits", by="zip", population="everybody", person="patient").risks[1].highest == 1 / 6


def test_the_tables_say_that_persons_are_counted() -> None:
    db = opened()
    tables = db.audit("visits", ["k >= 5 on zip"], groups=1, person="patient").tables()
    assert [table.columns[-1] for table in tables[:1]] == ["violating persons"]
    assert not any("records" in name for table in tables for name in table.columns)


@pytest.mark.parametrize("missing", [1, 2])
def test_rows_that_are_nobodys_are_refused_with_their_number(missing: int) -> None:
    db = opened([*VISITS, *((None, 2, "flu") for _ in range(missing))])
    with pytest.raises(InvalidSource, match=f"'patient' is NULL in {missing} row{'s' * (missing > 1)}[.]"):
        db.audit("visits", ["k >= 1 on zip"], person="patient")


def test_what_cannot_be_a_person_is_refused_in_words() -> None:
    db = opened()
    with pytest.raises(UnknownColumn, match="no column 'patint'"):
        db.audit("visits", ["k >= 1 on zip"], person="patint")
    with pytest.raises(ColumnRoleError, match="'zip' says who the person is"):
        db.audit("visits", ["k >= 1 on zip"], person="zip")
    with pytest.raises(InvalidOption, match="--person and --count"):
        db.audit("visits", ["k >= 1 on ill"], person="patient", count_column="zip")
    with pytest.raises(InvalidOption, match="no columns are given to find them by"):
        db.audit("visits", person="patient")


def test_hostile_names_are_columns_too() -> None:
    con = duckdb.connect()
    con.execute('CREATE TABLE v AS SELECT 1 AS "person", \'a\' AS "s.""p0", 2 AS "atom" FROM range(3)')
    found = ppdm_sql.open(con).audit("v", ["k >= 1 on atom"], person=['s."p0', "person"]).findings[0]
    assert found.reached == 1
