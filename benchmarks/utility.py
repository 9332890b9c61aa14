"""What releases can still tell: six tables, four k, with and without left-out records.

Adult (45,222 complete records, eight columns, ARX's hierarchies) is read from the shared data and skipped
where that is absent; five tables come with scikit-learn and statsmodels, and are skipped without them. Every
third of the records is the test set once; numbers are means over the folds. Each row gives, of the release
of the other records:

- entropy: of the class given the labels, in bits a record; what is left out is a class of its own;
- kept: 1 less the mean information loss of a cell, and of the records that are left;
- classes: different combinations of labels;
- error: of a decision tree trained on the release, on the test set recoded by its cut, in per cent;
- seconds: CPU time of the run;
- of the source: the error of a tree trained on the records as they are.

With --reference the rows ``reference`` follow: the cuts of least entropy that simulated annealing finds in so
many minutes, over the same space, from the greedy cuts and from the most general table; see
``reference_search.py``. With --results every measured number is written into a file, and what stands there
is not measured again: a run can be stopped, and be done in pieces. --against lets another version measure the
same, --before reads such a file of one.

    python benchmarks/utility.py                      all tables, k = 2, 5, 10, 50, TDS
    python benchmarks/utility.py --table wine fair --k 5 --method tds hce-tdr --reference 2
    python benchmarks/utility.py --results now.json --before earlier.json --record
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from figures import Row as Line
from harness import SHARED
from reference_search import Problem, search
from rows import Measured, by_other, options_of, present
from utility_results import Key, Results, Row, compared, means, searched, without_left_out

import ppdm_sql as ppdm

CLASS, FOLDS = "class", 3
"""The class in every table, and in how many parts it falls, each of which is the test set once."""
REFERENCE = "reference"
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
def opened(table: Table, fold: int) -> Iterator[tuple[ppdm.Database, duckdb.DuckDBPyConnection]]:
    """Open a database in memory with the tables ``train`` and ``test``."""
    with duckdb.connect() as con:
        con.execute("SET threads = 1")
        table.load(con)
        con.execute("CREATE TABLE numbered AS SELECT *, hash(rowid) AS h FROM records")
        for name, sign in (("train", "<>"), ("test", "=")):
            where = f"h % {FOLDS} {sign} {fold}"
            con.execute(f"CREATE TABLE {name} AS SELECT * EXCLUDE h FROM numbered WHERE {where}")
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


def published(
    table: Table, db: ppdm.Database, method: str, k: int, left_out: float
) -> tuple[ppdm.Release, float]:
    """Release ``train`` as ``r``; give the release, and the CPU time in seconds."""
    more: dict[str, Any] = {"suppress_records": left_out} if left_out else {}
    started = time.process_time()
    release = db.generalize(
        "train",
        [ppdm.KAnonymity(k, tuple(table.columns))],
        class_column=CLASS,
        into="r",
        method=method,
        taxonomies=dict(table.taxonomies),
        **more,
    )
    return release, time.process_time() - started


def measured(
    table: Table,
    db: ppdm.Database,
    con: duckdb.DuckDBPyConnection,
    release: ppdm.Release,
    seconds: float,
) -> Row:
    """Measure a release."""
    losses = {item.measure: item.after for item in release.measures()}
    (everything,) = con.execute("SELECT count(*) FROM train").fetchone() or (1,)
    (kept,) = con.execute("SELECT count(*) FROM r").fetchone() or (0,)
    bits, classes = entropy(con, table.columns)
    rates = db.evaluate("r", test="test", seeds=1)
    cells = (1 - (losses["generalized information loss"] or 0)) * kept / everything
    error, source = rates.rate("SE").mean, rates.rate("BE").mean
    return Row(bits, 100 * cells, classes, error, seconds, source)


def labels(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str | None, str]]:
    """Read what each value became, by column."""
    found: dict[str, dict[str | None, str]] = {}
    query = "SELECT attribute, value, generalized FROM ppdm.cuts WHERE release = 'r'"
    for attribute, value, label in con.execute(query).fetchall():
        found.setdefault(attribute, {})[value] = label
    return found


def takes_left_out() -> bool:
    """Whether records may be left out of a release in this version."""
    return "suppress_records" in inspect.signature(ppdm.Database.generalize).parameters


def run(table: Table, asked: argparse.Namespace, results: Results) -> None:
    """Measure the rows of one table that are not known."""
    shares = [share for share in asked.left_out if not share or takes_left_out()]
    everything = [*asked.method, *([REFERENCE] if asked.reference else [])]
    for fold in asked.fold:
        keys = [Key(table.name, m, k, share, fold) for k in asked.k for share in shares for m in everything]
        if all(key in results for key in keys):
            continue
        with opened(table, fold) as (db, con):
            for k in asked.k:
                for share in shares:
                    run_setting(table, asked, results, (db, con), Key(table.name, "", k, share, fold))


def run_setting(
    table: Table,
    asked: argparse.Namespace,
    results: Results,
    opened: tuple[ppdm.Database, duckdb.DuckDBPyConnection],
    setting: Key,
) -> None:
    """Measure the methods and the reference search for one k, share and fold."""
    db, con = opened
    reference = setting._replace(method=REFERENCE)
    search_wanted = asked.reference and reference not in results
    starts = []
    for method in asked.method:
        key = setting._replace(method=method)
        if key in results and not search_wanted:
            continue
        try:
            release, seconds = published(table, db, method, key.k, key.left_out)
        except ppdm.PpdmError as refused:
            results.add(key, Row(refused=type(refused).__name__))
            continue
        starts.append(labels(con))
        if key not in results:
            results.add(key, measured(table, db, con, release, seconds))
        release.drop()
    if search_wanted:
        problem = Problem.read(con, ("train", "test"), table.columns, table.taxonomies, CLASS)
        budget, started = 60 * asked.reference, time.process_time()
        found = search(problem, setting.k, setting.left_out, budget, asked.seed, starts)
        seconds = time.process_time() - started
        if found is None:
            results.add(reference, Row(refused="nothing found", seconds=seconds))
            return
        error, classes = problem.error(found.parts, setting.k)
        results.add(reference, Row(entropy=found.bits, classes=classes, error=error, seconds=seconds))


def arguments(names: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--table", nargs="+", choices=names, default=names)
    parser.add_argument("--k", nargs="+", type=int, default=[2, 5, 10, 50])
    parser.add_argument("--method", nargs="+", choices=["tds", "hce-tdr"], default=["tds"])
    parser.add_argument("--left-out", nargs="+", type=float, default=[0.0, 0.01], metavar="SHARE")
    parser.add_argument("--fold", nargs="+", type=int, choices=range(FOLDS), default=list(range(FOLDS)))
    parser.add_argument("--reference", type=float, default=0, metavar="MINUTES")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, metavar="FILE")
    parser.add_argument("--before", type=Path, metavar="FILE", help="--results of an earlier version")
    return options_of(parser).parse_args()


def earlier(asked: argparse.Namespace, folder: Path) -> Results:
    """Give what an earlier version measured: from a file, or by letting it measure now."""
    if asked.against is None:
        return Results(asked.before)
    file = folder / "earlier.json"
    words = ["--results", str(file), "--table", *asked.table, "--method", *asked.method, "--k"]
    words += [*map(str, asked.k), "--left-out", *map(str, asked.left_out), "--fold", *map(str, asked.fold)]
    by_other(asked.against, words)
    return Results(file)


def show(name: str, asked: argparse.Namespace, lines: Measured, before: Measured) -> None:
    """Print the lines of one table above those of the earlier version."""
    print(f"\n{name}")
    present(name, asked, lines, {Line(name, of, cells).key: cells for of, cells in before})


def main() -> None:
    """Print the tables, and what was skipped, with the reason."""
    warnings.simplefilter("ignore", ppdm.PpdmWarning)
    names = [table.name for table in tables()]
    asked = arguments(names)
    results = Results(asked.results)
    skipped = [] if takes_left_out() else ["left-out records: this version has no --suppress-records"]
    for table in tables():
        if table.name in asked.table:
            try:
                run(table, asked, results)
            except Absent as reason:
                skipped.append(f"{table.name}: {reason}")
    wanted = [key for key in results if key.table in asked.table and key.fold in asked.fold]
    with tempfile.TemporaryDirectory() as folder:
        before = without_left_out(earlier(asked, Path(folder)), wanted)
    show("utility", asked, means(results, wanted), means(before, before))
    show("utility-means", asked, compared(results, wanted), compared(before, before))
    if any(key.method == REFERENCE for key in wanted):
        show("utility-search", asked, searched(results, wanted), ())
    for reason in skipped:
        print(f"\nSkipped {reason}.")


if __name__ == "__main__":
    main()
