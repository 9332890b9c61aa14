"""The options of a comparison."""

from __future__ import annotations

from dataclasses import replace

from ppdm_sql.options.option import REQUIRED, Form, Option
from ppdm_sql.options.shared import (
    ALLOW_ABSENT,
    ALLOW_IDENTIFIERS,
    BOTTOMS,
    BOUNDARY,
    CATEGORIES,
    CONDITION,
    COUNT,
    DETAIL,
    GROWN_RANGES,
    IDENTIFIERS,
    INTO,
    KEEP,
    LIMITS,
    MAX_STEPS,
    METHOD,
    MIN_WIDTHS,
    NULLS,
    OPTIONAL_CLASS,
    PERSON,
    RARE,
    REQUIRE,
    SCORE,
    SUPPRESS,
    SUPPRESS_RECORDS,
    SYMBOL,
    TAXONOMIES,
    TOPS,
    TYPES,
    WEIGHTS,
)

COMPARE = (
    Option(
        "tables",
        Form.texts,
        "A table to try settings on, or releases to put side by side.",
        "['customers_k4', 'customers_k10']",
        sql="tbl",
        flag="",
        metavar="TABLE|RELEASE...",
        default=REQUIRED,
    ),
    Option(
        "quasi_identifier",
        Form.names,
        "Columns that others may know; those of --k.",
        "['Job', 'Country']",
        sql="qi",
        metavar="A,B",
        default=(),
    ),
    replace(REQUIRE, help="A requirement that every setting keeps.", default=()),
    Option(
        "k", Form.wholes, "The k to try, for --qi and for --require 'k on A, B'.", "[2, 5, 10]", metavar="N,N"
    ),
    replace(
        METHOD,
        form=Form.choices,
        metavar="tds,hce-tdr,pda",
        help="The methods to try.",
        example="['tds', 'hce-tdr']",
    ),
    replace(
        SUPPRESS_RECORDS,
        form=Form.choices,
        help="The shares of the records that may be left out, to try.",
        example="['0', '1%']",
        metavar="0,1%",
        default="0",
    ),
    OPTIONAL_CLASS,
    *(TAXONOMIES, GROWN_RANGES),
    replace(CONDITION, help="Further columns that tell of the class: for hce-tdr conditions, else kept."),
    *(SUPPRESS, CATEGORIES, COUNT, KEEP, ALLOW_IDENTIFIERS, IDENTIFIERS, MAX_STEPS, SYMBOL, ALLOW_ABSENT),
    Option("evaluate", Form.flag, "Also measure a classifier's error (scikit-learn).", "true", default=False),
    Option(
        "page",
        Form.path,
        "Also write a page with pictures, such as compared.html.",
        "'compared.html'",
        metavar="FILE",
    ),
    Option("force", Form.flag, "Replace the file of --page if it exists.", "true", default=False),
    Option(
        "keep_best",
        Form.text,
        "Publish the setting in which this is least, under the name --into.",
        "'loss'",
        metavar="loss|risk|average-risk|error|left-out",
    ),
    replace(INTO, help="Name of the release that --keep-best publishes.", default=None),
    TYPES,
    NULLS,
    *(BOUNDARY, PERSON, SCORE, DETAIL, RARE, LIMITS, WEIGHTS, MIN_WIDTHS, TOPS, BOTTOMS),
)
