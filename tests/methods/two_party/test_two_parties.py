"""Two parties against one: the same steps and the same release, whatever the tables and whoever owns what."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pytest
from cases import Case, run, type_of
from federated import QueueLink, links, together
from filling import fill
from hypothesis import given
from hypothesis import strategies as st
from oracle import grouping, secret, text
from runs import one_in
from sides import JOBS, REQUIRE, Outcome, split_employees
from strategies import NAMES, cases

import ppdm_sql
from ppdm_sql.errors import (
    ColumnRoleError,
    GuaranteeNotMet,
    InvalidOption,
    InvalidSource,
    NameTaken,
    PeerError,
    ProtocolError,
    UnknownColumn,
    UnknownValue,
)
from ppdm_sql.methods.top_down import outcome as outcomes
from ppdm_sql.methods.top_down import run as runs
from ppdm_sql.methods.two_party.messages import Checked, Entry, Message, check, encode
from ppdm_sql.methods.two_party.party import step_factor
from ppdm_sql.methods.two_party.request import IntegrateRequest

# -- random tables, split at random ---------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """A random table with a key, and the columns that the first party owns."""

    case: Case
    key: str
    owned: tuple[str, ...]

    @property
    def masked(self) -> list[str]:
        return list(dict.fromkeys(name for rule in self.case.rules for name in grouping(rule)))

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(name for name in self.masked if name not in self.owned)

    @property
    def shared(self) -> list[str]:
        hidden = [name for rule in self.case.rules if (name := secret(rule))]
        return list(dict.fromkeys([*hidden, self.case.class_column]))

    def load(self, columns: Sequence[str], seed: int) -> Any:
        """A table with a row a record, the key and some of the columns, in an order of its own."""
        source = self.case.source
        places = [source.columns.index(name) for name in columns]
        records = [row for row, n in zip(source.rows, source.counts, strict=True) for _ in range(n)]
        rows = [(f"k{number}", *(row[place] for place in places)) for number, row in enumerate(records)]
        random.Random(seed).shuffle(rows)
        connection = duckdb.connect(config={"threads": 1})
        typed = {self.key: "VARCHAR"} | {name: type_of(self.case, name) for name in columns}
        fill(connection, self.case.table, typed, rows)
        return connection

    def request(self, owned: Sequence[str], **more: Any) -> IntegrateRequest:
        """What the party asks that owns some of the columns."""
        mine = replace(
            self.case, treatments={n: found for n, found in self.case.treatments.items() if n in owned}
        )
        asked: dict[str, Any] = {
            "require": mine.requirements(),
            "class_column": mine.class_column,
            "into": mine.release,
            "key": [self.key],
            "owns": owned,
            "taxonomies": mine.taxonomies(),
            "ranges": mine.ranges(),
            "allow_absent": True,
            "suppress": [name for name in mine.suppressed if name in owned],
            "boundary": mine.boundary,
        }
        return IntegrateRequest(**(asked | more))

    @contextlib.contextmanager
    def loaded(self) -> Iterator[tuple[Any, Any, Any]]:
        """The whole table on one connection, each party's part on one of its own."""
        parts = (self.masked, self.owned, self.others)
        with contextlib.ExitStack() as stack:
            found = [self.load([*part, *self.shared], seed) for seed, part in enumerate(parts)]
            for connection in found:
                stack.callback(connection.close)
            yield found[0], found[1], found[2]

    def run(self, one: Any, other: Any, **more: Any) -> tuple[Outcome, Outcome]:
        """Let both parties run."""
        table = self.case.table
        return together(
            (one, table, self.request(self.owned, **more)), (other, table, self.request(self.others, **more))
        )


@st.composite
def splits(draw: st.DrawFn) -> Split:
    case = replace(draw(cases(method="tds")), keep=(), count_column=None, condition=())
    used = {name.lower() for name in case.source.columns}
    key = draw(st.sampled_from([name for name in NAMES if name.lower() not in used]))
    masked = list(dict.fromkeys(name for rule in case.rules for name in grouping(rule)))
    return Split(case, key, tuple(name for name in masked if draw(st.booleans())))


def rows(release: Any) -> Counter[tuple[Any, ...]]:
    """The records of a release by its columns in the order of their names, all cells as text."""
    relation = release.relation()
    places = sorted(range(len(relation.columns)), key=lambda place: relation.columns[place])
    return Counter(tuple(text(row[place]) for place in places) for row in relation.fetchall())


def assert_the_same(one: Any, party: Any, owned: Sequence[str]) -> None:
    """A party's release and steps are those of the run over the joined table."""
    assert rows(one) == rows(party)
    wanted, found = one.steps(), party.steps()
    assert [step.attribute for step in found] == [step.attribute for step in wanted]
    for step, other in zip(found, wanted, strict=True):
        numbers = (step.score, step.gain, step.loss)
        assert numbers == pytest.approx((other.score, other.gain, other.loss), rel=0, abs=1e-9)
        if step.attribute in owned:
            assert (step.parent, step.children) == (other.parent, other.children)
        else:
            labels = [label for label in step.children if label is None or not label.startswith("#")]
            assert set(labels) <= {*other.children}
    row, same = party.row(), one.row()
    assert (row.method, row.rows, row.stopped) == ("TDS2P", same.rows, same.stopped)
    assert row.requirements == same.requirements
    assert party.verify().holds


def assert_equal_files(one: Any, other: Any) -> None:
    """Both parties ended with the same release, down to the order of its rows and the types."""
    first, second = one.relation(), other.relation()
    assert first.columns == second.columns
    assert first.types == second.types
    assert first.fetchall() == second.fetchall()
    ignored = {"identifiers", "published", "notices"}  # each side keeps what it was told
    parameters = [{k: v for k, v in r.row().parameters.items() if k not in ignored} for r in (one, other)]
    assert parameters[0] == parameters[1]


def shown(release: Any) -> dict[str, set[str | None]]:
    """The labels that a release shows, by column, in the order of the attributes."""
    relation = release.relation()
    records = relation.fetchall()
    places = {name: relation.columns.index(name) for name in release.row().parameters["masking"]}
    return {name: {text(row[place]) for row in records} for name, place in places.items()}


def checked(first: Outcome, second: Outcome) -> Checked:
    """What the checker says of the two transcripts."""
    return check(first.link.entries, second.link.entries, shown(first.release))


def finished(*outcomes: Outcome) -> None:
    """Raise what made a party fail, the one that did not just hear of it first."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, PeerError)):
        raise error


@one_in(5)
@given(splits(), st.booleans())
def test_two_parties_take_the_steps_of_one_to_the_release_of_one(split: Split, large: bool) -> None:
    shortcuts = shortcuts_for_large_tables() if large else contextlib.nullcontext()
    with split.loaded() as (whole, one, other), shortcuts:
        first, second = split.run(one, other)
        try:
            release = run(whole, split.case)
        except GuaranteeNotMet:
            for outcome in (first, second):
                assert isinstance(outcome.error, GuaranteeNotMet)
            return
        finished(first, second)
        assert_the_same(release, first.release, split.owned)
        assert_the_same(release, second.release, split.others)
        assert_equal_files(first.release, second.release)
        found = checked(first, second)
        assert found.holds, found.faults


@one_in(8)
@given(splits(), st.integers(4, 8), st.integers(0, 3))
def test_quantised_scores_end_valid_and_say_by_how_much_a_better_candidate_was_passed_over(
    split: Split, bits: int, most: int
) -> None:
    with split.loaded() as (_, one, other), shortcuts_for_large_tables():
        first, second = split.run(one, other, score_bits=bits, max_steps=most)
        if isinstance(first.error, GuaranteeNotMet):
            return
        finished(first, second)
        assert_equal_files(first.release, second.release)
        assert len(first.release.steps()) <= most
        assert checked(first, second).holds
        for outcome in (first, second):
            measures = {measure.measure: measure.after for measure in outcome.release.measures()}
            passed_over = measures["steps in which a better candidate was passed over"]
            factor = measures["largest factor by which it was better"]
            assert (passed_over == 0) == (factor == 1)
            assert factor <= step_factor(bits) * (1 + 1e-9)
            assert any(f"compared by {bits} bits" in notice for notice in outcome.notices)


@contextlib.contextmanager
def shortcuts_for_large_tables() -> Iterator[None]:
    """Have every small table go through what is meant for large ones."""
    with (
        mock.patch.multiple("ppdm_sql.methods.base.released_rows", WORTH_PACKING=0),
        mock.patch.multiple("ppdm_sql.methods.base.released_rows", CODES_A_RUN=1),
    ):
        yield


# -- the slides' employees, split by columns --------------------------------------------------------

SEX = {"ANY_Sex": ["M", "F"]}
SALARY = {"[1, 99)": ["[1, 37)", "[37, 99)"]}
TREES: dict[str, Any] = {"Sex": SEX, "Job": JOBS, "Salary": SALARY}


@dataclass
class Employees:
    """The 34 records of slide 6 with a key: whole, and as TA(SSN; Sex) and TB(SSN; Job, Salary)."""

    whole: Any
    one: Any
    other: Any
    of_one: tuple[str, ...] = ("Sex",)
    of_other: tuple[str, ...] = ("Job", "Salary")

    def request(self, owned: Sequence[str], **more: Any) -> IntegrateRequest:
        trees = {name: tree for name, tree in TREES.items() if name in owned}
        asked: dict[str, Any] = {"require": REQUIRE, "class_column": "Class", "into": "safe"}
        return IntegrateRequest(**(asked | {"key": ["SSN"], "owns": owned, "taxonomies": trees} | more))

    def run(
        self,
        of_one: dict[str, Any] | None = None,
        of_other: dict[str, Any] | None = None,
        ends: tuple[QueueLink, QueueLink] | None = None,
        **more: Any,
    ) -> tuple[Outcome, Outcome]:
        """Let both run, with options for both and for each."""
        first = self.request(self.of_one, **(more | (of_one or {})))
        second = self.request(self.of_other, **(more | (of_other or {})))
        return together((self.one, "TA", first), (self.other, "TB", second), ends=ends)

    def single(self, **more: Any) -> Any:
        """The run of one party over the joined table."""
        asked: dict[str, Any] = {
            "class_column": "Class",
            "into": "safe",
            "taxonomies": TREES,
            "score": "paper",
        }
        return ppdm_sql.open(self.whole).generalize("people", REQUIRE, **(asked | more))


@contextlib.contextmanager
def opened() -> Iterator[Employees]:
    with duckdb.connect() as whole, duckdb.connect() as one, duckdb.connect() as other:
        whole.execute(split_employees("people", "Sex, Job, Salary", "SSN", "100 +"))
        one.execute(split_employees("TA", "Sex", "hash(SSN)", "100 +"))
        other.execute(split_employees("TB", "Job, Salary", "SSN DESC", "100 +"))
        yield Employees(whole, one, other)


@pytest.fixture
def employees() -> Iterator[Employees]:
    with opened() as found:
        yield found


Ran = tuple[Employees, Outcome, Outcome]


@pytest.fixture(scope="module")
def honest() -> Iterator[Ran]:
    """A run that nothing disturbs; its tests only read."""
    with opened() as found:
        first, second = found.run()
        finished(first, second)
        yield found, first, second


def test_the_slides_records_split_by_columns_give_the_release_of_one_party(honest: Ran) -> None:
    employees, first, second = honest
    single = employees.single()
    assert single.relation().fetchall() == first.release.relation().fetchall()
    assert_the_same(single, first.release, employees.of_one)
    assert_the_same(single, second.release, employees.of_other)
    assert_equal_files(first.release, second.release)


def test_slide_15_both_parties_see_the_leaves_of_the_tree_of_partitions(honest: Ran) -> None:
    _, first, second = honest
    for outcome in (first, second):
        for step, records in enumerate(([34], [12, 22], [4, 12, 18])):
            assert sorted(row[-1] for row in outcome.release.partitions(step).fetchall()) == records
    steps = [(step.attribute, step.parent, step.children) for step in second.release.steps()[:2]]
    assert steps == [
        ("Salary", "[1, 99)", ("[1, 37)", "[37, 99)")),
        ("Job", "ANY_Job", ("Blue-collar", "White-collar")),
    ]


def test_keys_are_not_released_and_neither_are_columns_that_no_requirement_names(
    employees: Employees,
) -> None:
    employees.one.execute("ALTER TABLE TA ADD COLUMN Age INTEGER DEFAULT 40")
    first, second = employees.run(of_one={"owns": ["Age", "Sex"]})
    finished(first, second)
    for outcome in (first, second):
        assert outcome.release.relation().columns == ["Sex", "Job", "Salary", "Class"]
    assert first.notices == ["Column 'Age' is in no requirement, so it is not released."]
    assert (first.release.notices, second.release.notices) == (tuple(first.notices), ())


def test_the_partner_is_told_the_labels_of_the_final_cut_and_no_other_text(honest: Ran) -> None:
    employees, first, second = honest
    (labels,) = [message for message in second.link.sent if message.kind == "LABELS"]
    release = shown(first.release)
    assert set(labels.fields["label"]) == release["Job"] | release["Salary"]
    crossed = "".join(str(message.fields) for message in (*first.link.sent, *second.link.sent))
    for hidden in ("Blue-collar", "Lawyer", "Janitor", "ANY_Job", "ANY_Sex", "SSN", "TA", "Salary"):
        assert hidden not in crossed
    job = [step for step in first.release.steps() if step.attribute == "Job"]
    assert [(step.parent, step.children) for step in job] == [
        ("#0", ("#1", "#2")),
        ("#1", ("Non-Technical", "#4")),
        ("#2", ("Manager", "Professional")),
        ("#4", ("Carpenter", "Technician")),
    ]
    assert {row[1] for row in first.release.at(2).fetchall()} == {"#1", "#2"}
    assert employees.one.execute("SELECT DISTINCT attribute FROM ppdm.cuts").fetchall() == [("Sex",)]
    tables = employees.one.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary")
    assert tables.fetchall() == [(0,)]


def test_intervals_of_the_partner_are_named_where_their_parts_tell(employees: Employees) -> None:
    ranges = {"Salary": ("1", "99")}
    first, second = employees.run(of_other={"taxonomies": {"Job": JOBS}, "ranges": ranges})
    finished(first, second)
    grown = [[step for step in o.release.steps() if step.attribute == "Salary"] for o in (first, second)]
    assert grown[0] == grown[1]
    assert grown[0][0].parent == "[1, 99)"


def test_max_steps_and_requirements_of_other_kinds_work_as_with_one_party(employees: Employees) -> None:
    for connection, table in ((employees.one, "TA"), (employees.other, "TB"), (employees.whole, "people")):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN Ill VARCHAR")
        connection.execute(f"UPDATE {table} SET Ill = ['flu', 'cold', 'mumps'][1 + SSN % 3]")
    require = [
        *REQUIRE,
        "Sex, Job -> Ill = flu <= 60%",
        "distinct l >= 2 of Ill on Job",
        "t <= 0.5 of Ill on Sex",
    ]
    for most, stopped in ((3, "max-steps"), (None, "complete")):
        more = {"into": f"safe_{most}", "max_steps": most}
        first, second = employees.run(require=require, **more)
        finished(first, second)
        single = ppdm_sql.open(employees.whole).generalize(
            "people", require, class_column="Class", taxonomies=TREES, score="paper", **more
        )
        assert single.row().stopped == first.release.row().stopped == stopped
        assert_the_same(single, first.release, employees.of_one)
        assert_the_same(single, second.release, employees.of_other)


def test_hashed_keys_give_the_same_release_and_are_no_digests_of_the_keys(employees: Employees) -> None:
    secret = b"a secret of both parties"
    first, second = employees.run(match="hashed", secret=secret)
    finished(first, second)
    plain = employees.run(into="plain")
    assert first.release.relation().fetchall() == plain[0].release.relation().fetchall()
    orders = [outcome.link.sent[0].fields["order"] for outcome in (first, plain[0])]
    assert orders[0] != orders[1]


# -- records that differ ---------------------------------------------------------------------------

SECRET = {"match": "hashed", "secret": b"0123456789abcdef"}
OTHER_RECORDS = "DELETE FROM TA WHERE SSN IN (101, 102)", "UPDATE TB SET SSN = 999 WHERE SSN = 110"


def refused(first: Outcome, second: Outcome, kind: type[Exception] = ProtocolError) -> str:
    """Both were refused for the same reason, and nothing was published; the sentences of the first."""
    for outcome in (first, second):
        assert type(outcome.error) is kind, outcome.error
    return str(first.error)


def nothing_published(employees: Employees) -> None:
    for connection in (employees.one, employees.other):
        views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        assert (views, len(tables)) == ([], 1)


@pytest.mark.parametrize("match", [{}, SECRET], ids=["plain", "hashed"])
def test_other_records_are_refused_with_counts_and_not_with_keys(
    employees: Employees, match: dict[str, Any]
) -> None:
    employees.one.execute(OTHER_RECORDS[0])
    employees.other.execute(OTHER_RECORDS[1])
    first, second = employees.run(**match)
    said = refused(first, second)
    assert said.startswith("Here are 32 records, and the partner holds 34.")
    assert ("31 keys are known to both" in said) == bool(match)
    assert not {"101", "110", "999"} & set(said.split())
    kinds = {message.kind for message in first.link.sent}
    assert kinds == ({"HELLO", "KEYS"} if match else {"HELLO"})
    nothing_published(employees)


@pytest.mark.parametrize("match", [{}, SECRET], ids=["plain", "hashed"])
def test_the_records_that_both_hold_are_taken_where_both_say_so(
    employees: Employees, match: dict[str, Any]
) -> None:
    employees.one.execute(OTHER_RECORDS[0])
    employees.other.execute(OTHER_RECORDS[1])
    first, second = employees.run(intersect=True, **match)
    finished(first, second)
    employees.whole.execute("DELETE FROM people WHERE SSN IN (101, 102, 110)")
    single = employees.single()
    assert single.row().rows == 31
    assert_the_same(single, first.release, employees.of_one)
    assert_the_same(single, second.release, employees.of_other)
    found = checked(first, second)
    assert found.holds, found.faults


def test_the_records_that_both_hold_are_not_taken_where_one_party_does_not_say_so(
    employees: Employees,
) -> None:
    employees.one.execute(OTHER_RECORDS[0])
    first, second = employees.run(of_one={"intersect": True})
    assert "Only one party takes the records that both hold." in refused(first, second)
    assert {message.kind for message in first.link.sent} == {"HELLO"}


def test_parties_with_different_secrets_find_no_common_key(employees: Employees) -> None:
    first, second = employees.run(of_one=SECRET, of_other=SECRET | {"secret": b"fedcba9876543210"})
    assert "No key is known to both." in refused(first, second)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE TA SET SSN = NULL WHERE SSN < 103",
            "Of 34 records of 'TA', 2 have no key, and 0 have the key of another",
        ),
        (
            "UPDATE TA SET SSN = 103 WHERE SSN < 103",
            "Of 34 records of 'TA', 0 have no key, and 2 have the key of another",
        ),
        ("DELETE FROM TA", "Table 'TA' has no records."),
    ],
)
def test_keys_that_are_missing_or_repeated_are_refused_with_counts(
    employees: Employees, statement: str, said: str
) -> None:
    employees.one.execute(statement)
    first, second = employees.run()
    assert isinstance(first.error, InvalidSource)
    assert str(first.error).startswith(said)
    assert isinstance(second.error, PeerError)
    nothing_published(employees)


def test_keys_of_several_columns_and_of_other_types_match_by_their_text(employees: Employees) -> None:
    for connection, table, kind in ((employees.one, "TA", "VARCHAR"), (employees.other, "TB", "BIGINT")):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN part {kind}")
        connection.execute(f"UPDATE {table} SET part = SSN // 10, SSN = SSN % 10")
    first, second = employees.run(key=["SSN", "part"])
    finished(first, second)
    assert_the_same(employees.single(), first.release, employees.of_one)


def test_a_class_that_differs_for_one_record_is_refused(employees: Employees) -> None:
    employees.one.execute("UPDATE TA SET Class = 'Y' WHERE SSN = 101")
    first, second = employees.run()
    assert "The class or a sensitive column is not the same" in refused(first, second)
    nothing_published(employees)


# -- terms that differ -------------------------------------------------------------------------------

TERMS: list[tuple[dict[str, Any], str]] = [
    ({"require": REQUIRE[::-1]}, "The partner has another requirements."),
    ({"symbol": "?"}, "The partner has another settings."),
    ({"max_steps": 2}, "The partner has another settings."),
    ({"score_bits": 8}, "The partner has another settings."),
    ({"boundary": "best"}, "The partner has another settings."),
    (SECRET, "The partner has another way to match keys."),
    ({"owns": []}, "Neither party owns column 'Sex'."),
]


@pytest.mark.parametrize(("other", "said"), TERMS)
def test_a_partner_that_asks_for_something_else_is_refused(
    employees: Employees, other: dict[str, Any], said: str
) -> None:
    more = {"taxonomies": {}} if "owns" in other else {}
    first, second = employees.run(of_one=other | more)
    assert refused(first, second).startswith(said)
    assert first.error.reason == "parameters"  # type: ignore[union-attr]
    nothing_published(employees)


def test_a_value_that_no_record_has_is_refused_unless_it_is_meant(employees: Employees) -> None:
    for connection, table in ((employees.one, "TA"), (employees.other, "TB")):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN Ill VARCHAR DEFAULT 'flu'")
    require = [*REQUIRE, "Sex, Job -> Ill = Flu <= 60%"]
    first, second = employees.run(require=require)
    assert "'Flu'" in refused(first, second, UnknownValue)
    nothing_published(employees)
    finished(*employees.run(require=require, allow_absent=True))


def test_a_column_that_both_own_is_refused(employees: Employees) -> None:
    employees.one.execute("ALTER TABLE TA ADD COLUMN Job VARCHAR DEFAULT 'Mover'")
    first, second = employees.run(of_one={"owns": ["Sex", "Job"]})
    assert refused(first, second).startswith("Both parties own column 'Job'.")


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"key": ["Sex"]}, ColumnRoleError, "Column 'Sex' cannot be both"),
        ({"require": ["Sex -> Illness <= 50%"]}, UnknownColumn, "both parties must hold the class and the"),
        ({"class_column": "Klass"}, UnknownColumn, "both parties must hold the class and the"),
        (
            {"owns": [], "taxonomies": {"Sex": SEX}},
            ColumnRoleError,
            "is named by --taxonomy, but not by --owns",
        ),
        ({"into": "TA"}, NameTaken, "a table or view 'TA'"),
    ],
)
def test_options_that_cannot_be_are_refused_before_a_word_is_said(
    employees: Employees, options: dict[str, Any], kind: type[Exception], said: str
) -> None:
    first, _ = employees.run(of_one=options)
    assert type(first.error) is kind
    assert said in str(first.error)
    assert first.link.entries == []


@pytest.mark.parametrize(
    "options",
    [
        {"key": []},
        {"match": "hashed"},
        {"secret": b"0123456789abcdef"},
        {"match": "hashed", "secret": b"short"},
        {"score_bits": 1},
        {"score_bits": 17},
    ],
)
def test_a_request_that_cannot_be_used_is_not_made(options: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"require": REQUIRE, "class_column": "Class", "into": "safe"}
    asked |= {"key": ["SSN"], "owns": ["Sex"]}
    assert "0123" not in repr(IntegrateRequest(**(asked | SECRET)))
    with pytest.raises(InvalidOption):
        IntegrateRequest(**(asked | options))


# -- a partner that says what cannot be ----------------------------------------------------------------


def tampered(employees: Employees, change: Callable[[Message], Message | None]) -> tuple[Outcome, Outcome]:
    """A run in which the second party's messages are changed on their way."""
    ends = links()
    ends[1].tamper = change
    return employees.run(ends=ends)


def changed(kind: str, number: int | None = None, column: Any = None, **fields: Any) -> Any:
    """Change fields of the messages of a kind."""

    def change(message: Message) -> Message:
        if message.kind != kind or (number is not None and message.round != number):
            return message
        found = message.column if column is None else column(message.column)
        new = {name: value(message) if callable(value) else value for name, value in fields.items()}
        return Message(message.kind, message.round, {**message.fields, **new}, found)

    return change


def merged(column: Any) -> Any:
    """All records of a specialized value in its first child but one."""
    return np.array([2, *[1] * (len(column) - 1)], "u1")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed("HELLO", version=2), "The partner speaks version 2 of the protocol, this is version 1."),
        (changed("HELLO", owns=[1]), "Neither party owns column 'Salary'."),
        (changed("HELLO", order="0" * 64), "Here are 34 records, and the partner holds 34."),
        (changed("DIGEST", 0, leaves="0" * 64), "After step 0 the classes of both parties"),
        (changed("DIGEST", 2, leaves="0" * 64), "After step 2 the classes of both parties"),
        (changed("SCORE", 1, score=5.0), "a score that the records do not bear out"),
        (changed("SCORE", 1, attribute=0), "a score for what it does not own"),
        (changed("SCORE", 1, score=None, level=7), "a score for what it does not own, or in another measure"),
        (changed("WIN", 1, attribute=1), "a specialization of another column than it had offered"),
        (changed("WIN", 1, value=1), "The partner specialized records of 'Salary' that differ"),
        (changed("WIN", 1, np.zeros_like, children=0), "The partner specialized records"),
        (changed("WIN", 1, children=3), "The partner specialized records of 'Salary' that differ"),
        (changed("WIN", 1, lambda c: c[1:]), "The partner specialized records"),
        (changed("WIN", 1, lambda c: np.array([200, *c[1:]], "u1")), "The partner specialized records"),
        (changed("WIN", 1, merged), "a specialization that breaks a requirement"),
        (changed("LABELS", label=lambda m: ["x"] * len(m.fields["label"])), "The partner names other values"),
        (changed("LABELS", owned=[0, 1]), "The partner names other values"),
        (changed("LABELS", attribute=[], value=[], label=[]), "The partner names other values"),
        (changed("SCORE", 7, stop=True), "The partner's release is another one"),
    ],
)
def test_a_message_that_cannot_be_true_is_refused_and_nothing_is_published(
    employees: Employees, change: Any, said: str
) -> None:
    first, second = tampered(employees, change)
    assert isinstance(first.error, ProtocolError)
    assert said in str(first.error)
    assert second.error is not None
    nothing_published(employees)


# -- each party's audit --------------------------------------------------------------------------------

EXCHANGED = (
    'SELECT * EXCLUDE (place) REPLACE (CASE place WHEN 1 THEN last("Class") OVER w '
    'WHEN 34 THEN first("Class") OVER w ELSE "Class" END AS "Class") '
    "FROM (SELECT *, row_number() OVER () AS place FROM {rows}) "
    "WINDOW w AS (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
)
"""Of the first and the last row each shows the other's class."""


def replaced(change: str, where: str = "true") -> str:
    return f"SELECT * REPLACE ({change}) FROM {{rows}} WHERE {where}"


SEX_EXCHANGED = replaced("""if("Sex" = 'M', 'F', 'M') AS Sex""")
PAY_EXCHANGED = replaced("""if("Salary" = '[1, 37)', '[37, 99)', '[1, 37)') AS Salary""")
OTHER_LABEL = replaced("if(label = 'Blue-collar', 'Technical', label) AS label")
OTHER_CUT = replaced("'M' AS generalized", "attribute <> 'Job'")
FAULTS: dict[str, tuple[Any, str, str, set[int]]] = {
    "rows of the first": (runs, "released_rows", SEX_EXCHANGED, {0}),
    "rows of the second": (runs, "released_rows", PAY_EXCHANGED, {1}),
    "rows of the class": (runs, "released_rows", EXCHANGED, {0, 1}),
    "labels": (outcomes, "label_table", OTHER_LABEL, {1}),
    "the recorded cut": (runs, "cut_rows", OTHER_CUT, {0, 1}),
    "the recorded trees": (runs, "tree_rows", replaced("NOT shown AS shown"), {1}),
}


def planted(real: Any, change: str) -> Any:
    """A query, or a table that has been made, with rows that another query changes."""

    def faulty(*given: Any) -> Any:
        made = str(real(*given))
        if made.startswith("SELECT"):
            return change.format(rows=f"({made})")
        return given[0].materialize("faulty", change.format(rows=made))

    return faulty


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_planted_in_what_both_write_is_refused(
    employees: Employees, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module, function, change, whose = FAULTS[name]
    monkeypatch.setattr(module, function, planted(getattr(module, function), change))
    ends = employees.run()
    refusing = {side for side, end in enumerate(ends) if isinstance(end.error, GuaranteeNotMet)}
    assert refusing and refusing <= whose
    for side, end in enumerate(ends):
        if side in refusing:
            assert "not what was promised" in str(end.error)
            assert "nothing was published" in str(end.error)
        else:  # what the other side found is told nobody
            assert isinstance(end.error, PeerError)
    nothing_published(employees)


def test_unknown_values_and_values_of_one_record_are_not_refused(employees: Employees) -> None:
    """Own columns with NULL, shown as they are, with the class and the key held by both."""
    employees.one.execute("UPDATE TA SET Sex = NULL WHERE SSN < 103")
    employees.other.execute("UPDATE TB SET Salary = NULL WHERE SSN < 103")
    first, second = employees.run(require=["k >= 2 on Sex, Job, Salary"])
    finished(first, second)
    assert_equal_files(first.release, second.release)


# -- the checker ---------------------------------------------------------------------------------------


def edited(entries: Sequence[Entry], place: int, **fields: Any) -> list[Entry]:
    return [entry._replace(**fields) if i == place else entry for i, entry in enumerate(entries)]


def test_the_checker_lists_what_an_honest_run_tells(honest: Ran) -> None:
    _, first, second = honest
    found = checked(first, second)
    assert found.holds, found.faults
    told, steps = found.told, first.release.steps()
    own = sum(step.attribute == "Sex" for step in steps)
    assert told["this side: records"] == told["the other side: records"] == 34
    assert told["this side: specializations, in their order"] == own
    assert told["the other side: specializations, in their order"] == len(steps) - own
    assert told["this side: columns of the candidates that lost"] == "Sex"
    assert told["this side: scores told as a level of few bits, not in full"] == 0
    bytes_sent = sum(entry.bytes for entry in first.link.entries if entry.direction == "sent")
    assert told["this side: bytes sent"] == bytes_sent


def test_the_checker_finds_what_is_not_as_it_must_be(honest: Ran) -> None:
    _, first, second = honest
    mine, theirs, labels = first.link.entries, second.link.entries, shown(first.release)
    places = {entry.kind: place for place, entry in enumerate(mine) if entry.direction == "sent"}
    win = next(place for place, entry in enumerate(mine) if entry.kind == "WIN")
    forged = encode(Message("DIGEST", 0, {"leaves": "0" * 64}))
    cases: list[tuple[list[Entry], dict[str, set[str | None]], str]] = [
        (edited(mine, places["SCORE"], kind="CELLS"), labels, "only kinds that are allowed crossed"),
        (
            edited(mine, places["DIGEST"], digest="0" * 64),
            labels,
            "what one side sent is what the other received",
        ),
        (edited(mine, places["DIGEST"], payload=forged), labels, "each message kept is what its digest says"),
        (edited(mine, places["DIGEST"], payload=b"?"), labels, "each message kept can be read, and holds"),
        (edited(mine, places["HELLO"], payload=None), labels, "each message kept can be read, and holds"),
        ([*mine, mine[-1]], labels, "what one side sent is what the other received"),
        (mine[2:], labels, "they came in the order of the protocol"),
        (edited(mine, places["SCORE"], round=2**31 - 1), labels, "they came in the order of the protocol"),
        (
            edited(mine, win, bytes=100_000, direction="sent"),
            labels,
            "a WIN held at most one number a record",
        ),
        (mine, labels | {"Job": {"Carpenter"}}, "nothing was named but labels that the release shows"),
    ]
    for entries, seen, rule in cases:
        found = check(entries, theirs, seen)
        assert not found.holds
        assert any(fault.startswith(rule) for fault in found.faults), (rule, found.faults)
