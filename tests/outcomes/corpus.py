"""The cases: a name, what is typed or called, and the SQL that makes the tables.

A command leaves out the database and, where a release is published, ``--into r`` and ``--score paper``: the steps
of these cases are the papers'.
"""

# ruff: noqa: E501 (a case is a line)

from __future__ import annotations

from itertools import cycle
from typing import Any

import duckdb
from record import Case

from ppdm_sql import Taxonomy, examples

PICK = """
CREATE TEMP MACRO pick(i, what, n) AS CAST(md5_number_lower(i || what) % n AS INTEGER);
CREATE TEMP MACRO low(i, what, n) AS CAST(sqrt(pick(i, what, n * n)) AS INTEGER);
"""
"""Numbers up to n, by chance but always the same: evenly below n, or higher ones more often, and n too."""


def people(records: int, more: str = "") -> str:
    """Make ``people`` with ages, zip codes, jobs, diseases, some of them NULL, and a class that depends on these."""
    return f"""{PICK}
    CREATE TABLE people AS SELECT
        i AS id, if(pick(i, 'sex', 5) < 2, 'F', 'M') AS sex, 90 - 3 * low(i, 'age', 24) AS age,
        '02' || lpad(CAST(low(i, 'zip', 30) * 7 AS VARCHAR), 3, '0') AS zip,
        ['baker', 'clerk', 'cook', 'judge', 'nurse', 'pilot', 'tailor'][1 + low(i, 'job', 7)] AS job,
        DATE '1950-01-01' + pick(i, 'birth', 20000) AS birth, pick(i, 'income', 90000) / 7 AS income,
        ['asthma', 'cold', 'flu', 'hiv', 'none'][1 + low(i, 'ill', 5)] AS disease,
        pick(i, 'stay', 20) AS days, pick(i, 'n', 3) + 1 AS n,
        if(age + 6 * low(i, 'job', 7) + low(i, 'zip', 30) + pick(i, 'noise', 50) > 120, 'yes', 'no') AS class
    FROM range({records}) AS r(i);{more}"""


PEOPLE = people(600)
PAPERS = (
    "".join(examples.creation(name) + ";" for name in examples.TABLES)
    + """
    COPY (SELECT * FROM (VALUES ('Janitor;Non-Technical;Blue-collar;ANY_Job'), ('Mover;Non-Technical;Blue-collar;ANY_Job'),
        ('Carpenter;Technical;Blue-collar;ANY_Job'), ('Technician;Technical;Blue-collar;ANY_Job'),
        ('Manager;White-collar;ANY_Job'), ('Accountant;Professional;White-collar;ANY_Job'),
        ('Lawyer;Professional;White-collar;ANY_Job'))) TO 'jobs.csv' (HEADER false, QUOTE '', ESCAPE '', DELIMITER '|');"""
)
TRADES = """COPY (SELECT * FROM (VALUES ('baker;food;hands;any'), ('cook;food;hands;any'), ('tailor;hands;any'),
    ('clerk;office;any'), ('judge;office;any'), ('nurse;care;any'), ('pilot;any')))
    TO 'trades.csv' (HEADER false, QUOTE '', ESCAPE '', DELIMITER '|');"""
WORKERS = PEOPLE + TRADES
CENSUS = people(
    400,
    """CREATE TABLE census AS SELECT sex, age, job, id, 2 AS weight FROM people UNION ALL
    SELECT ['F', 'M', 'X'][1 + pick(i, 's', 3)], 18 + 3 * pick(i, 'a', 25), ['cook', 'judge', 'nurse', 'spy'][1 + pick(i, 'j', 4)],
    1000 + i, 1 FROM range(1500) AS r(i);""",
)
VISITS = people(
    300,
    """CREATE TABLE visits AS SELECT p.* EXCLUDE (disease, days), CAST(id % 7 AS VARCHAR) AS clinic, k AS visit,
    ['asthma', 'cold', 'flu', 'hiv', 'none'][1 + low(id * 10 + k, 'ill', 5)] AS disease,
    ['a', 'b', 'c'][1 + pick(id * 10 + k, 'w', 3)] AS ward FROM people AS p, range(5) AS r(k) WHERE k <= id % 4;
    CREATE TABLE holes AS SELECT * REPLACE (CASE WHEN id > 3 THEN id END AS id) FROM visits;""",
)
MANY = f"""{PICK} CREATE TABLE many AS SELECT lpad(CAST(low(i, 'zip', 3000) AS VARCHAR), 5, '0') AS zip, pick(i, 'n', 100000) AS number,
    TIMESTAMP '2020-01-01' + to_minutes(pick(i, 't', 900000)) AS moment, pick(i, 'd', 1000) / 8 AS part,
    ['x', 'y', 'z'][1 + pick(i, 's', 3)] AS s,
    if(low(i, 'zip', 3000) + pick(i, 'noise', 2000) > 3000, 'yes', 'no') AS class FROM range(3000) AS r(i);"""
ADULT = f"""{PICK} CREATE TABLE adult AS SELECT row_number() OVER () AS id, * FROM read_csv('adult_csv');
    CREATE TABLE sample AS FROM adult WHERE pick(id, 's', 9) = 0;"""


def typed_column(kind: str, value: str) -> str:
    """Make ``t`` with a column of a type, some values NULL, and a class that depends on it."""
    return f"""{PICK} SET TimeZone = 'UTC'; CREATE TABLE t AS SELECT if(pick(i, 'null', 15) = 0, NULL, CAST({value} AS {kind})) AS v,
    ['a', 'b'][1 + pick(i, 's', 2)] AS s, if(low(i, 'v', 20) + pick(i, 'c', 8) > 14, 'yes', 'no') AS class
    FROM range(200) AS r(i);"""


def table(rows: str, names: str = "a, b, class") -> str:
    return f"CREATE TABLE t AS FROM ({rows}) AS t({names});"


TYPES = {
    "BOOLEAN": "low(i, 'v', 20) > 12",
    "UHUGEINT": "CAST(low(i, 'v', 20) AS UHUGEINT) * 100000000000000000000000000000",
    "DECIMAL(9,3)": "low(i, 'v', 20) * 1.125 - 3",
    "DOUBLE": "['NaN', 'Infinity', '-Infinity', '-0.0', '0.5', '0.1', '1e300', '2', '3', '7'][1 + low(i, 'v', 20) // 2]",
    "TIMESTAMP_NS": "TIMESTAMP '2020-02-28' + to_days(low(i, 'v', 20))",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2020-03-28 22:00:00+00' + to_hours(low(i, 'v', 20))",
    "INTERVAL": "to_days(low(i, 'v', 20) * 10)",
    "BLOB": "'v' || low(i, 'v', 20)",
    "ENUM('small', 'medium', 'large', 'huge')": "['small', 'medium', 'large'][1 + low(i, 'v', 20) // 7]",
    "INTEGER[]": "[low(i, 'v', 20) // 4, NULL]",
    "STRUCT(a INTEGER, b VARCHAR)": "{'a': low(i, 'v', 20) // 4, 'b': 'x'}",
}
HOSTILE = {
    "quotes": """it's "odd" ''""",
    "long": "n" * 200,
    "like ours": "c0",
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def hostile(kind: str, name: str) -> Case:
    """Let a name be that of a table, of columns and of values."""
    column, value = quoted(name), "'" + name.replace("'", "''") + "'"
    given = f"""{PICK} CREATE TABLE {quoted(name + " t")} AS SELECT {value} || pick(i, 'v', 5) AS {column}, pick(i, 'w', 30) AS
    {quoted(name + " 2")}, if(pick(i, 'w', 30) > pick(i, 'c', 30), {value}, 'no') AS {quoted(name + " class")} FROM range(150) AS r(i);"""
    require = [f"k >= 6 on {column}, {quoted(name + ' 2')}"]
    asked = {"class_column": name + " class", "into": "r", "interval_columns": True, "score": "paper"}
    return Case(kind, (lambda db: len(db.generalize(quoted(name + " t"), require, **asked).steps()),), given)


def cases(given: str, *named: tuple[Any, ...]) -> list[Case]:
    """Give cases on the same tables: a name, then what is typed or called."""
    return [Case(name, lines, given) for name, *lines in ((n[0], *n[1:]) for n in named)]


K = "--require 'k >= 5 on sex, age, zip'"
QI = "on sex, age, job"
MODELS = {
    "k": f"'k >= 5 {QI}'",
    "template": "'sex, age, job -> disease = hiv <= 30%'",
    "templates of some values": "'sex, age, job -> disease IN (hiv, flu) <= 40%'",
    "templates of all values": "'sex, age, job -> disease <= 70%'",
    "alpha, k": f"'k >= 5 {QI}' --require 'sex, age, job -> disease = none <= 60%'",
    "distinct l": f"'distinct l >= 3 of disease {QI}'",
    "entropy l": f"'entropy l >= 2.5 of disease {QI}'",
    "recursive c, l": f"'recursive c = 3, l = 2 of disease {QI}'",
    "t, equal distances": f"'t <= 0.25 of disease {QI}'",
    "t, ordered distances": f"'t <= 0.15 of days {QI}'",
    "beta": f"'beta <= 1.5 of disease {QI}'",
    "enhanced beta": f"'enhanced beta <= 1.5 of disease {QI}'",
    "delta": f"'delta <= 2 of disease {QI}'",
    "average risk": f"'average risk <= 5% {QI}'",
    "k-map": f"'k-map >= 12 {QI} in census'",
    "presence": f"'presence 1% to 60% {QI} in census(weight)'",
    "presence, upper limit": f"'presence <= 60% {QI} in census(weight)'",
    "k, l and t": f"'k >= 4 {QI}' --require 'distinct l >= 2 of disease {QI}' --require 't <= 0.4 of disease {QI}'",
}
METHODS = {
    "generalize": "generalize people --class class --taxonomy job=trades.csv",
    "hce-tdr": "generalize people --class class --method hce-tdr --condition days --taxonomy job=trades.csv",
    "without a class": "generalize people",
    "suppress": "suppress people --class class",
    "records left out": "generalize people --class class --suppress-records 3%",
    "persons": "generalize people --class class --person id",
}
GROUPS: dict[str, list[Case]] = {
    "papers": [
        *cases(
            PAPERS,
            ("customers, two templates", "suppress customers --class Rating --count n --require 'Job, Country -> Bankruptcy = "
             "Discharged <= 50%' --require 'Job, Child -> Bankruptcy = Discharged <= 50%'"),
            ("customers, template and k", "suppress customers --count n --class Rating "
             "--require 'Job, Country -> Bankruptcy = Discharged <= 75%' --require 'k >= 4 on Job, Country'"),
            ("customers, every value", "suppress customers --count n --class Rating --require 'Job, Country -> Bankruptcy <= 80%'"),
            ("customers, some values", "suppress customers --count n --class Rating --keep Child "
             "--require 'Job, Country -> Bankruptcy IN (Discharged, Never) <= 70%'"),
            ("customers, no class", "suppress customers --count n --require 'k >= 4 on Job, Country'"),
            ("employees, TDS", "generalize employees --class Class --count n --require 'k >= 4 on Sex, Job' "
             "--require 'k >= 4 on Job, Salary' --taxonomy Job=jobs.csv --range Salary=1,99"),
            ("employees, TDS as printed", "generalize employees --class Class --count n --require 'k >= 4 on Sex, Job' "
             "--require 'k >= 4 on Job, Salary' --taxonomy Job=jobs.csv --range Salary=1,99 --boundary best"),
            ("employees, HCE-TDR", "generalize employees --class Class --count n --require 'k >= 4 on Job, Salary' "
             "--taxonomy Job=jobs.csv --method hce-tdr --condition Sex"),
            ("employees, no class", "generalize employees --count n --require 'k >= 4 on Job, Salary' --taxonomy Job=jobs.csv"),
            ("employees, few labels", "generalize employees --count n --class Class --require 'k >= 4 on Job, Salary' "
             "--taxonomy Job=jobs.csv --limit Job=2 --weight Salary=2"),
            ("employees, ranges", "generalize employees --count n --class Class --require 'k >= 4 on Job, Salary' "
             "--taxonomy Job=jobs.csv --taxonomy 'Salary=ranges 5,10,20'"),
            ("employees, tails", "generalize employees --count n --require 'k >= 4 on Salary' --top Salary=50 --bottom Salary=30"),
            ("employees, tails of ranges", "generalize employees --count n --require 'k >= 4 on Salary' "
             "--taxonomy 'Salary=ranges 5,10' --top Salary=43 --bottom Salary=36"),
            ("policies, l", "suppress policies --require 'distinct l >= 2 of Amount on Age, Gender, Location'"),
            ("policies, swapped", "swap policies --confidential Amount --by Age,Gender,Location --proportion 0.5 --keep No --seed 1"),
        ),
    ],
    "models": [
        Case(f"{model}: {method}", (f"{METHODS[method]} --require {require}",), CENSUS + TRADES)
        for (model, require), method in zip(MODELS.items(), cycle([*METHODS][1:]))
    ],
    "sets": cases(
        WORKERS,
        *(
            (f"{name}: {method}", f"{METHODS[method]} {required}")
            for (name, required), method in zip({
                "two": "--require 'k >= 5 on sex, age' --require 'k >= 8 on age, job'",
                "three": "--require 'k >= 4 on sex, zip' --require 'k >= 6 on zip, job' --require 'k >= 10 on sex, age, job'",
                "nested": "--require 'k >= 10 on age' --require 'k >= 3 on age, job, sex'",
                "apart": "--require 'k >= 5 on sex, job' --require 'k >= 5 on age, zip'",
                "models": "--require 'k >= 5 on sex, zip' --require 'zip, job -> disease = hiv <= 40%' "
                          "--require 't <= 0.3 of disease on age, job'",
            }.items(), ("generalize", "generalize", "suppress", "generalize", "generalize"), strict=True)
        ),
        ("models: a few steps, records left out", f"{METHODS['records left out']} --max-steps 3 --require 'k >= 5 on sex, zip' "
         "--require 't <= 0.3 of disease on age, job'"),
        ("same columns, other order", "generalize people --class class --method hce-tdr --require 'k >= 5 on sex, age' --require 'distinct l >= 2 of disease on age, sex'"),
        ("different sets, hce-tdr", "generalize people --class class --method hce-tdr --require 'k >= 5 on sex, age' --require 'k >= 5 on age, job'"),
    ),
    "persons": cases(
        VISITS,
        ("k", "generalize visits --class ward --person id --require 'k >= 5 on sex, age, zip'"),
        ("k, suppress", "suppress visits --class ward --person id --require 'k >= 5 on sex, zip, job'"),
        ("template", "generalize visits --class ward --person id --require 'sex, job, age -> disease = hiv <= 40%'"),
        ("t", "suppress visits --class ward --person id --require 't <= 0.3 of disease on sex, job'"),
        ("two columns", "generalize visits --class class --person clinic,id --require 'k >= 5 on sex, age, job'"),
        ("pseudonym", "generalize visits --class ward --person id --identifier id=pseudonym --require 'k >= 5 on sex, age, zip'"),
        ("left out", "generalize visits --class ward --person id --suppress-records 5% --require 'k >= 5 on sex, age, zip'"),
        ("k-map", "generalize visits --class ward --person id --require 'k-map >= 5 on sex, age in people'"),
        ("presence", "generalize visits --class ward --person id --require 'presence <= 90% on sex, age in people'"),
        ("nobody's rows", "generalize holes --class ward --person id --require 'k >= 5 on sex, age'"),
        ("with a count", "generalize visits --class ward --person id --count n --require 'k >= 5 on sex, age'"),
        ("audit", "audit visits --person id --by sex,age --sensitive disease"),
    ),
    "left_out": cases(
        WORKERS,
        *((f"{share} of {method}", f"{METHODS[method]} --suppress-records {share} --require 'k >= 5 on sex, age, job'")
          for method, share in (("suppress", "0.5%"), ("without a class", "0.1"))),
        ("counted", "generalize people --class class --count n --suppress-records 2% --require 'k >= 5 on sex, age, zip'"),
        ("none needed", "suppress people --class class --suppress-records 5% --require 'k >= 2 on sex'"),
        ("at most three steps", "generalize people --class class --suppress-records 5% --max-steps 3 --require 'k >= 5 on age, zip'"),
        ("no share", f"generalize people --class class --suppress-records 100% {K}"),
    ),
    "types": [
        Case(f"{kind}: {method}", (f"{method} t --class class --require 'k >= 8 on v, s'",), typed_column(kind, value))
        for kind, value in TYPES.items()
        for method in ("generalize", "suppress")
        if method == ("suppress" if kind in ("INTERVAL", "BLOB", "INTEGER[]") else "generalize") or kind == "DOUBLE"
    ],
    "intervals": cases(
        WORKERS,
        *((name, f"generalize people --class class --require 'k >= 5 on age, birth, income' {options}") for name, options in {
            "range too small": "--range age=30,50",
            "best boundary": "--boundary best",
            "least widths": "--min-width age=10 --min-width 'birth=6 months' --min-width income=2500.5",
            "a width in days": "--min-width birth=400 --interval-columns",
            "both, as columns": "--top age=70 --bottom age=40 --interval-columns --range income=0,13000",
            "top below bottom": "--top age=30 --bottom age=40",
            "everybody in a tail": "--top age=10",
            "rules": "--taxonomy 'age=ranges 5,10,40' --taxonomy 'birth=dates month,year' --taxonomy 'income=ranges 100,1000'",
            "limits": "--limit age=4 --limit birth=3 --limit income=5",
            "hce-tdr": "--method hce-tdr --condition sex --min-width age=3 --top income=9000",
        }.items()),
        ("no class", "generalize people --require 'k >= 5 on age, birth' --min-width age=4 --weight birth=2.5 --top age=85"),
        ("tails of persons", "generalize people --person id --class class --require 'k >= 5 on age, sex' --top age=75 --bottom age=25"),
    ),
    "options": cases(
        WORKERS,
        *((name, f"generalize people --class class --require 'k >= 5 on sex, age, zip, job' {options}") for name, options in {
            "keep": "--keep disease,days --identifier id --suppress zip",
            "keep a masked column": "--keep zip",
            "identifier, a pseudonym": "--identifier id=pseudonym --keep days",
            "no steps": "--max-steps 0",
            "symbol": "--symbol '(any)'",
            "symbol in the table": "--symbol clerk",
            "types": "--types age=VARCHAR,zip=INTEGER",
            "count": "--count n",
            "taxonomies": "--taxonomy zip=prefixes --taxonomy job=trades.csv",
            "taxonomy, some prefixes": "--taxonomy 'zip=prefixes 3,4' --limit zip=6",
            "weights": "--weight zip=10 --weight age=0.1",
            "weight of nothing": "--weight zip=0",
            "limit of an absent column": "--limit nothing=4",
            "export": "--export r.csv --quiet",
            "Spark alone": "--to somewhere",
            "condition without hce-tdr": "--condition days",
        }.items()),
        *((f"suppress: {name}", f"suppress people --class class --require 'k >= 5 on sex, age, job' {options}") for name, options in {
            "keep": "--keep disease --identifier id",
            "limit": "--limit age=6 --limit job=3",
        }.items()),
        ("absent value", "suppress people --class class --require 'sex, job -> disease = cancer <= 20%'"),
        ("absent value accepted", "suppress people --class class --require 'sex, job -> disease = cancer <= 20%' --allow-absent"),
        ("values shown", "generalize people --class class --require 'k >= 5 on zip' --taxonomy zip=trades.csv --show-values"),
        ("values not shown", "generalize people --class class --require 'k >= 5 on zip' --taxonomy zip=trades.csv"),
        ("table of a taxonomy", "taxonomy add x.duckdb trades trades.csv", "taxonomy show x.duckdb trades",
         "generalize people --class class --require 'k >= 5 on job, sex' --taxonomy job=trades"),
    ),
    "names": [hostile(*named) for named in HOSTILE.items()],
    "degenerate": [
        Case(f"{name}: {method}", (f"{method} t --class class --require 'k >= {k} on a, b'",), table(rows))
        for name, k, rows in (
            ("no rows", 2, "SELECT 1, 'x', 'y' WHERE false"),
            ("one row", 1, "SELECT 1, 'x', 'y'"),
            ("one value", 3, "SELECT 1, 'x', if(i < 3, 'y', 'n') FROM range(9) AS r(i)"),
            ("unique", 2, "SELECT i, 'v' || i, if(i < 3, 'y', 'n') FROM range(20) AS r(i)"),
            ("all missing", 2, "SELECT CAST(NULL AS INTEGER), CAST(NULL AS VARCHAR), 'y' FROM range(5)"),
            ("one class", 2, "SELECT i, 'v' || i % 3, 'y' FROM range(20) AS r(i)"),
            ("nothing to hide", 2, "SELECT i % 2, 'v' || i % 2, if(i < 9, 'y', 'n') FROM range(20) AS r(i)"),
            ("too few", 21, "SELECT i % 2, 'v' || i % 2, 'y' FROM range(20) AS r(i)"),
            ("ties", 5, "SELECT i // 50, 'v' || i % 10, if(i % 2 = 0, 'y', 'n') FROM range(500) AS r(i)"),
        )
        for method in ("generalize", "suppress")
        if method == "generalize" or name in ("no rows", "ties")
    ],
    "errors": cases(
        WORKERS,
        *((name, f"generalize people {words}") for name, words in {
            "unknown column": "--require 'k >= 5 on sex, agge'",
            "unknown class": f"--class clas {K}",
            "no requirement": "--class class",
            "no number": "--require 'k >= five on sex'",
            "no sense": "--require 'anonymous on sex'",
            "k of nothing": "--require 'k >= 0 on sex'",
            "a share above one": "--require 't <= 3 of disease on sex'",
            "sensitive and known": "--require 'distinct l >= 2 of sex on sex, age'",
            "class and known": "--class sex --require 'k >= 5 on sex, age'",
            "impossible k": "--require 'k >= 601 on sex'",
            "impossible l": "--class class --require 'distinct l >= 7 of disease on sex'",
            "impossible template": "--class class --require 'sex -> disease = hiv <= 5%'",
            "impossible average risk": "--require 'average risk <= 0.1% on sex'",
            "impossible k-map": "--require 'k-map >= 5000 on sex in people'",
            "no population": "--require 'k-map >= 5 on sex in nobody'",
            "population without the column": "--require 'k-map >= 5 on sex, job in people' --require 'k-map >= 2 on sex, days in people(m)'",
            "too many sensitive values": "--require 't <= 0.2 of id on sex'",
            "no such method": f"--method best {K}",
            "no such option": f"--qwerty {K}",
            "no such taxonomy": f"--taxonomy zip=nothing.csv {K}",
            "taxonomy of another column": f"--taxonomy days=ranges {K}",
            "width of a text": f"--min-width zip=3 {K}",
            "width below nothing": f"--min-width age=-3 {K}",
            "tail of a text": f"--top zip=3 {K}",
            "hce-tdr without a class": f"--method hce-tdr {K}",
            "identifier that is known": f"--identifier sex {K}",
            "the same twice": "--require 'k >= 5 on sex, Sex'",
            "name of a table": f"--into people {K}",
        }.items()),
        ("unknown table", "generalize peoples --require 'k >= 5 on sex'"),
        ("no database", "generalize absent.duckdb people --require 'k >= 5 on sex'"),
        ("name of a release", "suppress people --require 'k >= 5 on sex'", "suppress people --require 'k >= 5 on sex'"),
        ("unknown release", "show none", "verify none", "steps none", "apply none people --into q", "evaluate none"),
        ("impossible, suppress", "suppress people --class class --require 'beta <= 0.01 of disease on sex' --keep sex"),
    ),
    "many_values": cases(
        MANY,
        ("texts", "suppress many --class class --require 'k >= 3 on zip'"),
        ("texts, template", "suppress many --class class --require 'zip -> s = x <= 60%'"),
        ("texts, left out", "suppress many --class class --require 'k >= 2 on zip, s' --suppress-records 5% --max-steps 20"),
        ("prefixes, left out", "generalize many --class class --require 'k >= 5 on zip, s' --taxonomy zip=prefixes --suppress-records 2%"),
        ("prefixes, hce-tdr", "generalize many --class class --method hce-tdr --require 'k >= 5 on zip, s' --taxonomy 'zip=prefixes 2,3'"),
        ("numbers", "generalize many --class class --require 'k >= 20 on number, s'"),
        ("moments", "generalize many --class class --require 'k >= 20 on moment' --min-width moment=3"),
        ("all", "generalize many --class class --require 'k >= 20 on zip, number, moment, part, s' --taxonomy 'zip=prefixes 2'"),
    ),
    "sources": cases(
        WORKERS + """CREATE VIEW young AS SELECT * FROM people WHERE age < 60; CREATE SCHEMA deep; CREATE TABLE deep.t AS FROM people;
        COPY people TO 'people.csv'; COPY people TO 'people.parquet'; COPY people TO 'parts' (FORMAT parquet, PARTITION_BY (sex));
        ATTACH 'other.duckdb' AS o; CREATE TABLE o.people AS FROM people; CREATE TABLE o.census AS SELECT * FROM people, range(3);""",
        ("view", f"generalize young --class class {K}"),
        ("schema", f"suppress deep.t --class class {K}"),
        ("CSV", f"generalize people.csv --class class {K}"),
        ("CSV, types", f"generalize people.csv --class class --types zip=VARCHAR {K}"),
        ("Parquet", f"suppress people.parquet --class class {K}"),
        ("Parquet files", f"generalize 'parts/*/*.parquet' --class class {K}"),
        ("attached", f"generalize o.people --attach 'other.duckdb AS o' --class class {K}"),
        ("attached population", "generalize people --attach 'other.duckdb AS o' --class class --require 'k-map >= 9 on sex, age in o.census'",
         "verify r", "verify r --attach 'other.duckdb AS o'"),
        ("no file kept", f"generalize :memory: people.csv --class class {K} --export out.csv --quiet",
         "sql :memory: \"SELECT sex, age, count(*) AS n FROM 'out.csv' GROUP BY ALL ORDER BY ALL\""),
        ("no such file", f"generalize nothing.csv --class class {K}"),
    ),
    "afterwards": cases(
        people(500, "CREATE TABLE new AS SELECT * REPLACE (age + 3 AS age, if(id % 9 = 0, 'X', sex) AS sex) FROM people WHERE id % 3 = 0;"),
        ("apply", f"generalize people --class class {K}", "apply r new --into q",
         'sql "SELECT sex, age, zip, count(*) AS n FROM q GROUP BY ALL ORDER BY ALL"'),
        ("apply, left out", f"suppress people --class class --suppress-records 4% {K}", "apply r new --into q", 'sql "SELECT count(*) AS n FROM q"'),
        ("apply, tails", f"generalize people --class class --top age=70 --bottom age=30 --interval-columns {K}", "apply r new --into q",
         'sql "SELECT age, age_lower, age_upper, count(*) AS n FROM q GROUP BY ALL ORDER BY ALL"'),
        ("verify a changed table", f"generalize people --class class {K}",
         "sql --write \"UPDATE ppdm.release_r SET sex = 'F' WHERE age LIKE '[8%'\"", "verify r"),
        ("evaluate", f"generalize people --class class {K}", "evaluate r --folds 2 --seeds 1"),
        ("compare", "compare people --class class --qi sex,age,zip --k 3,10,501 --method tds,hce-tdr,pda --score paper"),
        ("compare, left out", "compare people --qi sex,age --k 5 --suppress-records 0,2% --score paper "
         "--require 'distinct l >= 2 of disease on sex, age'"),
        ("compare, the best", "compare people --class class --qi sex,age --k 5,8 --keep-best loss --into r --score paper"),
        ("steps and states", f"generalize people --class class {K}", "show r --step 2 --partitions", "releases",
         'sql "SELECT count(*) AS n, count(DISTINCT age) AS ages FROM r_at(3)"'),
        ("drop", f"suppress people {K}", "drop r", "releases"),
    ),
    "audit": cases(
        CENSUS,
        ("first look", "audit people"),
        ("exposure", "audit people --by sex,age --sensitive disease,days"),
        ("thresholds", "audit people --require 'sex, job -> disease = hiv <= 30%' --threshold 50% --threshold 90% --groups 3"),
        ("classes", f"audit people {K} --quasi-identifier sex,job --groups 2"),
        ("population", "audit people --require 'k >= 2 on sex, job' --population census"),
        ("counted", f"audit people --count n {K} --require 'average risk <= 5% on sex'"),
        ("confidential", "audit people --confidential disease --by sex,age"),
        ("every model", "audit people " + " ".join(f"--require {require}" for require in MODELS.values())),
        ("no limits", "audit people --require 'k on sex' --require 'distinct l of disease on sex' --require 't of days on sex'"),
        ("unknown column", "audit people --by sexx"),
    ),
    "sql_calls": cases(
        WORKERS,
        *((name, *(f'sql --write "{statement}"' for statement in statements)) for name, *statements in (
            ("suppress", "CALL ppdm_suppress('people', into := 'r', require := 'k >= 5 on sex, job', class := 'class', score := 'paper')",
             "CALL ppdm_verify('r')", "FROM ppdm_steps('r')"),
            ("generalize", "CALL ppdm_generalize('people', into := 'r', require := ['k >= 5 on sex, age'], class := 'class', "
             "range := {'age': [0, 120]}, min_width := {'age': 5}, suppress_records := '1%', score := 'paper')",
             "SELECT ppdm_generalize_value('r', 'age', 44) AS shown", "SELECT count(*) AS n FROM r_at(2)"),
            ("audit", "FROM ppdm_audit('people', by := ['sex', 'age'], sensitive := 'disease')"),
            ("compare", "SELECT * EXCLUDE (seconds) FROM ppdm_compare('people', qi := ['sex', 'age'], k := [4, 8], class := 'class', score := 'paper')"),
            ("error", "CALL ppdm_generalize('people', into := 'r', require := 'k >= 5 on sexx')"),
        )),
        ("macros", "install", *(f'sql "FROM ppdm_{macro} ORDER BY ALL"' for macro in (
            "equivalence_classes('people', ['sex', 'job'])", "closeness('people', ['sex'], 'days')", "risk('people', ['sex', 'age'])",
            "diversity('people', ['job'], 'disease')", "confidence('people', ['sex'], 'disease')"))),
    ),
    "python": cases(
        WORKERS,
        ("generalize", lambda db: [list(step.children) for step in db.generalize(
            "people", ["k >= 5 on job, age"], class_column="class", into="r",
            taxonomies={"job": Taxonomy.from_csv("trades.csv")}, ranges={"age": (0, 120)}, weights={"job": 2}, score="paper").steps()]),
        ("nested taxonomy", lambda db: db.generalize(
            "people", ["k >= 5 on job, age"], into="r", limits={"age": 5}, min_widths={"age": 2.5}, tops={"age": 88},
            taxonomies={"job": {"*": {"a": ["baker", "clerk", "cook"], "b": ["judge", "nurse"], "c": ["pilot", "tailor"]}}}).verify().holds),
        ("frame", lambda db: db.suppress(duckdb.sql("SELECT i % 7 AS a, i % 3 AS b FROM range(90) AS r(i)").to_arrow_table(),
                                         ["k >= 5 on a, b"], into="r").relation().columns),
        ("not met", lambda db: db.suppress("people", ["k >= 700 on sex"], into="r")),
        ("audit", lambda db: db.audit("people", ["k >= 2 on sex, age", "t <= 0.1 of disease on job"]).holds),
    ),
    "adult": cases(
        ADULT,
        ("eight columns", "generalize adult --class income --require 'k >= 10 on age, workclass, education, marital_status, occupation, "
         "race, sex, native_country'"),
        ("templates", "suppress adult --class income --require 'education, occupation, sex -> marital_status IN (Divorced, Widowed) <= 30%'"),
        ("left out", "generalize sample --class income --suppress-records 1% --require 'k >= 5 on age, education, sex, race, occupation'"),
    ),
}  # fmt: skip
