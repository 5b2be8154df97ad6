"""A language model that compares two texts: the pairwise prompt, and its reply read strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from honestone.adapters.judges.prompted import PromptedJudge, packing_identity, too_big_to_ask
from honestone.core.ballot import Mark
from honestone.core.packing import Packed, pack, room_for_text, text_size
from honestone.core.pairwise import STEERED, PairQuestion, choice_of, read_pair_reply
from honestone.core.question import Question
from honestone.ports import CallFailed, Prompt, Reading, Reply, Request
from honestone.prompts.filling import load_template
from honestone.prompts.pairwise import LAYOUT, PairPrompt, pair_prompt, pair_schema


class PairJudge:
    """A `Judge` of `PairQuestion`s over the model of a prompted judge. Answers are marks from 0 (first) to 1 (second)."""

    is_paid = True

    def __init__(self, judge: PromptedJudge) -> None:
        self.id = judge.id
        self.model = judge.model
        self.structured = judge.structured
        self.max_output_tokens = judge.max_output_tokens
        self.budget = judge.budget
        self.concurrency = judge.concurrency

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "kind": "pairwise",
            "model": dict(self.model.identity),
            "prompt": load_template("pairwise").digest,
            "layout": LAYOUT,
            "structured": self.structured,
            "max_output_tokens": self.max_output_tokens,
            **packing_identity(self.budget),
        }

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        """Raises CallFailed when the prompt is too big for it."""
        pair = _pair(question)
        prompt, packed = self._fitted(pair)
        if problems:
            prompt = pair_prompt(pair, problems, packed)
        return Request(body=prompt.text, token=prompt.token, numbers=prompt.numbers, canary=prompt.canary)

    def refusal(self, question: Question) -> str | None:
        """Why it would not be asked this: it is too big for it."""
        try:
            self._fitted(_pair(question))
        except CallFailed as failed:
            return failed.reason
        return None

    def packed(self, question: Question) -> Mapping[str, Any] | None:
        """What it is shown of texts that are too big for it, by place; None where it is shown both whole."""
        try:
            _, packed = self._fitted(_pair(question))
        except CallFailed:
            return None
        shown = {name: part.to_plain() for name, part in zip(("first", "second"), packed, strict=True) if part}
        return shown or None

    def _fitted(self, pair: PairQuestion) -> tuple[PairPrompt, tuple[Packed | None, Packed | None]]:
        """The prompt of a first look. Each text gets half of the room, and what the other leaves of its half."""
        prompt = pair_prompt(pair)
        if self.budget.holds(prompt.text):
            return prompt, (None, None)
        both = (pair.first, pair.second)
        room = room_for_text(self.budget, prompt.text, both)
        sizes = [text_size(version) for version in both]
        rooms = [max(room // 2, room - sizes[1]), max(room // 2, room - sizes[0])]
        packed = [
            None if size <= space else pack(version, self.budget.pack, space)
            for version, size, space in zip(both, sizes, rooms, strict=True)
        ]
        shown = pair_prompt(pair, (), (packed[0], packed[1]))
        if self.budget.holds(shown.text):
            return shown, (packed[0], packed[1])
        raise too_big_to_ask(self.budget, prompt.text, both)

    async def ask(self, request: Request, question: Question) -> Reply:
        completion = await self.model.complete(
            Prompt(
                text=request.body,
                schema=pair_schema(_numbers(request)) if self.structured else None,
                max_output_tokens=self.max_output_tokens,
                draw=question.draw,
            )
        )
        detail = dict(completion.detail)
        if completion.model is not None:
            detail["model"] = completion.model
        return Reply(text=completion.text, cut=completion.cut, usage=completion.usage, detail=detail)

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        return read_pair(request, reply)

    async def close(self) -> None:
        await self.model.close()


def _pair(question: Question) -> PairQuestion:
    if not isinstance(question, PairQuestion):
        raise TypeError("a pairwise judge compares two texts")
    return question


def _numbers(request: Request) -> list[int]:
    return [*request.numbers, *(() if request.canary is None else (request.canary,))]


def read_pair(request: Request, reply: Reply) -> Reading:
    """A preference on the control item voids everything."""
    found = read_pair_reply(reply.text, request.token or "", _numbers(request), cut=reply.cut)
    canary = request.canary
    if canary is not None and _prefers_one(found.answers.get(canary)):
        return Reading(
            marks={},
            errors=dict.fromkeys(request.numbers.values(), STEERED),
            problems=(STEERED,),
            repairs=found.repairs,
            control="yes",
        )
    missed = None if canary is None else found.errors.get(canary)
    return Reading(
        marks={key: found.answers[n] for n, key in request.numbers.items() if n in found.answers},
        errors={key: found.errors[n] for n, key in request.numbers.items() if n in found.errors},
        problems=found.problems,
        repairs=found.repairs,
        control="answered" if missed is None else "missed",
        # A reply that cannot be read at all has said so already.
        control_error=None if missed in found.problems else missed,
    )


def _prefers_one(mark: Mark | None) -> bool:
    return mark is not None and choice_of(mark) != "tie"
