"""The pages of every method in both editions, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_pages import EDITIONS, METHODS, open_examples, page, release

PageFiles = dict[tuple[str, str], Path]


@pytest.fixture(scope="session")
def told_to_owners() -> dict[str, tuple[str, ...]]:
    """What is said of the release of each method, beside its rows; filled with the pages."""
    return {}


@pytest.fixture(scope="session")
def page_files(
    tmp_path_factory: pytest.TempPathFactory, told_to_owners: dict[str, tuple[str, ...]]
) -> PageFiles:
    folder, files = tmp_path_factory.mktemp("pages"), {}
    with open_examples() as db:
        for method in METHODS:
            made = release(db, method)
            told_to_owners[method] = (made.row().source, *made.notices)
            for edition in EDITIONS:
                public = edition == "public"
                page(made, folder, public=public)
                files[method, edition] = folder / f"{made.name}{'-public' if public else ''}.html"
    return files


@pytest.fixture(scope="session")
def pages(page_files: PageFiles) -> dict[tuple[str, str], str]:
    return {which: file.read_text(encoding="utf-8") for which, file in page_files.items()}
