"""What is not promised is said in the words of the pages on the methods."""

from __future__ import annotations

import re

import pytest
from pages import ROOT

from ppdm_sql.report.limits import LIMITS
from ppdm_sql.report.writing import METHODS

PAGES = (
    "README.md",
    "docs/suppression.md",
    "docs/two-parties.md",
    "docs/swapping.md",
    "docs/perturbation.md",
)


def plain(text: str) -> str:
    """Words without marks, in one case."""
    return " ".join(re.sub(r"[*`|#]", " ", text).split()).lower()


@pytest.mark.parametrize("method", LIMITS)
def test_every_sentence_stands_on_a_page(method: str) -> None:
    written = plain(" ".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES))
    assert LIMITS[method]
    for point in LIMITS[method]:
        for sentence in re.split(r"(?<=[.;,]) ", " ".join(point).strip()):
            assert plain(sentence).rstrip(".;,") in written, sentence


def test_every_method_has_its_limits() -> None:
    assert LIMITS.keys() == METHODS.keys()
