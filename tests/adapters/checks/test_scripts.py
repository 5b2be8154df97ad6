"""The check `script` and `transform`: code in Node and Python, confined, with what it hears and
what its replies mean.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.checks import CheckRunner, scripts
from honestone.core.artifact import Entry, Version
from honestone.core.checking.check_problems import read_check
from honestone.core.errors import UsageError
from honestone.ports import Finding, Output
from honestone.system.processes.sandbox import Sandbox

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
LANGUAGES = ["python", pytest.param("javascript", marks=needs_node)]
TRUE = {"python": "True", "javascript": "true"}
LENGTH = {"python": "len(output)", "javascript": "output.length"}


@pytest.fixture(autouse=True)
def own_temporary_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Private copies are made here, and nothing may be left of them."""
    place = tmp_path_factory.mktemp("private")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.iterdir()) == []


def find(
    base: Path, written: dict[str, Any], output: str | None = "three small words", **more: Any
) -> Finding:
    version = Version({"a.md": Entry(b"the artifact")}, is_folder=False)
    made = None if output is None else Output(text=output)
    check = read_check(written)
    runner = CheckRunner(base)
    runner.preflight([check])
    (found,) = asyncio.run(runner.run([check], version, made, **more))
    return found


def inline(language: str, code: str, **options: Any) -> dict[str, Any]:
    return {"script": {"language": language, "code": code}, **options}


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_expression(tmp_path: Path, language: str) -> None:
    """One line, of the output; negated its answer is turned round."""
    assert (found := find(tmp_path, inline(language, f"{LENGTH[language]} < 20"))).met is True
    assert found.score == 100
    script = inline(language, f"{LENGTH[language]} < 20")["script"]
    found = find(tmp_path, {"not-script": script})
    assert (found.met, found.score, found.note) == (False, 0, "returned true")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_number_is_a_score(tmp_path: Path, language: str) -> None:
    """Its bar is the threshold, and the score is shown with either answer."""
    low, high = (find(tmp_path, inline(language, "0.25", threshold=bar)) for bar in (0.5, 0.25))
    assert (low.met, low.score, high.met, high.score) == (False, 25, True, 25)
    assert low.note == "returned 0.25, threshold 0.5"


@needs_node
def test_a_declaration_and_an_expression_on_one_line(tmp_path: Path) -> None:
    """The value is that of the last one, whatever stands in texts."""
    assert (
        find(tmp_path, inline("javascript", "const s = output + ';x'; s.endsWith(';x')")).met
        is True
    )


@pytest.mark.parametrize(
    ("language", "code"),
    [
        (
            "python",
            "n = len(output.split())\nreturn {'pass': n == context['vars']['n'], 'score': 0.5, 'reason': context['prompt']}",
        ),
        pytest.param(
            "javascript",
            "const n = output.split(' ').length;\nreturn {pass: n === context.vars.n, score: 0.5, reason: context.prompt};",
            marks=needs_node,
        ),
    ],
)
def test_the_body_of_a_function_with_its_context(tmp_path: Path, language: str, code: str) -> None:
    """Several lines return by themselves; the context has the vars of the case, and its input."""
    found = find(
        tmp_path, inline(language, code, context={"vars": {"n": 3}}), input="What is small?"
    )
    assert (found.met, found.score, found.note) == (True, 50, "What is small?")


GRADE_JS = """\
const help = require('./help.js');
module.exports = async (output, context) => help.small(output);
module.exports.named = (output) => ({ pass: false, score: 0.75, reason: 'no zebra' });
"""
GRADE_PY = "import aid\ndef get_assert(output, context): return aid.small(output)\nasync def named(output, context):\n    return {'pass': False, 'score': 0.75, 'reason': 'no zebra'}\n"


@pytest.mark.parametrize(
    ("language", "file", "function"),
    [
        ("python", "grade.py", "get_assert"),
        pytest.param("javascript", "grade.js", None, marks=needs_node),
        pytest.param("javascript", "grade.mjs", None, marks=needs_node),
    ],
)
def test_a_function_in_a_file(
    tmp_path: Path, language: str, file: str, function: str | None
) -> None:
    """With the modules next to it; also one that is named, and one that is awaited."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "grade.js").write_text(GRADE_JS)
    (code / "help.js").write_text("exports.small = (text) => text.includes('small');\n")
    (code / "grade.mjs").write_text(
        "export default (output) => output.includes('small');\nexport const named = () => ({ pass: false, score: 0.75, reason: 'no zebra' });\n"
    )
    (code / "grade.py").write_text(GRADE_PY)
    (code / "aid.py").write_text("def small(text): return 'small' in text\n")
    script = {
        "language": language,
        "file": f"code/{file}",
        **({} if function is None else {"function": function}),
    }
    assert find(tmp_path, {"script": script}).met is True
    if file != "grade.mjs":
        found = find(tmp_path, {"script": {**script, "function": "named"}})
        assert (found.met, found.score, found.note) == (False, 75, "no zebra")


@pytest.mark.parametrize("language", LANGUAGES)
def test_code_that_fails_is_unmet_negated_or_not(tmp_path: Path, language: str) -> None:
    """Its message is the note; so is that of a reply of another kind."""
    code = {"python": "\nraise ValueError('BOOM')", "javascript": "\nthrow new Error('BOOM')"}[
        language
    ]
    for name in ("script", "not-script"):
        found = find(tmp_path, {name: {"language": language, "code": code}})
        assert (found.met, found.score) == (False, 0)
        assert "BOOM" in (found.note or "")
        odd = find(tmp_path, {name: {"language": language, "code": "[1]"}})
        assert odd.met is False and "must return" in (odd.note or "")


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_code_that_does_not_end_is_open(tmp_path: Path, language: str) -> None:
    """Nothing is known of what reaches its limit."""
    code = {"python": "\nwhile True: pass", "javascript": "\nwhile (true) {}"}[language]
    found = find(tmp_path, inline(language, code, timeout=2))
    assert (found.met, found.score) == (None, None)
    assert "still running after 2 s" in (found.note or "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_code_that_ends_its_process_is_unmet(tmp_path: Path, language: str) -> None:
    """It gave no answer, whatever its exit code is."""
    code = {"python": "\nimport os; os._exit(0)", "javascript": "\nprocess.exit(0)"}[language]
    found = find(tmp_path, inline(language, code))
    assert found.met is False and "without an answer (exit 0)" in (found.note or "")


@pytest.mark.skipif(Sandbox.choose("auto").name == "none", reason="no sandbox works here")
@pytest.mark.parametrize("language", LANGUAGES)
def test_code_writes_nothing_outside(tmp_path: Path, language: str) -> None:
    """It is confined like every program of a check."""
    mark = tmp_path / "mark"
    code = {
        "python": f"\nopen({str(mark)!r}, 'w')\nreturn True",
        "javascript": f"\nprocess.mainModule.require('fs').writeFileSync({str(mark)!r}, '');\nreturn true",
    }[language]
    assert find(tmp_path, inline(language, code)).met is False
    assert not mark.exists()


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_transform_comes_before_the_check(tmp_path: Path, language: str) -> None:
    """Any check of a text; one after another, and a script gets the value itself."""
    parsed = {
        "python": {"language": "python", "file": "t.py", "function": "get_transform"},
        "javascript": {"language": "javascript", "code": "JSON.parse(output)"},
    }[language]
    (tmp_path / "t.py").write_text(
        "import json\ndef get_transform(output, context): return json.loads(output)\n"
    )
    part = {"language": "python", "code": "output['a']"}
    said = '{"a": "xyz"}'
    assert find(tmp_path, {"equals": '{"a":"xyz"}', "transform": parsed}, said).met is True
    assert find(tmp_path, {"equals": "xyz", "transform": [parsed, part]}, said).met is True
    assert find(tmp_path, {"not-equals": "xyz", "transform": [parsed, part]}, said).met is False
    assert (
        find(tmp_path, inline("python", "output['a'] == 'xyz'", transform=parsed), said).met is True
    )


@pytest.mark.parametrize("name", ["equals", "not-equals"])
def test_a_transform_that_fails_meets_nothing(tmp_path: Path, name: str) -> None:
    """Negated or not, with the reason."""
    found = find(tmp_path, {name: "x", "transform": {"language": "python", "code": "1 / 0"}})
    assert found.met is False and "transform: ZeroDivisionError" in (found.note or "")
    found = find(tmp_path, {name: "x", "transform": {"language": "python", "code": "None"}})
    assert found.met is False and "returned nothing" in (found.note or "")


def test_without_node_the_check_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is run, with the name of the program and of the check."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="`script` runs javascript, but `node` was not found"):
        find(tmp_path, inline("javascript", "true"))
    with pytest.raises(UsageError, match="`equals` runs javascript"):
        find(tmp_path, {"equals": "x", "transform": {"language": "javascript", "code": "1"}})


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the file `no\.py` of the check `script` is missing"):
        find(tmp_path, {"script": {"language": "python", "file": "no.py", "function": "f"}})


def test_its_files_are_part_of_the_identity(tmp_path: Path) -> None:
    """Of a transform too; they judge, and no proposal may touch them."""
    (tmp_path / "g.py").write_text("def f(output, context): return True\n")
    filed = {"language": "python", "file": "g.py", "function": "f"}
    for written in ({"script": filed}, {"contains": "x", "transform": filed}):
        check, runner = read_check(written), CheckRunner(tmp_path)
        before = runner.identity(check)
        assert runner.judging_files([check]) == [tmp_path / "g.py"]
        (tmp_path / "g.py").write_text((tmp_path / "g.py").read_text() + "# another\n")
        assert CheckRunner(tmp_path).identity(check) != before


def test_code_that_checks_share_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try starts a program in a sandbox."""
    tried = list[Any]()
    run = scripts.code.run_confined

    def counted(*words: Any, **more: Any) -> Any:
        tried.append(words)
        return run(*words, **more)

    monkeypatch.setattr(scripts.code, "run_confined", counted)
    (tmp_path / "words.txt").write_text("good")
    (tmp_path / "grade.py").write_text("def grade(output, context):\n    open('words.txt')\n")
    value = {"language": "python", "file": "grade.py", "function": "grade"}
    checks = [read_check({"script": value}) for _ in range(5)]
    runner = CheckRunner(tmp_path)
    for check in checks:
        runner.preflight([check])
    assert len(tried) == 1
