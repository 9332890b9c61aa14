"""Reconstruction against its floor: the GROUP BYs that count the histograms of the noisy values.

The nine attributes of the synthetic persons with noise, by class. The run is the whole of ``reconstruct``: it
reads, counts, iterates, and writes the distributions and the catalogue. What ratio is: see harness.py.

    python benchmarks/reconstruct.py                  45 thousand, 1 and 10 million records, 1 and 2 threads
    python benchmarks/reconstruct.py --settings 'gaussian, salary' --records 1000000 --repeat 9
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import Setting, main
from perturb import DOMAINS, noise_texts

import ppdm_sql as ppdm
from ppdm_sql.methods.perturbation.histograms import histograms
from ppdm_sql.methods.perturbation.noise import parse_noise, resolve_noise
from ppdm_sql.methods.perturbation.reconstruction import grid_for, observed_grid

LEVEL, FUNCTION = 100, 3


@dataclass(frozen=True)
class Reconstructed(Setting):
    """Noisy persons.

    Args:
        kind: Of the noise.
        by_class: Whether each class has distributions of its own.
    """

    kind: str = "gaussian"
    by_class: bool = True

    @property
    def data(self) -> Hashable:
        return self.kind

    def write_data(self, file: Path, records: int) -> None:
        with ppdm.open(file, create=True) as db:
            db.generate_agrawal("people", function=FUNCTION, rows=records, seed=1)
            noise = {name: text.replace(" whole", "") for name, text in noise_texts(self.kind, LEVEL).items()}
            db.randomize("people", noise=noise, class_column="class", into="safe", seed=1)
            columns = ", ".join((*DOMAINS, "class"))
            db.engine.connection.execute(f"CREATE TABLE noisy AS SELECT {columns} FROM safe")
            db.release("safe").drop()
            db.engine.connection.execute("DROP TABLE people")

    def floor(self, db: ppdm.Database) -> None:
        engine, texts = db.engine, noise_texts(self.kind, LEVEL)
        models = {name: resolve_noise(parse_noise(f"{name}={texts[name]}")) for name in self.read}
        ((records,),) = engine.connection.execute("SELECT count(*) FROM noisy").fetchall()
        grids = {name: observed_grid(model, grid_for(model, records)) for name, model in models.items()}
        with engine.workspace():
            histograms(engine, engine.find("noisy"), grids, "class" if self.by_class else None)

    def drop_floor(self, db: ppdm.Database) -> None:
        """Nothing is left of it."""

    def drop(self, db: ppdm.Database) -> None:
        db.engine.connection.execute("DROP TABLE distributions")


def reconstructed(kind: str, names: Sequence[str], *, by_class: bool) -> Callable[[ppdm.Database], object]:
    """Make a run."""
    noise = {name: text for name, text in noise_texts(kind, LEVEL).items() if name in names}
    given = {"by_class": "class"} if by_class else {}
    return lambda db: db.reconstruct("noisy", columns=list(names), noise=noise, into="distributions", **given)


def settings() -> list[Setting]:
    """List the settings."""
    every = tuple(DOMAINS)
    return [
        Reconstructed(name, names, (), reconstructed(kind, names, by_class=by_class), kind, by_class)
        for name, kind, names, by_class in (
            ("gaussian, all by class", "gaussian", every, True),
            ("uniform, all by class", "uniform", every, True),
            ("gaussian, salary", "gaussian", ("salary",), False),
        )
    ]


if __name__ == "__main__":
    main("reconstruct", __file__, __doc__, settings())
