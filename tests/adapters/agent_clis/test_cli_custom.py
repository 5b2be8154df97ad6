"""Any other agent CLI, described by a settings table."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.agent_clis.custom import at
from honestone.adapters.models.agent_cli import AgentCliModel
from honestone.adapters.workers.agent_cli import AgentCliWorker
from honestone.core.errors import SettingsError
from honestone.ports import Brief, CallFailed, Prompt

from .fakes import make_fake

LINES = '{"type": "start"}\nbanner\n{"item": {"text": "first"}}\n{"item": {"text": "last"}}\n{"type": "end"}\n'


@pytest.mark.parametrize(
    ("output", "stdout", "text"),
    [
        ("text", "all of it\n", "all of it\n"),
        ("json:result.text", '{"result": {"text": "this"}}', "this"),
        ("json:items.-1", '{"items": ["a", "b"]}', "b"),
        ("jsonl:item.text", LINES, "last"),
    ],
)
def test_the_answer_is_read_from_where_the_settings_say(
    output: str, stdout: str, text: str, tmp_path: Path
) -> None:
    """All of stdout, a path in one JSON value, or in the last line of many that has it."""
    fake = make_fake(tmp_path / "bin", "mine", stdout=stdout)
    model = AgentCliModel("mine", command=[str(fake.path), "go"], output=output)
    assert asyncio.run(model.complete(Prompt(text="Task: x"))).text == text


@pytest.mark.parametrize(
    ("output", "stdout", "exit"),
    [
        ("text", "fine", 3),
        ("text", " \n", 0),
        ("json:a", "{", 0),
        ("json:a", '{"b": 1}', 0),
        ("json:a", '{"a": 1}', 0),
        ("jsonl:a", "banner", 0),
    ],
)
def test_anything_else_is_a_failed_call(
    output: str, stdout: str, exit: int, tmp_path: Path
) -> None:
    """An exit code other than 0, silence, or nothing at the path."""
    fake = make_fake(tmp_path / "bin", "mine", stdout=stdout, exit=exit)
    model = AgentCliModel("mine", command=[str(fake.path)], output=output)
    with pytest.raises(CallFailed):
        asyncio.run(model.complete(Prompt(text="Task: x")))


def test_its_arguments_key_and_folder(tmp_path: Path, key: str) -> None:
    """Placeholders are filled in, the prompt is on stdin, the key in its own variable, home and
    folder are new.
    """
    fake = make_fake(tmp_path / "bin", "mine", stdout="x")
    command = [str(fake.path), "--model={model}", "{base_url}", "{other}"]
    model = AgentCliModel(
        "mine", command=command, model="m", base_url="http://h", api_key_env="MY_KEY"
    )
    asyncio.run(model.complete(Prompt(text="Task: x", system="Be just.")))
    assert fake.call["argv"] == ["--model=m", "http://h", "{other}"]
    assert fake.call["stdin"] == "Be just.\n\nTask: x"
    assert [name for name, value in fake.call["env"].items() if value == key] == ["MY_KEY"]
    assert fake.call["here"] == [] and key not in json.dumps(dict(model.identity))


def test_a_script_is_named_from_the_settings_folder(tmp_path: Path) -> None:
    """`python3 judge.py` works although the command starts in an empty folder; a subcommand stays
    one.
    """
    fake = make_fake(tmp_path / "bin", "mine", stdout="x")
    for name in ("judge.py", "run"):
        (tmp_path / name).write_text("")
    command = [str(fake.path), "judge.py", "./judge.py", "run", "none.py"]
    asyncio.run(
        AgentCliModel("mine", command=command, here=tmp_path).complete(Prompt(text="Task: x"))
    )
    script = str(tmp_path / "judge.py")
    assert fake.call["argv"] == [script, script, "run", "none.py"] and fake.call["here"] == []


def test_as_a_worker_it_runs_in_the_copy(tmp_path: Path) -> None:
    """Its working folder is the copy; `{place}` is the artifact."""
    place = tmp_path / "copy" / "a.md"
    place.parent.mkdir()
    place.write_text("old")
    fake = make_fake(
        tmp_path / "bin", "mine", stdout="ok", body="pathlib.Path(sys.argv[1]).write_text('new')"
    )
    subject = AgentCliWorker("mine", command=[str(fake.path), "{place}"])
    done = asyncio.run(
        subject.propose(Brief(text="Do it", focus=("x",)), place, tmp_path / "brief")
    )
    assert (done.ended, place.read_text(), fake.call["cwd"]) == ("exited", "new", str(place.parent))


@pytest.mark.parametrize(
    "settings",
    [
        {"command": []},
        {"command": [""]},
        {"command": ["sh"], "output": "xml"},
        {"command": ["sh"], "output": "json:"},
        {"command": ["sh"], "output": "jsonl:a..b"},
    ],
)
def test_wrong_tables_are_refused(settings: Any) -> None:
    """A command that is none, an output that nobody knows."""
    with pytest.raises(SettingsError):
        AgentCliModel("mine", **settings)


def test_a_program_that_is_not_there_is_missing() -> None:
    """As with the CLIs that we know."""
    with pytest.raises(CallFailed) as failed:
        AgentCliModel("mine", command=["/nonexistent/tool"])
    assert failed.value.missing


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        ({"a": [{"b": "x"}]}, "a.0.b", "x"),
        ({"a": "x"}, "a.b", None),
        ({"a": []}, "a.0", None),
        ({"a": [1]}, "a.x", None),
        (None, "a", None),
    ],
)
def test_a_path_leads_to_a_text_or_to_nothing(value: Any, path: str, text: str | None) -> None:
    """Keys and positions; whatever does not fit is nothing."""
    assert at(value, path.split(".")) == text
