"""`check` and `eval` over the same broken files: what one refuses, the other refuses, in the same
words and with a line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .desk import Desk

# A check that cannot be run, and what both commands say of it.
BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"json-schema": {"type": "objekt"}}, "not a valid JSON Schema"),
    ({"json-schema": {"type": "string", "pattern": "("}}, "not a valid JSON Schema"),
    ({"json-schema": {"properties": [1]}}, "not a valid JSON Schema"),
    ({"json-schema": {"type": "string", "format": 3}}, "not a valid JSON Schema"),
    ({"json-schema": {"required": "name"}}, "not a valid JSON Schema"),
    ({"contains-json": {"type": 5}}, "not a valid JSON Schema"),
    ({"function-calls": {"f": {"type": "objekt"}}}, "not a valid JSON Schema"),
    ({"json-schema": "broken.json"}, "not JSON"),
    ({"script": {"language": "python", "file": "absent.py", "function": "f"}}, "is missing"),
    (
        {
            "script": {"language": "python", "code": "True"},
            "transform": {"language": "python", "file": "no.py", "function": "f"},
        },
        "missing",
    ),
]


@pytest.mark.parametrize(("check", "words"), BROKEN)
def test_a_check_that_cannot_run_is_refused_by_check_and_by_eval(
    desk: Desk, check: dict[str, Any], words: str
) -> None:
    """In a suite and in a rubric: exit 2 with the file, the line and the reason, before anything is
    asked.
    """
    desk.file("broken.json", "{nope")
    desk.file("a.txt", "text")
    case = {"id": "one", "input": "x", "checks": [check]}
    desk.file("s.yaml", f"suite: 1\ntarget: cmd:cat\ncases:\n  - {json.dumps(case)}\n")
    desk.file(
        "r.yaml",
        f"rubric: 1\ncriteria:\n  - {json.dumps({'id': 'c', 'requirement': 'q', 'check': check})}\n",
    )
    said = [desk.run("suite", "check", "s.yaml"), desk.run("eval", "s.yaml")]
    for result in said:
        assert result.code == 2 and words in result.err and "s.yaml:4:" in result.err, result
    assert said[0].err.splitlines()[-2:] == said[1].err.splitlines()[-2:]
    for result in (
        desk.run("rubric", "check", "r.yaml"),
        desk.run("eval", "a.txt", "-r", "r.yaml"),
    ):
        assert result.code == 2 and words in result.err, result


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": [{"type": "number"}, {"type": "string"}]},
        {"type": "string", "format": "date"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "number"}]},
    ],
)
def test_a_schema_of_draft_7_is_read_by_both(desk: Desk, schema: dict[str, Any]) -> None:
    """A list of `items` is a schema of the draft that most programs read."""
    case = {
        "id": "one",
        "input": '[1, "a"]',
        "checks": [{"contains": "1"}, {"not-json-schema": {"not": schema}}],
    }
    desk.file("s.yaml", f"suite: 1\ntarget: cmd:cat\ncases: [{json.dumps(case)}]\n")
    assert desk.run("suite", "check", "s.yaml").code == 0
    assert desk.run("eval", "s.yaml").code in (0, 1)


@pytest.mark.parametrize("row", ["b,x", "b", "b,x,y,z", '"b,x,y'])
@pytest.mark.parametrize("how", ["native", "promptfoo"])
def test_rows_of_another_length_are_refused_with_their_line(desk: Desk, how: str, row: str) -> None:
    """A row with fewer or more cells than there are columns would put a value under another name."""
    desk.file("t.csv", f"id,input,reference\na,x,y\n{row}\n")
    if how == "native":
        name = desk.file("s.yaml", "suite: 1\ntarget: cmd:cat\nrubric: [good]\ncases: t.csv\n").name
    else:
        config = "prompts: ['{{input}}']\nproviders: [echo]\ntests: t.csv\ndefaultTest: {assert: [{type: contains, value: x}]}\n"
        name = desk.file("promptfooconfig.yaml", config).name
    for command in (["suite", "check", name], ["eval", name]):
        result = desk.run(*command)
        assert result.code == 2 and "t.csv:3" in result.err, result


@pytest.mark.parametrize(
    ("named", "is_there"),
    [
        ("evals/files/one.diff", True),
        ("files/one.diff", True),
        ("skills/sync/evals/files/one.diff", True),
        ("skills/sync/evals/files/two.diff", False),
        ("evals/files", True),
    ],
)
def test_input_files_are_found_from_the_root_of_the_repository_or_are_a_loss(
    desk: Desk, named: str, is_there: bool
) -> None:
    """An eval names its inputs from the skill or from the root of the repository. One that is not
    there is a loss, for `check`, `convert` and `eval` alike.
    """
    (desk.folder / ".git").mkdir()
    desk.file(".git/HEAD", "ref: refs/heads/main\n")
    eval_ = {"id": 1, "prompt": "Sync", "files": [named], "expectations": ["Mentions the flag"]}
    folder = Path("skills/sync")
    desk.file(
        str(folder / "SKILL.md"), "---\nname: sync\ndescription: Sync the docs.\n---\nSync.\n"
    )
    desk.file(
        str(folder / "evals/evals.json"), json.dumps({"skill_name": "sync", "evals": [eval_]})
    )
    desk.file(str(folder / "evals/files/one.diff"), "zebra switch\n")
    for command in (
        ["suite", "check"],
        ["suite", "convert"],
        ["eval", "--target", "mock", "-j", "mock"],
    ):
        result = desk.run(*command, folder / "evals/evals.json")
        assert (result.code != 2) is is_there, (command, result)
        assert is_there or "is not there" in result.err
    converted = desk.run("suite", "convert", folder / "evals/evals.json")
    assert ("zebra switch" in converted.out) is is_there


def test_a_program_that_is_not_installed_here_is_a_note_of_check_and_an_error_of_eval(
    desk: Desk,
) -> None:
    """The file may be right for the machine that runs it. A path that leads nowhere is wrong
    everywhere.
    """
    desk.file("text.md", "hello\n")
    rubric = "rubric: 1\ncriteria:\n  - {id: a, requirement: It runs, check: {command: PROGRAM}}\n"
    desk.rubric(rubric.replace("PROGRAM", "no-such-program-here --x"))
    checked = desk.run("rubric", "check", "rubric.yaml")
    assert checked.code == 0, checked.err
    assert "not here: " in checked.out + checked.err
    judged = desk.run("eval", "text.md", "--rubric", "rubric.yaml")
    assert judged.code == 2
    assert "command not found: no-such-program-here" in judged.err


@pytest.mark.parametrize("command", ["suite check", "eval", "rubric check", "eval -r"])
def test_a_file_that_code_reads_is_tried(desk: Desk, command: str) -> None:
    """One that is not there, and one that code may not read, are refused before anything is asked;
    --allow-outside gives its folders to code as to everything else.
    """
    of_rubric = command in ("rubric check", "eval -r")
    desk.file("shared/words.txt", "good\n")
    desk.file("evals/a.txt", "good")
    desk.file(
        "evals/grade.py",
        "from pathlib import Path\n\nWORDS = Path(__file__).parent.parent / 'shared' / 'NAME'\n\n"
        "def grade(output, context):\n    return WORDS.read_text().strip() == output.strip()\n",
    )
    check = {"script": {"language": "python", "file": "grade.py", "function": "grade"}}
    case = {"id": "one", "input": "good", "checks": [check]}
    desk.file("evals/s.yaml", f"suite: 1\ntarget: cmd:cat\ncases:\n  - {json.dumps(case)}\n")
    criterion = {"id": "c", "requirement": "q", "check": check}
    desk.file("evals/r.yaml", f"rubric: 1\ncriteria:\n  - {json.dumps(criterion)}\n")

    def run(*more: str) -> Any:
        words = {
            "suite check": ("suite", "check", "evals/s.yaml"),
            "eval": ("eval", "evals/s.yaml"),
            "rubric check": ("rubric", "check", "evals/r.yaml"),
            "eval -r": ("eval", "evals/a.txt", "-r", "evals/r.yaml"),
        }
        return desk.run(*words[command], *more)

    missing = run("--allow-outside", "shared")
    assert missing.code == 2, missing
    assert "(grade.py:6) reads `../shared/NAME`, which is not there" in missing.err
    assert of_rubric or "case `one`" in missing.err
    grader = desk.folder / "evals/grade.py"
    grader.write_text(grader.read_text().replace("NAME", "words.txt"))
    hidden = run()
    assert hidden.code == 2, hidden
    assert "which code may not read" in hidden.err and "--allow-outside" in hidden.err
    assert run("--sandbox", "none").code == 0 or command.endswith("check")
    allowed = run("--allow-outside", "shared")
    assert allowed.code == 0, allowed


def test_a_name_that_no_file_can_have_is_not_there(desk: Desk) -> None:
    name = "a" * 300
    desk.file("grade.py", f"def grade(output, context):\n    return open('{name}').read()\n")
    check = {"script": {"language": "python", "file": "grade.py", "function": "grade"}}
    case = {"id": "one", "input": "good", "checks": [check]}
    desk.file("s.yaml", json.dumps({"suite": 1, "target": "cmd:cat", "cases": [case]}))
    checked = desk.run("suite", "check", "s.yaml")
    assert checked.code == 2, checked
    assert "case `one`" in checked.err and "(grade.py:2)" in checked.err
    assert "which is not there" in checked.err
