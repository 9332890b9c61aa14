"""Names as users write them."""

from __future__ import annotations

import pytest

from ppdm_sql.engine.names import Table, parse_table
from ppdm_sql.errors import InvalidOption


@pytest.mark.parametrize(
    "text",
    ["main.t --", "t -- x", "/* x */ t", "t /**/", "t;", "a.b.c.d", "t x", "$1", "t JOIN u", ""],
)
def test_what_is_more_than_a_name_is_no_table(text: str) -> None:
    with pytest.raises(InvalidOption, match="is not a table name"):
        parse_table(text)


def test_signs_of_comments_are_part_of_a_quoted_name() -> None:
    assert parse_table('main."t -- /* ; */"') == Table("t -- /* ; */", "main")
    assert parse_table("shop.main.t") == Table("t", "main", "shop")
