"""Labelling for people: an artifact with its open items, and what a session came to
(`honestone.labels/1`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from honestone.core.artifact import Version
from honestone.core.judging.rubric import as_written
from honestone.core.statistics.labels import LabelTarget
from honestone.report.documents.trust.labels import LabelsDoc
from honestone.system.drawing import Style, clean, count, line

PLAIN: Final = Style()
_MARGIN: Final = (
    "  | "  # in front of every line of the artifact: none of them can look like a question of ours
)


def context_lines(input: str | None, reference: str | None, style: Style = PLAIN) -> Iterator[str]:
    """What judges saw with the text."""
    for name, text in (("input", input), ("reference", reference)):
        if text is not None:
            yield style.paint(f"  {name}", "bold")
            yield from (f"{_MARGIN}{row}" for row in clean(text).splitlines())
            yield ""


def artifact_lines(path: str, version: Version, style: Style = PLAIN) -> Iterator[str]:
    """The whole artifact; of a folder the texts of its files, and the names of the others."""
    yield ""
    yield style.paint(line(path), "bold", "cyan")
    for name in sorted(version.files):
        if version.is_folder:
            yield style.paint(f"  {line(name)}", "bold")
        text = version.texts.get(name)
        if text is None:
            yield f"{_MARGIN}({count(len(version.files[name].data), 'byte')} that are not text)"
        else:
            yield from (f"{_MARGIN}{row}" for row in clean(text).splitlines())
    yield ""


def question_lines(
    target: LabelTarget, number: int, of: int, style: Style = PLAIN
) -> Iterator[str]:
    """One item, with the levels of its scale."""
    assert target.item is not None
    if not target.item.whole:
        yield style.paint(f"  {line(target.criterion.requirement)}", "dim")
    yield f"[{number} of {of}] {style.paint(line(target.item.requirement), 'bold')}"
    for value, meaning in target.item.anchors.levels if target.item.anchors else ():
        yield f"{as_written(value):>8}  {line(meaning)}"


def labels_text(doc: LabelsDoc, style: Style = PLAIN) -> str:
    stored = f"{count(doc.answered, 'answer')} by {line(doc.rater)} kept in {line(doc.labels)}"
    left = f"{count(doc.open, 'question is', 'questions are')} still open; run the same command to resume"
    return style.finish([stored, left if doc.open else "nothing is left to label"])
