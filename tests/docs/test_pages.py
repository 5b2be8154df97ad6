"""The pages stay few and short, and name no file that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from honestone.cli.commands import new_name

REPO = Path(__file__).resolve().parents[2]
PACKAGE = REPO / "src" / "honestone"
DECISIONS = sorted((REPO / "docs" / "decisions").glob("[0-9]*.md"))
GUIDES = sorted(
    page
    for page in (REPO / "docs").rglob("*.md")
    if not {"decisions", "reference", "ko"} & set(page.parts)
)
ROOTS = {place.name for folder in (REPO, PACKAGE) for place in folder.iterdir()}
MOST_DECISIONS = 45
MOST_WORDS_OF_GUIDES = 26_000
MOST_WORDS_OF_A_PAGE = 2_500
MOST_WORDS_OF_THE_README = 1_200


def words_of(page: Path) -> int:
    """How many words of prose a page has: what is in code blocks and comments does not count."""
    text = re.sub(r"(?s)```.*?```|<!--.*?-->", "", page.read_text(encoding="utf-8"))
    return len(re.findall(r"\b[\w'-]+\b", text))


def paths_named(text: str) -> set[str]:
    """What is in backticks and begins with a folder of the repository or of the package."""
    quoted = re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)(?:::?\w+)?`", text)
    return {path for path in quoted if path.split("/")[0] in ROOTS}


def test_a_path_is_recognised_where_a_page_names_one() -> None:
    """The reader of paths finds files and folders, and leaves formats such as `and/or` alone."""
    text = "See `core/loop/state.py`, `tests/docs/`, `and/or` and `engine/panel.py::ask`."
    assert paths_named(text) == {"core/loop/state.py", "tests/docs/", "engine/panel.py"}


@pytest.mark.parametrize("page", [REPO / "CONTRIBUTING.md", *DECISIONS], ids=lambda page: page.name)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    """Whoever follows a path of a page finds the file. One that moved is named by its new place."""
    named = paths_named(page.read_text(encoding="utf-8"))
    gone = sorted(
        path for path in named if not ((REPO / path).exists() or (PACKAGE / path).exists())
    )
    assert gone == []


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_every_decision_says_whether_it_is_in_force(page: Path) -> None:
    """The third line is the status: in force, or the page that replaced it."""
    lines = page.read_text(encoding="utf-8").splitlines()
    assert re.match(
        r"Status: (in force\b|replaced by \[.+\]\(\d{4}-.+\.md\))", lines[2], re.IGNORECASE
    ), f"the third line is {lines[2]!r}"


def test_decisions_stay_few() -> None:
    """A new choice on a matter that has a page becomes a section of that page."""
    assert len(DECISIONS) <= MOST_DECISIONS


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_no_guide_is_too_long_to_read(page: Path) -> None:
    """One page a task: what is longer is two tasks, or has reference matter in it."""
    assert words_of(page) <= MOST_WORDS_OF_A_PAGE


def test_the_guides_together_can_be_read() -> None:
    """All guides together are a few hours of reading."""
    assert sum(map(words_of, GUIDES)) <= MOST_WORDS_OF_GUIDES


def test_the_readme_is_for_a_first_minute() -> None:
    """The README is short, and its first screen has the picture, the commands and the demo."""
    readme = REPO / "README.md"
    assert words_of(readme) <= MOST_WORDS_OF_THE_README
    screen = readme.read_text(encoding="utf-8").splitlines()[:40]
    assert any(re.search(r"\]\(\S+\.(?:webp|svg|png)\)", line) for line in screen)
    assert sum(line.startswith("$ honestone ") for line in screen) >= 3


# Sessions that were recorded with the real agent CLIs are shown as they were.
_SESSION = re.compile(r"^(claude|codex|gemini|stop hook) +\S")


@pytest.mark.parametrize(
    "page",
    [REPO / "README.md", *GUIDES, *sorted((REPO / "docs" / "ko").glob("*.md"))],
    ids=lambda page: page.name,
)
def test_a_page_calls_commands_by_the_names_that_the_help_has(page: Path) -> None:
    """What was typed before still works, and is not what a newcomer learns."""
    lines = page.read_text(encoding="utf-8").splitlines()
    typed = [
        match[1]
        for line in lines
        if not _SESSION.match(line)
        for match in re.finditer(r"\bhonestone ([a-z]+(?: [a-z]+)?)\b", line)
    ]
    assert [(old, new) for old in typed if (new := new_name(old))] == []
