"""Every page in a browser: nothing asked for, nothing complained about, nothing cut off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser import CHROMIUM, MISSING, Browser, browser
from report_pages import EDITIONS, METHODS, QUIET, open_examples

if TYPE_CHECKING:
    from conftest import PageFiles

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
every_page = pytest.mark.parametrize(("method", "edition"), [(m, e) for m in METHODS for e in EDITIONS])
OUTSIDE = """
[...document.querySelectorAll('svg text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.width > 0 && (box.left < 0 || box.right > window.innerWidth);
}).map(text => text.textContent)
"""
SMALL = "[...document.querySelectorAll('svg')].filter(one => one.getBoundingClientRect().width < 150).length"
CONTRAST = """
(() => {
    const part = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number).map(
        c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = text => { const [r, g, b] = part(text); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    const texts = document.querySelectorAll('p, h1, h2, h3, dt, dd, th, td, a, summary, figcaption');
    const ratios = [...texts].map(one => light(getComputedStyle(one).color)).map(
        ink => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05));
    return Math.min(...ratios);
})()
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@every_page
def test_a_page_is_quiet_and_fits_phone_and_screen(
    opened: Browser, page_files: PageFiles, method: str, edition: str
) -> None:
    for width in (390, 1400):
        opened.open(page_files[method, edition], width)
        assert opened.value("document.documentElement.scrollWidth") <= width
        assert opened.value("document.querySelectorAll('svg').length") > 0
        assert opened.value(SMALL) == 0
        assert opened.value(OUTSIDE) == []
        assert opened.requests() == []
        assert opened.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
def test_texts_have_the_contrast_that_readers_need(
    opened: Browser, page_files: PageFiles, dark: bool
) -> None:
    opened.open(page_files["TDS", "owner"], dark=dark)
    assert (opened.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") != dark
    assert opened.value(CONTRAST) >= 4.5


def test_numbers_and_branches_open_on_a_click(opened: Browser, page_files: PageFiles) -> None:
    opened.open(page_files["TDS", "owner"])
    for selector in ("details.numbers", "details.node"):
        first = f"document.querySelector('{selector}').open"
        before = opened.value(first)
        opened.click(f"{selector} > summary")
        assert opened.value(first) is (not before)


def test_a_page_prints_with_its_pictures_whole(opened: Browser, page_files: PageFiles) -> None:
    opened.open(page_files["TDS", "owner"])
    printed = opened.printed()
    assert printed.startswith(b"%PDF")
    assert len(printed) > 20_000
    assert opened.value("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
    opened.call("Emulation.setEmulatedMedia", media="print")
    assert (
        opened.value("Math.max(...[...document.querySelectorAll('figure')].map(f => f.offsetHeight))") < 900
    )


@pytest.fixture(scope="module")
def other_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of what is not a release: a comparison, and a model."""
    folder = tmp_path_factory.mktemp("others")
    staff: dict[str, Any] = {"class_column": "Class", "count_column": "n", **QUIET}
    with open_examples() as db:
        settings = {"k": [2, 4, 8, 100], "method": ["tds", "hce-tdr"], "page": folder / "compared.html"}
        db.compare("employees", quasi_identifier=["Job", "Salary"], **settings, **staff)
        db.generate_agrawal("people", function=2, rows=3000, seed=1)
        model = db.train("people", class_column="class", mode="original", into="ages", **QUIET)
        model.report(folder / "model.html")
    return {name: folder / f"{name}.html" for name in ("compared", "model")}


@pytest.mark.parametrize("name", ["compared", "model"])
def test_pages_of_comparisons_and_models_are_quiet_and_fit(
    opened: Browser, other_pages: dict[str, Path], name: str
) -> None:
    for width in (390, 1400):
        opened.open(other_pages[name], width)
        assert opened.value("document.documentElement.scrollWidth") <= width
        assert opened.value("document.querySelectorAll('svg').length") > 0
        assert opened.value(OUTSIDE) == []
        assert opened.requests() == []
        assert opened.complaints() == []
    opened.click("details.numbers > summary")
    assert opened.value("document.querySelector('details.numbers').open") is True
    assert opened.printed().startswith(b"%PDF")


def test_what_a_page_asks_for_would_be_noticed(opened: Browser, tmp_path: Path) -> None:
    file = tmp_path / "asking.html"
    file.write_text('<!DOCTYPE html><img src="missing.png"><script>console.log("said")</script>')
    opened.open(file)
    assert [url.rpartition("/")[2] for url in opened.requests()] == ["missing.png"]
    assert any("said" in text for text in opened.complaints())
