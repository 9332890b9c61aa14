"""What releases can still tell: six tables, four k, with and without left-out records.

Adult (45,222 complete records, eight columns, ARX's hierarchies) is read from the shared data and skipped
where that is absent; five tables come with scikit-learn and statsmodels, and are skipped without them. A
third of the records is the test set. Each row gives, of the release of the others:

- entropy: of the class given the labels, in bits a record; what is left out is a class of its own;
- kept: 1 less the mean information loss of a cell, and of the records that are left;
- classes: different combinations of labels;
- error: of a decision tree trained on the release, on the test set recoded by its cut, in per cent;
- best: the entropy that the reference search reaches within --reference minutes, over the same cuts: random
  restarts, moves up and down one column, and worse states at times (simulated annealing).

    python benchmarks/utility.py                      all tables, k = 2, 5, 10, 50, TDS
    python benchmarks/utility.py --table wine fair --k 5 --method tds hce-tdr --reference 2
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
from harness import SHARED
from reference_search import Problem, search

import ppdm_sql as ppdm

CLASS, TEST = "class", 3
"""The class in every table, and which part of the records is held back: one in so many."""
HIERARCHIES = SHARED / "adult" / "hierarchies"
ADULT = (
    "sex", "age", "race", "marital_status", "education", "native_country", "workclass", "occupation",
)  # fmt: skip


class Absent(Exception):
    """The table cannot be had here."""


@dataclass(frozen=True)
class Table:
    """A table to release.

    Args:
        name: As it is printed.
        load: Writes the table ``records`` with the columns and ``class``.
        columns: The quasi-identifier.
        taxonomies: ARX files by column; other columns grow intervals.
    """

    name: str
    load: Callable[[duckdb.DuckDBPyConnection], None]
    columns: Sequence[str]
    taxonomies: Mapping[str, str]


def adult(con: duckdb.DuckDBPyConnection) -> None:
    """Write the complete records of Adult, both parts."""
    files = [SHARED / "adult" / f"adult_{part}.csv" for part in ("train", "test")]
    if not all(file.exists() for file in files):
        raise Absent(f"{SHARED / 'adult'} is not there; PPDM_SHARED_DATA names another folder")
    others = ", ".join(name for name in ADULT if name != "age")
    con.execute(
        f"CREATE TABLE records AS SELECT {others}, age::INTEGER AS age, income AS class "
        f"FROM read_csv($files, all_varchar = true) WHERE '?' NOT IN ({others})",
        {"files": [str(file) for file in files]},
    )


def packaged(module: str, loader: str, columns: Sequence[str], label: str) -> Callable[..., None]:
    """Write a table that a package ships; the class is an expression over its columns and ``target``."""

    def load(con: duckdb.DuckDBPyConnection) -> None:
        try:
            found = getattr(__import__(module, fromlist=[loader]), loader)
        except ImportError as missing:
            raise Absent(f"{missing.name} is not installed") from missing
        data = found(as_frame=True).frame if module.startswith("sklearn") else found.load_pandas().data
        con.register("frame", data.rename(columns=lambda name: name.replace(" ", "_")))
        con.execute(f"CREATE TABLE records AS SELECT {', '.join(columns)}, {label} AS class FROM frame")
        con.unregister("frame")

    return load


def _packaged(name: str, module: str, loader: str, columns: str, label: str) -> Table:
    names = columns.split()
    return Table(name, packaged(module, loader, names, label), names, {})


def tables() -> list[Table]:
    """Give all tables."""
    files = {path.stem: str(path) for path in HIERARCHIES.glob("*.csv") if path.stem != "age"}
    sklearn, stats = "sklearn.datasets", "statsmodels.datasets"
    median = "CASE WHEN target > 140 THEN 'high' ELSE 'low' END"
    return [
        Table("adult", adult, ADULT, {name: files[name] for name in ADULT if name in files}),
        _packaged(
            "breast_cancer", sklearn, "load_breast_cancer",
            "mean_radius mean_texture mean_smoothness mean_concavity mean_symmetry", "target",
        ),
        _packaged("wine", sklearn, "load_wine", "alcohol ash magnesium flavanoids hue proline", "target"),
        _packaged("diabetes", sklearn, "load_diabetes", "age sex bmi bp s5", median),
        _packaged(
            "fair", stats, "fair", "age yrs_married children religious educ occupation", "affairs > 0"
        ),
        _packaged("anes96", stats, "anes96", "age educ income PID TVnews", "vote::INTEGER"),
    ]  # fmt: skip


@contextlib.contextmanager
def opened(table: Table) -> Iterator[tuple[ppdm.Database, duckdb.DuckDBPyConnection]]:
    """Open a database in memory with the tables ``train`` and ``test``."""
    with duckdb.connect() as con:
        con.execute("SET threads = 1")
        table.load(con)
        con.execute("CREATE TABLE numbered AS SELECT *, hash(rowid) AS h FROM records")
        for name, where in (("train", "<> 0"), ("test", "= 0")):
            con.execute(f"CREATE TABLE {name} AS SELECT * EXCLUDE h FROM numbered WHERE h % {TEST} {where}")
        yield ppdm.open(con), con


def entropy(con: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> tuple[float, int]:
    """Give the entropy of the class given the labels of ``r``, what is left out as one, and the classes."""
    by = ", ".join(f'"{name}"' for name in columns)
    ((bits, classes),) = con.execute(
        f"""
        WITH cells AS (
            SELECT hash({by}) AS label, class, count(*) AS n FROM r GROUP BY {by}, class
            UNION ALL
            SELECT NULL, class, count(*) - coalesce(any_value(k.n), 0)
            FROM train LEFT JOIN (SELECT class, count(*) AS n FROM r GROUP BY class) AS k USING (class)
            GROUP BY class
        ),
        sized AS (SELECT label, n, sum(n) OVER (PARTITION BY label) AS size FROM cells WHERE n > 0)
        SELECT -sum(n * log2(n / size)) / sum(n), count(DISTINCT label) FROM sized
        """
    ).fetchall()
    return abs(bits), classes


def measured(
    table: Table, db: ppdm.Database, con: duckdb.DuckDBPyConnection, method: str, k: int, left_out: float
) -> list[str]:
    """Release, measure, drop; give the cells of a row."""
    more: dict[str, Any] = {"suppress_records": left_out} if left_out else {}
    started = time.perf_counter()
    try:
        release = db.generalize(
            "train",
            [ppdm.KAnonymity(k, tuple(table.columns))],
            class_column=CLASS,
            into="r",
            method=method,
            taxonomies=dict(table.taxonomies),
            **more,
        )
    except ppdm.PpdmError as refused:
        return [type(refused).__name__, "", "", "", f"{time.perf_counter() - started:.1f}"]
    seconds = time.perf_counter() - started
    losses = {item.measure: item.after for item in release.measures()}
    (everything,) = con.execute("SELECT count(*) FROM train").fetchone() or (1,)
    (kept,) = con.execute("SELECT count(*) FROM r").fetchone() or (0,)
    bits, classes = entropy(con, table.columns)
    error = db.evaluate("r", test="test", seeds=1).rate("SE").mean
    release.drop()
    cells = (1 - (losses["generalized information loss"] or 0)) * kept / everything
    return [f"{bits:.4f}", f"{100 * cells:.1f} %", str(classes), f"{error:.2f}", f"{seconds:.1f}"]


def takes_left_out() -> bool:
    """Whether records may be left out of a release in this version."""
    return "suppress_records" in inspect.signature(ppdm.Database.generalize).parameters


def run(table: Table, asked: argparse.Namespace) -> None:
    """Print the rows of one table."""
    shares = [share for share in asked.left_out if not share or takes_left_out()]
    with opened(table) as (db, con):
        for k in asked.k:
            for share in shares:
                best = ""
                if asked.reference:
                    problem = Problem.read(con, "train", table.columns, table.taxonomies, CLASS)
                    best = f"{search(problem, k, share, 60 * asked.reference, asked.seed):.4f}"
                for method in asked.method:
                    row = measured(table, db, con, method, k, share)
                    print(
                        "| " + " | ".join([table.name, method, str(k), f"{share:.0%}", *row, best]) + " |",
                        flush=True,
                    )


def main() -> None:
    """Print the table, and what was skipped, with the reason."""
    warnings.simplefilter("ignore", ppdm.PpdmWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = [table.name for table in tables()]
    parser.add_argument("--table", nargs="+", choices=names, default=names)
    parser.add_argument("--k", nargs="+", type=int, default=[2, 5, 10, 50])
    parser.add_argument("--method", nargs="+", choices=["tds", "hce-tdr"], default=["tds"])
    parser.add_argument("--left-out", nargs="+", type=float, default=[0.0, 0.01], metavar="SHARE")
    parser.add_argument("--reference", type=float, default=0, metavar="MINUTES")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("| table | method | k | left out | entropy | kept | classes | error | seconds | best |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    skipped = [] if takes_left_out() else ["left-out records: this version has no --suppress-records"]
    for table in tables():
        if table.name in asked.table:
            try:
                run(table, asked)
            except Absent as reason:
                skipped.append(f"{table.name}: {reason}")
    for reason in skipped:
        print(f"\nSkipped {reason}.")


if __name__ == "__main__":
    main()
