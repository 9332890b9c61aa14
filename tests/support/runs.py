"""Runs over the cases of the property tests: how many, loaded, and as large tables go."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

import duckdb
from cases import Case, load
from hypothesis import settings


def one_in(part: int) -> settings:
    """A part of the examples of the profile, where each makes whole runs."""
    return settings(max_examples=max(1, settings().max_examples // part))


@contextlib.contextmanager
def loaded(
    case: Case, *, shuffle: int | None = None, threads: int = 2
) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:", config={"threads": threads}) as connection:
        load(connection, case, shuffle=shuffle)
        yield connection


@contextlib.contextmanager
def large_tables_begin_at_one_row() -> Iterator[None]:
    """Have every small table go through what is meant for large ones: short paths, several keys, packing."""
    with (
        mock.patch("ppdm_sql.methods.top_down.counts.KEY_BITS", 3),
        mock.patch("ppdm_sql.methods.top_down.measuring.MOST_PROTECTED", 1),
        mock.patch.multiple("ppdm_sql.methods.base.released_rows", WORTH_PACKING=0, CODES_A_RUN=1),
        mock.patch.multiple("ppdm_sql.methods.top_down.loop", SHORTEST=2, LONGEST=2),
    ):
        yield
