"""Releases with taxonomies, grown intervals and suppression side by side, on drafts made by hand."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
import staff
from drafts import Label, Refinement, Tree, make_draft, publish_as_it_is, quote, shown_at, working
from staff import AGE, CITY, JOB, MASKED, PAY, REFINEMENTS

from ppdm_sql.engine import Engine
from ppdm_sql.engine.statements import literal, render
from ppdm_sql.errors import GuaranteeNotMet, UnknownColumn
from ppdm_sql.release import Release, get, publish, releases
from ppdm_sql.release.labels import bound_of

RECORDS = staff.records()
FROZEN = "ppdm.release_safe"


@pytest.fixture
def engine() -> Engine:
    return Engine(duckdb.connect())


def counted(rows: list[Any], *, count: bool) -> Counter[Any]:
    """Count rows; with a count column each row stands for as many as it says, made of records of two."""
    if not count:
        return Counter(rows)
    assert len({row[:-1] for row in rows}) == len(rows)
    return Counter({row[:-1]: row[-1] // 2 for row in rows})


# -- states ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "packed"), [(False, True), (True, False)])
def test_every_state_shows_what_the_steps_had_reached(engine: Engine, count: bool, packed: bool) -> None:
    release = publish(engine, staff.draft(engine, RECORDS, count=count, packed=packed))
    assert release.verify().holds
    for step in range(len(REFINEMENTS) + 2):
        rows = engine.connection.execute(f"FROM safe_at({step})").fetchall()
        assert rows == release.at(step).fetchall()
        assert release.at(step).columns == release.relation().columns
        assert release.at(step).types == release.relation().types
        assert counted(rows, count=count) == staff.expected(RECORDS, step), step


def test_partitions_are_over_the_masked_columns_of_every_kind(engine: Engine) -> None:
    release = publish(engine, staff.draft(engine, RECORDS))
    for step in (None, 0, 4):
        at = len(REFINEMENTS) if step is None else step
        wanted = Counter(tuple(staff.masked(record, at)) for record in RECORDS)
        assert release.partitions(step).columns == [*MASKED, "records"]
        assert {row[:-1]: row[-1] for row in release.partitions(step).fetchall()} == wanted


def test_a_label_that_the_steps_do_not_know_shows_the_top(engine: Engine) -> None:
    release = publish(engine, staff.draft(engine, RECORDS))
    engine.connection.execute(f"UPDATE {FROZEN} SET {quote(JOB)} = 'Janitor', {quote(AGE)} = '[40, 41)'")
    for step in (0, 5, 99):
        found = release.at(step).project(f"{quote(JOB)}, {quote(AGE)}, {quote(AGE + '_lower')}").distinct()
        assert found.fetchall() == [("ANY", "*", None)]


def test_steps_that_contradict_one_another_end_and_show_the_top(engine: Engine) -> None:
    steps: list[Refinement] = [("a", "x", ["y"]), ("a", "y", ["x"]), ("a", "z", ["z"])]
    columns = [("a", "generalized", False, "top")]
    rows = "SELECT * FROM (VALUES ('x'), ('y'), ('z')) AS v(a)"
    release = publish_as_it_is(engine, make_draft(engine, rows, columns, 3, refinements=steps))
    assert release.at(0).fetchall() == [("top",)] * 3
    assert release.at(1).fetchall() == [("top",), ("y",), ("y",)]


LABELS = ["*", "a'b", 'c "d"', "; --", "[1, 2)", "[1, 2]", "", " ", "NULL", "ß", "select"]
LABELS += ["a", "A", "0", "00"]


def grown(chosen: random.Random, name: str) -> tuple[Tree, list[Refinement]]:
    """Grow a random tree in random steps; any label may stand anywhere, NULL only at a leaf."""
    labels: list[Label] = [f"{label}{'' if n < 15 else n}" for n, label in enumerate(LABELS * 3)]
    chosen.shuffle(labels)
    tree, steps = Tree(str(labels.pop())), list[Refinement]()
    open_nodes: list[Label] = [tree.root]
    while open_nodes and len(labels) > 3 and chosen.random() < 0.9:
        parent = open_nodes.pop(chosen.randrange(len(open_nodes)))
        children = [labels.pop() for _ in range(chosen.randint(1, 3))]
        open_nodes += children
        if parent == tree.root and chosen.random() < 0.5:
            children.append(None)
        tree.grow(str(parent), *children)
        steps.append((name, parent, children))
    return tree, steps


@pytest.mark.parametrize("seed", range(4))
def test_states_of_random_trees_agree_with_brute_force(engine: Engine, seed: int) -> None:
    chosen = random.Random(seed)
    names = chosen.sample(["x", "X x", "step", 'q"', "shown", "f"], 3)
    grown_trees = {name: grown(chosen, name) for name in names}
    steps = [(chosen.random(), name, n) for name in names for n in range(len(grown_trees[name][1]))]
    places = {name: iter(sorted(at for at, other, _ in steps if other == name)) for name in names}
    timed = [(next(places[name]), step) for name in names for step in grown_trees[name][1]]
    order = [step for _, step in sorted(timed, key=lambda item: item[0])]
    finals = {
        name: [label for label in [tree.root, *tree.parents] if label not in tree.parents.values()]
        for name, (tree, _) in grown_trees.items()
    }
    rows = [tuple(chosen.choice(finals[name]) for name in names) for _ in range(40)]
    table = working(engine, "frozen", dict.fromkeys(names, "VARCHAR"), rows)
    columns = [(name, "generalized", False, grown_trees[name][0].root) for name in names]
    draft = make_draft(engine, f"FROM {table} ORDER BY ALL", columns, 40, refinements=order)
    release = publish(engine, draft)
    assert release.verify().holds
    for step in range(len(order) + 1):
        wanted = Counter(
            tuple(
                shown_at(grown_trees[name][0].path(label), name, order, step)
                for name, label in zip(names, row, strict=True)
            )
            for row in rows
        )
        assert Counter(release.at(step).fetchall()) == wanted


# -- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "type_text", "bounds"),
    [
        ("[37, 52)", "INTEGER", ("37", "52")),
        ("[52, 98]", "BIGINT", ("52", "98")),
        ("[-12, -3)", "TINYINT", ("-12", "-3")),
        ("[-0.50, 12.25]", "DECIMAL(8,2)", ("-0.50", "12.25")),
        ("[1e-05, 1.5e+300)", "DOUBLE", ("1e-05", "1.5e+300")),
        ("[0.1, inf]", "FLOAT", ("0.1", "inf")),
        ("[2024-01-01, 2024-02-29)", "DATE", ("2024-01-01", "2024-02-29")),
        (
            "[2024-01-01 08:15:00.5, 2024-02-29 00:00:00]",
            "TIMESTAMP",
            ("2024-01-01 08:15:00.5", "2024-02-29 00:00:00"),
        ),
        ("[08:15:00, 23:59:59]", "TIME", ("08:15:00", "23:59:59")),
        (
            "[170141183460469231731687303715884105726, 170141183460469231731687303715884105727]",
            "HUGEINT",
            None,
        ),
        ("*", "INTEGER", (None, None)),
        ("ANY", "DATE", (None, None)),
        ("[a, b)", "INTEGER", (None, None)),
        ("[1, 2", "INTEGER", (None, None)),
        ("x [1, 2)", "INTEGER", (None, None)),
        (None, "INTEGER", (None, None)),
    ],
)
def test_bounds_are_read_from_the_label(
    engine: Engine, label: str | None, type_text: str, bounds: tuple[str | None, str | None] | None
) -> None:
    wanted = tuple(label[1:-1].split(", ")) if bounds is None and label else bounds
    for bound, value in zip(("lower bound", "upper bound"), wanted or (), strict=True):
        text = render(bound_of(literal(label), bound, type_text))  # type: ignore[arg-type]
        found = engine.connection.execute(f"SELECT {text} AS b, typeof(b), b::VARCHAR").fetchall()
        assert found[0][1:] == (type_text, value)


# -- verification ---------------------------------------------------------------------------------

PUT = f"UPDATE {FROZEN} SET "
LABELLED = f" WHERE rowid = (SELECT min(rowid) FROM {FROZEN} WHERE {quote(AGE)} = '{staff.YOUNG}')"
TAMPERING = {
    "an inner node that a step refined": f"{PUT}{quote(JOB)} = {literal(staff.WHITE).sql('duckdb')}",
    "a value below the cut": f"{PUT}{quote(JOB)} = 'Janitor'",
    "the top of a refined column": f"{PUT}{quote(JOB)} = 'ANY'",
    "NULL where it was never shown": f"{PUT}{quote(PAY)} = NULL",
    "an interval that was split": (
        f"{PUT}{quote(AGE)} = '[17, 98]', {quote(AGE + '_lower')} = 17, {quote(AGE + '_upper')} = 98"
    ),
    "a value that no step disclosed": f"{PUT}{quote(CITY)} = 'Bern'",
    "a lower bound": f"{PUT}{quote(AGE + '_lower')} = 18{LABELLED}",
    "an upper bound": f"{PUT}{quote(AGE + '_upper')} = 36{LABELLED}",
    "a bound where there is no interval": f"{PUT}{quote(AGE + '_lower')} = 17 WHERE {quote(AGE)} IS NULL",
    "a missing bound": f"{PUT}{quote(AGE + '_upper')} = NULL{LABELLED}",
    "a bound of another type": f"ALTER TABLE {FROZEN} ALTER {quote(AGE + '_lower')} TYPE VARCHAR USING 'x'",
}


@pytest.mark.parametrize("change", TAMPERING.values(), ids=TAMPERING)
def test_tampering_with_labels_and_bounds_is_found(engine: Engine, tmp_path: Path, change: str) -> None:
    release = publish(engine, staff.draft(engine, RECORDS))
    assert release.verify().holds
    before = engine.connection.execute(f"FROM {FROZEN}").fetchall()
    engine.connection.execute(change)
    assert engine.connection.execute(f"FROM {FROZEN}").fetchall() != before
    assert [check.check for check in release.verify().checks if not check.holds] != []
    with pytest.raises(GuaranteeNotMet):
        release.export(tmp_path / "x.csv")


def test_a_column_that_no_step_refined_may_show_its_top(engine: Engine) -> None:
    columns = [("a", "generalized", False, "ANY"), ("b", "generalized", False, "[1, 9]")]
    columns += [("b_lower", "lower bound", False, None, "b", "INTEGER")]
    select = "SELECT 'ANY' AS a, '[1, 9]' AS b, 1 AS b_lower FROM range(3)"
    release = publish(engine, make_draft(engine, select, columns, 3))
    assert release.verify().holds
    assert release.at(0).fetchall() == [("ANY", "[1, 9]", 1)] * 3
    engine.connection.execute(f"UPDATE {FROZEN} SET a = '[1, 9]'")
    assert not release.verify().holds


# -- the catalogue --------------------------------------------------------------------------------


def test_trees_are_published_and_read_back(engine: Engine) -> None:
    release = publish(engine, staff.draft(engine, RECORDS))
    for name in MASKED:
        wanted = staff.TREES[name].rows(name, staff.SHOWN[name])
        assert [tuple(vars(node).values()) for node in release.taxonomy(name)] == wanted
    assert release.taxonomy(CITY.upper())[0].label == "*"
    with pytest.raises(UnknownColumn, match="Rating"):
        release.taxonomy("Rating")


def test_the_cut_lists_the_shown_nodes_and_those_above_them(engine: Engine) -> None:
    nodes = publish(engine, staff.draft(engine, RECORDS)).cut()
    assert list(dict.fromkeys(node.attribute for node in nodes)) == list(MASKED)
    for name in MASKED:
        found = [node for node in nodes if node.attribute == name]
        assert {node.label for node in found if node.shown} == set(staff.SHOWN[name])
        path = {label for shown in staff.SHOWN[name] for label in staff.TREES[name].path(shown)}
        assert {node.label for node in found} == path
        assert [node.node for node in found] == sorted(node.node for node in found)
    assert "Janitor" not in {node.label for node in nodes}


def test_a_dropped_release_takes_its_trees_along_and_leaves_those_of_others(engine: Engine) -> None:
    publish(engine, staff.draft(engine, RECORDS, name="first"))
    before = engine.connection.execute("FROM ppdm.taxonomies").fetchall()
    publish(engine, staff.draft(engine, RECORDS)).drop()
    assert engine.connection.execute("FROM ppdm.taxonomies").fetchall() == before
    assert get(engine, "first").cut()


def old(engine: Engine) -> Release:
    """A release as a file holds it that was written before releases kept trees and tops."""
    release = publish(engine, staff.draft(engine, RECORDS, name="old", with_trees=False))
    engine.connection.execute("DROP TABLE ppdm.taxonomies")
    ((text,),) = engine.connection.execute("SELECT parameters FROM ppdm.releases").fetchall()
    parameters = json.loads(text)
    columns = parameters["published"]["columns"]
    short = [
        column if column[1] in ("generalized", "lower bound", "upper bound") else column[:2]
        for column in columns
    ]
    assert [CITY, "suppressed"] in short
    assert [CITY, "suppressed"] not in columns
    parameters["published"]["columns"] = short
    engine.connection.execute("UPDATE ppdm.releases SET parameters = ?", [json.dumps(parameters)])
    return release


def test_a_catalogue_without_trees_serves_as_it_did(engine: Engine) -> None:
    release = old(engine)
    assert release.verify().holds
    assert (release.cut(), release.taxonomy(JOB)) == ([], [])
    assert Counter(release.at(4).fetchall()) == staff.expected(RECORDS, 4)
    release.drop()
    assert releases(engine) == []


def test_a_catalogue_without_trees_gets_them_with_the_next_release(engine: Engine) -> None:
    old(engine)
    assert publish(engine, staff.draft(engine, RECORDS)).cut()
    assert get(engine, "old").cut() == []
    get(engine, "old").drop()
    assert get(engine, "safe").cut()


def test_comments_tell_the_treatment_and_no_label(engine: Engine) -> None:
    publish(engine, staff.draft(engine, RECORDS))
    found = dict(
        engine.connection.execute(
            "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'safe'"
        ).fetchall()
    )
    assert found[JOB] == "Generalized by a taxonomy or to intervals."
    assert found[f"{AGE}_lower"] == f"Lower bound, included, of the interval in {AGE}"
    assert not any(label in comment for comment in found.values() for label in ("Janitor", "[17", "Ulm"))
