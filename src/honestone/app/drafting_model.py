"""A model that drafts rubrics and suites: the one that was named, or the first that is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from honestone.app.workspace import Workspace
from honestone.core.artifact import digest_of
from honestone.core.errors import UsageError

if TYPE_CHECKING:
    from honestone.ports import Model


def find_model(workspace: Workspace) -> str | None:
    """The name of a model that is ready here, if `doctor` finds one."""
    from honestone.app.readiness import ready_judges

    return next(iter(ready_judges(workspace.settings, limit=1)), None)


def make_model(workspace: Workspace, name: str, *, what: str, instead: str) -> Model | str:
    """The model behind a judge's name, or why it is missing. Raises UsageError for a judge without a model; `what` it
    was to draft and `instead` of naming one are for that message."""
    from honestone.adapters.judges.prompted import PromptedJudge
    from honestone.adapters.judges.unavailable import UnavailableJudge
    from honestone.adapters.registry import AdapterContext, make_judge

    judge = make_judge(
        name, AdapterContext(cwd=workspace.folder, settings=workspace.settings, person=workspace.ask_person)
    )
    if isinstance(judge, UnavailableJudge):
        return "it is not there: `honestone doctor` says how to get it"
    if type(judge) is not PromptedJudge or name.startswith("agent:"):
        raise UsageError(
            f"the judge `{name}` is not a model, so it cannot draft {what}",
            hint=f"name a model: codex, gemini, claude, PROVIDER:MODEL, cmd:COMMAND or a name from settings; {instead}",
        )
    return judge.model


def reply_key(name: str, prompt: str) -> str:
    """What a model's reply to a prompt is kept under."""
    return digest_of(f"{name}\0{prompt}".encode("utf-8", "surrogatepass"))
