"""The tools: the arguments of each, what it calls, and the document and the words that come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from honestone.app.improving.improve import improve
from honestone.app.improving.loop import EditOptions, ImprovementRequest, LoopOptions
from honestone.app.improving.step import (
    StepResult,
    StepsForm,
    Submission,
    resume_steps,
    start_steps,
)
from honestone.app.judging.evaluate import EvaluateRequest, evaluate_one
from honestone.app.judging.judging_options import ArtifactOptions, JudgingOptions
from honestone.app.judging.rubric_plan import load_rubric
from honestone.app.rubrics.check import RubricCheckRequest, check_rubric
from honestone.app.runs.records import RunRecord, open_run
from honestone.app.runs.run_list import list_runs
from honestone.app.stages.files import StageFiles
from honestone.app.stages.run import recorded_pipeline
from honestone.app.workspace import Workspace
from honestone.core.errors import FileError, Interrupted, UsageError
from honestone.core.judging.choices import Ending
from honestone.core.judging.scorecard import EXIT_CODES
from honestone.core.loop.state import Result
from honestone.core.record.runs import SUITES, TABLE
from honestone.mcp.arguments import Arguments, OfferedOption, shared_values, with_options
from honestone.ports import Observer
from honestone.report.documents import JsonDocument, plain, rests_on_one_judge
from honestone.report.formats import draw
from honestone.system.drawing import Style

_PLAIN: Final = Style(unicode=False, width=60)
_LONGEST_REPLY: Final = 1_000_000
# In characters: what an agent is shown of a report. The rest is a resource.
_LONGEST_TEXT: Final = 5_500

Path_: TypeAlias = Annotated[str, Meta(description="A path in the workspace.")]
Whole: TypeAlias = Annotated[int, Meta(ge=1)]

# What an agent may choose of judging. What may be read, contacted and passed on (--allow-outside,
# --allow-host, --pass-env, --sandbox) is a person's choice.
_JUDGING: Final = OfferedOption(
    JudgingOptions,
    (
        "judges",
        "threshold",
        "floor",
        "quorum",
        "combine",
        "effort",
        "repeat",
        "evidence",
        "ask",
        "pack",
        "max_age",
        "judge_timeout",
        "max_calls",
        "max_usd",
        "max_minutes",
        "max_size",
        "fresh",
    ),
)
_OF_VERDICT: Final = OfferedOption(JudgingOptions, ("require_calibration", "require_tier"))
_OF_SURE: Final = OfferedOption(JudgingOptions, ("sure", "max_looks"))
_OF_EVAL: Final = OfferedOption(
    ArtifactOptions, ("input", "reference", "gate_only", "accept_loss", "locked")
)
_OF_LOOPS: Final = OfferedOption(
    LoopOptions,
    (
        "holdouts",
        "require_calibration",
        "require_tier",
        "policy",
        "rounds",
        "max_diff",
        "max_growth",
        "dry_run",
        "output",
    ),
)
_OF_EDITS: Final = OfferedOption(EditOptions, ("worker", "worker_timeout", "self_judge"))


def _judging(given: Arguments) -> JudgingOptions:
    return JudgingOptions(**shared_values(given, JudgingOptions))


def _improvement(given: Arguments, artifact: str, rubric: str) -> ImprovementRequest:
    values = shared_values(given, ImprovementRequest)
    paths = {"artifact": Path(artifact), "rubric": Path(rubric)}
    # What a loop asks of its held-out judges is an option of its own.
    judging = replace(_judging(given), require_calibration=False, require_tier=None)
    return ImprovementRequest(**{**values, **paths, "judging": judging})


class Eval(Arguments, kw_only=True):
    """Score a file or folder against a rubric: the verdict of the gate, a score per criterion, what
    is unmet and why.
    """

    artifact: Path_
    rubric: Path_
    target: Annotated[
        str | None,
        Meta(description="What makes the output that is judged, instead of the artifact."),
    ] = None


class Improve(Arguments, kw_only=True):
    """Improve a file or folder until its rubric's gate is met, by a worker of honestone's own.
    Takes minutes; when it is cut off, the same call resumes. To do the edits yourself, use
    step_next.
    """

    artifact: Path_
    rubric: Path_


class RubricCheckArguments(Arguments, kw_only=True):
    """Find what is wrong or weak in a rubric. Asks no judge and changes nothing."""

    rubric: Path_
    strict: Annotated[bool, Meta(description="Findings make exit_code 1.")] = False


class Runs(Arguments, kw_only=True):
    """List recorded runs, newest first."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 20


class Show(Arguments, kw_only=True):
    """Show a recorded run: its scorecard or the result of its loop."""

    run: Annotated[str, Meta(description="Its id, the beginning of it, or `last`.")] = "last"


class StepNext(Arguments, kw_only=True):
    """The next action of a loop whose worker is you: edit a copy as the brief says, have a reply
    written for a judge's prompt, or stop because it is done. With artifact and rubric a run is
    started; without, this session's is resumed.
    """

    artifact: Path_ | None = None
    rubric: Path_ | None = None
    session: Annotated[
        str | None, Meta(description="The session that owns the run, if the host does not say.")
    ] = None
    compact: Annotated[bool, Meta(description="Prompts of judges in files, and a short end.")] = (
        True
    )


class StepSubmit(Arguments, kw_only=True):
    """Hand in the edited copy, or a judge's reply, and get the next action."""

    run: Annotated[str | None, Meta(description="As the action says.")] = None
    reply: Annotated[
        str | None, Meta(description="The file with a judge's reply: the action's `reply_file`.")
    ] = None
    ended: Ending = "exited"
    round: Annotated[Whole | None, Meta(description="The round that is handed in.")] = None
    message: Annotated[str, Meta(description="A word on it for the record.")] = ""
    session: str | None = None
    compact: bool = True


class ToolAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a call came to: the command's JSON, its exit code, and the words for hosts that show
    nothing else.
    """

    document: JsonDocument
    exit_code: int = 0
    text: str | None = None

    @property
    def structured(self) -> JsonDocument:
        return {**self.document, "exit_code": self.exit_code}

    @property
    def words(self) -> str:
        if self.text is None:
            return msgspec.json.encode(self.structured).decode()
        run, text = self.document.get("run"), self.text
        if len(text) > _LONGEST_TEXT:
            text = f"{text[:_LONGEST_TEXT]}\n... the rest is in the resource honestone://runs/{run}/report\n"
        known = [
            f"{name} {self.structured[name]}"
            for name in ("verdict", "result", "exit_code", "run")
            if self.structured.get(name) is not None
        ]
        known += ["low confidence"] if rests_on_one_judge(self.document) else []
        return f"{text}\n{', '.join(known)}"


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Where a tool works, and who hears of it. `session` is the host's, where it is known."""

    workspace: Workspace
    observer: Observer
    session: str | None = None


def eval_(call: Call, given: Eval) -> ToolAnswer:
    given_too = shared_values(given, EvaluateRequest) | {
        "rubric": Path(given.rubric),
        "target": given.target or "identity",
    }
    request = EvaluateRequest(
        artifacts=(Path(given.artifact),), judging=_judging(given), **given_too
    )
    found = evaluate_one(call.workspace, request, call.observer)
    return ToolAnswer(
        document=found.document,
        exit_code=EXIT_CODES[found.outcome],
        text=draw(found.report, "text", _PLAIN),
    )


def improve_(call: Call, given: Improve) -> ToolAnswer:
    done = improve(call.workspace, _improvement(given, given.artifact, given.rubric), call.observer)
    if done.result is Result.INTERRUPTED:
        raise Interrupted(f"interrupted; the same call resumes run {done.run}")
    return ToolAnswer(
        document=done.document,
        exit_code=done.exit_code,
        text=draw(done.improvement, "text", _PLAIN),
    )


def rubric_check(call: Call, given: RubricCheckArguments) -> ToolAnswer:
    found = check_rubric(call.workspace, RubricCheckRequest(path=Path(given.rubric)), call.observer)
    return ToolAnswer(document={**found.to_plain()}, exit_code=found.exit_code(strict=given.strict))


def runs(call: Call, given: Runs) -> ToolAnswer:
    return ToolAnswer(
        document={"runs": [run.to_plain() for run in list_runs(call.workspace, limit=given.limit)]}
    )


def show(call: Call, given: Show) -> ToolAnswer:
    with open_run(call.workspace, given.run) as record:
        run = record.info.id
        if record.info.kind == "stages":
            done = recorded_pipeline(StageFiles.at(call.workspace), record.store, run)
            return ToolAnswer(document={"run": run, **done.document})
        documents = _documents(record)
    if len(documents) != 1:
        return ToolAnswer(document={"run": run, "scorecards": [plain(one) for one in documents]})
    return ToolAnswer(
        document={"run": run, **plain(documents[0])}, text=draw(documents[0], "text", _PLAIN)
    )


def _documents(record: RunRecord) -> list[msgspec.Struct]:
    if record.info.kind == "improve":
        return [record.improvement()[0]]
    if record.info.kind == TABLE:
        return [record.table()]
    return (
        [record.suite_report().whole] if record.info.kind in SUITES else list(record.scorecards())
    )


def report_text(workspace: Workspace, run: str) -> str:
    """The report of a run as Markdown. Raises StoreError where there is no such run."""
    with open_run(workspace, run) as record:
        if record.info.kind == "stages":
            raise UsageError(
                f"run {record.info.id} is of stages, and those have no report",
                hint="the tool `show`",
            )
        if record.info.kind == "improve":
            return record.improvement()[1]
        return "\n".join(draw(document, "markdown", _PLAIN) for document in _documents(record))


def rubric_text(workspace: Workspace, name: str) -> str:
    """The text of a rubric file. Raises UsageError for another file."""
    path = workspace.path(name)
    load_rubric(path, accept_loss=True)
    return path.read_text(encoding="utf-8-sig", errors="replace")


def step_next(call: Call, given: StepNext) -> ToolAnswer:
    form = StepsForm(session=given.session or call.session, compact=given.compact)
    if given.artifact is None:
        return _step(resume_steps(call.workspace, None, Submission(), call.observer, form))
    if given.rubric is None:
        raise UsageError("a run of steps needs a rubric", hint="name `artifact` and `rubric`")
    return _step(
        start_steps(
            call.workspace, _improvement(given, given.artifact, given.rubric), call.observer, form
        )
    )


def step_submit(call: Call, given: StepSubmit) -> ToolAnswer:
    reply = None if given.reply is None else _read_reply(call.workspace.path(given.reply))
    handed = Submission(
        is_edit=reply is None,
        reply=reply,
        round=given.round,
        ended=given.ended,
        message=given.message[:2000],
    )
    form = StepsForm(session=given.session or call.session, compact=given.compact)
    return _step(resume_steps(call.workspace, given.run, handed, call.observer, form))


def _step(found: StepResult) -> ToolAnswer:
    if found.action == "interrupted":
        raise Interrupted(f"interrupted; the same call resumes run {found.run}")
    found.hand_out()
    return ToolAnswer(document=found.document, exit_code=found.exit_code)


def _read_reply(path: Path) -> str:
    try:
        data = path.read_bytes() if path.stat().st_size <= _LONGEST_REPLY else b""
    except OSError as error:
        raise FileError(f"cannot read the reply {str(path)!r}: {error.strerror}") from None
    if not data.strip():
        raise UsageError(
            "the reply is empty, or too long for one", hint="submit what the judge answered, alone"
        )
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _without_null(shown: dict[str, Any]) -> dict[str, Any]:
    """The schema of an argument that may be left out, for agents: shorter than one that may be
    null.
    """
    choices = [one for one in shown.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == len(shown.get("anyOf", ())):
        return shown
    described = {"description": shown["description"]} if "description" in shown else {}
    return described | (choices[0] if len(choices) == 1 else {"anyOf": choices})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`work` is called with arguments of the class `takes`, which have the options `offers` as well.
    `reads`: it changes nothing and asks no judge.
    """

    takes: type[Arguments]
    work: Callable[..., ToolAnswer]
    offers: tuple[OfferedOption, ...] = ()
    reads: bool = False
    arguments: type[Arguments] = field(init=False)
    schema: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        made = with_options(self.takes, self.offers)
        object.__setattr__(self, "arguments", made)
        found = msgspec.json.schema(made)["$defs"][made.__name__]
        shown = {name: _without_null(one) for name, one in found["properties"].items()}
        closed = {
            "type": "object",
            "properties": shown,
            "required": found["required"],
            "additionalProperties": False,
        }
        object.__setattr__(self, "schema", closed)

    @property
    def description(self) -> str:
        return " ".join((self.takes.__doc__ or "").split())

    def call(self, call: Call, given: object) -> ToolAnswer:
        """Raises UsageError for arguments that it does not take, then as the command does."""
        try:
            arguments = msgspec.convert(given, self.arguments)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"wrong arguments: {error}",
                hint=f"it takes: {', '.join(self.arguments.__struct_encode_fields__)}",
            ) from None
        return self.work(call, arguments)


def find_tool(name: str) -> Tool:
    if name not in TOOLS:
        raise UsageError(f"no tool is called {name!r}", hint=f"the tools are {', '.join(TOOLS)}")
    return TOOLS[name]


TOOLS: Final = {
    "eval": Tool(takes=Eval, work=eval_, offers=(_JUDGING, _OF_EVAL, _OF_VERDICT, _OF_SURE)),
    "improve": Tool(
        takes=Improve, work=improve_, offers=(_JUDGING, _OF_SURE, _OF_LOOPS, _OF_EDITS)
    ),
    "rubric_check": Tool(takes=RubricCheckArguments, work=rubric_check, reads=True),
    "runs": Tool(takes=Runs, work=runs, reads=True),
    "show": Tool(takes=Show, work=show, reads=True),
    "step_next": Tool(takes=StepNext, work=step_next, offers=(_JUDGING, _OF_LOOPS)),
    "step_submit": Tool(takes=StepSubmit, work=step_submit),
}
