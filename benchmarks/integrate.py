"""TDS2P against TDS by one party: two processes over loopback with mutual TLS, and one on the joined table.

Adult's 14 attributes are dealt out, seven to each party, in turns; both tables hold a key and the class, in
orders of their own. The parties run at the same time, with one thread each; the run over the joined table, in
which the key is one more column, has as many threads as both together. Wall time is what each call takes, the
connection of the parties included, the start of the processes not; all have run once before. Bytes are those
of all messages of both.

    python benchmarks/integrate.py                     45 thousand records, k = 10, 50, 100; 1 million, k = 10
    python benchmarks/integrate.py --records 45222 --k 10 --repeat 9
    python benchmarks/integrate.py --score-bits 8
    python benchmarks/integrate.py --records 45222 --against ../released --record
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from figures import Cell
from generalize import EVERY, hierarchies
from harness import CLASS, expand
from rows import Cells, options_of, present

import ppdm_sql as ppdm
from ppdm_sql.integrate import Credentials, Party, keygen
from ppdm_sql.methods.two_party.messages import transcript

NAMES = ("bank", "card")
OWNED = (EVERY[0::2], EVERY[1::2])
TABLE, ALONE = "integrate", "one"
PLANS = ((45_222, (10, 50, 100)), (1_000_000, (10,)))


def prepare(folder: Path, records: int) -> None:
    """Write the joined table into one file, and each party's part into one of its own."""
    whole = folder / "whole.duckdb"
    expand(whole, records, (*EVERY, CLASS), EVERY)
    with duckdb.connect(str(whole)) as con:
        con.execute("ALTER TABLE adult ADD COLUMN ssn BIGINT")
        con.execute("UPDATE adult SET ssn = 100000000 + (rowid * 7919) % 89999999")
    for place, (name, owned) in enumerate(zip(NAMES, OWNED, strict=True)):
        with duckdb.connect(str(folder / f"{name}.duckdb")) as con:
            con.execute(f"ATTACH '{whole}' AS joined (READ_ONLY)")
            con.execute(
                f"CREATE TABLE adult AS SELECT ssn, {', '.join(owned)}, {CLASS} FROM joined.adult "
                f"ORDER BY hash(ssn, {place})"
            )
    keygen(folder, NAMES)


def party(folder: Path, place: int, k: int, bits: int | None) -> None:
    """Be one party: run once for each port that comes in, and say how it went."""
    mine, other = NAMES[place], NAMES[1 - place]
    pem = [folder / file for file in (f"{mine}.pem", f"{mine}.key", "authority.pem")]
    credentials = Credentials.read(*pem)
    con = duckdb.connect(str(folder / f"{mine}.duckdb"), config={"threads": 1})
    db = ppdm.open(con)
    asked = Party(
        db,
        "adult",
        [ppdm.KAnonymity(k, EVERY)],
        class_column=CLASS,
        key="ssn",
        owns=OWNED[place],
        into="bench",
        taxonomies=hierarchies(OWNED[place]),
        score_bits=bits,
    )
    for port in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        release = (asked.serve if place == 0 else asked.join)(f"localhost:{int(port)}", credentials, other)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        entries = transcript(db.engine, "bench")
        sent = sum(entry.bytes for entry in entries if entry.direction == "sent")
        found = {"wall": wall, "cpu": cpu, "bytes": sent, "steps": told(release)}
        release.drop()
        print(json.dumps(found), flush=True)


def told(release: ppdm.Release) -> list[list[Any]]:
    """Give the steps of a release as JSON has them."""
    return [[step.attribute, round(step.score or 0.0, 9)] for step in release.steps()]


def single(folder: Path, k: int) -> None:
    """Run TDS over the joined table, once for each line that comes in, and say how it went."""
    for _ in sys.stdin:
        con = duckdb.connect(str(folder / "whole.duckdb"), config={"threads": len(NAMES)})
        db = ppdm.open(con)
        wall, cpu = time.perf_counter(), time.process_time()
        release = db.generalize(
            "adult",
            [ppdm.KAnonymity(k, EVERY)],
            class_column=CLASS,
            into="bench",
            taxonomies=hierarchies(EVERY),
            identifiers={"ssn": "drop"},
            score="paper",
        )
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        found = {"wall": wall, "cpu": cpu, "steps": told(release)}
        release.drop()
        con.close()
        print(json.dumps(found), flush=True)


@dataclass(frozen=True)
class Turn:
    """One turn: what one party, and what each of two, took."""

    alone: Mapping[str, Any]
    parties: Sequence[Mapping[str, Any]]

    @property
    def wall(self) -> float:
        """Seconds until both parties are done."""
        return max(float(party["wall"]) for party in self.parties)

    @property
    def cpu(self) -> float:
        """Seconds of CPU time of both."""
        return sum(float(party["cpu"]) for party in self.parties)


class Processes:
    """The processes of both parties, and that of one party on the joined table.

    Args:
        folder: The data.
        k: Of the requirement.
        bits: Of the scores, or None.
    """

    def __init__(self, folder: Path, k: int, bits: int | None) -> None:
        script = str(Path(__file__).resolve())
        self.processes = [
            subprocess.Popen(
                [sys.executable, script, "--worker", place, str(folder), str(k), str(bits or "")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=folder,
            )
            for place in ("0", "1", ALONE)
        ]
        self.turns: list[Turn] = []

    def turn(self) -> None:
        """Let one party run, then both at the same time."""
        *parties, alone = self.processes
        (first,) = _told([alone], 0)
        self.turns.append(Turn(first, _told(parties, free_port())))

    def end(self) -> None:
        """Let the processes end."""
        for process in self.processes:
            process.communicate()

    def cells(self, records: int) -> Cells:
        """Give the medians of all turns but the first, which warms up."""
        turns = self.turns[1:] or self.turns
        first, second = turns[0].parties
        sent = int(first["bytes"] + second["bytes"])
        cells: dict[str, Cell] = {
            "steps": len(first["steps"]),
            "same": "yes" if first["steps"] == second["steps"] == turns[0].alone["steps"] else "no",
            "one, s": _median(turn.alone["wall"] for turn in turns),
            "two, s": _median(turn.wall for turn in turns),
            "ratio, wall": _median(turn.wall / turn.alone["wall"] for turn in turns),
            "ratio, CPU": _median(turn.cpu / turn.alone["cpu"] for turn in turns),
            "bytes": sent,
            "a record": round(sent / records, 2),
        }
        return cells


def _told(processes: Sequence[Any], word: int) -> list[Mapping[str, Any]]:
    """Let processes begin, and hear how it went."""
    for process in processes:
        print(word, file=process.stdin, flush=True)
    return [json.loads(process.stdout.readline()) for process in processes]


def _median(numbers: Iterator[float]) -> float:
    return round(statistics.median(numbers), 3)


def free_port() -> int:
    """Find a port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


def measured(options: argparse.Namespace) -> Iterator[tuple[Cells, Cells]]:
    """Give a line for each size and k."""
    plans: Sequence[tuple[int, Sequence[int]]] = PLANS
    if options.records or options.k:
        plans = [(records, options.k or (10,)) for records in options.records or (45_222,)]
    for records, demands in plans:
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), records)
            for k in demands:
                processes = Processes(Path(folder), k, options.score_bits)
                for _ in range(options.repeat + 1):
                    processes.turn()
                processes.end()
                yield {"records": records, "k": k}, processes.cells(records)


def main() -> None:
    """Print one line for each size and k."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, nargs="*")
    parser.add_argument("--k", type=int, nargs="*")
    parser.add_argument("--repeat", type=int, default=5, help="turns after a warm-up")
    parser.add_argument("--score-bits", type=int)
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = options_of(parser).parse_args()
    if options.worker:
        place, folder, k, bits = options.worker
        if place == ALONE:
            single(Path(folder), int(k))
        else:
            party(Path(folder), int(place), int(k), int(bits) if bits else None)
        return
    present(TABLE, options, measured(options))


if __name__ == "__main__":
    main()
