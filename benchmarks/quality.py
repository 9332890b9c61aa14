"""What generalization costs a classifier: Adult, pre-split as the papers use it.

The 30,162 complete training records are released, k-anonymous over the TopN attributes; a decision tree
trained on the release is tested on the 15,060 test records, recoded by its cut. All other attributes
but fnlwgt, which is nearly a key, are kept as they are, and are the conditions of HCE-TDR. ARX hierarchies
where Adult has them, relationship by a flat taxonomy, numbers in grown intervals.

    python benchmarks/quality.py                      Top5, Top7, Top9; k = 5, 10, 50, 100, 500; both methods
    python benchmarks/quality.py --top 5 --k 10 50
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from figures import Cell
from harness import CATEGORICAL, CLASS, CONTINUOUS, SHARED
from rows import Measured, options_of, present

import ppdm_sql as ppdm

TOP = (
    "capital_gain", "age", "marital_status", "education_num", "relationship", "hours_per_week", "sex",
    "education", "occupation",
)  # fmt: skip
RELATIONSHIP = {"*": ["Husband", "Wife", "Not-in-family", "Other-relative", "Own-child", "Unmarried"]}
HIERARCHIES = ("education", "marital_status", "occupation", "sex")


def load(db: ppdm.Database) -> None:
    """Write the complete training and test records, numbers as numbers."""
    typed = ", ".join(f"{name}::INTEGER AS {name}" for name in CONTINUOUS)
    for part in ("train", "test"):
        db.engine.connection.execute(
            f"CREATE TABLE {part} AS SELECT {', '.join(CATEGORICAL)}, {typed}, {CLASS} FROM "
            f"read_csv($file, all_varchar = true) WHERE '?' NOT IN ({', '.join(CATEGORICAL)})",
            {"file": str(SHARED / "adult" / f"adult_{part}.csv")},
        )


def errors(db: ppdm.Database, method: str, k: int, names: tuple[str, ...], seeds: int) -> dict[str, float]:
    """Generalize, train and test; give the errors in per cent, and the number of steps."""
    others = [n for n in (*CATEGORICAL, *CONTINUOUS) if n not in names and n != "fnlwgt"]
    taxonomies: dict[str, object] = {
        name: str(SHARED / "adult" / "hierarchies" / f"{name}.csv") for name in HIERARCHIES if name in names
    }
    release = db.generalize(
        "train",
        [ppdm.KAnonymity(k, names)],
        class_column=CLASS,
        into="safe",
        method=method,
        condition=others if method == "hce-tdr" else (),
        keep=() if method == "hce-tdr" else others,
        taxonomies=taxonomies | {"relationship": RELATIONSHIP},  # type: ignore[arg-type]
    )
    rates = db.evaluate("safe", test="test", seeds=seeds)
    found = {name: rates.rate(name).mean for name in ("BE", "SE", "RE")} | {"steps": len(release.steps())}
    release.drop()
    return found


def measured(options: argparse.Namespace) -> Measured:
    """Give a line for each setting, then the means."""
    with tempfile.TemporaryDirectory() as folder, ppdm.open(Path(folder) / "adult.duckdb", create=True) as db:
        load(db)
        sums: dict[str, list[float]] = {"tds": [], "hce-tdr": []}
        for top in options.top:
            for k in options.k:
                found = {m: errors(db, m, k, TOP[:top], options.seeds) for m in sums}
                cells: dict[str, Cell] = {name: round(found["tds"][name], 2) for name in ("BE", "RE")}
                for method, rates in found.items():
                    sums[method].append(rates["SE"])
                    cells |= {f"SE, {method}": round(rates["SE"], 2), f"steps, {method}": int(rates["steps"])}
                yield {"masked": f"Top{top}", "k": k}, cells
        yield {"masked": "mean"}, {f"SE, {m}": round(statistics.mean(rates), 2) for m, rates in sums.items()}


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--top", type=int, nargs="*", default=[5, 7, 9])
    parser.add_argument("--k", type=int, nargs="*", default=[5, 10, 50, 100, 500])
    parser.add_argument("--seeds", type=int, default=1)
    options = options_of(parser).parse_args()
    present("quality", options, measured(options))


if __name__ == "__main__":
    main()
