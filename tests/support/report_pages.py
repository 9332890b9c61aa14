"""One release a method, small, and the pages that are made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

import ppdm_sql
from ppdm_sql import Database, examples
from ppdm_sql.cli.demo import JOBS
from ppdm_sql.progress import SilentProgress

QUIET: dict[str, Any] = {"progress": SilentProgress()}
METHODS = ("PDA", "TDS", "HCE-TDR", "swap", "noise")
EDITIONS = ("owner", "public")


def release(db: Database, method: str) -> ppdm_sql.Release:
    """Make a release of an example table by a method."""
    staff: dict[str, Any] = {
        "class_column": "Class",
        "count_column": "n",
        "taxonomies": {"Job": JOBS},
        "score": "paper",
        **QUIET,
    }
    match method:
        case "PDA":
            require = ["Job, Country -> Bankruptcy = Discharged <= 50%", "k >= 2 on Job, Child"]
            named: dict[str, Any] = {
                "class_column": "Rating",
                "count_column": "n",
                "into": "safe_pda",
                **QUIET,
            }
            return db.suppress("customers", require, score="paper", **named)
        case "TDS":
            require = ["k >= 4 on Sex, Job", "k >= 4 on Job, Salary"]
            return db.generalize("employees", require, ranges={"Salary": (1, 99)}, into="safe_tds", **staff)
        case "HCE-TDR":
            more: dict[str, Any] = {"method": "hce-tdr", "condition": ["Sex"], **staff}
            return db.generalize("employees", ["k >= 4 on Job, Salary"], into="safe_hce", **more)
        case "swap":
            by = ("Age", "Gender", "Location")
            swap: dict[str, Any] = {"confidential": "Amount", "by": by, "proportion": 0.5, "keep": ["No"]}
            return db.swap("policies", **swap, seed=1, into="safe_swap", **QUIET)
    db.engine.connection.execute(
        "CREATE OR REPLACE TABLE paid AS "
        "SELECT 20 + (i * 7919) % 61 AS age, 20000.5 + (i * 104729) % 130000 AS pay, "
        "['red', 'green', 'blue'][1 + i % 3] AS hue, i % 5 AS level, i % 2 = 0 AS good "
        "FROM range(3000) AS r (i)"
    )
    return db.randomize(
        "paid",
        noise={"age": "uniform 100%", "pay": "gaussian 50%", "hue": "retain 0.7", "level": "cells 2"},
        ranges={"age": (20, 81), "pay": (20000, 160000)},
        class_column="good",
        seed=1,
        into="safe_noise",
        **QUIET,
    )


def open_examples() -> Database:
    """Open a database in memory with the papers' examples."""
    db = ppdm_sql.open(duckdb.connect())
    examples.write(db.engine)
    return db


def page(made: ppdm_sql.Release, folder: Path, *, public: bool = False, **options: Any) -> str:
    """Write a page and give its text."""
    file = folder / f"{made.name}{'-public' if public else ''}.html"
    made.report(file, public=public, force=True, **options, **QUIET)
    return file.read_text(encoding="utf-8")
