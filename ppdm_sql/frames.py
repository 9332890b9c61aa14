"""From a frame to a frame: a release, and what it is worth, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ppdm_sql.database import Database, open_database
from ppdm_sql.engine.names import Table
from ppdm_sql.sources import given, like

if TYPE_CHECKING:
    from ppdm_sql.evaluation import Evaluation
    from ppdm_sql.privacy import Requirement
    from ppdm_sql.release import Release

AnyFrame = TypeVar("AnyFrame")
RELEASE = "anonymized"
"""What the release is called in messages."""
PDA = "pda"


def anonymize(
    frame: AnyFrame,
    require: Sequence[str | Requirement],
    *,
    class_column: str | None = None,
    method: str = "tds",
    **options: Any,
) -> AnyFrame:
    """Give the released form of a frame, verified, as a frame of the same kind; no file is written.

    The columns of the requirements are masked; what no argument names is not released. The rows are in
    another order, and an index of pandas is left out.

    Args:
        frame: A pandas or polars data frame, an Arrow table, or a DuckDB relation.
        require: Requirements, such as ``"k >= 5 on sex, zip"``.
        class_column: The column that a classifier is to predict; released as it is. None where there is none.
        method: ``tds`` or ``hce-tdr`` as for :meth:`Database.generalize`, ``pda`` for
            :meth:`Database.suppress`.
        options: Further options of that method, such as ``taxonomies``, ``keep`` or ``types``.

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
        release = _released(db, frame, require, class_column, method, options)
        found: AnyFrame = given_back(release.relation())
    return found


def evaluate(
    frame: Any,
    require: Sequence[str | Requirement],
    *,
    class_column: str,
    method: str = "tds",
    test: Any = None,
    folds: int = 10,
    seeds: int = 5,
    sample: int = 200_000,
    **options: Any,
) -> Evaluation:
    """Measure what the released form of a frame is still worth for classification; see :func:`anonymize`.

    Args:
        frame: A pandas or polars data frame, an Arrow table, or a DuckDB relation.
        require: Requirements, such as ``"k >= 5 on sex, zip"``.
        class_column: The column that a classifier is to predict.
        method: ``tds``, ``hce-tdr`` or ``pda``.
        test: A frame to test on; by default the frame is tested fold by fold.
        folds: Number of folds, at least 2.
        seeds: Number of repetitions, at least 1.
        sample: How many records each repetition draws at most.
        options: Further options of the method.

    Returns:
        Errors of decision trees in per cent, as :meth:`Database.evaluate` gives them.

    Raises:
        GuaranteeNotMet: The requirements cannot be met.
        PpdmError: A frame, a column or an option cannot be used, or scikit-learn is missing.

    Cost: as :func:`anonymize` and :meth:`Database.evaluate`.

    Example:
        >>> import pyarrow
        >>> jobs = pyarrow.table({"job": [0, 1] * 20, "good": [0, 1] * 20})
        >>> found = evaluate(jobs, ["k >= 30 on job"], class_column="good", method="pda", seeds=1)
        >>> [found.rate(error).mean for error in ("BE", "SE")]
        [0.0, 50.0]
    """
    like(frame)
    with open_database() as db:
        release = _released(db, frame, require, class_column, method, options, again=True)
        read = {name: options[name] for name in ("types", "nulls") if name in options}
        return db.evaluate(release, test=test, folds=folds, seeds=seeds, sample=sample, **read)


def _kept(db: Database, frame: Any) -> str:
    """Write a frame into a table, since it is read more than once."""
    kept = Table("original", *reversed(db.engine.current()))
    with given(db.engine, frame) as name:
        db.engine.write(f"CREATE TABLE {kept} AS FROM {db.engine.find(name)}", step="keep")
    return kept.name


def _released(
    db: Database,
    frame: Any,
    require: Sequence[str | Requirement],
    class_column: str | None,
    method: str,
    options: dict[str, Any],
    *,
    again: bool = False,
) -> Release:
    """Release a frame in memory; where the frame is read again, it is kept as a table."""
    source = _kept(db, frame) if again else frame
    asked = {"class_column": class_column, "into": RELEASE, **options}
    if method == PDA:
        return db.suppress(source, require, **asked)
    return db.generalize(source, require, method=method, **asked)
