"""Inspect datasets as JSON, JSON lines and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import lost, never_crashes, put, suite_of, wrong

from honestone.core.errors import UsageError
from honestone.core.json_value import Json
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.interop.inspect_dataset.read import READERS
from honestone.interop.recognise import read_any_suite, recognise
from property_examples import examples

PNG = b"\x89PNG\r\n\x1a\n\0"


def test_lines_lists_and_tables_are_the_same_dataset(tmp_path: Path) -> None:
    """A sample is a case: its target is what a judge is asked about, and the reference."""
    samples = [{"input": "2+2?", "target": "4"}, {"input": "Capital, of Peru?", "target": "Lima"}]
    lines = put(tmp_path, "\n".join(json.dumps(sample) for sample in samples), name="d.jsonl")
    listed = put(tmp_path, json.dumps(samples), name="d.json")
    table = put(tmp_path, 'input,target\n2+2?,4\n"Capital, of Peru?",Lima\n', name="d.csv")
    for document in (lines, listed, table):
        assert recognise(document) is READERS[0]
        first, second = suite_of(READERS[0], document).suite.cases
        assert (first.id, first.input, first.reference) == ("1", "2+2?", "4")
        assert second.input == "Capital, of Peru?"
        assert second.rubric.criteria[0].requirement == "Gives the expected answer: Lima"


def test_several_targets_are_any_of_them(tmp_path: Path) -> None:
    """One question that names them all, as written."""
    (case,) = suite_of(
        READERS[0], put(tmp_path, '[{"id": 7, "input": "?", "target": ["100", 1.50]}]')
    ).suite.cases
    assert case.id == "7"
    assert "- 100\n- 1.5" in case.rubric.criteria[0].requirement


def test_choices_stand_below_the_input(tmp_path: Path) -> None:
    """A letter as target becomes the choice that it means."""
    text = '[{"input": "Largest?", "choices": ["Moon", "Sun"], "target": "B"}]'
    (case,) = suite_of(READERS[0], put(tmp_path, text)).suite.cases
    assert case.input == "Largest?\n\nA) Moon\nB) Sun"
    assert case.rubric.criteria[0].requirement == "Gives the expected answer: B) Sun"


def test_chats_files_and_metadata(tmp_path: Path) -> None:
    """Messages stay messages, files become the workspace, other fields are kept and told."""
    sample = {
        "input": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        ],
        "target": "x",
        "metadata": {"a": 1},
        "level": 3,
        "files": {"notes.txt": "beside.txt", "in.txt": "as it\nstands"},
    }
    source = suite_of(READERS[0], put(tmp_path, json.dumps([sample]), beside_txt="from the file"))
    (case,) = source.suite.cases
    assert [(m.role, m.content) for m in case.messages] == [("system", "Be brief"), ("user", "Hi")]
    assert case.workspace is not None and case.workspace.files == {
        "notes.txt": "from the file",
        "in.txt": "as it\nstands",
    }
    assert case.metadata == {"a": 1, "level": 3}
    assert any("`level`" in note for note in source.notes)


def test_images_are_read_from_files_next_to_the_data_set(tmp_path: Path) -> None:
    """As Inspect sends them: a path is looked for from the folder of the data set. One that is not
    there is a loss, as Inspect finds out only when it asks the model; one that leads out is an
    error.
    """
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/dot.png").write_bytes(PNG)

    def sample(name: str) -> str:
        content = [{"type": "text", "text": "How many dots?"}, {"type": "image", "image": name}]
        return json.dumps({"input": [{"role": "user", "content": content}], "target": "1"}) + "\n"

    source = suite_of(READERS[0], put(tmp_path, sample("pictures/dot.png"), name="d.jsonl"))
    (case,) = source.suite.cases
    assert [image.data for image in case.images] == [PNG] and not source.losses
    assert tmp_path / "pictures/dot.png" in source.files
    assert (
        "no.png` not found"
        in lost(suite_of(READERS[0], put(tmp_path, sample("no.png"), name="e.jsonl")))[0]
    )
    assert (
        "leads out" in wrong(READERS[0], put(tmp_path, sample("../../../x.png"), name="f.jsonl"))[0]
    )


def test_images_that_cannot_be_sent_are_lost(tmp_path: Path) -> None:
    """Of a kind that models do not take, or a part that is not even a mapping: a loss with its
    place.
    """
    for part in ({"type": "image", "image": "data:image/svg+xml;base64,PHN2Zz4="}, 1, None, True):
        sample = {
            "input": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, part]}],
            "target": "1",
        }
        source = suite_of(READERS[0], put(tmp_path, json.dumps([sample])))
        assert len(lost(source)) == 1 and source.suite.cases[0].input == "Hi"


def test_an_image_that_every_sample_names_has_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file cannot fill the memory."""
    monkeypatch.setattr("honestone.interop.sibling_files.MAX_IMAGES", 100)
    (tmp_path / "dot.png").write_bytes(PNG)
    sample = {
        "input": [{"role": "user", "content": [{"type": "image", "image": "dot.png"}]}],
        "target": "1",
    }
    document = put(tmp_path, "\n".join([json.dumps(sample)] * 9), name="d.jsonl")
    with pytest.raises(UsageError, match="images of this file come to more than"):
        READERS[0].read(document)


def test_files_of_the_workspace_that_cannot_be_read_are_errors(tmp_path: Path) -> None:
    """Without them the case would be another one."""
    (tmp_path / "x.bin").write_bytes(b"\0\1\xff")
    text = json.dumps([{"input": "a", "target": "b", "files": {"x": "x.bin"}}])
    assert "not UTF-8" in wrong(READERS[0], put(tmp_path, text))[0]


def test_what_needs_a_container_is_lost(tmp_path: Path) -> None:
    """Sandboxes, their scripts and sound are told, and nothing is run."""
    text = '{"input": [{"role": "user", "content": [{"type": "audio", "audio": "x.mp3"}]}], "target": "a", "sandbox": "docker", "setup": "rm -rf ~"}\n{"input": "b", "target": "c"}\n'
    found = lost(suite_of(READERS[0], put(tmp_path, text, name="d.jsonl")))
    assert len(found) == 3 and all(message.startswith("1:") for message in found)


def test_a_sample_without_a_target_is_skipped(tmp_path: Path) -> None:
    """Nothing says what a good output is, so it neither passes nor fails."""
    text = '[{"input": "a", "target": ""}, {"input": "b", "target": "c"}]'
    skipped, asked = suite_of(READERS[0], put(tmp_path, text)).suite.cases
    assert skipped.skip == "has no target" and asked.skip is None


def test_mistakes_have_their_lines(tmp_path: Path) -> None:
    """A slip in a key, a doubled id and a line with too many cells are errors of that line."""
    lines = '{"id": 1, "input": "a", "target": "x"}\n{"id": 1, "input": "b", "targt": "y"}\n'
    found = wrong(READERS[0], put(tmp_path, lines, name="d.jsonl"))
    assert found[0].startswith("2:") and "two samples have the id `1`" in found[0]
    lines = '{"id": 1, "input": "a", "target": "x"}\n{"id": 2, "input": "b", "targt": "y"}\n'
    assert any(
        m.startswith("2:") and "unknown key `targt`" in m
        for m in wrong(READERS[0], put(tmp_path, lines, name="d.jsonl"))
    )
    assert wrong(READERS[0], put(tmp_path, "input,target\na,b\nc,d,e\n", name="d.csv"))[
        0
    ].startswith("3:1 this row has 3 cells")


@pytest.mark.parametrize("name", ["/etc/x", "../x"])
def test_files_stay_in_the_workspace(tmp_path: Path, name: str) -> None:
    """A name that leads out is refused."""
    text = json.dumps([{"input": "a", "target": "b", "files": {name: "text"}}])
    assert "leads out of the workspace" in wrong(READERS[0], put(tmp_path, text))[0]


@pytest.mark.parametrize(
    "text",
    [
        '[{"input": "a"}]',
        '{"input": "a", "expected_output": "b"}',
        "input,criteria\na,b\n",
        '[{"prompt": "a", "target": "b"}]',
        "a: 1\n",
        "just words, input and more\n",
    ],
)
def test_files_of_others_are_not_claimed(tmp_path: Path, text: str) -> None:
    """Without an input and a target it is something else."""
    assert READERS[0].signs(put(tmp_path, text)) == 0


def test_the_example_of_the_docs_is_read_whole(tmp_path: Path) -> None:
    """The example in the reference pages loses nothing."""
    source = suite_of(READERS[0], put(tmp_path, READERS[0].example, name="d.jsonl"))
    assert [case.id for case in source.suite.cases] == ["tides", "boiling"] and not source.losses


values = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-1, 2, allow_nan=False)
    | st.text(max_size=8)
)
nested = st.recursive(
    values,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
message = (
    st.fixed_dictionaries({}, optional={"role": st.sampled_from(["user", "x"]), "content": nested})
    | nested
)
sample = (
    st.fixed_dictionaries(
        {},
        optional={
            "input": st.lists(message, max_size=2) | nested,
            "target": nested,
            "choices": nested,
            "id": values,
            "metadata": nested,
            "files": nested,
            "sandbox": nested,
            "x": nested,
        },
    )
    | nested
)


@settings(max_examples=examples(120), deadline=None)
@given(st.lists(sample, max_size=4), st.booleans())
def test_no_dataset_crashes_the_reader(samples: list[Any], as_lines: bool) -> None:
    """Whatever stands in a dataset, it is read or refused in words."""
    text = "\n".join(map(json.dumps, samples)) if as_lines else json.dumps(samples)
    never_crashes(READERS[0], Document(path=Path("d.jsonl"), text=text))


@settings(max_examples=examples(100), deadline=None)
@given(st.text(alphabet='ab,"\n', max_size=40))
def test_no_table_crashes_the_reader(rows: str) -> None:
    """Quotes and commas in any order."""
    never_crashes(READERS[0], Document(path=Path("d.csv"), text=f"input,target\n{rows}"))


def test_tool_calls_in_messages_are_text(tmp_path: Path) -> None:
    """A message that only calls a tool shows the call; both ways of writing a call are read."""
    calls = [
        {"id": "1", "function": "find", "arguments": {"a": 1}, "type": "function"},
        {"id": "2", "function": {"name": "open", "arguments": "{}"}},
    ]
    sample = {
        "input": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "content": "done", "tool_call_id": "1"},
        ],
        "target": "ok",
    }
    source = suite_of(READERS[0], put(tmp_path, json.dumps([sample]), "d.json"))
    assert not source.losses
    assert [message.content for message in source.suite.cases[0].messages] == [
        "go",
        '[calls find({"a": 1})]\n[calls open({})]',
        "done",
    ]


TASK = """\
from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset

open("ran.txt", "w").write("x")

@task
def mine():
    return Task(dataset=json_dataset("samples.jsonl"))
"""


def test_a_task_in_python_is_named_as_one_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal says what it is, and names its data set and what --allow-code is for; nothing of
    it is run.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.py").write_text(TASK)
    with pytest.raises(UsageError) as raised:
        read_any_suite(tmp_path / "task.py")
    assert "Inspect task in Python" in raised.value.message
    assert "samples.jsonl" in (raised.value.hint or "")
    assert "--allow-code" in (raised.value.hint or "")
    assert not (tmp_path / "ran.txt").exists()


def _task_suite(tmp_path: Path, made: Json, *, text: str = TASK) -> SuiteSource:
    """What is read of a task file whose code, when it is run, makes this."""
    path = tmp_path / "task.py"
    path.write_text(text)
    document = Document.of(path, allow_code=True, run_code=lambda script, calls: [made])
    assert recognise(document) is READERS[1]
    source = READERS[1].read(document)
    assert isinstance(source, SuiteSource)
    return source


def _sample(
    id: object, target: Json = "Paris", *, calls: int = 1, tools: Sequence[str] = ()
) -> dict[str, Json]:
    asked: list[Json] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Capital?"},
    ]
    sample: dict[str, Json] = {"id": id, "input": asked, "target": target, "metadata": {"k": 1}}  # type: ignore[dict-item]
    return {"sample": sample, "calls": calls, "tools": list(tools)}


def test_samples_of_a_task_are_cases_and_its_scorers_checks(tmp_path: Path) -> None:
    """What the solver asks is the input; each scorer is a check that runs it for this sample;
    epochs are attempts.
    """
    scorers: list[Json] = [
        {"name": "inspect_ai/includes", "asks": False},
        {"name": "short", "asks": False},
    ]
    source = _task_suite(
        tmp_path, {"samples": [_sample("fr"), _sample(2, "")], "scorers": scorers, "epochs": 3}
    )
    first, second = source.suite.cases
    assert (first.id, second.id) == ("fr", "2")
    assert [message.content for message in first.messages] == ["Be brief.", "Capital?"]
    assert (first.attempts, first.reference, first.metadata, second.skip) == (
        3,
        "Paris",
        {"k": 1},
        None,
    )
    assert [one.id for one in first.rubric.criteria] == ["includes", "short"]
    check = first.rubric.criteria[1].items[0].check
    assert check is not None and check.kind == "script"
    assert check.value == {"language": "python", "file": "task.py", "function": "mine"}
    assert check.options == {"context": {"sample": "fr", "scorer": 1}}
    assert not source.losses
    assert source.places["fr"].endswith("task.py:7:1")
    assert [one.what for one in source.code] == ["the Inspect task `mine`"]


def test_images_of_a_task_are_those_of_its_data_set(tmp_path: Path) -> None:
    """Next to the task; one that is missing is a loss here too."""
    (tmp_path / "dot.png").write_bytes(PNG)
    for name, number in (("dot.png", 1), ("gone.png", 0)):
        sample = _sample("a")
        asked: Json = [{"role": "user", "content": [{"type": "image", "image": name}]}]
        sample["sample"] = {"id": "a", "input": asked, "target": "1"}
        made: Json = {
            "samples": [sample],
            "scorers": [{"name": "short", "asks": False}],
            "epochs": 1,
        }
        source = _task_suite(tmp_path, made)
        assert len(source.suite.cases[0].images) == number == 1 - len(source.losses)
        assert (tmp_path / "dot.png" in source.files) is bool(number)


def test_a_scorer_that_asks_a_model_is_a_loss_and_a_question(tmp_path: Path) -> None:
    """Its own words are not asked: a judge is asked whether the target is given."""
    made: Json = {
        "samples": [_sample("a")],
        "scorers": [{"name": "model_graded_qa", "asks": True}],
        "epochs": 1,
    }
    source = _task_suite(tmp_path, made)
    (criterion,) = source.suite.cases[0].rubric.criteria
    assert criterion.requirement == "Gives the expected answer: Paris"
    assert ["model_graded_qa" in loss.message for loss in source.losses] == [True]


@pytest.mark.parametrize(
    ("calls", "tools", "said"), [(3, (), "3 times"), (0, (), "0 times"), (1, ("bash",), "bash")]
)
def test_a_solver_that_does_more_than_ask_once_is_a_loss(
    tmp_path: Path, calls: int, tools: Sequence[str], said: str
) -> None:
    """A target here is asked once, and is given no tools of the task: other samples stay."""
    samples: list[Json] = [_sample("a"), _sample("b", calls=calls, tools=tools)]
    source = _task_suite(tmp_path, {"samples": samples, "scorers": [], "epochs": 1})
    assert [case.id for case in source.suite.cases] == ["a"]
    (loss,) = source.losses
    assert said in loss.message


def test_tasks_of_one_file_are_told_apart(tmp_path: Path) -> None:
    """Where a file has several tasks, the task's name is in front of the sample's id."""
    text = TASK + "\n@task(name='x')\ndef other(a=1):\n    return mine()\n"
    source = _task_suite(
        tmp_path, {"samples": [_sample("a")], "scorers": [], "epochs": 1}, text=text
    )
    assert [case.id for case in source.suite.cases] == ["mine/a", "other/a"]


def test_before_it_is_run_a_task_has_a_case_that_is_skipped(tmp_path: Path) -> None:
    """`honestone trust` reads it so, and runs nothing."""
    path = tmp_path / "task.py"
    path.write_text(TASK)
    source = read_any_suite(path, allow_code=True)
    assert [(case.id, case.skip) for case in source.suite.cases] == [
        ("mine", "its samples are made by code")
    ]
    assert not (tmp_path / "ran.txt").exists()


@pytest.mark.parametrize("text", [TASK.replace("@task", "# @task") + "# Task(", TASK + "def :"])
def test_a_file_without_a_task_is_refused(tmp_path: Path, text: str) -> None:
    """With its place; a file that is not Python likewise."""
    path = tmp_path / "task.py"
    path.write_text(text)
    with pytest.raises(UsageError, match="no function of this file is decorated"):
        READERS[1].read(Document.of(path, allow_code=True))


def test_a_task_that_cannot_be_run_is_an_error_at_its_line(tmp_path: Path) -> None:
    """What the program said is in the message; that Inspect is missing has a hint of its own."""
    path = tmp_path / "task.py"
    path.write_text(TASK)

    def fail(script: object, calls: object) -> list[Json]:
        raise UsageError(
            "`task.py` could not be run: No module named 'inspect_ai'", hint="correct it"
        )

    with pytest.raises(UsageError) as raised:
        READERS[1].read(Document.of(path, allow_code=True, run_code=fail))
    assert (raised.value.place or "").endswith("task.py:7:1")
    assert "pip install inspect_ai" in (raised.value.hint or "")


def test_a_text_about_tasks_is_not_one(tmp_path: Path) -> None:
    """Only a file that imports Inspect and makes a task counts."""
    (tmp_path / "notes.md").write_text(
        "We make a Task( with inspect_ai.\n\nfrom here on: see the page.\n"
    )
    with pytest.raises(UsageError) as raised:
        read_any_suite(tmp_path / "notes.md")
    assert "Inspect task" not in raised.value.message


def test_a_short_key_of_ones_own_is_not_a_misspelt_field(tmp_path: Path) -> None:
    """Inspect leaves fields that it does not know out; here `age` is metadata, and `tagret` still
    an error.
    """
    own = put(tmp_path, json.dumps([{"input": "Hi", "target": "Hello", "age": 42}]), name="d.json")
    (case,) = suite_of(READERS[0], own).suite.cases
    assert case.metadata == {"age": 42}
    slip = put(
        tmp_path, json.dumps([{"input": "Hi", "target": "a", "choises": ["a"]}]), name="e.json"
    )
    assert any("unknown key `choises`" in message for message in wrong(READERS[0], slip))


@pytest.mark.parametrize("target", [["A", "C"], "AC"])
def test_several_right_choices_are_all_to_be_chosen(tmp_path: Path, target: object) -> None:
    """As Inspect's scorer `choice` asks; without choices several targets are alternatives."""
    sample = {"input": "Which are prime?", "target": target, "choices": ["2", "4", "5"]}
    (case,) = suite_of(READERS[0], put(tmp_path, json.dumps([sample]), name="d.json")).suite.cases
    asked = case.rubric.criteria[0].requirement
    assert "all of these" in asked and "- A) 2" in asked and "- C) 5" in asked
    either = {"input": "Big?", "target": ["yes", "very"]}
    (other,) = suite_of(READERS[0], put(tmp_path, json.dumps([either]), name="e.json")).suite.cases
    assert "one of these" in other.rubric.criteria[0].requirement
