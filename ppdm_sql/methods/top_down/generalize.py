"""TDS and HCE-TDR: generalize from the most general table down, while every requirement holds.

Sources: Fung, Wang, Yu 2005, "Top-Down Specialization for Information and Privacy Preservation", ICDE; Wang,
Fung, Dong 2005, slides 11 to 17; "Anonymizing classification data using rough set theory" (2013).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ppdm_sql.audit.column_kinds import Look
from ppdm_sql.engine import Engine, statements
from ppdm_sql.engine.names import option_for, resolve_all
from ppdm_sql.engine.types import Kind, has_enum, is_number, is_ordered, kind_of
from ppdm_sql.errors import ColumnRoleError, InvalidOption, InvalidSource, check_choice
from ppdm_sql.methods.base.arrays import Codes, Counts
from ppdm_sql.methods.base.collapse import Dictionary
from ppdm_sql.methods.base.released_rows import Output
from ppdm_sql.methods.top_down import information_loss as information
from ppdm_sql.methods.top_down.constraints import AllowedConstraints
from ppdm_sql.methods.top_down.interval_cuts import ClassHistogram, tails_of, value_places, wide_enough
from ppdm_sql.methods.top_down.left_out_measure import KeptEntropy
from ppdm_sql.methods.top_down.maskings import Generalization, Intervals, Masking, Suppression
from ppdm_sql.methods.top_down.measuring import ConditionalEntropy
from ppdm_sql.methods.top_down.outcome import Outcome
from ppdm_sql.methods.top_down.request import GeneralizeRequest, RefinementRoles, resolve_option
from ppdm_sql.methods.top_down.run import RefinementRun
from ppdm_sql.progress import Progress
from ppdm_sql.release import Release
from ppdm_sql.taxonomy.derived import DerivedTaxonomy
from ppdm_sql.taxonomy.model import Taxonomy
from ppdm_sql.taxonomy.tables import leaf_codes, read_taxonomy_or_rule, uncovered_values

METHODS: Mapping[str, str] = {"tds": "TDS", "hce-tdr": "HCE-TDR"}
RARE = ("merged", "apart")
"""What becomes of children of a taxonomy's node that have too few records for any class."""
BOUNDARIES = ("valid", "best")
"""Which boundary of a grown interval is tried: the best one that keeps the requirements, or the best one."""
MOST_CLASSES = 200
"""Values of the class attribute that HCE-TDR can count in every equivalence class."""


def generalize(engine: Engine, source: str, request: GeneralizeRequest, progress: Progress) -> Release:
    run = GeneralizationRun(engine, source, request, progress)
    if request.method == "hce-tdr" and not request.condition:
        run.progress.notice("No --condition is given, so only the quasi-identifier tells about the class.")
    run.notice_extremes()
    return run.publish()


class GeneralizationRun(RefinementRun):
    """A run in which attributes are generalized, grown into intervals, or suppressed."""

    request: GeneralizeRequest

    def __init__(self, engine: Engine, source: str, request: GeneralizeRequest, progress: Progress) -> None:
        apart = request.score == "paper" or getattr(request, "updatable", False)
        self.rare = request.rare or ("apart" if apart else "merged")
        check_choice("method", request.method, METHODS)
        check_choice("rule for boundaries", request.boundary, BOUNDARIES)
        check_choice("rule for rare siblings", self.rare, RARE)
        if request.condition and request.method != "hce-tdr":
            raise InvalidOption(
                "--condition names columns whose values HCE-TDR takes into account; TDS does not.",
                "Add --method hce-tdr, or name the columns with --keep.",
            )
        if request.method == "hce-tdr" and request.class_column is None:
            raise InvalidOption(
                "HCE-TDR measures what remains unknown about a class, and none is given.",
                "Give --class COLUMN, or use --method tds, which does without.",
            )
        self.method = METHODS[request.method]
        super().__init__(engine, source, request, progress)
        self._check_condition()
        names = list(self.columns)
        by_column: dict[str, Mapping[str, Any]] = {
            "taxonomy": request.taxonomies,
            "range": request.ranges,
            "suppress": dict.fromkeys(request.suppress),
            "category": dict.fromkeys(request.categories),
            "min-width": request.min_widths,
            "bottom": request.bottoms,
            "top": request.tops,
        }
        self._by_option: dict[str, dict[str, Any]] = {
            option: resolve_option(values, option, names, self.roles.masking, table=source)
            for option, values in by_column.items()
        }
        self._check_one_option_each()
        self._taxonomies = {
            name: read_taxonomy_or_rule(engine, value) for name, value in self._by_option["taxonomy"].items()
        }
        self._by_option["category"] |= dict.fromkeys(self.codes())
        self._check_bound_names()
        self._check_grown()

    def assign_roles(self) -> RefinementRoles:
        self.condition = resolve_all(self.request.condition, list(self.columns), table=self.source)
        return super().assign_roles()

    def _check_condition(self) -> None:
        """HCE-TDR knows one quasi-identifier, and conditions are what is not in it."""
        for name in self.condition:
            if name in self.roles.grouping:
                raise ColumnRoleError(
                    f"Column {name!r} cannot be both a condition and in a quasi-identifier.",
                    "Name it in one role only.",
                )
        requirements = self.requirements if self.growth is None else self.promised
        if self.request.method == "hce-tdr" and len({frozenset(r.attributes) for r in requirements}) > 1:
            raise InvalidOption(
                "HCE-TDR takes one quasi-identifier, and the requirements group by different columns.",
                "Let all of them name the same columns, or use --method tds.",
            )

    def _check_one_option_each(self) -> None:
        """A column has a taxonomy, or a range of grown intervals, or is suppressed."""
        option_of: dict[str, str] = {}
        for option in ("taxonomy", "range", "suppress", "category"):
            for name in self._by_option[option]:
                if name in option_of:
                    raise ColumnRoleError(
                        f"Column {name!r} is named by --{option_of[name]} and by --{option}.",
                        "Choose one of them.",
                    )
                option_of[name] = option

    def _check_bound_names(self) -> None:
        """The columns of bounds must not meet others of the release."""
        names = {name.lower() for name in self.columns}
        for bound in (bound for name in self.roles.masking for bound in self.bounds(name)):
            if bound.name.lower() in names:
                raise InvalidOption(
                    f"--interval-columns would make a column {bound.name!r}, which the table has.",
                    "Leave the option out, or rename the table's column in a view.",
                )

    def _check_grown(self) -> None:
        """What is said of grown intervals needs some; tails can stand in a taxonomy by a rule, too."""
        for option in ("min-width", "bottom", "top"):
            of_tails = option != "min-width"
            for name in self._by_option[option]:
                rule = self._taxonomies.get(name)
                if self._grows(name) or (of_tails and isinstance(rule, DerivedTaxonomy) and rule.has_tails):
                    continue
                by_rule, but = (", nor made by a rule ranges", " but ranges") if of_tails else ("", "")
                raise InvalidOption(
                    f"Column {name!r} is named by --{option}, but its intervals are not grown in the run"
                    f"{by_rule}.",
                    f"Leave the option out, or give no taxonomy{but} and no --suppress for the column, which "
                    "must hold numbers, dates or times.",
                )

    # -- how attributes are masked ----------------------------------------------------------------

    def notice_extremes(self) -> None:
        """Tell of columns whose smallest and largest values become bounds of their labels."""
        grown = [name for name in self.roles.masking if self._grows(name)]
        bare = [name for name in grown if name not in self._by_option["range"]]
        if bare:
            each = "each" if len(bare) > 1 else "the column"
            example = option_for("--range", bare[0], "LOW,HIGH")
            self.progress.notice(
                f"The outermost bounds of {', '.join(map(repr, bare))} are the smallest and the largest "
                f"value of {each}, real people's; give others with {example}."
            )

    def codes(self) -> Sequence[str]:
        """Find the numbers that the audit's guess takes for codes, of which nothing is said; tell of them.

        An interval of codes means nothing. The papers know no guess, so their scores go without one.
        """
        explicit = {name for values in self._by_option.values() for name in values}
        bare = [
            name for name in self.roles.masking if name not in explicit and is_number(self.columns[name].type)
        ]
        if self.literal or not bare:
            return ()
        from ppdm_sql.audit.profiling import column_profiles

        looks = self.request.looks
        unknown = [name for name in bare if name not in looks]
        _, profiles = column_profiles(self.engine, self.table, unknown, self.roles.count)
        looks.update((item.column, item.looks_like) for item in profiles)
        codes = [name for name in bare if looks[name] in (Look.code, Look.category)]
        if codes:
            names = ", ".join(map(repr, codes))
            subject = f"Columns {names} are taken for codes, so their"
            if len(codes) == 1:
                subject = f"Column {names} is taken for a code, so its"
            self.progress.notice(
                f"{subject} values are shown one by one or not at all; give "
                f"{option_for('--range', codes[0], 'LOW,HIGH')} if that is a number."
            )
        return codes

    def _grows(self, name: str) -> bool:
        """Whether an attribute is masked by intervals that are grown during the run."""
        plain = any(name in self._by_option[option] for option in ("taxonomy", "suppress", "category"))
        type_text = self.columns[name].type
        return not plain and is_ordered(type_text) and kind_of(type_text) is not Kind.INTERVAL

    def shows_symbol(self, name: str) -> bool:
        """Only a suppressed value stands beside values as they are."""
        return name not in self._taxonomies and not self._grows(name)

    def mask(self, position: int, name: str, counts: Counts) -> Masking:
        """By its taxonomy, by grown intervals where it has an order, else by suppression."""
        dictionary, symbol = self.atoms.coded[position], self.request.symbol
        bottom, top = self._by_option["bottom"].get(name), self._by_option["top"].get(name)
        tails = None if bottom is None and top is None else tails_of(self.engine, dictionary, bottom, top)
        if name in self._taxonomies:
            bounds = (None, None) if tails is None else tails.bounds
            taxonomy = self._taxonomies[name]
            if isinstance(taxonomy, DerivedTaxonomy):  # a rule makes it of the column's values
                of_column = self.engine, dictionary.table, dictionary.column
                taxonomy = taxonomy.of_values(*of_column, table=self.source, tails=bounds)
            leaves = self._leaves(dictionary, taxonomy)
            if self.rare == "merged":
                taxonomy, leaves = _merge(taxonomy, leaves, counts, int(self.constraints.least[position]))
            of = dictionary, counts, taxonomy
            return Generalization(*of, leaves, self._by_interval(name), self.worth, bounds)
        if self._grows(name):
            ends, width = self._range(dictionary), self._by_option["min-width"].get(name)
            wide = () if width is None else (wide_enough(self.engine, dictionary, ends, width),)
            histogram = ClassHistogram(
                counts,
                dictionary.has_null,
                value_places(self.engine, dictionary, ends),
                int(self.constraints.least[position]) if self.request.boundary == "valid" else None,
                wide if tails is None else (*wide, tails),
                self.worth,
            )
            return Intervals(dictionary, histogram, symbol, ends, tails)
        if name in self._by_option["range"]:
            raise InvalidOption(
                f"Column {name!r} has no order, so it has no range.", "Give a range for numbers and dates."
            )
        return Suppression(dictionary, counts, symbol, self.worth)

    def _by_interval(self, name: str) -> bool:
        """Whether a column of other values than texts has a taxonomy whose leaves are intervals."""
        taxonomy, type_text = self._taxonomies[name], self.columns[name].type
        if isinstance(taxonomy, DerivedTaxonomy):
            return taxonomy.is_interval(type_text)
        return taxonomy.is_interval and not _is_text(type_text)

    def _leaves(self, dictionary: Dictionary, taxonomy: Taxonomy) -> Codes:
        name = dictionary.column.name
        text = _is_text(dictionary.column.type)
        leaves = leaf_codes(self.engine, dictionary.table, taxonomy, column=name, text=text)
        missing = int((leaves[: dictionary.size - dictionary.has_null] < 0).sum())
        if missing:
            values = "Add --show-values to see which."
            if self.request.show_values:
                examples = uncovered_values(self.engine, dictionary.table, leaves)
                values = f"They are: {', '.join(map(repr, examples))}."
            raise InvalidSource(
                f"{missing} of the {len(leaves) - dictionary.has_null} values of column {name!r} are not "
                f"leaves of its taxonomy. {values}",
                "Its rule has no place for them: make them NULL or other values in a view."
                if isinstance(self._taxonomies[name], DerivedTaxonomy)
                else "Add them to the taxonomy; `ppdm taxonomy suggest` writes a first draft.",
            )
        return leaves

    def _range(self, dictionary: Dictionary) -> tuple[str, str] | None:
        bounds = self._by_option["range"].get(dictionary.column.name)
        if bounds is None:
            return None
        lower, upper = (str(bound).strip() for bound in bounds)
        query = statements.bind("top_down/range_faults", tables={"dictionary": dictionary.table})
        ((usable, outside),) = self.engine.query(query, {"lower": lower, "upper": upper}, step="range_faults")
        name = dictionary.column.name
        if not usable:
            raise InvalidOption(
                f"The range of column {name!r} is not two of its values, the smaller first.",
                f"Write it as {option_for('--range', name, '1,99')}: from 1 up to 99, which is outside.",
            )
        if outside:
            raise InvalidSource(
                f"{outside} different values of column {name!r} lie outside the range given.",
                "Widen it; the upper bound itself is outside.",
            )
        return lower, upper

    def bounds(self, name: str) -> Sequence[Output]:
        in_intervals = self._grows(name) or (name in self._taxonomies and self._by_interval(name))
        if not (in_intervals and self.request.interval_columns and name in self.roles.masking):
            return ()
        atom = f"c{self.attributes.index(name)}"
        lower = Output(atom, f"{name}_lower", "lower bound", of=name)
        return lower, replace(lower, name=f"{name}_upper", treatment="upper bound")

    # -- what is measured -------------------------------------------------------------------------

    def gains(self) -> ConditionalEntropy | None:
        """HCE-TDR takes all condition attributes together into account, TDS one attribute."""
        if self.request.method == "tds" or self.classes is None:
            return super().gains()
        size = self.atoms.coded[self.classes].size
        if size > MOST_CLASSES:
            raise InvalidOption(
                f"The class {self.roles.class_column!r} has {size} values, and HCE-TDR takes {MOST_CLASSES}.",
                "Use --method tds, or a coarser class.",
            )
        constraints, of = self.constraints, (self.engine, self.atoms)
        # what is left out is one class where one state's classes tell what that is
        if (
            self.literal
            and isinstance(constraints, AllowedConstraints)
            and not (self.condition or constraints.compares_with_table)
        ):
            return KeptEntropy(*of, constraints, self.classes)
        return ConditionalEntropy(*of, range(len(self.attributes)), self.classes, self.worth)

    @property
    def gain_name(self) -> str:
        return "conditional entropy" if self.request.method == "hce-tdr" else super().gain_name

    def parameters(self) -> dict[str, object]:
        return {
            "recoding": {name: self._masking_name(name) for name in self.roles.masking},
            "range": {name: [str(b) for b in bounds] for name, bounds in self._by_option["range"].items()},
            "boundary": self.request.boundary,
            **({"rare": self.rare} if self._taxonomies else {}),
            "min_width": self._texts("min-width"),
            "bottom": self._texts("bottom"),
            "top": self._texts("top"),
            "condition": list(self.condition),
            "interval_columns": self.request.interval_columns,
        }

    def _texts(self, option: str) -> dict[str, str]:
        return {name: str(value) for name, value in self._by_option[option].items()}

    def _masking_name(self, name: str) -> str:
        if name in self._taxonomies:
            return "taxonomy"
        return "intervals" if self._grows(name) else "suppression"

    def release_measures(self, outcome: Outcome) -> Sequence[information.Row]:
        classes, rows = self.classes, list[information.Row]()
        of = self.engine, self.atoms, outcome
        if self.growth is None or self.growth.before is None:  # nobody is told of cohorts
            sets = [sorted(item.attributes) for item in self.constraints.all if item.attributes]
            rows += information.equivalence_classes(*of, dict.fromkeys(map(tuple, sets)), classes)
        if self.condition and classes is not None:
            before, after = information.classes_by(*of, range(len(self.attributes)), classes)
            bits = before[2] / self.atoms.records, after[2] / outcome.atoms.records
            rows.append(("conditional entropy: all condition attributes", *bits))
        rows += [*information.values_disclosed(outcome), *self.class_information(outcome)]
        rows += information.generalized_information_loss(outcome, self.atoms.records)
        return rows


def _merge(taxonomy: Taxonomy, leaves: Codes, counts: Counts, least: int) -> tuple[Taxonomy, Codes]:
    has_leaf, records = leaves >= 0, np.zeros(len(taxonomy.labels), dtype=np.int64)
    np.add.at(records, leaves[has_leaf], counts[has_leaf].sum(axis=1))
    merged = taxonomy.merged(records.tolist(), max(least, 1))
    places = {label: node for node, label in enumerate(merged.labels)}
    of_old = np.array([*(places[label] for label in taxonomy.labels), -1])
    return merged, of_old[leaves]


def _is_text(type_text: str) -> bool:
    """Whether values are texts, among which a text such as ``[1, 37)`` is not an interval."""
    return type_text == "VARCHAR" or has_enum(type_text)
