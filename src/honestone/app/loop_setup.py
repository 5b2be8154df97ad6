"""What the loops over a rubric and over a suite are asked for, and what both set up alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from honestone.adapters.registry import WORKER_TIMEOUT, AdapterContext, make_worker
from honestone.app.judging_options import EFFORTS, JudgingOptions, limit, make_context, max_bytes
from honestone.app.workspace import Workspace
from honestone.core.artifact import Entry, Version
from honestone.core.errors import UsageError
from honestone.core.events import StartedArtifact
from honestone.core.loop.proposal import MAX_DIFF
from honestone.core.loop.state import LoopLimits
from honestone.engine.place import Place
from honestone.engine.retrying import with_retries
from honestone.ports import Completion, Judge, Model, Prompt, Worker
from honestone.system.drawing import count
from honestone.system.files import printable

MINUTES = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class ImprovementRequest:
    """What `improve` is asked for, as given; the defaults are those of the command. Relative paths start in the
    workspace's folder.

    Of `rubric` and `suite` exactly one is named. `target`, `candidates`, `min_pass_rate` and `require_improvement`
    belong to a suite; `holdouts`, `policy` and `self_judge` to a rubric.
    """

    artifact: Path
    rubric: Path | None = None
    suite: Path | None = None
    judging: JudgingOptions = field(default_factory=JudgingOptions)
    worker: str | Worker | None = None
    holdouts: tuple[str | Judge, ...] = ()
    policy: str = "keep-best"
    rounds: int | None = None
    worker_timeout: float | None = None
    max_diff: int | None = None
    self_judge: bool = False
    dry_run: bool = False
    output: Path | None = None
    target: str | None = None
    candidates: int | None = None
    min_pass_rate: float | None = None
    require_improvement: bool = False


def loop_limits(request: ImprovementRequest, workspace: Workspace, calls: Callable[[int], int]) -> LoopLimits:
    """The options before the settings before the effort's rounds and the `calls` that so many rounds need."""
    settings = workspace.settings
    rounds = int(limit(request.rounds, settings, "rounds", EFFORTS[request.judging.effort][2]))
    meter = request.judging.meter(settings, calls=calls(rounds), minutes=MINUTES)
    return LoopLimits(rounds=rounds, calls=meter.calls, minutes=meter.minutes, usd=meter.usd)


def limits_in_words(limits: LoopLimits, more: str = "") -> str:
    """The most that a run can spend; `more` follows the rounds."""
    money = f", {limits.usd:g} USD" if limits.usd is not None else ""
    return (
        f"at most {count(limits.rounds, 'round')}{more}, {limits.calls} judge calls, {limits.minutes:g} minutes{money}"
    )


def started_artifact(place: Place, version: Version) -> StartedArtifact:
    return StartedArtifact(path=place.named, digest=version.digest, is_folder=version.is_folder)


def find_place(request: ImprovementRequest, workspace: Workspace, path: Path, exclude: frozenset[Path]) -> Place:
    """Where the artifact is, with its sibling files. Raises UsageError for an `--output` that would destroy something."""
    output = None if request.output is None else workspace.path(request.output)
    if output is not None and output.resolve() == path.resolve():
        raise UsageError("--output is the artifact itself", hint="leave --output out to improve it in place")
    if output is not None and output.resolve() in exclude:
        raise UsageError(
            f"--output {str(request.output)!r} is the rubric, or a file that judges", hint="name another --output"
        )
    root = path.resolve()
    inside = [file for file in sorted(exclude) if root.is_dir() and root in file.parents and file.is_file()]
    return Place(
        path=root,
        named=printable(request.artifact),
        exclude=exclude,
        siblings={file.relative_to(root).as_posix(): Entry(file.read_bytes()) for file in inside},
        output=output,
        dry_run=request.dry_run,
        max_bytes=max_bytes(request.judging, workspace.settings),
        max_diff=int(limit(request.max_diff, workspace.settings, "max_diff", MAX_DIFF)),
    )


def delivery(request: ImprovementRequest) -> Mapping[str, str]:
    """Where the best version goes, as a part of a run's identity."""
    if request.output is not None:
        return {"deliver": printable(request.output)}
    return {"deliver": "nowhere" if request.dry_run else "in place"}


def paths_inside(root: Path, files: Collection[Path]) -> tuple[str, ...]:
    """The names of those of the files that are in a folder artifact: a worker's model is not shown its rubric."""
    return tuple(sorted(file.relative_to(root).as_posix() for file in files if root.is_dir() and root in file.parents))


def worker_context(
    request: ImprovementRequest, workspace: Workspace, place: Place, base: Path, fixes: tuple[str, ...] = ()
) -> AdapterContext:
    """What workers are made with. `base` is the folder of the rubric or suite."""
    return make_context(
        request.judging,
        workspace,
        worker_timeout=request.worker_timeout or WORKER_TIMEOUT,
        artifact=place.path,
        rubric_folder=base.resolve(),
        fixes=fixes,
        ask=_with_retries,
        hidden=place.off_limits or paths_inside(place.path, place.exclude),
    )


def find_worker(worker: str | Worker | None, context: AdapterContext, *, hint: str) -> Worker:
    """Raises UsageError where none is named, or the one named cannot be."""
    if worker is None:
        raise UsageError("no worker given: choose who makes the edits with --worker", hint=hint)
    return make_worker(worker, context) if isinstance(worker, str) else worker


def _with_retries(model: Model) -> Callable[[Prompt], Awaitable[Completion]]:
    """Calls to a worker's model, tried again while that is worth it."""

    async def ask(prompt: Prompt) -> Completion:
        return await with_retries(lambda: model.complete(prompt))

    return ask
