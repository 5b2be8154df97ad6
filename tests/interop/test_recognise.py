"""What a file is, by its content; and a file that is nothing is never valid."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from honestone.core.errors import FileError, UsageError
from honestone.interop.recognise import read_any_rubric, read_any_suite


@pytest.mark.parametrize(
    "name",
    [
        "notes.yaml",
        "x.eval.yaml",
        "task_suite.yaml",
        "evals.json",
        "rubric.yaml",
        "promptfooconfig.yaml",
    ],
)
@pytest.mark.parametrize("read", [read_any_rubric, read_any_suite])
def test_row_11_a_file_that_nobody_recognises_is_never_valid(
    tmp_path: Path, read: object, name: str
) -> None:
    """Whatever its name promises: an error with its place and what it looks closest to."""
    path = tmp_path / name
    path.write_text('{"evalcase": [1], "provider": "x"}\n')
    with pytest.raises(UsageError) as told:
        read(path)  # type: ignore[operator]
    assert "in no format that honestone reads" in told.value.message
    assert told.value.place == f"{path}:1:1" and "looks" in (told.value.hint or "")


def test_the_same_file_is_the_same_under_any_name(tmp_path: Path) -> None:
    """Row 11, the other way round: a name that says nothing hides no format."""
    for name in ("a.yaml", "b.txt", "c"):
        (tmp_path / name).write_text(
            "evalcases: [{id: a, expected_outcome: b, input: c, rubrics: [d]}]\n"
        )
        assert read_any_suite(tmp_path / name).dialect == "agentv-seed"


def test_a_first_line_that_cannot_be_read_is_the_error(tmp_path: Path) -> None:
    """Of JSON lines with a number that is none, the number is named and not the format missed."""
    path = tmp_path / "h.jsonl"
    path.write_text('{"prompt_id": "a", "rubrics": [{"criterion": "x", "points": 1e400}]}\n')
    with pytest.raises(FileError) as told:
        read_any_suite(path)
    assert "1e400" in told.value.message and (told.value.place or "").startswith(f"{path}:1:")


def test_what_came_of_a_run_is_no_dataset(tmp_path: Path) -> None:
    """A row with an input, the target that was run and its score is a result, not a question with
    its right answer.
    """
    path = tmp_path / "results.jsonl"
    path.write_text('{"test_id": "a", "input": "q", "target": "some-model", "score": 0.9}\n' * 2)
    with pytest.raises(UsageError):
        read_any_suite(path)
    path.write_text(
        '{"id": "a", "input": "q", "target": "4"}\n' * 1
        + '{"id": "b", "input": "q", "target": "5"}\n'
    )
    assert read_any_suite(path).dialect == "inspect"


@pytest.mark.parametrize("read", [read_any_rubric, read_any_suite])
def test_a_pipe_is_no_file(tmp_path: Path, read: object) -> None:
    """A pipe that nobody writes to would be waited for without end."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError) as told:
        read(tmp_path / "pipe")  # type: ignore[operator]
    assert "pipe" in told.value.message and told.value.hint


def test_a_link_to_nothing_says_where_it_leads(tmp_path: Path) -> None:
    """And does not propose itself."""
    (tmp_path / "r.yaml").symlink_to("gone.yaml")
    with pytest.raises(FileError) as told:
        read_any_rubric(tmp_path / "r.yaml")
    assert "gone.yaml" in (told.value.hint or "") and "did you mean" not in (told.value.hint or "")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("suite: 1\ncases:\n\t- id: a\n", 3, "tab"),
        ("suite: 1\ntitle: 'a\n", 2, "never closed"),
        ("tests: !!python/name:os.system\n", 1, "tag"),
        ("suite: 1\ntitle: a\0b\n", 2, "NUL"),
    ],
)
def test_a_slip_in_a_suite_is_told_and_makes_it_no_text(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    """The line that cannot be read is the error; only a document is said to be one."""
    (tmp_path / "suite.yaml").write_text(text)
    with pytest.raises(FileError) as told:
        read_any_suite(tmp_path / "suite.yaml")
    assert says in told.value.message and (told.value.place or "").startswith(
        f"{tmp_path / 'suite.yaml'}:{line}:"
    )
    (tmp_path / "page.md").write_text("# A page\n\nIt says: `this`: and\tthat.\n")
    with pytest.raises(UsageError) as told_of_text:
        read_any_suite(tmp_path / "page.md")
    assert "is a text" in told_of_text.value.message


def test_a_rubric_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To see what it is and to read it: YAML is most of the time that a large rubric takes."""
    from honestone.formats.syntax import yaml_nodes

    texts = []
    read = yaml_nodes.yaml_root
    monkeypatch.setattr(
        yaml_nodes, "yaml_root", lambda text, name: (texts.append(text), read(text, name))[1]
    )
    path = tmp_path / "rubric.yaml"
    path.write_text("rubric: 1\ncriteria: [{id: a, requirement: It says hello}]\n")
    source = read_any_rubric(path)
    assert (source.rubric.criteria[0].id, source.path, len(texts)) == ("a", path, 1)


SCHEMA = "https://promptfoo.dev/config-schema.json"
LIKE_BOTH = "name: mine\nversion: 1\nprompts: ['{{q}}']\nproviders: [echo]\ntests:\n  - {vars: {q: a}, id: x, assert: [{type: contains, value: a}]}\n"


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (f"# yaml-language-server: $schema={SCHEMA}\n", f"as its schema is `{SCHEMA}`"),
        (f"$schema: {SCHEMA}\n", f"as its schema is `{SCHEMA}`"),
        ("", "as `--as promptfoo` says"),
    ],
)
def test_what_a_file_says_of_itself_decides_before_its_keys(
    tmp_path: Path, head: str, why: str
) -> None:
    """A schema in a key or a comment, or the person's own word, makes the file promptfoo's although
    AgentV has such keys.
    """
    path = tmp_path / "c.yaml"
    path.write_text(head + LIKE_BOTH)
    source = read_any_suite(path, read_as=None if head else "promptfoo")
    assert source.dialect == "promptfoo"
    assert [loss.message.split("`")[1] for loss in source.losses] == ["name", "version"]
    hint = source.losses[-1].hint or ""
    assert f"read as promptfoo, {why}; --as FORMAT" in hint and why not in (
        source.losses[0].hint or ""
    )


def test_a_schema_of_another_kind_decides_nothing(tmp_path: Path) -> None:
    """A schema that names no tool leaves the choice to the keys."""
    path = tmp_path / "c.yaml"
    path.write_text("# yaml-language-server: $schema=./x_schema.json\n" + LIKE_BOTH)
    assert read_any_suite(path).dialect.startswith("agentv")


def test_a_refusal_says_what_was_assumed_and_why(tmp_path: Path) -> None:
    """The last of the errors names the format, the keys it was taken for, and how to say another."""
    path = tmp_path / "c.yaml"
    path.write_text("prompts: ['{{q}}']\nproviders: [echo]\nevaluateOptions: {}\nredteam: {}\n")
    with pytest.raises(UsageError) as told:
        read_any_suite(path)
    last = told.value
    assert (
        "read as promptfoo, as it has `prompts`, `providers`, `evaluateOptions`; --as FORMAT reads it as another"
        in (last.hint or "")
    )


@pytest.mark.parametrize("read", [read_any_rubric, read_any_suite])
def test_a_format_that_does_not_exist_lists_those_that_do(tmp_path: Path, read: object) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(LIKE_BOTH)
    with pytest.raises(UsageError, match="unknown format `nosuch`") as told:
        read(path, read_as="nosuch")  # type: ignore[operator]
    assert all(
        name in (told.value.hint or "")
        for name in ("honestone", "promptfoo", "agentv-5", "paperbench")
    )


def test_a_tools_name_is_the_best_of_its_formats(tmp_path: Path) -> None:
    """`agentv` is whichever dialect fits best; `honestone` is ours, whatever the keys look like."""
    path = tmp_path / "c.yaml"
    path.write_text("evalcases: [{id: a, expected_outcome: b, input: c, rubrics: [d]}]\n")
    assert read_any_suite(path, read_as="agentv").dialect == "agentv-seed"
    with pytest.raises(UsageError, match="criteria"):
        read_any_rubric(path, read_as="honestone")
