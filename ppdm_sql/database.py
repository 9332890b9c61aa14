"""The Python interface: a database, and what can be done with it.

A method imports what it runs when it is called: each brings libraries and modules that the others do without.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from ppdm_sql.engine import Engine, alone
from ppdm_sql.engine.names import Table, by_name
from ppdm_sql.engine.opening import connect, remove_database
from ppdm_sql.engine.signals import interruptible
from ppdm_sql.engine.space import SpillFolder
from ppdm_sql.errors import InvalidOption, PpdmError, kind_of
from ppdm_sql.options import (
    AgrawalRequest,
    Anonymization,
    ApplyRequest,
    AttackRequest,
    AuditRequest,
    CompareRequest,
    Evaluate,
    ForgetRequest,
    FrameEvaluation,
    Generalize,
    GeneralizeRequest,
    InstallRequest,
    PredictRequest,
    RandomizeRequest,
    Reconstruct,
    RiskRequest,
    Suppress,
    SwapRequest,
    TrainRequest,
    UpdateRequest,
    asks,
    options_of,
)
from ppdm_sql.privacy import parse_measures
from ppdm_sql.privacy.reader import sized, weighted
from ppdm_sql.progress import Progress, WarningProgress
from ppdm_sql.sources import attach, detach, given, like, takes_sources

if TYPE_CHECKING:
    from ppdm_sql.audit import Audit
    from ppdm_sql.comparison import Comparison
    from ppdm_sql.evaluation import Evaluation
    from ppdm_sql.macros.installing import Installed
    from ppdm_sql.methods.perturbation.agrawal import Generated
    from ppdm_sql.methods.perturbation.reconstruct import Reconstruction
    from ppdm_sql.methods.trees.predicting import Predicted
    from ppdm_sql.methods.trees.storing import Model, ModelRow
    from ppdm_sql.release import CatalogueRow, Release
    from ppdm_sql.release.applying import Applied
    from ppdm_sql.release.forgetting import Forgotten
    from ppdm_sql.risk.attempts import Attacks
    from ppdm_sql.risk.measuring import TableRisk


class Database:
    """A DuckDB database with personal records in it, and the methods that release them.

    Make one with :func:`ppdm_sql.open`. It is a context manager; leaving it closes what it opened.

    Args:
        engine: The engine on an open connection.

    Attributes:
        progress: Told what is done by methods that are given no progress of their own.
    """

    def __init__(self, engine: Engine) -> None:
        if not isinstance(engine, Engine):
            raise InvalidOption(
                f"A Database is made of an engine, not of {kind_of(engine)}.",
                "Write ppdm_sql.open('bank.duckdb'), or ppdm_sql.open(connection).",
            )
        self.engine = engine
        self.progress: Progress = WarningProgress()
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

    @takes_sources("table", "population", elsewhere=True, weighted={"population": weighted})
    @alone
    @asks(AuditRequest)
    def audit(self, asked: AuditRequest) -> Audit:
        """Measure any table or view: requirements, class sizes, risk, what columns give away of others.

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

        table, measures = self.engine.find(asked.table), parse_measures(asked.require)
        if asked.population is not None:
            population, count = asked.population
            asked = replace(asked, population=(self.engine.find(population), count))
        return asked.of(partial(audit, self.engine, table, measures, count=asked.count_column))

    @takes_sources("table", "population", weighted={"population": sized})
    @alone
    @asks(RiskRequest)
    def risk(self, asked: RiskRequest) -> TableRisk:
        """Measure who can be found in a table, by which columns, and how surely.

        Returns:
            Risks of re-identification, sets of columns that single records out, keys, minimal sample uniques
            with SUDA scores, and what the table as a sample tells of its population.

        Raises:
            PpdmError: A column is unknown or in two roles, an option cannot be used, the table is empty.

        Cost: one GROUP BY of all columns, and one of the combinations that exist for each set of columns.
        Source: Elliot, Manning, Mayes, Gurd, Bane 2005; Motwani, Xu 2007; Benedetti, Franconi 1998.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i % 3 AS a, i % 4 AS b FROM range(12) r (i)")
            >>> ppdm_sql.open(con).risk("t").keys
            (('a', 'b'),)
        """
        from ppdm_sql.risk.measuring import table_risk

        return table_risk(self.engine, asked, asked.progress or self.progress)

    @takes_sources("table", elsewhere=True)
    @alone
    @asks(Suppress)
    def suppress(self, asked: Suppress) -> Release:
        """Suppress values (PDA) until every requirement holds, and publish the verified release.

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
        from ppdm_sql.methods.top_down.suppress import suppress

        return suppress(self.engine, asked.table, asked, asked.progress or self.progress)

    @takes_sources("table", elsewhere=True)
    @alone
    @asks(Generalize)
    def generalize(self, asked: Generalize) -> Release:
        """Generalize (TDS, HCE-TDR) as little as the requirements allow, and publish the verified release.

        The columns of the requirements are masked: by their taxonomy where one is given; numbers, dates and
        times without one by intervals that are grown during the run; all others by suppression, as are
        whole numbers that look like codes, unless ``ranges`` or the like say that they are numbers.

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

        return generalize(self.engine, asked.table, asked, asked.progress or self.progress)

    @alone
    @asks(UpdateRequest)
    def update(self, asked: UpdateRequest) -> Release:
        """Publish a new version of a release that is updatable, from today's table, under the same promise.

        The new cut refines the one before, new records enter where their classes hold enough of them, and
        records that left the table leave the release where that gives nobody away.

        Returns:
            The release, whose newest version it is; as it was where nothing has changed.

        Raises:
            GuaranteeNotMet: All new records would have to wait, or the audit refused the version.
            PpdmError: The release is not updatable, or its table cannot be used. Nothing is published then.

        Cost: as a run, a second collapse of the table, and the audit of all versions.
        Source: Fung, Wang, Fu, Pei 2008.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, i % 2 AS job FROM range(8) r (i)")
            >>> db = ppdm_sql.open(con)
            >>> _ = db.suppress("t", ["k >= 4 on job"], person="id", updatable=True, into="safe")
            >>> _ = con.execute("INSERT INTO t SELECT i, i % 2 FROM range(8, 16) r (i)")
            >>> _ = db.update("safe")
            >>> con.sql("SELECT count(*) FROM safe_version(1)").fetchall(), len(db.release("safe").df())
            ([(8,)], 16)
        """
        from ppdm_sql.methods.top_down.updating import update
        from ppdm_sql.release import Release

        found = asked.release if isinstance(asked.release, Release) else self.release(asked.release)
        row = found.row()
        with row.read_again(self.engine):
            return update(self.engine, found, asked.progress or self.progress)

    @alone
    @asks(ForgetRequest)
    def forget(self, asked: ForgetRequest) -> Forgotten:
        """Take a person out of every version of the releases that are updatable, in one transaction.

        Records of others leave with the person where their class does not keep the requirements any more.

        Returns:
            What left which release, what was exported before, and which releases cannot be reached.

        Raises:
            UnknownPerson: No updatable release holds a record of the person.
            InvalidOption: A table still holds the person, whom the next version would show again.

        Cost: an audit of all versions of each release that held the person.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, i % 2 AS job FROM range(9) r (i)")
            >>> db = ppdm_sql.open(con)
            >>> _ = db.suppress("t", ["k >= 4 on job"], person="id", updatable=True, into="safe")
            >>> _ = con.execute("DELETE FROM t WHERE id = 8")
            >>> db.forget("8").releases[0].records, len(db.release("safe").df())
            (1, 8)
        """
        from ppdm_sql.release.forgetting import forget

        return forget(self.engine, asked.person, asked.releases)

    @takes_sources("table", elsewhere=True)
    @alone
    @asks(SwapRequest)
    def swap(self, asked: SwapRequest) -> Release:
        """Exchange confidential values of identifiable records, and publish the verified release.

        A record is identifiable if all records with its values in ``by`` have one confidential value. A share
        of those that are alone with theirs takes another value, and so do members of each group; all else is
        released as it is. Frequencies of the values are kept where that is possible, and what the columns
        tell of each other as far as it is.

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
        from ppdm_sql.methods.swapping.swap import swap

        return swap(self.engine, asked.table, asked, asked.progress or self.progress)

    @takes_sources("table", elsewhere=True)
    @alone
    @asks(RandomizeRequest)
    def randomize(self, asked: RandomizeRequest) -> Release:
        """Distort the values of columns, each record for itself, and publish the verified release.

        Noise is written ``gaussian 100%`` (the privacy level at 95 % confidence), ``gaussian 100% at 99.9%``,
        ``gaussian 2500`` (the standard deviation) and likewise ``uniform``, whose scale is half its width;
        ``on 20000,150000`` gives the range of the originals, ``rounded`` keeps whole numbers whole and
        decimals as many as they are. ``cells 5``, ``cells 5 equal-frequency`` and ``cells 0,20,40`` show the
        cell that a number lies in; ``retain 0.7`` keeps a category with this probability and draws one at
        random otherwise. NULL stays NULL. The catalogue and the comments on columns hold this model, never
        the noise.

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

        return randomize(self.engine, asked.table, asked, asked.progress or self.progress)

    @takes_sources("table", elsewhere=True)
    @alone
    @asks(Reconstruct)
    def reconstruct(self, asked: Reconstruct) -> Reconstruction:
        """Estimate the distributions behind randomized columns, and write them into an ordinary table.

        The table has a row for each interval or category: ``lower`` and ``upper``, or ``value``, and the
        estimated ``probability`` and number of ``records``; with several columns ``attribute``, and by class
        ``class``. Records without a value are left out and counted. A value farther out than the noise takes
        any value of the range counts to the end interval; an unknown category is left out.

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
        from ppdm_sql.methods.perturbation.reconstruct import reconstruct

        return reconstruct(self.engine, asked.table, asked, asked.progress or self.progress)

    @takes_sources("test")
    @alone
    @asks(Evaluate)
    def evaluate(self, asked: Evaluate) -> Evaluation:
        """Measure what a release is still worth for classification, in errors of a decision tree.

        The tree predicts the class from the original columns (BE), from the release (SE), and from the
        original with the masked, or the sensitive, columns removed (RE); each with the seeds 1, 2, ...

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
        from ppdm_sql.evaluation import evaluate
        from ppdm_sql.release import Release

        found = asked.release if isinstance(asked.release, Release) else self.release(asked.release)
        row = found.row()
        with row.read_again(self.engine):
            return evaluate(self.engine, found, asked, asked.progress or self.progress)

    @takes_sources("control")
    @alone
    @asks(AttackRequest)
    def attack(self, asked: AttackRequest) -> Attacks:
        """Try known attacks on a release: what they get out of it, beside what it promises and without it.

        Returns:
            A row an attack; ``holds`` says whether none of them refutes a promise. Where scikit-learn is not
            installed, attackers train nothing.

        Raises:
            InvalidSource: The source is gone or changed.
            PpdmError: An option or a column cannot be used.

        Cost: a scan of the source with a join for each masked column, then a GROUP BY an attack.

        Example:
            >>> import duckdb, ppdm_sql
            >>> con = duckdb.connect()
            >>> _ = con.execute("CREATE TABLE t AS SELECT i % 2 AS job, i % 3 AS ill FROM range(12) r (i)")
            >>> db = ppdm_sql.open(con)
            >>> _ = db.suppress("t", ["k >= 4 on job"], keep=["ill"], into="safe")
            >>> found = db.attack("safe").attacks[0]
            >>> found.attack, found.successes, round(found.worst, 6), found.allowed, found.verdict
            ('linkage', 2.0, 0.166667, 0.25, 'holds')
        """
        from ppdm_sql.release import Release
        from ppdm_sql.risk.attacking import attack

        found = asked.release if isinstance(asked.release, Release) else self.release(asked.release)
        return attack(self.engine, found, asked, asked.progress or self.progress)

    @asks(CompareRequest)
    def compare(self, asked: CompareRequest) -> Comparison:
        """Put settings, or releases, side by side: risk, detail lost, the error of a classifier.

        Settings are all combinations of ``k``, ``method`` and ``suppress_records``. Nothing is published,
        unless ``keep_best`` says by what the best is chosen. One that cannot be met says why in its row.

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
        from ppdm_sql.comparison import compare

        return compare(self.engine, asked, asked.progress or self.progress)

    @takes_sources("table", elsewhere=True)
    @alone
    @asks(ApplyRequest)
    def apply(self, asked: ApplyRequest) -> Applied:
        """Apply the cut of a release to the records of another table, such as new or test records.

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

        name = asked.release.name if isinstance(asked.release, Release) else asked.release
        return applying.apply(self.engine, name, asked)

    @alone
    @asks(AgrawalRequest)
    def generate_agrawal(self, asked: AgrawalRequest) -> Generated:
        """Make a table of synthetic persons: nine attributes, and a class that a function of them decides.

        ``salary``, ``commission``, ``age``, ``hvalue``, ``hyears`` and ``loan`` are real numbers, ``elevel``,
        ``car`` and ``zipcode`` whole ones, all spread evenly over their ranges; ``commission`` is 0 from a
        salary of 75,000 on, ``hvalue`` lies between 50,000 and 150,000 times the zipcode, which is 1 to 9.
        ``class`` is ``Group A`` where the function holds, else ``Group B``: a function of age (1), of age and
        salary (2), of both and elevel (3), of income and loan (4), of these and the house (5).

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

        return generate_agrawal(self.engine, asked, asked.progress or self.progress)

    @takes_sources("table", "test", elsewhere=True)
    @alone
    @asks(TrainRequest)
    def train(self, asked: TrainRequest) -> Model:
        """Grow a decision tree from original or randomized values, and store it with a macro that predicts.

        Numbers are divided into intervals, at whose boundaries they are split, by the gini index. Where the
        noise of a column is known, ``global`` reconstructs its distribution over all records, ``byclass`` for
        each class, ``local`` for each class in every node of at least 1,000 records; the values are sorted
        and dealt out to the intervals by it. ``original`` and ``randomized`` take values as they are, as all
        modes take columns without noise, texts (randomized ones too), booleans and released intervals.

        A text goes left if it is among those that the split lists, the smaller side, all others and NULL go
        right. A number that is NULL goes with the larger side. Records without a class are left out.

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
        from ppdm_sql.methods.trees.train import train

        return train(self.engine, asked.table, asked, asked.progress or self.progress)

    @takes_sources("table", elsewhere=True)
    @alone
    @asks(PredictRequest)
    def predict(self, asked: PredictRequest) -> Predicted:
        """Make a table of the records of another with the class that a model predicts for each.

        A model that was trained on randomized values predicts for true ones. In SQL the same is a call of the
        macro ``MODEL_predict``, whose parameters are the columns that the tree uses.

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

        found = asked.model if isinstance(asked.model, Model) else self.model(asked.model)
        return asked.of(found.predict)

    @alone
    @asks(InstallRequest)
    def install(self, asked: InstallRequest) -> Installed:
        """Put the audit macros into this database, where any DuckDB client can call them without Python.

        They are ``ppdm_risk(tbl, qi)``, ``ppdm_separation(tbl, columns)``, ``ppdm_minimal_uniques(tbl,
        columns)``, ``ppdm_identifiable(tbl, by, confidential)``, ``ppdm_version()`` and one for each privacy
        model, such as ``ppdm_closeness(tbl, qi, sensitive)``, in the schema ``ppdm``.
        Installing again changes nothing; those of an older version are replaced.

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

        return install(self.engine, short_names=asked.short_names)

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


# -- from a frame to a frame, without a database -----------------------------------------------------

AnyFrame = TypeVar("AnyFrame")


@asks(Anonymization)
def anonymize(frame: AnyFrame, asked: Anonymization) -> AnyFrame:
    """Give the released form of a frame, verified, as a frame of the same kind; only ``to`` writes files.

    A frame is a pandas or polars data frame, an Arrow table, or a DuckDB relation. The columns of the
    requirements are masked; what no argument names is not released. The rows are in another order, and an
    index of pandas is left out.

    Raises:
        GuaranteeNotMet: The requirements cannot be met.
        PpdmError: The frame, a column or an option cannot be used.

    Cost: one copy of the frame, then as the method.

    Example:
        >>> import pyarrow
        >>> visits = pyarrow.table({"age": [30, 31, 45, 47], "ill": ["no", "no", "yes", "yes"]})
        >>> anonymize(visits, ["k >= 2 on age"], class_column="ill").to_pylist()[::2]
        [{'age': '[30, 45)', 'ill': 'no'}, {'age': '[45, 47]', 'ill': 'yes'}]
    """
    given_back = like(frame)
    with open_database() as db:
        found: AnyFrame = given_back(_released(db, frame, asked).relation())
    return found


@asks(FrameEvaluation)
def evaluate(frame: Any, asked: FrameEvaluation) -> Evaluation:
    """Measure what the released form of a frame is still worth for classification; see :func:`anonymize`.

    Returns:
        Errors of decision trees in per cent, as :meth:`Database.evaluate` gives them.

    Raises:
        GuaranteeNotMet: The requirements cannot be met.
        PpdmError: The frame, a column or an option cannot be used, or scikit-learn is missing.

    Cost: two copies of the frame, a run of the method, then as :meth:`Database.evaluate`.

    Example:
        >>> import pyarrow
        >>> jobs = pyarrow.table({"job": ["cook", "clerk"] * 20, "good": ["no", "yes"] * 20})
        >>> found = evaluate(jobs, ["k >= 30 on job"], class_column="good", method="pda", seeds=1)
        >>> [found.rate(error).mean for error in ("BE", "SE")]
        [0.0, 50.0]
    """
    like(frame)
    with open_database() as db:
        release = _released(db, _kept(db, frame), asked)
        return asked.of(partial(db.evaluate, release))


def _kept(db: Database, frame: Any) -> str:
    """Write a frame into a table, since it is read more than once."""
    catalog, schema = db.engine.current()
    kept = Table("original", schema, catalog)
    with given(db.engine, frame) as name:
        db.engine.write(f"CREATE TABLE {kept} AS FROM {db.engine.find(name)}", step="keep")
    return kept.name


def _released(db: Database, source: Any, asked: Anonymization) -> Release:
    if asked.method != "pda":
        return asked.of(partial(db.generalize, source))
    known = {option.name for option in options_of(Suppress)}
    for option in options_of(GeneralizeRequest):
        if option.name not in known | {"method"} and getattr(asked, option.name) not in (option.default, {}):
            raise InvalidOption(
                f"{option.name} is not an option of pda.", "Leave it out, or take another method."
            )
    return asked.of(partial(db.suppress, source))


# -- opening ---------------------------------------------------------------------------------------


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
        if db.engine.has_pending():
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
