"""Every kind of page with names, texts and numbers that are hard to lay out, on a phone and on a
desk: nothing is cut off, overlaps, is squeezed or leads out of the page. `layout.js` says what.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from by_path import load

HERE = Path(__file__).parent
chromium = load("honestone_test_chromium", HERE / "chromium.py")
awkward_store = load("honestone_test_awkward_store", HERE / "awkward_store.py")
pytestmark = pytest.mark.skipif(
    chromium.PROGRAM is None, reason="chromium is not here: make test-pages installs it"
)
FAULTS = (HERE / "layout.js").read_text("utf-8")
OPENED = "document.querySelectorAll('details').forEach(e => { e.open = true })"
IS_UNDER_WAY = "!!document.querySelector('[data-hs=live]') && document.querySelectorAll('[data-case]').length > 3"
SIZES = ((400, True), (1280, False))


class Shown:
    """The store, a server of it and a browser."""

    def __init__(self, folder: Path, profile: Path) -> None:
        self.browser = chromium.Chromium(profile)
        self.store = awkward_store.Awkward(folder)
        self.server = subprocess.Popen(
            [awkward_store.HONESTONE, "view", "--json", "--no-open", "--port", "0"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.server.stdout is not None
        self.said = json.loads(self.server.stdout.readline())

    def open(self, path: str, **how: Any) -> Any:
        base, token = self.said["url"].split("/?")[0], self.said["token"]
        self.browser.open(f"{base}{path}{'&' if '?' in path else '?'}token={token}", **how)
        return self.browser

    def faults(self, path: str, wide: int, dark: bool) -> list[Any]:
        browser = self.open(path, wide=wide, dark=dark)
        browser.run(OPENED)
        found: list[Any] = browser.run(FAULTS)
        return found[:10]

    def close(self) -> None:
        self.server.kill()
        self.server.wait()
        self.browser.close()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    made = Shown(tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.mark.parametrize(("wide", "dark"), SIZES)
def test_no_served_page_is_cut_overlaps_or_is_squeezed(shown: Shown, wide: int, dark: bool) -> None:
    addresses = shown.store.addresses
    assert len(addresses) >= 17
    found = {name: shown.faults(path, wide, dark) for name, path in addresses.items()}
    assert not any(found.values()), {name: faults for name, faults in found.items() if faults}


@pytest.mark.parametrize(("wide", "dark"), SIZES)
def test_no_page_in_a_file_is_cut_overlaps_or_is_squeezed(
    shown: Shown, tmp_path: Path, wide: int, dark: bool
) -> None:
    """`show --format html`, which has its own tables and opens cases in place."""
    for name in ("run", "sure", "suite", "against", "columns", "loop"):
        page = subprocess.run(
            [awkward_store.HONESTONE, "show", shown.store.runs[name], "--format", "html"],
            cwd=shown.store.folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        (tmp_path / "page.html").write_text(page, "utf-8")
        shown.browser.open((tmp_path / "page.html").as_uri(), wide=wide, dark=dark)
        shown.browser.run(OPENED)
        shown.browser.run(
            "Array.from(document.querySelectorAll('a.open')).slice(0, 3).forEach(a => a.click())"
        )
        assert shown.browser.run(FAULTS) == [], name


@pytest.mark.parametrize(("wide", "dark"), SIZES)
def test_no_page_of_a_run_that_is_under_way_is_cut_or_overlaps(
    shown: Shown, wide: int, dark: bool
) -> None:
    """With cases that are done, and a judge that failed on them."""
    running = shown.store.start_live()
    try:
        shown.browser.until(lambda: shown.open("/run/last", wide=wide, dark=dark).run(IS_UNDER_WAY))
        assert shown.browser.run(FAULTS) == []
    finally:
        running.kill()
        running.wait()


def test_columns_of_a_suite_fit_a_desk(shown: Shown) -> None:
    """The name of a criterion is no reason to scroll: why a case failed is seen at once."""
    for name in ("suite", "texts"):
        page = shown.open(f"/run/{shown.store.runs[name]}", wide=1280)
        table = "document.querySelector('.scroll:has(.grid)')"
        assert page.run(f"{table}.scrollWidth <= {table}.clientWidth"), name


def test_two_versions_of_a_file_are_two_versions_of_one_file(shown: Shown) -> None:
    """The store has another file with the bytes of the original."""
    page = shown.open(shown.store.addresses["versions"])
    head = page.run("document.querySelector('main').innerText")
    assert "--- a/draft.md" in head and "+++ b/draft.md" in head and "/dev/null" not in head


def test_stages_say_when_they_were_made(shown: Shown) -> None:
    """Not when the page is looked at."""
    path = f"/run/{shown.store.runs['stages']}"
    shown_at = "Array.from(document.querySelectorAll('footer dd')).map(e => e.textContent)"
    first = shown.open(path).run(shown_at)
    folder = shown.store.folder
    listed = subprocess.run(
        [awkward_store.HONESTONE, "runs", "--json"], cwd=folder, capture_output=True, check=True
    )
    runs = {one["id"]: one for one in json.loads(listed.stdout)}
    finished = runs[shown.store.runs["stages"]]["finished"]
    assert finished[:19] + "Z" in first
