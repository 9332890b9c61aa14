"""The Python interface: a database, and what can be done with it.

A method imports what it runs when it is called: each brings libraries and modules that the others do without.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from ppdm_sql.engine import Engine, alone
from ppdm_sql.engine.names import by_name, listed
from ppdm_sql.engine.opening import connect, remove_database
from ppdm_sql.engine.pending import has_pending
from ppdm_sql.engine.spill import SpillFolder
from ppdm_sql.engine.watching import interruptible
from ppdm_sql.errors import PpdmError
from ppdm_sql.progress import Progress, WarningProgress
from ppdm_sql.sources import Source, attach, detach, read_again, takes_sources

if TYPE_CHECKING:
    from ppdm_sql.audit import Audit
    from ppdm_sql.comparison import Comparison
    from ppdm_sql.evaluation import Evaluation
    from ppdm_sql.macros.installing import Installed
    from ppdm_sql.methods.perturbation.agrawal import Generated
    from ppdm_sql.methods.perturbation.distributions import Reconstruction
    from ppdm_sql.methods.trees.predicting import Predicted
    from ppdm_sql.methods.trees.storing import Model, ModelRow
    from ppdm_sql.privacy import Asked, Requirement
    from ppdm_sql.privacy.quoting import Number
    from ppdm_sql.release import CatalogueRow, Release
    from ppdm_sql.release.applying import Applied
    from ppdm_sql.taxonomy.model import Taxonomy


def _weighted(text: str) -> tuple[str, str | None]:
    from ppdm_sql.privacy.population import weighted

    return weighted(text)


class Database:
    """A DuckDB database with personal records in it, and the methods that release them.

    Make one with :func:`ppdm_sql.open`. It is a context manager; leaving it closes what it opened.

    Args:
        engine: The engine on an open connection.

    Attributes:
        progress: Told what is read by methods that are given no progress of their own.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.progress: Progress | None = None
        self._attached: list[str] = []

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file if :func:`ppdm_sql.open` opened it; a connection of yours stays open."""
        for name in self._attached:
            detach(self.engine, name)
        self._attached.clear()
        if self.engine.spark is not None:
            self.engine.spark.close()
        self.engine.close()

    @alone
    def attach(self, name: str, database: str | os.PathLike[str]) -> None:
        """Attach another database read-only, so that its tables can be released into this one.

        Args:
            name: What its tables are called by, as in ``name.schema.table``.
            database: Path of a DuckDB file, or what DuckDB's extensions know: ``sqlite:FILE``,
                ``postgres:dbname=...``, ``s3://...``. Passwords in it are neither shown nor stored.

        Raises:
            NameTaken: A database has the name.
            DatabaseUnavailable: It cannot be opened.

        Cost: no scan.

        Example:
            >>> import os, tempfile, ppdm_sql
            >>> with tempfile.TemporaryDirectory() as folder, ppdm_sql.open(":memory:") as db:
            ...     with ppdm_sql.open(os.path.join(folder, "shop.duckdb"), create=True) as shop:
            ...         _ = shop.generate_agrawal("people", function=1, rows=4, seed=1)
            ...     db.attach("shop", os.path.join(folder, "shop.duckdb"))
            ...     db.audit("shop.people", ["k on zipcode"]).findings[0].classes <= 4
            True
        """
        attach(self.engine, name, database)
        self._attached.append(name)

    @takes_sources("table", "population", elsewhere=True, weighted={"population": _weighted})
    @alone
    def audit(
        self,
        table: Source,
        require: Sequence[str | Asked] = (),
        *,
        count_column: str | None = None,
        quasi_identifier: Sequence[str] | None = None,
        thresholds: Sequence[Number] | None = None,
        population: Source | None = None,
        groups: int = 0,
        confidential: str | Sequence[str] = (),
        sensitive: str | Sequence[str] = (),
        by: str | Sequence[str] = (),
        allow_absent: bool = False,
        person: str | Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
    ) -> Audit:
        """Measure any table or view: requirements, class sizes, risk, what columns give away of others.

        Args:
            table: Table or view, file or frame; alone, its columns are looked at.
            require: Requirements to check; one without a limit (``k on Sex, Job``) is only measured.
            count_column: Where rows are collapsed, the column that says how many records each stands for.
            quasi_identifier: Columns whose class sizes and risk are wanted; by default those of ``require``.
            thresholds: Confidences in [0, 1], such as 0.5 or ``50%``, above which inferences are counted.
            population: A table of everybody, for the journalist's risk; ``t(n)`` counts each row n times.
            groups: How many of the worst groups to name by their values; 0 names none.
            confidential: Columns whose values ``by`` may give away: counts identifiable records.
            sensitive: The same; measures diversity, closeness and the confidence of each value.
            by: Columns that others may know.
            allow_absent: Whether a template may protect values that its column does not hold.
            person: Columns that say whose record a row is: then persons are counted, not records.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.

        Raises:
            PpdmError: A name or protected value is unknown, a text cannot be read, the table is empty.

        Cost: one scan of the table; for a table alone a GROUP BY of each column and of at most 20 pairs.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 1), ('a', 2)) v(x, y)")
            >>> ppdm_sql.open(con).audit("t", by="x", sensitive="y").exposure.smallest
            2
        """
        from ppdm_sql.audit import audit
        from ppdm_sql.privacy import parse_measures

        return audit(
            self.engine,
            self.engine.find(table),
            parse_measures(require),
            count=count_column,
            quasi_identifier=None if quasi_identifier is None else listed(quasi_identifier),
            population=None if population is None else (self.engine.find(population[0]), population[1]),
            groups=groups,
            thresholds=thresholds,
            confidential=listed(confidential),
            sensitive=listed(sensitive),
            by=listed(by),
            allow_absent=allow_absent,
            person=listed(person),
        )

    @takes_sources("table", elsewhere=True)
    @alone
    def suppress(
        self,
        table: Source,
        require: Sequence[str | Requirement],
        *,
        class_column: str | None = None,
        into: str,
        count_column: str | None = None,
        keep: Sequence[str] = (),
        allow_identifiers: Sequence[str] = (),
        identifiers: Mapping[str, str] | None = None,
        suppress_records: Number = 0,
        max_steps: int | None = None,
        symbol: str = "*",
        allow_absent: bool = False,
        person: str | Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        score: str = "default",
        detail: float | None = None,
        limits: Mapping[str, object] | None = None,
        weights: Mapping[str, object] | None = None,
        to: str | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Suppress values (PDA) until every requirement holds, and publish the verified release.

        Args:
            table: Table or view, file or frame to release.
            require: Templates and k-anonymity; their columns are masked, whole values at a time.
            class_column: The column that a classifier is to predict; released as it is. Without one, steps
                keep as much detail as they can, by the normalized certainty penalty.
            into: Name of the release, a view.
            count_column: Where rows are collapsed, the column that says how many records each stands for;
                the release is collapsed too.
            keep: Further columns to release as they are. A column of a requirement that is kept stays in
                the clear and still groups. Columns that nobody names are not released.
            allow_identifiers: Kept columns to release although they look like direct identifiers, or
                nearly every record has a value of its own there; without it they are refused.
            identifiers: Direct identifiers, each with ``"drop"`` or ``"pseudonym"``.
            suppress_records: The largest share of the records that may be left out, such as ``"1%"`` or 0.01:
                those in classes that break a requirement. They are not in the release in any form.
            max_steps: Stop after this many disclosures, at least 0; every state keeps the requirements.
            symbol: What a suppressed value becomes.
            allow_absent: Whether a template may protect values that its column does not hold.
            person: Columns that say whose record a row is: then every requirement counts persons.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
            score: ``"default"`` counts what a step tells of the class, corrected for chance, and the detail
                that it shows, over the whole table, less what records that it leaves out would have shown;
                ``"paper"`` is information gained per privacy lost.
            detail: What showing all detail is worth, from 0 on, where to know the class for sure is worth 1.
            limits: For a column, how many different labels it may show at most.
            weights: For a column, a number above 0 that its gains are multiplied by.
            to: Where Spark writes the rows, too: the path of a folder, or the name of a table.
            progress: Told what the run is doing.

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
        from ppdm_sql.methods.top_down.request import RefinementRequest
        from ppdm_sql.methods.top_down.suppress import suppress

        request = RefinementRequest(
            require=require,
            class_column=class_column,
            into=into,
            count_column=count_column,
            keep=listed(keep),
            allow_identifiers=listed(allow_identifiers),
            identifiers=by_name(identifiers, "identifiers"),
            suppress_records=suppress_records,
            max_steps=max_steps,
            symbol=symbol,
            allow_absent=allow_absent,
            score=score,
            detail=detail,
            limits=by_name(limits, "limits"),
            weights=by_name(weights, "weights"),
            person=listed(person),
            to=to,
        )
        return suppress(self.engine, table, request, progress or WarningProgress())

    @takes_sources("table", elsewhere=True)
    @alone
    def generalize(
        self,
        table: Source,
        require: Sequence[str | Requirement],
        *,
        class_column: str | None = None,
        into: str,
        method: str = "tds",
        taxonomies: Mapping[str, Taxonomy | Mapping[str, Any] | str | Path] | None = None,
        ranges: Mapping[str, tuple[object, object]] | None = None,
        boundary: str = "valid",
        condition: Sequence[str] = (),
        suppress: Sequence[str] = (),
        categories: str | Sequence[str] = (),
        count_column: str | None = None,
        keep: Sequence[str] = (),
        allow_identifiers: Sequence[str] = (),
        identifiers: Mapping[str, str] | None = None,
        interval_columns: bool = False,
        show_values: bool = False,
        suppress_records: Number = 0,
        max_steps: int | None = None,
        symbol: str = "*",
        allow_absent: bool = False,
        person: str | Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        score: str = "default",
        detail: float | None = None,
        rare: str | None = None,
        limits: Mapping[str, object] | None = None,
        weights: Mapping[str, object] | None = None,
        min_widths: Mapping[str, object] | None = None,
        tops: Mapping[str, object] | None = None,
        bottoms: Mapping[str, object] | None = None,
        to: str | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Generalize (TDS, HCE-TDR) as little as the requirements allow, and publish the verified release.

        The columns of the requirements are masked: by their taxonomy where one is given; numbers, dates and
        times without one by intervals that are grown during the run; all others by suppression, as are
        whole numbers that look like codes, unless ``ranges`` or the like say that they are numbers.

        Args:
            table: Table or view, file or frame to release.
            require: What the release keeps, in any form of the language; these columns are masked.
            class_column: The column that a classifier is to predict; released as it is. Without one, steps
                keep as much detail as they can, by the normalized certainty penalty.
            into: Name of the release, a view.
            method: ``tds``, or ``hce-tdr``, which takes one quasi-identifier.
            taxonomies: For a column its taxonomy: a :class:`~ppdm_sql.Taxonomy`, nested mappings, the path
                of an ARX CSV file, or the name of a table with the columns ``child`` and ``parent``.
            ranges: For a grown column its lower bound, and its upper bound, which is outside.
            boundary: Where a grown interval is split: at its best ``valid`` boundary, or ``best`` or nowhere.
            condition: For ``hce-tdr``, the other columns that tell of the class; released as they are.
            suppress: Columns to suppress although they have an order.
            categories: Columns of numbers that are codes, whatever they look like; suppressed likewise.
            count_column: Column that says how many records a row stands for; the release is collapsed too.
            keep: Further columns to release as they are. Columns that nobody names are not released.
            allow_identifiers: As of :meth:`suppress`.
            identifiers: Direct identifiers, each with ``"drop"`` or ``"pseudonym"``.
            interval_columns: Put columns ``A_lower`` and ``A_upper`` beside each column of intervals.
            show_values: List values that a taxonomy lacks in the error that says how many there are.
            suppress_records: The largest share of the records that may be left out, such as ``"1%"`` or 0.01:
                those in classes that break a requirement. They are not in the release in any form.
            max_steps: Stop after this many steps, at least 0; every state keeps the requirements.
            symbol: What a suppressed value becomes.
            allow_absent: Whether a template may protect values that its column does not hold.
            person: Columns that say whose record a row is: then every requirement counts persons.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
            score: ``"default"`` counts what a step tells of the class, corrected for chance, and the detail
                that it shows, over the whole table, less what records that it leaves out would have shown;
                ``"paper"`` is information gained per privacy lost.
            detail: What showing all detail is worth, from 0 on, where to know the class for sure is worth 1.
            rare: ``"merged"`` puts children of a hierarchy's node that have too few records for any class
                into one group, ``other X``; ``"apart"`` leaves them, as the papers' score does by itself.
            limits: For a column, how many different labels it may show at most.
            weights: For a column, a number above 0 that its gains are multiplied by.
            min_widths: For a grown column, the least width of its intervals: a number, for dates one of
                days, or a text such as ``1 month``.
            tops: For a column of grown intervals or ``ranges`` the smallest value of its upper tail.
            bottoms: For such a column the greatest value of its lower tail, which shares one label.
            to: Where Spark writes the rows, too: the path of a folder, or the name of a table.
            progress: Told what the run is doing.

        Returns:
            The release, verified by its own audit.

        Raises:
            GuaranteeNotMet: No generalization meets the requirements.
            PpdmError: An option, column, taxonomy or table cannot be used. On any error nothing is published.

        Cost: two scans, then work on distinct combinations. Source: Fung, Wang, Yu 2005; HCE-TDR (2013).

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
        from ppdm_sql.methods.top_down.generalize import generalize
        from ppdm_sql.methods.top_down.request import GeneralizeRequest

        request = GeneralizeRequest(
            require=require,
            class_column=class_column,
            into=into,
            method=method,
            taxonomies=by_name(taxonomies, "taxonomies"),
            ranges=by_name(ranges, "ranges"),
            boundary=boundary,
            condition=listed(condition),
            suppress=listed(suppress),
            categories=listed(categories),
            count_column=count_column,
            keep=listed(keep),
            allow_identifiers=listed(allow_identifiers),
            identifiers=by_name(identifiers, "identifiers"),
            interval_columns=interval_columns,
            show_values=show_values,
            suppress_records=suppress_records,
            max_steps=max_steps,
            symbol=symbol,
            allow_absent=allow_absent,
            score=score,
            detail=detail,
            rare=rare,
            limits=by_name(limits, "limits"),
            weights=by_name(weights, "weights"),
            min_widths=by_name(min_widths, "min_widths"),
            person=listed(person),
            tops=by_name(tops, "tops"),
            bottoms=by_name(bottoms, "bottoms"),
            to=to,
        )
        return generalize(self.engine, table, request, progress or WarningProgress())

    @takes_sources("table", elsewhere=True)
    @alone
    def swap(
        self,
        table: Source,
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
        allow_identifiers: Sequence[str] = (),
        identifiers: Mapping[str, str] | None = None,
        person: str | Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        to: str | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Exchange confidential values of identifiable records, and publish the verified release.

        A record is identifiable if all records with its values in ``by`` have one confidential value. A share
        of those that are alone with theirs takes another value, and so do members of each group; all else is
        released as it is. Frequencies of the values are kept where that is possible, and what the columns
        tell of each other as far as it is.

        Args:
            table: Table or view, file or frame to release.
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
            allow_identifiers: As of :meth:`suppress`.
            identifiers: Direct identifiers, each with ``"drop"`` or ``"pseudonym"``.
            person: Columns that say whose record a row is. Then persons are identified, by the set of what
                their rows show in ``by``, and all rows of a person change alike; a person must have one
                confidential value. They are not released, but may be identifiers.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
            to: Where Spark writes the rows, too: the path of a folder, or the name of a table.
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
        from ppdm_sql.methods.swapping.request import SwapRequest
        from ppdm_sql.methods.swapping.swap import swap

        request = SwapRequest(
            confidential=listed(confidential),
            by=listed(by),
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
            keep=listed(keep),
            allow_identifiers=listed(allow_identifiers),
            identifiers=by_name(identifiers, "identifiers"),
            person=listed(person),
            to=to,
        )
        return swap(self.engine, table, request, progress or WarningProgress())

    @takes_sources("table", elsewhere=True)
    @alone
    def randomize(
        self,
        table: Source,
        *,
        noise: Mapping[str, str] | Sequence[str],
        into: str,
        ranges: Mapping[str, tuple[object, object]] | None = None,
        class_column: str | None = None,
        keep: Sequence[str] = (),
        allow_identifiers: Sequence[str] = (),
        identifiers: Mapping[str, str] | None = None,
        record: str | None = None,
        key_file: str | os.PathLike[str] | None = None,
        seed: int | None = None,
        correlated: bool = False,
        count_column: str | None = None,
        person: str | Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        to: str | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Distort the values of columns, each record for itself, and publish the verified release.

        Noise is written ``gaussian 100%`` (the privacy level at 95 % confidence), ``gaussian 100% at 99.9%``,
        ``gaussian 2500`` (the standard deviation) and likewise ``uniform``, whose scale is half its width;
        ``on 20000,150000`` gives the range of the originals, ``rounded`` keeps whole numbers whole and
        decimals as many as they are. ``cells 5``, ``cells 5 equal-frequency`` and ``cells 0,20,40`` show the
        cell that a number lies in; ``retain 0.7`` keeps a category with this probability and draws one at
        random otherwise. NULL stays NULL. The catalogue and the comments on columns hold this model, never
        the noise.

        Args:
            table: Table or view, file or frame to release.
            noise: For each column its noise, or texts such as ``"salary=gaussian 100%"``.
            into: Name of the release, a view.
            ranges: Least and largest possible value of columns of numbers; without it those in the data,
                which are released with the noise.
            class_column: The column that a miner is to predict, released as it is.
            keep: Further columns to release as they are. Columns that nobody names are not released.
            allow_identifiers: As of :meth:`suppress`.
            identifiers: Direct identifiers, each with ``"drop"`` or ``"pseudonym"``.
            record: A column with another value in each record, by which a record always gets the same noise;
                by default the row of the table.
            key_file: A file for the key of the noise: read if it exists, else made for the owner's eyes only.
                The same key, record, column and noise give the same value again. One key, one set of persons.
                By default the key is thrown away.
            seed: Makes the key instead, in tests; whoever knows it can take the noise away.
            correlated: Correlate Gaussian noise as the columns are, so that no filter can tell them apart.
            count_column: Always refused: a row for several records cannot be randomized.
            person: Columns that say whose record a row is. Then a column that is the same in all rows of a
                person gets one draw for the person, since the mean of many noisy rows would be close to the
                truth; other columns get a draw for each row. They are not released, but may be identifiers.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
            to: Where Spark writes the rows, too: the path of a folder, or the name of a table.
            progress: Told what the run is doing.

        Returns:
            The release, compared with the table by an audit before it was published.

        Raises:
            GuaranteeNotMet: The audit refused the outcome.
            PpdmError: An option, a column or the table cannot be used. Nothing is published on any error.

        Cost: three scans of the table, a sort of the released rows, some scans more for measures and audit.
        Source: Agrawal, Srikant 2000, section 2.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i % 80 AS age, i % 2 AS ill FROM range(900) r (i)")
            >>> release = ppdm_sql.open(con).randomize(
            ...     "t", noise={"age": "uniform 50% rounded"}, ranges={"age": (0, 99)}, class_column="ill",
            ...     into="safe", seed=1)
            >>> con.sql("SELECT count(*), min(age) >= -27, max(age) <= 126 FROM safe").fetchall()
            [(900, True, True)]
        """
        from ppdm_sql.methods.perturbation.randomize import randomize
        from ppdm_sql.methods.perturbation.request import RandomizeRequest

        request = RandomizeRequest(
            noise=noise,
            into=into,
            ranges=by_name(ranges, "ranges"),
            class_column=class_column,
            keep=listed(keep),
            allow_identifiers=listed(allow_identifiers),
            identifiers=by_name(identifiers, "identifiers"),
            record=record,
            key_file=key_file,
            seed=seed,
            correlated=correlated,
            count_column=count_column,
            person=listed(person),
            to=to,
        )
        return randomize(self.engine, table, request, progress or WarningProgress())

    @takes_sources("table", elsewhere=True)
    @alone
    def reconstruct(
        self,
        table: Source,
        *,
        into: str,
        columns: str | Sequence[str] = (),
        by_class: str | None = None,
        intervals: int | None = None,
        noise: Mapping[str, str] | Sequence[str] = (),
        ranges: Mapping[str, tuple[object, object]] | None = None,
        kernel: str = "cell",
        categorical: str = "bayes",
        fraction: float = 0.01,
        max_iterations: int = 10_000,
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Reconstruction:
        """Estimate the distributions behind randomized columns, and write them into an ordinary table.

        The table has a row for each interval or category: ``lower`` and ``upper``, or ``value``, and the
        estimated ``probability`` and number of ``records``; with several columns ``attribute``, and by class
        ``class``. Records without a value are left out and counted. A value farther out than the noise takes
        any value of the range counts to the end interval; an unknown category is left out.

        Args:
            table: Release, table, view, file or frame of distorted values.
            into: Name of the table to make.
            columns: The columns; by default all whose noise is known.
            by_class: Column whose values, at most 1,000 and NULL among them, get a distribution each.
            intervals: Number of intervals, at least 1; by default one for 100 records, but 10 to 100. The
                whole numbers of a range with at most 100 of them get one each by default.
            noise: The noise, in the language of :meth:`randomize`, where the table is no release of this
                database and its comments do not tell.
            ranges: Least and largest original value of columns with such noise.
            kernel: ``cell``, which is exact for values spread evenly in their interval, or ``midpoint``, the
                approximation of the paper.
            categorical: ``bayes``, iterated, or ``inversion`` of the matrix: negative estimates become 0.
            fraction: The iteration stops once the change is below this share of the 95 % quantile of
                chi-square; at least 0. Less follows the sample more closely than its size warrants.
            max_iterations: It stops after this many steps in any case, at least 1.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
            progress: Told what the run is doing.

        Returns:
            The distributions, what stopped each iteration, and the privacy that remains by entropy.

        Raises:
            PpdmError: A name is unknown or taken, an option or a column cannot be used, the noise is not
                known, or more than half of the values cannot come from it. Nothing is made on any error.

        Cost: one GROUP BY a column; the iteration costs O(m^2) a step, whatever the number of records.
        Source: Agrawal, Srikant 2000, section 3; for the privacy Agrawal, Aggarwal 2001.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i % 10 + i // 10 % 3 - 1 AS x FROM range(300) r(i)")
            >>> found = ppdm_sql.open(con).reconstruct(
            ...     "t", into="d", noise={"x": "uniform 1.5 rounded"}, ranges={"x": (0, 9)})
            >>> found.distributions[0].stopped, con.sql("SELECT round(sum(probability), 9) FROM d").fetchall()
            ('chi-square criterion', [(1.0,)])
        """
        from ppdm_sql.methods.perturbation.reconstruct import ReconstructOptions, reconstruct

        options = ReconstructOptions(
            into=into,
            columns=listed(columns),
            by_class=by_class,
            intervals=intervals,
            kernel=kernel,
            categorical=categorical,
            fraction=fraction,
            max_iterations=max_iterations,
            noise=noise,
            ranges=None if ranges is None else by_name(ranges, "ranges"),
        )
        return reconstruct(self.engine, table, options, progress or WarningProgress())

    @takes_sources("test")
    @alone
    def evaluate(
        self,
        release: str | Release,
        *,
        test: Source | None = None,
        class_column: str | None = None,
        folds: int = 10,
        seeds: int = 5,
        sample: int = 200_000,
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Evaluation:
        """Measure what a release is still worth for classification, in errors of a decision tree.

        The tree predicts the class from the original columns (BE), from the release (SE), and from the
        original with the masked, or the sensitive, columns removed (RE); each with the seeds 1, 2, ...

        Args:
            release: The release, or its name; its source must be as it was.
            test: Table to test on, as it is for the original, recoded for the release; by default the
                release and its source are tested fold by fold, each against the rest.
            class_column: The column to predict, one that the release shows as it is; by default its class.
            folds: Number of folds, at least 2; means nothing with ``test``.
            seeds: Number of repetitions, at least 1. A seed deals out the folds and decides between splits
                that are equally good.
            sample: How many records each repetition draws at most, of each table.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
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
        from ppdm_sql.evaluation import EvaluateOptions, evaluate
        from ppdm_sql.release import Release
        from ppdm_sql.release.catalogue import READ

        found = release if isinstance(release, Release) else self.release(release)
        options, row = EvaluateOptions(test, class_column, folds, seeds, sample), found.row()
        with read_again(self.engine, row.source, row.parameters.get(READ, {}), row.release):
            return evaluate(self.engine, found, options, progress or WarningProgress())

    def compare(
        self,
        tables: Source | Sequence[str],
        *,
        quasi_identifier: Sequence[str] = (),
        require: Sequence[str | Asked] = (),
        k: int | Sequence[int] | None = None,
        method: str | Sequence[str] = "tds",
        suppress_records: Number | Sequence[Number] = "0",
        class_column: str | None = None,
        taxonomies: Mapping[str, Taxonomy | Mapping[str, Any] | str | Path] | None = None,
        ranges: Mapping[str, tuple[object, object]] | None = None,
        condition: Sequence[str] = (),
        suppress: Sequence[str] = (),
        categories: str | Sequence[str] = (),
        count_column: str | None = None,
        keep: Sequence[str] = (),
        allow_identifiers: Sequence[str] = (),
        identifiers: Mapping[str, str] | None = None,
        max_steps: int | None = None,
        symbol: str = "*",
        allow_absent: bool = False,
        evaluate: bool = False,
        page: str | os.PathLike[str] | None = None,
        force: bool = False,
        keep_best: str | None = None,
        into: str | None = None,
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        boundary: str = "valid",
        person: str | Sequence[str] = (),
        score: str = "default",
        detail: float | None = None,
        rare: str | None = None,
        limits: Mapping[str, object] | None = None,
        weights: Mapping[str, object] | None = None,
        min_widths: Mapping[str, object] | None = None,
        tops: Mapping[str, object] | None = None,
        bottoms: Mapping[str, object] | None = None,
        progress: Progress | None = None,
    ) -> Comparison:
        """Put settings, or releases, side by side: risk, detail lost, the error of a classifier.

        Settings are all combinations of ``k``, ``method`` and ``suppress_records``. Nothing is published,
        unless ``keep_best`` says by what the best is chosen. One that cannot be met says why in its row.

        Args:
            tables: Table or view, file or frame to try settings on; or releases, and nothing to try.
            quasi_identifier: Columns that others may know: those of ``k``, or to measure releases by.
            require: What every setting keeps; ``k on A, B`` without a limit takes that of ``k``.
            k: The smallest class sizes to try.
            method: Of ``tds``, ``hce-tdr`` and ``pda``, those to try.
            suppress_records: The largest shares of the records that may be left out, to try.
            class_column: The column that a classifier is to predict; by default detail counts.
            taxonomies: As for :meth:`generalize`, for all settings alike.
            ranges: For a grown column its lower bound, and its upper bound, which is outside.
            condition: For ``hce-tdr``, the other columns that tell of the class; the others keep them.
            suppress: Columns to suppress although they have an order.
            categories: Columns of numbers that are codes, whatever they look like; suppressed likewise.
            count_column: Where rows are collapsed, the column that says how many records each stands for.
            keep: Further columns to release as they are.
            allow_identifiers: As of :meth:`suppress`.
            identifiers: Direct identifiers, each with ``"drop"`` or ``"pseudonym"``.
            max_steps: Stop each after this many steps, at least 0.
            symbol: What a suppressed value becomes.
            allow_absent: Whether a template may protect values that its column does not hold.
            evaluate: Measure the error of a classifier, too, with one seed; needs scikit-learn.
            page: A file to write with pictures, such as ``compared.html``; it is the owner's.
            force: Replace the file of ``page`` if it exists.
            keep_best: Publish the setting with the least ``loss`` of detail, ``risk``, ``average-risk``,
                ``error`` or ``left-out``.
            into: Name of the release that is published so.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
            boundary: As for :meth:`generalize`, for all settings alike, as are those below.
            person: Columns that say whose record a row is: requirements, classes and risks count persons.
            score: As of :meth:`suppress`, of every setting.
            detail: As of :meth:`suppress`.
            rare: As of :meth:`generalize`.
            limits: For a column, how many labels it may show at most.
            weights: For a column, how many times what it gains counts.
            min_widths: For a grown column, the least width of its intervals.
            tops: For a column of grown intervals or ``ranges``, from which value up all have one label.
            bottoms: For such a column, from which value down all have one label.
            progress: Told what is tried.

        Returns:
            A row a release, or for settings of the same numbers. Ctrl-C ends with those that were done.

        Raises:
            PpdmError: An option, a column or the table cannot be used.

        Cost: as a run for the first setting; all others share the collapsed table, so two scans in all.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i AS age, i > 5 AS old FROM range(12) r (i)")
            >>> found = ppdm_sql.open(con).compare(
            ...     "t", quasi_identifier=["age"], k=[2, 4], class_column="old")
            >>> [(row.name, row.numbers.smallest_class) for row in found.rows]
            [('k = 2', 3), ('k = 4', 6)]
        """
        from ppdm_sql.comparison import CompareOptions, compare

        several = isinstance(suppress_records, list | tuple)
        shares: tuple[Any, ...] = tuple(suppress_records) if several else (suppress_records,)  # type: ignore[arg-type]
        options = CompareOptions(
            quasi_identifier=listed(quasi_identifier),
            require=require,
            k=() if k is None else (k,) if isinstance(k, int) else tuple(k),
            method=(method,) if isinstance(method, str) else tuple(method),
            suppress_records=shares,
            class_column=class_column,
            taxonomies=by_name(taxonomies, "taxonomies"),
            ranges=by_name(ranges, "ranges"),
            condition=listed(condition),
            suppress=listed(suppress),
            categories=listed(categories),
            count_column=count_column,
            keep=listed(keep),
            allow_identifiers=listed(allow_identifiers),
            identifiers=by_name(identifiers, "identifiers"),
            max_steps=max_steps,
            symbol=symbol,
            allow_absent=allow_absent,
            evaluate=evaluate,
            page=page,
            force=force,
            keep_best=keep_best,
            into=into,
            boundary=boundary,
            person=listed(person),
            score=score,
            detail=detail,
            rare=rare,
            limits=by_name(limits, "limits"),
            weights=by_name(weights, "weights"),
            min_widths=by_name(min_widths, "min_widths"),
            tops=by_name(tops, "tops"),
            bottoms=by_name(bottoms, "bottoms"),
        )
        listener = progress or self.progress or WarningProgress()
        return compare(self.engine, tables, options, types, nulls, listener)

    @takes_sources("table", elsewhere=True)
    @alone
    def apply(
        self,
        release: str | Release,
        table: Source,
        *,
        into: str,
        unseen: str = "nearest",
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        to: str | None = None,
    ) -> Applied:
        """Apply the cut of a release to the records of another table, such as new or test records.

        Args:
            release: The release, or its name.
            table: Table or view, file or frame with at least the masked columns.
            into: Name of the table to make. It has the release's columns, masked ones as text, in its order;
                what the table lacks of the others and pseudonyms are left out.
            unseen: ``nearest`` shows the most general label for values that the release does not know;
                ``refuse`` makes nothing if there are any.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
            to: Where Spark writes the rows, too: the path of a folder, or the name of a table.

        Returns:
            What was made, and the release's requirements measured on it: the cut keeps no promise for new
            records by itself.

        Raises:
            PpdmError: A name is unknown or taken, the release was published without its trees, or values
                cannot be compared with its labels. Nothing is made on any error.

        Cost: one scan of each masked column, one of the table with a join per masked column, a sort, the
        audit.
        Source: Fung, Wang, Yu 2005, section 5: the cut of the training records generalizes the test records.

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
        from ppdm_sql.release import Release, applying

        name = release.name if isinstance(release, Release) else release
        return applying.apply(self.engine, name, table, into=into, unseen=unseen, to=to)

    @alone
    def generate_agrawal(
        self,
        into: str,
        *,
        function: int,
        rows: int,
        seed: int | None = None,
        balanced: bool = True,
        progress: Progress | None = None,
    ) -> Generated:
        """Make a table of synthetic persons: nine attributes, and a class that a function of them decides.

        ``salary``, ``commission``, ``age``, ``hvalue``, ``hyears`` and ``loan`` are real numbers, ``elevel``,
        ``car`` and ``zipcode`` whole ones, all spread evenly over their ranges; ``commission`` is 0 from a
        salary of 75,000 on, ``hvalue`` lies between 50,000 and 150,000 times the zipcode, which is 1 to 9.
        ``class`` is ``Group A`` where the function holds, else ``Group B``: a function of age (1), of age and
        salary (2), of both and elevel (3), of income and loan (4), of these and the house (5).

        Args:
            into: Name of the table.
            function: Number of the function, 1 to 5.
            rows: Number of records, at least 1.
            seed: From 0 on. The same seed gives the same table, whatever the number of threads; by default
                one is drawn.
            balanced: As many records of one class as of the other, and one more of ``Group A`` where ``rows``
                is odd; otherwise as it comes.
            progress: Told what the run is doing.

        Returns:
            The seed and the records of each class.

        Raises:
            PpdmError: The name is taken, or an option cannot be used. Nothing is made on any error.

        Cost: one to two times the records are drawn for balanced classes, with the work of writing them.
        Source: Agrawal, Srikant 2000, section 5.1, Tables 2 and 3.

        Example:
            >>> import ppdm_sql
            >>> with ppdm_sql.open(":memory:") as db:
            ...     db.generate_agrawal("people", function=2, rows=1001, seed=1).classes
            {'Group A': 501, 'Group B': 500}
        """
        from ppdm_sql.methods.perturbation.agrawal import generate_agrawal

        return generate_agrawal(
            self.engine,
            into,
            function=function,
            rows=rows,
            seed=seed,
            balanced=balanced,
            progress=progress or WarningProgress(),
        )

    @takes_sources("table", "test", elsewhere=True)
    @alone
    def train(
        self,
        table: Source,
        *,
        class_column: str,
        into: str,
        mode: str = "byclass",
        columns: Sequence[str] = (),
        intervals: int | None = None,
        max_depth: int | None = None,
        min_split: int | None = None,
        prune: bool = True,
        noise: Mapping[str, str] | Sequence[str] = (),
        ranges: Mapping[str, tuple[object, object]] | None = None,
        test: Source | None = None,
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Model:
        """Grow a decision tree from original or randomized values, and store it with a macro that predicts.

        Numbers are divided into intervals, at whose boundaries they are split, by the gini index. Where the
        noise of a column is known, ``global`` reconstructs its distribution over all records, ``byclass`` for
        each class, ``local`` for each class in every node of at least 1,000 records; the values are sorted
        and dealt out to the intervals by it. ``original`` and ``randomized`` take values as they are, as all
        modes take columns without noise, texts (randomized ones too), booleans and released intervals.

        A text goes left if it is among those that the split lists, the smaller side, all others and NULL go
        right. A number that is NULL goes with the larger side. Records without a class are left out.

        Args:
            table: Release, table, view, file or frame to learn from.
            class_column: The column to predict, of at most 256 values.
            into: Name of the model.
            mode: ``original``, ``randomized``, ``global``, ``byclass`` or ``local``.
            columns: What the tree may split; by default all numbers, booleans, and texts of at most 256
                values.
            intervals: Of each number, 2 to 1,000; by default one for 100 records, but 10 to 100. The whole
                numbers of a range with at most 100 of them get one each by default.
            max_depth: Most splits above a node, 0 to 64.
            min_split: Nodes with fewer records are not split, at least 2; by default 20 or a thousandth of
                the records, whichever is more.
            prune: Whether splits that cost more bits to tell than they save are taken back.
            noise: The noise, in the language of :meth:`randomize`, where the table is no release of this
                database and its comments do not tell.
            ranges: Least and largest original value of columns; by default the observed ones where there is
                no noise.
            test: Table to count right and wrong predictions on; it holds values as they are.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
            progress: Told what the run is doing.

        Returns:
            The model: its tree, and the confusion matrix where there is a test table.

        Raises:
            PpdmError: A name is unknown or taken, an option or a column cannot be used, or the noise is not
                known. Nothing is stored on any error.

        Cost: two scans of the table; for each level of the tree a GROUP BY an attribute of the records in its
        open nodes, and one statement that moves these to the next level.
        Source: Agrawal, Srikant 2000, section 4; for the pruning Mehta, Rissanen, Agrawal 1995.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i AS age, i >= 50 AS old FROM range(100) r (i)")
            >>> model = ppdm_sql.open(con).train("t", class_column="old", mode="original", into="m", test="t")
            >>> model.tree().root.cut, model.row().confusion
            (49.5, ((50, 0), (0, 50)))
        """
        from ppdm_sql.methods.trees.train import TrainRequest, train

        request = TrainRequest(
            class_column=class_column,
            into=into,
            mode=mode,
            columns=listed(columns),
            intervals=intervals,
            max_depth=max_depth,
            min_split=min_split,
            prune=prune,
            noise=noise,
            ranges=by_name(ranges, "ranges"),
            test=test,
        )
        return train(self.engine, table, request, progress or WarningProgress())

    @takes_sources("table", elsewhere=True)
    @alone
    def predict(
        self,
        model: str | Model,
        table: Source,
        *,
        into: str,
        keep: Sequence[str] | None = None,
        column: str = "predicted",
        types: Mapping[str, str] | None = None,
        nulls: str | Sequence[str] = (),
        to: str | None = None,
    ) -> Predicted:
        """Make a table of the records of another with the class that a model predicts for each.

        A model that was trained on randomized values predicts for true ones. In SQL the same is a call of the
        macro ``MODEL_predict``, whose parameters are the columns that the tree uses.

        Args:
            model: The model, or its name.
            table: Table or view, file or frame with the columns that the tree uses.
            into: Name of the table to make.
            keep: The columns to take over; by default all.
            column: The column with the predicted class, in the type of the training table's.
            types: Types of columns of a file, frame or table, by their names, such as ``{"zip": "VARCHAR"}``.
            nulls: Texts that stand for a missing value in it, such as ``["N/A", "(null)"]``.
            to: Folder of Spark where the rows are written; of a table there, ``into`` is a view of them.

        Returns:
            The records by predicted class.

        Raises:
            PpdmError: A name is unknown or taken, or the table lacks a column. Nothing is made on any error.

        Cost: one scan of the table, which is written.
        Source: Agrawal, Srikant 2000, section 4.3.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i AS age, i >= 270 AS old FROM range(900) r (i)")
            >>> db = ppdm_sql.open(con)
            >>> model = db.train("t", class_column="old", mode="original", into="m")
            >>> db.predict(model, "t", into="p").classes
            {'false': 270, 'true': 630}
            >>> con.sql("SELECT m_predict(12), m_predict(age := 700)").fetchall()
            [(False, True)]
        """
        from ppdm_sql.methods.trees.storing import Model

        found = model if isinstance(model, Model) else self.model(model)
        shown = None if keep is None else listed(keep)
        return found.predict(table, into=into, keep=shown, column=column, to=to)

    @alone
    def install(self, *, short_names: bool = True) -> Installed:
        """Put the audit macros into this database, where any DuckDB client can call them without Python.

        They are ``ppdm_risk(tbl, qi)``, ``ppdm_identifiable(tbl, by, confidential)``, ``ppdm_version()`` and
        one for each privacy model, such as ``ppdm_closeness(tbl, qi, sensitive)``, in the schema ``ppdm``.
        Installing again changes nothing; those of an older version are replaced.

        Args:
            short_names: Whether they can be called without the schema, too.

        Raises:
            NameTaken: A macro, table or view of yours has such a name.
            PpdmError: The file holds macros of a newer ppdm-sql, or cannot be written.

        Cost: no scan; some 30 small statements in one transaction.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i % 3 AS a FROM range(10) r (i)")
            >>> done = ppdm_sql.open(con).install()
            >>> con.sql("SELECT records, classes, k FROM ppdm_risk('t', ['a'])").fetchall()
            [(10, 3, 3)]
        """
        from ppdm_sql.macros.installing import install

        return install(self.engine, short_names=short_names)

    @alone
    def uninstall(self) -> tuple[str, ...]:
        """Take the macros of :meth:`install` out of this database, and nothing else.

        Returns:
            Their names, sorted; none where nothing was installed.

        Raises:
            EngineError: The database cannot be written.

        Cost: no scan; one small statement a macro, in one transaction.

        Example:
            >>> import ppdm_sql
            >>> with ppdm_sql.open(":memory:") as db:
            ...     db.uninstall()
            ()
        """
        from ppdm_sql.macros.installing import uninstall

        return uninstall(self.engine)

    @alone
    def models(self) -> list[ModelRow]:
        """List the trained models in this database, oldest first."""
        from ppdm_sql.methods.trees.storing import models

        return models(self.engine)

    @alone
    def model(self, name: str) -> Model:
        """Find a trained model by its name.

        Raises:
            UnknownModel: There is none of that name; the message lists those that exist.
        """
        from ppdm_sql.methods.trees.storing import get_model

        return get_model(self.engine, name)

    @alone
    def releases(self) -> list[CatalogueRow]:
        """List the releases in this database, oldest first."""
        from ppdm_sql.release import releases

        return releases(self.engine)

    @alone
    def release(self, name: str) -> Release:
        """Find a release by its name.

        Raises:
            UnknownRelease: There is none of that name; the message lists those that exist.
        """
        from ppdm_sql.release import get

        return get(self.engine, name)


def open_database(
    database: str | os.PathLike[str] | duckdb.DuckDBPyConnection = ":memory:",
    *,
    read_only: bool = False,
    create: bool = False,
    attach: Mapping[str, str | os.PathLike[str]] | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    spark: Any = None,
) -> Database:
    """Open a DuckDB file, or use a connection that is open already.

    Args:
        database: Path of the file, ``:memory:``, or a connection; a connection keeps its settings. While a
            result of yours is streamed from it, calls run beside it and see no temporary tables.
        read_only: Open the file without the right to write.
        create: Make the file where it does not exist.
        attach: Other databases to read from, by the names that they get; see :meth:`Database.attach`.
        threads: Number of threads, at least 1; None leaves the engine's choice.
        memory_limit: Such as ``2GB``; None leaves the engine's choice.
        spark: Where else tables live: the URL of a Spark Connect server, such as ``sc://host:15002``, or
            ``local[2]`` to start a Spark here for a trial, or an open session, which stays open.

    Raises:
        DatabaseUnavailable: The file is missing, locked, read-only or no database, or Spark does not answer.

    Example:
        >>> with open_database(":memory:") as db:
        ...     db.releases()
        []
    """
    if isinstance(database, duckdb.DuckDBPyConnection):
        return _with_elsewhere(Database(interruptible(Engine(database))), attach, spark)
    spill, made = SpillFolder(), create and not os.path.lexists(database)
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
    engine = interruptible(Engine(connection, spill=spill, owned=True))
    try:
        db = _with_elsewhere(Database(engine), attach, spark)
    except BaseException:
        if made:
            remove_database(database)
        raise
    _sweep(db, read_only=read_only)
    return db


def _sweep(db: Database, *, read_only: bool) -> None:
    """Remove what killed runs left outside of the database; what hinders that is told when it matters."""
    with contextlib.suppress(PpdmError):
        if has_pending(db.engine):
            from ppdm_sql.release.placing import sweep

            sweep(db.engine, read_only=read_only)


def _with_elsewhere(
    db: Database, attached: Mapping[str, str | os.PathLike[str]] | None, spark: Any
) -> Database:
    """Attach databases and reach Spark; where that cannot be, nothing stays open."""
    try:
        if spark is not None:
            from ppdm_sql.engine.spark.session import connect as reach

            db.engine.spark = reach(spark)
        for name, path in by_name(attached, "attach").items():
            db.attach(name, path)
    except BaseException:
        db.close()
        raise
    return db
