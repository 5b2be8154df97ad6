"""AgentV's targets: what `--target` takes for those that an eval file or a `targets.yaml` names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from honestone.core.artifact import as_text
from honestone.core.errors import UsageError
from honestone.formats.project import may_read, repository_of
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.marked import parse_marked
from honestone.formats.syntax.nodes import MAX_BYTES

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


def use_of(name: str) -> str | None:
    """What `--target` takes for a target named in an eval file: an agent, or `PROVIDER:MODEL`. None
    for names of AgentV's own.
    """
    if name in ("codex", "claude", "mock"):
        return name
    provider, _, model = name.partition(":")
    if not model:
        return AGENTS.get(name) if name.endswith("-cli") else None
    return _of_model(
        provider,
        model.rpartition(":")[2]
        if model.startswith(("chat:", "messages:", "responses:"))
        else model,
    )


def _of_model(provider: str, model: str | None) -> str | None:
    if provider not in MODELS or not model or "${" in model:
        return None
    return f"{MODELS[provider]}:{model}"


def is_targets_file(value: Any) -> bool:
    """A list of targets and nothing to judge."""
    if not isinstance(value, dict) or any(
        key in value for key in ("tests", "evalcases", "eval_cases", "cases")
    ):
        return False
    listed = value.get("targets")
    return isinstance(listed, list) and any(
        isinstance(one, dict) and "provider" in one for one in listed
    )


def refuse_targets(document: Document) -> SuiteSource:
    """Raises UsageError: a targets file is not a suite. It says what `--target` takes for the first
    of them.
    """
    listed = [one for one in document.value["targets"] if isinstance(one, dict)]
    uses = [
        f"`{_name(one)}` ({f'--target {shlex.quote(use)}' if (use := _use(one)) else 'not known here'})"
        for one in listed
    ]
    raise UsageError(
        "this is a list of AgentV targets, not a suite: it holds nothing to judge",
        place=document.marked.key_at(("targets",)),
        hint=f"it names {', '.join(uses[:5])}; run the eval file and name what to run with --target",
    )


_OF_PROJECT: Final = (".agentv/targets.yaml", ".agentv/targets.yml")


def targets_file(base: Path) -> Path | None:
    """The project's list of targets: next to an eval file, or above it in its repository. Its folder
    has a name that files cannot name, so it is looked for here, and no link is followed out of it.
    """
    last = repository_of(base.resolve())
    for folder in (base.resolve(), *base.resolve().parents):
        for name in _OF_PROJECT:
            file = (folder / name).resolve()
            is_inside = file.is_relative_to(folder / ".agentv") and may_read(folder, base)
            if is_inside and file.is_file() and file.stat().st_size <= MAX_BYTES:
                return file
        if folder == last:
            break
    return None


def use_in(file: Path, name: str) -> str | None:
    """What `--target` takes for the target of this name in a list; None where it is not in it, or
    nothing here. Raises FileError.
    """
    value = parse_marked(as_text(file.read_bytes()) or "", str(file)).value
    listed = value.get("targets") if isinstance(value, dict) else None
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and _name(one) == name:
            return _use(one)
    return None


def _name(target: Mapping[str, object]) -> object:
    return next((target[key] for key in ("name", "label", "id", "provider") if key in target), "?")


def _use(target: Mapping[str, object]) -> str | None:
    """What `--target` takes for it; None where it is nothing here, or its model is a variable."""
    config = target.get("config")
    known = {**target, **config} if isinstance(config, dict) else target
    provider = str(target.get("provider", target.get("id", "")))
    kind, _, model = provider.partition(":")
    if kind in ("cli", "exec"):
        return _command(known.get("command", known.get("command_template")))
    if provider in AGENTS or model:
        return AGENTS.get(provider) or use_of(provider)
    model = str(known.get("model", known.get("deployment", "")))
    return use_of(f"{kind}:{model}") if model and "${" not in model else None


def _command(line: object) -> str | None:
    if isinstance(line, list):
        line = shlex.join(map(str, line))
    if not isinstance(line, str) or not line.strip():
        return None
    line = re.sub(r"\s*(?:--\S+\s+)?\{FILES\}", "", line)  # input files are part of the prompt
    return "cmd:" + re.sub(
        r"\{([A-Z_]+)\}", lambda match: "{" + _PLACES.get(match[1], match[1]) + "}", line
    )
