"""promptfoo's providers: which target each is here, and what of its `config` that target carries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from honestone.core.json_value import Json
from honestone.formats.syntax.reader import FileEntry, FileReading, Steps, shown, words
from honestone.interop.criteria import as_text
from honestone.interop.promptfoo.assertion import TABLES
from honestone.interop.promptfoo.code import CODE_FILES, suffix_of
from honestone.interop.reader import ignoring_others
from honestone.interop.sibling_files import SiblingFiles


class Provider(Struct, frozen=True, kw_only=True):
    """A provider: `column` is its label, or else its id. `prompts` are labels of those that it is
    for; None: all. `use` is the target that it is here, with its `parameters`; None without such a
    target. `functions` are those that it may call, with the JSON Schemas of their arguments.
    `is_structured`: promptfoo hands code the value of its JSON, not the text.
    """

    id: str
    label: str | None = None
    prompts: tuple[str, ...] | None = None
    use: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    # Why it is no target here.
    why_not: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Json] = field(default_factory=dict)
    is_structured: bool = False

    @property
    def column(self) -> str:
        return self.label or self.id

    @property
    def plain(self) -> dict[str, Json]:
        """The provider as it is passed to code."""
        return {"id": self.id} if self.label is None else {"id": self.id, "label": self.label}

    def is_meant(self, name: str) -> bool:
        """Whether a name means this provider: its label, its id, or how one of these begins
        (`openai`, `openai:*`).
        """
        start = name[:-1] if name.endswith("*") else f"{name}:"
        return any(name == one or one.startswith(start) for one in self.names)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.id,) if self.label is None else (self.label, self.id)


_MODES = {
    "openai": ("chat", "responses"),
    "anthropic": ("messages",),
    "google": (),
    "ollama": ("chat",),
}
# Providers whose calls of functions promptfoo writes into a text.
_GIVE_TEXT = ("openai:responses:", "anthropic:")
# What is named like a model of the provider and is none: another kind of model, or an agent.
_OTHERS = words(
    "completion completions embedding embeddings image assistant realtime live moderation video agents codex codex-sdk "
    "chatkit transcription claude-agent-sdk claude-code speech"
)


def target_of(provider: str) -> str | None:
    """What `--target` takes for a promptfoo provider; None without such a target."""
    kind, _, rest = provider.partition(":")
    if provider == "echo":
        return "cmd:cat"
    if kind == "exec" and rest.strip():
        return f"cmd:{rest.strip()} {{PROMPT}}"
    if kind not in _MODES or not rest:
        return None
    first, _, more = rest.partition(":")
    if first in _MODES[kind]:
        return f"{kind}:{more}" if more else None
    return None if first in _OTHERS else f"{kind}:{rest}"


def read_provider(
    reading: FileReading, path: Steps, entry: Any, siblings: SiblingFiles
) -> Provider | None:
    """One entry of `providers`: a text, a mapping with its `id`, or its id as the only key of a
    mapping.
    """
    if isinstance(entry, str):
        use = target_of(entry)
        return Provider(id=entry, use=use, why_not="" if use else _NO_TARGET)
    if not isinstance(entry, dict) or not entry:
        reading.problem(f"a provider must be text or a mapping, not {shown(entry)}", path)
        return None
    name, options = entry.get("id"), entry
    if name is None and len(entry) == 1 and isinstance(next(iter(entry.values())), dict | None):
        name, options = next(iter(entry.items()))
        path = (*path, name)
    options = options if isinstance(options, dict) else {}
    id, prompts, config = (
        str(name if name is not None else "?"),
        options.get("prompts"),
        options.get("config"),
    )
    at = FileEntry(reading, (*path, "config"), config if isinstance(config, dict) else {})
    use = target_of(id)
    base_url, why_not = _server(at, id)
    if use is None or why_not:
        use, why_not = None, why_not or _NO_TARGET
    is_model = use is not None and not use.startswith("cmd:")
    if at.value and not is_model:
        reading.note("promptfoo: the `config` of a provider that is not a target here is not read")
    if options.get("transform"):
        reading.loss(
            "the `transform` of a provider is not run: checks see its output as it is",
            (*path, "transform"),
        )
    tools = [_value(at, key, siblings) for key in ("tools", "functions") if key in at]
    response = at.value.get("response_format")
    return Provider(
        id=id,
        label=as_text(options.get("label")) or None,
        prompts=tuple(map(as_text, prompts)) if isinstance(prompts, list) and prompts else None,
        use=use,
        base_url=base_url,
        api_key_env=_variable(at) if is_model else None,
        why_not=why_not,
        parameters=_parameters(at, _api_of(id), siblings) if is_model else {},
        functions=dict(_functions(tools)),
        is_structured=(bool(tools) and not id.startswith(_GIVE_TEXT))
        or (isinstance(response, dict) and response.get("type") == "json_schema"),
    )


_NO_TARGET = "honestone runs providers of openai, anthropic, google and ollama, `exec:` and `echo`, and no other"
_NOT_FILLED = "its server or its key is filled in from a template, which is not done here"
# What promptfoo adds to a host.
_OF_HOST = {"openai": "https://{}/v1"}
# What it adds to the address of a server.
_OF_URL = {"openai": "", "anthropic": "/v1"}


def _server(at: FileEntry, id: str) -> tuple[str | None, str]:
    """The address of the model API up to its version, None for the provider's own, and why it is
    not known.
    """
    # As in promptfoo, an empty one is none.
    host, url = at.value.get("apiHost") or "", at.value.get("apiBaseUrl") or ""
    if not host and not url:
        return None, ""
    key, written = ("apiHost", host) if host else ("apiBaseUrl", url)
    if not isinstance(written, str):
        return None, f"`{key}` of a provider must be text"
    kind = id.partition(":")[0]
    if "{{" in f"{written}{at.value.get('apiKeyEnvar') or ''}":
        return None, _NOT_FILLED
    forms = _OF_HOST if host else _OF_URL
    if kind not in forms:
        return None, f"`{key}` of such a provider is not read"
    return (forms[kind].format(host) if host else f"{written.rstrip('/')}{forms[kind]}"), ""


def _variable(at: FileEntry) -> str | None:
    name = at.value.get("apiKeyEnvar")
    return name if isinstance(name, str) and name else None


# OpenAI's two APIs, by the tables of their keys.
_APIS = {"openai": "chat", "openai-responses": "responses"}


def _api_of(id: str) -> str:
    """The table of a provider's keys. Some models are behind the Responses API only."""
    is_newer = re.match(
        r"openai:(responses:|(?!chat:).*(-pro|-codex|codex-|-deep-research|computer-use))", id
    )
    return "openai-responses" if is_newer else id.partition(":")[0]


def _parameters(at: FileEntry, api: str, siblings: SiblingFiles) -> dict[str, Any]:
    """What of a config is a parameter of the target. Its table says where each key goes, and what
    is lost.
    """
    found: dict[str, Any] = {}
    table = TABLES[f"provider-{api}"]
    at.read(ignoring_others(table, at.value, "promptfoo", table.by_name))
    for key in at.value:
        known = table.by_name.get(key)
        if known is None or known.how != "read" or key not in at:
            continue
        value = _value(at, key, siblings)
        if value is None:
            at.loss(f"`{key}` of a provider is in a file that is not read", key)
            continue
        if "{{" in json.dumps(value, default=str):
            at.loss(
                f"`{key}` of a provider is filled in from variables, which is not done here", key
            )
            continue
        *folders, name = known.meaning.strip("`").split(".")
        place = found
        for folder in folders:
            place = place.setdefault(folder, {})
        value, before = _text_format(value) if name == "format" else value, place.get(name)
        place[name] = (
            {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
        )
    return found if api not in _APIS or not found else {"api": _APIS[api], **found}


def _text_format(value: Any) -> Any:
    """The Responses API has in one mapping what Chat Completions puts into another."""
    if not isinstance(value, dict) or value.get("type") != "json_schema":
        return value
    inner = value.get("json_schema")
    own = {key: one for key, one in value.items() if key != "json_schema"}
    return {
        "name": "response_schema",
        **own,
        **(inner if isinstance(inner, dict) else {}),
        "strict": True,
    }


def _value(at: FileEntry, key: str, siblings: SiblingFiles) -> Any:
    """A value, or that of the YAML or JSON file which it names; None where that is code, or not
    there.
    """
    value, path = at.value[key], (*at.path, key)
    if not isinstance(value, str) or not value.startswith("file://"):
        return value
    name = value.removeprefix("file://")
    marked = None if suffix_of(name) in CODE_FILES else siblings.named(at.reading, name, path)
    return None if marked is None else marked.value


def _functions(value: Any) -> Iterator[tuple[str, Json]]:
    """The functions in any API's list of tools, by name. Google writes the names of types in
    capitals.
    """
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        yield (
            value["name"],
            _small_types(value.get("parameters") or value.get("input_schema") or {}),
        )
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _functions(one)


def _small_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_small_types(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: one.lower() if key == "type" and isinstance(one, str) else _small_types(one)
        for key, one in schema.items()
    }
