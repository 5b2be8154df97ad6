"""The documentation site: every page has its place, what is written for code hosts becomes what the
site reads, and the check finds faults.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import docs_site as site
import pytest

import honestone

REPO = Path(__file__).resolve().parents[2]


def test_every_page_has_a_place_in_the_navigation() -> None:
    """No page can be found by search alone, but for decisions, which their list leads to."""
    named = set(re.findall(r"[\w/-]+\.md", (REPO / "mkdocs.yml").read_text(encoding="utf-8")))
    pages = {path.relative_to(REPO / "docs").as_posix() for path in (REPO / "docs").rglob("*.md")}
    pages = {page for page in pages if not page.startswith("decisions/0")}
    made = {page for name, page in site.PROJECT.items() if (REPO / name).is_file()}
    assert named == pages | made


def test_thirty_questions_have_a_page_that_exists() -> None:
    """The list of questions is as long as it has to be, without a question twice."""
    asked = site.questions((REPO / "docs/questions.md").read_text(encoding="utf-8"))
    assert len({question.words for question in asked}) == len(asked) >= 30
    assert all(question.pages for question in asked)
    assert [
        page for one in asked for page in one.pages if not (REPO / "docs" / page).is_file()
    ] == []


def test_blocks_get_titles_and_links_lead_to_pages_of_the_site() -> None:
    """A file's name is its block's title; a root file is a page in `project/`; blocks keep every
    character.
    """
    text = "See [that](../README.md#a), [b](../suites.md), [c](#d).\n\n```yaml a/b.yaml\nx: '[k](../README.md)'\n```\n```console silent\n$ true\n```\n"
    assert site.for_site(text, "reference/x.md") == (
        "See [that](../../README.md#a), [b](../suites.md), [c](#d).\n\n".replace(
            "../../README.md", "../README.md"
        )
        + "```yaml title=\"a/b.yaml\"\nx: '[k](../README.md)'\n```\n```console\n$ true\n```\n"
    )
    assert site.for_site("[a](../README.md#b)", "x.md") == "[a](project/readme.md#b)"
    assert site.for_site("[a](../../SECURITY.md)", "ko/x.md") == "[a](../project/security.md)"
    assert (
        site.for_site("[a](docs/guide.md#b) [c](LICENSE)", "project/readme.md")
        == "[a](../guide.md#b) [c](licence.md)"
    )


def test_a_fence_inside_a_longer_fence_is_content() -> None:
    """What a block shows is not changed, other fences included."""
    text = "````markdown README.md\n```sh\n[a](../x.md)\n```\n````\n"
    assert site.for_site(text, "x.md") == text.replace(
        "markdown README.md", 'markdown title="README.md"'
    )


def test_marked_blocks_become_tabs() -> None:
    """Each bold line between the marks opens a tab with what follows it."""
    text = "a\n\n<!-- tabs -->\n**One**\n\n```sh\ntrue\n```\n\n**Two**\n\nb\n\n<!-- end tabs -->\n\nc\n"
    assert (
        site.with_tabs(text)
        == 'a\n\n=== "One"\n\n    ```sh\n    true\n    ```\n\n=== "Two"\n\n    b\n\nc\n'
    )


@pytest.mark.parametrize(
    ("link", "broken"),
    [
        ("b.html", 0),
        ("b.html#here", 0),
        ("#top", 0),
        ("https://example.org/x", 0),
        ("c.html", 1),
        ("b.html#gone", 1),
        ("#gone", 1),
    ],
)
def test_a_link_to_nothing_is_found(tmp_path: Path, link: str, broken: int) -> None:
    """Files and anchors are looked at, other machines are not."""
    (tmp_path / "a.html").write_text(f'<h1 id="top">A</h1><a href="{link}">x</a>')
    (tmp_path / "b.html").write_text('<h2 id="here">B</h2>')
    assert len(site.broken_links(tmp_path)) == broken


def test_versions_are_published_next_to_each_other(tmp_path: Path) -> None:
    """The newest comes first and is where the first page leads; publishing one again replaces it
    and no other.
    """
    built, to = tmp_path / "site", tmp_path / "public"
    built.mkdir()
    for version in ("0.9.0", "0.10.0rc1", "0.10.0", "0.2.0"):
        (built / "index.html").write_text(version)
        site.publish(to, version, built)
    (built / "index.html").write_text("again")
    versions = ["0.10.0", "0.10.0rc1", "0.9.0", "0.2.0"]
    assert site.publish(to, "0.9.0", built) == versions
    rows = json.loads((to / "versions.json").read_text())
    assert [(row["version"], row["aliases"]) for row in rows] == [
        (version, ["latest"] if version == "0.10.0" else []) for version in versions
    ]
    assert "url=0.10.0/index.html" in (to / "index.html").read_text()
    assert [(to / one / "index.html").read_text() for one in versions] == [
        "0.10.0",
        "0.10.0rc1",
        "again",
        "0.2.0",
    ]
    with pytest.raises(ValueError, match="not a version"):
        site.publish(to, "../elsewhere", built)


def test_the_version_of_the_site_is_the_program_s() -> None:
    """It is read from the source, because the builder's environment does not have the program."""
    assert site.version_of_program() == honestone.__version__


def test_tabs_show_the_three_ways_of_use() -> None:
    """Where command, Python and CI all exist, the page shows them as tabs, in that order."""
    for page in ("index.md", "suites.md", "skills.md"):
        (tabs,) = re.findall(
            r"(?ms)^<!-- tabs -->\n(.*?)^<!-- end tabs -->$",
            (REPO / "docs" / page).read_text("utf-8"),
        )
        assert re.findall(r"(?m)^\*\*(.+)\*\*$", tabs) == ["Command", "Python", "CI"], page


def test_old_addresses_lead_to_pages(tmp_path: Path) -> None:
    """Each page that moved is found at its old address; a table that names no page is refused."""
    for page in (REPO / "docs").rglob("*.md"):
        place = tmp_path / page.relative_to(REPO / "docs").with_suffix(".html")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("a page", encoding="utf-8")
    old = site.redirect(tmp_path)
    assert "telemetry" in old and len(old) > 60
    assert "url=reference/telemetry.html" in (tmp_path / "telemetry.html").read_text()
    assert "url=0001-" not in (tmp_path / "decisions/0012-one-place-retries.html").read_text()
    assert site.redirect(tmp_path) == old
    (tmp_path / "telemetry.html").write_text("a page again")
    with pytest.raises(ValueError, match="telemetry has not moved"):
        site.redirect(tmp_path)
    (tmp_path / "reference/telemetry.html").unlink()
    with pytest.raises(ValueError, match="is not a page of the site"):
        site.redirect(tmp_path)
