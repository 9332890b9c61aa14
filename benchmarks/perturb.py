"""Perturbation: noise and training on the nine attributes of the synthetic persons.

- noise: what secure noise costs beside an insecure Box-Muller on SQL's random(), both a CREATE TABLE AS of
  the nine columns; and the whole run of `randomize`, with its measures, audit and catalogue.
- training: every mode, beside scikit-learn's tree on the same noisy values, at the same depth and least node,
  and beside the numpy reference of the tests. Reading and storing the model are part of it.

Everything of one size happens in one process, in turns where it is short.

    python benchmarks/perturb.py                                        100 thousand, 1 and 10 million records
    python benchmarks/perturb.py --what training --records 1000000 --modes byclass local --reference
    python benchmarks/perturb.py --what noise --records 1000000 --against ../released --record
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import duckdb
import numpy as np
from figures import Cell
from rows import Cells, Measured, options_of, present

import ppdm_sql as ppdm
from ppdm_sql.engine.source import key_table
from ppdm_sql.methods.perturbation.noise import parse_noise, resolve_noise
from ppdm_sql.methods.perturbation.noise_draws import Draw, Draws, Key
from ppdm_sql.methods.trees.model import MODES

DOMAINS = {
    "salary": (20_000, 150_000), "commission": (0, 75_000), "age": (20, 80), "elevel": (0, 4), "car": (1, 20),
    "zipcode": (1, 9), "hvalue": (50_000, 1_350_000), "hyears": (1, 30), "loan": (0, 500_000),
}  # fmt: skip
WHOLE = ("elevel", "car", "zipcode")
SIZES = (100_000, 1_000_000, 10_000_000)
WHAT = ("noise", "training")


def noise_texts(kind: str, level: int) -> dict[str, str]:
    """Give the noise of the nine columns in the language."""
    return {
        name: f"{kind} {level}% on {low},{high}" + " whole" * (name in WHOLE)
        for name, (low, high) in DOMAINS.items()
    }


def timed(work: Callable[[], object]) -> float:
    """Give the wall seconds of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def median(work: Callable[[], object], repeat: int) -> float:
    """Give the median of some calls."""
    return statistics.median(timed(work) for _ in range(repeat))


class Bench:
    """One size: the originals in ``people``, the noisy values in ``noisy``.

    Args:
        records: How many.
        options: The options.
    """

    def __init__(self, records: int, options: argparse.Namespace) -> None:
        self.records, self.options = records, options
        self.con = duckdb.connect(config={"threads": options.threads})
        self.db = ppdm.open(self.con)
        self.db.generate_agrawal("people", function=options.function, rows=records, seed=1)
        self.noise = noise_texts(options.kind, options.level)
        self.models = {
            name: resolve_noise(parse_noise(f"{name}={text}")) for name, text in self.noise.items()
        }
        self.secure("noisy")

    def secure(self, into: str) -> None:
        """Add noise as the product draws it."""
        normal = self.options.kind == "gaussian"
        columns = [Draw(name, self.noise[name], normal=normal) for name in DOMAINS]
        draws, draw = Draws(Key(b"k" * 32, "no"), columns, ["row"]), "d{}" if normal else "(2 * d{} - 1)"
        shown = ", ".join(
            f"{name} + {self.models[name].scale!r} * {draw.format(place)} AS {name}"
            for place, name in enumerate(DOMAINS)
        )
        engine = self.db.engine
        with engine.workspace():
            keys = key_table(engine, draws.keys("k"))
            hashes = ", ".join(draws.hashes("s.rowid::VARCHAR", "k"))
            drawn = draws.select(f"SELECT s.*, {hashes} FROM people AS s CROSS JOIN {keys} AS k")
            self.con.execute(f"CREATE OR REPLACE TABLE {into} AS SELECT {shown}, class FROM ({drawn})")

    def insecure(self) -> None:
        """Add noise by Box-Muller on random(), or by random() itself."""
        draw = "(2 * random() - 1)"
        if self.options.kind == "gaussian":
            draw = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
        shown = ", ".join(f"{name} + {self.models[name].scale!r} * {draw} AS {name}" for name in DOMAINS)
        self.con.execute(f"CREATE OR REPLACE TABLE insecure AS SELECT {shown}, class FROM people")

    def noise_rows(self) -> Measured:
        """Measure the noise."""
        floor = median(self.insecure, self.options.repeat)
        yield self.row("insecure noise", floor)
        seconds = median(lambda: self.secure("noisy"), self.options.repeat)
        yield self.row("secure noise", seconds, insecure=seconds / floor)
        whole = median(self.randomize, 1)
        yield self.row("randomize, whole run", whole, insecure=whole / floor)

    def row(self, what: str, seconds: float, **ratios: float) -> tuple[Cells, Cells]:
        """Give a line of the table: of what, its seconds, and how many times something else's they are."""
        cells: dict[str, Cell] = {"seconds": round(seconds, 3)}
        cells |= {f"of {other.replace('_', '-')}": round(ratio, 2) for other, ratio in ratios.items()}
        return {"records": self.records, "what": what}, cells

    def randomize(self) -> None:
        """Publish a release, and drop it."""
        noise = {name: text.replace(" whole", "") for name, text in self.noise.items()}
        self.db.randomize("people", noise=noise, class_column="class", into="safe", seed=1).drop()

    def training_rows(self) -> Measured:
        """Measure the modes, and what they are compared with."""
        learnt = self.scikit_learn() if self.options.scikit_learn else None
        if learnt is not None:
            yield self.row(f"scikit-learn, depth {self.options.depth}", learnt)
        for mode in self.options.modes:
            seconds = timed(lambda mode=mode: self.train(mode))
            nodes = len(self.db.model("bench").tree().nodes)
            self.db.model("bench").drop()
            ratios = {} if learnt is None else {"scikit_learn": seconds / learnt}
            if self.options.reference:
                ratios["numpy"] = seconds / self.reference(mode)
            of, cells = self.row(mode, seconds, **ratios)
            yield of, {**cells, "nodes": nodes}

    @property
    def min_split(self) -> int:
        """Least node that is split."""
        return max(20, self.records // 1000)

    def train(self, mode: str) -> None:
        """Train a model."""
        noise: Mapping[str, str] = self.noise if mode not in ("original", "randomized") else {}
        self.db.train(
            "people" if mode == "original" else "noisy",
            class_column="class",
            into="bench",
            mode=mode,
            noise=noise,
            max_depth=self.options.depth,
        )

    def scikit_learn(self) -> float:
        """Train scikit-learn's tree on the noisy values, as an array that is there already."""
        from sklearn.tree import DecisionTreeClassifier

        found = self.con.execute("FROM noisy").fetchnumpy()
        values = np.stack([found[name] for name in DOMAINS], axis=1).astype(np.float32)
        labels = np.asarray(found["class"]) == "Group A"
        tree = DecisionTreeClassifier(max_depth=self.options.depth, min_samples_split=self.min_split)
        return timed(lambda: tree.fit(values, labels))

    def reference(self, mode: str) -> float:
        """Grow and prune the tree of the tests' reference, from arrays that are there already."""
        from oracle_trees import Grower, prune
        from tree_cases import reference_columns

        table = "people" if mode == "original" else "noisy"
        _, columns, codes = reference_columns(self.con, mode, table=table, noise=self.noise)

        def grown() -> None:
            grower = Grower(columns, codes, codes.max() + 1, mode, self.min_split, self.options.depth)
            prune(grower.grow(), columns)

        return timed(grown)


def measured(options: argparse.Namespace, what: str) -> Iterator[tuple[Cells, Cells]]:
    """Give the lines of one table, for each size."""
    for records in options.records:
        bench = Bench(records, options)
        yield from getattr(bench, f"{what}_rows")()
        bench.con.close()


def main() -> None:
    """Print a table for everything that is measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--what", nargs="*", default=WHAT, choices=WHAT)
    parser.add_argument("--records", type=int, nargs="*", default=SIZES)
    parser.add_argument("--modes", nargs="*", default=MODES, choices=MODES)
    parser.add_argument("--depth", type=int, default=16, help="of every tree, at most")
    parser.add_argument("--function", type=int, default=3, choices=range(1, 6))
    parser.add_argument("--kind", default="gaussian", choices=("gaussian", "uniform"))
    parser.add_argument("--level", type=int, default=100, help="privacy level in per cent")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3, help="of what is short")
    parser.add_argument("--reference", action="store_true", help="also grow the numpy reference of the tests")
    parser.add_argument("--no-scikit-learn", dest="scikit_learn", action="store_false")
    options = options_of(parser).parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    for what in options.what:
        present(what, options, measured(options, what))


if __name__ == "__main__":
    main()
