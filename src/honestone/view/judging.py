"""`--browser` of commands that ask a person: a server that shows what is asked now, and nothing
else.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec import UnsetType

from honestone.app.doors.people import HANGUL_KEYS, AskedEdit, AskedSheet, BrowserPerson, PersonDesk
from honestone.core.judging.ballot import NOT_APPLICABLE, Question, answer_problem
from honestone.report.pages import label_html
from honestone.report.pages.html_page import draw_page
from honestone.view.asking import NotTaken, Sent, read_sent
from honestone.view.listening import Address, Listening, ViewOptions
from honestone.view.served import Query, Served, as_json, page, refused, static, whole_number
from honestone.view.server import Serving

_PATH: Final = "/judge"
_ENDING: Final = 5.0  # seconds for answers on their way to the page


@contextmanager
def person_in_browser(
    port: int | None, announce: Callable[[Address], None]
) -> Iterator[Callable[[Path], BrowserPerson]]:
    """Makes the person from the folder of drafts, and serves as long as the command runs. `announce` is
    called when the person is asked for the first time. Raises UsageError for a port that cannot be
    used.
    """
    desk = PersonDesk(lambda: announce(listening.address))
    listening = Listening(ViewOptions(port=port), _PATH)
    serving = Serving(JudgeSite(desk), listening)
    ready, loop, stopped = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    def run() -> None:
        try:
            loop.run_until_complete(serving.run(ready.set, stopped))
        finally:
            ready.set()
            loop.close()

    thread = threading.Thread(target=run, name="judging", daemon=True)
    thread.start()
    ready.wait()
    try:
        yield lambda drafts: BrowserPerson(drafts, desk)
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join(_ENDING)


class JudgeSite:
    """The pages of what is asked. Safe to use from several threads."""

    posts = (_PATH,)

    def __init__(self, desk: PersonDesk) -> None:
        self._desk = desk

    def answer(self, path: str, query: Query) -> Served:
        if path.startswith("/static/"):
            return static(path.removeprefix("/static/"))
        with self._desk.lock:
            asked = self._desk.asked
            if path == f"{_PATH}/next":
                return as_json({"sheet": None if asked is None else asked.id})
            if path != _PATH:
                return refused(404)
            match asked:
                case AskedSheet():
                    return _sheet_page(asked, query.get("at", ""))
                case AskedEdit():
                    text = label_html.text_to_edit(asked.text)
                    return _page(
                        "edit",
                        brief=asked.brief,
                        text=text,
                        place=str(asked.place),
                        at=0,
                        of=1,
                        sheet=asked.id,
                    )
                case _:
                    return _page("waiting", at=0, of=0, sheet="")

    def take(self, path: str, sent: bytes) -> Served:
        with self._desk.lock:
            try:
                return as_json(self._take(read_sent(sent)))
            except NotTaken as error:
                return as_json({"said": error.message}, error.status)
            except OSError as error:
                return as_json({"said": f"this could not be kept: {error.strerror or error}"}, 500)

    def _take(self, sent: Sent) -> dict[str, object]:
        asked = self._desk.asked
        if asked is None or sent.sheet != asked.id:
            raise NotTaken("this is not asked any more: load the page again", 409)
        is_done = (
            _edited(asked, sent) if isinstance(asked, AskedEdit) else _take_answers(asked, sent)
        )
        if is_done:
            self._desk.hand_in(asked, wanted=sent.hand != "up")
            return {"done": True}
        return {"at": asked.sheet.at if isinstance(asked, AskedSheet) else 0}


def _edited(asked: AskedEdit, sent: Sent) -> bool:
    """Whether the person is done with it."""
    if sent.text is not None and asked.text is not None:
        asked.write(sent.text)
    return sent.hand is not None


def _take_answers(asked: AskedSheet, sent: Sent) -> bool:
    """Whether the sheet is complete: it is handed in with the last answer."""
    sheet, at = asked.sheet, sent.at
    if sent.hand is not None:
        if sheet.open_places:
            raise NotTaken("some items are still open", 409)
        return True
    if not 0 <= at < len(sheet.items) or sent.question != _question_id(asked, at):
        raise NotTaken("this item is not there any more: load the page again", 409)
    evidence, note = " ... ".join(one.quote for one in sent.quotes), sent.note.strip()
    if isinstance(sent.value, UnsetType):
        asked.remark(at, evidence, note)
        return False
    problem = None if sent.value is None else answer_problem(sheet.items[at].item, sent.value)
    if problem is not None:
        raise NotTaken(problem)
    asked.say(at, NOT_APPLICABLE if isinstance(sent.value, str) else sent.value, evidence, note)
    return not sheet.open_places


def _question_id(asked: AskedSheet, at: int) -> str:
    return f"{asked.id}-{at}"


def _page(name: str, **values: Any) -> Served:
    return page(draw_page(f"label_{name}.html.j2", served="judge", may_end=False, **values))


def _sheet_page(asked: AskedSheet, named: str) -> Served:
    sheet = asked.sheet
    of = len(sheet.items)
    at = whole_number(named)
    at = sheet.at if at is None else at
    if at >= of and sheet.open_places:
        at = sheet.open_places[0]
    if at >= of:
        rows = [
            (one.item.requirement, label_html.answer_words(entry.answer))
            for one, entry in zip(sheet.items, sheet.entries, strict=True)
        ]
        return _page("sheet", rows=rows, at=of, of=of, sheet=asked.id)
    one, entry = sheet.items[at], sheet.entries[at]
    texts, others = _texts(asked.question)
    item = label_html.AskedItem(
        id=_question_id(asked, at),
        criterion=one.key[0],
        item=one.item,
        heading=one.heading,
        texts=texts,
        others=others,
        input=asked.question.input,
        reference=asked.question.reference,
        answer_text=""
        if entry.is_open
        else f"Your answer: {label_html.answer_words(entry.answer)}",
        evidence=entry.evidence,
        note=entry.suggestion,
        note_label="What to change",
        last_words=""
        if set(sheet.open_places) - {at}
        else "No other item is open: your answer hands everything in.",
    )
    return _page("item", asked=item, at=at, of=of, keys=dict(HANGUL_KEYS), sheet=asked.id)


def _texts(question: Question) -> tuple[list[label_html.ShownText], list[str]]:
    if question.output is not None:
        return [label_html.ShownText(title="", text=question.output)], []
    return label_html.texts_of_version(question.artifact.version)
