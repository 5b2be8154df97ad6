"""Judging again: `--outputs`, targets that are `repeatable`, and the note that names the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import honestone

from .desk import Desk, Program
from .test_suites import case, run, statuses, suite, target

TWO = (case("one"), case("two", wanted="pear"))


def made(
    desk: Desk, *args: str, cases: tuple[str, ...] = TWO, body: str = "print(text)"
) -> tuple[Program, dict[str, Any]]:
    """A suite that was run once, and its report."""
    suite(desk, *cases)
    program = target(desk, body=body)
    return program, run(desk, "--target", program.spec, *args)[1]


# ------------------------------------------------------------------------------------------------------------
# --outputs


@pytest.mark.parametrize("source", ["last", "run", "report.json", "report.jsonl"])
def test_a_changed_check_is_judged_without_the_target(desk: Desk, source: str) -> None:
    """From the record of the run or what was exported of it; the report says whence, and who made
    the outputs.
    """
    program, before = made(desk)
    desk.file("report.json", json.dumps(before, indent=1))
    desk.file("report.jsonl", desk.run("show", "last", "--format", "jsonl").out)
    suite(desk, case("one"), case("two"))
    named = before["run"] if source == "run" else source
    result, report = run(desk, "--outputs", named)
    assert (result.code, statuses(report), program.calls) == (
        0,
        {"one": "passed", "two": "passed"},
        2,
    )
    assert report["outputs"] == (named if "." in named else f"run {before['run']}")
    assert (
        report["usage"]["target_calls"],
        report["usage"]["input_tokens"],
        report["revision"],
    ) == (0, 0, 5)
    assert [one["output"] for one in report["cases"]] == [one["output"] for one in before["cases"]]
    assert report["target"] == before["target"]
    shown = desk.run("show", "last")
    assert f"outputs   {report['outputs']}" in shown.out
    assert "0 target calls" not in shown.out
    assert desk.run("show", "last", "--json").json == report


def test_last_is_the_suites_own_last_run_and_goes_on_from_there(desk: Desk) -> None:
    """Neither another suite's, nor one that was not finished; what was judged again can be judged
    again.
    """
    program, before = made(desk)
    suite(desk, case("one"), name="other.yaml")
    assert desk.run("eval", "other.yaml", "--target", program.spec).code == 0
    for _ in range(2):
        _, report = run(desk, "--outputs", "last")
        assert statuses(report) == statuses(before)
    assert program.calls == 3


def test_judges_are_asked_again_where_the_rubric_changed(desk: Desk) -> None:
    """About the same outputs; and never with the name of what made them."""
    program, _ = made(desk)
    suite(
        desk,
        "{id: one, input: one apple, rubric: [says one]}",
        "{id: two, input: two apple, rubric: [says one]}",
    )
    judge = desk.judge()
    _, report = run(desk, "--outputs", "last", "--judge", judge.spec)
    assert statuses(report) == {"one": "passed", "two": "failed"}
    assert (program.calls, judge.calls) == (2, 2)
    assert not any(str(program.path) in line or "cmd:" in line for line in judge.lines)


def test_attempts_errors_and_workspaces_come_back_as_they_were(desk: Desk) -> None:
    """A failure stays a failure; checks of files look at the files as the target left them; its
    diff is there.
    """
    work = "workspace: {files: {a.txt: old}}"
    looks = "checks: [{command: grep new a.txt}, {contains: '+new', in: diff}]"
    cases = (
        f"{{id: files, input: files, {work}, {looks}}}",
        "{id: breaks, input: break, checks: [{contains: x}]}",
        "{id: twice, input: twice, attempts: 2, checks: [{contains: '2'}]}",
    )
    body = "if text == 'break':\n    sys.exit(7)\nif text == 'files':\n    open('a.txt', 'w').write('new')\nprint(os.environ['HONESTONE_ATTEMPT'])"
    program, before = made(desk, cases=cases, body=body)
    kept = {"files": "passed", "breaks": "target-error", "twice": "failed"}
    assert statuses(before) == kept
    suite(desk, *cases[:2], cases[2].replace("[{contains: '2'}]", "[{regex: '[12]'}]"))
    result, report = run(desk, "--outputs", "last")
    assert (result.code, statuses(report), program.calls) == (3, {**kept, "twice": "passed"}, 4)
    assert [one["output"].strip() for one in report["cases"][2]["attempts"]] == ["1", "2"]
    assert report["cases"][0]["diff"] == before["cases"][0]["diff"]
    assert "exit code 7" in report["cases"][1]["error"]
    desk.file("rep.json", json.dumps(before))
    refused, _ = run(desk, "--outputs", "rep.json")
    assert refused.is_refusal
    assert "case `files` look at its workspace" in refused.err
    desk.file("rep.jsonl", desk.run("show", before["run"], "--format", "jsonl").out)
    _, report = run(desk, "--outputs", "rep.jsonl", "--case", "twice", "--case", "breaks")
    assert statuses(report) == {"breaks": "target-error", "twice": "passed"}


ROWS = [{"id": "one", "output": "an apple"}, {"id": "two", "output": "an apple"}]


@pytest.mark.parametrize(
    ("rows", "args", "says"),
    [
        (ROWS[:1], (), "no output is recorded for `two`\n  rec.jsonl:1\n"),
        (
            [*ROWS, ROWS[1]],
            (),
            "the output of case `two` is recorded twice; first in line 2\n  rec.jsonl:3\n",
        ),
        (ROWS, ("--target", "mock"), "cannot be given with --target"),
        (ROWS, ("--artifact", "suite.yaml"), "cannot be given with --artifact"),
        (ROWS, ("--attempts", "2"), "`one` (attempt 2), `two` (attempt 2)"),
        (ROWS, ("--baseline", "suite.yaml"), "neither a run nor a saved report"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_judged(
    desk: Desk, rows: list[Any], args: tuple[str, ...], says: str
) -> None:
    """Exit 2, with the line; no judge is asked and no run begun."""
    suite(
        desk,
        "{id: one, input: one, rubric: [says apple]}",
        "{id: two, input: two, rubric: [says apple]}",
    )
    desk.file("rec.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    judge = desk.judge()
    result, _ = run(desk, "--outputs", "rec.jsonl", "--judge", judge.spec, *args)
    assert result.is_refusal
    assert says in result.err
    assert judge.calls == 0
    assert desk.run("runs", "--json").out in ("", "[]\n")


@pytest.mark.parametrize("name", ["last", "nothing.json", "01K"])
def test_outputs_that_are_not_there(desk: Desk, name: str) -> None:
    """Named, with what could be."""
    suite(desk, case("one"))
    result, _ = run(desk, "--outputs", name)
    assert result.is_refusal
    assert "a run of a suite" in result.err


def test_a_run_without_the_outputs(desk: Desk) -> None:
    """One where a case was left out, one of the artifact itself, one that is not a suite's."""
    program, _ = made(desk, "--case", "one")
    result, _ = run(desk, "--outputs", "last")
    assert result.is_refusal
    assert "no output is recorded for `two`" in result.err
    desk.file("apple.md", "apple\n")
    suite(desk, "{id: one, checks: [{contains: apple}]}")
    assert run(desk, "--artifact", "apple.md")[0].code == 0
    assert "no output is recorded for `one`" in run(desk, "--outputs", "last")[0].err
    desk.file("r.yaml", "criteria: [{id: a, check: {contains: apple}}]\n")
    desk.run("eval", "apple.md", "--rubric", "r.yaml")
    last = desk.run("runs", "--json").json[0]["id"]
    assert "not a suite's" in run(desk, "--outputs", last)[0].err
    assert program.calls == 1


def test_outputs_of_another_input_are_judged_and_said(desk: Desk) -> None:
    """The file says what was asked then."""
    made(desk)
    suite(desk, case("one"), case("two").replace("two apple", "another"))
    result, report = run(desk, "--outputs", "last")
    (note,) = [one for one in report["notes"] if "another input" in one]
    assert '"two"' in note
    assert note in result.err


def test_judging_again_twice_does_not_make_an_output_that_of_another_input(desk: Desk) -> None:
    """The output stays that of the input it answered, however often it is judged; with that input
    back there is no note.
    """
    made(desk)
    suite(desk, case("one"), case("two").replace("two apple", "another"))
    for _ in range(2):
        assert [one for one in run(desk, "--outputs", "last")[1]["notes"] if "another input" in one]
    suite(desk, *TWO)
    assert not [one for one in run(desk, "--outputs", "last")[1]["notes"] if "another input" in one]


def test_an_artifact_that_changed_since_is_said(desk: Desk) -> None:
    """A pass of outputs on record says nothing about the version of now; the digest is that of
    then.
    """
    desk.file("p.md", "apple\n")
    suite(desk, case("one"), head="artifact: p.md\n")
    program = target(desk, body="print(open(os.environ['HONESTONE_ARTIFACT']).read())")
    _, before = run(desk, "--target", program.spec)
    assert not run(desk, "--outputs", "last")[1]["notes"]
    desk.file("p.md", "pear\n")
    for _ in range(2):
        result, report = run(desk, "--outputs", "last")
        (note,) = [one for one in report["notes"] if "another version" in one]
        assert result.code == 0 and "`p.md`" in note and report["artifact"] == before["artifact"]
        assert "another version" in desk.run("show", "last").out


def test_a_target_that_cannot_see_the_artifact_is_doubted(desk: Desk) -> None:
    """Before the run, on stderr: an answer that does not depend on the prompt passes whatever the
    prompt is.
    """
    desk.file("p.md", "apple\n")
    suite(desk, case("one"), head="artifact: p.md\n")
    blind, sees = (
        target(desk, body="print('apple')"),
        target(desk, name="sees", body="print('apple', os.environ['HONESTONE_ARTIFACT'])"),
    )
    assert "`p.md` may not reach the target" in run(desk, "--target", blind.spec)[0].err
    for spec in (sees.spec, f"{blind.spec} {{ARTIFACT}}"):
        assert "may not reach" not in run(desk, "--target", spec)[0].err


def test_hostile_outputs_and_names_are_shown_harmless(desk: Desk) -> None:
    """Of a file that anybody may have written."""
    evil = "<script>alert(1)</script>\x1b[31m"
    suite(desk, "{id: one, input: one, checks: [{contains: absent}]}")
    document = {
        "target": evil,
        "cases": [
            {"id": "one", "shown_attempt": 1, "output": evil},
            {"id": evil, "shown_attempt": 1},
        ],
    }
    desk.file(f"{evil[:5]}.json", json.dumps(document))
    result = desk.run("eval", "suite.yaml", "--outputs", f"{evil[:5]}.json")
    assert (result.code, "\x1b" in result.out + result.err) == (1, False)
    page = desk.run("show", "last", "--format", "html").out
    assert "<script>alert" not in page
    assert "\x1b" not in page


def test_from_python_as_from_the_command(desk: Desk) -> None:
    """`run_suite(outputs=...)`."""
    suite(desk, *TWO)
    path = desk.file("rec.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    report = honestone.run_suite(
        "suite.yaml", outputs=path, folder=desk.folder, store=Path("store")
    )
    assert statuses(report) == {"one": "passed", "two": "failed"}
    with pytest.raises(honestone.UsageError, match="--target"):
        honestone.run_suite(
            "suite.yaml", outputs=path, target="mock", folder=desk.folder, store=Path("store")
        )


# -------------------------------------------------------------------------------------------------------------
# the note


def noted(desk: Desk, *args: str) -> str | None:
    """The command that the note names."""
    err = desk.run("eval", "suite.yaml", *args).err
    found = [text for text in err.splitlines() if text.startswith("hint: since the last run")]
    return found[0].rpartition(": ")[2] if found else None


@pytest.mark.slow
def test_the_command_is_named_only_where_it_would_do(desk: Desk) -> None:
    """Where checks, judges or bars are all that changed, with the options that judge; not where
    nothing changed, nor an input, the program, a module next to it or the artifact.
    """
    program, _ = made(desk)
    spec = ("--target", program.spec)
    assert noted(desk, *spec) is None
    suite(desk, *TWO[:1], case("two"))
    assert noted(desk, *spec) == "honestone eval suite.yaml --outputs last"
    assert noted(desk, *spec, "--min-pass-rate", "0.5", "--case", "one") == (
        "honestone eval suite.yaml --outputs last --case one --min-pass-rate 0.5"
    )
    suite(desk, *TWO)
    assert noted(desk, *spec, "--case", "one", "--case", "two") is None  # the last run had no `two`
    suite(desk, case("one", wanted="one"), case("two").replace("two apple", "another apple"))
    assert noted(desk, *spec) is None
    suite(desk, *TWO[:1], case("two").replace("two apple", "another apple"))
    target(desk, body="print(text + '!')")
    assert noted(desk, *spec) is None
    desk.file("mine.md", "x")
    suite(desk, *TWO)
    assert noted(desk, *spec, "--artifact", "mine.md") is None


def test_the_command_works_as_named(desk: Desk) -> None:
    """With a quoted judge, from the run before this one."""
    judge = desk.judge()
    cases = ("{id: one, input: one apple, rubric: [says pear]}",)
    program, _ = made(desk, "--judge", judge.spec, cases=cases)
    suite(desk, "{id: one, input: one apple, rubric: [says apple]}")
    command = noted(desk, "--target", program.spec, "--judge", judge.spec)
    assert command is not None
    import shlex

    result = desk.run(*shlex.split(command)[1:], "--json")
    assert (result.code, result.json["outputs"][:4], program.calls) == (0, "run ", 2)


# -----------------------------------------------------------------------------------------------------------
# repeatable


def repeatable(desk: Desk, *cases: str, body: str = "print(text)", more: str = "") -> Program:
    program = target(desk, body=body)
    suite(desk, *cases, head=f"target: {{use: '{program.spec}', repeatable: true}}\n{more}")
    return program


def usage(report: dict[str, Any]) -> tuple[int, int]:
    return report["usage"]["target_calls"], report["usage"]["cached_outputs"]


@pytest.mark.slow
def test_a_repeatable_target_is_asked_for_what_changed(desk: Desk) -> None:
    """The input of one case, its attempts, the artifact, the program, a module that it imports;
    `--fresh` asks again.
    """
    desk.file("prompt.md", "v1")
    desk.file("helper.py", "x = 1\n")
    program = repeatable(
        desk,
        *TWO,
        body="sys.path.insert(0, os.path.dirname(__file__))\nimport helper\nprint(text)",
        more="artifact: prompt.md\n",
    )
    assert usage(run(desk)[1]) == (2, 0)
    result, report = run(desk)
    assert usage(report) == (0, 2)
    assert statuses(report) == {"one": "passed", "two": "failed"}
    assert "2 recorded outputs" in desk.run("show", "last").out
    assert usage(run(desk, "--attempts", "2")[1]) == (2, 2)
    desk.file("prompt.md", "v2")
    assert usage(run(desk)[1]) == (2, 0)
    assert usage(run(desk, "--fresh")[1]) == (2, 0)
    text = (desk.folder / "suite.yaml").read_text()
    (desk.folder / "suite.yaml").write_text(text.replace("two apple", "second apple"))
    assert usage(run(desk)[1]) == (1, 1)
    program.path.write_text(program.path.read_text() + "# newer\n")
    assert usage(run(desk)[1]) == (2, 0)
    desk.file("helper.py", "x = 2\n")
    assert usage(run(desk)[1]) == (2, 0)
    assert (usage(run(desk)[1]), result.code) == ((0, 2), 1)


def test_an_error_is_no_output_and_another_target_is_not_repeatable(desk: Desk) -> None:
    """What failed is asked again. The suite speaks of its own target, not of one that is named
    instead.
    """
    repeatable(desk, *TWO, body="if text.startswith('two'):\n    sys.exit(1)\nprint(text)")
    assert [usage(run(desk)[1]) for _ in range(2)] == [(2, 0), (1, 1)]
    other = target(desk, "other")
    assert [usage(run(desk, "--target", other.spec)[1]) for _ in range(2)] == [(2, 0), (2, 0)]


def test_a_workspace_that_was_not_kept_is_made_again(desk: Desk) -> None:
    """An output from before a check looked at files has none: its target is asked once more."""
    body = "open('a.txt', 'w').write('new')\nprint(text)"
    work = "workspace: {files: {a.txt: old}}"
    judge = desk.judge()
    repeatable(desk, f"{{id: one, input: one apple, {work}, rubric: [says apple]}}", body=body)
    assert usage(run(desk, "--judge", judge.spec)[1]) == (1, 0)
    repeatable(
        desk,
        f"{{id: one, input: one apple, {work}, checks: [{{command: grep new a.txt}}]}}",
        body=body,
    )
    assert [(usage(report), report["verdict"]) for _, report in (run(desk), run(desk))] == [
        ((1, 0), "pass"),
        ((0, 1), "pass"),
    ]


def test_a_damaged_output_on_record_is_asked_for_again(desk: Desk) -> None:
    """As a damaged reply is."""
    import sqlite3

    repeatable(desk, *TWO)
    run(desk)
    with sqlite3.connect(desk.folder / ".honestone" / "store.db") as db:
        db.execute('update replies set data = cast(\'{"type": "produced"}\' as blob)')
    assert usage(run(desk)[1]) == (2, 0)


@pytest.mark.slow
def test_a_table_is_judged_again_column_by_column(desk: Desk) -> None:
    """`last` and the table's run have all its columns; a column's own run is one."""
    suite(desk, *TWO)
    programs = [target(desk, name, f"print(text, '{name}')") for name in ("pear", "plum")]
    asked = [word for one in programs for word in ("--target", one.spec)]
    _, before = run(desk, *asked)
    suite(desk, TWO[0], case("two", wanted="plum"))
    named = noted(desk, *asked)
    assert named == "honestone eval suite.yaml --outputs last"
    for source in ("last", before["run"]):
        _, table = run(desk, "--outputs", source)
        assert [one["verdict"] for one in table["columns"]] == ["fail", "pass"]
        assert [one["name"] for one in table["columns"]] == [
            one["name"] for one in before["columns"]
        ]
        assert table["usage"]["target_calls"] == 0
    _, one = run(desk, "--outputs", before["columns"][1]["run"])
    assert (one["verdict"], [program.calls for program in programs]) == ("pass", [4, 4])
