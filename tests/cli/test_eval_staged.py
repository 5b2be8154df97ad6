"""`eval --recorded --staged`: what a commit hook asks. The record answers, for the bytes that are
staged.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .desk import Desk

RUBRIC = "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n"


def git(desk: Desk, *words: str) -> subprocess.CompletedProcess[str]:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", *names, *words], cwd=desk.folder, env=desk.env, capture_output=True, text=True
    )


@pytest.fixture
def repository(desk: Desk) -> Desk:
    assert git(desk, "init", "-q").returncode == 0
    desk.file("rubric.yaml", RUBRIC)
    desk.file("a.md", "good\n")
    desk.file(".gitignore", ".honestone\n*.py\n")
    desk.file(
        "j.py",
        "import json, sys\nq = json.load(sys.stdin)\nopen('calls', 'a').write('x')\n"
        "print(json.dumps({'criteria': {'good': {'met': 'good' in str(q['artifact'])}}}))\n",
    )
    git(desk, "add", "a.md", "rubric.yaml")
    return desk


def ask(desk: Desk, *more: str, name: str = "a.md") -> tuple[int, str]:
    ended = desk.run(
        "eval", name, "--rubric", "rubric.yaml", "--judge", "script:python3 j.py", *more
    )
    return ended.code, ended.err


def test_the_record_answers_for_the_bytes_that_are_staged(repository: Desk) -> None:
    code, said = ask(repository, "--recorded", "--staged")
    assert (code, "without --recorded" in said) == (3, True)
    assert not (repository.folder / "calls").exists()
    assert ask(repository)[0] == 0
    repository.file("a.md", "changed, not staged\n")
    assert ask(repository, "--recorded", "--staged")[0] == 0
    git(repository, "add", "a.md")
    assert ask(repository, "--recorded", "--staged")[0] == 3
    assert ask(repository)[0] == 1
    assert ask(repository, "--recorded", "--staged")[0] == 1
    assert (repository.folder / "calls").read_text() == "xx"


def test_another_rubric_or_judge_is_another_question(repository: Desk) -> None:
    ask(repository)
    repository.file("rubric.yaml", RUBRIC.replace("is good", "is very good"))
    code, said = ask(repository, "--recorded", "--staged")
    assert (code, "changes that are not staged" in said) == (2, True)
    git(repository, "add", "rubric.yaml")
    assert ask(repository, "--recorded", "--staged")[0] == 3
    repository.file("j.py", "print('yes')\n")
    assert ask(repository, "--recorded", "--staged")[0] == 3


def test_a_folder_is_taken_from_the_index_as_a_whole(repository: Desk) -> None:
    repository.file("skill/SKILL.md", "good\n")
    repository.file("skill/note.md", "more\n")
    git(repository, "add", "skill")
    ask(repository, name="skill")
    repository.file("skill/new.md", "not staged\n")
    (repository.folder / "skill/note.md").unlink()
    assert ask(repository, "--recorded", "--staged", name="skill")[0] == 0
    git(repository, "add", "-A", "skill")
    assert ask(repository, "--recorded", "--staged", name="skill")[0] == 3


def test_what_git_does_not_have_is_said(repository: Desk, tmp_path: Path) -> None:
    repository.file("b.md", "good\n")
    code, said = ask(repository, "--staged", name="b.md")
    assert (code, "what is staged in git has no `b.md`" in said) == (2, True)
    (tmp_path / "outside.md").write_text("good\n")
    assert ask(repository, "--staged", name=str(tmp_path / "outside.md"))[0] == 2
    ended = repository.run("eval", "s.yaml", "--staged")
    assert (ended.code, "--staged is for artifacts" in ended.err) == (2, True)


@pytest.mark.slow
def test_git_asks_the_record_before_a_commit(repository: Desk) -> None:
    """The hook of a repository, run by git itself: also with a part of the files, which git stages
    in an index of its own.
    """
    hook = repository.folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    entry = "honestone eval --recorded --staged --quiet a.md --rubric rubric.yaml --judge 'script:python3 j.py'"
    hook.write_text(f"#!/bin/sh\nexec {entry}\n")
    hook.chmod(0o755)
    refused = git(repository, "commit", "-m", "first")
    assert refused.returncode != 0, refused
    ask(repository)
    assert git(repository, "commit", "-m", "first").returncode == 0
    repository.file("a.md", "no\n")
    assert git(repository, "commit", "-m", "second", "a.md").returncode != 0
    repository.file("other.md", "other\n")
    git(repository, "add", "other.md")
    assert git(repository, "commit", "-m", "third", "other.md").returncode == 0


RULES = "rubric: 1\ncriteria: [{id: good, requirement: It is good, check: {json-schema: schema.json}}]\n"


def schema(repository: Desk) -> None:
    repository.file("rubric.yaml", RULES)
    repository.file("schema.json", '{"required": ["a"]}')
    repository.file("a.md", '{"b": 1}')
    git(repository, "add", "-f", "rubric.yaml", "schema.json", "a.md")


def judge(repository: Desk) -> None:
    git(repository, "add", "-f", "j.py")


def settings(repository: Desk) -> None:
    repository.file("honestone.toml", "[limits]\nmax_calls = 3\n")
    git(repository, "add", "-f", "honestone.toml")


def module(repository: Desk) -> None:
    repository.file("helper.py", "MET = False\n")
    repository.file("j.py", "import helper\n" + (repository.folder / "j.py").read_text())
    git(repository, "add", "-f", "j.py", "helper.py")


@pytest.mark.parametrize(
    ("prepare", "name", "text"),
    [
        (schema, "schema.json", "{}"),
        (judge, "j.py", 'print(\'{"criteria": {"good": {"met": true}}}\')\n'),
        (settings, "honestone.toml", "[limits]\nmax_calls = 9\n"),
        (module, "helper.py", "MET = True\n"),
    ],
)
@pytest.mark.parametrize("hidden", ["", "--assume-unchanged", "--skip-worktree"])
def test_every_file_that_judges_must_be_as_it_is_staged(
    repository: Desk, prepare: Callable[[Desk], None], name: str, text: str, hidden: str
) -> None:
    """Also where git was told not to look: digests are compared."""
    prepare(repository)
    assert ask(repository, "--staged")[0] in (0, 1)
    if hidden:
        git(repository, "update-index", hidden, name)
    repository.file(name, text)
    code, said = ask(repository, "--staged")
    assert (code, "changes that are not staged" in said, name in said) == (2, True, True), said


def test_a_judge_that_is_taken_out_of_git_is_not_in_the_commit(repository: Desk) -> None:
    """It is on disk, and the commit would be without it."""
    judge(repository)
    git(repository, "commit", "-qm", "1")
    git(repository, "rm", "-q", "--cached", "j.py")
    assert ask(repository, "--staged")[0] == 2


@pytest.mark.parametrize("where", ["a.md", "folder"])
def test_a_staged_link_is_refused(repository: Desk, tmp_path: Path, where: str) -> None:
    """The commit holds the link, and the text that it leads to is somewhere else."""
    (tmp_path / "outside.md").write_text("good\n")
    if where == "folder":
        repository.file("folder/b.md", "good\n")
    link = repository.folder / ("a.md" if where == "a.md" else "folder/link.md")
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "outside.md")
    git(repository, "add", "-A", where)
    code, said = ask(repository, "--staged", name=where)
    assert (code, "is staged as a link" in said) == (2, True), said


def test_a_rubric_that_is_a_link_is_refused(repository: Desk, tmp_path: Path) -> None:
    """What it leads to may change after the commit."""
    (tmp_path / "r.yaml").write_text(RUBRIC)
    (repository.folder / "rubric.yaml").unlink()
    (repository.folder / "rubric.yaml").symlink_to(tmp_path / "r.yaml")
    git(repository, "add", "rubric.yaml")
    assert ask(repository, "--staged")[0] == 2
