"""Names to targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from honestone.adapters.context import AdapterContext
from honestone.adapters.registry import make_judge, make_target
from honestone.core.errors import SettingsError, UsageError
from honestone.core.judging.settings_tables import ModelTable
from honestone.formats.settings import Settings
from honestone.ports import HasCapacity


def context(folder: Path, **more: object) -> AdapterContext:
    return AdapterContext(cwd=folder, settings=Settings(), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("cmd:cat", "CommandTarget"),
        ("python:json:dumps", "PythonTarget"),
        ("record:rec.jsonl", "RecordTarget"),
        ("http://127.0.0.1:1/x", "HttpTarget"),
        ("https://127.0.0.1:1/x", "HttpTarget"),
        ("mock", "MockTarget"),
        ("openai:gpt-5.1", "ModelTarget"),
        ("bot", "HttpTarget"),
        ("local", "ModelTarget"),
        ("mine", "AgentCliTarget"),
    ],
)
def test_every_name_is_a_target(tmp_path: Path, spec: str, kind: str) -> None:
    """By prefix, by provider, by settings."""
    (tmp_path / "rec.jsonl").write_text('{"id": "a", "output": "x"}\n')
    settings = Settings(
        targets={
            "bot": {"provider": "http", "base_url": "http://127.0.0.1:1/x", "api_key_env": "K"},
            "local": {"provider": "ollama", "model": "m", "timeout": 5},
            "mine": {"provider": "cli", "command": ["cat"]},
        }
    )
    target = make_target(spec, AdapterContext(cwd=tmp_path, settings=settings))
    assert type(target).__name__ == kind
    assert target is not None
    assert target.identity


@pytest.mark.parametrize(
    ("more", "runs", "prompts"), [({}, 4, None), ({"concurrency": 20}, 20, 20)]
)
def test_an_agent_cli_is_run_as_often_at_a_time_as_its_table_says(
    tmp_path: Path, more: ModelTable, runs: int, prompts: int | None
) -> None:
    """Else four times as a target, for it is large, and as the panel does as a judge."""
    table: ModelTable = {"provider": "cli", "command": ["cat"], **more}
    both = AdapterContext(
        cwd=tmp_path, settings=Settings(targets={"mine": table}, judges={"mine": table})
    )
    target, judge = make_target("mine", both), make_judge("mine", both)
    assert isinstance(target, HasCapacity) and isinstance(judge, HasCapacity)
    assert (target.concurrency, judge.concurrency) == (runs, prompts)


def test_parameters_of_a_suite_are_those_of_a_model_api(tmp_path: Path) -> None:
    """They come after those of the settings, and are part of what the target is. Nothing else takes
    them.
    """
    settings = Settings(
        targets={
            "local": {"provider": "ollama", "model": "m", "parameters": {"top_p": 1, "seed": 1}}
        }
    )
    given = {"seed": 2, "extra": {"stop": ["a"]}}
    made = make_target(
        "local", AdapterContext(cwd=tmp_path, settings=settings, target_parameters=given)
    )
    assert made is not None
    assert made.identity["parameters"] == {"top_p": 1, "seed": 2, "extra": {"stop": ["a"]}}
    with pytest.raises(SettingsError, match="is not a model API: it has no `parameters`"):
        make_target("cmd:cat", context(tmp_path, target_parameters=given))
    with pytest.raises(SettingsError, match="may not set `model`"):
        make_target(
            "ollama:m", context(tmp_path, target_parameters={"extra": {"model": "another"}})
        )


def test_the_identity_is_no_target(tmp_path: Path) -> None:
    """The artifact itself is judged."""
    assert make_target("identity", context(tmp_path)) is None


def test_a_record_is_found_beside_the_suite(tmp_path: Path) -> None:
    """In the working directory first."""
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/rec.jsonl").write_text('{"id": "a", "output": "x"}\n')
    assert (
        make_target("record:rec.jsonl", context(tmp_path, suite_folder=tmp_path / "suite"))
        is not None
    )


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("cmd:no-such-program-here", "command not found"),
        ("nosuch:thing", "unknown target"),
        ("python:", "names nothing"),
        ("record:none.jsonl", "cannot be read"),
        ("mokc", "did you mean `mock`"),
        ("python:f", "names no function"),
    ],
)
def test_a_name_that_is_none_is_a_usage_error(tmp_path: Path, spec: str, says: str) -> None:
    """With what was meant, before anything is spent."""
    with pytest.raises(UsageError) as refused:
        make_target(spec, context(tmp_path))
    assert says in f"{refused.value} {refused.value.hint}"
