"""`honestone step`: a host agent as the worker of the ordinary loop, one action at a time.

The run is one of `improve`, with the same events and rules; the command ends where the loop needs somebody and the
next one goes on. What is handed out lies below the store, in `step/RUN/`, until it is taken back.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from honestone.adapters.judges.agent import is_agent
from honestone.adapters.workers.step import StepWorker, Waiting
from honestone.app.history import improvement_report, state_of
from honestone.app.host_judge import Wanted, reply_key, still_asked, take_reply
from honestone.app.setup import JudgingOptions, open_store_for, settings_here
from honestone.cli import options as shared
from honestone.cli.improve import Job, improve
from honestone.cli.judge_prompt import read_reply_file
from honestone.cli.main import LazyGroup
from honestone.cli.printing import dump, write
from honestone.cli.progress import Progress
from honestone.core.errors import StoreError, UsageError
from honestone.core.events import Event
from honestone.core.loop.actions import Propose, Result, exit_code
from honestone.core.loop.decide import decide
from honestone.core.loop.state import LoopState
from honestone.core.question import Question
from honestone.ports import HasCapacity, Judge, Reading, Reply, Request, Store
from honestone.report.documents import plain
from honestone.system.files import write_atomically

if TYPE_CHECKING:
    from honestone.engine.panel import Seat

SCHEMA: Final = "honestone.step/1"
_SESSION, _HANDED_OUT = "session.json", "handed-out"
_NOT_HERE: Final = frozenset(
    {
        "artifact",
        "rubric_path",
        "worker_name",
        "worker_timeout",
        "self_judge",
        "form",
        "as_json",
        "suite_path",
        "target",
        "candidates",
        "min_pass_rate",
        "require_improvement",
    }
)
"""What `improve` takes and a host agent's loop does not, or takes in another way."""

COMMANDS: Final = {
    "next": ("honestone.cli.step:next_", "Go on to the next thing to do, and print it."),
    "submit": ("honestone.cli.step:submit", "Hand in what was asked for, and go on."),
    "status": ("honestone.cli.step:status", "Where the run is."),
}


@click.group(
    "step", cls=LazyGroup, commands_table=COMMANDS, short_help="A host agent as the worker, one action at a time."
)
def step() -> None:
    """A host agent as the worker, one action at a time.

    \b
      honestone step next note.md --rubric rubric.yaml     {"action": "propose", "brief", "location", ...}
      ... edit what lies at the location, in place ...
      honestone step submit                                the next action, or {"action": "done", ...}
    """


@click.command("next")
@click.argument("artifact", type=shared.PATH, required=False)
@click.option("--rubric", "rubric_path", type=shared.PATH, help="The rubric file.")
@click.option("--json", "as_json", is_flag=True, hidden=True)
def next_(artifact: Path | None, rubric_path: Path | None, as_json: bool, **options: Any) -> int:
    """Run the loop until it needs somebody, and print what to do as JSON. Asking again prints the same.

    \b
    propose  edit what lies at `location` as the `brief` says, then: honestone step submit
    judge    answer the `prompt`, then: honestone step submit --reply FILE
    done     the result, as `improve` prints it

    Without ARTIFACT it goes on with the latest run. Exits 0 while there is something to do, then as `improve`.
    """
    if artifact is None:
        return _go_on(None, Submission())
    if rubric_path is None:
        raise UsageError("a run of steps needs a rubric", hint=f"honestone step next {artifact} --rubric RUBRIC")
    return _run(Session(artifact=artifact, rubric_path=rubric_path, options=options), Submission())


next_.params += [param for param in improve.params if param.name not in _NOT_HERE]


@click.command("submit")
@click.argument("run", required=False)
@click.option(
    "--reply", "reply_path", metavar="FILE", default=None, help="A judge's reply, where one was asked for; - is stdin."
)
@click.option(
    "--ended",
    type=click.Choice(["exited", "timeout", "denied", "crashed"]),
    default="exited",
    show_default=True,
    help="How the edit ended; what it achieved is read from the bytes.",
)
@click.option(
    "--round",
    "number",
    type=click.IntRange(min=1),
    default=None,
    help="The round that is handed in: repeated by mistake, it is not taken for the next one's.",
)
@click.option("--message", default="", metavar="TEXT", help="A word on it for the record.")
@click.option("--json", "as_json", is_flag=True, hidden=True)
def submit(run: str | None, reply_path: str | None, ended: Any, number: int | None, message: str, as_json: bool) -> int:
    """Hand in the edited copy, or a judge's reply with --reply, and go on to the next action.

    The bytes at the location decide what the edit is worth. With RUN and --round, as each action's `then` has them,
    submitting twice does no harm.
    """
    reply = None if reply_path is None else read_reply_file(reply_path)
    handed = Submission(reply=reply, is_edit=reply is None, round=number, ended=ended, message=message[:2000])
    return _go_on(run, handed)


@click.command("status")
@click.argument("run", required=False)
@shared.json_option
def status(run: str | None, as_json: bool) -> int:
    """Where the run is. Nothing is asked, decided or changed."""
    with open_store_for(settings_here()) as store:
        folder = _folder_of(store, run)
        document = _status(store, folder)
    if as_json:
        write(dump(document) + "\n")
        return 0
    waits = {
        "edit": f"an edit of {document['location']}, then: honestone step submit",
        "go on": "honestone step next",
        "done": f"nothing: {document['result']}",
    }[document["waits_for"]]
    write(f"run {document['run']} on {document['artifact']}: {document['rounds']} rounds done\nwaits for {waits}\n")
    return 0


# ---------------------------------------------------------------------------------------------------------- sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What `step next` was told, kept with the run so that the other commands need not be told again."""

    artifact: Path
    rubric_path: Path
    options: Mapping[str, Any]

    def keep(self, folder: Path) -> None:
        plain = {
            "folder": os.getcwd(),
            "artifact": str(self.artifact),
            "rubric": str(self.rubric_path),
            "options": {
                name: str(value) if isinstance(value, Path) else value
                for name, value in self.options.items()
                if name != "fresh"
            },
        }
        write_atomically(folder / _SESSION, json.dumps(plain).encode())

    @classmethod
    def load(cls, folder: Path) -> Session:
        """The session of a run, in the folder where it was begun: its paths and commands are relative to that."""
        try:
            plain = json.loads((folder / _SESSION).read_bytes())
            os.chdir(plain["folder"])
            given: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in plain["options"].items()
            }
            given["fresh"] = False
            if given.get("output") is not None:
                given["output"] = Path(given["output"])
            return cls(artifact=Path(plain["artifact"]), rubric_path=Path(plain["rubric"]), options=given)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"what is known of run {folder.name} cannot be used: {error}",
                hint="start from the command again: honestone step next ARTIFACT --rubric RUBRIC",
            ) from None


@dataclass(slots=True, kw_only=True)
class Submission:
    """What this command hands in: an edit, a judge's reply, or nothing."""

    is_edit: bool = False
    reply: str | None = None
    round: int | None = None
    ended: Any = "exited"
    message: str = ""


def _steps(store: Store) -> Path:
    return store.root / "step"


def _folder_of(store: Store, run: str | None) -> Path:
    """The folder of the run that is meant: the one named, else the newest unfinished one, else the newest."""
    folders = sorted((path.parent for path in _steps(store).glob(f"*/{_SESSION}")), reverse=True)
    if run is not None and run not in ("last", "latest"):
        name = store.find_run(run).id
        folders = [folder for folder in folders if folder.name == name]
    if not folders:
        raise UsageError(
            "there is no run of steps here", hint="start one: honestone step next ARTIFACT --rubric RUBRIC"
        )
    unfinished = [folder for folder in folders if store.find_run(folder.name).finished is None]
    return (unfinished or folders)[0]


def _go_on(run: str | None, submission: Submission) -> int:
    with open_store_for(settings_here()) as store:
        folder = _folder_of(store, run)
        if store.find_run(folder.name).finished is not None:
            return _print_done(plain(improvement_report(store, folder.name)[0]))
    return _run(Session.load(folder.resolve()), submission)


def _run(session: Session, submission: Submission) -> int:
    given = dict(session.options)
    quiet = given.pop("quiet", False)
    judging = shared.take_judging(given)
    with Progress(quiet=quiet) as progress:
        job = _StepJob(session, judging, given, submission, progress)
        return job.run("json")


def _status(store: Store, folder: Path) -> dict[str, Any]:
    log: list[Event] = store.events(folder.name)
    state = state_of(log)
    place = _handed_out(folder)
    best = state.card(state.best)
    return {
        "schema": SCHEMA,
        "run": folder.name,
        "artifact": log[0]["artifact"]["path"],
        "rounds": sum(not entry.is_open for entry in state.rounds),
        "best_interval": [float(best.low * 100), float(best.high * 100)],
        "waits_for": "done" if state.finished else "edit" if _wants_edit(state, log, place) else "go on",
        "location": str(_location(folder, place)) if place is not None and state.finished is None else None,
        "result": str(state.finished.result) if state.finished else None,
        "reason": state.finished.reason if state.finished else None,
    }


def _wants_edit(state: LoopState, log: Sequence[Event], handed_out: int | None) -> bool:
    from honestone.core.loop.policies import POLICIES

    action = decide(state, POLICIES[log[0]["policy"]])
    return isinstance(action, Propose) and handed_out == len(state.rounds) + 1


def _location(folder: Path, number: int) -> Path | None:
    return next(iter((folder / f"round-{number}" / "copy").glob("*")), None)


def _handed_out(folder: Path) -> int | None:
    """The round whose copy somebody has been told of. Until that is on disk, a submission is not about it."""
    numbers = [int(path.parent.name.removeprefix("round-")) for path in folder.glob(f"round-*/{_HANDED_OUT}")]
    return max(numbers, default=None)


# ---------------------------------------------------------------------------------------------------------- working


class _StepJob(Job):
    """An `improve` command whose worker is whoever reads its output."""

    def __init__(
        self,
        session: Session,
        judging: JudgingOptions,
        options: Mapping[str, Any],
        submission: Submission,
        progress: Progress,
    ) -> None:
        super().__init__(
            session.artifact,
            session.rubric_path,
            judging,
            worker_name="step",
            worker_timeout=None,
            self_judge=False,
            progress=progress,
            **options,
        )
        self._session = session
        self._submission = submission

    def _work(self, store: Store, run: str, state: LoopState, log: list[Event], form: str) -> int:
        folder = (_steps(store) / run).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self._session.keep(folder)
        self._hand_in(folder, state)
        desk = _Desk(store, self._submission)
        self._panel, self._holdouts = desk.seats(self._panel), desk.seats(self._holdouts)
        printed = io.StringIO()
        try:
            with redirect_stdout(printed):
                code = super()._work(store, run, state, log, "json")
        except Waiting as waiting:
            self._progress.close()
            return self._print(waiting.action, run, folder, desk)
        if state.finished is None:  # Interrupted, and said so.
            return code
        for done in folder.glob("round-*"):
            shutil.rmtree(done, ignore_errors=True)
        return _print_done(json.loads(printed.getvalue()))

    def _hand_in(self, folder: Path, state: LoopState) -> None:
        worker = self._worker
        assert isinstance(worker, StepWorker)
        worker.folder, worker.round = folder, lambda: len(state.rounds) + 1
        if self._submission.is_edit:
            handed_out = _handed_out(folder)
            worker.submitted = handed_out if self._submission.round in (None, handed_out) else None
            worker.ended, worker.message = self._submission.ended, self._submission.message

    def _not_used(self, desk: _Desk) -> list[str]:
        """What was handed in although something else was waited for, as after a kill when it is handed in twice."""
        worker = self._worker
        assert isinstance(worker, StepWorker)
        if not desk.has_used_reply:
            return ["no reply was waited for, so none was taken: this is the next thing to do"]
        if self._submission.is_edit and not worker.has_taken:
            return ["no edit was waited for, so none was taken: this is the next thing to do"]
        return []

    def _print(self, action: dict[str, Any], run: str, folder: Path, desk: _Desk) -> int:
        """Print an action; once it is out, it counts as handed out."""
        problems = [*self._not_used(desk), *action.pop("problems", ())]
        document = {"schema": SCHEMA, "action": action.pop("action"), "run": run, **action}
        if problems:
            document["problems"] = problems
        is_edit = document["action"] == "propose"
        how = f"--round {action['round']}" if is_edit else "--reply FILE"
        document["then"] = f"honestone step submit {run} {how}"
        write(dump(document) + "\n")
        sys.stdout.flush()
        if is_edit:
            number = action["round"]
            (folder / f"round-{number}" / _HANDED_OUT).touch()
            for old in folder.glob("round-*"):
                if old.name != f"round-{number}":
                    shutil.rmtree(old, ignore_errors=True)
        return 0


def _print_done(document: dict[str, Any]) -> int:
    write(dump({"action": "done", **document}) + "\n")
    return exit_code(Result(document["result"]))


# ---------------------------------------------------------------------------------------------------------- judging


class _Desk:
    """Where host agents that judge leave their replies. Nobody else is asked about a version before they have."""

    def __init__(self, store: Store, submission: Submission) -> None:
        self._store = store
        self._reply = submission.reply
        self._problems: tuple[str, ...] = ()

    def seats(self, seats: tuple[Seat, ...]) -> tuple[Seat, ...]:
        """The same seats with judges that wait for the agents among them."""
        agents = [seat for seat in seats if is_agent(seat.judge)]
        return tuple(replace(seat, judge=_Waits(seat.judge, agents, self)) for seat in seats) if agents else seats

    def require(self, seat: Seat, question: Question) -> None:
        """Raises Waiting until this agent has replied, and replied once more where its first reply lacks something."""
        question = replace(question, draw=seat.draw)
        wanted = still_asked(self._store, seat, question)
        if wanted is not None and self._reply is not None:
            text, self._reply = self._reply, None
            taken = take_reply(self._store, seat, question, text)
            if taken.refused:
                self._problems = ("the reply was refused and is not recorded", *taken.refused)
            else:
                wanted = still_asked(self._store, seat, question)
        if wanted is not None:
            raise Waiting(_judge_action(seat, wanted, self._problems))

    def recorded(self, seat: Seat, request: Request) -> Reply:
        import msgspec

        kept = self._store.reply(reply_key(seat, request))
        if kept is None:
            raise StoreError("a reply that was on record a moment ago is gone")
        return msgspec.convert(kept, Reply)

    @property
    def has_used_reply(self) -> bool:
        return self._reply is None


def _judge_action(seat: Seat, wanted: Wanted, refused: Sequence[str]) -> dict[str, Any]:
    return {
        "action": "judge",
        "judge": seat.id,
        "prompt": wanted.request.body,
        "token": wanted.request.token,
        "problems": [*refused, *wanted.problems],
    }


class _Waits:
    """A judge that is asked only when the agents beside it have replied: a call that is under way would be lost."""

    def __init__(self, judge: Judge, agents: Sequence[Seat], desk: _Desk) -> None:
        self._judge = judge
        self._agents = agents
        self._desk = desk
        self.id = judge.id
        self.is_paid = judge.is_paid
        self.concurrency = judge.concurrency if isinstance(judge, HasCapacity) else None

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._judge.identity

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        return self._judge.render(question, problems)

    async def ask(self, request: Request, question: Question) -> Reply:
        for seat in self._agents:
            self._desk.require(seat, question)
        own = next((seat for seat in self._agents if seat.judge is self._judge), None)
        return self._desk.recorded(own, request) if own else await self._judge.ask(request, question)

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        return self._judge.read(question, request, reply)

    async def close(self) -> None:
        await self._judge.close()
