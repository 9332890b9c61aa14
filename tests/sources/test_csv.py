"""CSV files: every row or none, nothing of a value lost, and no cell in a message."""

from __future__ import annotations

import codecs
import gzip
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import ppdm_sql
from ppdm_sql import Database, InvalidOption, InvalidSource, PpdmError, PpdmWarning, UnknownColumn
from ppdm_sql.sources import given

CELL = "Leutheusser"


@pytest.fixture
def db() -> Any:
    with ppdm_sql.open() as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(db: Database, name: str, types: dict[str, str] | None = None) -> tuple[dict[str, str], list[Any]]:
    """The types of the columns that a file is read with, and the rows."""
    with warnings.catch_warnings(), given(db.engine, name, types) as found:
        table = db.engine.find(found)
        columns = {column.name: column.type for column in db.engine.columns(table)}
        return columns, db.engine.query(f"FROM {table}", step="test")


def write(folder: Path, text: str, name: str = "t.csv") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return name


def test_types_are_those_that_lose_nothing(db: Database, folder: Path) -> None:
    text = (
        "n,zip,plus,big,x,day,at,time,yes,name,empty\n"
        "1,01234,+41,12345678901234567890,1.50,2024-12-31,2024-12-31 12:30:00,08:15,true,Ann,\n"
        "-20,90210,+1,1,-.5e3,2023-02-28,2024-01-01T00:00:01.5,23:59:59,False,Bob,\n"
    )
    columns, _ = loaded(db, write(folder, text))
    assert columns == {
        "n": "BIGINT",
        "zip": "VARCHAR",
        "plus": "VARCHAR",
        "big": "VARCHAR",
        "x": "DOUBLE",
        "day": "DATE",
        "at": "TIMESTAMP",
        "time": "TIME",
        "yes": "BOOLEAN",
        "name": "VARCHAR",
        "empty": "VARCHAR",
    }


def test_missing_values_change_no_type(db: Database, folder: Path) -> None:
    text = "n,x,day,at,time,yes,name\n,,,,,,\n1,1.5,2024-12-31,2024-12-31 12:30:00,08:15,true,Ann\n,,,,,,\n"
    columns, rows = loaded(db, write(folder, text))
    assert list(columns.values()) == ["BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "TIME", "BOOLEAN", "VARCHAR"]
    assert rows[0] == rows[2] == (None,) * 7


LAST = [
    ("1.5", "12345678901234567", "VARCHAR"),  # as a number it would lose its last digit
    *(("1", code, "VARCHAR") for code in ("007", "+5", "9223372036854775808", "0x1F", "1_000", "inf", "a")),
    *(("", "5", "BIGINT"), ("", "2024-12-31", "DATE"), ("7", "0.5", "DOUBLE"), ("7", "-0.0", "DOUBLE")),
    *(("1.50", code, "VARCHAR") for code in ("00.5", "-inf", "0.1234567890123456789", "1e400", "5.")),
    *(("2024-12-31", code, "VARCHAR") for code in ("31.12.2024", "0044-03-15 (BC)", "10000-01-01")),
]
"""What all records of a column hold but the last, what that one holds, and the type that this makes."""


@pytest.mark.parametrize(("other", "last", "kind"), LAST)
def test_what_the_last_record_holds_counts(
    db: Database, folder: Path, other: str, last: str, kind: str
) -> None:
    text = "\n".join(["id,c", *[f"a,{other}"] * 3_000, f"a,{last}", ""])
    columns, found = loaded(db, write(folder, text))
    assert columns == {"id": "VARCHAR", "c": kind}
    assert str(found[-1][1]) == last
    assert len(found) == 3_001


def test_text_is_read_as_it_stands(db: Database, folder: Path) -> None:
    text = 'id,name\n1,"Ann, ""B"""\n2,"two\nlines"\n3, blank \n4,\n5,"it\'s; $1"\n\n6,5" pipe\n'
    _, rows = loaded(db, write(folder, text))
    names = ['Ann, "B"', "two\nlines", " blank ", None, "it's; $1", '5" pipe']
    assert rows == list(zip(range(1, 7), names, strict=True))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(db: Database, folder: Path, delimiter: str, ends: str) -> None:
    lines = [delimiter.join(cells) for cells in (("a", '"b,;|"', "c"), ("1", "x", "01"), ("2", "y", "02"))]
    (folder / "t.csv").write_bytes(b"\xef\xbb\xbf" + ends.join([*lines, ""]).encode())
    columns, rows = loaded(db, "t.csv")
    assert list(columns) == ["a", "b,;|", "c"]
    assert rows == [(1, "x", "01"), (2, "y", "02")]


def test_a_packed_file_is_read(db: Database, folder: Path) -> None:
    with gzip.open("t.csv.gz", "wt") as file:
        file.write("a\n01\n")
    assert loaded(db, "t.csv.gz") == ({"a": "VARCHAR"}, [("01",)])


def test_odd_names_of_columns_and_files(db: Database, folder: Path) -> None:
    name = 'it\'s [a] $1;"x".csv'
    columns, rows = loaded(db, write(folder, 'a b,"say ""x""",sélect,x\'y\n1,2,3,4\n', name))
    assert list(columns) == ["a b", 'say "x"', "sélect", "x'y"]
    assert rows == [(1, 2, 3, 4)]


MALFORMED = {
    "too few": (f"id,name,age\n1,Ann,3\n2,{CELL}\n", "Line 3 of t.csv holds 2 value(s)"),
    "too many": (f"id,name\n1,{CELL},3\n", "Line 2 of t.csv holds 3 value(s)"),
    "open quote": (f'id,name\n1,"{CELL}\n2,x\n', "Line 2 of t.csv has a quote"),
    "a title": (f"Report of {CELL}\nid,name\n1,Ann\n", "Line 2 of t.csv holds 2 value(s)"),
    "no names": (f"17,{CELL}@example.org,Basel\n18,x,y\n", "first line of t.csv looks like a record"),
    "a date for a name": ("2024-01-31,Ann\n2024-02-01,Bob\n", "looks like a record"),
    "empty": ("", "is empty"),
    "a long cell": (
        f"id,name\n1,{CELL}{'x' * 2_100_000}\n",
        "Line 2 of t.csv is longer than the 2,000,000 bytes",
    ),
    "a name that is not closed": (f'id,"{CELL}\n1,2\n', "quote that is not closed"),
}


@pytest.mark.parametrize(("text", "problem"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_file_is_an_error_without_a_cell(
    db: Database, folder: Path, text: str, problem: str
) -> None:
    with pytest.raises(InvalidSource) as caught:
        loaded(db, write(folder, text))
    assert problem in str(caught.value)
    assert CELL not in str(caught.value)
    assert caught.value.remedy
    assert caught.value.__cause__ is None
    assert db.engine.tables() == []


def test_a_late_malformed_row_is_an_error(db: Database, folder: Path) -> None:
    rows = "".join(f"{number},x\n" for number in range(100_000))
    with pytest.raises(InvalidSource, match=r"Line 100002 of t\.csv holds 3") as caught:
        loaded(db, write(folder, f"id,name\n{rows}1,{CELL},2\n"))
    assert CELL not in str(caught.value)


@pytest.mark.parametrize(
    ("encoding", "mark", "problem"),
    [
        ("latin1", b"", r"is not UTF-8\. Convert .* -f WINDOWS-1252 -t"),
        ("utf-16-le", codecs.BOM_UTF16_LE, r"t\.csv is UTF-16LE, not UTF-8\. Convert .* -f UTF-16LE -t"),
        ("utf-16-be", codecs.BOM_UTF16_BE, r"t\.csv is UTF-16BE, not UTF-8\."),
        ("utf-16-le", b"", r"t\.csv is UTF-16LE, not UTF-8\."),
        ("utf-16-be", b"", r"t\.csv is UTF-16BE, not UTF-8\."),
        ("utf-32-le", codecs.BOM_UTF32_LE, r"t\.csv is UTF-32LE, not UTF-8\."),
        ("utf-32-be", codecs.BOM_UTF32_BE, r"t\.csv is UTF-32BE, not UTF-8\."),
        ("utf-32-le", b"", r"t\.csv is UTF-32LE, not UTF-8\."),
    ],
)
def test_text_that_is_not_utf8_is_an_error(
    db: Database, folder: Path, encoding: str, mark: bytes, problem: str
) -> None:
    (folder / "t.csv").write_bytes(mark + "id,name\n1,x\n2,Müller\n".encode(encoding))
    with pytest.raises(InvalidSource, match=problem):
        loaded(db, "t.csv")
    if encoding != "latin1":  # all ASCII, which would do for UTF-8 but for the NULs
        with gzip.open("t.csv.gz", "wb") as packed:
            packed.write(mark + "id,name\n1,x\n".encode(encoding))
        with pytest.raises(InvalidSource, match=problem.replace("csv", "csv.gz")):
            loaded(db, "t.csv.gz")


def test_names_that_are_numbers_are_names_where_a_type_says_so(db: Database, folder: Path) -> None:
    name = write(folder, "id,2024\na,1.5\n")
    with pytest.raises(InvalidSource, match="looks like a record"):
        loaded(db, name)
    assert loaded(db, name, {"2024": "DOUBLE"})[1] == [("a", 1.5)]


NAMED = {
    "no name": (",job", ["The column at place 1 of t.csv has no name, so it is called column0."]),
    "one name": (
        "job,age,job",
        ["Columns of t.csv have the name of one before them, so they are renamed: place 3 'job' is 'job_1'."],
    ),
    "other cases, and a name that is taken": (
        "job,Job,JOB,job_1",
        [
            "Columns of t.csv have the name of one before them, so they are renamed: place 2 'Job' is "
            "'Job_1', place 3 'JOB' is 'JOB_2', place 4 'job_1' is 'job_1_1'."
        ],
    ),
}


@pytest.mark.parametrize(("names", "notices"), NAMED.values(), ids=NAMED)
def test_columns_are_named_as_duckdb_names_them_and_this_is_told(
    db: Database, folder: Path, names: str, notices: list[str]
) -> None:
    heard: list[str] = []

    class Listening(ppdm_sql.progress.SilentProgress):
        def notice(self, text: str) -> None:
            heard.append(text)

    db.progress = Listening()
    cells = ["cook", "1", "2", "3"][: names.count(",") + 1]
    name = write(folder, f"{names}\n{','.join(cells)}\n")
    db.audit(name, ["k on job"])
    assert heard == notices
    named = db.engine.query("SELECT column_name FROM (DESCRIBE FROM 't.csv')", step="test")
    assert list(loaded(db, name)[0]) == [column for (column,) in named]


# -- types that are said ----------------------------------------------------------------------


def test_types_are_as_said(db: Database, folder: Path) -> None:
    name = write(folder, "zip,n,seen,price\n1234,01,31.12.2024,3\n9,02,01.02.2023,4.25\n")
    said = {"ZIP": "VARCHAR", "n": "integer", "seen": "DATE %d.%m.%Y", "price": "DECIMAL(8,2)"}
    columns, rows = loaded(db, name, said)
    assert columns == {"zip": "VARCHAR", "n": "INTEGER", "seen": "DATE", "price": "DECIMAL(8,2)"}
    assert [str(value) for value in rows[1]] == ["9", "2", "2023-02-01", "4.25"]


@pytest.mark.parametrize(
    ("texts", "said", "numbers"),
    [
        ("54005,29;1.234,5;-7;,", "DOUBLE decimal comma", None),
        ("54005,29;1.234,5;-7;+1 000 000,25", "double  Decimal Comma", [54005.29, 1234.5, -7, 1000000.25]),
        ("1,234.5;1'000;.5", "DOUBLE decimal point", None),
        ("1,234.5;1'000;0.25", "DECIMAL(8,2) decimal point", [1234.5, 1000, 0.25]),
        ("1.234;12", "INTEGER decimal comma", [1234, 12]),
        ("$1,234.50;-£5", "DOUBLE decimal point", [1234.5, -5]),
        ("$x;5", "DOUBLE decimal point", None),
        ("1.234;3,7", "INTEGER decimal comma", None),
        ("12.34;1", "DOUBLE decimal comma", None),
    ],
)
def test_numbers_are_read_as_they_are_written(
    db: Database, folder: Path, texts: str, said: str, numbers: list[float] | None
) -> None:
    name = write(folder, "n|a\n" + "".join(f"{text}|x\n" for text in texts.split(";")))
    if numbers is None:
        with pytest.raises(InvalidSource, match="column 'n' of t.csv cannot be read as .* written decimal"):
            loaded(db, name, {"n": said})
    else:
        assert [float(n) for n, _ in loaded(db, name, {"n": said})[1]] == numbers


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["3,5", "1,234"], "texts; --types 'n=DOUBLE decimal comma' reads them."),
        (["1.234,5", "7"], "texts; --types 'n=DOUBLE decimal comma' reads them."),
        (["1.234,50 €", "7 €"], "texts; --types 'n=DOUBLE decimal comma' reads them."),
        (["$1,234.50", "-$5"], "texts; --types 'n=DOUBLE decimal point' reads them."),
        (["£5", "£ 7.25"], "texts; --types 'n=DOUBLE decimal point' reads them."),
        (["1,234.5", "1,234", "8"], "texts; --types 'n=DOUBLE decimal point' reads them."),
        (
            ["1,234", "800"],
            "say it with --types 'n=DOUBLE decimal comma' or --types 'n=DOUBLE decimal point'.",
        ),
        (["3,5", "1,234.5"], ""),
        (["3,5", "12.5"], ""),
        (["3,5", "none"], ""),
    ],
)
def test_a_note_says_what_reads_formatted_numbers(
    db: Database, folder: Path, texts: list[str], told: str
) -> None:
    write(folder, "n|a\n" + "".join(f"{text}|x\n" for text in texts))
    db.engine.connection.execute("CREATE TABLE t AS FROM read_csv('t.csv', all_varchar = true)")
    for source in ("t.csv", "t"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            db.audit(source, ["k on a"])
        notes = [str(one.message) for one in caught if "formatted" in str(one.message)]
        assert len(notes) == bool(told)
        assert all(note.endswith(told) for note in notes)


@pytest.mark.parametrize(
    ("types", "problem"),
    [
        (
            {"age": "BIGINT"},
            "2 values of column 'age' of t.csv cannot be read as BIGINT, the first in record 2",
        ),
        ({"age": "DATE"}, "'age=DATE %d.%m.%Y'"),
        ({"age": "DOUBLE"}, "A value of column 'age' of t.csv cannot be read as DOUBLE, in record 2"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_an_error(
    db: Database, folder: Path, types: dict[str, str], problem: str
) -> None:
    with pytest.raises(InvalidSource) as caught:
        loaded(db, write(folder, f"age\n30\n{CELL}\n3.7\n"), types)
    assert problem in str(caught.value)
    assert CELL not in str(caught.value)


@pytest.mark.parametrize(
    "types",
    [{"a": "NUMBERS"}, {"a": "DATE decimal comma"}, {"a": "INTEGER); DROP TABLE t; --"}, {"a": 3}, "a=DATE"],
)
def test_a_type_that_is_none_is_an_error(db: Database, folder: Path, types: Any) -> None:
    with pytest.raises(InvalidOption):
        loaded(db, write(folder, "a\n1\n"), types)


def test_a_type_of_a_column_that_is_not_there_is_an_error(db: Database, folder: Path) -> None:
    with pytest.raises(UnknownColumn, match="'zipp'.*Its columns are: zip"):
        loaded(db, write(folder, "zip\n1\n"), {"zipp": "VARCHAR"})


def test_a_table_is_cast_and_not_changed(db: Database) -> None:
    db.engine.connection.execute("CREATE TABLE t AS SELECT i AS zip FROM range(1000, 1004) r (i)")
    assert loaded(db, "t", {"zip": "VARCHAR"}) == ({"zip": "VARCHAR"}, [(f"{n}",) for n in range(1000, 1004)])
    assert db.engine.connection.execute("SELECT typeof(zip) FROM t LIMIT 1").fetchall() == [("BIGINT",)]
    assert loaded(db, "t", {"zip": "DOUBLE decimal comma"})[0] == {"zip": "DOUBLE"}
    db.engine.connection.execute("CREATE TABLE d AS SELECT 20240131 AS day")
    assert loaded(db, "d", {"day": "DATE %Y%m%d"})[1] == [(date(2024, 1, 31),)]
    db.engine.connection.execute("CREATE TABLE e AS SELECT DATE '2024-01-31' AS day")
    assert loaded(db, "e", {"day": "DATE %d/%m/%Y"})[1] == [(date(2024, 1, 31),)]


def test_a_file_that_is_named_twice_is_read_once(db: Database, folder: Path) -> None:
    name = write(folder, "seen,ill\n31.12.2024,a\n01.01.2024,b\n")
    said = {"seen": "DATE %d.%m.%Y"}
    found = db.audit(name, ["k on ill"], population=name, quasi_identifier="seen", types=said)
    assert found.risks


def test_nothing_stays_behind(db: Database, folder: Path) -> None:
    name = write(folder, "job\ncook\n")
    db.audit(name, ["k on job"])
    with pytest.raises(PpdmError):
        db.audit(name, ["k on jop"])
    assert db.engine.tables() == []
    assert db.engine.given == {}


def test_the_release_keeps_what_was_said_of_its_file(db: Database, folder: Path) -> None:
    name = write(folder, "zip,ill\n" + "01234,a\n90210,b\n" * 5)
    with pytest.warns(PpdmWarning, match="'zip' of t.csv is read as text"):
        release = db.suppress(name, ["k >= 2 on zip"], into="safe")
    assert [text for text in release.notices if "read as text" in text] == [release.notices[0]]
    db.engine.connection.execute(f"CREATE TABLE t AS FROM '{name}'")
    assert not db.suppress("t", ["k >= 2 on zip"], into="from_table").notices


def test_numbers_of_seventeen_digits_are_numbers_where_none_is_lost(db: Database, folder: Path) -> None:
    values = [n / 7 for n in range(1, 200)] + [0.1 + 0.2, 1e-7, 123456.78901234567]
    name = write(folder, "lab\n" + "".join(f"{value}\n" for value in values))
    (found,) = db.audit(name).profile.columns
    assert found.type == "DOUBLE"
    with given(db.engine, name) as table:
        read = db.engine.connection.execute(f'SELECT lab FROM "{table}" ORDER BY ALL').fetchall()
    assert [value for (value,) in read] == sorted(values)


@pytest.mark.parametrize(
    ("cells", "type_said"),
    [(["01", "+2"], "BIGINT"), (["00.5", "1"], "DOUBLE"), (["1" * 25, "+2"], "DOUBLE")],
)
def test_the_type_that_is_told_of_digits_kept_as_text_can_be_said(
    db: Database, folder: Path, cells: list[str], type_said: str
) -> None:
    name = write(folder, "a\n" + "".join(f"{cell}\n" for cell in cells))
    with pytest.warns(PpdmWarning, match=f"Give --types a={type_said} to read it as a number"):
        db.audit(name)
    (found,) = db.audit(name, types={"a": type_said}).profile.columns
    assert found.type == type_said
