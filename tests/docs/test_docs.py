"""The documentation is true: its commands run, its outputs are what they print, its links lead
somewhere.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
HONESTONE = Path(sys.executable).parent / "honestone"


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("honestone_docs_tool", REPO / "tools" / "docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


docs = load_tool()
PAGES = docs.told_pages()
ALL = [
    REPO / "README.md",
    REPO / "CHANGELOG.md",
    REPO / "CONTRIBUTING.md",
    *sorted((REPO / "docs").rglob("*.md")),
]


# --------------------------------------------------------------------------------------------- what
# pages say is true


@pytest.mark.pages_run
@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_a_page_runs_and_prints_what_stands_under_it(page: str) -> None:
    """A reader who types what a page shows gets the exit codes and the output that the page shows."""
    told = docs.told(page)
    assert told.problems == []
    assert told.text.splitlines() == (REPO / page).read_text(encoding="utf-8").splitlines(), (
        "run `make docs`"
    )


@pytest.mark.parametrize("page", list(docs.GENERATED))
def test_generated_pages_are_fresh(page: str) -> None:
    """A reference page says what the program does now."""
    assert docs.GENERATED[page]() == (REPO / page).read_text(encoding="utf-8"), "run `make docs`"


def test_the_pages_that_must_be_run_are_run() -> None:
    """README, guides and the page on JSON have commands, so none of them can lose its test
    unnoticed.
    """
    wanted = {
        "README.md",
        *(
            f"docs/{name}.md"
            for name in ("guide", "judges", "ci", "rubrics", "suites", "reference/json")
        ),
    }
    assert wanted <= set(PAGES)


def test_make_demo_is_the_command_that_the_readme_shows() -> None:
    """The README shows `honestone demo` and says that `make demo` is the same in a clone."""
    recipe = re.search(r"^demo:.*\n\t(.*)", (REPO / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    assert recipe[1].endswith("/honestone demo")
    text = (REPO / "README.md").read_text(encoding="utf-8")
    assert "`make demo`" in text and "\n$ honestone demo\n" in text


def test_the_readme_shows_the_whole_loop_of_the_demo() -> None:
    """The excerpt of the demo has its verdict and a round that was rolled back."""
    text = (REPO / "README.md").read_text(encoding="utf-8")
    block = next(block for block in docs.fenced_blocks(text) if "demo" in block.words)
    assert any(line.startswith("✓ PASSED") for line in block.lines)
    assert any("rejected" in line for line in block.lines)
    assert len(block.lines) <= 40


# ---------------------------------------------------------------------------------------------------
# links and names


@pytest.mark.slow
def test_every_link_of_the_documentation_resolves(tmp_path: Path) -> None:
    """Our own links-resolve check, through the command, on all pages together."""
    site = tmp_path / "site"
    shutil.copytree(REPO / "docs", site / "docs")
    for name in (
        "README.md",
        "CHANGELOG.md",
        "CODE_OF_CONDUCT.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "LICENSE",
    ):
        shutil.copy(REPO / name, site / name)
    rubric = tmp_path / "rubric.yaml"
    rubric.write_text(
        "rubric: 1\ncriteria:\n  - {id: links, requirement: Every link leads somewhere, required: true, check: links-resolve}\n"
    )
    ended = subprocess.run(
        [HONESTONE, "eval", site, "--rubric", rubric],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_no_page_names_a_machine(path: Path) -> None:
    """No folder of the machine it was written on, and no registry, stands in a page."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(
        r"(?<![\w.~])/(?:work|root|home|tmp|Users|private)/\S*|\b(?:pypi\.org|pythonhosted|registry\.npmjs|npmmirror)\S*",
        text,
    )
    assert found == []


def test_the_glossary_points_at_files_that_are_there() -> None:
    """Each word is defined in a file that exists, and the words are in order."""
    text = (REPO / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w[\w ]*) \| .* \| (.*) \|$", text, re.MULTILINE)[1:]
    words = [word.lower() for word, _ in rows]
    assert len(words) > 30
    assert words == sorted(words)
    missing = [
        name
        for _, files in rows
        for name in re.findall(r"`([^`]+)`", files)
        if not (REPO / "src/honestone" / name).is_file()
    ]
    assert missing == []


def test_every_decision_is_in_the_list() -> None:
    """The list of decisions names each page under its own title, with its status."""
    folder = REPO / "docs" / "decisions"
    rows = re.findall(
        r"^- \[(.+?)\]\((\d{4}-.+?\.md)\) \(.+?\): (in force|replaced by .+)$",
        (folder / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    listed = {title: name for title, name, _ in rows}
    titles = {
        path.read_text(encoding="utf-8").splitlines()[0].partition(". ")[2]: path.name
        for path in folder.glob("0*.md")
    }
    assert listed == titles


def test_the_make_commands_that_are_named_exist() -> None:
    """Every `make ...` in README and CONTRIBUTING is a target."""
    targets = set(re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(), re.MULTILINE))
    named = {
        name
        for path in (REPO / "README.md", REPO / "CONTRIBUTING.md")
        for name in re.findall(r"(?:`|\$ )make ([a-z-]+)", path.read_text(encoding="utf-8"))
    }
    assert named >= {"demo", "test", "docs"}
    assert named <= targets


def test_the_changelog_starts_with_what_is_unreleased() -> None:
    """The first section is Unreleased; the others are releases with a date, a reader's page each."""
    text = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert first.startswith("[Unreleased]\n")
    for release in releases:
        assert re.match(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d\n", release), release[:40]
        assert len(release.split()) <= 700, f"{release[:20]}: half a page is meant"


def test_the_judges_page_names_every_judge_of_the_registry() -> None:
    """Agent CLIs, providers and the kinds of program are all in the page on judges."""
    from honestone.adapters.context import CLIS, PROVIDERS

    pages = (REPO / "docs" / "judges.md", REPO / "docs" / "reference" / "models.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    wanted = [*CLIS, *PROVIDERS, "script:", "cmd:", "record:", "mock"]
    assert [name for name in wanted if name not in text] == []


def test_every_key_of_the_documents_is_explained() -> None:
    """The page on JSON says something about each key that its own examples hold."""
    text = (REPO / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    known_by_name = {
        "id",
        "requirement",
        "weight",
        "floor",
        "required",
        "path",
        "digest",
        "original",
        "items",
        "judge",
        "text",
        "before",
        "after",
        "by_judge",
        "added",
        "removed",
        "files",
        "rounds",
        "patience",
        "calls",
        "minutes",
        "usd",
        "judge_calls",
        "cached_calls",
        "worker_calls",
        "input_tokens",
        "output_tokens",
        "needed",
        "consulted",
        "consultations",
        "criteria",
    }
    keys: set[str] = set()
    for block in docs.fenced_blocks(text):
        body = "\n".join(line for line in block.lines if not line.startswith("$ "))
        if block.is_console and body.startswith("{"):
            keys |= keys_of(json.loads(body))
    assert len(keys) > 40
    assert (
        sorted(
            key
            for key in keys
            if key not in words | known_by_name
            and ":" not in key
            and key != "check"
            and not key.isdigit()
        )
        == []
    )


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in keys_of(inner)}
    if isinstance(value, list):
        return {key for inner in value for key in keys_of(inner)}
    return set()


# ------------------------------------------------------------------------------------------------------
# the tool itself


PAGE = """\
# A page

```text note.txt
hello
```

```console
$ cat note.txt
what an older version printed
$ grep -c hello \\
> note.txt
$ ls missing 2> /dev/null # exit 2
```

````markdown
```console
$ this is content, not a command
```
````

```console silent
$ echo unseen
```
"""


def tell(text: str, tmp_path: Path) -> Any:
    with docs.clean_environment(tmp_path) as environment:
        folder = tmp_path / "work"
        folder.mkdir()
        return docs.tell("page.md", text, folder, environment)


@pytest.mark.slow
def test_what_a_command_prints_is_put_under_it(tmp_path: Path) -> None:
    """Old output goes, new output comes, and everything else in the page stays."""
    told = tell(PAGE, tmp_path)
    assert told.problems == []
    assert "$ cat note.txt\nhello\n$ grep -c hello \\\n> note.txt\n1\n$ ls missing" in told.text
    assert "older version" not in told.text
    assert "$ echo unseen\n```" in told.text
    assert "$ this is content, not a command\n" in told.text


def test_telling_a_page_twice_changes_nothing_more(tmp_path: Path) -> None:
    """A page that was written is not stale."""
    (tmp_path / "again").mkdir()
    first = tell(PAGE, tmp_path)
    second = tell(first.text, tmp_path / "again")
    assert second.text == first.text


def test_another_exit_code_is_a_problem(tmp_path: Path) -> None:
    """A command that fails, or that passes where the page says it fails, is named."""
    told = tell("```console\n$ false\n$ true # exit 3\n```\n", tmp_path)
    assert [problem.splitlines()[0] for problem in told.problems] == [
        "page.md: `false` ended with 1, not 0:",
        "page.md: `true # exit 3` ended with 0, not 3:",
    ]


@pytest.mark.parametrize("fault", ["raise SystemError", "print('internal error: x')"])
def test_a_fault_is_a_problem_wherever_it_hides(tmp_path: Path, fault: str) -> None:
    """The end of a pipe may pass while its beginning crashed, in Python or in honestone."""
    told = tell(f'```console\n$ python -c "{fault}" 2>&1 | tail -3\n```\n', tmp_path)
    assert ["shows a fault" in problem for problem in told.problems] == [True]


def test_output_that_looks_like_a_command_is_a_problem(tmp_path: Path) -> None:
    """It would be run the next time; so would a fence in an output end the block."""
    told = tell("```console\n$ printf '%s\\n' '$ rm -r' '```'\n```\n", tmp_path)
    assert told.problems == [
        "page.md: an output holds '```': give its block a longer fence",
        "page.md: an output has a line that looks like a command",
    ]


def test_ids_times_and_folders_are_made_the_same_everywhere(tmp_path: Path) -> None:
    """What differs from run to run does not make a page stale, and one id stays one id."""
    neat = docs.Neat("page.md", tmp_path)
    one, two = "01M7Y45E6PMGDY04E61E1VS8PZ", "01M7Y45EQHWAPEVQ9T0W9Q7M4F"
    text = neat(f"{one} 2026-11-21 03:46 {tmp_path}/x.md sha256:{'a' * 64} {two} {one}")
    again = docs.Neat("page.md", tmp_path)(f"{two} 2027-01-01 00:00")
    first, _, _, path, digest, second, third = text.split()[:7]
    assert first == third != second
    assert (path, digest) == ("~/work/x.md", "sha256:...")
    assert again == f"{first} 2026-01-31 09:00"


def test_a_fence_that_is_not_closed_is_an_error() -> None:
    """A page cannot swallow its own end."""
    with pytest.raises(ValueError, match="line 2: a fence is opened and not closed"):
        list(docs.fenced_blocks("x\n```console\n$ true\n"))


def test_check_says_what_is_stale_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """`--check` exits 1 with the page's name and leaves the page as it is; without it the page is
    written.
    """
    page = tmp_path / "README.md"
    page.write_text("```console\n$ echo new\nold\n```\n")
    told = docs.told
    monkeypatch.setattr(docs, "REPO", tmp_path)
    monkeypatch.setattr(docs, "told", lambda name: told(name, tmp_path))
    assert docs.main(["--check", "README.md"]) == 1
    assert "README.md is stale" in capsys.readouterr().err
    assert "old" in page.read_text()
    page.write_text("```console\n$ false\nold\n```\n")
    assert docs.main(["README.md"]) == 1
    assert "left README.md as it is" in capsys.readouterr().err
    page.write_text("```console\n$ echo new\nold\n```\n")
    assert docs.main(["README.md"]) == 0
    assert page.read_text() == "```console\n$ echo new\nnew\n```\n"
    assert docs.main(["--check", "README.md"]) == 0
