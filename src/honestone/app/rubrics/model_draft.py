"""A model's draft of the criteria that a person named."""

from __future__ import annotations

from collections.abc import Callable

from honestone.app.drafting_model import make_model, reply_key
from honestone.app.rubrics.draft_file import RubricAnswers
from honestone.app.workspace import Workspace
from honestone.core.rubric import Criterion

_OWN_WORDS = "so the draft is from your words and the templates"


async def criteria_by_model(
    workspace: Workspace, name: str, answers: RubricAnswers, keep: Callable[[], None]
) -> tuple[tuple[Criterion, ...], list[str]]:
    """The model's criteria and notes for a person; asked once more with what was wrong. None, with a note, when the
    replies could not be used.

    A reply is put into `answers.replies` and kept before it is read, so that the same question is never paid for twice.
    """
    from honestone.core.authoring.rubric_drafting import read_model_draft
    from honestone.ports import CallFailed, Prompt
    from honestone.prompts.drafting import draft_prompt

    notes: list[str] = []
    model = make_model(workspace, name, what="a rubric", instead="or `none`")
    if isinstance(model, str):
        return (), [f"{name} could not be asked ({model}), {_OWN_WORDS}"]
    problems: tuple[str, ...] = ()
    best: tuple[Criterion, ...] = ()
    try:
        for _ in range(2):
            text = draft_prompt(answers.about, answers.wanted, problems)
            key = reply_key(name, text)
            if key not in answers.replies:
                answers.replies[key] = (await model.complete(Prompt(text=text))).text
                keep()
            read = read_model_draft(answers.replies[key], answers.wanted)
            if not read.problems:
                best = read.criteria
                if read.weights is not None:
                    notes.append(f"{name} would weigh them {read.weights}; the draft starts with equal weights")
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
        notes.append(f"what {name} drafted could not be used ({problems[0]}), {_OWN_WORDS}")
    return best, notes
