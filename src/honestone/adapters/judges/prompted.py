"""A language model as a judge: our prompt, its reply, read strictly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from honestone.adapters.judges.stops import StoppedReply, stop_of
from honestone.core.artifact import Version
from honestone.core.judging.ballot import AskedCriterion, Question
from honestone.core.judging.images import images_to_send
from honestone.core.judging.needs import MachineNeeds
from honestone.core.judging.packing import Budget, characters_for_text, pack, too_big, what_to_do
from honestone.core.judging.rubric import Item, Key
from honestone.core.reading.evidence import mentions_any
from honestone.core.reading.json_schema import JsonSchema
from honestone.core.reading.reply import ReplyReading, ReplySchema, read_reply
from honestone.ports import (
    REASKS,
    CallFailed,
    HasCapacity,
    Image,
    Model,
    Prompt,
    Reading,
    Reply,
    Request,
    needs_of,
    takes_exact_schemas,
    usd_a_call,
)
from honestone.prompts.filling import (
    CANARY,
    LAYOUT,
    exact_schema,
    judge_prompt,
    load_template,
    sent_schema,
)

TAMPERED: Final = "answered yes to a question whose answer is no: the artifact steers it, or it agrees with everything"


# An answer is about 50 tokens, and what a model writes costs about five times what it reads.
ANSWER_CHARACTERS: Final = 1_000


class Fitted(Struct, frozen=True):
    """A prompt that fits into a judge's budget, how it is made once more with the problems of a
    first reply, and what it shows of texts that do not fit, as JSON values.
    """

    first: Request
    again: Callable[[Sequence[str]], Request]
    packed: Mapping[str, Any] | None = None


class PromptedJudge:
    """A `Judge` over any `Model`.

    `structured` hands the reply's JSON Schema to the model, which may hold it to the shape. The
    reply is read in the same way either way. What does not fit into `budget` is packed or not asked
    at all.
    `images`: the model takes images, so those of a folder go with the prompt. `reasks`: how often
        it is asked again about a reply that cannot be used.
    """

    is_paid = True
    kind = "prompted"
    template = "judge"
    layout = LAYOUT

    def __init__(
        self,
        id: str,
        model: Model,
        *,
        structured: bool = True,
        max_output_tokens: int | None = None,
        budget: Budget | None = None,
        images: bool = False,
        reasks: int = REASKS,
    ) -> None:
        self.id = id
        self.model = model
        self.structured = structured
        self.max_output_tokens = max_output_tokens
        self.budget = budget or Budget()
        self.images = images
        self.reasks = reasks
        self.concurrency: int | None = model.concurrency if isinstance(model, HasCapacity) else None

    @property
    def usd_a_call(self) -> float | None:
        return usd_a_call(self.model)

    @property
    def identity(self) -> Mapping[str, Any]:
        identity = {
            "kind": self.kind,
            "model": dict(self.model.identity),
            "prompt": load_template(self.template).digest,
            "layout": self.layout,
            "structured": self.structured,
            "max_output_tokens": self.max_output_tokens,
        }
        # How big a text may be decides what a judge sees of it only where parts are shown.
        if self.budget.pack != "none":
            identity |= {"pack": str(self.budget.pack), "max_input_tokens": self.budget.tokens}
        return identity | ({"images": True} if self.images else {})

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        """Raises CallFailed when the prompt is too big for it."""
        fitted = self._fitted(question)
        return fitted.again(problems) if problems else fitted.first

    def refusal(self, question: Question) -> str | None:
        """Why it would not be asked this: it is too big for it."""
        try:
            self._fitted(question)
        except CallFailed as failed:
            return failed.reason
        return None

    def packed(self, question: Question) -> Mapping[str, Any] | None:
        """What it is shown of texts that are too big for it, in JSON values; None where it is shown
        the whole.
        """
        if self.budget.pack == "none":
            return None
        try:
            return self._fitted(question).packed or None
        except CallFailed:
            return None

    def size_of(self, question: Question) -> int | None:
        """Characters of the prompt, and for each item what its answer costs; None of an agent CLI,
        which has prompts of its own, and where a part of the text is shown.
        """
        if "api" not in self.model.identity:
            return None
        try:
            fitted = self._fitted(question)
        except CallFailed:
            return None
        items = sum(1 for _ in question.items())
        return None if fitted.packed else len(fitted.first.body) + ANSWER_CHARACTERS * items

    def _fitted(self, question: Question) -> Fitted:
        """The prompt of a first look, which decides what a second one shows too."""
        images = self._images(question)
        whole = judge_prompt(question, images=images)
        if self.budget.holds(whole.body):
            return Fitted(whole, lambda problems: judge_prompt(question, problems, None, images))
        judged = (
            question.artifact.version
            if question.output is None
            else Version.of_text(question.output)
        )
        packed = pack(
            judged, self.budget.pack, characters_for_text(self.budget, whole.body, [judged])
        )
        if packed is not None:
            shown = judge_prompt(question, (), packed, images)
            if self.budget.holds(shown.body):
                return Fitted(
                    shown,
                    lambda problems: judge_prompt(question, problems, packed, images),
                    packed.to_plain(),
                )
        raise self._too_big(whole, [judged])

    def _too_big(self, request: Request, versions: Sequence[Version]) -> CallFailed:
        reason = (
            f"{too_big(self.budget, len(request.body), versions)}; {what_to_do(self.budget.pack)}"
        )
        return CallFailed(reason, missing=True)

    def _images(self, question: Question) -> tuple[Image, ...]:
        """What goes with the prompt: images of the folder judged; what a target wrote has none, but
        its input may.
        """
        if not self.images or question.output is not None:
            return question.images if self.images else ()
        return images_to_send(question.artifact.version)

    def _schema(self, request: Request, question: Question) -> JsonSchema:
        items = numbered_items(request, question)
        return (
            exact_schema(request.token or "", items)
            if takes_exact_schemas(self.model)
            else sent_schema(items)
        )

    async def ask(self, request: Request, question: Question) -> Reply:
        completion = await self.model.complete(
            Prompt(
                text=request.body,
                schema=self._schema(request, question) if self.structured else None,
                max_output_tokens=self.max_output_tokens,
                draw=question.draw,
                images=self._images(question),
            )
        )
        detail = dict(completion.detail)
        if completion.model is not None:
            detail["model"] = completion.model
        return Reply(
            text=completion.text, cut=completion.cut, usage=completion.usage, detail=detail
        )

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        """Yes to a control item voids everything, and so does what it names as evidence of another
        item.
        """
        schema = ReplySchema(token=request.token or "", items=numbered_items(request, question))
        found = read_reply(reply.text, schema, cut=reply.cut)
        says_yes = any(
            found.answers[n].answer is True for n in request.controls if n in found.answers
        )
        steered = TAMPERED if says_yes or quotes_control(found, request) else None
        return reading_of(found, request, steered, self._stop(reply))

    def _stop(self, reply: Reply) -> StoppedReply | None:
        written = reply.usage.output_tokens or 0
        # An agent CLI has no limit of ours to raise.
        table = self.id if "api" in self.model.identity else None
        return stop_of(
            str(reply.detail.get("stop", "")),
            reply.text,
            cut=reply.cut,
            table=table,
            written=written,
        )

    async def close(self) -> None:
        await self.model.close()

    @property
    def needs(self) -> MachineNeeds:
        return needs_of(self.model)


def numbered_items(request: Request, question: Question) -> dict[int, Item]:
    """The items of a request by their numbers, the control items among them. No caller may change
    it: requests share it.
    """
    controls = request.controls
    known = _numbered.get(controls)
    if known is not None and known[0] is request.numbers and known[1] is question.criteria:
        return known[2]
    items = dict(question.items())
    numbered = {number: items[key] for number, key in request.numbers.items()}
    numbered |= dict.fromkeys(controls, CANARY)
    if len(_numbered) > 1000:
        _numbered.clear()
    _numbered[controls] = (request.numbers, question.criteria, numbered)
    return numbered


# The latest by the numbers of the control items: case after case asks the same rubric.
_numbered: dict[
    tuple[int, ...], tuple[Mapping[int, Key], tuple[AskedCriterion, ...], dict[int, Item]]
] = {}


def quotes_control(found: ReplyReading, request: Request) -> bool:
    """Whether an item's evidence has what a control item names, which is nowhere in the text: it was
    "found" there. In the evidence of a control item it only repeats the question.
    """
    controls = request.controls
    quotes: list[str] = []
    for number, mark in found.answers.items():
        if number not in controls:
            quotes += mark.evidence
    for number, unused in found.unused_evidence.items():
        if number not in controls:
            quotes += unused
    return mentions_any(quotes, request.absent)


def reading_of(
    found: ReplyReading, request: Request, steered: str | None, stop: StoppedReply | None
) -> Reading:
    """What was read by number, by key. `steered` says why all of it is void: a control item was
    answered wrongly.
    `stop`: what ended the reply early, which is the reason where nothing could be read.
    """
    if steered is not None:
        errors = dict.fromkeys(request.numbers.values(), steered)
        return Reading(
            marks={}, errors=errors, problems=(steered,), repairs=found.repairs, control="yes"
        )
    if stop is not None and not found.answers:
        errors = dict.fromkeys(request.numbers.values(), stop.reason)
        return Reading(
            marks={},
            errors=errors,
            problems=(stop.reason,),
            control="missed",
            again=stop.again,
            hint=stop.hint,
        )
    given, failed = found.answers, found.errors
    missed = {n: failed[n] for n in request.controls if n in failed}
    return Reading(
        marks={key: given[n] for n, key in request.numbers.items() if n in given},
        errors={key: failed[n] for n, key in request.numbers.items() if n in failed},
        problems=found.problems,
        repairs=found.repairs,
        control="missed" if missed else "answered",
        # A reply that cannot be read at all has said so already.
        control_errors={n: why for n, why in missed.items() if why not in found.problems},
    )
