"""`honestone label`: a person's answers to the items of a rubric, kept as they are given."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from honestone.app.label import LabelQuestion, LabelRequest, label_artifacts
from honestone.cli import options as shared
from honestone.cli.terminal import Progress, here, render, write
from honestone.core.errors import Interrupted
from honestone.report.labels import artifact_lines, question_lines
from honestone.system.drawing import is_terminal, line, style_for


@click.command("label", short_help="Ask a person the items of a rubric, and keep the answers.")
@click.argument("artifacts", type=shared.PATH, nargs=-1, required=True, metavar="ARTIFACT...")
@click.option("--rubric", "-r", type=shared.PATH, required=True, help="The rubric file.")
@click.option(
    "--labels", type=shared.PATH, required=True, metavar="FILE", help="Where answers are kept: NAME.jsonl or NAME.csv."
)
@click.option("--rater", required=True, metavar="NAME", help="Who answers.")
@shared.accept_loss_option
@shared.json_option
@shared.quiet_option
def label(
    artifacts: tuple[Path, ...], rubric: Path, labels: Path, rater: str, accept_loss: bool, as_json: bool, quiet: bool
) -> int:
    """Label artifacts by hand, so that `honestone calibrate` can measure judges against people.

    Shows each artifact and its open items, and reads one line for each from stdin: y, n, a number on the item's scale,
    s (skip) or q (quit). An answer is kept before the next item is shown; the same command resumes. No one else's answers
    are shown, neither other people's nor those of judges.

    Exits 0, also when items are still open.

    \b
    Example:
      honestone label drafts/*.md --rubric rubric.yaml --labels labels.jsonl --rater maria
    """
    request = LabelRequest(artifacts=artifacts, rubric=rubric, labels=labels, rater=rater, accept_loss=accept_loss)
    with Progress(quiet=quiet) as progress:
        desk = _Desk(is_json=as_json)
        try:
            document = label_artifacts(here(), request, progress, desk.ask)
        except KeyboardInterrupt:
            raise Interrupted("interrupted; every answer so far is kept; run the same command to resume:") from None
    write(render(document, "json" if as_json else "text"))
    return 0


class _Desk:
    """Shows questions and reads lines. With JSON on stdout the questions go to stderr."""

    def __init__(self, *, is_json: bool) -> None:
        self._out = sys.stderr if is_json else sys.stdout
        self._style = style_for(self._out)
        self._echoes = is_terminal(sys.stdin)

    def ask(self, question: LabelQuestion) -> str | None:
        lines: list[str] = []
        if question.is_first:
            lines += artifact_lines(question.artifact, question.version, self._style)
        if question.problem is None:
            lines += question_lines(question.target, question.number, question.of, self._style)
        else:
            lines.append(self._style.paint(line(question.problem), "yellow"))
        self._write(self._style.finish(lines) + f"  {question.choices}: ")
        typed = sys.stdin.buffer.readline()
        if not self._echoes or not typed:
            self._write("\n")  # what is typed at a terminal ends its line there
        return typed.decode("utf-8", "replace") if typed else None

    def _write(self, text: str) -> None:
        encoding = self._out.encoding or "utf-8"
        self._out.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._out.flush()
