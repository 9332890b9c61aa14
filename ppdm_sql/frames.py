"""From a frame to a frame: a release, and what it is worth, without a database."""

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from ppdm_sql.database import Database, open_database
from ppdm_sql.engine.names import Table
from ppdm_sql.errors import InvalidOption
from ppdm_sql.options import (
    EvaluateRequest,
    GeneralizeRequest,
    Option,
    Reading,
    Suppress,
    Told,
    asks,
    options_of,
)
from ppdm_sql.sources import given, like

if TYPE_CHECKING:
    from ppdm_sql.evaluation import Evaluation
    from ppdm_sql.release import Release

AnyFrame = TypeVar("AnyFrame")
PDA = "pda"


class Anonymization(GeneralizeRequest, Reading, Told):
    """What is asked of the released form of a frame."""

    ORDER = "require class_column method"
    method: Annotated[str, "``pda`` suppresses values; the others generalize them.", "'tds'"] = "tds"
    into: Annotated[str, "What the release is called in messages.", Option(hidden=True)] = "anonymized"


class FrameEvaluation(EvaluateRequest, Anonymization):
    """What is asked of an evaluation of it."""

    class_column: Annotated[str, "The column that a classifier is to predict."] = field()


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
def evaluate(frame: Any, asked: FrameEvaluation) -> "Evaluation":
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
    kept = Table("original", *reversed(db.engine.current()))
    with given(db.engine, frame) as name:
        db.engine.write(f"CREATE TABLE {kept} AS FROM {db.engine.find(name)}", step="keep")
    return kept.name


def _released(db: Database, source: Any, asked: Anonymization) -> "Release":
    if asked.method != PDA:
        return asked.of(partial(db.generalize, source))
    known = {option.name for option in options_of(Suppress)}
    for option in options_of(GeneralizeRequest):
        if option.name not in known | {"method"} and getattr(asked, option.name) not in (option.default, {}):
            raise InvalidOption(
                f"{option.name} is no option of pda.", "Leave it out, or take another method."
            )
    return asked.of(partial(db.suppress, source))
