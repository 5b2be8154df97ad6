"""A language model that compares two texts: the pairwise prompt, and its reply read strictly."""

from __future__ import annotations

from honestone.adapters.judges.prompted import Fitted, PromptedJudge, quotes_control, reading_of
from honestone.core.judging.ballot import Question
from honestone.core.judging.packing import characters_for_text, pack, text_size
from honestone.core.reading.json_schema import JsonSchema
from honestone.core.reading.pairwise import STEERED, PairQuestion, choice_of, read_pair_reply
from honestone.ports import Reading, Reply, Request, takes_exact_schemas
from honestone.prompts.pairwise import LAYOUT, exact_pair_schema, pair_prompt, pair_schema


class PairJudge(PromptedJudge):
    """A `Judge` of `PairQuestion`s over the model of a prompted judge. Answers are marks from 0
    (first) to 1 (second).
    """

    kind = template = "pairwise"
    layout = LAYOUT

    def __init__(self, judge: PromptedJudge) -> None:
        """With the model and the settings of that judge. A pair is shown without images."""
        vars(self).update(vars(judge), images=False)

    def _fitted(self, question: Question) -> Fitted:
        """Each text gets half of the room, and what the other leaves of its half."""
        if not isinstance(question, PairQuestion):
            raise TypeError("a pairwise judge compares two texts")
        whole = pair_prompt(question)
        if self.budget.holds(whole.body):
            return Fitted(whole, lambda problems: pair_prompt(question, problems))
        both = (question.first, question.second)
        capacity = characters_for_text(self.budget, whole.body, both)
        sizes = [text_size(version) for version in both]
        shares = [max(capacity // 2, capacity - sizes[1]), max(capacity // 2, capacity - sizes[0])]
        first, second = (
            None if size <= space else pack(version, self.budget.pack, space)
            for version, size, space in zip(both, sizes, shares, strict=True)
        )
        shown = pair_prompt(question, (), (first, second))
        if self.budget.holds(shown.body):
            plain = {
                name: part.to_plain()
                for name, part in (("first", first), ("second", second))
                if part
            }
            return Fitted(
                shown, lambda problems: pair_prompt(question, problems, (first, second)), plain
            )
        raise self._too_big(whole, both)

    def _schema(self, request: Request, question: Question) -> JsonSchema:
        numbers = _numbers(request)
        return (
            exact_pair_schema(request.token or "", numbers)
            if takes_exact_schemas(self.model)
            else pair_schema(numbers)
        )

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        """A preference on a control item voids everything."""
        found = read_pair_reply(reply.text, request.token or "", _numbers(request), cut=reply.cut)
        prefers = any(
            choice_of(found.answers[n]) != "tie" for n in request.controls if n in found.answers
        )
        steered = STEERED if prefers or quotes_control(found, request) else None
        return reading_of(found, request, steered, self._stop(reply))


def _numbers(request: Request) -> list[int]:
    return [*request.numbers, *request.controls]
