"""The pages of every method in both editions, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_pages import EDITIONS, METHODS, open_examples, page, release

PageFiles = dict[tuple[str, str], Path]


@pytest.fixture(scope="session")
def page_files(tmp_path_factory: pytest.TempPathFactory) -> PageFiles:
    folder, found = tmp_path_factory.mktemp("pages"), {}
    with open_examples() as db:
        for method in METHODS:
            made = release(db, method)
            for edition in EDITIONS:
                public = edition == "public"
                page(made, folder, public=public)
                found[method, edition] = folder / f"{made.name}{'-public' if public else ''}.html"
    return found


@pytest.fixture(scope="session")
def pages(page_files: PageFiles) -> dict[tuple[str, str], str]:
    return {which: file.read_text(encoding="utf-8") for which, file in page_files.items()}
