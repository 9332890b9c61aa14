"""Records what pycanon measures on random tables and on Adult, for test_pycanon.py to compare with.

pycanon wants exact versions of what it needs, others than users of ppdm get, so it ran in an environment of
its own, once:

    python -m venv pycanon && pycanon/bin/pip install pycanon==1.3.6
    PPDM_SHARED_DATA=... pycanon/bin/python tests/audit/record_pycanon.py

NULL becomes a text for it, since it leaves rows with NULL out where the quasi-identifier is one column.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pandas as pd
from pycanon import anonymity

FILE = Path(__file__).with_name("pycanon.json")
TABLES, SEED = 80, 1
QIS = (["p"], ["p", "q"], ["p", "q", "r"])
VALUES: dict[str, list[Any]] = {
    "p": ["a", "b", "[0, 5)", None],
    "q": [0, 1, 2],
    "r": ["*", "x", None],
    "s": ["flu", "cold", "gout"],
    "number": [0, 1, 2, 3, 4, 5],
}
ADULT = [(["sex", "race"], "age"), (["sex", "race"], "education"), (["education", "sex"], "occupation")]


def measured(frame: pd.DataFrame, qi: list[str], sensitive: str) -> dict[str, Any]:
    """All that pycanon says of one sensitive column; it takes the frame's index for a position."""
    frame, of = frame.astype(object).where(frame.notna(), "a missing value"), [sensitive]
    if sensitive in ("number", "age"):
        frame[sensitive] = frame[sensitive].astype(int)
    numbers = {
        "k": anonymity.k_anonymity(frame, qi),
        "distinct l": anonymity.l_diversity(frame, qi, of),
        "entropy l": anonymity.entropy_l_diversity(frame, qi, of),
        "t": anonymity.t_closeness(frame, qi, of),
        "recursive": anonymity.recursive_c_l_diversity(frame, qi, of),
        "delta": anonymity.delta_disclosure(frame, qi, of),
        "beta": anonymity.basic_beta_likeness(frame, qi, of),
        "enhanced beta": anonymity.enhanced_beta_likeness(frame, qi, of),
    }
    return {name: json.loads(json.dumps(value, default=float)) for name, value in numbers.items()}


def main() -> None:
    draw, recorded = random.Random(SEED), []
    while len(recorded) < TABLES:
        few = {name: draw.sample(values, draw.randint(1, len(values))) for name, values in VALUES.items()}
        rows = [[draw.choice(few[name]) for name in VALUES] for _ in range(draw.randint(2, 24))]
        if draw.random() < 0.3:
            rows += [[*row[:3], s, row[4]] for row in rows for s in few["s"]]  # no class lacks a value
        frame, sensitive = pd.DataFrame(rows, columns=list(VALUES)), draw.choice(["s", "number"])
        if frame[sensitive].nunique() > 1:
            qi = draw.choice(QIS)
            recorded.append({"rows": rows, "qi": qi, "of": sensitive, **measured(frame, qi, sensitive)})
    adult = Path(os.environ["PPDM_SHARED_DATA"]) / "adult"
    frame = pd.concat([pd.read_csv(adult / f"adult_{part}.csv") for part in ("train", "test")])
    frame = frame.reset_index(drop=True)
    recorded += [{"adult": True, "qi": qi, "of": of, **measured(frame, qi, of)} for qi, of in ADULT]
    FILE.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in recorded))


if __name__ == "__main__":
    main()
