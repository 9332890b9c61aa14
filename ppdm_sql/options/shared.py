"""The options that several methods have."""

from __future__ import annotations

from dataclasses import replace

from ppdm_sql.options.option import REQUIRED, Form, Option

TABLE = Option(
    "table",
    Form.text,
    "A table or view: NAME or SCHEMA.NAME.",
    "'customers'",
    sql="tbl",
    flag="",
    metavar="TABLE",
    default=REQUIRED,
)
RELEASE = Option(
    "release",
    Form.text,
    "A release; see ppdm releases.",
    "'customers_safe'",
    flag="",
    metavar="RELEASE",
    default=REQUIRED,
)
PUBLISHED = replace(
    RELEASE,
    name="name",
    help="A release or a model; see ppdm releases and ppdm models.",
    metavar="NAME",
)
INTO = Option("into", Form.text, "Name of the release.", "'customers_safe'", metavar="NAME", default=REQUIRED)
NEW_TABLE = replace(INTO, help="Name of the table to make.")
REQUIRE = Option(
    "require",
    Form.texts,
    "What must hold.",
    "['k >= 4 on Job, Country']",
    flag="--require/-r",
    metavar="TEXT",
    default=REQUIRED,
)
CLASS = Option(
    "class_column",
    Form.text,
    "What a miner will want to predict.",
    "'Rating'",
    sql="class",
    metavar="COLUMN",
    default=REQUIRED,
)
COUNT = Option(
    "count_column",
    Form.text,
    "Rows are collapsed; this column says how many records.",
    "'n'",
    sql="count",
    metavar="COLUMN",
)
KEEP = Option(
    "keep", Form.names, "Further columns to release as they are.", "['Child']", metavar="A,B", default=()
)
IDENTIFIERS = Option(
    "identifiers",
    Form.identifiers,
    "Direct identifier to drop or replace.",
    "{'name': 'drop', 'id': 'pseudonym'}",
    sql="identifier",
    metavar="A[=pseudonym]",
)
MAX_STEPS = Option("max_steps", Form.whole, "Stop after so many steps.", "10", least=0)
SYMBOL = Option("symbol", Form.text, "What stands for a suppressed value.", "'?'", default="*")
ALLOW_ABSENT = Option(
    "allow_absent",
    Form.flag,
    "Protected values may be such that their column lacks them.",
    "true",
    default=False,
)
RANGES = Option(
    "ranges",
    Form.ranges,
    "Range of the original values.",
    "{'age': [1, 99]}",
    sql="range",
    metavar="A=LOW,HIGH",
)
NOISE = Option(
    "noise",
    Form.noises,
    "The noise, where the table does not know it.",
    "{'salary': 'gaussian 100%'}",
    metavar="A=TEXT",
    default=(),
)
SEED = Option("seed", Form.whole, "Repeat a run exactly; keep it to yourself.", "1", metavar="N")
METHOD = Option(
    "method", Form.text, "How the next step is chosen.", "'tds'", metavar="tds|hce-tdr", default="tds"
)
INTERVALS = Option(
    "intervals", Form.whole, "How many; by default 100 records an interval, 10 to 100.", "50", metavar="M"
)
TEST = Option(
    "test", Form.text, "Test on this table, instead of cross-validation.", "'people_test'", metavar="TABLE"
)
CONFIDENTIAL = Option(
    "confidential",
    Form.names,
    "Columns whose values are swapped.",
    "['Amount']",
    metavar="A,B",
    default=REQUIRED,
)
BY = Option(
    "by",
    Form.names,
    "Columns that others may know; released as they are.",
    "['Age', 'Gender']",
    metavar="X,Y,Z",
    default=REQUIRED,
)
TAXONOMIES = Option(
    "taxonomies",
    Form.taxonomies,
    "A column's taxonomy: an ARX CSV file, or a table child, parent.",
    "{'job': 'job.csv'}",
    sql="taxonomy",
    metavar="COL=FILE",
)
GROWN_RANGES = replace(RANGES, metavar="COL=1,99", help="A grown column's range, without its end.")
SUPPRESS = Option(
    "suppress", Form.names, "Columns to suppress, not to grow.", "['zip']", metavar="A,B", default=()
)
SHOW_VALUES = Option(
    "show_values", Form.flag, "Name the values that a taxonomy lacks.", "true", default=False
)
