"""What pseudonyms give away: they link the records of a person, and requirements see one class at a time."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.audit.linked import smallest_linked
from ppdm_sql.engine import Engine
from ppdm_sql.engine.names import Table
from ppdm_sql.methods.top_down.information_loss import Row
from ppdm_sql.privacy import Requirement

Side = tuple[Table, Sequence[str]]
"""A table, and the columns of it that say whose record a row is."""


def linked_persons(
    engine: Engine, requirements: Sequence[Requirement], sides: tuple[Side, Side], pseudonyms: Sequence[str]
) -> tuple[list[Row], str]:
    """Measure, in source and release, the smallest group of persons whose records are alike together.

    Args:
        engine: Inside a workspace.
        requirements: Those of the release, by whose columns records are compared.
        sides: The source, and the release.
        pseudonyms: The columns of pseudonyms, which link the records of a person.

    Returns:
        The measures, and the sentence that says it.

    Cost: a GROUP BY of either side for each set of columns.
    """
    found = list[Row]()
    for names in dict.fromkeys(requirement.attributes for requirement in requirements):
        before, after = (float(smallest_linked(engine, table, names, who)) for table, who in sides)
        found.append((f"smallest group of persons by all their records: {', '.join(names)}", before, after))
    least = min(after for *_, after in found if after is not None)
    linked = " and ".join(map(repr, pseudonyms))
    return found, (
        f"The pseudonyms of {linked} link the records of a person, and requirements look at one class at "
        f"a time. By all their records together, as few as {least:.0f} person{'s' * (least != 1)} "
        "cannot be told apart."
    )
