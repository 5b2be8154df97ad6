"""The prompts of an AgentV file, filled in for a case. Several prompts make a case each of every
test, as in AgentV.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.json_value import Json
from honestone.core.suite.case import Message
from honestone.formats.syntax.reader import FileEntry, Steps
from honestone.interop.agentv.text import (
    Texts,
    Variables,
    fill,
    looked_up,
    names_file,
    placeholders,
    plain,
)


class Prompt(Struct, frozen=True, kw_only=True):
    """One prompt at its place. `id` distinguishes it from the others of its file. `content` is its
    text or its messages; None where it cannot be used, which was reported.
    """

    id: str
    at: FileEntry
    content: Json


def prompts_of(holder: FileEntry, texts: Texts) -> tuple[Prompt, ...]:
    """Every prompt that `prompts` of a file or a case lists."""
    value, path = holder.raw("prompts"), (*holder.path, "prompts")
    if isinstance(value, list) and not _is_chat(value):
        return tuple(
            _prompt(FileEntry(holder.reading, (*path, index)), texts) for index in range(len(value))
        )
    return (_prompt(FileEntry(holder.reading, path), texts),)


def _prompt(at: FileEntry, texts: Texts) -> Prompt:
    value = at.value
    if isinstance(value, str):
        id = (
            value.removeprefix("file://").lstrip("/")
            if names_file(value)
            else _stable("prompt", value)
        )
        return Prompt(id=id, at=at, content=_prompt_text(at, value, texts))
    if _is_chat(value):
        return Prompt(id=_stable("chat", value), at=at, content=value)
    if not isinstance(value, dict):
        at.problem("a prompt must be text, messages or a mapping")
        return Prompt(id="?", at=at, content=None)
    named = value.get("id") if isinstance(value.get("id"), str) else None
    for key in ("file", "path"):
        if isinstance(value.get(key), str):
            name = value[key].removeprefix("file://")
            return Prompt(
                id=named or name.lstrip("/"),
                at=at,
                content=_prompt_text(at, f"file://{name}", texts),
            )
    for key in ("messages", "prompt", "raw"):
        given = value.get(key)
        if isinstance(given, str) or _is_chat(given):
            kind = "chat" if isinstance(given, list) else "string"
            return Prompt(id=named or _stable(kind, given), at=at, content=given)
    if _is_chat([value]):
        return Prompt(id=named or _stable("chat", value), at=at, content=[value])
    at.loss(
        "a prompt that a program writes cannot be read", hint="write the prompt's text in its place"
    )
    return Prompt(id=named or "?", at=at, content=None)


def _prompt_text(at: FileEntry, value: str, texts: Texts) -> str | None:
    return texts.prompt(at.reading, at.path, value, bare=False) if names_file(value) else value


def _is_chat(value: object) -> TypeGuard[list[Json]]:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and {"role", "content"} <= one.keys() for one in value)
    )


def _stable(kind: str, value: Json) -> str:
    """AgentV's id of a prompt without a name: from the digest of its JSON."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return f"{kind}-{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def id_with(id: str, prompt: Prompt) -> str:
    """The id of a test's case with one of several prompts, as AgentV makes it."""
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", prompt.id.strip()).strip("-")[:48]
    return f"{id}__prompt_{safe or 'prompt'}"


# -------------------------------------------------------------------------------------------------------
# filled in

_CODE: Final = "{%"


def prompted(
    prompt: Prompt, take: FileEntry, values: Variables, texts: Texts, *, is_own: bool
) -> tuple[Message, ...]:
    """A prompt with the variables of a case in it. One that is a single variable is that variable's
    messages.

    `is_own`: the case wrote it itself, so a variable without a value is not an omission of its
        `vars`.
    """
    if prompt.content is None:
        return ()
    if not isinstance(prompt.content, str):
        return _filled(
            texts.messages_at(prompt.at.reading, _messages_path(prompt), prompt.content), values
        )
    text = prompt.content
    names = placeholders(text)
    absent = [name for name in names if not looked_up(name, values)[0]]
    if absent and not is_own:
        name = absent[0].removeprefix("vars.")
        take.problem(
            f"the prompt asks for `{name}`, which `vars` of this case does not have",
            "vars",
            f"give it a value: vars: {{{name}: ...}}",
        )
        return (Message("user", text),)  # harmless: the problem has been noted
    if len(names) == 1 and not absent and fill(text.strip(), Variables({names[0]: ""})) == "":
        return _filled(
            _of_variable(take, names[0], values, texts), values
        )  # AgentV fills in an input as well
    if _CODE in text:
        prompt.at.loss("a prompt with template code (`{% ... %}`) is not run")
    filled = fill(text, values)
    return _chat(filled) if text.lstrip().startswith("[") else (Message("user", filled),)


def _messages_path(prompt: Prompt) -> Steps:
    """Where the messages are: the prompt itself, or the key that holds them."""
    value = prompt.at.value
    key = next(
        (
            key
            for key in ("messages", "prompt")
            if isinstance(value, dict) and _is_chat(value.get(key))
        ),
        None,
    )
    return prompt.at.path if key is None else (*prompt.at.path, key)


def _filled(messages: tuple[Message, ...], values: Variables) -> tuple[Message, ...]:
    return tuple(replace(message, content=fill(message.content, values)) for message in messages)


def _of_variable(
    take: FileEntry, name: str, values: Variables, texts: Texts
) -> tuple[Message, ...]:
    vars, own = take.value.get("vars"), name.removeprefix("vars.")
    if isinstance(vars, dict) and own in vars:
        return texts.messages_at(take.reading, (*take.path, "vars", own), vars[own])
    return _plain_messages(looked_up(name, values)[1])


def _plain_messages(value: object) -> tuple[Message, ...]:
    """A list of messages as messages; anything else is what the user says."""
    if _is_chat(value):
        return tuple(
            Message(str(m["role"]), plain(m["content"])) for m in value if isinstance(m, dict)
        )
    return (Message("user", plain(value)),)


def _chat(text: str) -> tuple[Message, ...]:
    """A prompt that is written as a JSON list of messages."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return _plain_messages(value if _is_chat(value) else text)
