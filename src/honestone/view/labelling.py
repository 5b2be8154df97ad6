"""A server that serves the items of one rater and nothing else: for `honestone judges label
--browser` and for `honestone.label`.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, Final

from msgspec import UnsetType

from honestone.app.event_loop import STOPPER
from honestone.app.trust.label import HANGUL_KEYS, LabelRemark, LabelSession
from honestone.core.artifact import digest_of
from honestone.core.errors import HonestoneError
from honestone.core.judging.ballot import NOT_APPLICABLE, answer_problem
from honestone.core.statistics.raters import SETTLED, Difference, RatersAgreement
from honestone.report.pages.html_page import draw_page
from honestone.report.pages.label_html import (
    AskedItem,
    DifferenceRow,
    answer_words,
    texts_of_version,
)
from honestone.system.processes.groups import on_sigterm
from honestone.view.asking import NotTaken, Sent, read_sent
from honestone.view.listening import Address, Listening, ViewOptions
from honestone.view.opening import open_page
from honestone.view.served import Query, Served, as_json, page, refused, static, whole_number
from honestone.view.server import Serving, serve

_PATH = "/label"
_LAST: Final = "No other item is open: your answer ends the labelling."
_ENDED: Final = "Your answers are kept, and the program continues. This page can be closed."


def label_in_browser(
    session: LabelSession, port: int | None, announce: Callable[[Address], None]
) -> None:
    """Serves until it is interrupted; every answer is on disk before the next item is shown. Raises
    UsageError for a port that cannot be used.
    """
    listening = Listening(ViewOptions(port=port), _PATH)
    serve(LabelSite(session), listening, lambda: announce(listening.address))


def label_until_done(session: LabelSession, port: int | None, *, opens: bool) -> None:
    """Serves until every item is answered or skipped, or the person ends it: on the page, or with
    Ctrl-C. Prints the address on stderr; `opens` it in the browser, where there is a screen. Raises UsageError for a port that cannot be used, KeyboardInterrupt on SIGTERM.
    """

    async def serving() -> None:
        stopped, event_loop = asyncio.Event(), asyncio.get_running_loop()
        stopper = STOPPER.get()
        end = partial(event_loop.call_soon_threadsafe, stopped.set)
        listening = Listening(ViewOptions(port=port), _PATH)
        server = Serving(LabelSite(session, end), listening)
        # Ctrl-C is an end like any other: what was answered so far is the result.
        with suppress(NotImplementedError, RuntimeError):
            event_loop.add_signal_handler(signal.SIGINT, stopped.set)
        with nullcontext() if stopper is None else stopper.ending(end):
            await server.run(lambda: announce(listening.address), stopped)

    def announce(address: Address) -> None:
        print(f"{address.url}\nCtrl-C ends it.", file=sys.stderr, flush=True)
        if opens:
            open_page(address)

    if session.untouched:
        with on_sigterm(_interrupt), _own_interrupt():
            asyncio.run(serving())


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """At the end Ctrl-C does again what the caller had it do: an event loop puts back the usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _interrupt() -> None:
    raise KeyboardInterrupt


class LabelSite:
    """The pages of one rater. Safe to use from several threads. `end`: what the last answer and the
    button that ends call; None where the server runs until Ctrl-C.
    """

    posts = (_PATH,)

    def __init__(self, session: LabelSession, end: Callable[[], object] | None = None) -> None:
        self._session, self._end = session, end
        self._lock = threading.Lock()
        self._remarks: dict[int, LabelRemark] = {}

    def answer(self, path: str, query: Query) -> Served:
        if path.startswith("/static/"):
            return static(path.removeprefix("/static/"))
        if path != _PATH:
            return refused(404)
        with self._lock:
            of = len(self._session.questions)
            at = whole_number(query.get("at", ""))
            if at is None:
                at = next(iter(self._session.untouched), of)
            try:
                return page(self._item(at) if at < of else self._last_page())
            except HonestoneError as error:
                return as_json({"said": str(error)}, 500)

    def take(self, path: str, sent: bytes) -> Served:
        with self._lock:
            try:
                return as_json(self._taken(read_sent(sent)))
            except NotTaken as error:
                return as_json({"said": error.message}, error.status)
            except HonestoneError as error:
                return as_json({"said": str(error)}, 500)

    def _taken(self, sent: Sent) -> dict[str, object]:
        """Which item is next, or why there is none."""
        if self._end is None:
            return {"at": self._take(sent), "of": len(self._session.questions)}
        at = sent.at if sent.hand is not None else self._take(sent)
        if sent.hand is None and self._session.untouched:
            return {"at": at, "of": len(self._session.questions)}
        self._end()
        return {"done": True, "words": _ENDED}

    def _take(self, sent: Sent) -> int:
        """Which item is next."""
        at, session = sent.at, self._session
        if not 0 <= at < len(session.questions) or sent.question != self._id(at):
            raise NotTaken("this item is not there any more: load the page again", 409)
        remark = LabelRemark(evidence=sent.quotes, note=sent.note.strip())
        if isinstance(sent.value, UnsetType):
            self._remarks[at] = remark
            return at
        question = session.questions[at]
        item = question.target.item
        assert item is not None
        problem = None if sent.value is None else answer_problem(item, sent.value)
        if problem is not None:
            raise NotTaken(f"{problem}; it must be {question.target.choices}")
        if session.rater != SETTLED and session.agreement() is not None:
            raise NotTaken(
                "every rater is through and their agreement was shown, so answers are final", 409
            )
        session.take(at, NOT_APPLICABLE if isinstance(sent.value, str) else sent.value, remark)
        self._remarks.pop(at, None)
        return at + 1

    def _id(self, at: int) -> str:
        """Of an item of a text, saying nothing about either."""
        question = self._session.questions[at]
        return digest_of(
            "\0".join(
                (question.text.version.digest, *question.place[1], question.text.name)
            ).encode()
        )[7:23]

    def _item(self, at: int) -> str:
        session = self._session
        question, given = session.questions[at], session.answer_at(at)
        target, text = question.target, question.text
        assert target.item is not None
        remark = self._remarks.get(at) or (
            LabelRemark(evidence=given.evidence, note=given.note) if given else LabelRemark()
        )
        texts, others = texts_of_version(text.version)
        session.show()
        item = AskedItem(
            id=self._id(at),
            criterion=target.criterion.id,
            item=target.item,
            heading="" if target.item.whole else target.criterion.requirement,
            texts=texts,
            others=others,
            input=text.input,
            reference=text.reference,
            answer_text="" if given is None else f"Your answer: {answer_words(given.answer)}",
            evidence=remark.evidence[0].quote if remark.evidence else "",
            note=remark.note,
            where=f"Text {question.number} of {session.questions[-1].number}",
            last_words=_LAST if self._end is not None and session.untouched == [at] else "",
        )
        return self._page("item", at, asked=item, keys=dict(HANGUL_KEYS))

    def _page(self, name: str, at: int, **values: Any) -> str:
        of = len(self._session.questions)
        return draw_page(
            f"label_{name}.html.j2",
            served="label",
            at=at,
            of=of,
            sheet="",
            may_end=self._end is not None,
            **values,
        )

    def _last_page(self) -> str:
        session = self._session
        untouched = session.untouched
        agreed = None if untouched else session.agreement()
        skipped = [at for at in session.unanswered if at not in set(untouched)]
        return self._page(
            "end",
            len(session.questions),
            words=_end_words(session, agreed, is_open=bool(untouched)),
            untouched=untouched,
            skipped=skipped,
            found=agreed,
            differences=list(self._differences(agreed)) if agreed else [],
            is_settling=session.rater == SETTLED,
        )

    def _differences(self, agreed: RatersAgreement) -> Iterator[DifferenceRow]:
        settled = self._session.settled()
        for one in agreed.differences:
            given = settled.get(one.place)
            yield DifferenceRow(
                artifact=one.place[0],
                requirement=self._session.requirement(one.place),
                answers=[_rater_answer(one, rater) for rater in agreed.raters],
                settled="" if given is None else answer_words(given.answer),
            )


def _rater_answer(one: Difference, rater: str) -> str:
    return answer_words(one.answers[rater]) if rater in one.answers else "skipped"


def _end_words(session: LabelSession, agreed: RatersAgreement | None, *, is_open: bool) -> str:
    if is_open:
        return "Some items are still open."
    if agreed is None:
        return "Your part is done and kept. Once every rater of the labels file is through, this page shows how far they agree."
    return "Every rater is through. Ctrl-C in the terminal ends the server."
