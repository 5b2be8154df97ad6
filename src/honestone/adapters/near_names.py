"""What a name of a judge, worker or target was meant as, where no such name is known."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from honestone.adapters.context import CLIS, PROVIDERS
from honestone.core.json_value import late_pattern

# How names of models begin, and the provider that they are typed with.
_FAMILIES: Final = (
    ("openai", late_pattern(r"(chat)?gpt-|o\d(-|$)|codex-|davinci")),
    ("anthropic", late_pattern(r"claude-|(opus|sonnet|haiku)(-|$)")),
    ("google", late_pattern(r"gemini-|learnlm-")),
    (
        "ollama",
        late_pattern(
            r"(code)?llama|mi[sxn]i?tral|codestral|qwen|qwq|phi-?\d|gemma|deepseek|gpt-oss"
            r"|granite|smollm|tinyllama|vicuna|yi[:-]|command-r|falcon|starcoder|nemotron|olmo|solar"
        ),
    ),
)
_OLLAMA_FIRST: Final = late_pattern(r"gpt-oss")
# Services that speak the protocol of OpenAI: their name is no provider of ours.
_SERVICES: Final = frozenset(
    "openrouter groq together togetherai azure fireworks deepinfra mistral deepseek xai perplexity"
    " litellm lmstudio lm-studio llamacpp llama.cpp cerebras nvidia bedrock vertex huggingface hf"
    " moonshot zai".split()
)
# What follows the name of a model of Ollama.
_TAG: Final = late_pattern(r"latest|\d+(\.\d+)?[bm]", re.IGNORECASE)
# Names of a company or a program where the provider has another.
_OTHER_NAMES: Final = {
    "gemini": "google",
    "claude": "anthropic",
    "codex": "openai",
    "gpt": "openai",
}
_SCRIPTS: Final = {".sh": "sh", ".py": "python3", ".js": "node", ".rb": "ruby", ".pl": "perl"}


def meant_name(spec: str, known: Sequence[str]) -> str | None:
    """The name that was probably meant: a command, a model with its provider, a name like it; None
    where nothing is near. `known` are the names as they are written (`openai:MODEL`).
    """
    return _as_command(spec) or _as_model(spec) or _near(spec, known)


def service_hint(spec: str) -> str | None:
    """How a service that speaks the protocol of OpenAI is named; None where the name is of none."""
    head, *rest = re.split("[:/]", spec, maxsplit=1)
    model = "".join(rest)
    if head.lower() not in _SERVICES or _TAG.match(model):
        return None
    return (
        f'`{head}` is named in honestone.toml: provider = "compatible", its base_url, api_key_env and'
        f' model = "{model or "MODEL"}"'
    )


def _as_command(spec: str) -> str | None:
    """A file that cannot be executed is a command for its interpreter."""
    program = _SCRIPTS.get(Path(spec).suffix)
    if " " in spec:
        return None if spec.startswith(("cmd:", "script:")) else f"cmd:{spec}"
    if shutil.which(spec):
        return f"cmd:{spec}"
    is_path = spec.startswith(("./", "../", "/", "~/"))
    if program and (is_path or Path(spec).is_file()):
        return f"cmd:{program} {spec}"
    return f"cmd:{spec}" if is_path else None


def _as_model(spec: str) -> str | None:
    head, mark, model = spec.partition(":")
    if not mark and "/" in spec:
        head, mark, model = spec.partition("/")
    name = head.lower()
    if model:
        if name in _SERVICES and not _TAG.match(model):
            return None
        provider = _OTHER_NAMES.get(name) or _provider_near(name)
        if provider is not None:
            return f"{provider}:{model}"
    if _OLLAMA_FIRST.match(spec.lower()):
        return f"ollama:{spec}"
    for provider, family in _FAMILIES:
        if family.match(spec.lower()) and name not in (*CLIS, *PROVIDERS):
            return f"{provider}:{spec}"
    return None


def _provider_near(name: str) -> str | None:
    return next(iter(get_close_matches(name, PROVIDERS, n=1, cutoff=0.75)), None)


def _near(spec: str, known: Sequence[str]) -> str | None:
    for text in (spec, spec.lower(), spec.partition(":")[0].lower()):
        found = get_close_matches(text, known, n=1)
        if found:
            return found[0]
    return None
