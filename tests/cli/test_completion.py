"""LoopRunner completion: the script is printed, and it completes."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from .desk import Desk


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_printed(desk: Desk, shell: str) -> None:
    """The script names our command and is not empty."""
    result = desk.run("completion", shell)
    assert result.code == 0, result.err
    assert "_HONESTONE_COMPLETE" in result.out
    assert "honestone" in result.out


def test_the_shell_is_taken_from_the_environment(desk: Desk) -> None:
    """Without a name `$SHELL` decides; an unknown one is refused with those that are known."""
    assert (
        desk.run("completion", env={"SHELL": "/usr/bin/fish"}).out
        == desk.run("completion", "fish").out
    )
    refused = desk.run("completion", env={"SHELL": "/bin/csh"})
    assert refused.is_refusal
    assert "bash, zsh, fish" in refused.err


@pytest.mark.parametrize(
    ("words", "last", "expected"),
    [("honestone ev", 1, "eval"), ("honestone eval --thr", 2, "--threshold")],
)
def test_bash_asks_and_we_answer(desk: Desk, words: str, last: int, expected: str) -> None:
    """What the script calls answers with commands and options that fit."""
    env = {"_HONESTONE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(last)}
    result = desk.run(env=env)
    assert expected in result.out
    assert "Traceback" not in result.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_the_bash_script_is_valid(desk: Desk) -> None:
    """Bash reads the script without a complaint."""
    script = desk.run("completion", "bash").out
    ended = subprocess.run(
        ["bash", "-n"], input=script, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def told(desk: Desk, *words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    line = " ".join(["honestone", *words])
    env = {
        "_HONESTONE_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
    }
    found = desk.run(env=env)
    assert found.err == "", found.err
    return [offer.partition(",")[2] for offer in found.out.splitlines() if offer]


@pytest.mark.slow
def test_names_are_offered(ready: Desk) -> None:
    """Runs with `last`, cases of the suite on the line, judges with those of the settings, workers,
    targets, templates.
    """
    cases = "  - {id: refund-1, input: a, checks: [{contains: a}]}\n  - {id: other, input: b, checks: [{contains: b}]}\n"
    ready.file(
        "suite.yaml",
        f"suite: 1\ncases:\n{cases}  - {{id: refund-2, input: c, checks: [{{contains: c}}]}}\n",
    )
    ready.file(
        "honestone.toml",
        '[judges.mine]\nprovider = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n',
    )
    run = ready.run("eval", "suite.yaml", "--target", "cmd:echo a", "--json").json["run"]
    for words in (
        ["show"],
        ["rescore"],
        ["undo"],
        ["compare"],
        ["compare", run],
        ["trend", run],
        ["step", "submit"],
    ):
        assert told(ready, *words, "la") == ["last"] and told(ready, *words, run[:6]) == [run], (
            words
        )
    for words in (
        ["eval", "suite.yaml"],
        ["eval", "--judge", "mock", "suite.yaml"],
        ["eval", "r.md", "suite.yaml"],
    ):
        assert told(ready, *words, "--case", "ref") == ["refund-1", "refund-2"], words
    assert (
        told(ready, "eval", "--case", "ref")
        == told(ready, "eval", "rubric.yaml", "--case", "ref")
        == []
    )
    assert told(ready, "eval", "x.md", "--judge", "m") == ["mine", "mock"]
    assert told(ready, "improve", "x.md", "--holdout", "mi") == ["mine"]
    assert told(ready, "improve", "x.md", "--worker", "cla") == ["claude"]
    assert told(ready, "eval", "suite.yaml", "--target", "id") == ["identity"]
    assert told(ready, "rubric", "new", "--template", "rel") == ["release-notes"]
    assert len(told(ready, "rubric", "new", "--template", "''")) > 5
    assert told(ready, "compare", "no-such-run") == ["no-such-run"], "then the shell offers files"


@pytest.mark.parametrize(
    "settings", ["[judges", "judges = 1", '[judges."a b"]\nprovider = "codex"\n']
)
def test_nothing_is_said_where_nothing_can_be_offered(ready: Desk, settings: str) -> None:
    """Settings that cannot be read, a damaged store, names that are no single word: silence, and no
    traceback.
    """
    ready.file("honestone.toml", settings)
    ready.file(".honestone/store.db", "no database")
    hostile = (
        "suite: 1\ncases:\n"
        '  - {id: "a\\e[31m", input: a}\n  - {id: "a b", input: a}\n  - {id: "$(a)", input: a}\n'
    )
    ready.file("suite.yaml", hostile)
    assert (
        told(ready, "show", "") in ([], ["last"])
        and told(ready, "eval", "suite.yaml", "--case", "a") == []
    )
    assert "a b" not in told(ready, "eval", "suite.yaml", "--judge", "a")
