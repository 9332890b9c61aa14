"""How close each requirement came to its limit: what the curve shows is what an audit of each state says."""

from __future__ import annotations

import re
from pathlib import Path

from report_pages import open_examples, page, release


def test_the_curve_shows_what_an_audit_of_each_state_says(tmp_path: Path) -> None:
    with open_examples() as db:
        made = release(db, "TDS")
        text = page(made, tmp_path)
        reached = []
        for step in range(len(made.steps()) + 1):
            db.engine.connection.execute(f"CREATE OR REPLACE VIEW state AS FROM safe_tds_at({step})")
            found = db.audit("state", made.row().requirements, count_column="n").findings
            reached.append([int(one.reached) for one in found])
    figures = re.findall(
        r"<figcaption>Smallest class after each step</figcaption>.*?</figure>", text, re.DOTALL
    )
    assert len(figures) == 2
    for place, figure in enumerate(figures):
        cells = [int(cell) for cell in re.findall(r'<td class="right">(\d+)</td>', figure)]
        assert cells == [n for step, row in enumerate(reached) for n in (step, row[place])]
