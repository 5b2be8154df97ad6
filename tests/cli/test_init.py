"""`init` writes what a person needs to start, says so, and never writes over anything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from honestone.cli.init import starter_rubric, starters
from honestone.formats.findings import find
from honestone.formats.rubric.rubric_file import read_rubric
from honestone.formats.settings import read_settings

from .desk import Desk

GOOD_README = """\
# Tide

Tide prints the times of high and low water for a harbour. It is for people who walk on the beach and do not want to be
surprised. It works without a network: the tables of one year come with it, and nothing that you ask leaves your computer.

## Install

Copy `tide.py` to where you want it. It needs Python 3.8 or later.

## Usage

Name a harbour and a day. Without a day it is today:

```console
$ python3 tide.py Husum 2024-05-01
```

## Licence

MIT, see the [licence](LICENSE).
"""


def test_in_an_empty_folder_one_can_score_at_once(desk: Desk) -> None:
    """`init` and the command that it names: a verdict, with what is missing, from checks alone."""
    made = desk.run("init")
    assert made.code == 0, made.err
    command = next(
        line.strip() for line in made.out.splitlines() if line.strip().startswith("honestone eval")
    )
    assert command == "honestone eval README.md --rubric rubric.yaml"
    result = desk.run(*command.split()[1:], "--json")
    assert result.code == 1, result.err
    assert result.json["verdict"] == "fail"
    assert result.json["score"] is not None
    assert result.json["judges"] == []


def test_the_starter_can_be_met(desk: Desk) -> None:
    """A README that does what the starter asks passes; the same without its example does not reach
    full marks.
    """
    desk.file("README.md", GOOD_README)
    desk.file("LICENSE", "MIT\n")
    assert desk.run("init").code == 0
    assert desk.file("README.md", GOOD_README).is_file()
    good = desk.run("eval", "README.md", "--rubric", "rubric.yaml", "--json")
    assert (good.code, good.json["score"]) == (0, 100)
    desk.file(
        "README.md",
        GOOD_README.replace("```console", "").replace("```", "").replace("LICENSE", "COPYING"),
    )
    worse = desk.run("eval", "README.md", "--rubric", "rubric.yaml", "--json")
    unmet = {
        item["id"] for one in worse.json["criteria"] for item in one["items"] if item["met"] != 1
    }
    assert unmet == {"shows-an-example", "links-resolve"}


def test_nothing_is_written_over(desk: Desk) -> None:
    """Files of the same names stay byte for byte, a link into nowhere too, and each is named as
    left alone.
    """
    desk.file("README.md", "# Mine\n")
    desk.file("rubric.yaml", "mine\n")
    (desk.folder / "honestone.toml").symlink_to(desk.folder / "nowhere.toml")
    result = desk.run("init")
    assert result.code == 0, result.err
    assert (desk.folder / "README.md").read_text() == "# Mine\n"
    assert (desk.folder / "rubric.yaml").read_text() == "mine\n"
    assert not (desk.folder / "nowhere.toml").exists()
    assert result.out.count("left alone") == 2
    assert "wrote" not in result.out


def test_a_second_init_changes_nothing(desk: Desk) -> None:
    """Typing it twice is harmless."""
    desk.run("init")
    before = {path.name: path.read_bytes() for path in desk.folder.iterdir()}
    again = desk.run("init", "--json")
    assert again.json["written"] == []
    assert {path.name: path.read_bytes() for path in desk.folder.iterdir()} == before


@pytest.mark.parametrize(
    ("files", "meant"),
    [
        (("notes.md", "README.md", "a.md"), "README.md"),
        (("a.md", "SKILL.md"), "SKILL.md"),
        (("plan.md", "design.md"), "design.md"),
        (("readme.markdown",), "readme.markdown"),
        (("code.py",), "README.md"),
    ],
)
def test_the_document_that_is_there_is_meant(
    desk: Desk, files: tuple[str, ...], meant: str
) -> None:
    """A README before a SKILL.md before other Markdown; a draft where there is none."""
    for name in files:
        desk.file(name, "# A title\n")
    told = desk.run("init", "--json").json
    assert told["document"] == meant
    assert told["next"][0] == f"honestone eval {meant} --rubric rubric.yaml"
    assert ("README.md" in told["written"]) == (meant not in files)


def test_a_document_can_be_named(desk: Desk) -> None:
    """With its path; where several are there and none is named, the one that is taken and the way
    to another are said.
    """
    for name in ("README.md", "design.md", "texts/SKILL.md"):
        desk.file(name, "# A title\n")
    first = desk.run("init").out
    assert "taken       README.md       1 other document here" in first
    assert (
        "rm rubric.yaml && honestone init design.md" in first
        and "taken" not in desk.run("init").out
    )
    (desk.folder / "rubric.yaml").unlink()
    told = desk.run("init", "design.md", "--json").json
    assert (told["document"], told["written"]) == ("design.md", ["rubric.yaml"])
    assert "design.md does its job" in (desk.folder / "rubric.yaml").read_text()
    (desk.folder / "rubric.yaml").unlink()
    named = desk.run("init", "texts/SKILL.md")
    assert named.code == 0 and "honestone eval texts/SKILL.md --rubric rubric.yaml" in named.out
    assert (
        "SKILL.md does its job" in (desk.folder / "rubric.yaml").read_text()
        and "taken" not in named.out
    )


@pytest.mark.parametrize(
    ("file", "hint"), [("nothing.md", "name the document"), ("texts", "--dir texts")]
)
def test_what_is_no_document_is_refused(desk: Desk, file: str, hint: str) -> None:
    desk.file("texts/a.md", "# A title\n")
    refused = desk.run("init", file)
    assert refused.is_refusal and hint in refused.err and not (desk.folder / "rubric.yaml").exists()


def test_a_folder_is_named_from_where_one_stands(desk: Desk) -> None:
    """With --dir the next command is right in the folder where it was typed."""
    desk.file("my docs/README.md", "# A title\n")
    result = desk.run("init", "--dir", "my docs")
    assert "honestone eval 'my docs/README.md' --rubric 'my docs/rubric.yaml'" in result.out
    assert desk.run("eval", "my docs/README.md", "--rubric", "my docs/rubric.yaml").code == 1


def test_settings_that_hold_already_are_not_hidden(desk: Desk) -> None:
    """Where a pyproject.toml or a folder above has settings, no second file is written."""
    desk.file("pyproject.toml", "[tool.honestone.limits]\nrounds = 2\n")
    desk.file("docs/README.md", "# A title\n")
    told = desk.run("init", "--dir", "docs", "--json").json
    assert told["written"] == ["rubric.yaml"]
    assert told["kept"] == ["honestone.toml"]


@pytest.mark.parametrize("where", ["nowhere", "note.md"])
def test_a_folder_that_is_not_there_is_refused(desk: Desk, where: str) -> None:
    """A missing folder, or a file in its place, is a usage error and nothing is made."""
    desk.file("note.md", "a note")
    result = desk.run("init", "--dir", where)
    assert result.is_refusal, result
    assert [path.name for path in desk.folder.iterdir()] == ["note.md"]


@pytest.mark.skipif(
    not Path("/proc/self").is_dir(), reason="needs a folder that nobody can write, such as /proc"
)
def test_a_folder_that_cannot_be_written_is_refused(desk: Desk) -> None:
    """A read-only place ends in a line with the file's name, not in a traceback."""
    result = desk.run("init", "--dir", "/proc/self")
    assert result.is_refusal, result
    assert "cannot write" in result.err


# ------------------------------------------------------------------------------------------------------
# the starters


@pytest.mark.parametrize("text", list(starters()), ids=["readme", "skill", "document"])
def test_every_starter_is_sound(text: str, tmp_path: Path) -> None:
    """No finding; weights sum to 100; code alone decides."""
    path = tmp_path / "rubric.yaml"
    path.write_text(text)
    source = read_rubric(path)
    assert find(source.rubric, source.marked) == []
    assert sum(criterion.weight for criterion in source.rubric.criteria) == 100
    assert not source.rubric.asks_judges


@pytest.mark.parametrize("text", list(starters()), ids=["readme", "skill", "document"])
def test_what_stands_there_as_a_remark_is_right_too(text: str, tmp_path: Path) -> None:
    """Taking the `#` away from the criteria for judges gives a sound rubric that asks judges."""
    start = text.index("  # - id: clear")
    path = tmp_path / "rubric.yaml"
    path.write_text(text[:start] + re.sub(r"(?m)^  # ", "  ", text[start:]))
    source = read_rubric(path)
    assert find(source.rubric, source.marked) == []
    assert [criterion.id for criterion in source.rubric.criteria][-2:] == ["clear", "tone"]
    assert source.rubric.asks_judges


@pytest.mark.parametrize(
    "name", ["# a: b.md", 'say "yes".md', "{x}.md", "two\nlines.md", "übung – 1.md", "'.md"]
)
def test_a_document_may_have_any_name(name: str, tmp_path: Path) -> None:
    """Whatever a file is called, the starter for it can be read."""
    path = tmp_path / "rubric.yaml"
    path.write_text(starter_rubric(name), encoding="utf-8")
    assert read_rubric(path).rubric.title.endswith("does its job")


def test_the_settings_are_right_once_they_are_used(desk: Desk) -> None:
    """As written the file changes nothing; with every `#` taken away it is read without an error."""
    desk.run("init")
    path = desk.folder / "honestone.toml"
    written = read_settings(path)
    assert (dict(written.judges), dict(written.workers), dict(written.limits)) == ({}, {}, {})
    path.write_text(
        re.sub(r"(?m)^# (?=\[|\w+ = )", "", path.read_text(encoding="utf-8")), encoding="utf-8"
    )
    used = read_settings(path)
    assert set(used.judges) == {"local", "my-claude"}
    assert set(used.workers) == {"my-codex"}
    assert set(used.limits) == {"rounds", "max_calls", "max_minutes", "max_usd"}
