"""A calm form for a person at the terminal: one item at a time, kept after every key, continued
where it was left.

The sheet is plain data with one function from a key to what it does; the terminal is at the end of
the file. Nothing is shown here but what a judge may know: the item, the artifact, the case. No
score, no check, no other judge.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from msgspec import Struct, field

from honestone.adapters.people.sheet import (
    _WORDS,
    HANGUL_KEYS,
    ItemAnswer,
    Sheet,
    Wish,
    draft_of,
    new_sheet,
    press,
    restore,
)
from honestone.adapters.people.terminal import NoTerminal, Terminal, others_held_back, tell
from honestone.core.json_value import late_pattern, parsed_json
from honestone.core.judging.ballot import NOT_APPLICABLE, Mark, Question
from honestone.core.judging.rubric import Key, as_written
from honestone.ports import CallFailed
from honestone.system.drawing import (
    Style,
    clean,
    count,
    cut_middle,
    line,
    tail,
    width,
    wrap,
)
from honestone.system.files import write_atomically

_WIDEST: Final = 84  # columns: longer lines are hard to read
_INPUT_LINES: Final = 3


# -------------------------------------------------------------------------------------------------------------
# pages


class View(Struct, frozen=True, kw_only=True):
    """What is shown around an item: the judge's name, what is judged, and the case, cut short."""

    name: str
    path: str
    input: str | None = None


class FormPage(Struct):
    head: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    foot: list[str] = field(default_factory=list)


def page_of(sheet: Sheet, view: View, style: Style, columns: int) -> FormPage:
    """The page as lines that fit into so many columns."""
    columns = max(min(columns - 1, _WIDEST), 12)
    page = FormPage(head=_head(sheet, view, style, columns))
    if sheet.helps:
        page.body = [row for text in _WORDS["help"] for row in wrap(text, columns, rest="    ")]
        page.foot = ["", "any key goes back"]
        return page
    page.body = (
        _end_page(sheet, style, columns)
        if sheet.is_at_end
        else _item_page(sheet, view, style, columns)
    )
    page.foot = _foot(sheet, style, columns)
    return page


def _head(sheet: Sheet, view: View, style: Style, columns: int) -> list[str]:
    place = (
        f"{min(sheet.at + 1, len(sheet.items))} of {len(sheet.items)}"
        if not sheet.is_at_end
        else "all items"
    )
    left = cut_middle(
        f"{line(view.name)}{style.glyph('between')}{line(view.path)}",
        max(columns - len(place) - 2, 4),
        style.glyph("more"),
    )
    gap = " " * max(columns - width(left) - len(place), 1)
    return [
        f"{style.paint(left, 'cyan')}{gap}{place}",
        style.paint(style.glyph("rule") * columns, "dim"),
        "",
    ]


def _item_page(sheet: Sheet, view: View, style: Style, columns: int) -> list[str]:
    asked, entry = sheet.items[sheet.at], sheet.entries[sheet.at]
    out: list[str] = []
    if view.input is not None:
        out += [
            style.paint(row, "dim")
            for row in wrap(
                line(view.input),
                columns,
                first="input: ",
                most=_INPUT_LINES,
                more=style.glyph("more"),
            )
        ]
        out.append("")
    if asked.heading:
        out += [*(style.paint(row, "dim") for row in wrap(line(asked.heading), columns)), ""]
    out += [style.paint(row, "bold") for row in wrap(line(asked.item.requirement), columns)]
    if asked.item.anchors is not None:
        out.append("")
        for value, text in asked.item.anchors.levels:
            out += wrap(line(text), columns, first=f"{as_written(value):>6}  ")
    entry_lines = _entry_lines(entry, style, columns)
    return [*out, "", *entry_lines] if entry_lines else out


def _entry_lines(entry: ItemAnswer, style: Style, columns: int) -> list[str]:
    out = []
    if not entry.is_open:
        out.append(style.paint(_shown_answer(entry), "green" if entry.answer is True else "yellow"))
    if entry.evidence:
        out += wrap(line(entry.evidence), columns, first="evidence: ", rest="    ")
    if entry.suggestion:
        out += wrap(line(entry.suggestion), columns, first="to change: ", rest="    ")
    return out


def _shown_answer(entry: ItemAnswer) -> str:
    if entry.answer is None:
        return "skipped"
    if isinstance(entry.answer, bool):
        return "yes" if entry.answer else "no"
    return "does not apply" if entry.answer == NOT_APPLICABLE else str(entry.answer)


def _end_page(sheet: Sheet, style: Style, columns: int) -> list[str]:
    still_open = len(sheet.open_places)
    out = wrap(progress_words(sheet), columns)
    for number, (asked, entry) in enumerate(zip(sheet.items, sheet.entries, strict=True), 1):
        answer = "-" if entry.is_open else _shown_answer(entry)
        out += wrap(
            f"{answer}: {line(asked.item.requirement)}",
            columns,
            first=f"{number:>3}. ",
            most=2,
            more=style.glyph("more"),
        )
    ending = (
        f"Enter goes to the first of {still_open} still open" if still_open else "Enter hands it in"
    )
    return [*out, "", *(style.paint(row, "bold") for row in wrap(ending, columns))]


def progress_words(sheet: Sheet) -> str:
    """`11 items answered, 1 skipped`."""
    skipped = sum(entry.skipped for entry in sheet.entries)
    answered = len(sheet.entries) - skipped - len(sheet.open_places)
    return f"{count(answered, 'item')} answered" + (f", {skipped} skipped" if skipped else "")


def _foot(sheet: Sheet, style: Style, columns: int) -> list[str]:
    out = [""]
    if sheet.note:
        out += [style.paint(row, "yellow") for row in wrap(clean(sheet.note), columns)]
    if sheet.typing is not None:
        return [
            *out,
            *wrap(f"{_WORDS['typed'][sheet.typing]}; Enter keeps it, Esc leaves it", columns),
        ]
    keys = ["b back", "o open it", "q later", "? help"]
    if not sheet.is_at_end:
        answers = ["a number"] if sheet.item.anchors is not None else ["y yes", "n no"]
        answers += ["x does not apply"] if sheet.item.may_not_apply else []
        keys = [*answers, "s skip", "e evidence", "w what to change", *keys]
    return [
        *out,
        *(style.paint(row, "dim") for row in _row_of(keys, style.glyph("between"), columns)),
    ]


def _row_of(words: Sequence[str], between: str, columns: int) -> list[str]:
    """Words side by side, none of them broken over two lines."""
    rows = [""]
    for word in words:
        longer = f"{rows[-1]}{between}{word}" if rows[-1] else word
        if width(longer) <= columns or not rows[-1]:
            rows[-1] = longer
        else:
            rows.append(word)
    return rows


def fitted(page: FormPage, rows: int, scroll: int) -> list[str]:
    """The page in so many rows: the keys stay in sight, and a body that is too long scrolls."""
    height = max(rows - len(page.head) - len(page.foot), 1)
    if len(page.body) <= height:
        return [*page.head, *page.body, *page.foot][:rows]
    start = min(scroll, len(page.body) - height)
    return [*page.head, *page.body[start : start + height], *page.foot][-rows:]


def typed_row(text: str, columns: int) -> str:
    """What is being typed; of a text that is too long, its end."""
    return f"> {tail(clean(text), max(columns - 4, 8))}"


# -------------------------------------------------------------------------------------------------------
# the person

_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


def _one_at_a_time() -> asyncio.Lock:
    """There is one terminal, however many artifacts and seats want it."""
    return _locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class TerminalPerson:
    """Whoever sits at the controlling terminal: answers questions, edits copies. `drafts` is the
    folder of drafts.
    """

    def __init__(self, drafts: Path) -> None:
        self.drafts = drafts

    # -- as a judge

    async def answer(self, question: Question, key: str, name: str) -> Mapping[Key, Mark | None]:
        async with _one_at_a_time():
            sheet = new_sheet(question)
            draft = self.drafts / f"{key}.json"
            restore(sheet, read_draft(draft))
            view = View(name=name, path=question.artifact.path, input=question.input)
            try:
                with others_held_back(), Terminal() as terminal:
                    is_done = await _fill_in(sheet, view, question, draft, terminal)
            except NoTerminal as error:
                raise CallFailed(
                    f"no terminal to ask at ({error}): run it in one, or answer with `honestone agent prompt` and "
                    "`honestone agent submit`, and name the judge agent:NAME",
                    missing=True,
                ) from None
            if not is_done:
                await _put_off(f"{name}: {progress_words(sheet)}, kept for later")
            tell(f"{name}: {progress_words(sheet)}")
            return sheet.marks()

    def forget(self, key: str) -> None:
        (self.drafts / f"{key}.json").unlink(missing_ok=True)

    # -- as a worker

    async def edit(self, brief: str, place: Path, brief_file: Path) -> bool:
        """Let the person edit what is at `place`. False: they give it up. Raises CallFailed without
        a terminal.
        """
        async with _one_at_a_time():
            try:
                with others_held_back(), Terminal(paged=False) as terminal:
                    return await _edit(brief, place, brief_file, terminal)
            except NoTerminal as error:
                raise CallFailed(
                    f"no terminal to edit at ({error}): name another --worker, or go step by step with `honestone step next`"
                ) from None


async def _fill_in(
    sheet: Sheet, view: View, question: Question, draft: Path, terminal: Terminal
) -> bool:
    """Whether it was handed in; else it was put off. After every key the draft is on disk."""
    while True:
        columns, rows = terminal.size
        typed = None if sheet.typing is None else typed_row(sheet.text, min(columns - 1, _WIDEST))
        page = page_of(sheet, view, terminal.style, columns)
        below = 0 if typed is None else 2
        lines = (
            [*page.head, *page.body, *page.foot]
            if terminal.is_dumb
            else fitted(page, rows - below, sheet.scroll)
        )
        terminal.show(lines, typed)
        wish = press(sheet, await terminal.press())
        write_atomically(draft, json.dumps(draft_of(sheet)).encode())
        if wish is Wish.HAND_IN:
            return True
        if wish is Wish.LATER:
            return False
        if wish is Wish.OPEN:
            sheet.note = await _open(question, terminal) or ""


async def _put_off(words: str) -> None:
    """End the command as Ctrl-C does, so that it says how to continue."""
    tell(words)
    signal.raise_signal(signal.SIGINT)
    await asyncio.sleep(1)
    raise CallFailed("the person put it off: the same command continues where it was left")


def read_draft(path: Path) -> object:
    """What is kept of a form; None where nothing can be read."""
    with suppress(OSError):
        return parsed_json(path.read_bytes())
    return None


# ------------------------------------------------------------------------------------------------
# pager and editor

_SECRET: Final = late_pattern(r"api_?key|_key$|token|secret|passw|credential", re.IGNORECASE)


async def _open(question: Question, terminal: Terminal) -> str | None:
    """What is judged, in the person's pager. Made harmless: a pager may hand escape sequences on."""
    command = os.environ.get("PAGER") or next(
        (name for name in ("less", "more") if shutil.which(name)), None
    )
    if command is None:
        return "no pager found: set PAGER"
    with tempfile.TemporaryDirectory(prefix="honestone-look-") as folder:
        path = Path(folder) / (Path(question.artifact.path).name or "artifact")
        path.write_text(shown_text(question), encoding="utf-8")
        return await run_in_terminal(command, path, Path(folder), terminal)


def shown_text(question: Question) -> str:
    """All that a judge may read of the case, as one harmless text."""
    version = question.artifact.version
    parts = [("input", question.input), ("reference", question.reference)]
    if question.output is not None:
        parts.append(("output, which is judged", question.output))
    elif version.is_folder:
        parts += [(path, text) for path, text in version.texts.items()]
    elif question.input is None and question.reference is None:
        return clean(version.text)
    else:
        parts.append((question.artifact.path, version.text))
    return "\n".join(
        f"== {line(title)} ==\n\n{clean(text).rstrip()}\n"
        for title, text in parts
        if text is not None
    )


async def run_in_terminal(command: str, path: Path, folder: Path, terminal: Terminal) -> str | None:
    """Lend the terminal to a program of the person's. Returns what went wrong."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        return f"{command!r} is not a command"
    env = {name: value for name, value in os.environ.items() if not _SECRET.search(name)}
    with terminal.handed_over() as fd:
        try:
            running = await asyncio.create_subprocess_exec(
                *words, str(path), stdin=fd, stdout=fd, stderr=fd, cwd=folder, env=env
            )
        except OSError as error:
            return f"{words[0]}: {error.strerror or error}"
        try:
            code = await running.wait()
        finally:
            if running.returncode is None:
                with suppress(ProcessLookupError):
                    running.terminate()
                await running.wait()
    return None if code == 0 else f"{words[0]} ended with {code}"


def editor() -> str | None:
    """The person's editor, as a command line."""
    names = ("HONESTONE_EDITOR", "VISUAL", "EDITOR")
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


async def _edit(brief: str, place: Path, brief_file: Path, terminal: Terminal) -> bool:
    command = editor()
    columns = max(min(terminal.size[0] - 1, _WIDEST), 12)
    brief_rows = [
        row for text in clean(brief).splitlines() for row in wrap(text, columns, rest="  ")
    ]
    ways = (
        f"Enter opens it with {line(command, 60)}" if command else "Edit it, then press Enter here"
    )
    places = [f"This brief: {brief_file}", f"The copy to edit: {place}"]
    terminal.show(["", *brief_rows, "", *places, "", f"{ways}; q gives this round up"])
    is_wanted = await _choice(terminal, {"enter": True}) is True
    if not command or not is_wanted:
        return is_wanted
    while True:
        before = state_of(place)
        trouble = await run_in_terminal(
            command, place, place if place.is_dir() else place.parent, terminal
        )
        if trouble is None and state_of(place) != before:
            return True
        choices = "e edits again; Enter hands it in as it is; q gives this round up"
        terminal.show(["", clean(trouble or "nothing has changed yet"), choices])
        again = await _choice(terminal, {"enter": True, "e": None})
        if again is not None:
            return again


async def _choice(terminal: Terminal, keys: Mapping[str, bool | None]) -> bool | None:
    """What the key means; q gives up, other keys mean nothing."""
    while True:
        key = await terminal.press()
        name = HANGUL_KEYS.get(key.text, key.text.lower()) if key.name == "char" else key.name
        if name in keys:
            return keys[name]
        if name in ("q", "end"):
            return False


def state_of(place: Path) -> list[tuple[str, int, int]]:
    """Enough to see whether anything below was written."""
    paths = [place, *sorted(place.rglob("*"))] if place.is_dir() else [place]
    found = []
    for path in paths:
        with suppress(OSError):
            status = path.lstat()
            found.append((str(path), status.st_size, status.st_mtime_ns))
    return found
