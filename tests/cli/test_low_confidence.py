"""A verdict that one judge gave says so wherever it is printed: every format of every kind of run,
and every door.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from honestone import compare, evaluate, run_suite
from honestone.report.formats import RENDERERS

from .desk import GOOD, Desk

# Each test asks the same of every command.
pytestmark = pytest.mark.slow

SUITE = """\
suite: 1
target: "cmd:cat"
cases:
  - {id: asked, input: An apple, rubric: [It names the apple]}
  - {id: checked, input: An apple, checks: [{contains: apple}]}
"""
SAYS_SO = re.compile(r"low.confidence", re.IGNORECASE)
# Of the formats that a run is shown in, those that hold no verdict: votes alone.
_WITHOUT_A_VERDICT = ("parquet",)
_TABLE = ("--target", "cmd:cat", "--target", "cmd:cat -")


def judges(desk: Desk, count: int) -> list[str]:
    names = ["first", "second"][:count]
    return [word for name in names for word in ("--judge", desk.judge(name).spec)]


def formats_of(kind: str) -> list[str]:
    """Every format of ours for a kind of document, as the table of formats has them."""
    return sorted(form for known, form in RENDERERS if known == kind)


def shown(desk: Desk, form: str) -> str:
    found = desk.run("show", "last", "--format", form)
    assert found.code == 0, (form, found.err)
    return found.out


def assert_says_so(desk: Desk, forms: Sequence[str], *, is_lonely: bool) -> None:
    for form in forms:
        text = shown(desk, form)
        if form in ("csv", "jsonl") and not is_lonely:
            assert not re.search(r'"low_confidence": true|,yes$', text, re.MULTILINE), form
        elif form in ("json", "inspect") and not is_lonely:
            assert not re.search(r'"low_confidence(_cases)?": (true|[1-9])', text), form
        else:
            assert bool(SAYS_SO.search(text)) is is_lonely, (form, text[:1500])


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("text", [GOOD, "nothing\n"], ids=["passes", "fails"])
def test_one_artifact(ready: Desk, count: int, text: str) -> None:
    """In each format of a scorecard, in SARIF and on its page; with two judges in none."""
    ready.file("note.md", text)
    ended = ready.run("eval", "note.md", "--rubric", "rubric.yaml", *judges(ready, count), "-q")
    assert ended.code == int(text != GOOD), ended.err
    first = ended.out.splitlines()[0]
    assert ("PASSED" in first or "DID NOT PASS" in first) and ("LOW CONFIDENCE" in first) is (
        count == 1
    ), first
    forms = [*formats_of("scorecard"), "json", "html", "junit", "sarif"]
    assert_says_so(ready, forms, is_lonely=count == 1)
    assert bool(SAYS_SO.search(ready.run("runs").out)) is (count == 1)
    assert bool(SAYS_SO.search(ready.run("rescore", "last").out)) is (count == 1)


@pytest.mark.parametrize("count", [1, 2])
def test_many_artifacts(ready: Desk, count: int) -> None:
    """The line that says how many passed says by how many judges."""
    for number in range(3):
        ready.file(f"art/{number}.md", GOOD)
    names = [f"art/{number}.md" for number in range(3)]
    call = ("eval", *names, "--rubric", "rubric.yaml", *judges(ready, count), "-q")
    text = ready.run(*call).out
    assert bool(SAYS_SO.search(text)) is (count == 1), text
    if count == 1:
        assert "in 3 of 3 artifacts" in text
    assert_says_so(
        ready, ["text", "markdown", "json", "html", "junit", "sarif"], is_lonely=count == 1
    )
    assert bool(SAYS_SO.search(ready.run("runs").out)) is (count == 1)


@pytest.mark.parametrize("count", [1, 2])
def test_a_suite(desk: Desk, count: int) -> None:
    """In each format of a run, in what is exported elsewhere, and next to the verdict of a
    comparison and a trend.
    """
    desk.file("suite.yaml", SUITE)
    call = ("eval", "suite.yaml", *judges(desk, count), "-q")
    ended = desk.run(*call)
    assert ended.code == 0, ended.err
    verdict = next(line for line in ended.out.splitlines() if "PASSED" in line)
    assert ("LOW CONFIDENCE" in verdict) is (count == 1)
    assert ("in 1 of 2 cases" in ended.out) is (count == 1)
    forms = [one for one in formats_of("report") if one not in _WITHOUT_A_VERDICT]
    assert_says_so(desk, [*forms, "json", "sarif"], is_lonely=count == 1)
    before = json.loads(shown(desk, "json"))["run"]
    assert desk.run(*call, "--fresh").code == 0
    for form in (*formats_of("comparison"), "json"):
        compared = desk.run("compare", before, "last", "--format", form)
        wanted = (
            '"low_confidence_cases": 1' in compared.out
            if form == "json"
            else SAYS_SO.search(compared.out)
        )
        assert compared.code == 0 and bool(wanted) is (count == 1), (form, compared.out)
    listed = desk.run("runs").out.splitlines()
    assert all(
        bool(SAYS_SO.search(line)) is (count == 1) for line in listed if "suite.yaml" in line
    ), listed


@pytest.mark.parametrize("count", [1, 2])
def test_a_table(desk: Desk, count: int) -> None:
    """In each format of a table: of the whole and of its columns."""
    desk.file("suite.yaml", SUITE)
    ended = desk.run("eval", "suite.yaml", *_TABLE, *judges(desk, count), "-q")
    assert ended.code == 0, ended.err
    assert_says_so(desk, [*formats_of("table"), "json"], is_lonely=count == 1)


@pytest.mark.parametrize("policy", ["keep-best", "belief"])
def test_an_improvement(ready: Desk, policy: str) -> None:
    """A PASSED that one judge gave says so; one that a held-out judge confirmed does not."""
    worker = ready.worker("worker", f"put({GOOD.encode()!r})")
    call = (
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--worker",
        worker.spec,
        "--policy",
        policy,
        "--dry-run",
        "-q",
    )
    alone = ready.run(*call, *judges(ready, 1))
    first = alone.out.splitlines()[0]
    assert "LOW CONFIDENCE" in alone.out, alone.out
    assert ("PASSED" in first) <= ("LOW CONFIDENCE" in first), first
    assert_says_so(ready, [*formats_of("improvement"), "json", "rulph"], is_lonely=True)
    held = ready.run(*call, *judges(ready, 1), "--holdout", ready.judge("witness").spec, "--json")
    assert held.json["certification"]["ok"] is True and held.json["low_confidence"] is False
    for form in ("text", "markdown", "html", "junit"):
        shown = ready.run("show", "last", "--format", form).out
        assert not re.search("low.confidence", shown, re.IGNORECASE), form


def test_an_improvement_over_a_suite(desk: Desk) -> None:
    """One judge alone says so, though the policy asks it on: nobody asked for `sure`."""
    rubric = "rubric: [It names the apple]"
    cases = "".join(
        f"  - {{id: c{n}, input: say {n}, split: {split}, {rubric}}}\n"
        for n, split in enumerate(["train", "val", "test"])
    )
    desk.file(
        "suite.yaml",
        f'suite: 1\nartifact: note.md\ntarget: "cmd:cat {{ARTIFACT}}"\ncases:\n{cases}',
    )
    desk.file("note.md", "nothing\n")
    worker = desk.worker("worker", "put(b'An apple\\n')")
    call = ("improve", "note.md", "--suite", "suite.yaml", "--worker", worker.spec, "--dry-run")
    forms = [form for form in formats_of("improvement") if form != "rulph"]
    for count, bar in ((1, ()), (1, ("--sure", "80")), (2, ())):
        ended = desk.run(*call, *judges(desk, count), *bar, "--json")
        looked = [one for one in ended.json["belief"]["rests_on"] if one["kind"] == "looks"]
        is_lonely = len(looked) == 1 and not bar
        assert ended.json["low_confidence"] is is_lonely, ended.err
        assert ended.json["belief"]["probability"] is not None
        run = ended.json["run"]
        for form in forms:
            printed = desk.run("show", run, "--format", form).out
            assert bool(SAYS_SO.search(printed)) is is_lonely, form
        listed = {one["id"]: one for one in desk.run("runs", "--json").json}
        assert listed[run]["low_confidence"] is is_lonely
        assert listed[run]["probability"] == ended.json["belief"]["probability"]


def test_python_says_so(ready: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a session shows of a result."""
    monkeypatch.chdir(ready.folder)
    ready.file("suite.yaml", SUITE)

    spec = ready.judge().spec
    found = evaluate(Path("note.md"), Path("rubric.yaml"), judges=[spec])
    assert "low confidence" in repr(found) and "low confidence" in found._repr_html_()
    both = evaluate(Path("note.md"), Path("rubric.yaml"), judges=[spec, ready.judge("second").spec])
    assert "low confidence" not in repr(both)
    before = run_suite(Path("suite.yaml"), judges=[spec], store=".honestone")
    after = run_suite(Path("suite.yaml"), judges=[spec], store=".honestone", fresh=True)
    assert "low confidence" in repr(before)
    assert "low confidence" in repr(compare(before, after))


def test_pytest_says_so(ready: Desk) -> None:
    """The summary names the tests that rest on one judge, and the JUnit XML of pytest has it as a
    property.
    """
    ready.file("suite.yaml", SUITE)
    ready.file("note.md", GOOD)
    spec = ready.judge().spec
    ready.file(
        "test_note.py",
        f"from pathlib import Path\ndef test_note(honestone):\n    honestone.assert_passes(Path('note.md'), 'rubric.yaml', judge={spec!r})\n",
    )
    import subprocess

    call = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_note.py",
        "suite.yaml",
    ]
    ended = subprocess.run(
        [*call, "--honestone-judge", spec, "--junitxml", "out.xml"],
        cwd=ready.folder,
        env=ready.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    told = [
        line
        for line in ended.stdout.splitlines()
        if SAYS_SO.search(line) or "fewer than two judges" in line
    ]
    assert "LOW CONFIDENCE" in told[0], ended.stdout
    assert any("test_note" in line for line in told) and any("::asked" in line for line in told)
    assert not any("::checked" in line for line in told)
    assert SAYS_SO.search(Path(ready.folder / "out.xml").read_text())


def test_a_checked_verdict_is_not_doubted(desk: Desk) -> None:
    """Where code alone decides there is no judge to doubt."""
    desk.file(
        "suite.yaml", SUITE.replace("rubric: [It names the apple]", "checks: [{contains: apple}]")
    )
    assert desk.run("eval", "suite.yaml", "-q").code == 0
    assert_says_so(
        desk,
        ["text", "markdown", "html", "junit", "csv", "jsonl", "json", "sarif"],
        is_lonely=False,
    )
