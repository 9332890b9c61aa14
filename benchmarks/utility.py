"""What a release is still worth: eight tables, with nothing and with 5 % of the records left out.

Adult (45,222 complete records, eight columns, ARX's hierarchies) is read from the shared data, seven tables
come with scikit-learn and statsmodels; what cannot be had is skipped, and said. Each table is released with
its numbers in grown intervals, and with a taxonomy for every column. Every third of the records is held back
once; numbers are means of the folds, the last lines means of the tables. Each line gives

- error: of a decision tree trained on the release, on the records held back, recoded by its cut, in per cent;
- AUC: of the same tree, the chance that it finds one class likelier where it is so;
- detail: 1 less the mean penalty of a masked cell; records that are left out keep none;
- shows: the share of the columns that show two labels or more;
- left out: records, in per cent, and the CPU time of the run in seconds.

``source`` is a tree trained on the records as they are, ``nothing`` the most frequent class. ``--reference``
adds what simulated annealing finds in so many minutes in the same space; see ``reference_search.py``.

    python benchmarks/utility.py
    python benchmarks/utility.py --table births fair --score default --option detail=0.1
    python benchmarks/utility.py --table births fair --reference 0.5
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import inspect
import json
import math
import re
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
from figures import Cell
from harness import SHARED
from reference_search import Problem, search
from rows import Measured, options_of, present

import ppdm_sql as ppdm
from ppdm_sql.evaluation.encoding import Sample
from ppdm_sql.evaluation.evaluating import LEAF_BITS, LEAF_RECORDS, DesignMatrix, tree_class

FOLDS = 3
"""In how many parts a table falls, each of which is held back once."""
FLAT = 12
"""A column of so many values has a taxonomy of two levels; others have intervals of three widths."""
WIDTHS = 16
"""The narrowest of them are about so many."""
ARX = """Not of these tables: on eight others ARX kept detail .50 with nothing left out and .71 with 5 %, at
an AUC of .625, where the paper's score kept .29 and .38, at .612."""
HIERARCHIES = SHARED / "adult" / "hierarchies"
NUMBER = re.compile(r"[\[(]?(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:$|, )")
Connection = duckdb.DuckDBPyConnection
HEADS = {"error": 2, "AUC": 3, "detail": 3, "shows": 2, "left out, %": 1, "seconds": 2}
"""What is printed of a row, with so many decimals."""
Setting = tuple[str, str, str]
"""How columns are masked, the share of records that may be left out, and the score."""


class Worth(NamedTuple):
    """What a release, or what stands beside it, is worth."""

    error: float
    auc: float
    detail: float
    shows: float
    left_out: float
    seconds: float


class Absent(Exception):
    """The table cannot be had here."""


class Table(NamedTuple):
    """A table to release.

    Args:
        name: As it is printed; scikit-learn's loaders are called so.
        source: ``adult``, a module that loads the table, or a package and a file in it.
        columns: The quasi-identifier.
        label: The class, an expression over the table; it has two values.
    """

    name: str
    source: str
    columns: Sequence[str]
    label: str

    def load(self, con: Connection) -> None:
        """Write the table ``records`` with the columns and ``class``."""
        columns = ", ".join(self.columns)
        self._read(con).project(f"{columns}, ({self.label})::VARCHAR AS class").create("records")

    def _read(self, con: Connection) -> duckdb.DuckDBPyRelation:
        place, _, file = self.source.partition("/")
        if place == "adult":
            files = [SHARED / "adult" / f"adult_{part}.csv" for part in ("train", "test")]
            if not all(path.exists() for path in files):
                raise Absent(f"{SHARED / 'adult'} is not there; PPDM_SHARED_DATA names another folder")
            texts = con.read_csv(list(map(str, files)), all_varchar=True)
            complete = texts.filter("'?' NOT IN (workclass, occupation, native_country)")
            return complete.project("* REPLACE (age::INTEGER AS age)")
        try:
            module = importlib.import_module(place)
        except ImportError as missing:
            raise Absent(f"{missing.name} is not installed") from missing
        if place.startswith("sklearn"):
            frame = getattr(module, f"load_{self.name}")(as_frame=True).frame
            return con.from_df(frame.rename(columns=lambda column: column.replace(" ", "_")))
        if not file:
            return con.from_df(module.load_pandas().data)
        path = Path(str(module.__file__)).parent / file
        if not path.exists():
            raise Absent(f"this {place} has no {file}")
        return con.read_csv(str(path))


DATA = "statsmodels.datasets"
TESTS = "statsmodels/{}/tests/{}"
TABLES = [
    Table(name, source, columns.split(), label)
    for name, source, columns, label in (
        (
            "adult",
            "adult",
            "sex age race marital_status education native_country workclass occupation",
            "income",
        ),
        (
            "breast_cancer",
            "sklearn.datasets",
            "mean_radius mean_texture mean_smoothness mean_concavity mean_symmetry",
            "target",
        ),
        ("diabetes", "sklearn.datasets", "age sex bmi bp s5", "target > 140"),
        ("fair", f"{DATA}.fair", "age yrs_married children religious educ occupation", "affairs > 0"),
        ("anes96", f"{DATA}.anes96", "age educ income TVnews selfLR", "vote = 1"),
        ("visits", f"{DATA}.randhie", "lncoins lpi fmde physlm disea", "mdvis > 1"),
        (
            "insurance",
            TESTS.format("sandbox/regression", "racd10data_with_transformed.csv"),
            "age educyr income female totchr",
            "private = 1",
        ),
        (
            "births",
            TESTS.format("treatment", "results/cataneo2.csv"),
            "mage medu fage fedu mmarried nprenatal",
            "mbsmoke = 'smoker'",
        ),
    )
]


@contextlib.contextmanager
def opened(table: Table, fold: int) -> Iterator[Connection]:
    """Open a database in memory with the tables ``train`` and ``test``."""
    with duckdb.connect() as con:
        con.execute("SET threads = 1")
        table.load(con)
        con.execute("CREATE TABLE numbered AS SELECT *, hash(rowid) AS h FROM records")
        for name, sign in (("train", "<>"), ("test", "=")):
            where = f"h % {FOLDS} {sign} {fold}"
            con.execute(f"CREATE TABLE {name} AS SELECT * EXCLUDE h FROM numbered WHERE {where}")
        yield con


# -- hierarchies ----------------------------------------------------------------------------------


def hierarchies(con: Connection, table: Table, folder: Path, kind: str) -> dict[str, str]:
    """Give files of taxonomies by column: those that ARX ships, for ``taxonomies`` one of every column."""
    found = {}
    for name in table.columns:
        values = con.execute(f"SELECT DISTINCT {name} AS v, v::VARCHAR FROM records ORDER BY v").fetchall()
        ordered = not isinstance(values[0][0], str)
        shipped = HIERARCHIES / f"{name}.csv"
        if (kind == "taxonomies" or not ordered) and table.name == "adult" and shipped.exists():
            found[name] = str(shipped)
        elif kind == "taxonomies":
            found[name] = str(folder / f"{name}.csv")
            above = paths(values) if ordered and len(values) > FLAT else ([text, "*"] for _, text in values)
            with open(found[name], "w", newline="", encoding="utf-8") as lines:
                csv.writer(lines, delimiter=";").writerows(above)
    return found


def paths(values: Sequence[tuple[float, str]]) -> Iterator[list[str]]:
    """Give what stands above each value of an ordered column: intervals of a width, of two and of four."""
    numbers = [float(number) for number, _ in values]
    least = (max(numbers) - min(numbers)) / WIDTHS
    nice = (step * 10**power for power in range(-9, 12) for step in (1, 2, 5))
    width = next(found for found in nice if found >= least)
    for number, (_, text) in zip(numbers, values, strict=True):
        yield [text, *(interval(number, width * n) for n in (1, 2, 4)), "*"]


def interval(number: float, width: float) -> str:
    """Name the interval of a width in which a number lies; those of twice the width contain whole ones."""
    place = math.floor(number / width)
    return f"[{place * width:.9g}, {(place + 1) * width:.9g})"


# -- what is measured -----------------------------------------------------------------------------


def tree(train: Sample, test: Sample) -> tuple[float, float]:
    """Give the error in per cent and the AUC of a tree with the settings of ``ppdm evaluate``."""
    from sklearn.metrics import roc_auc_score

    design = DesignMatrix.of(train)
    likely = np.full(len(test.labels), np.average(train.labels, weights=train.records))
    if design.width and len(set(train.labels)) > 1:
        total = train.records.sum()
        grown = tree_class()(
            criterion="entropy",
            min_weight_fraction_leaf=min((LEAF_RECORDS - 0.5) / total, 0.5),
            ccp_alpha=LEAF_BITS / total,
            random_state=1,
        )
        grown.fit(design.matrix(train.numbers), train.labels, sample_weight=train.records)
        likely = grown.predict_proba(design.matrix(test.numbers))[:, 1]
    wrong = (likely > 0.5) != (test.labels == 1)
    error = 100 * float(np.average(wrong, weights=test.records))
    return error, float(roc_auc_score(test.labels, likely, sample_weight=test.records))


def samples(con: Connection, names: Sequence[str], train: str, test: str) -> tuple[Sample, Sample]:
    """Read two tables as the evaluation does: numbers and intervals as places above 0, others below 0."""
    listed = ", ".join(f"{name}::VARCHAR" for name in (*names, "class"))
    rows = [
        con.execute(f"SELECT {listed}, count(*) FROM {of} GROUP BY ALL ORDER BY ALL").fetchall()
        for of in (train, test)
    ]
    columns = [[row[place] for part in rows for row in part] for place in range(len(names) + 1)]
    labels = np.unique(columns.pop(), return_inverse=True)[1]
    numbers = np.column_stack([np.empty((len(labels), 0)), *map(encoded, columns)])
    found, start = [], 0
    for part in rows:
        of, start = slice(start, start + len(part)), start + len(part)
        records = np.array([row[-1] for row in part], dtype=np.int64)
        found.append(Sample(numbers[of], labels[of], records, np.zeros(len(part), dtype=np.int64)))
    return found[0], found[1]


def encoded(labels: Sequence[str | None]) -> list[float]:
    """Write labels as numbers: places in the order of what they begin with, categories, 0 for NULL."""
    begins = {label: NUMBER.match(label) for label in labels if label is not None}
    numbers = {label: float(number[1]) for label, number in begins.items() if number}
    places = {number: place for place, number in enumerate(sorted(set(numbers.values())), start=1)}
    texts = {label: -place for place, label in enumerate(sorted(begins.keys() - numbers.keys()), start=1)}
    return [
        0 if label is None else places[numbers[label]] if label in numbers else texts[label]
        for label in labels
    ]


def released(con: Connection, db: ppdm.Database, names: Sequence[str], seconds: float) -> Worth:
    """Measure the release ``r`` of ``train`` on ``test``."""
    release = db.release("r")
    db.apply(release, "test", into="recoded")
    error, auc = tree(*samples(con, names, "r", "recoded"))
    con.execute("DROP TABLE recoded")
    losses = {item.measure: item.after for item in release.measures()}
    counts = ", ".join(f"count(DISTINCT {name}) + bool_or({name} IS NULL)::INTEGER" for name in names)
    (kept, *labels) = con.execute(f"SELECT count(*), {counts} FROM r").fetchall()[0]
    share = kept / con.execute("SELECT count(*) FROM train").fetchall()[0][0]
    detail = (1 - (losses["generalized information loss"] or 0)) * share
    shows = statistics.fmean(found > 1 for found in labels)
    return Worth(error, auc, detail, shows, 100 * (1 - share), seconds)


def labels(con: Connection) -> dict[str, dict[str | None, str]]:
    """Read what each value became in ``r``, by column."""
    found: dict[str, dict[str | None, str]] = {}
    query = "SELECT attribute, value, generalized FROM ppdm.cuts WHERE release = 'r'"
    for attribute, value, label in con.execute(query).fetchall():
        found.setdefault(attribute, {})[value] = label
    return found


# -- the runs -------------------------------------------------------------------------------------


def takes(option: str) -> bool:
    """Whether releases have an option in this version."""
    return option in inspect.signature(ppdm.Database.generalize).parameters


def run_fold(
    con: Connection, table: Table, asked: argparse.Namespace, folder: Path
) -> Iterator[tuple[Setting, Worth]]:
    """Measure a table in all settings."""
    db = ppdm.open(con)
    for name, columns, full in (("source", table.columns, 1.0), ("nothing", (), 0.0)):
        yield ("", "", name), Worth(*tree(*samples(con, columns, "train", "test")), full, full, 0.0, 0.0)
    for kind in asked.columns:
        files = hierarchies(con, table, folder, kind)
        for share in asked.left_out:
            starts, recoding = [], {}
            for score in asked.score:
                started = time.process_time()
                more: dict[str, Any] = {"suppress_records": share} if share else {}
                more |= {"score": score} if takes("score") else {}
                more |= {} if score == "paper" else dict(asked.option)
                require = [ppdm.KAnonymity(asked.k, tuple(table.columns))]
                release = db.generalize(
                    "train", require, class_column="class", into="r", taxonomies=files, **more
                )
                seconds = time.process_time() - started
                yield (kind, f"{share:.0%}", score), released(con, db, table.columns, seconds)
                recoding = release.row().parameters["recoding"]
                starts.append(labels(con))
                release.drop()
            if asked.reference:
                problem, started = Problem.read(con, files, recoding), time.process_time()
                _, best = search(problem, asked.k, share, 60 * asked.reference, asked.seed, starts)
                seconds = time.process_time() - started
                state = problem.measured(best, asked.k)
                worth = Worth(*tree(*problem.samples(best, asked.k)), *state, seconds)
                yield (kind, f"{share:.0%}", "search"), worth


def mean(rows: Sequence[Worth]) -> Worth:
    """Give the means of some rows."""
    return Worth(*map(statistics.fmean, zip(*rows, strict=True)))


def lines(asked: argparse.Namespace, every: dict[Setting, list[Worth]], skipped: list[str]) -> Measured:
    """Give a line for each table and setting as they are measured; they are gathered in ``every``."""
    for table in TABLES:
        found: dict[Setting, list[Worth]] = {}
        for fold in asked.fold if table.name in asked.table else ():
            try:
                with opened(table, fold) as con, tempfile.TemporaryDirectory() as folder:
                    for setting, worth in run_fold(con, table, asked, Path(folder)):
                        found.setdefault(setting, []).append(worth)
            except Absent as reason:
                skipped.append(f"{table.name}: {reason}")
                break
        for setting, folds in found.items():
            every.setdefault(setting, []).append(mean(folds))
            yield line(table.name, setting, every[setting][-1])


def line(table: str, setting: Setting, worth: Worth) -> tuple[dict[str, Cell], dict[str, Cell]]:
    """Give the first cells of a line, then what is measured."""
    of = zip(("table", "columns", "left out", "score"), (table, *setting), strict=True)
    cells = zip(HEADS.items(), worth, strict=True)
    return dict(of), {head: round(float(value), decimals) for (head, decimals), value in cells}


def option(text: str) -> tuple[str, object]:
    """Read NAME=VALUE; the value is JSON, or a text."""
    name, _, value = text.partition("=")
    with contextlib.suppress(json.JSONDecodeError):
        return name, json.loads(value)
    return name, value


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names, kinds = [table.name for table in TABLES], ["grown", "taxonomies"]
    scores = ["paper", *(["default"] if takes("score") else [])]
    shares = [0.0, *([0.05] if takes("suppress_records") else [])]
    parser.add_argument("--table", nargs="+", choices=names, default=names)
    parser.add_argument("--columns", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--score", nargs="+", choices=scores, default=scores)
    parser.add_argument("--option", nargs="+", type=option, default=[], metavar="NAME=VALUE")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--left-out", nargs="+", type=float, default=shares, metavar="SHARE")
    parser.add_argument("--fold", nargs="+", type=int, choices=range(FOLDS), default=list(range(FOLDS)))
    parser.add_argument("--reference", type=float, default=0, metavar="MINUTES")
    parser.add_argument("--seed", type=int, default=0)
    return options_of(parser).parse_args()


def main() -> None:
    """Print the tables, their means, and what was skipped, with the reason."""
    warnings.simplefilter("ignore", ppdm.PpdmWarning)
    asked, every, skipped = arguments(), dict[Setting, list[Worth]](), list[str]()
    name = "utility-search" if asked.reference else "utility"
    present(name, asked, lines(asked, every, skipped))
    means = (line("mean", setting, mean(rows)) for setting, rows in every.items())
    present(f"{name}-means", asked, means)
    if not asked.rows:
        print(f"\n{ARX}")
        for reason in skipped:
            print(f"Skipped {reason}.")


if __name__ == "__main__":
    main()
