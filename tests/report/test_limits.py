"""What is not promised is said in the words of the pages on the methods."""

from __future__ import annotations

import re

import pytest
from pages import ROOT

from ppdm_sql.privacy import parse_all
from ppdm_sql.report.limits import limits
from ppdm_sql.report.writing import METHODS

PAGES = (
    "README.md",
    "docs/suppression.md",
    "docs/generalization.md",
    "docs/two-parties.md",
    "docs/swapping.md",
    "docs/perturbation.md",
)


def plain(text: str) -> str:
    """Words without marks, in one case."""
    return " ".join(re.sub(r"[*`|#]", " ", text).split()).lower()


ASKED = {
    "a template": ["job -> ill = flu <= 50%"],
    "k": ["k >= 3 on job"],
    "l": ["distinct l >= 2 of ill on job"],
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("method", METHODS)
def test_every_sentence_stands_on_a_page(method: str, asked: str) -> None:
    written = plain(" ".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES))
    found = limits(method, parse_all([] if method in ("swap", "randomize") else ASKED[asked]))
    assert found
    for point in found:
        for sentence in re.split(r"(?<=[.;,]) ", " ".join(point).strip()):
            assert plain(sentence).rstrip(".;,") in written, sentence


def test_a_template_is_named_only_where_there_is_one() -> None:
    words = {asked: str(limits("TDS", parse_all(required))) for asked, required in ASKED.items()}
    assert [asked for asked, text in words.items() if "template" in text] == ["a template"]
    assert [asked for asked, text in words.items() if "k says nothing" in text] == ["k"]
