"""The options that several methods have."""

from __future__ import annotations

from dataclasses import replace

from ppdm_sql.options.option import REQUIRED, Form, Option

TABLE = Option(
    "table",
    Form.text,
    "A table or view, or a file: NAME, visits.csv.",
    "'customers'",
    sql="tbl",
    flag="",
    metavar="TABLE",
    default=REQUIRED,
)
RELEASE = Option(
    "release",
    Form.text,
    "A release; ppdm releases lists them.",
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
TO = Option(
    "to",
    Form.text,
    "Also write the rows to a folder or table of Spark, one per record.",
    "'/data/customers_safe'",
    metavar="PATH|TABLE",
)
NEW_TABLE = replace(INTO, help="Name of the table to create.")
REQUIRE = Option(
    "require",
    Form.texts,
    "A requirement, such as k >= 5 on sex, zip.",
    "['k >= 4 on Job, Country']",
    flag="--require/-r",
    metavar="TEXT",
    default=REQUIRED,
)
CLASS = Option(
    "class_column",
    Form.text,
    "What the recipient wants to predict.",
    "'Rating'",
    sql="class",
    metavar="COLUMN",
    default=REQUIRED,
)
OPTIONAL_CLASS = replace(
    CLASS, help="What the recipient wants to predict; without it, all detail counts alike.", default=None
)
COUNT = Option(
    "count_column",
    Form.text,
    "Column that says how many records a row stands for.",
    "'n'",
    sql="count",
    metavar="COLUMN",
)
PERSON = Option(
    "person",
    Form.names,
    "Column that says whose record a row is: requirements count persons.",
    "'patient'",
    metavar="A,B",
    default=(),
)
KEEP = Option(
    "keep",
    Form.names,
    "Further columns to release unchanged, unless they look like identifiers.",
    "['Child']",
    metavar="A,B",
    default=(),
)
ALLOW_IDENTIFIERS = Option(
    "allow_identifiers",
    Form.names,
    "Kept columns to release although they look like identifiers.",
    "['visit_time']",
    sql="allow_identifier",
    metavar="A,B",
    default=(),
)
IDENTIFIERS = Option(
    "identifiers",
    Form.identifiers,
    "Direct identifier to drop, or to replace by a pseudonym.",
    "{'name': 'drop', 'id': 'pseudonym'}",
    sql="identifier",
    metavar="A[=pseudonym]",
)
MAX_STEPS = Option("max_steps", Form.whole, "Stop after this many steps.", "10", least=0)
SYMBOL = Option("symbol", Form.text, "Text that stands for a suppressed value.", "'?'", default="*")
ALLOW_ABSENT = Option(
    "allow_absent",
    Form.flag,
    "Accept protected values that do not occur in their column.",
    "true",
    default=False,
)
SUPPRESS_RECORDS = Option(
    "suppress_records",
    Form.share,
    "Leave out at most this share of the records: those in classes that break a requirement.",
    "'1%'",
    metavar="SHARE",
    default=0,
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
    "The noise, if the table does not state it.",
    "{'salary': 'gaussian 100%'}",
    metavar="A=TEXT",
    default=(),
)
SEED = Option("seed", Form.whole, "Make the run repeatable; keep the seed secret.", "1", metavar="N")
METHOD = Option(
    "method", Form.text, "How the next step is chosen.", "'tds'", metavar="tds|hce-tdr", default="tds"
)
SCORE = Option(
    "score",
    Form.text,
    "How steps are scored: by what the whole table gains, or as in the papers.",
    "'paper'",
    metavar="default|paper",
    default="default",
)
DETAIL = Option(
    "detail",
    Form.number,
    "How much detail counts beside information about the class, which counts 1; by default 0.3.",
    "1",
    metavar="LAMBDA",
)
RARE = Option(
    "rare",
    Form.text,
    "Merge groups of a hierarchy that are too small to be shown into 'other X', or keep them apart.",
    "'apart'",
    metavar="merged|apart",
)
BOUNDARY = Option(
    "boundary",
    Form.text,
    "Split a grown interval at its best valid boundary, or as in the paper: at the best one or nowhere.",
    "'best'",
    metavar="valid|best",
    default="valid",
)
INTERVALS = Option(
    "intervals",
    Form.whole,
    "Number of intervals; by default one per 100 records, 10 to 100.",
    "50",
    metavar="M",
)
TEST = Option(
    "test", Form.text, "Test on this table instead of cross-validating.", "'people_test'", metavar="TABLE"
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
    "Columns that others may know; released unchanged.",
    "['Age', 'Gender']",
    metavar="X,Y,Z",
    default=REQUIRED,
)
TAXONOMIES = Option(
    "taxonomies",
    Form.taxonomies,
    "A column's taxonomy: a CSV file, a table (child, parent), or a rule such as ranges 5,10.",
    "{'job': 'job.csv'}",
    sql="taxonomy",
    metavar="COL=FILE",
)
CONDITION = Option(
    "condition",
    Form.names,
    "For hce-tdr: further condition attributes, released unchanged.",
    "['workclass']",
    metavar="P,Q",
    default=(),
)
GROWN_RANGES = replace(
    RANGES, metavar="COL=1,99", help="Range of a column with grown intervals, end excluded."
)
SUPPRESS = Option(
    "suppress",
    Form.names,
    "Numeric columns to suppress instead of growing intervals.",
    "['zip']",
    metavar="A,B",
    default=(),
)
CATEGORIES = Option(
    "categories",
    Form.names,
    "Columns of numbers that are codes: their values are shown one by one.",
    "['race']",
    sql="category",
    metavar="A,B",
    default=(),
)
SHOW_VALUES = Option(
    "show_values", Form.flag, "Print the values that a taxonomy lacks.", "true", default=False
)
TYPES = Option(
    "types",
    Form.types,
    "Types of columns, as for codes in a CSV file.",
    "{'zip': 'VARCHAR'}",
    metavar="A=TYPE,...",
)
NULLS = Option(
    "nulls",
    Form.choices,
    "Texts that stand for a missing value, read as NULL.",
    "['N/A', '(null)']",
    flag="--null",
    metavar="N/A,...",
    default=(),
)
LIMITS = Option(
    "limits",
    Form.values,
    "Show at most N different labels in a column.",
    "{'birth_date': 40}",
    sql="limit",
    metavar="A=N",
)
WEIGHTS = Option(
    "weights",
    Form.values,
    "Count what a column gains X times, so that it keeps more detail.",
    "{'zip': 3}",
    sql="weight",
    metavar="A=X",
)
MIN_WIDTHS = Option(
    "min_widths",
    Form.values,
    "Grow no intervals narrower than WIDTH: a number, days for dates, or a text such as 1 month.",
    "{'age': 5}",
    sql="min_width",
    metavar="A=WIDTH",
)
TOPS = Option(
    "tops",
    Form.values,
    "Show one label for all values from here up: 90 or more.",
    "{'age': 90}",
    sql="top",
    metavar="A=90",
)
BOTTOMS = Option(
    "bottoms",
    Form.values,
    "Show one label for all values from here down: 18 or less.",
    "{'age': 18}",
    sql="bottom",
    metavar="A=18",
)
