"""The survey of other tools' files: which files count, in which half, and that the figures of the
docs are its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[1]
sys.path.insert(0, str(REPO / "tools"))

import formats_survey  # noqa: E402

EVALS = '{"skill_name": "s", "evals": [{"id": 1, "prompt": "%s", "assertions": ["a"]%s}]}'


def repository(folder: Path, name: str, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text)
    return folder


def test_files_count_by_name_and_words_and_equal_ones_once(tmp_path: Path) -> None:
    """A copy in a fork does not count again, nor do notes with a fitting name, nor more than ten
    files of one author.
    """
    repository(
        tmp_path,
        "a+one",
        {"evals/evals.json": EVALS % ("x", ""), "promptfooconfig.yaml": "notes: none\n"},
    )
    repository(tmp_path, "b+fork", {"evals/evals.json": EVALS % ("x", "")})
    repository(tmp_path, "c+many", {f"s{n}/evals/evals.json": EVALS % (n, "") for n in range(14)})
    repository(
        tmp_path,
        "d+foo",
        {"promptfooconfig.yaml": "prompts: [a]\nproviders: [echo]\ntests: [{vars: {}}]\n"},
    )
    repository(
        tmp_path,
        "e+promptfoo",
        {"examples/x/promptfooconfig.yaml": "prompts: [b]\ntests: [{vars: {}}]\n"},
    )
    found = [(one.tool, one.root.name) for one in formats_survey.files_in(tmp_path)]
    assert found.count(("Agent Skills", "a+one")) == 1 and ("Agent Skills", "b+fork") not in found
    assert found.count(("Agent Skills", "c+many")) == 10
    assert [one for one in found if "promptfoo" in one[0]] == [
        ("promptfoo configs", "d+foo"),
        ("promptfoo's own examples", "e+promptfoo"),
    ]


def test_a_dataset_of_inspect_is_a_list_or_lines(tmp_path: Path) -> None:
    """A JSON file that is one sample is none of its data sets: Inspect refuses it."""
    one, two = '{"input": "a", "target": "b"}', '{\n "input": "c",\n "target": "d"\n}'
    files = {"one.json": one, "two.json": two, "list.json": f"[{two}]", "lines.jsonl": one}
    repository(
        tmp_path,
        "o+r",
        {"task.py": "import inspect_ai\n", "table.csv": "input,target\na,b\n", **files},
    )
    found = [one.path.name for one in formats_survey.files_in(tmp_path) if one.tool == "Inspect"]
    assert sorted(found) == ["lines.jsonl", "list.json", "table.csv"]


def test_each_file_is_in_one_half_and_what_loads_is_counted(tmp_path: Path) -> None:
    """The halves are by name alone, so they stay when files are added; a loss and an error are told
    apart.
    """
    for number in range(30):
        more = {0: "", 1: ', "files": ["/none.txt"]', 2: ', "fail": 1'}[number % 3]
        repository(tmp_path, f"o+r{number}", {"evals/evals.json": EVALS % (number, more)})
    outcomes = [formats_survey.outcome(one) for one in formats_survey.files_in(tmp_path)]
    halves = formats_survey.document(outcomes)["tools"]["Agent Skills"]
    both = [halves["tuned"], halves["measured"]]
    assert all(half["files"] for half in both)
    assert [
        sum(half[key] for half in both) for key in ("files", "as_they_are", "with_accept_loss")
    ] == [30, 10, 20]
    names = {one.found.name: one.found.half for one in outcomes}
    (tmp_path / "o+r0").rename(tmp_path / "o+other")
    again = {one.name: one.half for one in formats_survey.files_in(tmp_path)}
    assert (
        all(again[name] == half for name, half in names.items() if name in again)
        and len(again) == 30
    )


def test_nothing_of_the_measured_half_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--show` is for tuning: it names files of the tuned half alone."""
    for number in range(20):
        repository(tmp_path, f"o+r{number}", {"evals/evals.json": EVALS % (number, ', "promt": 1')})
    outcomes = [formats_survey.outcome(one) for one in formats_survey.files_in(tmp_path)]
    formats_survey.show(outcomes, 5)
    said = capsys.readouterr().out
    for one in outcomes:
        assert (f"{one.found.name}:" in said) == (one.found.half == "tuned")


def test_the_sentence_of_the_readme_is_that_of_the_figures() -> None:
    """README says what bench/formats-survey.json holds; `make formats-survey` writes both."""
    result = json.loads(formats_survey.RESULT.read_text("utf-8"))
    text = formats_survey.README.read_text("utf-8")
    assert text == formats_survey.with_sentence(text, formats_survey.sentence(result["tools"]))


def test_without_a_folder_it_says_what_it_needs() -> None:
    """The tool as a command: exit 2 with its usage."""
    ended = subprocess.run(
        [sys.executable, str(REPO / "tools/formats_survey.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 2 and "folder" in ended.stderr
