"""The options of each method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ppdm_sql.options.option import REQUIRED, Form, Option
from ppdm_sql.options.shared import (
    ALLOW_ABSENT,
    BY,
    CLASS,
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
)

_AUDIT = (
    TABLE,
    replace(REQUIRE, default=()),
    COUNT,
    Option(
        "quasi_identifier",
        Form.names,
        "Class sizes and risks are over these.",
        "['Job', 'Country']",
        metavar="A,B",
    ),
    Option(
        "thresholds",
        Form.thresholds,
        "Count inferences above it.",
        "[0.5, 0.75]",
        sql="threshold",
        metavar="SHARE",
    ),
    Option(
        "population", Form.text, "The population, for the journalist's risk.", "'citizens'", metavar="TABLE"
    ),
    Option(
        "groups",
        Form.whole,
        "How many of the worst groups to name by their values.",
        "5",
        metavar="N",
        default=0,
    ),
    replace(CONFIDENTIAL, help="Which records of it do the columns of --by identify?", default=()),
    Option(
        "sensitive",
        Form.names,
        "How much do the columns of --by tell of it? No requirement is needed.",
        "['Bankruptcy']",
        metavar="A,B",
        default=(),
    ),
    replace(BY, metavar="X,Y", help="Columns that others may know.", default=()),
    ALLOW_ABSENT,
)
_SUPPRESS = (
    *(TABLE, INTO, REQUIRE, CLASS, COUNT, KEEP, IDENTIFIERS),
    replace(MAX_STEPS, help="Stop after so many disclosures."),
    *(SYMBOL, ALLOW_ABSENT),
)
_GENERALIZE = (
    *(TABLE, INTO, REQUIRE, CLASS, METHOD),
    TAXONOMIES,
    GROWN_RANGES,
    Option(
        "condition",
        Form.names,
        "For hce-tdr: further columns that tell of the class.",
        "['workclass']",
        metavar="P,Q",
        default=(),
    ),
    SUPPRESS,
    *(COUNT, KEEP, IDENTIFIERS),
    Option(
        "interval_columns",
        Form.flag,
        "Add the bounds of intervals as A_lower, A_upper.",
        "true",
        default=False,
    ),
    SHOW_VALUES,
    *(MAX_STEPS, SYMBOL, ALLOW_ABSENT),
)
_SWAP = (
    *(TABLE, INTO, CONFIDENTIAL, BY),
    Option(
        "proportion",
        Form.shares,
        "Share of the unique records to change.",
        "0.5",
        metavar="[A=]P",
        default=REQUIRED,
    ),
    replace(
        METHOD,
        metavar="exact|greedy",
        help="How records to change are chosen.",
        example="'exact'",
        default="exact",
    ),
    Option(
        "phase1",
        Form.text,
        "Keep frequencies over all, or as the paper does.",
        "'joint'",
        metavar="joint|separate",
        default="joint",
    ),
    Option(
        "per_group", Form.share, "Members of each group to change.", "'50%'", metavar="N|SHARE", default=1
    ),
    Option(
        "share",
        Form.bounds,
        "Changed share of every value; 0,1 sets no bounds.",
        "[0.4, 0.6]",
        metavar="LOW,HIGH",
    ),
    Option(
        "blur",
        Form.number,
        "Noise on the costs, against attackers with models.",
        "0.1",
        metavar="TAU",
        default=0.0,
    ),
    Option(
        "smoothing",
        Form.number,
        "Records added to every count of the estimates.",
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
    replace(CLASS, help="What ppdm evaluate predicts, if not the first of them.", default=None),
    *(COUNT, KEEP, IDENTIFIERS),
)
_RANDOMIZE = (
    *(TABLE, INTO),
    replace(
        NOISE,
        metavar="A=NOISE",
        help="gaussian|uniform 100%|SCALE [at 95%] [rounded], cells N|EDGES, retain P.",
        default=REQUIRED,
    ),
    replace(RANGES, help="All possible values of a column."),
    replace(CLASS, help="What a miner will want to predict; as it is.", default=None),
    *(KEEP, IDENTIFIERS),
    Option("record", Form.text, "Tells records apart, if not by the rows of a table.", "'id'", metavar="ID"),
    Option(
        "key_file",
        Form.path,
        "Keep the key, so that the noise can be repeated.",
        "'customers.key'",
        metavar="FILE",
    ),
    replace(SEED, help="For tests: makes the noise removable."),
    Option("correlated", Form.flag, "Correlate Gaussian noise as the columns are.", "true", default=False),
    replace(COUNT, hidden=True),
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
    Option("by_class", Form.text, "A distribution for each value of C.", "'rating'", metavar="C"),
    *(INTERVALS, NOISE, RANGES),
    Option(
        "kernel",
        Form.text,
        "Exact, or the approximation of the paper.",
        "'cell'",
        metavar="cell|midpoint",
        default="cell",
    ),
    Option(
        "categorical",
        Form.text,
        "How distributions of categories are estimated.",
        "'bayes'",
        metavar="bayes|inversion",
        default="bayes",
    ),
    Option(
        "fraction",
        Form.number,
        "Of the chi-square quantile, below which the iteration stops.",
        "0.01",
        default=0.01,
    ),
    Option(
        "max_iterations", Form.whole, "Stop after so many iterations.", "10000", metavar="N", default=10_000
    ),
)
_TRAIN = (
    *(TABLE, replace(INTO, help="Name of the model."), replace(CLASS, help="What to predict.")),
    Option(
        "mode",
        Form.text,
        "Take values as they are, or reconstruct: over all, by class, by class in every node.",
        "'byclass'",
        metavar="original|randomized|global|byclass|local",
        default="byclass",
    ),
    Option(
        "columns",
        Form.names,
        "What may be split; by default all that can.",
        "['age', 'salary']",
        metavar="A,B",
        default=(),
    ),
    replace(INTERVALS, help="Of a number; by default 100 records an interval, 10 to 100."),
    Option("max_depth", Form.whole, "Most splits above a node.", "10", metavar="D"),
    Option(
        "min_split",
        Form.whole,
        "Split no smaller node; by default 20, or a record in 1,000.",
        "20",
        metavar="N",
    ),
    Option(
        "prune",
        Form.flag,
        "Keep splits that are not worth their bits.",
        "false",
        flag="--no-prune",
        default=True,
    ),
    *(NOISE, RANGES),
    replace(TEST, help="Count right predictions on true values."),
)
_PREDICT = (
    replace(RELEASE, name="model", metavar="MODEL", help="A model; see ppdm models.", example="'ratings'"),
    *(TABLE, NEW_TABLE),
    replace(KEEP, help="Columns to take over; by default all.", default=None),
    Option(
        "column",
        Form.text,
        "The column with the predicted class.",
        "'class'",
        metavar="NAME",
        default="predicted",
    ),
)
_APPLY = (
    *(RELEASE, TABLE, NEW_TABLE),
    Option(
        "unseen",
        Form.text,
        "Values that the release does not know: show the most general label, or make nothing.",
        "'refuse'",
        metavar="nearest|refuse",
        default="nearest",
    ),
)
_EVALUATE = (
    *(RELEASE, TEST),
    Option("folds", Form.whole, "Folds of the cross-validation.", "10", metavar="N", default=10),
    Option("seeds", Form.whole, "Repeat so often, each by its lot.", "5", metavar="N", default=5),
    Option("sample", Form.whole, "Draw at most so many records.", "200000", metavar="N", default=200_000),
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
    Option("force", Form.flag, "Replace the file if it exists; a regular file only.", "true", default=False),
    Option("format", Form.text, "parquet, csv or duckdb, where the name does not say.", "'parquet'"),
    Option(
        "formula_safe", Form.flag, "CSV that a spreadsheet does not take for formulas.", "true", default=False
    ),
)
_GENERATE_AGRAWAL = (
    replace(NEW_TABLE, example="'people'"),
    Option("function", Form.whole, "What decides on the class.", "2", metavar="1-5", default=REQUIRED),
    Option("rows", Form.whole, "Number of records.", "10000", metavar="N", default=REQUIRED),
    replace(SEED, help="Makes the same table again; else one is drawn."),
    Option(
        "balanced",
        Form.flag,
        "As many records of one class as of the other.",
        "false",
        flag="--balanced/--no-balanced",
        default=True,
    ),
)

_INTEGRATE = (
    *(TABLE, replace(REQUIRE, help="What must hold; the same on both sides.")),
    replace(CLASS, help="What a miner will predict; both tables have it."),
    Option(
        "key",
        Form.names,
        "What names a person in both tables; not released.",
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
    replace(TAXONOMIES, help="An own column's taxonomy."),
    replace(GROWN_RANGES, help="An own grown column's range."),
    replace(SUPPRESS, help="Own columns to suppress, not to grow."),
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
        "secret", Form.path, "For hashed: what both hold and nobody else.", "'secret.txt'", metavar="FILE"
    ),
    Option(
        "intersect",
        Form.flag,
        "Use the common records, if the partner says so too.",
        "true",
        default=False,
    ),
    Option(
        "score_bits",
        Form.whole,
        "Tell scores in so many bits only, such as 8.",
        "8",
        metavar="N",
        least=1,
    ),
    MAX_STEPS,
    replace(SHOW_VALUES, help="Name the own values that a taxonomy lacks."),
    ALLOW_ABSENT,
)
_INSTALL = (
    Option(
        "short_names",
        Form.flag,
        "Only in the schema ppdm, called as ppdm.ppdm_risk(...).",
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
    "export": _EXPORT,
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
