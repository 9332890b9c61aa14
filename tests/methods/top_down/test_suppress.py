"""What a run tells its user besides the release itself."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.examples import creation
from ppdm_sql.progress import SilentProgress

OPTIONS = {"class_column": "Rating", "count_column": "n", "into": "safe"}


class Heard(SilentProgress):
    """A progress that remembers."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.updates: list[dict[str, object]] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def update(self, **measures: object) -> None:
        self.updates.append(measures)


@pytest.fixture
def db() -> Iterator[ppdm_sql.Database]:
    with duckdb.connect() as connection:
        connection.execute(creation("customers"))
        yield ppdm_sql.open(connection)


def test_redundant_templates_are_said_to_be_so(db: ppdm_sql.Database) -> None:
    heard = Heard()
    asked = [
        "Job, Country -> Bankruptcy <= 75%",
        "Job -> Bankruptcy = Never <= 80%",
        "Country, Job -> Bankruptcy = Current <= 90%",
    ]
    db.suppress("customers", asked, progress=heard, **OPTIONS)
    told = [text for text in heard.notices if "in every row" not in text]
    assert len(told) == 2
    assert told[0].endswith("it stays in the averages of the loss.")
    assert told[1].endswith("the harder limit counts, once.")


def test_a_value_that_does_not_occur_is_refused_unless_it_is_meant(db: ppdm_sql.Database) -> None:
    asked = ["Job -> Bankruptcy IN (discharged, Never) <= 75%"]
    with pytest.raises(ppdm_sql.UnknownValue, match="'discharged'") as error:
        db.suppress("customers", asked, **OPTIONS)
    assert "--allow-absent" in error.value.remedy
    assert not any(held in str(error.value) for held in ("Discharged", "Never", "Current"))
    assert not db.releases()
    heard = Heard()
    release = db.suppress("customers", asked, progress=heard, allow_absent=True, **OPTIONS)
    assert heard.notices == ["Column 'Bankruptcy' does not hold the protected value 'discharged'."]
    assert release.verify().holds


def test_a_limit_of_many_digits_is_kept_by_the_run_as_by_the_audit(db: ppdm_sql.Database) -> None:
    db.engine.connection.execute(
        "CREATE TABLE thirds AS SELECT * FROM (VALUES ('x', 'h', 'p'), ('x', 'a', 'q'), ('x', 'b', 'p'), "
        "('y', 'a', 'q'), ('y', 'b', 'q'), ('y', 'c', 'p')) v(a, s, c)"
    )
    for text, shown in (("0.3333333333333333", "*"), ("1/3", "x")):
        release = db.suppress("thirds", [f"a -> s = h <= {text}"], class_column="c", into="out")
        assert {row[0] for row in release.relation().fetchall()} >= {shown}
        assert release.verify().holds
        assert Fraction(release.row().requirements[0].split("<= ")[1].rstrip("%")) in (
            Fraction("33.33333333333333"),
            Fraction(1, 3),
        )
        release.drop()


def test_progress_tells_steps_candidates_and_the_worst_confidence(db: ppdm_sql.Database) -> None:
    heard = Heard()
    asked = ["Job, Country -> Bankruptcy = Discharged <= 50%"]
    release = db.suppress("customers", asked, progress=heard, **OPTIONS)
    assert [update["step"] for update in heard.updates] == [step.step for step in release.steps()]
    assert heard.updates[0] == {"step": 1, "candidates": "8 of 9", "worst": "25% of 50%"}


def test_every_value_is_one_measure(db: ppdm_sql.Database) -> None:
    release = db.suppress("customers", ["Job, Country -> Bankruptcy <= 75%"], **OPTIONS)
    found = {row.measure: (row.before, row.after) for row in release.measures()}
    assert len(found) == len(release.measures())
    assert found["confidence: Job, Country -> Bankruptcy <= 75%"] == (1.0, 0.75)
