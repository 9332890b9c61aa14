"""Where persons are counted, states measure as a brute force over persons does."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from ppdm_sql.engine import Engine
from ppdm_sql.methods.base.collapse import Atoms, collapse, counts_by_class
from ppdm_sql.methods.top_down.constraints import Constraints, constraints_of
from ppdm_sql.methods.top_down.cuts import Cuts, refined
from ppdm_sql.methods.top_down.interval_cuts import value_places
from ppdm_sql.methods.top_down.maskings import Generalization, Intervals, Masking, Suppression
from ppdm_sql.methods.top_down.persons import PersonMeasure
from ppdm_sql.privacy import parse
from ppdm_sql.taxonomy.model import Taxonomy
from ppdm_sql.taxonomy.tables import leaf_codes

PLACES = Taxonomy.from_dict({"any": {"north": ["a", "b"], "south": {"east": ["c", "d"], "west": ["e"]}}})
ASKED = [
    "k >= 1 on sex, place",
    "k >= 1 on place, age",
    "average risk <= 100% on place, age, sex",
    "sex, place -> ill = 'x' <= 100%",
    "sex, place -> ill = 'y' <= 100%",
    "distinct l >= 1 of ill on place, age",
    "entropy l >= 1 of ill on place, age",
    "recursive c = 99, l = 2 of ill on sex, place",
    "t <= 1 of ill on place, age",
    "t <= 1 of dose on sex, age",
    "beta <= 99 of ill on sex, place",
    "delta <= 99 of ill on sex, place",
]
Record = tuple[int, ...]


def engine_with(seed: int, records: int = 90, people: int = 25) -> Engine:
    draw = random.Random(seed)
    connection = duckdb.connect()
    connection.execute(
        """CREATE TABLE visits
        (sex VARCHAR, place VARCHAR, age INTEGER, ill VARCHAR, dose INTEGER, good VARCHAR, who INTEGER)"""
    )
    rows = [
        (
            *(draw.choice("mfn"), draw.choice("abcde"), draw.choice([1, 2, 3, 5, 8, None])),
            *(draw.choice("xyz"), draw.randrange(4), draw.choice("01"), draw.randrange(people)),
        )
        for _ in range(records)
    ]
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return Engine(connection)


def atoms_of(engine: Engine) -> Atoms:
    table = engine.find("visits")
    columns = [item for item in engine.columns(table) if item.name != "who"]
    return collapse(engine, table, columns, [], None, masked=(), symbol="*", person=["who"])


def maskings_of(engine: Engine, atoms: Atoms) -> list[Masking]:
    sex, place, age, *_ = atoms.coded
    counts = counts_by_class(engine, atoms, range(3), 5)
    leaves = leaf_codes(engine, place.table, PLACES, column="place")
    return [
        Suppression(sex, counts[0], "*"),
        Generalization(place, counts[1], PLACES, leaves),
        Intervals(age, counts[2], "*", places=value_places(engine, age, None)),
    ]


def path(cuts: Cuts, draw: random.Random) -> list[Cuts]:
    """The most general state, and finer ones."""
    found = [cuts]
    while len(found) < 7:
        opened = [(a, int(c)) for a, cut in enumerate(found[-1]) for c in cut.candidates]
        if not opened:
            break
        found.append(refined(found[-1], draw.choice(opened)))
    return found


def brute_force(engine: Engine, atoms: Atoms, cuts: Cuts) -> list[float]:
    """Every number from sets of persons."""
    rows = engine.query(f"SELECT c0, c1, c2, c3, c4, person FROM {atoms.table}", step="rows")
    labelled = [
        (*(int(cut.parts[code]) for cut, code in zip(cuts, row[:3], strict=True)), *row[3:]) for row in rows
    ]

    def sets(by: tuple[int, ...]) -> dict[Record, set[int]]:
        found: dict[Record, set[int]] = defaultdict(set)
        for row in labelled:
            found[tuple(row[place] for place in by)].add(row[5])
        return found

    def cells(by: tuple[int, ...], held: int) -> dict[Record, dict[int, int]]:
        found: dict[Record, dict[int, int]] = defaultdict(dict)
        for (*group, value), people in sets((*by, held)).items():
            found[tuple(group)][value] = len(people)
        return found

    everybody = len({row[5] for row in labelled})
    ill, dose = ({v: len(p) for (v,), p in sets((held,)).items()} for held in (3, 4))

    def confidence(value: int) -> float:
        people = sets((0, 1))
        return max(some.get(value, 0) / len(people[group]) for group, some in cells((0, 1), 3).items())

    def entropy(some: dict[int, int]) -> float:
        shares = [n / sum(some.values()) for n in some.values()]
        return math.exp(-sum(share * math.log(share) for share in shares))

    def ratio(some: dict[int, int]) -> float:
        rest = sum(some.values()) - max(some.values())
        return max(some.values()) / rest if rest else math.inf

    def gaps(some: dict[int, int], whole: dict[int, int]) -> list[Fraction]:
        return [
            Fraction(some.get(v, 0), sum(some.values())) - Fraction(whole[v], sum(whole.values()))
            for v in sorted(whole)
        ]

    def ordered(steps: list[Fraction]) -> Fraction:
        return sum((abs(sum(steps[:n], Fraction(0))) for n in range(1, len(steps))), Fraction(0)) / (
            len(steps) - 1
        )

    changes = [
        (Fraction(some.get(v, 0), len(sets((0, 1))[group])), Fraction(ill[v], everybody))
        for group, some in cells((0, 1), 3).items()
        for v in ill
    ]
    return [
        min(map(len, sets((0, 1)).values())),
        min(map(len, sets((1, 2)).values())),
        len(sets((0, 1, 2))) / everybody,
        *(confidence(value) for value in (0, 1)),
        min(map(len, cells((1, 2), 3).values())),
        min(entropy(some) for some in cells((1, 2), 3).values()),
        max(ratio(some) for some in cells((0, 1), 3).values()),
        max(sum(map(abs, gaps(some, ill))) / 2 for some in cells((1, 2), 3).values()),
        max(ordered(gaps(some, dose)) for some in cells((0, 2), 4).values()),
        max((p - q) / q for p, q in changes),
        max(abs(math.log2(p / q)) if p else math.inf for p, q in changes),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_states_and_candidates_measure_as_brute_force_does(seed: int) -> None:
    engine = engine_with(seed)
    atoms = atoms_of(engine)
    maskings = maskings_of(engine, atoms)
    gauges = Constraints(constraints_of(engine, atoms, [parse(text) for text in ASKED], []), 3, persons=True)
    measure = PersonMeasure(engine, atoms, gauges, classes=5)
    for cuts in path(tuple(masking.top for masking in maskings), random.Random(seed)):
        known = measure.state(cuts)
        assert known.tolist() == pytest.approx([float(n) for n in brute_force(engine, atoms, cuts)])
        candidates = [(a, int(c)) for a, cut in enumerate(cuts) for c in cut.candidates]
        if candidates:
            wanted = [[float(n) for n in brute_force(engine, atoms, refined(cuts, c))] for c in candidates]
            assert measure.after(cuts, known, candidates).tolist() == [pytest.approx(row) for row in wanted]


@pytest.mark.parametrize("seed", range(3))
def test_the_source_measures_as_brute_force_does(seed: int) -> None:
    engine = engine_with(seed)
    atoms = atoms_of(engine)
    gauges = Constraints(constraints_of(engine, atoms, [parse(text) for text in ASKED], []), 3, persons=True)
    found = PersonMeasure(engine, atoms, gauges).detail()

    class Whole:
        def __init__(self, size: int) -> None:
            self.parts = np.arange(size)

    whole = tuple(Whole(atoms.coded[position].size) for position in range(3))
    assert found.tolist() == pytest.approx([float(n) for n in brute_force(engine, atoms, whole)])  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_boundaries_that_break_a_limit_are_those_of_brute_force(seed: int) -> None:
    engine = engine_with(seed)
    atoms = atoms_of(engine)
    maskings = maskings_of(engine, atoms)
    asked = [
        "k >= 6 on place, age",
        "distinct l >= 3 of ill on place, age",
        "average risk <= 30% on age, sex",
    ]
    for text in asked:
        gauges = Constraints(constraints_of(engine, atoms, [parse(text)], []), 3, persons=True)
        measure = PersonMeasure(engine, atoms, gauges)
        cuts = tuple(masking.top for masking in maskings)
        cuts = refined(cuts, (1, int(cuts[1].candidates[0])))
        known = measure.state(cuts)
        part = cuts[2].parts
        inside = 1 + np.flatnonzero(part[1:] == part[:-1])
        found = set(measure.invalid_boundaries(cuts, known, 2, part, inside).tolist())
        wanted = set()
        for boundary in inside.tolist():
            halves = refined(cuts, (2, boundary))
            numbers = measure.state(halves)
            assert halves[2].parts.max() == 1
            if not gauges.valid(numbers):
                wanted.add(boundary)
        assert found == wanted
