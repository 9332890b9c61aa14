"""A fault planted in what a method uses is refused by the audit, which uses none of it.

Left out, since nothing that is promised changes: `is_packed` and the order of codes (how rows are stored),
the dictionaries of the collapse (any numbering of the values will do), how noise is resolved from what was
asked (the release records, and keeps, what was made of it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import duckdb
import numpy as np
import pytest
from sqlglot import exp

import ppdm_sql
from ppdm_sql.engine.names import Table
from ppdm_sql.engine.statements import sql
from ppdm_sql.errors import GuaranteeNotMet

METHODS = "ppdm_sql.methods."
Plant = Callable[[Any], Any]
"""Makes a faulty function of the true one."""


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """People of whom 200 are alone with their age and sex, and 120 stand in groups that share their pay."""
    with duckdb.connect() as opened:
        opened.execute(
            """
            CREATE TABLE t AS SELECT
                i AS id, 'person ' || i // 2 AS name, if(i < 200, i, 200 + i % 30) AS age,
                ['f', 'm'][1 + i % 2]::ENUM ('m', 'f') AS sex,
                if(i < 200, [0, 5, 10, 15, 20][1 + (hash(i) % 5)::INTEGER], 5 * (i % 30 % 5)) AS pay,
                ['cook', 'nurse', 'lawyer', 'it''s, well'][1 + if(i % 10 < 8, 0, i % 4)] AS job,
                ((i * 17) % 10000 / 100)::DECIMAL(8, 2) AS share, i % 101 / 7 AS hours,
                ['yes', 'no'][1 + i % 3 % 2] AS class
            FROM range(320) AS r (i)
            """
        )
        yield opened


PEOPLE = {"name": "pseudonym"}


def swapped(db: ppdm_sql.Database) -> ppdm_sql.Release:
    return db.swap(
        "t", confidential="pay", by=["age"], keep=["sex", "job"], bins={"pay": [-5, 5, 10, 15, 25]},
        identifiers=PEOPLE, into="safe", proportion=0.5, seed=1,
    )  # fmt: skip


def randomized(db: ppdm_sql.Database) -> ppdm_sql.Release:
    noise = {
        "age": "uniform 30 on 0,229 whole rounded",
        "hours": "gaussian 5 on 0,15",
        "pay": "cells 0,5,10,15,20",
        "job": "retain 0.5 of cook,nurse,lawyer,'it''s, well'",
    }
    return db.randomize(
        "t", noise=noise, keep=["sex"], class_column="class", into="safe", seed=1, identifiers=PEOPLE
    )


def suppressed(db: ppdm_sql.Database) -> ppdm_sql.Release:
    people = {"name": "pseudonym", "id": "drop"}
    keep = ["sex", "hours"]
    return db.suppress(
        "t", ["k >= 4 on age"], class_column="class", keep=keep, identifiers=people, into="safe"
    )


def generalized(db: ppdm_sql.Database) -> ppdm_sql.Release:
    trees: dict[str, Any] = {
        "job": {"ANY": {"hands": ["cook", "nurse"], "head": ["lawyer", "it's, well"]}},
        "age": {"[0, 300)": {"[0, 150)": ["[0, 75)", "[75, 150)"], "[150, 300)": []}},
    }
    return db.generalize(
        "t", ["k >= 20 on pay, job, age"], class_column="class", keep=["sex"], taxonomies=trees, into="safe",
        interval_columns=True,
    )  # fmt: skip


RUNS: dict[str, Callable[[ppdm_sql.Database], ppdm_sql.Release]] = {
    "swap": swapped,
    "randomize": randomized,
    "suppress": suppressed,
    "generalize": generalized,
}


@dataclass(frozen=True)
class Fault:
    """A fault planted in one function."""

    place: str  # module, below the methods, and name
    plant: Plant  # what becomes of it
    words: str = "not what was promised"  # what the audit says


def shifted(real: Any) -> Any:
    """Bins whose bounds are off by one."""
    return lambda value, *rest: real(
        exp.Paren(this=exp.Sub(this=value.copy(), expression=exp.convert(1))), *rest
    )


def without_row(real: Any) -> Any:
    """Rows of which one is dropped."""
    return lambda *given: f"SELECT * FROM ({real(*given)}) AS r OFFSET 1"


def numbered(select: str) -> Plant:
    """Rows that are selected from ``r``, of which each has its ``place``."""
    rows = "FROM (SELECT *, row_number() OVER () AS place FROM ({}) AS x) AS r"
    return lambda real: lambda *given: select.replace("FROM r", rows.format(real(*given)))


FIRST_ROW_TWICE = numbered(
    "SELECT r.* EXCLUDE (place) FROM r "
    "JOIN (SELECT if(i = 320, 1, i) AS i FROM (SELECT unnest(range(1, 321)) AS i)) AS n ON n.i = r.place"
)
"""Rows of which the last shows what the first does."""


def in_first_row(name: str, value: str) -> Plant:
    """Rows of which the first shows another value in a column."""
    change = f"CASE WHEN place = 1 THEN {value} ELSE {name} END AS {name}"
    return numbered(f"SELECT * EXCLUDE (place) REPLACE ({change}) FROM r")


def rewritten_text(change: str) -> Plant:
    """Rows of which all show something else."""
    return lambda real: lambda *given: f"SELECT * REPLACE ({change}) FROM ({real(*given)}) AS r"


def moved_on(name: str) -> Plant:
    """Rows of which one column goes on to the next record, and in the last back to the first."""
    change = f"coalesce(lag({name}) OVER w, max(CASE place WHEN 320 THEN {name} END) OVER ()) AS {name}"
    return numbered(f"SELECT * EXCLUDE (place) REPLACE ({change}) FROM r WINDOW w AS (ORDER BY place)")


def moved(name: str) -> Plant:
    """Rows of which one column is exchanged between first and last."""
    ends = f"CASE place WHEN 1 THEN last({name}) OVER w WHEN 320 THEN first({name}) OVER w ELSE {name} END"
    whole = "WINDOW w AS (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    return numbered(f"SELECT * EXCLUDE (place) REPLACE ({ends} AS {name}) FROM r {whole}")


def other_order(real: Any) -> Any:
    """A column whose ENUM is read in another order: m for f."""

    def faulty(value: exp.Expression, *rest: Any) -> exp.Expression:
        arguments = [exp.cast(value, "TEXT"), exp.convert("fm"), exp.convert("mf")]
        return exp.Anonymous(this="translate", expressions=arguments)

    return faulty


def no_lower_bound(real: Any) -> Any:
    return lambda *given, **named: real(*given, **named).replace("'[' || b.lower", "'[1' || b.lower")


def other_leaves(real: Any) -> Any:
    return lambda *given, **named: np.roll(real(*given, **named), 1)


def other_tops(real: Any) -> Any:
    return lambda *given: dict.fromkeys(real(*given), "top")


def rewritten(change: str) -> Plant:
    """A table in which something was changed after it was made."""

    def plant(real: Any) -> Any:
        def faulty(engine: Any, *given: Any, **named: Any) -> Any:
            made = real(engine, *given, **named)
            table = made if isinstance(made, Table) else made.table
            changed = engine.materialize("faulty", f"SELECT * REPLACE ({change}) FROM {table}")
            return changed if isinstance(made, Table) else replace(made, table=changed)

        return faulty

    return plant


def selected(rows: str) -> Plant:
    """A table of which other rows, a SELECT from ``made``, are recorded."""

    def plant(real: Any) -> Any:
        def faulty(engine: Any, *given: Any) -> Any:
            return engine.materialize("faulty", f"WITH made AS (FROM {real(engine, *given)}) {rows}")

        return faulty

    return plant


def one_less(real: Any) -> Any:
    """Counts of which one is short by a record."""

    def faulty(*given: Any) -> Any:
        counts = real(*given)
        name, inner = next(iter(counts.items()))
        if isinstance(inner, dict):
            first = next(iter(inner))
            return counts | {name: inner | {first: inner[first] - 1}}
        return counts | {name: inner - 1}

    return faulty


def times(factor: float) -> Plant:
    return lambda real: (
        lambda value: real(value * factor) if isinstance(value, float) else real(value) * factor
    )


def rolled(real: Any) -> Any:
    """A mapping of codes that is off by one."""
    return lambda name, numbers, *rest: real(name, np.roll(numbers, 1), *rest)


def same_pseudonym(real: Any) -> Any:
    return lambda value, *rest: real(exp.Anonymous(this="left", expressions=[value, exp.convert(8)]), *rest)


def digest(real: Any) -> Any:
    """Pseudonyms that everybody can compute."""
    return lambda value, *rest: exp.Anonymous(this="md5", expressions=[exp.cast(value, "TEXT")])


def other_code(real: Any) -> Any:
    """A collapse that takes the second value for the first."""
    return lambda *given: sql("greatest({code}, CAST(1 AS USMALLINT))", code=real(*given))


def other_moments(real: Any) -> Any:
    def faulty(*given: Any) -> Any:
        return {
            name: found._replace(deviation=found.deviation * 1.01) for name, found in real(*given).items()
        }

    return faulty


def all_values_one_bin_on(real: Any) -> Any:
    def faulty(it: Any, *rest: Any) -> Any:
        if hasattr(it.noise, "edges"):
            edges = tuple(edge + 5 for edge in it.noise.edges)
            it = replace(it, noise=replace(it.noise, edges=edges))
        return real(it, *rest)

    return faulty


def other(name: str, change: Plant) -> Plant:
    """Noise of which one thing is another."""

    def faulty(noise: Any) -> Any:
        return replace(noise, **{name: change(getattr(noise, name))}) if hasattr(noise, name) else noise

    return lambda real: lambda noise: real(faulty(noise))


def always_kept(real: Any) -> Any:
    def faulty(it: Any, value: str, draw: str) -> Any:
        return real(it, value, f"({draw} / 2)" if hasattr(it.noise, "probability") else draw)

    return faulty


def finer(real: Any) -> Any:
    return lambda noise: real(noise) / 1024


OTHER_LABELS = (
    "CASE label "
    "WHEN 'hands' THEN 'head' WHEN 'head' THEN 'hands' "
    "WHEN '[0, 150)' THEN '[150, 300)' WHEN '[150, 300)' THEN '[0, 150)' "
    "WHEN '[0, 75)' THEN '[75, 150)' WHEN '[75, 150)' THEN '[0, 75)' "
    "ELSE label END AS label"
)
"""Nodes that exchange their labels."""
FAULTS = {
    "swap": {
        "a bound of the bins": Fault("swapping.discretization:bin_label", shifted),
        "a column read in the wrong order": Fault("base.run:without_enum", other_order),
        "a code of the collapse": Fault("base.collapse:_code", other_code),
        "a swapped row": Fault("swapping.swap:apply_moves", rewritten("(c0 // 2)::USMALLINT AS c0")),
        "rows": Fault("swapping.swap:released_rows", without_row, "promised"),
        "pseudonyms that two values share": Fault("base.run:pseudonym", same_pseudonym),
        "pseudonyms without a key": Fault("base.run:pseudonym", digest, "can be computed"),
        "pseudonyms on other records": Fault(
            "swapping.swap:released_rows", moved("name"), "not one for each"
        ),
        "a marginal": Fault("swapping.swap:SwapRun._marginal", one_less, "would not verify"),
    },
    "randomize": {
        "a bound of the cells": Fault("perturbation.noisy_rows:_noisy_value", all_values_one_bin_on),
        "the scale of the noise": Fault("perturbation.noisy_rows:_double", times(3.0)),
        "the unit of rounding": Fault("perturbation.noisy_rows:rounding_of", finer),
        "the share of categories kept": Fault("perturbation.noisy_rows:_noisy_value", always_kept),
        "the scale in the record": Fault(
            "perturbation.randomize:as_text", other("scale", lambda scale: 2 * scale)
        ),
        "the probability in the record": Fault(
            "perturbation.randomize:as_text", other("probability", lambda _: 0.95)
        ),
        "the edges in the record": Fault(
            "perturbation.randomize:as_text", other("edges", lambda edges: (0, 6, *edges[2:]))
        ),
        "the scale in the parameters": Fault(
            "perturbation.randomize:as_json", other("scale", lambda scale: 2 * scale)
        ),
        "the values in the parameters": Fault(
            "perturbation.randomize:as_json", other("values", lambda values: values[::-1])
        ),
        "a column read in the wrong order": Fault("perturbation.randomize:without_enum", other_order),
        "rows": Fault("perturbation.randomize:ordered_rows", without_row, "promised"),
        "pseudonyms that two values share": Fault("perturbation.randomize:pseudonym", same_pseudonym),
        "values in the place of pseudonyms": Fault(
            "perturbation.randomize:pseudonym",
            lambda real: lambda value, *_: value,
            "160 values .* not pseudonyms",
        ),
        "pseudonyms on other records": Fault(
            "perturbation.randomize:ordered_rows", moved_on("name"), "not one for each"
        ),
        "moments": Fault("perturbation.randomize:moments_of", other_moments, "would not verify .*deviations"),
        "a marginal": Fault("perturbation.randomize:value_counts", one_less, "would not verify"),
    },
    "suppress": {
        "a code of the collapse": Fault("base.collapse:_code", other_code),
        "a column read in the wrong order": Fault("base.run:without_enum", other_order),
        "labels of values": Fault(
            "top_down.outcome:label_table", rewritten("if(label = '205', '206', label) AS label")
        ),
        "codes of labels": Fault("base.released_rows:recoded", rolled, "promised|break"),
        "rows": Fault("top_down.run:released_rows", without_row, "promised|break"),
        "a row twice in place of another": Fault(
            "top_down.run:released_rows", FIRST_ROW_TWICE, "promised|break"
        ),
        "a kept value on another record": Fault("top_down.run:released_rows", moved("hours")),
        "a value in one record": Fault(
            "top_down.run:released_rows", in_first_row("age", "if(age = '*', '205', '*')"), "promised|break"
        ),
        "columns said to show nothing": Fault(
            "top_down.outcome:Outcome.shows", lambda real: lambda *_: "top"
        ),
        "columns said to show everything": Fault(
            "top_down.outcome:Outcome.shows", lambda real: lambda *_: "values"
        ),
        "pseudonyms that two values share": Fault("base.run:pseudonym", same_pseudonym),
        "pseudonyms on other records": Fault("top_down.run:released_rows", moved("name"), "not one for each"),
        "values in the place of pseudonyms": Fault(
            "base.run:pseudonym", lambda real: lambda value, *_: value, "160 values .* not pseudonyms"
        ),
        "pseudonyms without a key": Fault("base.run:pseudonym", digest, "can be computed"),
        "the recorded cut": Fault(
            "top_down.run:cut_rows", rewritten("'cook' AS generalized"), "recorded otherwise"
        ),
        "a value missing in the recorded cut": Fault(
            "top_down.run:cut_rows", selected("FROM made WHERE value <> '7'"), "1 value is recorded"
        ),
        "a value of nobody in the recorded cut": Fault(
            "top_down.run:cut_rows",
            selected("FROM made UNION ALL SELECT 'age', '777', '*'"),
            "1 value is recorded",
        ),
        "a value twice in the recorded cut": Fault(
            "top_down.run:cut_rows",
            selected("FROM made UNION ALL SELECT 'age', '7', '777'"),
            "1 value is recorded",
        ),
    },
    "generalize": {
        "labels of nodes": Fault("top_down.outcome:label_table", rewritten(OTHER_LABELS)),
        "bounds of grown intervals": Fault("top_down.outcome:bind", no_lower_bound, "promised|verify"),
        "leaves": Fault("top_down.generalize:leaf_codes", other_leaves),
        "codes of nodes": Fault("base.released_rows:recoded", rolled, "promised|break"),
        "bounds beside labels": Fault(
            "top_down.outcome:label_table", rewritten("upper AS lower"), "nodes of the taxonomies"
        ),
        "rows": Fault("top_down.run:released_rows", without_row, "promised"),
        "a row twice in place of another": Fault("top_down.run:released_rows", FIRST_ROW_TWICE),
        "a class on another record": Fault("top_down.run:released_rows", moved("class")),
        "a label on another record": Fault(
            "top_down.run:released_rows", moved("age"), "promised|break|verify"
        ),
        "a label too fine": Fault(
            "top_down.run:released_rows", in_first_row("job", "'cook'"), "promised|break"
        ),
        "labels too fine": Fault(
            "top_down.run:released_rows",
            rewritten_text("if(job = 'ANY', 'cook', job) AS job"),
            "promised|break",
        ),
        "columns said to show nothing": Fault(
            "top_down.outcome:Outcome.shows", lambda real: lambda *_: "top"
        ),
        "columns said to show everything": Fault(
            "top_down.outcome:Outcome.shows", lambda real: lambda *_: "values"
        ),
        "labels in the recorded taxonomies": Fault(
            "top_down.run:tree_rows", rewritten(OTHER_LABELS), "nodes of the taxonomies"
        ),
        "parents in the recorded taxonomies": Fault(
            "top_down.run:tree_rows", rewritten("nullif(parent, 1) AS parent"), "nodes of the tax"
        ),
        "marks in the recorded taxonomies": Fault(
            "top_down.run:tree_rows", rewritten("NOT shown AS shown"), "nodes of the taxonomies"
        ),
        "tops": Fault("top_down.run:top_labels", other_tops, "would not verify"),
        "the recorded cut": Fault(
            "top_down.run:cut_rows", rewritten("'hands' AS generalized"), "recorded otherwise"
        ),
        "a number missing in the recorded cut": Fault(
            "top_down.run:cut_rows", selected("FROM made WHERE value <> '7'"), "1 value is rec"
        ),
        "a leaf missing in the recorded cut": Fault(
            "top_down.run:cut_rows", selected("FROM made WHERE value <> 'cook'"), "1 value is rec"
        ),
        "an attribute missing in the recorded cut": Fault(
            "top_down.run:cut_rows", selected("FROM made WHERE attribute <> 'job'"), "4 values is"
        ),
    },
}


def planted(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    module, names = fault.place.split(":")
    *path, name = names.split(".")
    holder: Any = import_module(METHODS + module)
    for part in path:
        holder = getattr(holder, part)
    monkeypatch.setattr(holder, name, fault.plant(getattr(holder, name)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("run", "name"), [(run, name) for run, faults in FAULTS.items() for name in faults])
def test_a_planted_fault_is_refused(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, run: str, name: str
) -> None:
    fault = FAULTS[run][name]
    planted(monkeypatch, fault)
    with pytest.raises(GuaranteeNotMet, match=fault.words):
        RUNS[run](ppdm_sql.open(con))
    assert ppdm_sql.open(con).releases() == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RUNS)
def test_without_a_fault_the_same_runs_publish_and_verify(con: duckdb.DuckDBPyConnection, name: str) -> None:
    assert RUNS[name](ppdm_sql.open(con)).verify().holds
