"""Writes ``docs/options.md``: the options of every method, as the three interfaces call them.

Run ``python -m ppdm_sql.options.reference > docs/options.md`` after a change of the options.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ppdm_sql.options.methods import OPTIONS
from ppdm_sql.options.option import Option

INTRODUCTION = """\
# The options of every method

One table a method: what the command line, the calls of `ppdm sql` and Python call an option, what its value
looks like in SQL, and what holds without it. On the command line a list of names is `A,B`; what is given by
column is `A=VALUE`, and the option is repeated. Options of the command line alone, such as `--format` and
`--sql`, are in the help of the commands. This page is written by `python -m ppdm_sql.options.reference`.
"""
PLACES = {
    "export": ("ppdm export", "ppdm_export", "Release.export"),
    "generate_agrawal": ("ppdm generate agrawal", "ppdm_generate_agrawal", "Database.generate_agrawal"),
    "show": ("ppdm show", "ppdm_show", ""),
    "steps": ("ppdm steps", "ppdm_steps", "Release.steps"),
    "verify": ("ppdm verify", "ppdm_verify", "Release.verify"),
    "drop": ("ppdm drop", "ppdm_drop", "Release.drop`, `Model.drop"),
    "integrate": ("ppdm integrate serve`, `ppdm integrate join", "", "integrate.Party"),
}
"""Command, call and Python of a method, where they are not all called as it is."""
_HEADING = "| command line | SQL | Python | default | value in SQL | example |\n|---|---|---|---|---|---|"


def page() -> str:
    """Write the whole page.

    Example:
        >>> page().splitlines()[0]
        '# The options of every method'
    """
    return INTRODUCTION + "\n".join(line for name in OPTIONS for line in _section(name)) + "\n"


def _section(name: str) -> Iterator[str]:
    places = PLACES.get(name, (f"ppdm {name}", f"ppdm_{name}", f"Database.{name}"))
    yield f"\n## {name.replace('_', ' ')}\n"
    yield ", ".join(f"`{place}`" for place in places if place) + "\n"
    if not (shown := [option for option in OPTIONS[name] if not option.hidden]):
        yield "There are no options.\n"
        return
    yield _HEADING
    yield from (_row(option, in_sql=bool(places[1])) for option in shown)
    yield ""
    yield from (f"- `{option.name}`: {option.help}" for option in shown)


def _row(option: Option, *, in_sql: bool) -> str:
    word = option.flags.replace("/", "`, `") or option.metavar
    cells = (
        f"`{word}`",
        f"`{option.argument}`" if in_sql else "",
        f"`{option.name}`",
        _default(option),
        option.form.value,
        f"`{option.example}`",
    )
    return "| " + " | ".join(cells) + " |"


def _default(option: Option) -> str:
    if option.required:
        return "must be given"
    if option.default is None or option.default == ():
        return ""
    return f"`{option.default}`" if not isinstance(option.default, bool) else str(option.default).lower()


if __name__ == "__main__":
    sys.stdout.write(page())
