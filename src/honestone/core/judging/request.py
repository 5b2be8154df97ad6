"""What is sent to a judge, and the JSON object that `script:` judges get on stdin
(`honestone.judge-request/1`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from honestone.core.judging.ballot import AskedCriterion, Question
from honestone.core.judging.rubric import Anchors, Key, as_written

SCHEMA = "honestone.judge-request/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
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
        return tuple(number for number in (self.canary, self.claim) if number is not None)

    @property
    def absent(self) -> tuple[str, ...]:
        """What the control items name, in lower case: nothing of it is in the text."""
        return tuple(words for words in (self.control_word, self.claimed) if words is not None)


def judge_request(question: Question, problems: Sequence[str] = ()) -> dict[str, object]:
    """All that a judge is given, and nothing else. `problems` name the errors of its first reply,
    on a second look.
    """
    version = question.artifact.version
    artifact: dict[str, object] = {"path": question.artifact.path, "digest": version.digest}
    if version.is_folder:
        artifact["files"] = [{"path": path, "text": text} for path, text in version.texts.items()]
    else:
        artifact["text"] = version.text
    request: dict[str, object] = {
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


def _criterion(criterion: AskedCriterion) -> dict[str, object]:
    out: dict[str, object] = {"id": criterion.id, "requirement": criterion.requirement}
    items = []
    for item in criterion.items:
        anchors = {} if item.anchors is None else {"anchors": _anchors(item.anchors)}
        if item.whole:
            out |= anchors
        else:
            items.append({"id": item.id, "requirement": item.requirement, **anchors})
    if items:
        out["items"] = items
    return out


def _anchors(anchors: Anchors) -> dict[str, str]:
    return {str(as_written(value)): text for value, text in anchors.levels}
