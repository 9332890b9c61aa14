"""Puts what Spark refuses into words that quote no cell.

Spark's messages quote values and its client prints them, with statements and traces, as they pass by. What is
passed on of an error is its *condition*, a word out of a closed list such as ``CAST_INVALID_INPUT``.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ppdm_sql.errors import HIDDEN_WORDS, DatabaseUnavailable, EngineError, PpdmError

_PRINTED_BY = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers of the client that write a message with its cells to stderr."""
_CONDITION = re.compile(r"[A-Z][A-Z0-9_.]*")

MISSING = {
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "CATALOG_NOT_FOUND",
    "PATH_NOT_FOUND",
    "PARSE_SYNTAX_ERROR",
    "PARSE_EMPTY_STATEMENT",
    "INVALID_IDENTIFIER",
    "REQUIRES_SINGLE_PART_NAMESPACE",
    "_LEGACY_ERROR_TEMP_1117",
}
"""Conditions that say that a table is not there."""
_UNREADABLE = (
    "CANNOT_READ_FILE_FOOTER",
    "FAILED_READ_FILE",
    "UNABLE_TO_INFER_SCHEMA",
    "CANNOT_MERGE_SCHEMAS",
)
_LOST = ("UNAVAILABLE", "failed to connect", "Connection refused", "Socket closed", "Connection reset")
_FULL = ("OutOfMemoryError", "TaskResultLost", "maxResultSize")


def condition_of(cause: BaseException) -> str:
    """Give the condition of an error of Spark; empty where it has none."""
    asked = getattr(cause, "getCondition", None)
    try:
        condition = asked() if asked is not None else None
    except Exception:  # asking it may need the server, which has gone
        condition = None
    return condition if isinstance(condition, str) and _CONDITION.fullmatch(condition) else ""


def explained(step: str, cause: BaseException) -> PpdmError:
    condition, text = condition_of(cause), str(cause)
    if condition == "RETRIES_EXCEEDED" or not condition and any(word in text for word in _LOST):
        return DatabaseUnavailable(
            f"Spark does not answer any more (step {step!r}).",
            "Check that its Connect server runs, and run the command again.",
        )
    error = _known(step, condition, text) or EngineError(
        f"Spark refused the step {step!r} ({condition or type(cause).__name__}).", HIDDEN_WORDS
    )
    error.engine_text = text
    return error


def _known(step: str, condition: str, text: str) -> EngineError | None:
    if any(word in text for word in _FULL):
        return EngineError(
            f"Spark ran out of memory in the step {step!r}.",
            "Give its server more (spark.driver.memory, spark.driver.maxResultSize), or name fewer columns.",
        )
    if condition.startswith("INVALID_UTF8_STRING"):
        return EngineError(
            "A text of the table is not valid UTF-8, so that different texts would become the same.",
            "Read it through a view that says make_valid_utf8(column), or as binary.",
        )
    if condition.startswith(_UNREADABLE):
        return EngineError(
            "Spark cannot read the files of the table as Parquet.",
            "Give the path of Parquet files, or a table or view of Spark that reads the others.",
        )
    if condition == "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND":
        return EngineError(
            f"An executor was lost in the step {step!r}, with records that were kept there for the run.",
            "Nothing was stored; run it again.",
        )
    if condition.startswith(("FILE_NOT_EXIST", "FAILED_READ_FILE.FILE_NOT_EXIST")):
        return EngineError(
            f"A file of the table went away during the step {step!r}.", "Run it again when nobody is writing."
        )
    return None


@contextmanager
def unprinted() -> Iterator[None]:
    """Keep the client from printing what it raises."""
    loggers = [logging.getLogger(name) for name in _PRINTED_BY]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
            yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
