"""What is not promised is said in the words of the pages on the methods."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from pages import ROOT

from ppdm_sql.privacy import parse_all
from ppdm_sql.report.page import templates

PAGES = (
    "README.md",
    "docs/suppression.md",
    "docs/generalization.md",
    "docs/two-parties.md",
    "docs/swapping.md",
    "docs/perturbation.md",
)


METHODS = ("PDA", "TDS", "HCE-TDR", "TDS2P", "swap", "randomize")


def limits(method: str, required: list[str]) -> list[str]:
    """The points that a page on such a release lists."""
    module: Any = templates().get_template("limits.html.jinja").module
    points = re.findall(r"<li>(.*?)</li>", module.limits(method, parse_all(required)), re.DOTALL)
    return [" ".join(unescape(re.sub(r"</?strong>", "", point)).split()) for point in points]


def plain(text: str) -> str:
    """Words without marks, in one case."""
    return " ".join(re.sub(r"[*`|#]", " ", text).split()).lower()


ASKED = {
    "a template": ["job -> ill = flu <= 50%"],
    "k": ["k >= 3 on job"],
    "l": ["distinct l >= 2 of ill on job"],
}


@pytest.mark.parametrize("method", METHODS)
def test_every_sentence_stands_on_a_page(method: str) -> None:
    text = plain(" ".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES))
    for asked in [[]] if method in ("swap", "randomize") else ASKED.values():
        points = limits(method, asked)
        assert points
        for sentence in (part for point in points for part in re.split(r"(?<=[.;,]) ", point)):
            assert plain(sentence).rstrip(".;,") in text, sentence


def test_a_template_is_named_only_where_there_is_one() -> None:
    words = {asked: str(limits("TDS", required)) for asked, required in ASKED.items()}
    assert [asked for asked, text in words.items() if "template" in text] == ["a template"]
    assert [asked for asked, text in words.items() if "k says nothing" in text] == ["k"]
