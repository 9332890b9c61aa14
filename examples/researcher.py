"""A researcher in Python: what privacy costs a classifier, on the synthetic persons of the papers.

Run it anywhere:  python researcher.py
"""

from __future__ import annotations

import duckdb

import ppdm_sql as ppdm

RECORDS, UNSEEN = 5_000, 2_000
RANGES = {"age": (20, 80), "salary": (20_000, 150_000)}


def main() -> None:
    """Print the accuracy of trees with and without noise, and the error of masked releases."""
    with duckdb.connect() as con:
        db = ppdm.open(con)
        db.generate_agrawal("people", function=2, rows=RECORDS, seed=1)
        db.generate_agrawal("unseen", function=2, rows=UNSEEN, seed=2)
        noise = dict.fromkeys(RANGES, "gaussian 100%")
        db.randomize("people", noise=noise, ranges=RANGES, class_column="class", into="noisy", seed=3)
        compare_trees(db)
        compare_ages(con, db)
        compare_masking(db)


def compare_trees(db: ppdm.Database) -> None:
    """Grow trees from true values, from noisy ones as they are, and from reconstructed distributions."""
    for mode, table in (("original", "people"), ("randomized", "noisy"), ("byclass", "noisy")):
        options = {"columns": tuple(RANGES), "test": "unseen", "into": f"tree_{mode}"}
        row = db.train(table, class_column="class", mode=mode, **options).row()
        right = sum(row.confusion[place][place] for place in range(len(row.classes)))
        print(f"{mode}: {right / UNSEEN:.1%} right")


def compare_ages(con: duckdb.DuckDBPyConnection, db: ppdm.Database) -> None:
    """Compare the reconstructed distribution of ages with the true one."""
    found = db.reconstruct("noisy", columns="age", intervals=6, into="ages")
    for lower, upper, share, _ in found.rows():
        query = "SELECT count(*) FROM people WHERE age >= $lower AND age < $upper"
        ((true,),) = con.execute(query, {"lower": lower, "upper": upper}).fetchall()
        print(f"age {lower:.0f} to {upper:.0f}: {share:.1%} estimated, {true / RECORDS:.1%} true")


def compare_masking(db: ppdm.Database) -> None:
    """Measure the error of a tree on releases in which k persons share age and salary."""
    for k in (10, 500):
        require = [f"k >= {k} on age, salary"]
        release = db.generalize("people", require, class_column="class", into=f"k{k}")
        errors = db.evaluate(release, seeds=1, folds=5)
        true, masked = errors.rate("BE").mean, errors.rate("SE").mean
        print(f"k = {k}: {masked:.1f} % error, {true:.1f} % without masking")


if __name__ == "__main__":
    main()
