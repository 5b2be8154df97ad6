"""AgentV's targets: what a `targets.yaml` or a list of `providers` names, as far as `--target` can say it here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from honestone.core.errors import UsageError
from honestone.formats.document import Document
from honestone.formats.reader import FileEntry, FileReading, words
from honestone.formats.source import SuiteSource
from honestone.interop.agentv.keys import TABLES

AGENTS: Final = {
    "codex": "codex",
    "codex-cli": "codex",
    "claude": "claude",
    "claude-code": "claude",
    "claude-cli": "claude",
    "claude-sdk": "claude",
    "gemini-cli": "gemini",
    "mock": "mock",
}
MODELS: Final = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "gemini": "google",
    "ollama": "ollama",
}
# Placeholders of a command line: AgentV's name and ours.
_PLACES: Final = {
    "PROMPT": "PROMPT",
    "PROMPT_FILE": "PROMPT_FILE",
    "OUTPUT_FILE": "OUTPUT_FILE",
    "EVAL_ID": "CASE_ID",
    "ATTEMPT": "ATTEMPT",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetDescription:
    """One target of a targets file. `use` is what `--target` takes for it; None where nothing here is like it.

    `judge` is the target that judges its outputs; `notes` say what is lost on the way; `place` is where it is.
    """

    name: str
    provider: str
    use: str | None
    place: str
    timeout: float | None = None
    judge: str | None = None
    notes: tuple[str, ...] = ()


def use_of(name: str) -> str | None:
    """What `--target` takes for a target named in an eval file: an agent, or `PROVIDER:MODEL`. None for names of AgentV's own."""
    if name in ("codex", "claude", "mock"):
        return name
    provider, _, model = name.partition(":")
    if not model:
        return AGENTS.get(name) if name.endswith("-cli") else None
    return _of_model(
        provider, model.rpartition(":")[2] if model.startswith(("chat:", "messages:", "responses:")) else model
    )


def _of_model(provider: str, model: str | None) -> str | None:
    if provider not in MODELS or not model or "${" in model:
        return None
    return f"{MODELS[provider]}:{model}"


def is_targets_file(value: Any) -> bool:
    """A list of targets and nothing to judge."""
    if not isinstance(value, dict) or any(key in value for key in ("tests", "evalcases", "eval_cases", "cases")):
        return False
    listed = value.get("targets")
    return isinstance(listed, list) and any(isinstance(one, dict) and "provider" in one for one in listed)


def read_targets(path: Path) -> tuple[TargetDescription, ...]:
    """The targets of a `targets.yaml`, or the `providers` of an eval file. Raises FileError, or SourceErrors with places."""
    document = Document.of(path)
    reading = FileReading(document.marked)
    top = reading.at()
    found: list[TargetDescription] = []
    if not top.is_mapping:
        top.problem("a targets file must be a mapping with a list of `targets`")
    else:
        key = "targets" if "targets" in top else "providers"
        if key not in top:
            reading.problem(
                "this file has no `targets`",
                (),
                "a targets file is a list: targets: [{name: ..., provider: cli, command: ...}]",
            )
        for index, entry in enumerate(_list(top.raw(key))):
            here = FileEntry(reading, (*top.path, key, index) if isinstance(top.value[key], list) else (*top.path, key))
            found += [_named_only(here, entry)] if isinstance(entry, str) else _target(here)
    names: dict[str, TargetDescription] = {}
    for target in found:
        if target.name in names:
            reading.problems.append(UsageError(f"two targets have the name `{target.name}`", place=target.place))
        names[target.name] = target
    reading.finish()
    return tuple(found)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _named_only(take: FileEntry, name: str) -> TargetDescription:
    return TargetDescription(
        name=name, provider=name.partition(":")[0], use=use_of(name), place=take.reading.marked.at(take.path)
    )


def _target(take: FileEntry) -> Iterator[TargetDescription]:
    if not take.read(TABLES["target"]):
        return
    place = take.reading.marked.at(take.path)
    id, name, provider = take.text("id"), take.text("name", "label"), take.text("provider")
    provider, name = provider or id, name or id
    if name is None or provider is None:
        missing = "name" if name is None else "provider"
        take.problem(f"this target has no `{missing}`", hint=f"for example: {missing}: cli")
        return
    config = take.below("config") if isinstance(take.value.get("config"), dict) else take
    notes: list[str] = []
    use = _use(config, provider, notes)
    milliseconds = config.number("timeout_ms", low=0)
    seconds = config.number("timeout_seconds", low=0)
    if seconds is None and milliseconds is not None:
        seconds = milliseconds / 1000
    for key in words("cwd files_format healthcheck hooks workspace_template system_prompt env environment transform"):
        if key in config or key in take:
            notes.append(f"`{key}` is not carried over")
    yield TargetDescription(
        name=name,
        provider=provider,
        use=use,
        place=place,
        timeout=None if seconds is None else float(seconds),
        judge=take.text("judge_target", "grader_target"),
        notes=tuple(notes),
    )


def _use(config: FileEntry, provider: str, notes: list[str]) -> str | None:
    kind = provider.partition(":")[0]
    if kind in ("cli", "exec"):
        return _command(config, notes)
    if provider in AGENTS:
        return AGENTS[provider]
    model = provider.partition(":")[2] or config.text("model", "deployment")
    use = use_of(provider) if ":" in provider else _of_model(kind, model)
    if use is None:
        why = f"its model is the variable {model}" if model and "${" in model else f"`{kind}` is not a provider here"
        notes.append(f"{why}: name it with --target PROVIDER:MODEL")
    return use


def _command(config: FileEntry, notes: list[str]) -> str | None:
    import shlex

    key = config.which("command", "command_template")
    line = config.value[key] if key else None
    if isinstance(line, list) and all(isinstance(word, str) for word in line):
        line = shlex.join(line)
    if not isinstance(line, str) or not line.strip():
        config.problem(
            "a target of provider `cli` needs a `command`", hint="for example: command: python agent.py {PROMPT}"
        )
        return None
    if "{FILES}" in line:
        notes.append("`{FILES}` is left out: input files are part of the prompt")
        line = re.sub(r"\s*(?:--\S+\s+)?\{FILES\}", "", line)
    known = re.sub(r"\{([A-Z_]+)\}", lambda found: "{" + _PLACES.get(found[1], found[1]) + "}", line)
    return f"cmd:{known}"


def refuse_targets(document: Document) -> SuiteSource:
    """A targets file is not a suite."""
    names = ", ".join(f"`{target.name}`" for target in read_targets(document.path)[:5])
    raise UsageError(
        "this is a list of AgentV targets, not a suite: it holds nothing to judge",
        place=document.marked.key_at(("targets",)),
        hint=f"it names {names}; run the eval file and name what to run with --target",
    )
