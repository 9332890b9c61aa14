"""Tails: values from a bound up, or down from one, share a label that opens there.

Of grown intervals, and of columns with a taxonomy by the rule ``ranges``: there each is one leaf.
"""

from __future__ import annotations

import datetime
import random
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest
from commands import ppdm

import ppdm_sql
from ppdm_sql.engine import Engine
from ppdm_sql.methods.top_down.interval_cuts import Tails
from ppdm_sql.methods.top_down.maskings import Generalization
from ppdm_sql.taxonomy import Taxonomy
from ppdm_sql.taxonomy.derived import DerivedTaxonomy
from ppdm_sql.taxonomy.tables import leaf_codes

RANGES = {"age": "ranges 5,10,20"}
BOTH: dict[str, Any] = {"tops": {"age": 90}, "bottoms": {"age": 18}}
EITHER = pytest.mark.parametrize("trees", [{}, {"taxonomies": RANGES}], ids=["grown", "ranges"])
Value = Decimal | None
UNITS = {"INTEGER": Decimal(1), "DECIMAL(5,1)": Decimal("0.1")}
"""Types, and the distance between their values."""


def opened(values: Sequence[Any], kind: str = "INTEGER", name: str = "age") -> ppdm_sql.Database:
    connection = duckdb.connect()
    quoted = '"' + name.replace('"', '""') + '"'
    connection.execute(f"CREATE TABLE t ({quoted} {kind})")
    connection.execute("INSERT INTO t SELECT unnest($1)", [list(values)])
    return ppdm_sql.open(connection)


def holds(label: str | None, age: int | None) -> bool:
    """Whether a label is true of an age."""
    if label is None or age is None:
        return label is None and age is None
    words = label.split()
    if label == "any value":
        return True
    if label.endswith(" or more"):
        return age >= int(words[0])
    if label.endswith(" or less"):
        return age <= int(words[0])
    if label.startswith("less than "):
        return age < int(words[2])
    lower, upper = label[1:-1].split(", ")
    return int(lower) <= age < int(upper) or (label.endswith("]") and age == int(upper))


# -- grown intervals --------------------------------------------------------------------------------


WAYS: list[dict[str, Any]] = [
    {},
    {"require": ["k >= 3 on age, zone", "distinct l >= 2 of ill on age"]},
    {"ranges": {"age": (-9, 210)}, "interval_columns": True},
    {"min_widths": {"age": 7}, "symbol": "?", "boundary": "best"},
    {"taxonomies": RANGES, "rare": "apart"},
]


@pytest.mark.parametrize("seed", range(12))
def test_no_label_splits_a_tail_and_each_is_true_whatever_is_left_out(seed: int) -> None:
    chosen, share = random.Random(seed), ("0", "60%")[seed % 2]
    bottom, top = chosen.choice([(None, 90), (18, None), (18, 90), (-5, 200), (50, 51), (200, None)])
    ages: list[int | None] = [chosen.choice([5, 17, 30, 31, 60, 91]) for _ in range(chosen.choice([12, 30]))]
    ages += [*chosen.sample(range(110), chosen.choice([4, 9])), *[None] * chosen.choice([0, 1, 4])]
    db = opened(ages)
    connection = db.engine.connection
    connection.execute(
        "ALTER TABLE t ADD c INTEGER; ALTER TABLE t ADD zone INTEGER; ALTER TABLE t ADD ill INTEGER"
    )
    connection.execute("UPDATE t SET c = hash(rowid) % 2, zone = age // 50 + rowid % 2, ill = rowid % 3")
    given: dict[str, Any] = {
        "require": [chosen.choice(["k >= 3 on age", "k >= 3 on age, zone"])],
        "class_column": chosen.choice([None, "c"]),
        "tops": {} if top is None else {"age": top},
        "bottoms": {} if bottom is None else {"age": bottom},
    }
    release = db.generalize("t", into="safe", suppress_records=share, **given | chosen.choice(WAYS))
    assert release.verify().holds
    assert release.row().rows + (release.row().left_out or 0) == len(ages)
    found = connection.execute("SELECT value, generalized FROM ppdm.cuts WHERE attribute = 'age'").fetchall()
    shown = {None if value is None else int(value): text for value, text in found}
    assert all(text in ("*", "?") or holds(text, age) for age, text in shown.items())
    numbers = {age: text for age, text in shown.items() if age is not None}
    assert bottom is None or len({text for age, text in numbers.items() if age <= bottom}) <= 1
    assert top is None or len({text for age, text in numbers.items() if age >= top}) <= 1
    for step in range(len(release.steps()) + 1):
        classes = release.at(step).aggregate("count(*)", given["require"][0].split(" on ")[1]).fetchall()
        assert all(size >= 3 for (size,) in classes)
    # what the release shows of each value is what new records of these values get
    if share == "0":
        connection.execute("CREATE TABLE new AS FROM t")
        db.apply("safe", "new", into="again", unseen="refuse")
        again = connection.execute("SELECT DISTINCT age FROM again").fetchall()
        assert {label for (label,) in again} == set(shown.values())


@pytest.mark.parametrize(
    ("kept", "lone", "tails", "labels"),
    [
        ([20, 20, 20, 50, 50, 50], 1, {"bottoms": {"age": 18}}, {"less than 50", "[50, 50]"}),
        (
            [20, 20, 20, 50, 50, 50],
            1,
            {"bottoms": {"age": 18}, "tops": {"age": 90}},
            {"less than 50", "50 or more"},
        ),
        ([20, 20, 20, 50, 50, 50], 95, {"tops": {"age": 90}}, {"[20, 50)", "50 or more"}),
        ([30, 40, None], 31, {"bottoms": {"age": 18}, "tops": {"age": 90}}, {"*"}),
        ([30, 40, 50], None, {"bottoms": {"age": 18}, "tops": {"age": 90}}, {"any value"}),
    ],
)
def test_labels_are_those_of_the_records_that_are_kept(
    kept: list[int | None], lone: int | None, tails: dict[str, Any], labels: set[str]
) -> None:
    db = opened([*kept, lone])
    db.engine.connection.execute("ALTER TABLE t ADD zone VARCHAR DEFAULT 'town'")
    db.engine.connection.execute("UPDATE t SET zone = 'hut' WHERE age IS NOT DISTINCT FROM $1", [lone])
    release = db.generalize("t", ["k >= 3 on age, zone"], into="safe", suppress_records="1/4", **tails)
    assert release.row().left_out == 1
    assert {age for age, _ in release.relation().fetchall()} == labels


def test_dates_have_tails_too() -> None:
    db = opened([datetime.date(1920, 1, 1) + datetime.timedelta(400 * i) for i in range(90)], "DATE")
    release = db.generalize("t", ["k >= 2 on age"], into="safe", bottoms={"age": datetime.date(1936, 12, 31)})
    labels = {row[0] for row in release.relation().fetchall()}
    assert "1936-12-31 or less" in labels
    assert all(label >= "[1936-12-31" for label in labels - {"1936-12-31 or less"})


# -- ranges by a rule -------------------------------------------------------------------------------


def path(
    value: Decimal, widths: Sequence[int], tails: tuple[int | None, int | None], unit: Decimal
) -> list[str]:
    """Give the labels of a value from the root down, worked out one number at a time."""
    bottom, top = tails
    if bottom is not None and value <= bottom:
        return ["*", f"{bottom} or less"]
    if top is not None and value >= top:
        return ["*", f"{top} or more"]
    labels = ["*"]
    for width in reversed(widths):
        lower = Decimal(width) * (value / width).to_integral_value("ROUND_FLOOR")
        upper = lower + width
        if bottom is not None and lower <= bottom:
            lower = bottom + unit
        if top is not None and upper > top:
            upper = Decimal(top)
        labels.append(f"[{lower.normalize():f}, {upper.normalize():f})")
    return labels


def expected(paths: dict[Value, list[str]], counts: dict[Value, int], k: int) -> set[frozenset[Value]]:
    """Give the groups of values that share a label where no node can be specialized any further."""
    waiting, groups = [(1, list(counts))], set()
    while waiting:
        depth, held = waiting.pop()
        below = defaultdict(list)
        for value in held:
            below["NULL" if value is None else paths[value][min(depth, len(paths[value]) - 1)]].append(value)
        is_leaf = held == [None] or all(value is not None and depth >= len(paths[value]) for value in held)
        if is_leaf or any(sum(counts[value] for value in part) < k for part in below.values()):
            groups.add(frozenset(held))
        else:
            waiting += [(depth + 1, part) for part in below.values()]
    return groups


@pytest.mark.parametrize("seed", range(10))
def test_a_release_shows_what_brute_force_finds(seed: int) -> None:
    chosen = random.Random(seed)
    kind = chosen.choice(list(UNITS))
    unit = UNITS[kind]
    spread = chosen.choice([12, 60, 130])
    values: list[Value] = [
        unit * chosen.randrange(-5, int(spread / unit)) for _ in range(chosen.choice([6, 40, 150]))
    ]
    values += [None] * chosen.choice([0, 1, 4])
    tails = chosen.choice([(None, 90), (18, None), (18, 90), (-7, 200), (50, 51), (20, 40), (3, 97)])
    widths = chosen.choice([[5], [5, 10, 20], [2, 10], [7, 21]])
    k = chosen.choice([2, 3, 5])
    db = opened(values, kind)
    release = db.generalize(
        "t",
        [f"k >= {k} on age"],
        into="safe",
        taxonomies={"age": f"ranges {','.join(map(str, widths))}"},
        bottoms={} if tails[0] is None else {"age": tails[0]},
        tops={} if tails[1] is None else {"age": tails[1]},
        interval_columns=True,
        rare="apart",
    )
    assert release.verify().holds
    connection = db.engine.connection
    found = connection.execute("SELECT value, generalized FROM ppdm.cuts").fetchall()
    shown = {None if value is None else Decimal(value): label for value, label in found}
    paths = {value: path(value, widths, tails, unit) for value in values if value is not None}
    counts = {value: values.count(value) for value in values}
    groups = defaultdict(set)
    for value, label in shown.items():
        groups[label].add(value)
        assert label == "*" or (label is None if value is None else label in paths[value])
    assert {frozenset(group) for group in groups.values()} == expected(paths, counts, k)
    # every state keeps the tails together, and each label is true of what it stands for
    tail = {paths[value][1] for value in paths if len(paths[value]) == 2}
    for step in range(len(release.steps()) + 1):
        labels = {row[0] for row in release.at(step).fetchall()}
        assert all(label in ("*", None) or any(label in of for of in paths.values()) for label in labels)
        assert all(not label or " or " not in label or label in tail for label in labels)
    # new records of these values show the same
    connection.execute("CREATE TABLE new AS SELECT DISTINCT age FROM t")
    db.apply("safe", "new", into="again", unseen="refuse")
    assert {row[0] for row in connection.execute("SELECT age FROM again").fetchall()} == set(groups)


@pytest.mark.parametrize(
    ("trees", "between"),
    [
        ({}, [("[19, 88)", 19, 88), ("[88, 93)", 88, 93)]),
        ({"taxonomies": RANGES}, [("[19, 20)", 19, 20), ("[85, 90)", 85, 90)]),
    ],
)
def test_bounds_of_a_tail_are_null_on_its_open_side_and_ranges_end_there(
    trees: dict[str, Any], between: list[tuple[Any, ...]]
) -> None:
    db = opened([18] * 3 + [19] * 3 + [88] * 3 + [93] * 3 + [None] * 3)
    tails: dict[str, Any] = {"tops": {"age": "93"}, "bottoms": {"age": 18}}
    db.generalize("t", ["k >= 3 on age"], into="safe", interval_columns=True, **trees, **tails)
    rows = db.engine.connection.execute(
        "SELECT DISTINCT age, age_lower, age_upper FROM safe ORDER BY ALL"
    ).fetchall()
    assert rows == [("18 or less", None, 18), ("93 or more", 93, None), *between, (None, None, None)]


@pytest.mark.parametrize(
    ("kind", "after"), [("DOUBLE", "18.000000000000004"), ("FLOAT", "18.000002"), ("DECIMAL(5,2)", "18.01")]
)
def test_the_range_beside_a_lower_tail_begins_at_the_next_value_of_the_type(kind: str, after: str) -> None:
    db = opened([18.0] * 2 + [18.5] * 2 + [91.5] * 2, kind)
    db.generalize("t", ["k >= 2 on age"], into="safe", taxonomies=RANGES, **BOTH)
    rows = db.engine.connection.execute("SELECT DISTINCT age FROM safe ORDER BY ALL").fetchall()
    assert rows == [("18 or less",), ("90 or more",), (f"[{after}, 20)",)]


@EITHER
def test_new_values_beyond_all_that_were_seen_lie_in_the_tail_even_where_nobody_was(
    trees: dict[str, Any],
) -> None:
    db = opened([10] * 3 * (not trees) + [30] * 3 + [50] * 3 + [95] * 3 * (not trees))
    db.generalize("t", ["k >= 3 on age"], into="safe", **trees, **BOTH)
    connection = db.engine.connection
    connection.execute("CREATE TABLE new AS SELECT unnest([90, 30000000, 18, -7, 30]) AS age")
    db.apply("safe", "new", into="mapped", unseen="refuse")
    rows = connection.execute("SELECT age, count(*) FROM mapped GROUP BY ALL ORDER BY ALL").fetchall()
    assert rows == [("18 or less", 2), ("90 or more", 2), ("[30, 35)" if trees else "[30, 50)", 1)]


@pytest.mark.parametrize("values", [[95, 95, 99], [95, 95, 99, None, None], [1, 2, 95, 95]])
def test_a_column_may_lie_in_its_tails_altogether(values: list[int | None]) -> None:
    db = opened(values)
    release = db.generalize("t", ["k >= 2 on age"], into="safe", taxonomies=RANGES, **BOTH)
    assert release.verify().holds
    labels = {row[0] for row in release.relation().fetchall()}
    assert labels == {
        None if value is None else "18 or less" if value < 50 else "90 or more" for value in values
    }


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("value", ["NULL", "NULL::INTEGER"])
@pytest.mark.parametrize("tails", [{}, {"tops": {"age": 90}}, {"bottoms": {"age": 5}, "tops": {"age": 90}}])
def test_a_column_without_values_has_no_ranges_whatever_its_tails(
    rows: int, value: str, tails: dict[str, Any]
) -> None:
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW t AS SELECT {value} AS age FROM range({rows})")
    db = ppdm_sql.open(connection)
    with pytest.raises((ppdm_sql.InvalidSource, ppdm_sql.InvalidOption)):
        db.generalize("t", ["k >= 2 on age"], into="safe", taxonomies=RANGES, **tails)
    assert not db.releases()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"taxonomies": RANGES, "tops": {"age": "inf"}}, "begins at no finite number"),
        ({"taxonomies": RANGES, "bottoms": {"age": "nan"}}, "begins at no finite number"),
        ({"taxonomies": RANGES, "tops": {"age": "old"}}, "do not begin at values"),
        ({"taxonomies": RANGES, "tops": {"age": 9}, "bottoms": {"age": 9}}, "do not begin at values"),
        ({"taxonomies": RANGES, "min_widths": {"age": 9}}, "not grown in the run. Leave"),
        ({"taxonomies": {"age": Taxonomy.from_dict({"*": ["[0, 50)", "[50, 99)"]})}, "tops": {"age": 90}},
         "nor made by a rule ranges"),
        ({"suppress": ["age"], "bottoms": {"age": 18}}, "nor made by a rule ranges.* must hold numbers"),
        ({"tops": {"age": "old"}}, "do not begin at values"),
        ({"tops": {"age": 10}, "bottoms": {"age": 10}}, "do not begin at values"),
        ({"tops": {"ag": 10}}, "ag"),
        ({"bottoms": {"c": 1}}, "no requirement lets it be masked"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_words(options: dict[str, Any], words: str) -> None:
    db = opened([10.0] * 5 + [50.0] * 5, "DOUBLE")
    db.engine.connection.execute("ALTER TABLE t ADD c INTEGER DEFAULT 1")
    with pytest.raises(ppdm_sql.PpdmError, match=words):
        db.generalize("t", ["k >= 2 on age"], into="safe", **options)


@pytest.mark.parametrize("tails", [{"tops": {"age": "90.4"}}, {"bottoms": {"age": 17.5}}])
def test_a_tail_of_whole_numbers_begins_at_one(tails: dict[str, Any]) -> None:
    with pytest.raises(ppdm_sql.InvalidOption, match="do not begin at values"):
        opened([10, 50, 50]).generalize("t", ["k >= 1 on age"], into="safe", **tails)


def test_dates_by_the_calendar_have_no_tails() -> None:
    db = opened(["2020-01-01", "2021-01-01"], "DATE")
    with pytest.raises(ppdm_sql.PpdmError, match="nor made by a rule ranges"):
        db.generalize(
            "t", ["k >= 1 on age"], into="safe", taxonomies={"age": "dates"}, tops={"age": "2021-01-01"}
        )


# -- faults that the audit finds ------------------------------------------------------------------


def test_the_audit_refuses_a_label_that_splits_a_tail() -> None:
    db = opened([age for age in (10, 20, 95, 99) for _ in range(5)])

    def everywhere(self: Tails, low: int, high: int, boundaries: Any) -> Any:
        return boundaries > 0

    with (
        mock.patch.object(Tails, "__call__", everywhere),
        pytest.raises(ppdm_sql.GuaranteeNotMet, match="tell values of its tails apart"),
    ):
        db.generalize("t", ["k >= 5 on age"], into="safe", tops={"age": 90})


def _written_as(label: str) -> Any:
    """Make labels as they are, but for that of the upper tail."""
    true = Generalization.labels.fget  # type: ignore[attr-defined]

    def labels(self: Generalization) -> Any:
        return [(node, label if text == "90 or more" else text, *of) for node, text, *of in true(self)]

    return property(labels)


@pytest.mark.parametrize("label", ["95 or more", "80 or more", "[90, 99]", "99", "18 or less", "*"])
def test_the_audit_refuses_a_tail_that_is_written_otherwise(label: str) -> None:
    db = opened([age for age in (10, 20, 95, 99) for _ in range(5)])
    with (
        mock.patch.object(Generalization, "labels", _written_as(label)),
        pytest.raises(ppdm_sql.GuaranteeNotMet),
    ):
        db.generalize("t", ["k >= 5 on age"], into="safe", taxonomies=RANGES, **BOTH)
    assert not db.releases()


@pytest.mark.parametrize(
    "leaves", [["[90, 95)", "95 or more"], ["[90, 99]"], ["[90, 1000000)"], ["[85, 95)", "95 or more"]]
)
def test_the_audit_refuses_a_tree_that_splits_or_ends_a_tail(leaves: list[str]) -> None:
    db = opened([age for age in (10, 20, 95, 99) for _ in range(5)])
    tree = Taxonomy.from_dict({"*": ["[0, 85)", *leaves]})
    with (
        mock.patch.object(DerivedTaxonomy, "of_values", return_value=tree),
        pytest.raises(ppdm_sql.GuaranteeNotMet, match="tell values of its tails apart"),
    ):
        db.generalize("t", ["k >= 5 on age"], into="safe", taxonomies=RANGES, tops={"age": 90})
    assert not db.releases()


@pytest.mark.parametrize("to", ["age = '95 or more'", "age = '[90, 95)'", "age_upper = 99"])
def test_a_changed_row_of_a_tail_is_found_by_verify(to: str) -> None:
    db = opened([age for age in (10, 20, 95, 99) for _ in range(5)])
    release = db.generalize(
        "t", ["k >= 5 on age"], into="safe", taxonomies=RANGES, tops={"age": 90}, interval_columns=True
    )
    assert release.verify().holds
    db.engine.connection.execute(f"UPDATE ppdm.release_safe SET {to} WHERE age = '90 or more'")
    assert not release.verify().holds


def test_a_population_is_counted_in_the_tails_too() -> None:
    """The audit counts it by labels, and those of tails have one bound."""
    db = opened([10, 18, 30, 31, 90, 95] * 2)
    connection = db.engine.connection
    connection.execute("CREATE TABLE everybody AS SELECT unnest(range(-5, 200)) AS age UNION ALL FROM t")
    release = db.generalize("t", ["k-map >= 6 on age in everybody"], into="safe", taxonomies=RANGES, **BOTH)
    assert release.verify().holds
    # 90 to 199 and 4 of the table, -5 to 18 and 4, 30 to 34 and 4
    reached = {name: after for name, _, after in release.measures() if "k-map" in name}
    assert {row[0] for row in release.relation().fetchall()} == {"18 or less", "90 or more", "[30, 35)"}
    assert list(reached.values()) == [9]


# -- names, files, the command line ---------------------------------------------------------------


def test_any_name_will_do_for_the_column() -> None:
    name = """90 or more'"; DROP TABLE t; -- $top [1, 2)"""
    db = opened([10] * 3 + [30] * 3 + [95] * 3, name=name)
    quoted = '"' + name.replace('"', '""') + '"'
    release = db.generalize(
        "t",
        [f"k >= 3 on {quoted}"],
        into="safe",
        taxonomies={name: "ranges 5"},
        tops={name: 90},
        bottoms={name: 18},
        interval_columns=True,
    )
    assert release.verify().holds
    rows = release.relation().distinct().order("ALL").fetchall()
    assert rows == [("18 or less", None, 18), ("90 or more", 90, None), ("[30, 35)", 30, 35)]
    assert db.engine.connection.execute("SELECT count(*) FROM t").fetchone() == (9,)


def test_the_tree_as_a_file_makes_the_same_release(tmp_path: Path) -> None:
    values = [(age * 37) % 110 for age in range(80)] + [None] * 4
    db = opened(values)
    of: dict[str, Any] = {"require": ["k >= 4 on age"]}
    first = db.generalize("t", **of, into="by_rule", taxonomies=RANGES, tops={"age": 90}, bottoms={"age": 18})
    rows = db.engine.connection.execute(
        "SELECT c.label, p.label FROM ppdm.taxonomies c LEFT JOIN ppdm.taxonomies p ON p.release = c.release "
        "AND p.attribute = c.attribute AND p.node = c.parent WHERE c.label IS NOT NULL ORDER BY c.node"
    ).fetchall()
    tree = Taxonomy.from_edges(rows)
    tree.to_csv(tmp_path / "age.csv")
    assert "18 or less;18 or less" in Path(tmp_path / "age.csv").read_text()
    assert Taxonomy.from_csv(tmp_path / "age.csv").is_interval
    second = db.generalize("t", **of, into="by_file", taxonomies={"age": tmp_path / "age.csv"})
    assert sorted(map(str, first.relation().fetchall())) == sorted(map(str, second.relation().fetchall()))


def test_the_command_takes_tails_beside_ranges_and_reports_on_them(tmp_path: Path) -> None:
    file, page = tmp_path / "d.duckdb", tmp_path / "page.html"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 110 AS age, i % 2 AS c FROM range(1100) AS r (i)")
    made = ppdm(
        "generalize", file, "t", "--require", "k >= 5 on age", "--class", "c", "--into", "safe", "--taxonomy",
        "age=ranges 5,10", "--top", "age=90", "--bottom", "age=18",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert ppdm("verify", file, "safe").exit_code == 0
    assert ppdm("report", file, "safe", page).exit_code == 0
    assert "90 or more" in page.read_text()
    assert "18 or less" in ppdm("show", file, "safe").output


# -- leaves that are open, in any taxonomy --------------------------------------------------------


def _codes(labels: dict[str, Any], values: Sequence[Any]) -> list[str | None]:
    engine, tree = Engine(duckdb.connect()), Taxonomy.from_dict({"*": labels})
    with engine.workspace():
        query = "SELECT unnest(CAST($values AS INTEGER[])) AS value, unnest(range(len($values))) AS code"
        table = engine.materialize("dictionary", query, {"values": list(values)})
        found = leaf_codes(engine, table, tree, column="age").tolist()
    return [None if node < 0 else tree.labels[node] for node in found]


def test_open_leaves_hold_all_from_their_bound_on() -> None:
    leaves = {"18 or less": [], "[19, 30)": [], "90 or more": []}
    found = _codes(leaves, [-(2**31), 18, 19, 29, 30, 89, 90, 2**31 - 1, None])
    lower, upper, young = "18 or less", "90 or more", "[19, 30)"
    assert found == [lower, lower, young, young, None, None, upper, upper, None]
    assert _codes({"5 or less": [], "6 or more": []}, [5, 6, None]) == ["5 or less", "6 or more", None]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"18 or less": [], "[18, 30)": []}, "overlaps another"),
        ({"[10, 30)": [], "29 or more": []}, "overlaps another"),
        ({"20 or more": [], "30 or more": []}, "overlaps another"),
        ({"20 or less": [], "10 or less": []}, "overlaps another"),
        ({"young or less": [], "[18, 30)": []}, "not values of the column's type"),
        ({"[0, 99)": ["[0, 50)", "50 or more"], "[-9, 0)": []}, "reaches out"),
        ({"[0, 99)": ["[50, 70)", "49 or less"], "100 or more": []}, "reaches out"),
    ],
)
def test_open_leaves_that_cannot_be_are_refused(labels: dict[str, Any], words: str) -> None:
    with pytest.raises(ppdm_sql.PpdmError, match=words):
        _codes(labels, [1, 2])


def test_a_group_that_is_called_like_an_open_interval_is_a_group_of_any_values() -> None:
    tree = Taxonomy.from_dict({"*": {"60 years or more": ["[60, 70)", "[70, 99)"], "[0, 60)": []}})
    assert tree.is_interval
    assert [interval for interval in tree.intervals if interval is not None and interval.upper is None] == []
