"""Two parties may each hold a file of records instead of a table."""

from __future__ import annotations

import threading
from pathlib import Path

from sides import Noted, credentials

import ppdm_sql
from ppdm_sql.integrate import Party, keygen


def test_two_parties_integrate_their_files(tmp_path: Path) -> None:
    keygen(tmp_path / "keys", ["one", "other"])
    numbers = range(60)
    mine = "".join(f"{n:02},{'fm'[n % 2]},{'yn'[n % 2]}\n" for n in numbers)
    theirs = "".join(f"{n},{'abc'[n % 3]},{'yn'[n % 2]}\n" for n in reversed(numbers))
    # without --types the keys of one side are texts, such as 07, and those of the other numbers
    (tmp_path / "one.csv").write_text("ssn,sex,class\n" + mine)
    (tmp_path / "other.csv").write_text("ssn,job,class\n" + theirs)
    listening, made = Noted(), {}

    def take_part(name: str, owned: str) -> None:
        with ppdm_sql.open(tmp_path / f"{name}.duckdb", create=True) as db:
            keys = credentials(tmp_path / "keys", name)
            party = Party(
                db, str(tmp_path / f"{name}.csv"), ["k >= 4 on sex, job"], class_column="class", key="ssn",
                owns=[owned], into="both",
                types={"ssn": "BIGINT"} if name == "one" else None,
                progress=listening if name == "one" else Noted(),
            )  # fmt: skip
            if name == "one":
                release = party.serve("127.0.0.1:0", keys, "other", timeout=30, wait=30)
            else:
                assert listening.listens.wait(30)
                release = party.join(f"127.0.0.1:{listening.port}", keys, "one", timeout=30)
            made[name] = release.relation().fetchall()
            assert release.row().source.endswith(f"{name}.csv")
            assert release.row().parameters["read"]["kind"] == "file"

    threads = [threading.Thread(target=take_part, args=pair) for pair in (("one", "sex"), ("other", "job"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert len(made["one"]) == 60
    assert made["one"] == made["other"]
