"""What a run says of the class that its gains are fitted to."""

from __future__ import annotations

from ppdm_sql.engine.types import Kind, kind_of, type_title
from ppdm_sql.methods.base.collapse import Dictionary

MOST_CLASSES = 100
"""Values of a class above which a notice says that they are many."""


def many_classes(dictionary: Dictionary) -> str | None:
    """Say that a class is a floating-point number, or has very many values; None where neither is so."""
    column = dictionary.column
    if dictionary.size <= MOST_CLASSES and kind_of(column.type) is not Kind.REAL:
        return None
    return (
        f"The class {column.name!r} is {type_title(column.type)} and has {dictionary.size:,} values, "
        "each a class of its own to the gains: bin it in a view, or leave --class out."
    )
