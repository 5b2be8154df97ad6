"""`step`: the loop of `improve` with a host agent as its worker, one action at a time.

It is one run of `improve`, with the same events and rules; each call ends where the loop needs
somebody, and the next one resumes it. What is handed out is below the store, in `step/RUN/`, until
it is taken back.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypedDict

from msgspec import Struct
from msgspec.structs import asdict, replace

from honestone.adapters.judges.agent import is_agent
from honestone.adapters.workers.step import StepWorker, SubmittedEdit, Waiting
from honestone.app.agents.holds import read_holds
from honestone.app.agents.own_command import own_command
from honestone.app.agents.run_folder import FORM_FILE, REPLIES, STEPS, read_json
from honestone.app.doors.quiet import Quiet
from honestone.app.history import improvement_report, started_of, state_of
from honestone.app.improving.improve import prepare, run
from honestone.app.improving.loop import ImprovementRequest
from honestone.app.judging.host_judge import still_asked, take_reply
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.workspace import Workspace
from honestone.core.editing.result import exit_code
from honestone.core.errors import UsageError
from honestone.core.events import Event
from honestone.core.judging.ballot import Question
from honestone.core.judging.choices import Ask, Ending
from honestone.core.judging.contract import digest_json
from honestone.core.loop.named import policy_named
from honestone.core.loop.state import LoopState, Propose, Result, decide
from honestone.core.record.runs import LAST
from honestone.engine.judging.panel import split
from honestone.engine.judging.seats import Seat
from honestone.ports import Observer, Store
from honestone.report.documents import PlainDocument, plain
from honestone.system.files import open_below, remove, write_atomically, write_below

SCHEMA: Final = "honestone.step/1"
_HANDED_OUT: Final = "handed-out"
_COMPACT_END: Final = (
    "schema run session result reason low_confidence score_before score_after rounds report".split()
)
_OWN_OPTIONS: Final = (
    "holdouts",
    "policy",
    "rounds",
    "max_diff",
    "max_growth",
    "dry_run",
    "output",
    "deliver",
)
_LONGEST_SESSION: Final = 200
START_HINT: Final = "honestone step next ARTIFACT --rubric RUBRIC"


class Submission(Struct, frozen=True, kw_only=True):
    """What a call hands in: an edit, a judge's reply, or nothing. `round` guards against handing in
    an edit twice.
    """

    is_edit: bool = False
    reply: str | None = None
    round: int | None = None
    ended: Ending = "exited"
    message: str = ""


class StepResult(Struct, frozen=True, kw_only=True):
    """What must be done next. `action` is `propose`, `judge`, `done` or `interrupted`; `document`
    is what the command prints, on one line where it is `compact`. An action counts as handed out
    only after `hand_out`: until then a submission is not about it.
    """

    action: str
    run: str
    document: PlainDocument
    exit_code: int = 0
    compact: bool = False
    hand_out: Callable[[], None] = lambda: None

    @property
    def brief(self) -> str | None:
        """What to do, in words, where an edit is wanted."""
        return self.document.get("brief")

    @property
    def location(self) -> Path | None:
        """What to edit in place, where an edit is wanted."""
        place = self.document.get("location")
        return None if place is None else Path(place)

    def to_dict(self) -> PlainDocument:
        return self.document


class StepsStatus(TypedDict):
    """Where a run of steps is, as `step status --json` prints it. `held`: how often the session was
    held; `best_interval`: the score of the best version, 0-100; `waits_for`: `edit`, `go on` or
    `done`.
    """

    schema: str
    run: str
    session: str | None
    held: int | None
    artifact: str
    rounds: int
    best_interval: list[float]
    waits_for: str
    location: str | None
    result: str | None
    reason: str | None


class StepsForm(Struct, frozen=True, kw_only=True):
    """How a run of steps is driven. `quiet` (no progress) and `compact` hold for the calls that
    follow too.

    `session` is the one that owns the run. `compact` actions are for an agent's context: a judge's
    prompt is in a file, and the end is a summary.
    """

    session: str | None = None
    quiet: bool = False
    compact: bool = False

    @classmethod
    def of_last_call(cls, folder: Path) -> StepsForm:
        """The form of the last call. It is the default one where the file cannot be read; whoever
        needs the rest of that file reports it.
        """
        try:
            plain = read_json(folder / FORM_FILE)
        except (OSError, ValueError):
            return cls()
        match plain:
            case {
                "session": str() | None as session,
                "options": {"quiet": bool(quiet), "compact": bool(compact)},
            }:
                return cls(session=session, quiet=quiet, compact=compact)
        return cls()


def start_steps(
    workspace: Workspace,
    request: ImprovementRequest,
    observer: Observer,
    form: StepsForm = StepsForm(),
) -> StepResult:
    """Start or resume the run of this request, up to the first action. The session takes it over.

    Raises as `improve` does, and UsageError for judges that are objects: they cannot be kept from
    call to call.
    """
    if not all(isinstance(judge, str) for judge in (*request.judging.judges, *request.holdouts)):
        raise UsageError("the judges of steps must be names: they are kept from call to call")
    if form.session is not None and not (
        form.session.isprintable() and 0 < len(form.session) <= _LONGEST_SESSION
    ):
        raise UsageError(f"a session's id has 1 to {_LONGEST_SESSION} printable characters")
    steps = _Steps(workspace=workspace, request=_asked_of_all(request), form=form)
    return _work(steps, Submission(), observer)


def _asked_of_all(request: ImprovementRequest) -> ImprovementRequest:
    """Whoever does the edits reads what the judges say: all of them have to be measured, not those
    that certify alone.
    """
    judging = replace(
        request.judging,
        require_calibration=request.judging.require_calibration or request.require_calibration,
        require_tier=request.judging.require_tier or request.require_tier,
    )
    return replace(request, judging=judging, require_calibration=False, require_tier=None)


def resume_steps(
    workspace: Workspace,
    run: str | None,
    submission: Submission,
    observer: Observer,
    form: StepsForm = StepsForm(),
) -> StepResult:
    """The next action of a run after taking what is submitted; without a name, of the latest one
    that the session owns, or, without a session, that no session owns.

    Raises UsageError where no such run exists, or its options cannot be read.
    """
    with workspace.open_store() as store:
        folder = _folder_of(workspace, store, run, None if run else _belongs_to(form.session))
        last = StepsForm.of_last_call(folder)
        form = StepsForm(
            session=last.session,
            quiet=form.quiet or last.quiet,
            compact=form.compact or last.compact,
        )
        if store.find_run(folder.name).finished is not None:
            document = plain(improvement_report(store, folder.name, shown=workspace.shown)[0])
            return _done(folder.name, document, form)
    return _work(replace(_Steps.load(folder.resolve(), workspace), form=form), submission, observer)


def steps_status(workspace: Workspace, run: str | None) -> StepsStatus:
    """Where the run is. Nothing is asked, decided or changed."""
    with workspace.open_store() as store:
        folder = _folder_of(workspace, store, run)
        log: list[Event] = store.events(folder.name)
    state, round = state_of(log), _handed_out(folder)
    best = state.card(state.best)
    return {
        "schema": SCHEMA,
        "run": folder.name,
        "session": StepsForm.of_last_call(folder).session,
        "held": _held(folder),
        "artifact": started_of(log).artifact.path,
        "rounds": sum(not entry.is_open for entry in state.rounds),
        "best_interval": [float(best.low * 100), float(best.high * 100)],
        "waits_for": _waits_for(state, log, round),
        "location": None
        if round is None or state.finished is not None
        else _location(folder, round),
        "result": str(state.finished.result) if state.finished else None,
        "reason": state.finished.reason if state.finished else None,
    }


def _waits_for(state: LoopState, log: Sequence[Event], handed_out: int | None) -> str:
    if state.finished:
        return "done"
    return "edit" if _wants_edit(state, log, handed_out) else "go on"


def _wants_edit(state: LoopState, log: Sequence[Event], handed_out: int | None) -> bool:
    action = decide(state, policy_named(started_of(log).policy))
    return isinstance(action, Propose) and handed_out == len(state.rounds) + 1


def _held(folder: Path) -> int | None:
    """How often the stop hook held the session; None where the count is damaged."""
    try:
        return read_holds(folder).total
    except ValueError:
        return None


# --------------------------------------------------------------------------------------------------
# what is kept


class _Steps(Struct, frozen=True, kw_only=True):
    """What a run of steps was started with, kept with it so that later calls need not repeat it."""

    workspace: Workspace
    request: ImprovementRequest
    form: StepsForm = StepsForm()

    def keep(self, folder: Path) -> None:
        request = self.request
        options = {
            **asdict(request.judging),
            **{name: getattr(request, name) for name in _OWN_OPTIONS},
        }
        del options["fresh"]
        options["output"] = None if request.output is None else str(request.output)
        plain = {
            "folder": str(self.workspace.folder),
            "artifact": str(request.artifact),
            "rubric": str(request.rubric),
            "command": own_command(self.workspace.folder),
            "session": self.form.session or StepsForm.of_last_call(folder).session,
            "options": {**options, "quiet": self.form.quiet, "compact": self.form.compact},
        }
        write_below(
            folder.parents[1], f"{STEPS}/{folder.name}/{FORM_FILE}", json.dumps(plain).encode()
        )

    @classmethod
    def load(cls, folder: Path, workspace: Workspace) -> _Steps:
        """Those of a run, in the folder where it was started: its paths and commands are relative
        to that.
        """
        try:
            plain = json.loads((folder / FORM_FILE).read_bytes())
            options = {**plain["options"], "fresh": False}
            output = options.pop("output", None)
            for name in ("quiet", "compact"):
                options.pop(name, None)
            for name in ("judges", "pass_env", "holdouts"):
                options[name] = tuple(options[name])
            return cls(
                workspace=Workspace.at(
                    Path(plain["folder"]),
                    store=workspace.named_store,
                    person=workspace.person,
                    bounds=workspace.bounds,
                    say=workspace.say,
                ),
                request=ImprovementRequest(
                    artifact=Path(plain["artifact"]),
                    rubric=Path(plain["rubric"]),
                    judging=JudgingOptions(
                        **{name: options.pop(name) for name in JudgingOptions.__struct_fields__}
                    ),
                    output=None if output is None else Path(output),
                    **options,
                ),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(
                f"what is known of run {folder.name} cannot be used: {error}",
                hint=f"start from the command again: {START_HINT}",
            ) from None


def _belongs_to(session: str | None) -> Callable[[Path], bool]:
    """Whether a run is the session's; without a session, whether it belongs to none."""
    return lambda folder: StepsForm.of_last_call(folder).session == session


def _folder_of(
    workspace: Workspace,
    store: Store,
    run: str | None,
    belongs: Callable[[Path], bool] | None = None,
) -> Path:
    """The folder of the run that is meant: the one named, else of those that belong the newest
    unfinished one, else the newest.
    """
    there = sorted(
        (path.parent for path in (workspace.store / STEPS).glob(f"*/{FORM_FILE}")), reverse=True
    )
    folders = [folder for folder in there if belongs is None or belongs(folder)]
    if run is not None and run not in LAST:
        name = store.find_run(run).id
        folders = [folder for folder in folders if folder.name == name]
    if not folders:
        if there and run is None:
            owner = StepsForm.of_last_call(there[0]).session
            raise UsageError(
                "the step runs here belong to other sessions",
                hint=f"name the run ({there[0].name}), or its session: --session {shlex.quote(owner or '')}",
            )
        raise UsageError("no step run found", hint=f"start one: {START_HINT}")
    unfinished = [folder for folder in folders if store.find_run(folder.name).finished is None]
    return (unfinished or folders)[0]


def _location(folder: Path, number: int) -> str | None:
    return next((str(path) for path in (folder / f"round-{number}" / "copy").glob("*")), None)


def _handed_out(folder: Path) -> int | None:
    """The round whose copy was handed out last. Until that is on disk, a submission is not about
    it.
    """
    numbers = [
        int(path.parent.name.removeprefix("round-"))
        for path in folder.glob(f"round-*/{_HANDED_OUT}")
    ]
    return max(numbers, default=None)


def _drop_old(folder: Path, handed: str, *, but: str = "") -> None:
    """Copies of rounds, or prompts and the replies to them, that were handed out before."""
    for old in folder.glob(handed):
        if old.name.partition(".")[0] != but:
            remove(old)


# ----------------------------------------------------------------------------------------------------------
# working


def _work(steps: _Steps, submission: Submission, observer: Observer) -> StepResult:
    worker, desk = StepWorker(), _Desk(submission.reply, steps.request.judging.ask)
    observer = Quiet() if steps.form.quiet else observer
    plan = prepare(
        steps.workspace, replace(steps.request, worker=worker), observer, before_asking=desk.require
    )

    def begun(run: str) -> None:
        store = steps.workspace.store.resolve()
        worker.folder = desk.folder = folder = store / STEPS / run
        with open_below(
            store, [STEPS, run], mode=0o700
        ):  # made without following a link of the store
            pass
        steps.keep(folder)
        round = _handed_out(folder)
        if submission.is_edit and submission.round in (None, round):
            worker.edit = SubmittedEdit(
                round=round, ended=submission.ended, message=submission.message
            )

    try:
        result = run(plan, observer, begun=begun)
    except Waiting as waiting:
        assert worker.folder is not None
        called = own_command(steps.workspace.folder)
        return _wanted(waiting, worker.folder, called, _not_used(submission, worker, desk))
    if result.result is Result.INTERRUPTED:
        return StepResult(
            action="interrupted",
            run=result.run,
            document=result.document,
            exit_code=result.exit_code,
        )
    assert worker.folder is not None
    for handed in ("round-*", "prompt-*"):
        _drop_old(worker.folder, handed)
    return _done(result.run, result.document, StepsForm.of_last_call(worker.folder))


def _not_used(submission: Submission, worker: StepWorker, desk: _Desk) -> list[str]:
    """What was handed in although something else was waited for, as after a kill when it is handed
    in twice.
    """
    if not desk.has_used_reply:
        return ["no reply was waited for, so none was taken: this is the next thing to do"]
    if submission.is_edit and not worker.has_taken:
        return ["no edit was waited for, so none was taken: this is the next thing to do"]
    return []


def _wanted(waiting: Waiting, folder: Path, called: str, not_used: Sequence[str]) -> StepResult:
    """An action, as a document. `called` is what calls honestone."""
    form, details = StepsForm.of_last_call(folder), dict(waiting.details)
    wrong = details.pop("problems", None)
    problems = [*not_used, *(wrong if isinstance(wrong, list) else ())]
    name, how = "", "--reply FILE"
    if waiting.action == "propose":
        name, how = f"round-{details['round']}", f"--round {details['round']}"
    elif form.compact:
        # Not the token: several judges may get the same prompt, and one's reply is not another's.
        name = f"prompt-{digest_json({'judge': details['judge'], 'token': details.pop('token')})[7:19]}"
        place, reply = folder / f"{name}.txt", folder / f"{name}.reply.txt"
        write_atomically(place, str(details.pop("prompt")).encode("utf-8", "replace"), private=True)
        details |= {"prompt_file": str(place), "reply_file": str(reply)}
        how = f"--reply {shlex.quote(str(reply))}"
    document = {
        "schema": SCHEMA,
        "action": waiting.action,
        "run": folder.name,
        "session": form.session,
        **details,
        **({"problems": problems} if problems else {}),
        "then": f"{called} step submit {folder.name} {how}",
    }

    def hand_out() -> None:
        if waiting.action == "propose":
            (folder / name / _HANDED_OUT).touch()
            _drop_old(folder, "round-*", but=name)
        _drop_old(folder, "prompt-*", but=name)

    return StepResult(
        action=waiting.action,
        run=folder.name,
        document=PlainDocument(document),
        compact=form.compact,
        hand_out=hand_out,
    )


def _done(run: str, document: PlainDocument, form: StepsForm) -> StepResult:
    code = exit_code(Result(document["result"]))
    found = {**document, "session": form.session}
    if form.compact:
        scores = {
            "score_before": _end_score(document, "baseline"),
            "score_after": _end_score(document, "final"),
        }
        found |= {"schema": SCHEMA, "rounds": len(document["rounds"]), **scores}
        found = {name: found[name] for name in _COMPACT_END}
    return StepResult(
        action="done",
        run=run,
        document=PlainDocument({"action": "done", **found}),
        exit_code=code,
        compact=form.compact,
    )


def _end_score(document: PlainDocument, end: str) -> float | None:
    """The score of the original or of the final version, on the scale of the rounds."""
    expected = (document.get("expected") or {}).get(end)
    score: float | None = (expected or document[end])["score"]
    return score


# ----------------------------------------------------------------------------------------------------------
# judging


class _Desk:
    """Takes the replies of host agents that judge. No judge is asked about a version before the
    agents among them have replied: a call that is under way would be lost.
    """

    def __init__(self, reply: str | None, ask: Ask) -> None:
        self._reply = reply
        self._ask = ask
        self.folder: Path | None = None
        self._problems: tuple[str, ...] = ()

    def require(self, store: Store, seats: Sequence[Seat], question: Question) -> None:
        """Raises Waiting until every agent has replied, and replied once more where its first reply
        lacks something.
        """
        agents = [seat for seat in seats if is_agent(seat.judge)]
        for part in split(question.criteria, self._ask):
            for seat in agents:
                self._require(store, seat, replace(question, criteria=part, draw=seat.draw))

    def _require(self, store: Store, seat: Seat, question: Question) -> None:
        wanted = still_asked(store, seat, question)
        if wanted is not None and self._reply is not None:
            text, self._reply = self._reply, None
            taken = take_reply(store, seat, question, text)
            if taken.refused:
                self._problems = ("the reply was refused and is not recorded", *taken.refused)
            else:
                assert self.folder is not None
                with (self.folder / REPLIES).open("a") as counted:
                    counted.write(".")
                wanted = still_asked(store, seat, question)
        if wanted is not None:
            raise Waiting(
                "judge",
                judge=seat.id,
                prompt=wanted.request.body,
                token=wanted.request.token,
                problems=[*self._problems, *wanted.problems],
            )

    @property
    def has_used_reply(self) -> bool:
        return self._reply is None
