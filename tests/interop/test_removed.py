"""Files of formats that earlier versions read are refused by name, with what to use instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from honestone.core.errors import UsageError
from honestone.interop.recognise import read_any_rubric, read_any_suite

WAZA = "name: e\nskill: greeter\nconfig: {trials_per_task: 1}\ntasks: [tasks/*.yaml]\n"
WAZA_TASK = "id: t\nname: T\ninputs: {prompt: three words}\ngraders: []\n"
TRIGGERS = "skill: s\nshould_trigger_prompts: [{prompt: a}]\nshould_not_trigger_prompts: []\n"
WAZA_RUBRIC = "name: p\nevaluation_criteria: c\nrating_levels: [{value: 1, label: rude}]\n"
VERIFIERS = '[[criteria]]\nname = "gain"\ntext = "Does it say it?"\n'
ROWS = '{"prompt": [{"role": "user", "content": "2 + 2"}], "answer": "4", "info": {}}\n' * 2
CHECKEVAL = "definition: d\nsub_aspect: {a: [Is it so?]}\n"


@pytest.mark.parametrize(
    ("name", "text", "what", "instead"),
    [
        ("eval.yaml", WAZA, "a file of waza,", "Vally"),
        ("task.yaml", WAZA_TASK, "a file of waza,", "Vally"),
        ("trigger.yaml", TRIGGERS, "waza's trigger tests", "should_trigger"),
        ("w.yaml", WAZA_RUBRIC, "a rubric of waza", "anchors"),
        ("v.toml", VERIFIERS, "a verifiers rubric", "anchors"),
        ("v.json", '{"criteria": [{"name": "a", "text": "b"}]}', "a verifiers rubric", "anchors"),
        ("rows.jsonl", ROWS, "a verifiers data set", "suite new --from"),
        ("bank.yaml", CHECKEVAL, "a CheckEval question bank", "items"),
    ],
)
@pytest.mark.parametrize("read", [read_any_rubric, read_any_suite])
def test_a_file_of_a_removed_format_is_refused_by_name(
    tmp_path: Path, read: object, name: str, text: str, what: str, instead: str
) -> None:
    """Whichever command reads it, and at its first line."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        read(path)  # type: ignore[operator]
    assert what in refused.value.message
    assert "does not read any more" in refused.value.message
    assert instead in (refused.value.hint or "")
    assert refused.value.place == f"{path}:1:1"


@pytest.mark.parametrize("name", ["waza", "waza-task", "waza-rubric", "verifiers", "checkeval"])
def test_the_name_of_a_removed_format_is_refused_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: 1\n")
    with pytest.raises(UsageError, match="does not read any more"):
        read_any_suite(path, read_as=name)


def test_a_format_that_is_read_comes_before_a_removed_one(tmp_path: Path) -> None:
    """A file that a reader recognises as well or better is that reader's."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "input": "q", "target": "4", "answer": "x"}\n' * 2)
    with pytest.raises(UsageError) as refused:
        read_any_suite(path)
    assert "any more" not in refused.value.message
