"""States are measured in several ways, which must agree: along a path, and candidates beside a state."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

from ppdm_sql.engine import Engine
from ppdm_sql.examples import creation
from ppdm_sql.methods.base.collapse import Atoms, collapse, counts_by_class
from ppdm_sql.methods.top_down.constraints import Constraints, constraints_of
from ppdm_sql.methods.top_down.cuts import Cuts
from ppdm_sql.methods.top_down.interval_cuts import value_places
from ppdm_sql.methods.top_down.maskings import Generalization, Intervals, Masking, Suppression
from ppdm_sql.methods.top_down.measuring import Measure
from ppdm_sql.privacy import parse
from ppdm_sql.taxonomy.model import Taxonomy
from ppdm_sql.taxonomy.tables import leaf_codes

JOBS = Taxonomy.from_dict(
    {
        "ANY": {
            "Blue-collar": {"Non-Technical": ["Janitor", "Mover"], "Technical": ["Carpenter", "Technician"]},
            "White-collar": {"Manager": [], "Professional": ["Accountant", "Lawyer"]},
        }
    }
)
EVERY_KIND = [
    "k >= 1 on Sex, Job",
    "k >= 1 on Job, Salary",
    "Job, Salary, Sex -> Class <= 100%",
    "distinct l >= 1 of Class on Sex, Job",
    "entropy l >= 1 of Class on Sex, Job, Salary",
    "t <= 1 of Class on Job, Salary",
    "t <= 1 of Age on Job, Sex",
]


@pytest.fixture
def engine() -> Engine:
    connection = duckdb.connect()
    connection.execute(creation("employees"))
    connection.execute("CREATE TABLE people AS SELECT *, length(Job) + Salary % 7 AS Age FROM employees")
    return Engine(connection)


def atoms_of(engine: Engine) -> Atoms:
    table = engine.find("people")
    columns = {column.name: column for column in engine.columns(table)}
    coded = [columns[name] for name in ("Sex", "Job", "Salary", "Class", "Age")]
    return collapse(engine, table, coded, [], "n", masked=(), symbol="*")


def recodings_of(engine: Engine, atoms: Atoms) -> list[Masking]:
    sex, job, salary, *_ = atoms.coded
    counts = counts_by_class(engine, atoms, range(3), 3)
    leaves = leaf_codes(engine, job.table, JOBS, column="Job")
    return [
        Suppression(sex, counts[0], "*"),
        Generalization(job, counts[1], JOBS, leaves),
        Intervals(salary, counts[2], "*", places=value_places(engine, salary, None)),
    ]


def refined(cuts: Cuts, attribute: int, candidate: int) -> Cuts:
    return (*cuts[:attribute], cuts[attribute].refine(candidate), *cuts[attribute + 1 :])


def states(cuts: Cuts) -> list[Cuts]:
    """The most general state, and some finer ones."""
    found = [cuts]
    for attribute in (1, 2, 1, 2, 2):
        cut = found[-1][attribute]
        found.append(refined(found[-1], attribute, int(cut.candidates[0])))
    return found


def test_candidates_measure_as_the_states_that_they_lead_to(engine: Engine) -> None:
    atoms = atoms_of(engine)
    recodings = recodings_of(engine, atoms)
    gauges = Constraints(constraints_of(engine, atoms, [parse(text) for text in EVERY_KIND], []), 3)
    measure = Measure(engine, atoms, gauges, classes=3)
    for state in states(tuple(recoding.top for recoding in recodings)):
        candidates = [(a, int(c)) for a, cut in enumerate(state) for c in cut.candidates]
        after = [measure.state(refined(state, a, c)) for a, c in candidates]
        assert len(candidates) > 3
        assert measure.after(state, measure.state(state), candidates) == pytest.approx(np.array(after))


def test_states_measure_as_brute_force_does(engine: Engine) -> None:
    atoms = atoms_of(engine)
    recodings = recodings_of(engine, atoms)
    gauges = Constraints(constraints_of(engine, atoms, [parse(text) for text in EVERY_KIND], []), 3)
    measure = Measure(engine, atoms, gauges, classes=3)
    for cuts in states(tuple(recoding.top for recoding in recodings)):
        found = measure.state(cuts)
        assert [round(float(x), 9) for x in found] == [round(x, 9) for x in brute_force(engine, atoms, cuts)]


def test_a_path_measures_as_the_states_on_it_and_those_after_rivals(engine: Engine) -> None:
    atoms = atoms_of(engine)
    sex, job, _ = recodings_of(engine, atoms)
    salary = Suppression(atoms.coded[2], counts_by_class(engine, atoms, [2], 3)[2], "*")
    gauges = Constraints(constraints_of(engine, atoms, [parse(text) for text in EVERY_KIND], []), 3)
    measure = Measure(engine, atoms, gauges, classes=3)
    top = (sex.top, job.top, salary.top)
    for cuts in (top, refined(refined(top, 1, int(job.top.candidates[0])), 0, 0)):
        rivals = [(1, int(c)) for c in cuts[1].candidates]
        known = measure.state(cuts)
        pairs = list(zip(rivals, measure.after(cuts, known, rivals), strict=True))
        disclosed = [int(c) for c in cuts[2].candidates[::-1]]
        assert len(disclosed) > 3
        found, beside = measure.path(cuts, known, 2, disclosed, pairs)
        for place, code in enumerate(disclosed):
            cuts = refined(cuts, 2, code)
            assert found[place] == pytest.approx(measure.state(cuts))
            wanted = np.array([measure.state(refined(cuts, *rival)) for rival in rivals])
            assert beside[:, place] == pytest.approx(wanted)


def brute_force(engine: Engine, atoms: Atoms, cuts: Cuts) -> list[float]:
    rows = engine.query(f"SELECT c0, c1, c2, c3, c4, sum(n) FROM {atoms.table} GROUP BY ALL", step="rows")
    records = [
        (*(int(cut.parts[code]) for cut, code in zip(cuts, row[:3], strict=True)), *row[3:5])
        for row in rows
        for _ in range(row[5])
    ]
    crowds = [len(min(groups(records, by).values(), key=len)) for by in ((0, 1), (1, 2))]
    every = groups(records, (0, 1, 2)).values()
    confidences = [max(share(group, 3, code) for group in every) for code in (0, 1)]
    distinct = min(len({record[3] for record in group}) for group in groups(records, (0, 1)).values())
    entropies = min(diversity(group) for group in every)
    equal = max(equal_distance(group, records) for group in groups(records, (1, 2)).values())
    ordered = max(ordered_distance(group, records) for group in groups(records, (0, 1)).values())
    return [*crowds, *confidences, distinct, entropies, equal, ordered]


def groups(records: list[tuple[int, ...]], by: tuple[int, ...]) -> dict[Any, list[tuple[int, ...]]]:
    found: dict[Any, list[tuple[int, ...]]] = {}
    for record in records:
        found.setdefault(tuple(record[place] for place in by), []).append(record)
    return found


def share(group: list[tuple[int, ...]], place: int, code: int) -> float:
    return sum(record[place] == code for record in group) / len(group)


def diversity(group: list[tuple[int, ...]]) -> float:
    shares = [share(group, 3, code) for code in (0, 1)]
    return float(np.exp(-sum(p * np.log(p) for p in shares if p)))


def equal_distance(group: list[tuple[int, ...]], records: list[tuple[int, ...]]) -> float:
    return sum(abs(share(group, 3, code) - share(records, 3, code)) for code in (0, 1)) / 2


def ordered_distance(group: list[tuple[int, ...]], records: list[tuple[int, ...]]) -> float:
    codes = range(1 + max(record[4] for record in records))
    moved = [
        sum(share(group, 4, code) - share(records, 4, code) for code in range(last + 1)) for last in codes
    ]
    return sum(map(abs, moved)) / (len(codes) - 1)
