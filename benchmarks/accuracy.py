"""Test accuracy of trees from randomized values, after the paper's section 5: mean and deviation over seeds.

Training records of the synthetic generator are randomized column by column at a privacy level (95 %
confidence); a tree of each mode is grown from them and asked about test records as they are. In brackets
stands what a reference implementation reached, mean of three runs. The paper says that at 100 % its
algorithms come within 5 points of Original for the functions 1, 4 and 5, and within 15 for 2 and 3; the last
column gives the distance of the better of ByClass and Local.

    python benchmarks/accuracy.py                             everything: hours
    python benchmarks/accuracy.py --functions 1 2 --levels 100 --seeds 1 2 --records 20000
    python benchmarks/accuracy.py --functions 4 --kinds uniform --levels 100 --record
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

import duckdb
from figures import Cell
from rows import Measured, options_of, present

import ppdm_sql as ppdm
from ppdm_sql.methods.trees.model import MODES
from ppdm_sql.methods.trees.storing import accuracy

DOMAINS = {
    "salary": (20_000, 150_000), "commission": (0, 75_000), "age": (20, 80), "elevel": (0, 4), "car": (1, 20),
    "zipcode": (1, 9), "hvalue": (50_000, 1_350_000), "hyears": (1, 30), "loan": (0, 500_000),
}  # fmt: skip
LEVELS = (25, 50, 100, 200)
KINDS = ("gaussian", "uniform")
REFERENCE = {
    (1, "original"): 99.4, (2, "original"): 99.1, (3, "original"): 99.6, (4, "original"): 98.4,
    (5, "original"): 97.1,
    (1, "gaussian"): ((96, 97, 98, 98), (92, 94, 97, 97), (77, 88, 94, 94), (57, 85, 89, 89)),
    (1, "uniform"): ((94, 95, 99, 99), (84, 88, 99, 99), (50, 70, 98, 98), (50, 47, 97, 97)),
    (2, "gaussian"): ((96, 96, 97, 98), (92, 92, 91, 92), (81, 83, 80, 83), (67, 73, 73, 76)),
    (2, "uniform"): ((94, 94, 95, 97), (86, 87, 89, 89), (54, 62, 75, 83), (50, 53, 72, 76)),
    (3, "gaussian"): ((96, 96, 97, 98), (92, 93, 93, 93), (81, 85, 86, 86), (72, 73, 79, 82)),
    (3, "uniform"): ((94, 94, 97, 98), (79, 87, 91, 93), (64, 75, 83, 85), (50, 66, 82, 83)),
    (4, "gaussian"): ((97, 98, 97, 97), (96, 96, 96, 96), (93, 93, 93, 93), (88, 90, 91, 91)),
    (4, "uniform"): ((97, 97, 97, 97), (94, 94, 95, 95), (88, 90, 93, 93), (50, 75, 91, 91)),
    (5, "gaussian"): ((95, 95, 96, 96), (93, 94, 94, 94), (90, 91, 91, 92), (83, 88, 89, 89)),
    (5, "uniform"): ((94, 95, 95, 95), (92, 92, 93, 94), (83, 87, 91, 92), (51, 78, 89, 88)),
}  # fmt: skip
"""Per cent: of Original, and for each level Randomized, Global, ByClass, Local; 100,000 training records."""

Found = dict[str, list[float]]
"""Accuracy in per cent by mode, one a seed."""


def measured(db: ppdm.Database, table: str, mode: str) -> float:
    """Train on a table and give the accuracy on the test table in per cent."""
    model = db.train(table, class_column="class", into="bench", mode=mode, test="held")
    matrix = model.row().confusion
    model.drop()
    return 100 * accuracy(matrix)


def one_seed(
    function: int, seed: int, options: argparse.Namespace, found: dict[tuple[str, int], Found]
) -> None:
    """Add the accuracies of one seed to those of every kind and level."""
    with duckdb.connect(config={"threads": options.threads}) as con:
        db = ppdm.open(con)
        db.generate_agrawal("people", function=function, rows=options.records, seed=2 * seed)
        db.generate_agrawal("held", function=function, rows=options.test_records, seed=2 * seed + 1)
        original = measured(db, "people", "original") if "original" in options.modes else None
        for kind, level in found:
            noise = dict.fromkeys(DOMAINS, f"{kind} {level}%")
            release = db.randomize(
                "people", noise=noise, ranges=DOMAINS, class_column="class", into="safe", seed=seed
            )
            for mode in options.modes:
                reached = original if mode == "original" else measured(db, "safe", mode)
                found[kind, level].setdefault(mode, []).append(reached)
            release.drop()


def reference(function: int, kind: str, level: int, mode: str) -> str:
    """Give what the reference reached, in brackets."""
    if mode == "original":
        return f"({REFERENCE[function, mode]})"
    if level not in LEVELS:
        return ""
    return f"({REFERENCE[function, kind][LEVELS.index(level)][MODES.index(mode) - 1]})"


def line(function: int, kind: str, level: int, found: Found) -> tuple[dict[str, Cell], dict[str, Cell]]:
    """Give what the line is of, and its cells."""
    cells: dict[str, Cell] = {}
    for mode, reached in found.items():
        spread = f"±{statistics.stdev(reached):.1f}" if len(reached) > 1 else ""
        cells[mode] = (
            f"{statistics.fmean(reached):.1f}{spread} {reference(function, kind, level, mode)}".strip()
        )
    best = [statistics.fmean(found[mode]) for mode in ("byclass", "local") if mode in found]
    if "original" in found and best:
        cells["distance"] = round(statistics.fmean(found["original"]) - max(best), 1)
    return {"function": f"F{function}", "noise": kind, "privacy": level}, cells


def measured_lines(options: argparse.Namespace) -> Measured:
    """Give a line for each function, kind of noise and level, as soon as it is known."""
    for function in options.functions:
        found = {(kind, level): Found() for kind in options.kinds for level in options.levels}
        for seed in options.seeds:
            one_seed(function, seed, options, found)
        for (kind, level), reached in found.items():
            yield line(function, kind, level, reached)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table: means and deviations of several seeds, or what one seed gives."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--functions", type=int, nargs="*", default=range(1, 6), choices=range(1, 6))
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--levels", type=int, nargs="*", default=LEVELS, help="privacy in per cent")
    parser.add_argument("--modes", nargs="*", default=MODES, choices=MODES)
    parser.add_argument("--seeds", type=int, nargs="*", default=(1, 2, 3))
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--test-records", type=int, default=5_000)
    parser.add_argument("--threads", type=int, default=2)
    options = options_of(parser).parse_args(arguments)
    table = "accuracy" if len(options.seeds) > 1 else "accuracy-levels"
    present(table, options, measured_lines(options))


if __name__ == "__main__":
    main()
