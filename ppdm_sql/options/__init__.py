"""What the methods can be asked, each option declared once.

The command line makes its parameters of these requests (``cli/parameters.py``), the calls in SQL their
arguments (``sql_calls``), Python its signatures (``database.py``), and ``docs/options.md`` is written from
them. Behind the type of an option stand its form, where the type does not tell it, what other requests say of
it, too, its help, an example in SQL, what the help puts for the value, and else an :class:`Option`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ppdm_sql.options.option import (
    DECODERS,
    Form,
    Option,
    Options,
    PathLike,
    PerColumn,
    asks,
    options_of,
    written,
)
from ppdm_sql.privacy import Asked, Requirement
from ppdm_sql.privacy.quoting import Number

if TYPE_CHECKING:
    from ppdm_sql.progress import Progress
    from ppdm_sql.release import Release
    from ppdm_sql.taxonomy.model import Taxonomy

__all__ = [
    "OPTIONS",
    "PUBLISHING",
    "DECODERS",
    "Form",
    "Option",
    "Options",
    "asks",
    "command_of",
    "options_of",
    "written",
]

Bins = Annotated[int | Mapping[str, int | Sequence[object]] | None, Form.bins]
Bounds = Annotated[tuple[Number, Number] | None, Form.bounds]
Identifiers = Annotated[PerColumn[str], Form.identifiers]
Names = Annotated[Sequence[str], Form.names]
NamesIfAny = Annotated[Sequence[str] | None, Form.names]
Noises = Annotated[Mapping[str, str] | Sequence[str], Form.noises]
Ranges = Annotated[PerColumn[tuple[object, object]], Form.ranges]
Requirements = Annotated[Sequence[str | Requirement], Form.texts]
Share = Annotated[Number, Form.share]
Shares = Annotated[Number | Mapping[str, Number], Form.shares]
Taxonomies = Annotated[PerColumn["Taxonomy | Mapping[str, Any] | str | Path"], Form.taxonomies]
Types = Annotated[Mapping[str, str] | None, Form.types]
Values = Annotated[PerColumn[object], Form.values]

# -- what several requests have in common ---------------------------------------------------------

TABLE = Option("A table or view, or a file: NAME, visits.csv.", "'customers'", "TABLE", flag="")
RELEASE = Option("A release; ppdm releases lists them.", "'customers_safe'", "RELEASE", flag="")
ANY_RELEASE = "A release or a model; see ppdm releases and ppdm models."
INTO = Option("Name of the release.", "'customers_safe'", "NAME")
NEW_TABLE = Option("Name of the table to create.", "'customers_safe'", "NAME")
TO = Option(
    "Also write the rows to a folder or table of Spark, one per record.",
    "'/data/customers_safe'",
    "PATH|TABLE",
)
REQUIRE = Option(
    "A requirement, such as k >= 5 on sex, zip.", "['k >= 4 on Job, Country']", "TEXT", flag="--require/-r"
)
CLASS = Option("What the recipient wants to predict.", "'Rating'", "COLUMN")
COUNT = Option("Column that says how many records a row stands for.", "'n'", "COLUMN")
PERSON = Option("Column that says whose record a row is: requirements count persons.", "'patient'")
NOISE = Option("The noise, if the table does not state it.", "{'salary': 'gaussian 100%'}", "A=TEXT")
RANGES = Option("Range of the original values.", "{'age': [1, 99]}", "A=LOW,HIGH")
SEED = Option("Make the run repeatable; keep the seed secret.", "1", "N")
METHOD = Option("How the next step is chosen.", "'tds'", "tds|hce-tdr")
INTERVALS = Option("Number of intervals; by default one per 100 records, 10 to 100.", "50", "M")
TEST = Option("Test on this table instead of cross-validating.", "'people_test'", "TABLE")
CONFIDENTIAL = Option("Columns whose values are swapped.", "['Amount']")
BY = Option("Columns that others may know; released unchanged.", "['Age', 'Gender']", "X,Y,Z")
KEEP = Option("Further columns to release unchanged, unless they look like identifiers.", "['Child']")
TAXONOMIES = Option(
    "A column's taxonomy: a CSV file, a table (child, parent), or a rule such as ranges 5,10.",
    "{'job': 'job.csv'}",
    "COL=FILE",
)
GROWN_RANGES = Option("Range of a column with grown intervals, end excluded.", "{'age': [1, 99]}", "COL=1,99")
BOUNDARY = Option(
    "Split a grown interval at its best valid boundary, or as in the paper: at the best one or nowhere.",
    "'best'",
    "valid|best",
)
SUPPRESS = Option("Numeric columns to suppress instead of growing intervals.", "['zip']")
CATEGORIES = Option("Columns of numbers that are codes: their values are shown one by one.", "['race']")
MAX_STEPS = Option("Stop after this many steps.", "10", least=0)
SYMBOL = Option("Text that stands for a suppressed value.", "'?'")
ALLOW_ABSENT = Option("Accept protected values that do not occur in their column.")
SHOW_VALUES = Option("Print the values that a taxonomy lacks.")
FILE_FORCE = Option("Replace the file if it exists (regular files only).")
EVALUATE = Option("Also measure a classifier's error (scikit-learn).")


class Told(Options):
    progress: "Progress | None" = None


class Reading(Options):
    types: Annotated[
        Types, "Types of columns, as for codes in a CSV file.", "{'zip': 'VARCHAR'}", "A=TYPE,..."
    ] = None
    nulls: Annotated[
        Names,
        Form.choices,
        "Texts that stand for a missing value, read as NULL.",
        "['N/A', '(null)']",
        "N/A,...",
        Option(flag="--null"),
    ] = ()


class OfTable(Reading):
    table: Annotated[Any, TABLE] = field(kw_only=False)


class ReleaseRequest(Options):
    release: Annotated["str | Release", RELEASE] = field(kw_only=False)


class OfColumns(Options):
    """What becomes of columns that a run does not mask, whatever its method."""

    class_column: Annotated[
        str | None, CLASS, "What the recipient wants to predict; without it, all detail counts alike."
    ] = None
    count_column: Annotated[str | None, COUNT] = None
    keep: Annotated[Names, KEEP] = ()
    allow_identifiers: Annotated[
        Names, "Kept columns to release although they look like identifiers.", "['visit_time']"
    ] = ()
    identifiers: Annotated[
        Identifiers,
        "Direct identifier to drop, or to replace by a pseudonym.",
        "{'name': 'drop', 'id': 'pseudonym'}",
        "A[=pseudonym]",
    ] = None
    person: Annotated[Names, PERSON] = ()


class OfRefinement(Options):
    """What every refinement can be asked."""

    max_steps: Annotated[int | None, MAX_STEPS] = None
    symbol: Annotated[str, SYMBOL] = "*"
    allow_absent: Annotated[bool, ALLOW_ABSENT] = False
    score: Annotated[
        str,
        "How steps are scored: by what the whole table gains, or as in the papers.",
        "'paper'",
        "default|paper",
    ] = "default"
    detail: Annotated[
        float | None,
        "How much detail counts beside information about the class, which counts 1; by default 0.3.",
        "1",
        "LAMBDA",
    ] = None
    limits: Annotated[Values, "Show at most N different labels in a column.", "{'birth_date': 40}", "A=N"] = (
        None
    )
    weights: Annotated[
        Values, "Count what a column gains X times, so that it keeps more detail.", "{'zip': 3}", "A=X"
    ] = None


class OfGeneralization(Options):
    """How columns are generalized."""

    taxonomies: Annotated[Taxonomies, TAXONOMIES] = None
    ranges: Annotated[Ranges, GROWN_RANGES] = None
    boundary: Annotated[str, BOUNDARY] = "valid"
    suppress: Annotated[Names, SUPPRESS] = ()
    categories: Annotated[Names, CATEGORIES] = ()
    condition: Annotated[
        Names, "For hce-tdr: further condition attributes, released unchanged.", "['workclass']", "P,Q"
    ] = ()
    rare: Annotated[
        str | None,
        "Merge groups of a hierarchy that are too small to be shown into 'other X', or keep them apart.",
        "'apart'",
        "merged|apart",
    ] = None
    min_widths: Annotated[
        Values,
        "Grow no intervals narrower than WIDTH: a number, days for dates, or a text such as 1 month.",
        "{'age': 5}",
        "A=WIDTH",
    ] = None
    tops: Annotated[
        Values, "Show one label for all values from here up: 90 or more.", "{'age': 90}", "A=90"
    ] = None
    bottoms: Annotated[
        Values, "Show one label for all values from here down: 18 or less.", "{'age': 18}", "A=18"
    ] = None
    looks: dict[str, str] = field(default_factory=dict)
    """What is known of how columns look; requests of one table may share it."""


# -- what each method is asked --------------------------------------------------------------------


class AuditRequest(OfTable):
    require: Annotated[Sequence[str | Asked], Form.texts, REQUIRE] = field(kw_only=False, default=())
    count_column: Annotated[str | None, COUNT] = None
    quasi_identifier: Annotated[
        NamesIfAny, "Columns over which class sizes and risks are computed.", "['Job', 'Country']"
    ] = None
    thresholds: Annotated[
        Sequence[Number] | None,
        Form.thresholds,
        "Count the inferences with a confidence above SHARE.",
        "[0.5, 0.75]",
        "SHARE",
    ] = None
    population: Annotated[
        Any,
        "The table of the population, for the journalist risk; TABLE(n) counts each row n times.",
        "'citizens'",
        "TABLE",
    ] = None
    groups: Annotated[int, "How many of the worst groups to print with their values.", "5", "N"] = 0
    confidential: Annotated[Names, CONFIDENTIAL, "Count records whose value here follows from --by."] = ()
    sensitive: Annotated[
        Names, "Measure how much --by tells about these; no requirement is needed.", "['Bankruptcy']"
    ] = ()
    by: Annotated[Names, BY, "Columns that others may know.", Option(metavar="X,Y")] = ()
    allow_absent: Annotated[bool, ALLOW_ABSENT] = False
    person: Annotated[Names, PERSON] = ()
    categories: Annotated[Names, CATEGORIES] = ()


class RiskRequest(OfTable, Told):
    by: Annotated[
        Names,
        BY,
        "Columns that others may know; by default all but direct identifiers and free text.",
        Option(metavar="A,B,C"),
    ] = ()
    max_size: Annotated[int, "Try sets of up to N columns.", "2", "N", Option(least=1)] = 3
    person: Annotated[Names, PERSON, "Column that says whose record a row is: persons are counted."] = ()
    population: Annotated[
        Any,
        "What the table is a sample of: a table, whose rows TABLE(n) counts n times, or a number of persons.",
        "'citizens'",
        "TABLE|N",
    ] = None
    weights: Annotated[
        str | None,
        "Column of sampling weights: how many persons of the population a row stands for.",
        "'weight'",
        "COLUMN",
        Option(sql="weights"),
    ] = None
    household: Annotated[Names, "Column that says which household a row belongs to.", "'household'"] = ()
    threshold: Annotated[
        Share, "Give the share of the records with a risk above SHARE.", "'10%'", "SHARE"
    ] = "20%"
    into: Annotated[
        str | None, NEW_TABLE, "Also make a table of the records with their SUDA scores, for the owner alone."
    ] = None


class Request(OfColumns):
    """What every run that publishes a release is asked."""

    into: Annotated[str, INTO]
    to: Annotated[str | None, TO] = None
    key_file: Annotated[
        PathLike | None,
        "Make pseudonyms, and the days of --shift-dates, by this key: the same in every release.",
        "'clinic.key'",
    ] = None
    shift_dates: Annotated[
        Names, "Columns of dates to move, all of a person by the same number of days.", "['visit_date']"
    ] = ()
    shift_by: Annotated[
        Names, "Column that says whose dates are moved alike; by default that of --person.", "['patient']"
    ] = ()
    shift_days: Annotated[
        int, "Move dates by at most this many days, back or forth.", "14", "N", Option(least=1)
    ] = 30


class OfFile(Options):
    """What runs are asked that publish into a file with other releases."""

    refuse_composition: Annotated[
        bool, "Publish nothing if this and other releases of the table single people out together."
    ] = False


class Splitting(OfFile):
    control: Annotated[
        Share,
        "Split this share of the records, or persons, off first; ppdm attack compares with them.",
        "'10%'",
        "SHARE",
    ] = 0


class Growing(Options):
    """What a run is asked whose release follows its table as that grows."""

    updatable: Annotated[
        bool, "Let ppdm update publish new versions as the table grows; needs --person COLUMN."
    ] = False
    before: Any = None
    """The version before, where an update makes the next one."""


class RefinementRequest(Request, OfRefinement):
    require: Annotated[Requirements, REQUIRE] = field(kw_only=False)
    suppress_records: Annotated[
        Share,
        "Leave out at most this share of the records: those in classes that break a requirement.",
        "'1%'",
        "SHARE",
    ] = 0


class GeneralizeRequest(RefinementRequest, OfGeneralization):
    method: Annotated[str, METHOD] = "tds"
    interval_columns: Annotated[bool, "Add the bounds of intervals as columns A_lower, A_upper."] = False
    show_values: Annotated[bool, SHOW_VALUES] = False


class Suppress(RefinementRequest, Splitting, Growing, OfTable, Told):
    ORDER = """
        table into require class_column count_column keep allow_identifiers identifiers max_steps
        suppress_records symbol allow_absent person types nulls score detail limits weights to control
        refuse_composition updatable
    """
    max_steps: Annotated[int | None, "Stop after this many disclosures."] = None


class Generalize(GeneralizeRequest, Splitting, Growing, OfTable, Told):
    ORDER = """
        table into require class_column method taxonomies ranges boundary condition suppress categories
        count_column keep allow_identifiers identifiers interval_columns show_values suppress_records
        max_steps symbol allow_absent person types nulls score detail rare limits weights min_widths tops
        bottoms to control refuse_composition updatable
    """


class SwapRequest(Request, Splitting, OfTable, Told):
    ORDER = """
        table into confidential by proportion method phase1 per_group share blur smoothing bins seed
        class_column count_column keep allow_identifiers identifiers person types nulls to control
        refuse_composition
    """
    confidential: Annotated[Names, CONFIDENTIAL]
    by: Annotated[Names, BY]
    proportion: Annotated[Shares, "Share of the uniquely identifiable records to change.", "0.5", "[A=]P"]
    method: Annotated[str, METHOD, "How the records to change are chosen.", "'exact'", "exact|greedy"] = (
        "exact"
    )
    phase1: Annotated[
        str, "Preserve frequencies over all records, or as in the paper.", "'joint'", "joint|separate"
    ] = "joint"
    per_group: Annotated[Share, "How many records of each group to change.", "'50%'", "N|SHARE"] = 1
    share: Annotated[
        Bounds, "Bounds on the changed share of every value; 0,1 sets none.", "[0.4, 0.6]", "LOW,HIGH"
    ] = None
    blur: Annotated[float, "Noise on the costs, against attackers with a model.", "0.1", "TAU"] = 0.0
    smoothing: Annotated[float, "Records added to every count behind the costs.", "1", "N"] = 0.0
    bins: Annotated[Bins, "Bins for confidential numbers.", "{'hours': [0, 20, 40, 99]}", "N|A=0,10,20"] = (
        None
    )
    seed: Annotated[int | None, SEED] = field(default=None, repr=False)
    class_column: Annotated[str | None, "What ppdm evaluate predicts, if not the first one."] = None
    person: Annotated[
        Names, "Column that says whose record a row is: all rows of a person change alike."
    ] = ()


class RandomizeRequest(Request, OfFile, OfTable, Told):
    ORDER = """
        table into noise ranges class_column keep allow_identifiers identifiers record key_file seed
        correlated count_column person types nulls to refuse_composition
    """
    noise: Annotated[
        Noises,
        NOISE,
        "gaussian|uniform 100%|SCALE [at 95%] [rounded], cells N|EDGES, retain P.",
        Option(metavar="A=NOISE"),
    ]
    ranges: Annotated[Ranges, RANGES, "The range of all possible values of a column."] = None
    class_column: Annotated[str | None, "What the recipient wants to predict; released unchanged."] = None
    record: Annotated[str | None, "Column that identifies records, instead of row numbers.", "'id'", "ID"] = (
        None
    )
    key_file: Annotated[
        PathLike | None,
        "Keep the key of noise, pseudonyms and --shift-dates, so that they can be repeated.",
        "'customers.key'",
    ] = None
    seed: Annotated[int | None, SEED, "For tests only: whoever has the seed can remove the noise."] = field(
        default=None, repr=False
    )
    correlated: Annotated[bool, "Correlate Gaussian noise as the columns are."] = False
    count_column: Annotated[str | None, Option(hidden=True)] = None
    person: Annotated[Names, "Column that says whose record a row is: one draw for a person."] = ()


class ReconstructRequest(Options):
    into: Annotated[str, NEW_TABLE]
    columns: Annotated[
        Names,
        Form.repeated_names,
        "A randomized column; by default all of them.",
        "['salary']",
        "A",
        Option(flag="--column"),
    ] = ()
    by_class: Annotated[str | None, "Reconstruct a distribution for each value of C.", "'rating'", "C"] = None
    intervals: Annotated[int | None, INTERVALS] = None
    noise: Annotated[Noises, NOISE] = ()
    ranges: Annotated[Ranges, RANGES] = None
    kernel: Annotated[str, "Exact, or the paper's approximation.", "'cell'", "cell|midpoint"] = "cell"
    categorical: Annotated[
        str, "How the distributions of categories are estimated.", "'bayes'", "bayes|inversion"
    ] = "bayes"
    fraction: Annotated[float, "Stop below this fraction of the chi-square quantile.", "0.01"] = 0.01
    max_iterations: Annotated[int, "Stop after this many iterations.", "10000", "N"] = 10000


class Reconstruct(ReconstructRequest, OfTable, Told):
    """What :meth:`ppdm_sql.Database.reconstruct` takes."""


class TrainRequest(OfTable, Told):
    into: Annotated[str, INTO, "Name of the model."]
    class_column: Annotated[str, CLASS, "What to predict."]
    mode: Annotated[
        str,
        "Use values as they are, or reconstruct: for all, by class, by class in every node.",
        "'byclass'",
        "original|randomized|global|byclass|local",
    ] = "byclass"
    columns: Annotated[
        Names, "Columns to split on; by default all that can be split.", "['age', 'salary']"
    ] = ()
    intervals: Annotated[
        int | None, INTERVALS, "Intervals per number; by default one per 100 records, 10 to 100."
    ] = None
    max_depth: Annotated[int | None, "Greatest depth of the tree.", "10", "D"] = None
    min_split: Annotated[
        int | None, "Smallest node to split; by default 20, or 1 record in 1,000.", "20", "N"
    ] = None
    prune: Annotated[bool, "Keep splits that cost more bits than they save.", Option(flag="--no-prune")] = (
        True
    )
    noise: Annotated[Noises, NOISE] = ()
    ranges: Annotated[Ranges, RANGES] = None
    test: Annotated[Any, TEST, "A table of true values, on which right predictions are counted."] = None


class OfModel(Options):
    model: Annotated[Any, RELEASE, "A model; ppdm models lists them.", "'ratings'", "MODEL"] = field(
        kw_only=False
    )


class PredictOptions(Options):
    table: Annotated[Any, TABLE] = field(kw_only=False)
    into: Annotated[str, NEW_TABLE]
    keep: Annotated[NamesIfAny, KEEP, "Columns to copy; by default all."] = None
    column: Annotated[str, "Name of the column with the predicted class.", "'class'", "NAME"] = "predicted"
    to: Annotated[str | None, TO] = None


class PredictRequest(PredictOptions, Reading, OfModel):
    """What is asked of a prediction."""


class ApplyRequest(OfTable, ReleaseRequest):
    into: Annotated[str, NEW_TABLE]
    unseen: Annotated[
        str,
        "For values that the release does not know: show the most general label, or stop.",
        "'refuse'",
        "nearest|refuse",
    ] = "nearest"
    to: Annotated[str | None, TO] = None


class EvaluateRequest(Options):
    test: Annotated[Any, TEST] = None
    class_column: Annotated[str | None, CLASS, "Predict this column, if not the class of the release."] = None
    folds: Annotated[int, "Folds of the cross-validation.", "10", "N"] = 10
    seeds: Annotated[int, "Repeat with this many seeds.", "5", "N"] = 5
    sample: Annotated[int, "Draw at most this many records.", "200000", "N"] = 200000


class Evaluate(EvaluateRequest, Reading, Told, ReleaseRequest):
    """What :meth:`ppdm_sql.Database.evaluate` takes."""


class Anonymization(GeneralizeRequest, Reading, Told):
    """What is asked of the released form of a frame."""

    ORDER = "require class_column method"
    method: Annotated[str, "``pda`` suppresses values; the others generalize them.", "'tds'"] = "tds"
    into: Annotated[str, "What the release is called in messages.", Option(hidden=True)] = "anonymized"


class FrameEvaluation(EvaluateRequest, Anonymization):
    """What is asked of an evaluation of it."""

    class_column: Annotated[str, "The column that a classifier is to predict."] = field()


class AttackOptions(Told):
    control: Annotated[
        Any,
        "Records of the same kind that are not in the release; by default those split off.",
        "'others'",
        Option(metavar="TABLE"),
    ] = None
    known: Annotated[
        Names, "Columns that the attacker knows, if not those of the requirements.", "['Age', 'Gender']"
    ] = ()
    target: Annotated[str | None, "Column that the attacker guesses.", "'Disease'", "COLUMN"] = None
    beside: Annotated[
        Sequence[str],
        Form.texts,
        "An exported release of the same table that others have, too.",
        "['old.parquet']",
        "FILE",
    ] = ()
    seed: Annotated[int | None, SEED, "Of the trees that attackers train.", Option(metavar="N")] = None
    record: Annotated[bool, "Keep the outcome in the catalogue, with what is to be signed."] = False


class AttackRequest(AttackOptions, Reading, ReleaseRequest):
    """What :meth:`ppdm_sql.Database.attack` takes."""


class CompareRequest(OfColumns, OfRefinement, OfGeneralization, Reading, Told):
    ORDER = """
        tables quasi_identifier require k method suppress_records class_column taxonomies ranges condition
        suppress categories count_column keep allow_identifiers identifiers max_steps symbol allow_absent
        evaluate page force keep_best into types nulls boundary person score detail rare limits weights
        min_widths tops bottoms
    """
    tables: Annotated[
        Any,
        Form.texts,
        "A table to try settings on, or releases to put side by side.",
        "['customers_k4', 'customers_k10']",
        "TABLE|RELEASE...",
        Option(flag=""),
    ] = field(kw_only=False)
    quasi_identifier: Annotated[
        Names, "Columns that others may know; those of --k.", "['Job', 'Country']", Option(sql="qi")
    ] = ()
    require: Annotated[
        Sequence[str | Asked], Form.texts, REQUIRE, "A requirement that every setting keeps."
    ] = ()
    k: Annotated[
        int | Sequence[int] | None,
        Form.wholes,
        "The k to try, for --qi and for --require 'k on A, B'.",
        "[2, 5, 10]",
        "N,N",
    ] = None
    method: Annotated[Names, Form.choices, "The methods to try.", "['tds', 'hce-tdr']", "tds,hce-tdr,pda"] = (
        "tds"
    )
    suppress_records: Annotated[
        Number | Sequence[Number],
        Form.choices,
        "The shares of the records that may be left out, to try.",
        "['0', '1%']",
        "0,1%",
    ] = "0"
    condition: Annotated[
        Names, "Further columns that tell of the class: for hce-tdr conditions, else kept."
    ] = ()
    evaluate: Annotated[bool, EVALUATE] = False
    page: Annotated[
        PathLike | None, "Also write a page with pictures, such as compared.html.", "'compared.html'"
    ] = None
    force: Annotated[bool, FILE_FORCE, "Replace the file of --page if it exists."] = False
    keep_best: Annotated[
        str | None,
        "Publish the setting in which this is least, under the name --into.",
        "'loss'",
        "loss|risk|average-risk|error|left-out",
    ] = None
    into: Annotated[str | None, INTO, "Name of the release that --keep-best publishes."] = None


class UpdateRequest(Told, ReleaseRequest):
    """What :meth:`ppdm_sql.Database.update` takes."""


class ForgetRequest(Told):
    """What :meth:`ppdm_sql.Database.forget` takes."""

    person: Annotated[
        str,
        "Whose records are taken out, as the person column holds it.",
        "'p17'",
        "ID",
        Option(flag="--person"),
    ] = field(kw_only=False)
    releases: Annotated[
        Names,
        Form.repeated_names,
        "Only out of this release; by default out of all.",
        "['visits_safe']",
        "NAME",
        Option(flag="--release", sql="releases"),
    ] = ()


class ExportOptions(Options):
    path: Annotated[
        PathLike, "Ends in .parquet, .csv or .duckdb.", "'customers_safe.parquet'", Option(flag="")
    ] = field(kw_only=False)
    force: Annotated[bool, FILE_FORCE] = False
    format: Annotated[str | None, "parquet, csv or duckdb, if the file name does not say.", "'parquet'"] = (
        None
    )
    formula_safe: Annotated[bool, "Write CSV that spreadsheets do not read as formulas."] = False


class ExportRequest(ExportOptions, ReleaseRequest):
    """What is asked of an export."""


class PageOptions(Options):
    path: Annotated[
        PathLike, "The page to write, such as customers_safe.html.", "'customers_safe.html'", Option(flag="")
    ] = field(kw_only=False)
    force: Annotated[bool, FILE_FORCE] = False


class ReportOptions(PageOptions, Told):
    ORDER = "release path public force"
    public: Annotated[bool, "Make the page for others, from the release alone."] = False
    evaluate: Annotated[bool, EVALUATE] = False
    exported: Annotated[
        PathLike | None, "The exported file, whose SHA-256 the page gives.", "'customers_safe.parquet'"
    ] = None


class ReportRequest(ReportOptions, ReleaseRequest):
    release: Annotated["str | Release", ANY_RELEASE]


class AgrawalRequest(Told):
    into: Annotated[str, NEW_TABLE, Option(example="'people'")] = field(kw_only=False)
    function: Annotated[int, "The function that determines the class.", "2", "1-5"]
    rows: Annotated[int, "Number of records.", "10000", "N"]
    seed: Annotated[int | None, SEED, "Make the same table again; without it, a seed is drawn."] = field(
        default=None, repr=False
    )
    balanced: Annotated[
        bool, "Equal numbers of records of both classes.", Option(flag="--balanced/--no-balanced")
    ] = True


class IntegrateOptions(Options):
    require: Annotated[Requirements, REQUIRE, "A requirement; the same on both sides."] = field(kw_only=False)
    class_column: Annotated[str, CLASS, "What the recipient wants to predict; in both tables."]
    key: Annotated[Names, "What identifies a person in both tables; not released.", "['ssn']"]
    owns: Annotated[Names, "Columns of this table that the release may show.", "['Sex']"]
    into: Annotated[str, INTO, "Name of the release, in this file."]
    taxonomies: Annotated[Taxonomies, TAXONOMIES, "Taxonomy of a column of this side."] = None
    ranges: Annotated[Ranges, GROWN_RANGES, "Range of a column of this side, for grown intervals."] = None
    suppress: Annotated[Names, SUPPRESS, "Columns of this side to suppress, not to grow."] = ()
    symbol: Annotated[str, SYMBOL] = "*"
    match: Annotated[str, "How keys are compared where records differ.", "'hashed'", "plain|hashed"] = "plain"
    secret: Annotated[
        bytes | None, Form.path, "For hashed: a secret that only both parties have.", "'secret.txt'"
    ] = field(default=None, repr=False)
    intersect: Annotated[bool, "Use the common records, if the partner agrees."] = False
    score_bits: Annotated[
        int | None, "Send scores in only this many bits, such as 8.", "8", "N", Option(least=1)
    ] = None
    boundary: Annotated[str, BOUNDARY] = "valid"
    max_steps: Annotated[int | None, MAX_STEPS] = None
    show_values: Annotated[bool, SHOW_VALUES, "Print this side's values that a taxonomy lacks."] = False
    allow_absent: Annotated[bool, ALLOW_ABSENT] = False
    person: Annotated[Names, PERSON, Option(hidden=True)] = ()


class OfDatabase(Options):
    database: Any = field(kw_only=False)


class Integrate(IntegrateOptions, OfTable, Told, OfDatabase):
    """What :class:`ppdm_sql.integrate.Party` takes."""


class NameRequest(Options):
    name: Annotated[str, RELEASE, ANY_RELEASE, Option(metavar="NAME")] = field(kw_only=False)


class SuggestRequest(Options):
    table: Annotated[str, TABLE] = field(kw_only=False)
    column: Annotated[str, "The column to generalize.", "'Job'", "COLUMN", Option(flag="")] = field(
        kw_only=False
    )
    levels: Annotated[int | None, "Number of levels below the root.", "3", Option(least=1)] = None
    fanout: Annotated[int, "How many intervals are merged into a wider one.", "3", Option(least=2)] = 2
    rule: Annotated[
        str | None, "dates [month,year], prefixes [1,3], or ranges 5,10,20.", "'dates month'", "RULE"
    ] = None
    count_column: Annotated[str | None, COUNT] = None
    into: Annotated[PathLike | None, "Write the draft to this file.", "'job.csv'"] = None


class InstallRequest(Options):
    short_names: Annotated[
        bool, "Install into the schema ppdm only: ppdm.ppdm_risk(...).", Option(flag="--no-short-names")
    ] = True


REQUESTS: Mapping[str, Any] = {
    "audit": AuditRequest,
    "risk": RiskRequest,
    "suppress": Suppress,
    "generalize": Generalize,
    "integrate": Integrate,
    "swap": SwapRequest,
    "randomize": RandomizeRequest,
    "reconstruct": Reconstruct,
    "train": TrainRequest,
    "predict": PredictRequest,
    "apply": ApplyRequest,
    "evaluate": Evaluate,
    "attack": AttackRequest,
    "compare": CompareRequest,
    "export": ExportRequest,
    "report": ReportRequest,
    "generate_agrawal": AgrawalRequest,
    "releases": Options,
    "models": Options,
    "show": NameRequest,
    "steps": ReleaseRequest,
    "verify": ReleaseRequest,
    "update": UpdateRequest,
    "forget": ForgetRequest,
    "drop": NameRequest,
    "install": InstallRequest,
    "uninstall": Options,
}
"""What each method is asked."""
PUBLISHING = {
    "generalize": GeneralizeRequest,
    "swap": SwapRequest,
    "randomize": RandomizeRequest,
    "suppress": RefinementRequest,
}
"""The methods that publish a release, and what tells their requests apart; the first that fits counts."""


def command_of(request: Request) -> str:
    """Name the method that a request is for; none where it is for another one than ours."""
    return next((name for name, kind in PUBLISHING.items() if isinstance(request, kind)), "")


OPTIONS: Mapping[str, tuple[Option, ...]] = {name: options_of(request) for name, request in REQUESTS.items()}
"""The options of each method, in the order in which a call in SQL takes them without their names."""
