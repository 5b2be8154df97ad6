"""What is sent to a judge, and the JSON object that `script:` judges get on stdin
(`honestone.judge-request/1`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from msgspec import Struct, field

from honestone.core.json_value import JsonObject
from honestone.core.judging.ballot import AskedCriterion, Question
from honestone.core.judging.rubric import Anchors, Key, as_written

SCHEMA = "honestone.judge-request/1"


class Request(Struct, frozen=True, kw_only=True):
    """What is sent to a judge: `body` is the prompt or the JSON, `token` what a prompted reply has
    to echo.

    `keyed` is what the reply is recorded under where that is not the whole body.

    `numbers` maps the item numbers of the prompt to keys; `canary` is the number of the item whose
    answer is no, and `control_word` the word it asks for, which is nowhere in the text. `claim` is
    the number of a second such item, and `claimed` what it names and the text does not.
    """

    body: str
    token: str | None = None
    numbers: Mapping[int, Key] = field(default_factory=dict)
    canary: int | None = None
    keyed: str | None = None
    control_word: str | None = None
    claim: int | None = None
    claimed: str | None = None

    @property
    def controls(self) -> tuple[int, ...]:
        """The numbers of the items whose answer is known to be no."""
        return tuple([number for number in (self.canary, self.claim) if number is not None])

    @property
    def absent(self) -> tuple[str, ...]:
        """What the control items name, in lower case: nothing of it is in the text."""
        return tuple([words for words in (self.control_word, self.claimed) if words is not None])


class FileOfRequest(TypedDict):
    """A text file of a folder."""

    path: str
    text: str


class ArtifactOfRequest(TypedDict):
    """What is judged: a file with its text, or a folder with its text files."""

    path: str
    digest: str
    text: NotRequired[str]
    files: NotRequired[list[FileOfRequest]]


class ItemOfRequest(TypedDict):
    """A question; with the levels of its scale where it is not one of yes and no."""

    id: str
    requirement: str
    anchors: NotRequired[dict[str, str]]


class CriterionOfRequest(ItemOfRequest):
    """A criterion, which is a question itself where it has no items."""

    items: NotRequired[list[ItemOfRequest]]


class JudgeRequest(TypedDict):
    """`honestone.judge-request/1`; the fields are those of `Question`."""

    schema: str
    artifact: ArtifactOfRequest
    input: str | None
    reference: str | None
    output: str | None
    criteria: list[CriterionOfRequest]
    workspace: JsonObject | None
    draw: int
    problems: NotRequired[list[str]]


def judge_request(question: Question, problems: Sequence[str] = ()) -> JudgeRequest:
    """All that a judge is given, and nothing else. `problems` name the errors of its first reply,
    on a second look.
    """
    version = question.artifact.version
    artifact: ArtifactOfRequest = {"path": question.artifact.path, "digest": version.digest}
    if version.is_folder:
        artifact["files"] = [{"path": path, "text": text} for path, text in version.texts.items()]
    else:
        artifact["text"] = version.text
    request: JudgeRequest = {
        "schema": SCHEMA,
        "artifact": artifact,
        "input": question.input,
        "reference": question.reference,
        "output": question.output,
        "criteria": [_criterion(criterion) for criterion in question.criteria],
        "workspace": question.workspace,
        "draw": question.draw,
    }
    if problems:
        request["problems"] = list(problems)
    return request


def _criterion(criterion: AskedCriterion) -> CriterionOfRequest:
    out: CriterionOfRequest = {"id": criterion.id, "requirement": criterion.requirement}
    items: list[ItemOfRequest] = []
    for item in criterion.items:
        if not item.whole:
            items.append({"id": item.id, "requirement": item.requirement})
        if item.anchors is not None:
            (out if item.whole else items[-1])["anchors"] = _anchors(item.anchors)
    if items:
        out["items"] = items
    return out


def _anchors(anchors: Anchors) -> dict[str, str]:
    return {str(as_written(value)): text for value, text in anchors.levels}
