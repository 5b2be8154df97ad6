"""Recorded sessions with an agent, read for what people asked and whether they took the answer.

Read are the session logs of Claude Code and Codex (JSON lines), and messages as APIs have them:
`{"messages": [...]}` in JSON or JSON lines, with `conversations` (`from`, `value`) or Gemini's
`history` (`role`, `parts`) as well. Files are hostile data: what is not a message is left out, and
whatever a program put into a person's mouth (reminders, instructions of the environment) is not an
ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.authoring import skill_text, suite_drafting
from honestone.core.errors import FileError
from honestone.core.json_value import late_pattern, parsed_json
from honestone.core.judging.rubric import Rubric, free_id, slug
from honestone.core.numbers import ONE, ZERO
from honestone.core.suite.case import Case, Message, Suite, split_of
from honestone.formats.syntax.reader import words
from honestone.interop.criteria import scaled

MAX_BYTES: Final = 50_000_000
MAX_FILES: Final = 5000
LONGEST_PROMPT: Final = 8000
LONGEST_ANSWER: Final = 4000
SUFFIXES: Final = (".jsonl", ".ndjson", ".json")


class Turn(Struct, frozen=True):
    """One message of a person or of the agent."""

    role: Literal["user", "assistant"]
    text: str


class Ask(Struct, frozen=True, kw_only=True):
    """The first thing asked in a session: what came, and what the person said to that. `taken`
    None: unknown.
    """

    prompt: str
    answer: str
    place: str
    taken: bool | None = None
    corrections: tuple[str, ...] = ()


class Sessions(Struct, frozen=True, kw_only=True):
    """All that was found in files: an ask of each session, and what could not be read."""

    asks: tuple[Ask, ...]
    files: int
    notes: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------------
# files


def read_transcripts(folder: Path) -> Sessions:
    """Every session in a folder (or one file), in the order of paths. Raises FileError when there
    is none to read.
    """
    files = _files(folder)
    asks: list[Ask] = []
    notes: list[str] = []
    for path in files:
        try:
            for number, turns in read_sessions(path):
                found = ask_of(turns, f"{path}:{number}")
                if found is not None:
                    asks.append(found)
        except FileError as error:
            notes.append(str(error))
    if not asks:
        why = f" ({notes[0]})" if notes else ""
        raise FileError(
            f"no session with something asked in it was found in `{folder}`{why}",
            hint="session logs of Claude Code or Codex (.jsonl), or JSON with `messages`, are read",
        )
    return Sessions(asks=tuple(asks), files=len(files), notes=tuple(notes))


def _files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise FileError(
            f"folder `{folder}` not found", hint="name a folder of session logs, or one of them"
        )
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink()
    )
    if len(found) > MAX_FILES:
        raise FileError(
            f"`{folder}` holds more than {MAX_FILES} files", hint="name a folder with fewer of them"
        )
    return found


def read_sessions(path: Path) -> Iterator[tuple[int, list[Turn]]]:
    """The sessions of one file, each with the line where it begins. Raises FileError when it is not
    text or too large.
    """
    text = _file_text(path)
    whole = parsed_json(text) if not _is_lines(text) else None
    if whole is not None:
        for messages in _messages_of(whole):
            yield 1, _turns(messages)
        return
    log: list[Mapping[str, object]] = []
    began = 1
    for number, line in enumerate(text.split("\n"), 1):
        row = parsed_json(line) if line.strip() else None
        if row is None:
            continue
        own = list(_messages_of(row))
        if own:
            for messages in own:
                yield number, _turns(messages)
        elif isinstance(row, dict):
            if not log:
                began = number
            log.append(row)
    if log:
        yield began, _turns([message for row in log if (message := _logged(row)) is not None])


def _is_lines(text: str) -> bool:
    """Whether the first line is JSON by itself, and there is another."""
    first, _, rest = text.lstrip().partition("\n")
    return bool(rest.strip()) and isinstance(parsed_json(first), dict)


def _file_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileError(f"`{path}` cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise FileError(f"`{path}` is larger than {MAX_BYTES // 1_000_000} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"`{path}` is not UTF-8", place=f"{path}:1:1") from None


# ------------------------------------------------------------------------------------------------
# messages


def _messages_of(value: Any) -> Iterator[list[Any]]:
    """The lists of messages in a whole document: one session, or a list of sessions."""
    if isinstance(value, dict):
        for key in ("messages", "conversations", "history"):
            if isinstance(value.get(key), list):
                yield value[key]
                return
    elif isinstance(value, list):
        if any(isinstance(entry, dict) and ("role" in entry or "from" in entry) for entry in value):
            yield value
            return
        for entry in value:
            if isinstance(entry, dict):
                yield from _messages_of(entry)


def _logged(row: Mapping[str, object]) -> Any:
    """The message in a row of a session log, or None: what an agent's helper said, or the program
    itself, is none.
    """
    if row.get("isMeta") or row.get("isSidechain") or row.get("isCompactSummary"):
        return None
    payload = row.get("payload")
    if isinstance(payload, dict):  # Codex
        return (
            payload
            if row.get("type") == "response_item" and payload.get("type") == "message"
            else None
        )
    message = row.get("message")
    if isinstance(message, dict):  # Claude Code
        return message if row.get("type") in ("user", "assistant", None) else None
    return row if "role" in row else None


_ROLES: Final[Mapping[Any, Literal["user", "assistant"]]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
}


def _turns(messages: Sequence[Any]) -> list[Turn]:
    """What was said, without what programs put in: consecutive words of the agent are one turn, its
    last ones.
    """
    out: list[Turn] = []
    for message in messages:
        if not isinstance(message, dict):
            continue
        sender = message.get("role", message.get("from"))
        role = _ROLES.get(sender) if isinstance(sender, str) else None
        text = _content_text(message.get("content", message.get("value", message.get("parts"))))
        if role == "user":
            text = without_machinery(text)
        if role is None or not text.strip():
            continue
        if out and out[-1].role == role == "assistant":
            out[-1] = Turn(role, text.strip())
        elif out and out[-1].role == role:
            out[-1] = Turn(role, f"{out[-1].text}\n\n{text.strip()}")
        else:
            out.append(Turn(role, text.strip()))
    return out


def _content_text(content: Any) -> str:
    """The text of a message; calls of tools, their results and thoughts are none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and part.get("type", "text") in (
            "text",
            "input_text",
            "output_text",
        ):
            text = part.get("text")
            parts.append(text if isinstance(text, str) and not part.get("thought") else "")
    return "\n".join(part for part in parts if part)


_MACHINERY: Final = words(
    "system-reminder environment_context user_instructions local-command-stdout local-command-stderr local-command-caveat command-name"
    " command-message command-args command-contents turn_aborted ide_opened_file ide_selection task-notification INSTRUCTIONS"
)
_NOBODY: Final = late_pattern(
    r"\A\s*(?:# AGENTS\.md instructions|\[Request interrupted|Caveat: The messages below|This session is being continued from|/[\w:-]+\s*\Z)"
)


def without_machinery(text: str) -> str:
    """What the person said, without what a program added to it."""
    bare = skill_text.tagged(text, _MACHINERY)[0].strip()
    return "" if _NOBODY.match(bare) else bare


# ------------------------------------------------------------------------------------------------
# what was taken

_TAKEN: Final = late_pattern(
    r"(?i)\A\W*(?:(?:ok(?:ay)?|yes|yep|great|perfect|nice|excellent|awesome|good|cool|works?|that works|it works|looks? good|lgtm|"
    r"thanks?|thank you|thx|well done|correct|exactly|ship it|commit|merge)\b|好的?|谢谢|不错|完美|可以了|좋아|고마워|감사|완벽|ありがとう|いいね)"
)
_REFUSED: Final = late_pattern(
    r"(?i)\A\W*(?:no\b|nope\b|wrong\b|not\s+(?:quite|what|right|correct)|that['’]?s\s+(?:not|wrong|incorrect)|this\s+is\s+(?:not|wrong)|"
    r"(?:it|that|this)\s+(?:still\s+)?(?:does\s*n['’]t|doesn['’]t|did\s*n['’]t|didn['’]t|fails?|is\s*n['’]t|isn['’]t)|still\b|you\s+(?:forgot|missed|broke|did\s*n)|"
    r"undo\b|revert\b|actually[, ]|don['’]t\b|do\s+not\b|i\s+(?:asked|said|meant)\b|why\s+did\s+you\b|不对|错了|不是|重来|没有|아니|틀렸|다시|違)"
)


def ask_of(turns: Sequence[Turn], place: str) -> Ask | None:
    """What a session began with, the last answer that came to it, and how that was taken."""
    start = next((number for number, turn in enumerate(turns) if turn.role == "user"), None)
    if start is None:
        return None
    answer, taken = "", None
    corrections: list[str] = []
    for turn in turns[start + 1 :]:
        if turn.role == "assistant":
            answer = turn.text
        elif not answer:
            continue
        elif _REFUSED.match(turn.text):
            taken = False
            corrections.append(turn.text)
        else:
            taken = True if _TAKEN.match(turn.text) else None
            break
    if taken is False and turns[-1].role == "assistant":
        taken = None  # corrected, and then no one complained any more
    return Ask(
        prompt=turns[start].text,
        answer=answer,
        place=place,
        taken=taken,
        corrections=tuple(corrections),
    )


# ------------------------------------------------------------------------------------------------
# tasks

_SECRET: Final = late_pattern(
    r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{30,}|"
    r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.S,
)
HIDDEN: Final = "[a secret was here]"


class Drafted(Struct, frozen=True, kw_only=True):
    """A suite made of sessions, with what a person should know."""

    suite: Suite
    notes: tuple[str, ...]


def draft_from_sessions(found: Sessions, *, skill: str | None = None, most: int = 30) -> Drafted:
    """A task of each ask, those first that went wrong; the split is by a hash of the id, so more
    sessions move no task.
    """
    cases: list[Case] = []
    used: set[str] = set()
    seen: set[str] = set()
    hidden = left = long = 0
    for ask in sorted(found.asks, key=lambda one: (not one.corrections, one.taken is not True)):
        prompt = without_secrets(printable_text(ask.prompt))
        key = " ".join(prompt.split()).casefold()
        if key in seen:
            continue
        seen.add(key)
        if len(prompt) > LONGEST_PROMPT or not ask.answer or len(key) < 8:
            long += 1
            continue
        if len(cases) >= most:
            left += 1
            continue
        case = _case(ask, prompt, free_id(slug(prompt, limit=40), used))
        hidden += HIDDEN in prompt + (case.reference or "")
        used.add(case.id)
        cases.append(case)
    if not cases:
        raise FileError(
            "no session begins with something that could be a task of its own",
            hint=f"an ask of 8 to {LONGEST_PROMPT} characters with an answer is needed",
        )
    notes = [f"{len(found.asks)} sessions in {found.files} files, {len(cases)} tasks"]
    if long:
        notes.append(f"{long} sessions left out: too short or too long, or no answer came")
    if left:
        notes.append(f"{left} more sessions are not used: --tasks N takes more")
    if hidden:
        notes.append(f"what looked like a secret was taken out of {hidden} tasks")
    cases.sort(key=lambda case: case.id)
    suite = Suite(cases=tuple(cases), title="Tasks from transcripts", skill_id=skill)
    return Drafted(suite=suite, notes=(*notes, *found.notes))


def _case(ask: Ask, prompt: str, id: str) -> Case:
    """Judged by words where the answer taken was a short one; else by what was asked for
    afterwards, or by that answer.
    """
    reference = without_secrets(printable_text(ask.answer))[:LONGEST_ANSWER]
    base = Case(
        id=id,
        rubric=_rubric(ask),
        messages=(Message("user", prompt),),
        timeout=suite_drafting.TIMEOUT,
        split=split_of(id),
        reference=reference if ask.taken or not ask.corrections else None,
        description=f"from {Path(ask.place.rpartition(':')[0]).name}: {_how(ask)}",
    )
    if ask.taken and not ask.corrections and len(reference.split()) <= 12:
        words = tuple(
            word
            for word in suite_drafting.telling_words(reference)
            if word.casefold() not in prompt.casefold()
        )
        task = suite_drafting.TaskDraft(id=id, prompt=prompt, must=words)
        if words and not suite_drafting.problems_of(task):
            return replace(base, rubric=task.case().rubric)
    return base


def _how(ask: Ask) -> str:
    if ask.corrections:
        return f"the first answer was corrected ({len(ask.corrections)})"
    return "the answer was taken" if ask.taken else "no one said how the answer was"


def _rubric(ask: Ask) -> Rubric:
    wanted = [
        without_secrets(" ".join(printable_text(text).split()))[:400]
        for text in ask.corrections[:5]
    ]
    if wanted:
        questions = [f"Does at once what had to be asked for afterwards: {text}" for text in wanted]
    else:
        questions = ["Does what was asked, as fully as the reference answer does"]
    criteria = []
    used: set[str] = set()
    for number, text in enumerate(questions, 1):
        id = free_id(f"asked-for-afterwards-{number}" if wanted else "as-the-reference", used)
        used.add(id)
        criteria.append(scaled(id, text, {ZERO: "not at all", ONE: "in full"}))
    return Rubric(criteria=tuple(criteria), threshold=suite_drafting.PASS_THRESHOLD, floor=ZERO)


def without_secrets(text: str) -> str:
    """The text with HIDDEN for what looks like a key or a token."""
    return _SECRET.sub(HIDDEN, text)


def printable_text(text: str) -> str:
    visible = "".join(
        sign for sign in text.replace("\r\n", "\n") if sign.isprintable() or sign in "\n\t"
    )
    return visible.strip()
