"""TDS and HCE-TDR against their floor. What floor and ratio are: see harness.py.

Settings: one quasi-identifier of all 14 attributes, of the 8 categorical ones, three overlapping ones, and
HCE-TDR over nine attributes with the categorical rest as conditions; ARX hierarchies where Adult has them.

    python benchmarks/generalize.py                   45 thousand, 1 and 10 million records, 1 and 2 threads
    python benchmarks/generalize.py --settings tds-14 --records 45222 --repeat 9
    python benchmarks/generalize.py --settings tds-14 --records 10000000 --memory-limit 1GB
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness import CATEGORICAL, CLASS, CONTINUOUS, SHARED, Setting, main

import ppdm_sql as ppdm

EVERY = (*CATEGORICAL, *CONTINUOUS)
THREE = (
    ("age", "sex", "race", "education", "hours_per_week"),
    ("age", "marital_status", "relationship", "occupation", "workclass"),
    ("native_country", "race", "occupation", "capital_gain", "capital_loss"),
)
TOP9 = (
    "capital_gain", "age", "marital_status", "education_num", "relationship", "hours_per_week", "sex",
    "education", "occupation",
)  # fmt: skip
CONDITIONS = ("workclass", "race", "native_country")


def hierarchies(names: Sequence[str]) -> dict[str, str]:
    """Give the ARX files of the categorical attributes that have one."""
    folder = SHARED / "adult" / "hierarchies"
    return {n: str(folder / f"{n}.csv") for n in names if n in CATEGORICAL and (folder / f"{n}.csv").exists()}


def generalized(
    k: int, *quasi_identifiers: Sequence[str], method: str = "tds", condition: Sequence[str] = ()
) -> Callable[[ppdm.Database], ppdm.Release]:
    """Make a run of k-anonymity over one or more quasi-identifiers."""
    names = tuple(dict.fromkeys(name for group in quasi_identifiers for name in group))

    def run(db: ppdm.Database) -> ppdm.Release:
        return db.generalize(
            "adult",
            [ppdm.KAnonymity(k, tuple(group)) for group in quasi_identifiers],
            class_column=CLASS,
            into="bench",
            method=method,
            condition=condition,
            taxonomies=hierarchies(names),
        )

    return run


def settings() -> list[Setting]:
    """List the settings, the most telling first."""
    everything, categorical = (*EVERY, CLASS), (*CATEGORICAL, CLASS)
    three = tuple(dict.fromkeys(name for group in THREE for name in group))
    nine = (*TOP9, *CONDITIONS, CLASS)
    found = []
    for k in (5, 10, 50, 100, 500):
        found += [
            Setting(f"tds-14 k={k}", everything, EVERY, generalized(k, EVERY)),
            Setting(f"tds-8 k={k}", categorical, CATEGORICAL, generalized(k, CATEGORICAL)),
            Setting(f"tds-3x5 k={k}", (*three, CLASS), three, generalized(k, *THREE)),
            Setting(
                f"hce-9+3 k={k}",
                nine,
                (*TOP9, *CONDITIONS),
                generalized(k, TOP9, method="hce-tdr", condition=CONDITIONS),
            ),
        ]
    return found


if __name__ == "__main__":
    main("generalize", __file__, __doc__, settings())
