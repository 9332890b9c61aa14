"""Attackers who model: trees that learn from a release, filters of noise, what is known of swaps."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import sqrt

from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.evaluation.compared_tables import compared_rows
from ppdm_sql.evaluation.encoding import EncodedTables, TrainTest
from ppdm_sql.evaluation.evaluating import misclassified
from ppdm_sql.methods.perturbation.correlations import THRESHOLD, deviation
from ppdm_sql.methods.perturbation.noise import AdditiveNoise, Noise, noise_of
from ppdm_sql.release import CatalogueRow
from ppdm_sql.release.layout import Shape
from ppdm_sql.risk.attempts import EXCEEDED, Attempt, beside_control, verdict_of, wilson

MOST = 20_000
"""Records of which trees are grown, and on which they are tried."""


def trained(
    engine: Engine,
    row: CatalogueRow,
    shape: Shape,
    target: str,
    tables: tuple[Table, Table | None],  # what the release was made from, and what was split off, if any
    seed: int,
) -> Attempt:
    """Train a tree on the released rows, and let it guess a column of records of which all others are known.

    Cost: two scans of the source and of the released rows for each table, and a tree.
    """
    source, control = tables
    _, released = compared_rows(engine, row, shape, source, target)
    (tried, guessed), (_, usual) = (_tried(engine, released, seed, learns=learns) for learns in (True, False))
    of = "trained tree", "every other released column", target, tried, guessed
    attempt = Attempt(*of, baseline=usual / tried)
    if control is None and tried == MOST:
        low, high = wilson(guessed, tried)
        return replace(attempt, interval=(low - usual / tried, high - usual / tried))
    if control is None:
        return attempt
    _, others = compared_rows(engine, row, shape, control, target)
    number, right = _tried(engine, others, seed, learns=True)
    return beside_control(attempt, right, number)


def _tried(engine: Engine, tables: TrainTest, seed: int, *, learns: bool) -> tuple[int, int]:
    """Count the records on which a tree is tried, and those that it guesses, or the usual value does."""
    coded = EncodedTables(engine, tables)
    assert coded.test is not None
    train, test = (coded.sample(t, seed=seed, most=MOST, folds=1) for t in (coded.train, coded.test))
    if not learns:
        train, test = (one.part(one.folds >= 0, []) for one in (train, test))
    number = int(test.records.sum())
    with warnings.catch_warnings():  # what is guessed may have nearly as many values as there are records
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        return number, number - misclassified(train, test, seed)


def settled_swaps(measures: Mapping[str, float | None], columns: list[str], by: str) -> Iterator[Attempt]:
    """Tell how many changed records a model of the truth settles, as the run measured."""
    for name in columns:
        for unit in ("record", "person"):
            changed = [
                measures.get(f"{how} identifiable {unit}s changed: {name}") or 0
                for how in ("uniquely", "collectively")
            ]
            settled = measures.get(f"changed {unit}s settled by a modelling attacker: {name}")
            if sum(changed) and settled is not None:
                knows = f"{by}; how {name} depends on them"
                yield Attempt("modelling", knows, f"which {unit}s were changed", int(sum(changed)), settled)


def filtered(measures: Mapping[str, float | None], columns: list[str], records: int) -> Iterator[Attempt]:
    """Tell what share of the noise all noisy columns remove together, beside each alone, as the run measured.

    Source: Kargupta, Datta, Wang, Sivakumar 2003, doi:10.1109/ICDM.2003.1250908.
    """
    for name in columns:
        alone = measures.get(f"noise that a column alone can remove: {name}")
        together = measures.get(f"noise that all noisy columns can remove: {name}")
        if alone is None or together is None:
            continue
        allowed = alone + THRESHOLD * (1 - alone)
        yield Attempt(
            *("spectral filter", "all noisy columns and their noise", f"{name} without its noise", records),
            share=together,
            baseline=alone,
            allowed=allowed,
            verdict=verdict_of(together, allowed, EXCEEDED),
        )


def averaged(engine: Engine, row: CatalogueRow, others: list[CatalogueRow]) -> Iterator[Attempt]:
    """Tell what share of the noise is gone where values of a record are averaged over several releases."""
    noises: list[tuple[CatalogueRow, dict[str, Noise]]] = []
    for one in (row, *others):
        same_key = any(_key(one) == _key(known) for known, _ in noises if _key(known) is not None)
        if one.method == "randomize" and not same_key:
            noises.append((one, noise_of(engine, one.release)))
    if len(noises) < 2 or noises[0][0] is not row:
        return
    for name, noise in noises[0][1].items():
        added = [(one, of[name]) for one, of in noises if isinstance(of.get(name), AdditiveNoise)]
        if len(added) < 2 or not isinstance(noise, AdditiveNoise):
            continue
        precision = sum(1 / deviation(of) ** 2 for _, of in added if isinstance(of, AdditiveNoise))
        removed = 1 - 1 / sqrt(precision) / deviation(noise)
        knows = f"which rows are of one record; has {', '.join(one.release for one, _ in added[1:])}"
        yield Attempt(
            *("averaging", knows, f"{name} without its noise", row.rows),
            share=removed,
            baseline=0.0,
            allowed=THRESHOLD,
            verdict=verdict_of(removed, THRESHOLD, EXCEEDED),
        )


def _key(row: CatalogueRow) -> object:
    """Give what decides whether noise is repeated; None where it never is."""
    known = row.parameters.get("key fingerprint")
    return None if known is None else (known, row.parameters.get("record"), row.parameters.get("person"))
