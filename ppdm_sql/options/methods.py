"""The options of each method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ppdm_sql.options.comparison import COMPARE
from ppdm_sql.options.option import REQUIRED, Form, Option
from ppdm_sql.options.shared import (
    ALLOW_ABSENT,
    BY,
    CLASS,
    CONDITION,
    CONFIDENTIAL,
    COUNT,
    GROWN_RANGES,
    IDENTIFIERS,
    INTERVALS,
    INTO,
    KEEP,
    MAX_STEPS,
    METHOD,
    NEW_TABLE,
    NOISE,
    PUBLISHED,
    RANGES,
    RELEASE,
    REQUIRE,
    SEED,
    SHOW_VALUES,
    SUPPRESS,
    SYMBOL,
    TABLE,
    TAXONOMIES,
    TEST,
    TYPES,
)

_AUDIT = (
    TABLE,
    replace(REQUIRE, default=()),
    COUNT,
    Option(
        "quasi_identifier",
        Form.names,
        "Columns over which class sizes and risks are computed.",
        "['Job', 'Country']",
        metavar="A,B",
    ),
    Option(
        "thresholds",
        Form.thresholds,
        "Count the inferences with a confidence above SHARE.",
        "[0.5, 0.75]",
        sql="threshold",
        metavar="SHARE",
    ),
    Option(
        "population",
        Form.text,
        "The table of the population, for the journalist risk.",
        "'citizens'",
        metavar="TABLE",
    ),
    Option(
        "groups",
        Form.whole,
        "How many of the worst groups to print with their values.",
        "5",
        metavar="N",
        default=0,
    ),
    replace(CONFIDENTIAL, help="Count records whose value here follows from --by.", default=()),
    Option(
        "sensitive",
        Form.names,
        "Measure how much --by tells of these; no requirement is needed.",
        "['Bankruptcy']",
        metavar="A,B",
        default=(),
    ),
    replace(BY, metavar="X,Y", help="Columns that others may know.", default=()),
    *(ALLOW_ABSENT, TYPES),
)
_SUPPRESS = (
    *(TABLE, INTO, REQUIRE, CLASS, COUNT, KEEP, IDENTIFIERS),
    replace(MAX_STEPS, help="Stop after this many disclosures."),
    *(SYMBOL, ALLOW_ABSENT, TYPES),
)
_GENERALIZE = (
    *(TABLE, INTO, REQUIRE, CLASS, METHOD),
    TAXONOMIES,
    GROWN_RANGES,
    CONDITION,
    SUPPRESS,
    *(COUNT, KEEP, IDENTIFIERS),
    Option(
        "interval_columns",
        Form.flag,
        "Add the bounds of intervals as columns A_lower, A_upper.",
        "true",
        default=False,
    ),
    SHOW_VALUES,
    *(MAX_STEPS, SYMBOL, ALLOW_ABSENT, TYPES),
)
_SWAP = (
    *(TABLE, INTO, CONFIDENTIAL, BY),
    Option(
        "proportion",
        Form.shares,
        "Share of the uniquely identifiable records to change.",
        "0.5",
        metavar="[A=]P",
        default=REQUIRED,
    ),
    replace(
        METHOD,
        metavar="exact|greedy",
        help="How the records to change are chosen.",
        example="'exact'",
        default="exact",
    ),
    Option(
        "phase1",
        Form.text,
        "Preserve frequencies over all records, or as in the paper.",
        "'joint'",
        metavar="joint|separate",
        default="joint",
    ),
    Option(
        "per_group",
        Form.share,
        "How many records of each group to change.",
        "'50%'",
        metavar="N|SHARE",
        default=1,
    ),
    Option(
        "share",
        Form.bounds,
        "Bounds on the changed share of every value; 0,1: none.",
        "[0.4, 0.6]",
        metavar="LOW,HIGH",
    ),
    Option(
        "blur",
        Form.number,
        "Noise on the costs, against attackers with a model.",
        "0.1",
        metavar="TAU",
        default=0.0,
    ),
    Option(
        "smoothing",
        Form.number,
        "Records added to every count behind the costs.",
        "1",
        metavar="N",
        default=0.0,
    ),
    Option(
        "bins",
        Form.bins,
        "Bins for confidential numbers.",
        "{'hours': [0, 20, 40, 99]}",
        metavar="N|A=0,10,20",
    ),
    SEED,
    replace(CLASS, help="What ppdm evaluate predicts, if not the first one.", default=None),
    *(COUNT, KEEP, IDENTIFIERS, TYPES),
)
_RANDOMIZE = (
    *(TABLE, INTO),
    replace(
        NOISE,
        metavar="A=NOISE",
        help="gaussian|uniform 100%|SCALE [at 95%] [rounded], cells N|EDGES, retain P.",
        default=REQUIRED,
    ),
    replace(RANGES, help="The range of all possible values of a column."),
    replace(CLASS, help="What the recipient wants to predict; released unchanged.", default=None),
    *(KEEP, IDENTIFIERS),
    Option(
        "record", Form.text, "Column that identifies records, instead of row numbers.", "'id'", metavar="ID"
    ),
    Option(
        "key_file",
        Form.path,
        "Keep the key, so that the noise can be repeated.",
        "'customers.key'",
        metavar="FILE",
    ),
    replace(SEED, help="For tests only: a seed makes the noise removable."),
    Option(
        "correlated", Form.flag, "Give Gaussian noise the correlations of the columns.", "true", default=False
    ),
    *(replace(COUNT, hidden=True), TYPES),
)
_RECONSTRUCT = (
    *(TABLE, NEW_TABLE),
    Option(
        "columns",
        Form.repeated_names,
        "A randomized column; by default all of them.",
        "['salary']",
        flag="--column",
        metavar="A",
        default=(),
    ),
    Option("by_class", Form.text, "Reconstruct a distribution for each value of C.", "'rating'", metavar="C"),
    *(INTERVALS, NOISE, RANGES),
    Option(
        "kernel",
        Form.text,
        "Exact, or the paper's approximation.",
        "'cell'",
        metavar="cell|midpoint",
        default="cell",
    ),
    Option(
        "categorical",
        Form.text,
        "How the distributions of categories are estimated.",
        "'bayes'",
        metavar="bayes|inversion",
        default="bayes",
    ),
    Option(
        "fraction",
        Form.number,
        "Stop below this fraction of the chi-square quantile.",
        "0.01",
        default=0.01,
    ),
    Option(
        "max_iterations", Form.whole, "Stop after this many iterations.", "10000", metavar="N", default=10_000
    ),
    TYPES,
)
_TRAIN = (
    *(TABLE, replace(INTO, help="Name of the model."), replace(CLASS, help="What to predict.")),
    Option(
        "mode",
        Form.text,
        "Use values as they are, or reconstruct: for all, by class, by class in every node.",
        "'byclass'",
        metavar="original|randomized|global|byclass|local",
        default="byclass",
    ),
    Option(
        "columns",
        Form.names,
        "Columns to split on; by default all that can be split.",
        "['age', 'salary']",
        metavar="A,B",
        default=(),
    ),
    replace(INTERVALS, help="Intervals per number; by default one per 100 records, 10 to 100."),
    Option("max_depth", Form.whole, "Greatest depth of the tree.", "10", metavar="D"),
    Option(
        "min_split",
        Form.whole,
        "Smallest node to split; by default 20, or 1 record in 1,000.",
        "20",
        metavar="N",
    ),
    Option(
        "prune",
        Form.flag,
        "Keep splits that cost more bits than they save.",
        "false",
        flag="--no-prune",
        default=True,
    ),
    *(NOISE, RANGES),
    *(replace(TEST, help="A table of true values, to count right predictions."), TYPES),
)
_PREDICT = (
    replace(
        RELEASE, name="model", metavar="MODEL", help="A model; ppdm models lists them.", example="'ratings'"
    ),
    *(TABLE, NEW_TABLE),
    replace(KEEP, help="Columns to copy; by default all.", default=None),
    Option(
        "column",
        Form.text,
        "Name of the column with the predicted class.",
        "'class'",
        metavar="NAME",
        default="predicted",
    ),
    TYPES,
)
_APPLY = (
    *(RELEASE, TABLE, NEW_TABLE),
    Option(
        "unseen",
        Form.text,
        "For values that the release does not know: show the most general label, or stop.",
        "'refuse'",
        metavar="nearest|refuse",
        default="nearest",
    ),
    TYPES,
)
_EVALUATE = (
    *(RELEASE, TEST),
    Option("folds", Form.whole, "Folds of the cross-validation.", "10", metavar="N", default=10),
    Option("seeds", Form.whole, "Repeat with this many seeds.", "5", metavar="N", default=5),
    Option("sample", Form.whole, "Draw at most this many records.", "200000", metavar="N", default=200_000),
    TYPES,
)
_EXPORT = (
    RELEASE,
    Option(
        "path",
        Form.path,
        "Ends in .parquet, .csv or .duckdb.",
        "'customers_safe.parquet'",
        sql="file",
        flag="",
        metavar="FILE",
        default=REQUIRED,
    ),
    Option("force", Form.flag, "Replace the file if it exists (regular files only).", "true", default=False),
    Option("format", Form.text, "parquet, csv or duckdb, if the file name does not say.", "'parquet'"),
    Option(
        "formula_safe",
        Form.flag,
        "Write CSV that spreadsheets do not read as formulas.",
        "true",
        default=False,
    ),
)
_REPORT = (
    replace(RELEASE, help="A release or a model; see ppdm releases and ppdm models."),
    Option(
        "path",
        Form.path,
        "The page to write, such as customers_safe.html.",
        "'customers_safe.html'",
        sql="file",
        flag="",
        metavar="FILE",
        default=REQUIRED,
    ),
    Option("public", Form.flag, "Make the page for others, from the release alone.", "true", default=False),
    Option("force", Form.flag, "Replace the file if it exists (regular files only).", "true", default=False),
    Option(
        "evaluate", Form.flag, "Measure the error of a classifier, too (scikit-learn).", "true", default=False
    ),
    Option(
        "exported",
        Form.path,
        "The exported file, whose SHA-256 the page gives.",
        "'customers_safe.parquet'",
        metavar="FILE",
    ),
)
_GENERATE_AGRAWAL = (
    replace(NEW_TABLE, example="'people'"),
    Option(
        "function",
        Form.whole,
        "The function that determines the class.",
        "2",
        metavar="1-5",
        default=REQUIRED,
    ),
    Option("rows", Form.whole, "Number of records.", "10000", metavar="N", default=REQUIRED),
    replace(SEED, help="Reproduces a table; without it a seed is drawn."),
    Option(
        "balanced",
        Form.flag,
        "Equal numbers of records of both classes.",
        "false",
        flag="--balanced/--no-balanced",
        default=True,
    ),
)

_INTEGRATE = (
    *(TABLE, replace(REQUIRE, help="A requirement; the same on both sides.")),
    replace(CLASS, help="What the recipient wants to predict; in both tables."),
    Option(
        "key",
        Form.names,
        "What identifies a person in both tables; not released.",
        "['ssn']",
        metavar="A,B",
        default=REQUIRED,
    ),
    Option(
        "owns",
        Form.names,
        "Columns of this table that the release may show.",
        "['Sex']",
        metavar="A,B",
        default=REQUIRED,
    ),
    replace(INTO, help="Name of the release, in this file."),
    replace(TAXONOMIES, help="Taxonomy of a column of this side."),
    replace(GROWN_RANGES, help="Range of a column of this side, for grown intervals."),
    replace(SUPPRESS, help="Columns of this side to suppress, not to grow."),
    SYMBOL,
    Option(
        "match",
        Form.text,
        "How keys are compared where records differ.",
        "'hashed'",
        metavar="plain|hashed",
        default="plain",
    ),
    Option(
        "secret",
        Form.path,
        "For hashed: a secret that only both parties have.",
        "'secret.txt'",
        metavar="FILE",
    ),
    Option(
        "intersect",
        Form.flag,
        "Use the common records, if the partner agrees.",
        "true",
        default=False,
    ),
    Option(
        "score_bits",
        Form.whole,
        "Send scores in only this many bits, such as 8.",
        "8",
        metavar="N",
        least=1,
    ),
    MAX_STEPS,
    replace(SHOW_VALUES, help="Print this side's values that a taxonomy lacks."),
    ALLOW_ABSENT,
)
_INSTALL = (
    Option(
        "short_names",
        Form.flag,
        "Install into the schema ppdm only: ppdm.ppdm_risk(...).",
        "false",
        flag="--no-short-names",
        default=True,
    ),
)

OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "audit": _AUDIT,
    "suppress": _SUPPRESS,
    "generalize": _GENERALIZE,
    "integrate": _INTEGRATE,
    "swap": _SWAP,
    "randomize": _RANDOMIZE,
    "reconstruct": _RECONSTRUCT,
    "train": _TRAIN,
    "predict": _PREDICT,
    "apply": _APPLY,
    "evaluate": _EVALUATE,
    "compare": COMPARE,
    "export": _EXPORT,
    "report": _REPORT,
    "generate_agrawal": _GENERATE_AGRAWAL,
    "releases": (),
    "models": (),
    "show": (PUBLISHED,),
    "steps": (RELEASE,),
    "verify": (RELEASE,),
    "drop": (PUBLISHED,),
    "install": _INSTALL,
    "uninstall": (),
}
"""The options of each method, in the order in which a call in SQL takes them without their names."""
