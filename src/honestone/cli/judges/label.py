"""`honestone judges label`: a person's answers to the items of a rubric, kept as they are given."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import click

from honestone.app.judging.judging_options import AcceptLoss
from honestone.app.options import Argument, Option
from honestone.app.trust.label import HANGUL_KEYS, LabelQuestion, LabelRequest, LabelSession
from honestone.cli import options as shared
from honestone.cli.browser import IsInBrowser, OpensNone, Port, refuse_without_browser
from honestone.cli.terminal import Progress, dump_line, here, render, write
from honestone.core.errors import Interrupted, UsageError
from honestone.core.json_value import late_pattern
from honestone.core.judging.ballot import Answer
from honestone.report.documents.trust.labels import LabelsDoc
from honestone.report.trust.labels import artifact_lines, context_lines, question_lines
from honestone.system.drawing import is_terminal, line, style_for

_RUN: Final = late_pattern(r"last|[0-9A-Z]{4,26}")


@click.command("label", short_help="Ask a person the items of a rubric, and keep the answers.")
@shared.from_parameters
def label(
    *,
    artifacts: Annotated[tuple[Path, ...], Argument(metavar="ARTIFACT...|RUN")],
    rubric: shared.RubricFile,
    labels: Annotated[
        Path, Option("Where answers are kept: NAME.jsonl or NAME.csv.", metavar="FILE")
    ],
    rater: Annotated[
        str, Option("Who answers; `settled` answers what the others differ about.", metavar="NAME")
    ],
    sample: Annotated[
        int | None,
        Option(
            "N of the texts; of a run as many of each status and score as can be, the same for every rater.",
            metavar="N",
            min=1,
        ),
    ] = None,
    browser: IsInBrowser = False,
    port: Port = None,
    no_open: OpensNone = False,
    accept_loss: AcceptLoss = False,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Label artifacts by hand, so that `honestone judges calibrate` can measure judges against people. RUN
    labels what a run of eval judged: its artifacts, or the outputs of a suite.

    Shows each artifact and its open items, and reads one line for each from stdin: y, n, a number
    on the item's scale, s (skip) or q (quit). With --browser it is a page on this machine, with
    keys. An answer is kept before the next item is shown; the same command resumes. No one else's
    answers are shown, neither other people's nor those of judges.

    Exits 0, also when items are still open.

    \b
    Examples:
      honestone judges label drafts/*.md --rubric rubric.yaml --labels labels.jsonl --rater maria
      honestone judges label last --sample 50 --browser --rubric rubric.yaml --labels labels.jsonl --rater maria
    """
    run = _run_of(artifacts)
    request = LabelRequest(
        artifacts=artifacts if run is None else (),
        run=run,
        own_order=browser,
        rubric=rubric,
        labels=labels,
        rater=rater,
        sample=sample,
        accept_loss=accept_loss,
    )
    with Progress(quiet=quiet) as progress:
        if not browser:
            refuse_without_browser(port, no_open)
            document = _ask_all(LabelSession(here(), request, progress), _Desk(is_json=as_json))
            write(render(document, "json" if as_json else "text"))
            return 0
        return _in_browser(request, progress, port, opens=not no_open, as_json=as_json)


def _run_of(artifacts: tuple[Path, ...]) -> str | None:
    """The run that is meant, where one name is given that is not a file."""
    name = str(artifacts[0])
    return (
        name if len(artifacts) == 1 and _RUN.fullmatch(name) and not artifacts[0].exists() else None
    )


def _in_browser(
    request: LabelRequest, progress: Progress, port: int | None, *, opens: bool, as_json: bool
) -> int:
    from honestone.cli.browser import announce
    from honestone.view.labelling import label_in_browser

    if request.labels.suffix.lower() == ".csv":
        raise UsageError(
            "a table has no place for what --browser keeps", hint="name a labels file NAME.jsonl"
        )
    workspace = here()
    session = LabelSession(workspace, request, progress)
    open_before = len(session.unanswered)
    label_in_browser(
        session,
        port,
        lambda address: announce(address, workspace, sys.stdout, as_json=as_json, opens=opens),
    )
    document = session.document(open_before - len(session.unanswered))
    write(dump_line(document) + "\n" if as_json else render(document, "text"))
    return 0


# -------------------------------------------------------------------------------------------------------
# at a terminal


class LabelWish(StrEnum):
    """What is typed in place of an answer."""

    SKIP = "s"
    QUIT = "q"


def choices_of(question: LabelQuestion) -> str:
    """What may be typed."""
    item = question.target.item
    words = "y, n" if item and item.anchors is None else question.target.choices
    more = ", x (does not apply)" if item is not None and item.may_not_apply else ""
    return f"{words.partition(', or')[0]}{more}, s (skip), q (quit)"


def read_answer(question: LabelQuestion, typed: str) -> Answer | LabelWish:
    """Raises ValueError in words for what is neither an answer nor a wish."""
    word = typed.strip().casefold()
    word = HANGUL_KEYS.get(word, word)
    if word in ("s", "skip"):
        return LabelWish.SKIP
    if word in ("q", "quit"):
        return LabelWish.QUIT
    return question.target.read("n/a" if word == "x" else word)


def _ask_all(session: LabelSession, desk: _Desk) -> LabelsDoc:
    """Ask each item that this rater has not answered for these bytes, until there are none or the
    person stops.
    """
    answered, shown, places = 0, "", session.unanswered
    try:
        for number, at in enumerate(places, 1):
            question = session.questions[at]
            session.show()
            answer = desk.answer(
                question, number, len(places), is_first=question.text.name != shown
            )
            if answer is LabelWish.QUIT:
                break
            shown = question.text.name
            is_skip = isinstance(answer, LabelWish)
            session.take(at, None if isinstance(answer, LabelWish) else answer)
            answered += not is_skip
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted; every answer so far is kept; run the same command to resume:"
        ) from None
    return session.document(answered)


class _Desk:
    """Shows questions and reads lines. With JSON on stdout the questions go to stderr."""

    def __init__(self, *, is_json: bool) -> None:
        self._out = sys.stderr if is_json else sys.stdout
        self._style = style_for(self._out)
        self._echoes = is_terminal(sys.stdin)

    def answer(
        self, question: LabelQuestion, number: int, of: int, *, is_first: bool
    ) -> Answer | LabelWish:
        """Ask until the person types an answer."""
        lines = (
            list(artifact_lines(question.text.shown, question.text.version, self._style))
            if is_first
            else []
        )
        lines += (
            context_lines(question.text.input, question.text.reference, self._style)
            if is_first
            else []
        )
        lines += question_lines(question.target, number, of, self._style)
        while True:
            typed = self._ask([*lines], choices_of(question))
            if typed is None:
                return LabelWish.QUIT
            try:
                return read_answer(question, typed)
            except ValueError as error:
                lines = [self._style.paint(line(str(error)), "yellow")]

    def _ask(self, lines: list[str], choices: str) -> str | None:
        self._write(self._style.finish(lines) + f"  {choices}: ")
        typed = sys.stdin.buffer.readline()
        if not self._echoes or not typed:
            self._write("\n")  # what is typed at a terminal ends its line there
        return typed.decode("utf-8", "replace") if typed else None

    def _write(self, text: str) -> None:
        encoding = self._out.encoding or "utf-8"
        self._out.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._out.flush()
