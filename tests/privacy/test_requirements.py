"""The requirement language: reading, printing, refusing, comparing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.errors import ColumnRoleError, InvalidOption, PpdmError, RequirementSyntaxError, UnknownColumn
from ppdm_sql.privacy import (
    KAnonymity,
    LDiversity,
    Measure,
    Requirement,
    TCloseness,
    Template,
    Value,
    parse,
    parse_all,
    parse_measure,
    parse_names,
    quote_name,
    redundancies,
    resolve,
)
from ppdm_sql.privacy.level import Level

HALF, THREE_QUARTERS = Fraction(1, 2), Fraction(3, 4)


NO_LIMIT = "; only ppdm audit takes a requirement without a limit"


def one_name(name: str) -> str:
    return f'; for one name write "{name}", and single quotes around it all for the shell'


def template(text: str) -> Template:
    found = parse(text)
    assert isinstance(found, Template)
    return found


# --- the four forms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Job, Country -> Bankruptcy = Discharged <= 75%",
            Template(("Job", "Country"), "Bankruptcy", ("Discharged",), THREE_QUARTERS),
        ),
        ("Job -> Bankruptcy <= 75%", Template(("Job",), "Bankruptcy", None, THREE_QUARTERS)),
        ("Job -> B IN (x, 'y z', NULL) <= .5", Template(("Job",), "B", ("x", "y z", None), HALF)),
        ("Job→B=x≤1/2", Template(("Job",), "B", ("x",), HALF)),
        ("k >= 4 on Sex, Job", KAnonymity(4, ("Sex", "Job"))),
        ("K≥4 ON Sex", KAnonymity(4, ("Sex",))),
        (
            "distinct l >= 3 of Disease on Sex, Job",
            LDiversity("distinct", Fraction(3), "Disease", ("Sex", "Job")),
        ),
        ("ENTROPY L ≥ 2.5 OF Disease ON Sex", LDiversity("entropy", Fraction(5, 2), "Disease", ("Sex",))),
        ("t <= 0.2 of Disease on Sex, Job", TCloseness(Fraction(1, 5), "Disease", ("Sex", "Job"))),
        ("T<=20%of Disease on Sex", TCloseness(Fraction(1, 5), "Disease", ("Sex",))),
        (
            "T<=20%of by BY Prefixes 2 on prefixes",
            TCloseness(Fraction(1, 5), "by", ("prefixes",), level=Level("prefixes", 2)),
        ),
        ("  Job\n\t-> B\n\t<= 50%\n", Template(("Job",), "B", None, HALF)),
    ],
)
def test_each_form_is_read(text: str, expected: Requirement) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("Job,Country->B=x<=0.75", "Job, Country -> B = x <= 75%"),
        ("Job -> B in (x, 'y z', null) <= 12.5 %", "Job -> B IN (x, 'y z', NULL) <= 12.5%"),
        ("Job -> B <= 1/3", "Job -> B <= 1/3"),
        ("Job -> B <= 1", "Job -> B <= 100%"),
        ("Job -> B <= 0.001", "Job -> B <= 0.1%"),
        ('"Job" -> "odd ""name""" = \'x\' <= 5%', 'Job -> "odd ""name""" = x <= 5%'),
        ("k>=04 on Sex", "k >= 4 on Sex"),
        ("Distinct l>=3.0 of D on Sex", "distinct l >= 3 of D on Sex"),
        ("entropy l >= 10/4 of D on Sex", "entropy l >= 2.5 of D on Sex"),
        ("entropy l >= 10/3 of D on Sex", "entropy l >= 10/3 of D on Sex"),
        ("t <= 20% of D on Sex", "t <= 0.2 of D on Sex"),
        ("t <= 0 of D on Sex", "t <= 0 of D on Sex"),
        ("t <= 1/7 of D on Sex", "t <= 1/7 of D on Sex"),
        ("average risk <= 5% on Sex, Job", "average risk <= 5% on Sex, Job"),
        ("Average  RISK≤1/3 ON Sex", "average risk <= 1/3 on Sex"),
        ("beta <= 1.5 of Disease on Sex, Job", "beta <= 1.5 of Disease on Sex, Job"),
        ("BETA≤3/2 OF Disease ON Sex", "beta <= 1.5 of Disease on Sex"),
        ("Enhanced Beta <= 2 of Disease on Sex", "enhanced beta <= 2 of Disease on Sex"),
        ("DELTA≤3/2 OF Disease ON Sex", "delta <= 1.5 of Disease on Sex"),
        ("recursive c = 3, l = 2 of Disease on Sex, Job", "recursive c = 3, l = 2 of Disease on Sex, Job"),
        ("RECURSIVE C=5/2,L=3 OF Disease ON Sex", "recursive c = 2.5, l = 3 of Disease on Sex"),
        ("K-MAP≥5 ON Sex IN a.census ( n )", "k-map >= 5 on Sex in a.census(n)"),
        ("presence 0.01 to 1/2 on Sex in census(n)", "presence 1% to 50% on Sex in census(n)"),
        ("presence 0 to 50% on Sex in census", "presence <= 50% on Sex in census"),
        ("presence 5% to 100% on Sex in census", "presence >= 5% on Sex in census"),
        ("presence <= 1/3 on Sex in census", "presence <= 1/3 on Sex in census"),
    ],
)
def test_each_form_is_printed_in_one_way(text: str, printed: str) -> None:
    assert str(parse(text)) == printed
    assert str(parse(printed)) == printed


@pytest.mark.parametrize(
    ("written", "threshold"),
    [
        ("0.75", "3/4"), (".75", "3/4"), ("75%", "3/4"), ("12.5 %", "1/8"), ("3/4", "3/4"), ("1 / 3", "1/3"),
        ("1", "1"), ("100%", "1"), ("0.1", "1/10"), ("+0.5", "1/2"), ("1.", "1"), ("33.3333333333333333%",
        "333333333333333333/1000000000000000000"),
    ],
)  # fmt: skip
def test_thresholds_are_kept_exactly(written: str, threshold: str) -> None:
    assert template(f"A -> B <= {written}").threshold == Fraction(threshold)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("Married-civ-spouse", "Married-civ-spouse"), ("50000", "50000"), ("-1.5e+3", "-1.5e+3"),
        ("2020-01-01", "2020-01-01"), ("a/b_c.d", "a/b_c.d"), (">50K", ">50K"), ("<50K", "<50K"),
        ("'<=50K'", "<=50K"), ("'it''s'", "it's"), ("''", ""), ("''''", "'"), ("'a\nb'", "a\nb"),
        ("'  two  spaces  '", "  two  spaces  "), ("null", None), ("NuLL", None), ("'NULL'", "NULL"),
        ("Zürich", "Zürich"), ("東京", "東京"), ("in", "in"), ("on", "on"), ("5%", "5%"), ('\'"\'', '"'),
    ],
)  # fmt: skip
def test_values_are_read_bare_or_in_single_quotes(written: str, value: Value) -> None:
    assert template(f"A -> B = {written} <= 50%").values == (value,)
    assert template(f"A -> B IN (first, {written}) <= 50%").values == ("first", value)


def test_bare_value_ends_at_the_limit_sign() -> None:
    assert template("A->B=Never-married<=50%").values == ("Never-married",)
    assert template("A->B=Never-married≤50%").values == ("Never-married",)


@pytest.mark.parametrize(
    "text",
    [
        "k, t -> l <= 50%",
        "k -> t <= 50%",
        "t -> k <= 50%",
        "l -> t = l <= 50%",
        "distinct, entropy -> l = distinct <= 50%",
        "distinct -> entropy <= 50%",
        "of, on -> in IN (in, on, of) <= 50%",
        "in -> on = of <= 50%",
        "k >= 2 on k, on, of",
        "distinct l >= 2 of of on on, l",
        "entropy l >= 2 of on on of",
        "t <= 0.5 of of on on, t",
        "NULL -> null = 'null' <= 50%",
        "average, risk -> Disease <= 50%",
        "average -> Disease <= 50%",
        "beta -> Disease <= 50%",
        "enhanced, beta -> Disease <= 50%",
        "delta, of -> Disease <= 50%",
        "delta -> Disease <= 50%",
        "recursive, c -> Disease <= 50%",
        "recursive -> Disease <= 50%",
        "presence, to -> Disease <= 50%",
        "presence -> Disease <= 50%",
        "k-map >= 1 on on, in in in",
        'k-map >= 5 on "odd ""c" in census.main."in (n)"("a b")',
    ],
)
def test_keywords_are_names_where_a_name_stands(text: str) -> None:
    assert str(parse(text)) == text


def test_keywords_in_quotes_are_names() -> None:
    assert template('"k", "IN" -> "t" <= 50%') == Template(("k", "IN"), "t", None, HALF)


def test_names_follow_sql() -> None:
    assert template("Größe, _x$1, नाम, e\u0301 -> 年齢 <= 50%").channel == ("Größe", "_x$1", "नाम", "e\u0301")
    assert template('"a ""b"" c.d; -- \n", "" -> "B" <= 50%').channel == ('a "b" c.d; -- \n', "")


def test_a_list_of_names_is_read() -> None:
    assert parse_names(' A, "odd, ""name""" ,Ort ') == ("A", 'odd, "name"', "Ort")
    assert parse_names("Salary (EUR), diag'nosis,2019 on of") == ("Salary (EUR)", "diag'nosis", "2019 on of")


def test_repeated_protected_values_are_merged() -> None:
    assert template("A -> B IN (x, 'x', NULL, y, null) <= 50%").values == ("x", None, "y")
    assert Template(("A",), "B", ("x", "x"), HALF).values == ("x",)


def test_a_template_splits_into_one_per_value() -> None:
    parts = template("A -> B IN (x, NULL) <= 50%").split()
    assert [str(part) for part in parts] == ["A -> B = x <= 50%", "A -> B = NULL <= 50%"]
    every = template("A -> B <= 50%")
    assert every.split() == (every,)


def test_attributes_are_those_that_group_records() -> None:
    found = [parse(text).attributes for text in ("A, C -> B <= 5%", "k >= 2 on A", "t <= 1 of B on C, A")]
    assert found == [("A", "C"), ("A",), ("C", "A")]


def test_many_requirements_are_read_in_order() -> None:
    ready = KAnonymity(2, ("Sex",))
    assert parse_all(["t <= 1 of B on A", ready]) == (TCloseness(Fraction(1), "B", ("A",)), ready)
    assert parse_all([]) == ()


def test_a_single_requirement_counts_as_a_list_of_one() -> None:
    assert parse_all("k >= 2 on Sex") == parse_all(parse("k >= 2 on Sex")) == (KAnonymity(2, ("Sex",)),)  # type: ignore[arg-type]


# --- what is refused

TEMPLATE = "Job, Country -> Bankruptcy = Discharged <= 75%"
K, L = "k >= 4 on Sex, Job", "distinct l >= 3 of Disease on Sex, Job"
T = "t <= 0.2 of Disease on Sex, Job"
LEVEL = "distinct l >= 3 of icd10 by prefixes 1 on sex, age"
SIZE = "one whole number above 0, of at most 9 digits"
NAME = "a column name, in double quotes unless it is one plain word"
VALUE = "a value, in single quotes unless it is one plain word"
QUOTE = "; a value that is not one plain word stands in single quotes"


@pytest.mark.parametrize(
    ("marked", "expected", "example"),
    [  # the sign ^ stands before the place where the caret belongs
        ("Job ^Country -> Bankruptcy <= 75%", f"'->' or ','{one_name('Job Country')}", TEMPLATE),
        ("^", NAME, TEMPLATE),
        ("^-> Bankruptcy <= 75%", NAME, TEMPLATE),
        ("Job, ^-> Bankruptcy <= 75%", NAME, TEMPLATE),
        ("Job^", "'->' or ','", TEMPLATE),
        ("Job ^=> B <= 75%", "'->' or ','", TEMPLATE),
        ("Job^.x -> B <= 75%", f"'->' or ','{one_name('Job.x')}", TEMPLATE),
        ("^2fast -> B <= 75%", NAME, TEMPLATE),
        ('^"Job -> B <= 75%', NAME, TEMPLATE),
        ("Job -> ^<= 75%", NAME, TEMPLATE),
        ("Job -> B^", f"'=', 'IN' or '<='{NO_LIMIT}", TEMPLATE),
        ("Job -> B ^< 75%", "'=', 'IN' or '<='", TEMPLATE),
        ("Job -> B =^= x <= 75%", VALUE, TEMPLATE),
        ("Job -> B = ^<=50K <= 75%", VALUE, TEMPLATE),
        ('Job -> B = ^"x" <= 75%', VALUE, TEMPLATE),
        ("Job -> B = ^‘x’ <= 75%", VALUE, TEMPLATE),
        ("Job -> B = ^'x <= 75%", VALUE, TEMPLATE),
        ("Job -> B = Not ^filed <= 75%", f"'<='{QUOTE}", TEMPLATE),
        ("Job -> B = it^'s <= 75%", f"'<='{QUOTE}", TEMPLATE),
        ("Job -> B = 75%^", f"'<='{QUOTE}{NO_LIMIT}", TEMPLATE),
        ("Job -> Odd ^Name here = x <= 5%", f"'=', 'IN' or '<='{one_name('Odd Name here')}", TEMPLATE),
        ("k ^on Sex", f"'>='{NO_LIMIT}", K),
        ("t ^of Disease on Sex", f"'<='{NO_LIMIT}", T),
        ("entropy l ^of Disease on Sex", f"'>='{NO_LIMIT}", L),
        ("^l of Disease on Sex", "'distinct' or 'entropy'", L),
        ("Job -> B IN ^x <= 75%", "'('", TEMPLATE),
        ("Job -> B IN (^) <= 75%", VALUE, TEMPLATE),
        ("Job -> B IN (x, ^) <= 75%", VALUE, TEMPLATE),
        ("Job -> B IN (not ^filed) <= 75%", f"')' or ','{QUOTE}", TEMPLATE),
        ("Job -> B IN (x) ^75%", "'<='", TEMPLATE),
        ("Job -> B <= ^many", "a fraction or a percentage", TEMPLATE),
        ("Job -> B <= ^3/0", "a fraction or a percentage", TEMPLATE),
        ("Job -> B <= 12^,5%", "the end", TEMPLATE),
        ("Job -> B <= 75% ^;", "the end", TEMPLATE),
        ("Job -> B <= 7^e-1", "the end", TEMPLATE),
        ("k ^<= 4 on Sex", "'>='", K),
        ("k >= ^2.5 on Sex", "a whole number", K),
        ("k >= ^-4 on Sex", "a whole number", K),
        ("k >= 4 ^Sex", "'on'", K),
        ("k >= 4 ^once", "'on'", K),
        ("k >= 4 on ^", NAME, K),
        ("k >= 4 on Sex ^Job", f"',' or the end{one_name('Sex Job')}", K),
        ("^l >= 3 of Disease on Sex", "'distinct' or 'entropy'", L),
        ("distinct l ^<= 3 of Disease on Sex", "'>='", L),
        ("distinct l >= ^x of Disease on Sex", "a number", L),
        ("distinct l >= 3 ^on Sex", "'of'", L),
        ("entropy l >= 3 of Disease ^Sex", f"'on'{one_name('Disease Sex')}", L),
        ("t ^>= 0.2 of Disease on Sex", "'<='", T),
        ("t <= 0.2 ^Disease on Sex", "'of'", T),
        ("t <= 0.2 of Disease on Sex^; DROP TABLE x", "',' or the end", T),
        ("t <= 0.2 of icd ^code by dates year on Sex", f"'on'{one_name('icd code')}", T),
        ("t <= 0.2 of icd by chapter ^on Sex", "'level' and its number, such as level 1", LEVEL),
        ("t <= 0.2 of icd by dates ^day on Sex", "'month', 'quarter', 'year' or 'decade'", LEVEL),
        ("t <= 0.2 of icd by prefixes ^0 on Sex", SIZE, LEVEL),
        ("t <= 0.2 of icd by ranges ^2.5 on Sex", SIZE, LEVEL),
        ("t <= 0.2 of icd by prefixes 1^, 3 on Sex", "'on'", LEVEL),
    ],
)
def test_syntax_error_points_at_the_place_and_shows_an_example(
    marked: str, expected: str, example: str
) -> None:
    before, after = marked.split("^")
    text = (before + after).rstrip()
    with pytest.raises(RequirementSyntaxError) as caught:
        parse(f" {before}{after}  ")
    caret = " " * min(len(before), len(text)) + "^"
    assert str(caught.value) == f"Expected {expected}.\n  {text}\n  {caret}\nExample: {example}"


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("Job, Country -> B", "'=', 'IN' or '<='"),
        ("Job -> B = x", "'<='"),
        ("Job -> B IN (x, 'y z')", "'<='"),
        ("k on Sex, Job", "'>='"),
        ("k on on, k", "'>='"),
        ("distinct l of D on Sex", "'>='"),
        ("entropy l of D on Sex", "'>='"),
        ("t of of on t", "'<='"),
        ("average risk on Sex", "'<='"),
        ("beta of D on Sex", "'<='"),
        ("delta of D on Sex", "'<='"),
        ("recursive l = 2 of D on Sex", "'c'"),
        ("k-map on Sex in census", "'>='"),
        ("presence on Sex in census", "a share, '<=' or '>='"),
    ],
)
def test_an_audit_reads_and_prints_requirements_without_a_limit(text: str, limit: str) -> None:
    measure = parse_measure(text)
    assert isinstance(measure, Measure)
    assert str(measure) == text
    with pytest.raises(RequirementSyntaxError, match=f"Expected {limit}.*; only ppdm audit"):
        parse(text)


def test_the_enhanced_kind_is_nothing_without_its_limit() -> None:
    with pytest.raises(RequirementSyntaxError, match=r"Expected '<='[\s\S]*enhanced beta <= 1.5 of"):
        parse_measure("enhanced beta of Disease on Sex")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("average risk <= 0 on Sex", InvalidOption, "outside"),
        ("average risk <= 101% on Sex", InvalidOption, "outside"),
        ("beta <= -1 of D on Sex", InvalidOption, "below 0"),
        (f"beta <= 1{'0' * 30} of D on Sex", InvalidOption, "too large"),
        (f"enhanced beta <= 1{'0' * 30} of D on Sex", InvalidOption, "too large"),
        ("beta <= 1 of Sex on Sex", ColumnRoleError, "sensitive"),
        ("delta <= -1 of D on Sex", InvalidOption, "below 0"),
        (f"delta <= 1{'0' * 30} of D on Sex", InvalidOption, "too large"),
        ("delta <= 1 of Sex on Sex", ColumnRoleError, "sensitive"),
        ("recursive c = 0, l = 2 of D on Sex", InvalidOption, "not above 0"),
        (f"recursive c = 1{'0' * 30}, l = 2 of D on Sex", InvalidOption, "too large"),
        ("recursive c = 3, l = 1 of D on Sex", InvalidOption, "asks for nothing"),
        (f"recursive c = 3, l = 1{'0' * 30} of D on Sex", InvalidOption, "too large"),
        ("recursive c = 3, l = 2 of Sex on Sex", ColumnRoleError, "sensitive"),
        ("k-map >= 0 on Sex in p", InvalidOption, "below 1"),
        (f"k-map >= 1{'0' * 31} on Sex in p", InvalidOption, "large enough"),
        ("k-map >= 5 on Sex", RequirementSyntaxError, "'in' and the table of the population"),
        ("k-map >= 5 on Sex in p(n", RequirementSyntaxError, r"Expected '\)'"),
        ("k-map >= 5 on Sex in a.b.c.d", RequirementSyntaxError, "or the end"),
        ("k-map >= 5 on Sex, Sex in p", ColumnRoleError, "twice"),
        ("presence 50% to 1% on Sex in p", InvalidOption, "not a range"),
        ("presence 0 to 0 on Sex in p", InvalidOption, "not a range"),
        ("presence 1% to 101% on Sex in p", InvalidOption, "not a range"),
        ("presence 5% on Sex in p", RequirementSyntaxError, "Expected 'to'"),
        ("Job -> B <= 75", InvalidOption, r"threshold 75 on 'B' is outside \(0, 1\]\. Give a fraction"),
        ("Job -> B <= 0%", InvalidOption, r"threshold 0 on 'B' is outside \(0, 1\]"),
        ("Job -> B <= 150%", InvalidOption, r"threshold 1\.5 on 'B' is outside"),
        ("Job -> B <= -0.5", InvalidOption, r"threshold -0\.5 on 'B' is outside"),
        ("k >= 0 on A", InvalidOption, "k = 0 is below 1. Give a whole number such as k >= 4."),
        ("entropy l >= 0.5 of B on A", InvalidOption, "l = 0.5 is below 1. Give a number such as l >= 3."),
        ("distinct l >= 2.5 of B on A", InvalidOption, "is not a whole number. .* or ask for entropy l."),
        ("t <= 120% of B on A", InvalidOption, r"t = 1.2 is outside \[0, 1\]"),
        ("t <= -1 of B on A", InvalidOption, r"t = -1 is outside \[0, 1\]"),
        ("A, B -> A <= 5%", ColumnRoleError, "^Column 'A' is sensitive and groups the records too, in: "),
        ("t <= 1 of B on A, B", ColumnRoleError, "^Column 'B' is sensitive"),
        ("distinct l >= 2 of A on A", ColumnRoleError, "^Column 'A' is sensitive"),
        ("A, C, A -> B <= 5%", ColumnRoleError, "^Column 'A' is named twice, in: .* Name each column once"),
        ('k >= 2 on A, "A"', ColumnRoleError, "^Column 'A' is named twice"),
        ("t <= 1 of B on A, A", ColumnRoleError, "^Column 'A' is named twice"),
        ("distinct l >= 2 of B on A, A", ColumnRoleError, "^Column 'A' is named twice"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, error: type[PpdmError], words: str) -> None:
    with pytest.raises(error, match=words):
        parse(text)


def test_l_without_its_kind_and_a_limit_counts_distinct_values() -> None:
    assert str(parse_measure("l of D on Sex")) == "distinct l of D on Sex"


@pytest.mark.parametrize("example", [TEMPLATE, K, L, T, LEVEL])
def test_examples_of_errors_are_correct(example: str) -> None:
    assert str(parse(example)) == example


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("5-anonymity on a", K),
        ("k-anonymity 5 on a", K),
        ("l >= 2 of d on a", L),
        ("2-diversity of d on a", L),
        ("l-diversity >= 2 of d on a", L),
        ("0.2-closeness of d on a", T),
        ("beta-likeness 1 of d on a", "beta <= 1.5 of Disease on Sex, Job"),
        ("delta-disclosure 1 of d on a", "delta <= 1 of Disease on Sex, Job"),
        ("delta presence 1% on a in p", "presence 1% to 50% on Sex, Job in population"),
        ("risk 5% on a", "average risk <= 5% on Sex, Job"),
        ("k map 5 on a in p", "k-map >= 5 on Sex, Job in population"),
        ("anonymity on a -> b", TEMPLATE),
        ("Job on a", TEMPLATE),
    ],
)
def test_the_example_is_of_what_was_attempted(text: str, example: str) -> None:
    with pytest.raises(RequirementSyntaxError) as caught:
        parse(text)
    assert str(caught.value).endswith(f"\nExample: {example}")
    assert str(parse(example)) == example


def caret_line(text: str) -> list[str]:
    with pytest.raises(RequirementSyntaxError) as caught:
        parse(text)
    return str(caught.value).splitlines()[1:3]


def test_caret_is_right_after_tabs_and_lines() -> None:
    assert caret_line("\tJob\n\tCountry -> B <= 5%") == ["  Job  Country -> B <= 5%", "       ^"]


def test_caret_is_right_after_wide_and_combining_signs() -> None:
    assert caret_line("職業 B -> C <= 5%") == ["  職業 B -> C <= 5%", "       ^"]
    assert caret_line("e\u0301 B -> C <= 5%") == ["  e\u0301 B -> C <= 5%", "    ^"]


def test_control_signs_never_reach_the_terminal() -> None:
    assert caret_line('"\x1b[31m\x9b" B <= 5%') == ['  " [31m " B <= 5%', "           ^"]


def test_numbers_of_absurd_length_are_a_syntax_error() -> None:
    assert caret_line(f"k >= {'9' * 5000} on A")[1] == "       ^"
    assert caret_line(f"A -> B <= .{'9' * 5000}")[1] == "            ^"


def test_a_list_of_names_that_is_none_is_refused() -> None:
    with pytest.raises(RequirementSyntaxError) as caught:
        parse_names('A "B"')
    assert str(caught.value).startswith("Expected ',' or the end.\n  A \"B\"\n    ^\nExample: Job,")


def test_requirements_made_by_hand_are_checked_as_well() -> None:
    with pytest.raises(InvalidOption, match=r"outside \(0, 1\]"):
        Template(("A",), "B", None, Fraction(2))
    with pytest.raises(InvalidOption, match="names no column to group records by"):
        Template((), "B", None, HALF)
    with pytest.raises(InvalidOption, match="protects no value"):
        Template(("A",), "B", (), HALF)
    with pytest.raises(InvalidOption, match="names no column to group records by"):
        KAnonymity(2, ())


@pytest.mark.parametrize("wrong", [None, 4, b"k >= 4 on A", ["k >= 4 on A"]])
def test_what_is_no_text_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidOption, match="A requirement is a text, not .* Write it as 'Job, Country -> "):
        parse(wrong)  # type: ignore[arg-type]


def test_what_is_no_list_of_texts_is_refused() -> None:
    with pytest.raises(InvalidOption, match="Requirements are a list of texts, not an int"):
        parse_all(4)  # type: ignore[arg-type]


# --- names as the table spells them

COLUMNS = ["Job", "Country", "Bankruptcy", "odd name"]


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("job, COUNTRY -> bankruptcy = x <= 75%", "Job, Country -> Bankruptcy = x <= 75%"),
        ('k >= 4 on "ODD name"', 'k >= 4 on "odd name"'),
        ("entropy l >= 2 of bankruptcy on job", "entropy l >= 2 of Bankruptcy on Job"),
        ("t <= 0.2 of bankruptcy on job", "t <= 0.2 of Bankruptcy on Job"),
    ],
)
def test_names_are_spelled_as_in_the_table(text: str, resolved: str) -> None:
    assert str(resolve(parse(text), COLUMNS, table="bank")) == resolved


@pytest.mark.parametrize("text", ["Jop -> Bankruptcy <= 5%", "Country -> Jop <= 5%", "k >= 2 on Jop"])
def test_unknown_column_is_refused_with_the_nearest_first(text: str) -> None:
    with pytest.raises(UnknownColumn) as caught:
        resolve(parse(text), COLUMNS, table="bank")
    assert str(caught.value).startswith("Table bank has no column 'Jop'. Its columns are: Job, ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Job, job -> Bankruptcy <= 5%", "named twice"),
        ("k >= 2 on Job, JOB", "named twice"),
        ("Job -> JOB <= 5%", "sensitive and groups the records too"),
        ("t <= 1 of job on Job", "sensitive and groups the records too"),
        ("distinct l >= 2 of JOB on job", "sensitive and groups the records too"),
    ],
)
def test_column_in_two_places_in_other_spelling_is_refused(text: str, words: str) -> None:
    with pytest.raises(ColumnRoleError, match=f"Column 'Job' is {words}"):
        resolve(parse(text), COLUMNS, table="bank")


# --- comparing


def redundant_pairs(*texts: str) -> list[tuple[str, str]]:
    return [(str(one.redundant), str(one.by)) for one in redundancies(parse_all(texts))]


@pytest.mark.parametrize(
    ("texts", "pairs"),
    [
        (["A -> B = x <= 75%", "A, C -> B = x <= 50%"], [(0, 1)]),
        (["A, C -> B = x <= 50%", "A -> B = x <= 50%"], [(1, 0)]),
        (["A -> B = x <= 75%", "A -> B = x <= 50%"], [(0, 1)]),
        (["A, C -> B = x <= 75%", "A -> B = x <= 50%"], []),
        (["A -> B = x <= 40%", "A, C -> B = x <= 50%"], []),
        (["A -> B = x <= 75%", "A, C -> B = y <= 50%", "A, C -> D = x <= 50%"], []),
        (["A, C -> B = x <= 50%", "C, A -> B = x <= 1/2"], [(1, 0)]),
        (["A -> B = x <= 50%", "A -> B <= 50%"], [(0, 1)]),
        (["A -> B <= 50%", "A -> B IN (x, y) <= 1%"], []),
        (["A -> B = x <= 50%", "A -> B IN (x, y) <= 50%"], [(0, 1)]),
        (["A -> B IN (x, y) <= 50%", "A -> B = x <= 10%"], []),
        (["A -> B IN (x, y) <= 50%", "A, C -> B = x <= 10%", "A, C -> B = y <= 10%"], [(0, 1), (0, 2)]),
        (["A -> B = NULL <= 50%", "A -> B = 'NULL' <= 10%"], []),
        (["A -> B = x <= 75%", "A, C -> B = x <= 60%", "A, C, D -> B = x <= 50%"], [(0, 2), (1, 2)]),
        (["k >= 2 on A", "k >= 2 on A", "t <= 1 of B on A"], []),
    ],
)
def test_lemma_31_finds_redundant_templates(texts: list[str], pairs: list[tuple[int, int]]) -> None:
    printed = [str(parse(text)) for text in texts]
    assert redundant_pairs(*texts) == [(printed[one], printed[by]) for one, by in pairs]


# --- properties

HOSTILE = [
    *("", "k", "t", "l", "on", "of", "in", "by", "IN", "distinct", "entropy", "null", "NULL", "NUL"),
    *("->", "→", "<=", "≤", "x<", "x<=y", "a=b", "a b", "a.b", "a,b", "(", "75%", "0", "-"),
    *('a"b', '"', "it's", "''", "‘x’", "; DROP TABLE x; --", "\n", "a\tb", "\xa0", "\u200b"),
    *("Größe", "職業", "e\u0301"),
]
names = st.sampled_from(HOSTILE) | st.text(max_size=6)
values = st.none() | names
shares = st.fractions(0, 1, max_denominator=1000).filter(bool) | st.decimals(
    "0.001", "1", places=6, allow_nan=False
).map(Fraction)


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    sensitive, *grouping = draw(st.lists(names, min_size=2, max_size=4, unique=True))
    columns = tuple(grouping)
    protected = draw(st.none() | st.lists(values, min_size=1, max_size=4).map(tuple))
    whole = draw(st.integers(1, 10**20))
    level = draw(
        st.none() | st.sampled_from([Level("prefixes", 3), Level("dates", "year"), Level("ranges", 10)])
    )
    forms: list[Requirement] = [
        Template(columns, sensitive, protected, draw(shares)),
        KAnonymity(whole, columns),
        LDiversity("distinct", Fraction(whole), sensitive, columns, level=level),
        LDiversity("entropy", 1 + draw(shares), sensitive, columns, level=level),
        TCloseness(draw(shares), sensitive, columns, level=level),
    ]
    return draw(st.sampled_from(forms))


@given(requirements())
@settings(deadline=None, max_examples=300)
def test_what_is_printed_reads_back_the_same(requirement: Requirement) -> None:
    assert parse(str(requirement)) == requirement


@given(st.lists(names, min_size=1, max_size=4))
@settings(deadline=None)
def test_printed_names_read_back_the_same(wanted: list[str]) -> None:
    assert parse_names(", ".join(map(quote_name, wanted))) == tuple(wanted)


@given(st.text("kltonfi AB,->=<≤()'\"%./15;\n", max_size=30) | st.text(max_size=12))
@settings(deadline=None, max_examples=300)
def test_any_text_is_read_or_refused_with_an_error_of_ours(text: str) -> None:
    try:
        requirement = parse(text)
    except (RequirementSyntaxError, ColumnRoleError, InvalidOption):
        return
    assert parse(str(requirement)) == requirement


@st.composite
def template_sets(draw: st.DrawFn) -> list[Template]:
    one = st.builds(
        Template,
        st.lists(st.sampled_from("ABC"), min_size=1, max_size=3, unique=True).map(tuple),
        st.just("S"),
        st.none() | st.lists(st.sampled_from(["x", "y", None]), min_size=1, max_size=2).map(tuple),
        st.sampled_from([Fraction(1, 4), HALF, THREE_QUARTERS]),
    )
    return draw(st.lists(one, max_size=6))


def is_implied(one: Template, others: Sequence[Template]) -> bool:
    """Whether others limit every protected value, by spelling out what each limits on which records."""
    limits = {
        (channel, value): other.threshold
        for other in sorted(others, key=lambda other: -other.threshold)
        for value in (("x", "y", None, "any other") if other.values is None else other.values)
        for channel in product(*((column, "") if column in other.channel else ("",) for column in "ABC"))
    }
    own = tuple(column if column in one.channel else "" for column in "ABC")
    return all(
        limits.get((own, value), Fraction(2)) <= one.threshold
        for value in (("x", "y", None, "any other") if one.values is None else one.values)
    )


@given(template_sets())
@settings(deadline=None, max_examples=200)
def test_redundant_templates_may_all_be_left_out_and_no_other(templates: list[Template]) -> None:
    found = redundancies(templates)
    gone = {id(entry.redundant): entry.redundant for entry in found}
    kept = [one for one in templates if id(one) not in gone]
    for one in gone.values():
        assert is_implied(one, [entry.by for entry in found if entry.redundant is one])
    assert all(any(entry.by is one for one in kept) for entry in found)
    assert not any(is_implied(one, kept[:i] + kept[i + 1 :]) for i, one in enumerate(kept))
