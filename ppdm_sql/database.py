"""The Python interface: a database, and what can be done with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from ppdm_sql.audit import THRESHOLDS, Audit, audit
from ppdm_sql.engine import Engine
from ppdm_sql.engine.opening import connect
from ppdm_sql.engine.spill import SpillFolder
from ppdm_sql.evaluation import EvaluateOptions, Evaluation, evaluate
from ppdm_sql.progress import Progress, SilentProgress
from ppdm_sql.refinement.generalize import GeneralizeOptions, generalize
from ppdm_sql.refinement.run import Options
from ppdm_sql.refinement.suppress import suppress
from ppdm_sql.release import Applied, CatalogueRow, Release, apply, get, releases
from ppdm_sql.requirements import Requirement, parse_all, resolve
from ppdm_sql.swapping.options import Number, SwapRequest
from ppdm_sql.swapping.swap import swap
from ppdm_sql.taxonomy.model import Taxonomy


class Database:
    """A DuckDB database with personal records in it, and the methods that release them.

    Make one with :func:`ppdm_sql.open`. It is a context manager; leaving it closes what it opened.

    Args:
        engine: The engine on an open connection.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file if :func:`ppdm_sql.open` opened it; a connection of yours stays open."""
        self.engine.close()

    def audit(
        self,
        table: str,
        require: Sequence[str | Requirement] = (),
        *,
        count_column: str | None = None,
        quasi_identifier: Sequence[str] | None = None,
        thresholds: Sequence[float] | None = None,
        population: str | None = None,
        groups: int = 0,
        confidential: str | Sequence[str] = (),
        by: Sequence[str] = (),
    ) -> Audit:
        """Measure any table or view: requirements, class sizes, risk, inferences, identifiable records.

        Args:
            table: Table or view, qualified and quoted where needed.
            require: Requirements to check.
            count_column: Where rows are collapsed, the column that says how many records each stands for.
            quasi_identifier: Columns whose class sizes and risk are wanted; by default those of ``require``.
            thresholds: Confidences in (0, 1] above which inferences are counted; by default 10 % to 90 %.
            population: A table of the population with the same quasi-identifier, for the journalist's risk.
            groups: How many of the worst groups to name by their values; 0 names none.
            confidential: Columns whose values those of ``by`` may give away.
            by: Columns that others may know; given with ``confidential``, and only then.

        Raises:
            PpdmError: A name is unknown, a requirement cannot be read, or the table is empty.

        Cost: one scan of the table for each group of requirements that share their columns.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 1), ('a', 2)) v(x, y)")
            >>> ppdm_sql.open(con).audit("t", ["k >= 2 on x"]).holds
            True
        """
        found = self.engine.find(table)
        names = [column.name for column in self.engine.columns(found)]
        return audit(
            self.engine,
            found,
            [resolve(requirement, names, table=table) for requirement in parse_all(require)],
            count=count_column,
            quasi_identifier=quasi_identifier,
            population=None if population is None else self.engine.find(population),
            groups=groups,
            thresholds=THRESHOLDS if thresholds is None else tuple(thresholds),
            confidential=(confidential,) if isinstance(confidential, str) else tuple(confidential),
            by=tuple(by),
        )

    def suppress(
        self,
        table: str,
        require: Sequence[str | Requirement],
        *,
        class_column: str,
        into: str,
        count_column: str | None = None,
        keep: Sequence[str] = (),
        identifiers: Mapping[str, str] | None = None,
        max_steps: int | None = None,
        symbol: str = "*",
        progress: Progress | None = None,
    ) -> Release:
        """Suppress values (PDA) until every requirement holds, and publish the verified release.

        Args:
            table: Table or view to release, qualified and quoted where needed.
            require: Templates and k-anonymity; their columns are masked, whole values at a time.
            class_column: The column that a classifier is to predict; released as it is.
            into: Name of the release, a view.
            count_column: Where rows are collapsed, the column that says how many records each stands for;
                the release is collapsed too.
            keep: Further columns to release as they are. A column of a requirement that is kept stays in
                the clear and still groups. Columns that nobody names are not released.
            identifiers: Direct identifiers, each with ``"drop"`` or ``"pseudonym"``.
            max_steps: Stop after this many disclosures, at least 0; every state keeps the requirements.
            symbol: What a suppressed value becomes.
            progress: Told what the run is doing.

        Returns:
            The release, verified by its own audit.

        Raises:
            GuaranteeNotMet: No suppression meets the requirements.
            PpdmError: An option, a column or the table cannot be used. Nothing is published on any error.

        Cost: two scans of the table, then work on distinct combinations only.
        Source: Wang, Fung, Yu 2005, Algorithm 1.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute('''CREATE TABLE t AS SELECT * FROM (VALUES ('cook', 'no', 'good'),
            ...     ('cook', 'yes', 'bad'), ('clerk', 'yes', 'good')) v(job, ill, rating)''')
            >>> release = ppdm_sql.open(con).suppress(
            ...     "t", ["job -> ill = yes <= 70%"], class_column="rating", into="safe")
            >>> sorted(row[0] for row in release.relation().fetchall())
            ['*', '*', '*']
        """
        options = Options(
            require=require,
            class_column=class_column,
            into=into,
            count_column=count_column,
            keep=tuple(keep),
            identifiers=dict(identifiers or {}),
            max_steps=max_steps,
            symbol=symbol,
        )
        return suppress(self.engine, table, options, progress or SilentProgress())

    def generalize(
        self,
        table: str,
        require: Sequence[str | Requirement],
        *,
        class_column: str,
        into: str,
        method: str = "tds",
        taxonomies: Mapping[str, Taxonomy | Mapping[str, Any] | str | Path] | None = None,
        ranges: Mapping[str, tuple[object, object]] | None = None,
        condition: Sequence[str] = (),
        suppress: Sequence[str] = (),
        count_column: str | None = None,
        keep: Sequence[str] = (),
        identifiers: Mapping[str, str] | None = None,
        interval_columns: bool = False,
        show_values: bool = False,
        max_steps: int | None = None,
        symbol: str = "*",
        progress: Progress | None = None,
    ) -> Release:
        """Generalize (TDS, HCE-TDR) as little as the requirements allow, and publish the verified release.

        The columns of the requirements are masked: by their taxonomy where one is given; numbers, dates and
        times without one by intervals that are grown during the run; all others by suppression.

        Args:
            table: Table or view to release, qualified and quoted where needed.
            require: k-anonymity over one or more quasi-identifiers, templates, l-diversity, t-closeness.
            class_column: The column that a classifier is to predict; released as it is.
            into: Name of the release, a view.
            method: ``tds``, or ``hce-tdr``, which takes one quasi-identifier.
            taxonomies: For a column its taxonomy: a :class:`~ppdm_sql.Taxonomy`, nested mappings, the path
                of an ARX CSV file, or the name of a table with the columns ``child`` and ``parent``.
            ranges: For a grown column its lower bound, and its upper bound, which is outside.
            condition: For ``hce-tdr``, the other columns that tell of the class; released as they are.
            suppress: Columns to suppress although they have an order.
            count_column: Where rows are collapsed, the column that says how many records each stands for;
                the release is collapsed too.
            keep: Further columns to release as they are. Columns that nobody names are not released.
            identifiers: Direct identifiers, each with ``"drop"`` or ``"pseudonym"``.
            interval_columns: Put columns ``A_lower`` and ``A_upper`` beside each column of intervals.
            show_values: List values that a taxonomy lacks in the error that says how many there are.
            max_steps: Stop after this many steps, at least 0; every state keeps the requirements.
            symbol: What a suppressed value becomes.
            progress: Told what the run is doing.

        Returns:
            The release, verified by its own audit.

        Raises:
            GuaranteeNotMet: No generalization meets the requirements.
            PpdmError: An option, a column, a taxonomy or the table cannot be used. Nothing is published on
                any error.

        Cost: two scans of the table, then work on distinct combinations only.
        Source: Fung, Wang, Yu 2005; HCE-TDR (2013).

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute('''CREATE TABLE t AS SELECT * FROM (VALUES ('cook', 30, 'good'),
            ...     ('cook', 31, 'good'), ('clerk', 45, 'bad'), ('judge', 47, 'bad')) v(job, age, rating)''')
            >>> jobs = {"any": {"service": ["cook"], "office": ["clerk", "judge"]}}
            >>> release = ppdm_sql.open(con).generalize(
            ...     "t", ["k >= 2 on job, age"], class_column="rating", into="safe", taxonomies={"job": jobs})
            >>> sorted(set(release.relation().fetchall()))
            [('cook', '[30, 45)', 'good'), ('office', '[45, 47]', 'bad')]
        """
        options = GeneralizeOptions(
            require=require,
            class_column=class_column,
            into=into,
            method=method,
            taxonomies=dict(taxonomies or {}),
            ranges=dict(ranges or {}),
            condition=tuple(condition),
            suppress=tuple(suppress),
            count_column=count_column,
            keep=tuple(keep),
            identifiers=dict(identifiers or {}),
            interval_columns=interval_columns,
            show_values=show_values,
            max_steps=max_steps,
            symbol=symbol,
        )
        return generalize(self.engine, table, options, progress or SilentProgress())

    def swap(
        self,
        table: str,
        *,
        confidential: str | Sequence[str],
        by: Sequence[str],
        proportion: Number | Mapping[str, Number],
        into: str,
        method: str = "exact",
        phase1: str = "joint",
        per_group: Number = 1,
        share: tuple[Number, Number] | None = None,
        blur: float = 0.0,
        smoothing: float = 0.0,
        bins: int | Mapping[str, int | Sequence[object]] | None = None,
        seed: int | None = None,
        class_column: str | None = None,
        count_column: str | None = None,
        keep: Sequence[str] = (),
        identifiers: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Exchange confidential values of identifiable records, and publish the verified release.

        A record is identifiable if all records with its values in ``by`` have one confidential value. A share
        of those that are alone with theirs takes another value, and so do members of each group; all else is
        released as it is. Frequencies of the values are kept where that is possible, and what the columns
        tell of each other as far as it is.

        Args:
            table: Table or view to release, qualified and quoted where needed.
            confidential: The confidential columns; several are swapped in turn.
            by: The non-confidential columns that others may know; released as they are.
            proportion: Share of the uniquely identifiable records to change, in (0, 1], for all confidential
                columns or for each by its name (``""`` stands for those not named).
            into: Name of the release, a view.
            method: ``exact``, the least cost and a proof of it, or ``greedy``, the procedure of the paper.
            phase1: ``joint`` keeps frequencies over unique records and groups together, ``separate`` over
                each by itself, as the paper does.
            per_group: Records of each collectively identifiable group to change: a whole number, at least 1,
                or a share such as ``"50%"``; at least one member stays as it is.
            share: Least and largest changed share of the uniquely identifiable records of each value; by
                default a band around the proportion, ``(0, 1)`` switches it off.
            blur: Scale of random noise on the costs, at least 0, against who models which records were cheap
                to change.
            smoothing: Records added to every count of the estimates, at least 0.
            bins: For confidential numbers, dates and times: a number of bins of about equal numbers of
                records, or for each column a number or the edges. The release shows the bins.
            seed: Makes the run repeat exactly; whoever knows it can find out which records were changed.
            class_column: The column that :meth:`evaluate` predicts; by default a confidential one.
            count_column: Where rows are collapsed, the column that says how many records each stands for;
                the release is collapsed too.
            keep: Further columns to release as they are. Columns that nobody names are not released.
            identifiers: Direct identifiers, each with ``"drop"`` or ``"pseudonym"``.
            progress: Told what the run is doing.

        Returns:
            The release, compared with the table by an audit before it was published.

        Raises:
            GuaranteeNotMet: The proportion changes none of the uniquely identifiable records, or can be
                reversed.
            PpdmError: An option, a column or the table cannot be used. Nothing is published on any error.

        Cost: two scans of the table, work on distinct combinations, and for each confidential column a GROUP
        BY of table and release together.
        Source: Li, Sarkar 2004.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i AS age, ['a', 'b', 'c'][i % 3 + 1] AS ill "
            ...     "FROM range(12) r (i)")
            >>> release = ppdm_sql.open(con).swap(
            ...     "t", confidential="ill", by=["age"], proportion=0.5, into="safe", seed=1)
            >>> con.sql("SELECT count(*) FROM t JOIN safe s USING (age) WHERE t.ill <> s.ill").fetchall()
            [(6,)]
        """
        request = SwapRequest(
            confidential=(confidential,) if isinstance(confidential, str) else tuple(confidential),
            by=tuple(by),
            proportion=proportion,
            into=into,
            method=method,
            phase1=phase1,
            per_group=per_group,
            share=share,
            blur=blur,
            smoothing=smoothing,
            bins=bins,
            seed=seed,
            class_column=class_column,
            count_column=count_column,
            keep=tuple(keep),
            identifiers=dict(identifiers or {}),
        )
        return swap(self.engine, table, request, progress or SilentProgress())

    def evaluate(
        self,
        release: str | Release,
        *,
        test: str | None = None,
        folds: int = 10,
        seeds: int = 5,
        sample: int = 200_000,
        progress: Progress | None = None,
    ) -> Evaluation:
        """Measure what a release is still worth for classification, in errors of a decision tree.

        The tree predicts the class from the original columns (BE), from the release (SE), and from the
        original with the masked, or the sensitive, columns removed (RE); each with the seeds 1, 2, ...

        Args:
            release: The release, or its name; its source must be as it was.
            test: Table to test on, as it is for the original, recoded for the release; by default the
                release and its source are tested fold by fold, each against the rest.
            folds: Number of folds, at least 2; means nothing with ``test``.
            seeds: Number of repetitions, at least 1. A seed deals out the folds and decides between splits
                that are equally good.
            sample: How many records each repetition draws at most, of each table.
            progress: Told what the run is doing.

        Returns:
            Errors in per cent of the tested records, with their spread over the seeds.

        Raises:
            InvalidSource: The source is gone or changed, or the test table cannot be used.
            PpdmError: An option cannot be used, or scikit-learn is missing.

        Cost: two scans of the test table, one of the source and of the release; then the trees, three or
        four a fold and seed, on as many threads as the engine has.
        Source: Wang, Fung, Yu 2005, section 5.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i % 2 AS job, i % 2 AS good FROM range(40) r (i)")
            >>> db = ppdm_sql.open(con)
            >>> _ = db.suppress("t", ["k >= 30 on job"], class_column="good", into="safe")
            >>> found = db.evaluate("safe", seeds=2)
            >>> [found.rate(error).mean for error in ("BE", "SE", "SE - BE")]
            [0.0, 50.0, 50.0]
        """
        found = release if isinstance(release, Release) else self.release(release)
        options = EvaluateOptions(test, folds, seeds, sample)
        return evaluate(self.engine, found, options, progress or SilentProgress())

    def apply(self, release: str | Release, table: str, *, into: str, unseen: str = "nearest") -> Applied:
        """Apply the cut of a release to the records of another table, such as new or test records.

        Args:
            release: The release, or its name.
            table: Table or view with at least the masked columns, qualified and quoted where needed.
            into: Name of the table to make. It has the release's columns, masked ones as text, in its order;
                what the table lacks of the others and pseudonyms are left out.
            unseen: ``nearest`` shows the most general label for values that the release does not know;
                ``refuse`` makes nothing if there are any.

        Returns:
            What was made, and the release's requirements measured on it: the cut keeps no promise for new
            records by itself.

        Raises:
            PpdmError: A name is unknown or taken, the release was published without its trees, or values
                cannot be compared with its labels. Nothing is made on any error.

        Cost: one scan of each masked column, one of the table with a join per masked column, a sort, the
        audit.
        Source: Fung, Wang, Yu 2005, section 5, where the cut of the training records generalizes the test
        records.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE old AS SELECT 'cook' AS job, 'good' AS rating FROM range(4)")
            >>> _ = con.execute("CREATE TABLE new AS SELECT 'clerk' AS job FROM range(3)")
            >>> db = ppdm_sql.open(con)
            >>> release = db.suppress("old", ["k >= 4 on job"], class_column="rating", into="safe")
            >>> applied = db.apply(release, "new", into="new_safe")
            >>> applied.unseen, applied.holds
            ({'job': 3}, False)
        """
        name = release if isinstance(release, str) else release.name
        return apply(self.engine, name, table, into=into, unseen=unseen)

    def releases(self) -> list[CatalogueRow]:
        """List the releases in this database, oldest first."""
        return releases(self.engine)

    def release(self, name: str) -> Release:
        """Find a release by its name.

        Raises:
            UnknownRelease: There is none of that name; the message lists those that exist.
        """
        return get(self.engine, name)


def open_database(
    database: str | os.PathLike[str] | duckdb.DuckDBPyConnection,
    *,
    read_only: bool = False,
    create: bool = False,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> Database:
    """Open a DuckDB file, or use a connection that is open already.

    Args:
        database: Path of the file, ``:memory:``, or a connection; a connection keeps its settings.
        read_only: Open the file without the right to write.
        create: Make the file where it does not exist.
        threads: Number of threads, at least 1; None leaves the engine's choice.
        memory_limit: Such as ``2GB``; None leaves the engine's choice.

    Raises:
        DatabaseUnavailable: The file is missing, locked, read-only or no database.

    Example:
        >>> with open_database(":memory:") as db:
        ...     db.releases()
        []
    """
    if isinstance(database, duckdb.DuckDBPyConnection):
        return Database(Engine(database))
    spill = SpillFolder()
    try:
        connection = connect(
            database,
            read_only=read_only,
            create=create,
            threads=threads,
            memory_limit=memory_limit,
            spill=spill,
        )
    except BaseException:
        spill.close()
        raise
    return Database(Engine(connection, spill=spill, owned=True))
