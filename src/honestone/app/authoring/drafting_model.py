"""A model that drafts rubrics and suites: the one that was named, or the first that is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from honestone.app.authoring.draft_file import RubricAnswers
from honestone.app.workspace import Workspace
from honestone.core.artifact import digest_of
from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Criterion
from honestone.core.judging.spend import Spend
from honestone.core.numbers import money
from honestone.ports import CallFailed, Model, Prompt
from honestone.system.drawing import count


def find_model(workspace: Workspace) -> str | None:
    """The name of a model that is ready here, if `doctor` finds one."""
    from honestone.app.readiness import ready_judges

    return next(iter(ready_judges(workspace.settings, limit=1)), None)


def make_model(workspace: Workspace, name: str, *, what: str, instead: str) -> Model | str:
    """The model behind a judge's name, or why it is missing. Raises UsageError for a judge without
    a model; `what` it was to draft and `instead` of naming one are for that message.
    """
    from honestone.adapters.context import AdapterContext
    from honestone.adapters.judges.prompted import PromptedJudge
    from honestone.adapters.models.absent import AbsentModel
    from honestone.adapters.registry import judge_kind, make_judge

    context = AdapterContext(
        cwd=workspace.folder, settings=workspace.settings, person=workspace.ask_person
    )
    refusal = UsageError(
        f"the judge `{name}` is not a model, so it cannot draft {what}",
        hint=f"name a model: codex, gemini, claude, PROVIDER:MODEL, cmd:COMMAND or a name from settings; {instead}",
    )
    # Not made first: a person's forms and a host agent's mailbox are opened when they are made.
    if judge_kind(name, context) not in ("model", "absent"):
        raise refusal
    judge = make_judge(name, context)
    if type(judge) is not PromptedJudge:
        raise refusal
    if isinstance(judge.model, AbsentModel):
        return "it is not there: `honestone doctor` says how to get it"
    return judge.model


def reply_key(name: str, prompt: str) -> str:
    """What a model's reply to a prompt is kept under."""
    return digest_of(f"{name}\0{prompt}".encode("utf-8", "surrogatepass"))


class DraftingCost(Struct):
    """What the calls of a draft took, as far as the model's side reported it."""

    calls: int = 0
    spend: Spend = field(default_factory=Spend)

    async def complete(self, model: Model, prompt: Prompt) -> str:
        """The reply to one call. One that was sent and failed is counted too. Raises CallFailed."""
        try:
            reply = await model.complete(prompt)
        except CallFailed as failed:
            self.calls += not failed.unsent
            raise
        self.calls += 1
        self.spend.add(reply.usage)
        return reply.text

    @property
    def words(self) -> str:
        """`310 tokens in, 45 out, $0.0012`."""
        read, written = self.spend.input_tokens, self.spend.output_tokens
        tokens = [f"{count(read, 'token')} in, {written:,} out"] if read or written else []
        price = "cost unknown" if self.spend.usd is None else money(self.spend.usd)
        return ", ".join([*tokens, price if self.calls else "nothing spent"])


_OWN_WORDS = "so the draft is from your words and the templates"


async def criteria_by_model(
    workspace: Workspace, name: str, answers: RubricAnswers, keep: Callable[[], None]
) -> tuple[tuple[Criterion, ...], list[str]]:
    """The model's criteria and notes for a person; asked once more with what was wrong. None, with
    a note, when the replies could not be used.

    A reply is put into `answers.replies` and kept before it is read, so that the same question is
    never paid for twice. One that could not be used stays there as evidence, and is asked for
    again.
    """
    from honestone.core.authoring.rubric_drafting import read_model_draft
    from honestone.prompts.drafting import DRAFT_SCHEMA, draft_prompt

    notes: list[str] = []
    model = make_model(workspace, name, what="a rubric", instead="or `none`")
    if isinstance(model, str):
        return (), [f"{name} could not be asked ({model}), {_OWN_WORDS}"]
    problems: tuple[str, ...] = ()
    best: tuple[Criterion, ...] = ()
    cost = DraftingCost()
    try:
        for _ in range(2):
            text = draft_prompt(answers.about, answers.wanted, problems)
            key = reply_key(name, text)
            known = answers.replies.get(key)
            if known is None or read_model_draft(known, answers.wanted).problems:
                reply = await cost.complete(model, Prompt(text=text, schema=DRAFT_SCHEMA))
                if known is not None:
                    answers.replies[_evidence_key(key, answers.replies)] = known
                answers.replies[key] = reply
                keep()
            read = read_model_draft(answers.replies[key], answers.wanted)
            if not read.problems:
                best = read.criteria
                if read.weights is not None:
                    notes.append(
                        f"{name} would weigh them {read.weights}; the draft starts with equal weights"
                    )
                if not read.weak:
                    return best, notes
            problems = (*read.problems, *read.weak)
    except CallFailed as failed:
        problems = (failed.reason,)
    finally:
        await model.close()
    if best:
        notes.append(f"{name} kept a wording that can be read in two ways: {problems[0]}")
    else:
        notes.append(
            f"what {name} drafted in {count(cost.calls, 'call')} could not be used ({problems[0]}; {cost.words}), {_OWN_WORDS}"
        )
    return best, notes


def _evidence_key(key: str, replies: Mapping[str, str]) -> str:
    """A free name for a reply that could not be used."""
    number = 1
    while f"{key} unusable {number}" in replies:
        number += 1
    return f"{key} unusable {number}"
