"""The protocols between the engine and the outside. Their docstrings are the contract.

Whatever goes wrong outside is returned or raised as one of the failures here, never as a score.
Everything is async; adapters own their time limits and end what they started before they return.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    runtime_checkable,
)

from msgspec import Struct, field

# The types of the fields of records are imported at run time, or `help` could not show their signatures.
from honestone.core.artifact import Version
from honestone.core.judging.ballot import Reading as Reading
from honestone.core.judging.choices import Ending
from honestone.core.judging.images import Image as Image
from honestone.core.judging.needs import NO_NEEDS, MachineNeeds
from honestone.core.judging.request import Request as Request
from honestone.core.judging.rubric import Key
from honestone.core.judging.settings_tables import LimitsTable, ModelTable
from honestone.core.judging.spend import GrantRequest, RunGrants
from honestone.core.judging.spend import Usage as Usage
from honestone.core.reading.json_schema import JsonSchema
from honestone.core.record.store_address import HEARTBEAT, PATIENCE
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.message import Message
from honestone.core.suite.trace import ToolCall, Trace

if TYPE_CHECKING:
    from honestone.core.checking.checks import CheckAnswer, TextCheck
    from honestone.core.events import Event, RecordedCase
    from honestone.core.json_value import JsonObject
    from honestone.core.judging.ballot import Question
    from honestone.core.judging.contract import Identity
    from honestone.core.judging.packing import Budget
    from honestone.core.judging.rubric import Check
    from honestone.core.live import LiveRun, StoredLive
    from honestone.core.record.queue import CasesLeft, QueuedCase, RunnerCard, SeenRunner
    from honestone.core.record.telemetry import Activity, CallAnswer, TracedScore
    from honestone.core.suite.case import Case

# A person's function, given in place of a judge, target or worker.
Function: TypeAlias = Callable[..., object]


class NothingToClose:
    """A judge, model, target or worker that holds nothing open."""

    async def close(self) -> None:
        pass


class EagerWorker(NothingToClose):
    """A worker that takes on whatever is unmet."""

    def can_work_on(self, fixes: Sequence[str]) -> bool:
        return True


class CallFailed(Exception):
    """A judge, model, target or worker could not be reached or did not finish: no reply, so nothing
    to
    keep.

    `retryable`: the same call may work later in this run (429, 5xx, a dropped stream). `missing`:
        the thing is not there at all (SKIPPED rather than DEGRADED). `unsent`: nothing was sent, so
        it is not a call. `retry_after` in seconds, when the other side said so. `hint`: what a
        person can do about it, where that is known.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool = False,
        missing: bool = False,
        unsent: bool = False,
        retry_after: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.missing = missing
        self.unsent = unsent or missing
        self.retry_after = retry_after
        self.hint = hint

    @property
    def kind(self) -> str:
        """`missing`, `retryable` or `call_failed`, as telemetry names it."""
        if self.missing:
            return "missing"
        return "retryable" if self.retryable else "call_failed"


# ----------------------------------------------------------------------------------------------------------
# models


class Prompt(Struct, frozen=True, kw_only=True):
    """One complete prompt for a model. `schema` is the JSON Schema of the reply, for models that
    can be held to it.

    `max_output_tokens` bounds the reply. `draw` numbers repeated looks; models that have a seed may
    use it. `images` are given only to a model that is said to take them; the text names each by its
    number, from 1, and its digest.
    """

    text: str
    system: str | None = None
    schema: JsonSchema | None = None
    max_output_tokens: int | None = None
    draw: int = 0
    images: tuple[Image, ...] = ()


class Completion(Struct, frozen=True, kw_only=True):
    """What a model wrote. `cut` is True when it was stopped by a length limit. `calls` are those of
    tools that it was given and that are not run, in JSON in `text` too, in the words of its API.
    """

    text: str
    cut: bool = False
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[ToolCall, ...] = ()


@runtime_checkable
class Model(Protocol):
    """Text in, text out. Raises CallFailed; never returns a made-up reply. Does not retry: the
    engine does.
    """

    @property
    def identity(self) -> Identity:
        """Everything that affects its replies, as plain JSON values without secrets (goes into keys
        and contract).
        """
        ...

    async def complete(self, prompt: Prompt) -> Completion: ...

    async def close(self) -> None: ...


def takes_exact_schemas(model: object) -> bool:
    """Whether a schema may be a new one with each call, as narrow as the reply that is wanted: a
    model says so that may be on a server of one's own, where a schema becomes a grammar for one
    call and costs nothing.
    """
    # For every call: `isinstance` with a protocol costs more than what it looks up.
    found: bool = getattr(model, "takes_exact_schemas", False)
    return found


@runtime_checkable
class Embedder(Protocol):
    """A model that makes vectors of texts: alike in direction where the texts are alike in meaning."""

    @property
    def identity(self) -> Identity:
        """Everything that affects its vectors, as plain JSON values without secrets."""
        ...

    async def embed(self, text: str) -> tuple[list[float], Usage]:
        """The vector of a text. Raises CallFailed; never returns a made-up one."""
        ...


@runtime_checkable
class HasNeeds(Protocol):
    """A judge, model, target or worker that wants something of its machine: a key, a login,
    variables, programs.
    """

    @property
    def needs(self) -> MachineNeeds:
        """What it needs of a machine, by name and without values; the same whether the machine has
        it or not.
        """
        ...


def needs_of(thing: object) -> MachineNeeds:
    """What a judge, model, target or worker says that it needs; nothing where it does not say."""
    return thing.needs if isinstance(thing, HasNeeds) else NO_NEEDS


@runtime_checkable
class HasCapacity(Protocol):
    """A model, judge or target that takes only so many calls at once."""

    @property
    def concurrency(self) -> int | None:
        """None: as many as the run makes."""
        ...


# ----------------------------------------------------------------------------------------------------------
# judges


class Reply(Struct, frozen=True, kw_only=True):
    """What came back, kept before it is read. `exit` is the exit code of a program, None for a
    model.
    """

    text: str
    exit: int | None = None
    cut: bool = False
    usage: Usage = field(default_factory=Usage)
    detail: Mapping[str, Any] = field(default_factory=dict)


CaseOnRecord: TypeAlias = "tuple[RecordedCase, list[Event]]"
"""A case of a suite's run, with what may be on record of its attempts only once, in order: outputs,
judgements that no limit refused, that it was passed by.
"""


class StoredReply(NamedTuple):
    """A reply on record: when it was kept (ISO time), and the JSON that it was kept as."""

    at: str
    data: bytes


@runtime_checkable
class Judge(Protocol):
    """Answers a rubric about an output, in three steps so that what was paid for is kept before it
    is used.

    `render` and `read` are pure: the same question gives the same request, the same reply the same
    reading. `ask` sends a request; it raises CallFailed without a reply.
    """

    @property
    def id(self) -> str: ...

    @property
    def identity(self) -> Identity:
        """Everything that affects its replies, as plain JSON values without secrets."""
        ...

    @property
    def is_paid(self) -> bool:
        """Whether a call counts as a judge call. Recorded replies cost nothing."""
        ...

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        """`problems` are the errors of its first reply when it is asked once more."""
        ...

    async def ask(self, request: Request, question: Question) -> Reply: ...

    def read(self, question: Question, request: Request, reply: Reply) -> Reading: ...

    async def close(self) -> None: ...


@runtime_checkable
class SizedJudge(Judge, Protocol):
    """A judge that is shown only texts up to a size."""

    @property
    def budget(self) -> Budget: ...

    def refusal(self, question: Question) -> str | None:
        """Why it would not be asked this: it is too big for it."""
        ...

    def packed(self, question: Question) -> Mapping[str, Any] | None:
        """What it is shown of a text that is too big for it, as JSON values; None where it is shown
        the whole.
        """
        ...


@runtime_checkable
class DividedJudge(Judge, Protocol):
    """A judge that can be asked some criteria of a rubric for less than all of them."""

    def size_of(self, question: Question) -> int | None:
        """What a call costs, in characters of its prompt and its reply, so that two questions can be
        compared; None where it does not know what else its call costs.
        """
        ...


# How often a judge is asked again about a reply that cannot be used, where it does not say.
REASKS: Final = 1


@runtime_checkable
class PatientJudge(Judge, Protocol):
    """A judge that says how often it is asked again about a reply that cannot be used."""

    @property
    def reasks(self) -> int: ...


@runtime_checkable
class Priced(Protocol):
    """A judge, or its model, that knows what a call costs."""

    @property
    def usd_a_call(self) -> float | None:
        """US dollars for a call of usual size; None where the price is unknown."""
        ...


def usd_a_call(one: object) -> float | None:
    return one.usd_a_call if isinstance(one, Priced) else None


@runtime_checkable
class FunctionalJudge(Judge, Protocol):
    """A judge that is a function: its name says little of it, so nothing is taken from the record
    of another.
    """

    @property
    def function(self) -> Function: ...

    @property
    def token(self) -> str:
        """A token that no other object has."""
        ...


# ----------------------------------------------------------------------------------------------------------
# checks


class Finding(Struct, frozen=True, kw_only=True):
    """A check's answer. `met` is None when it could not run; `note` says what was found or missing.

    `score`: the points from 0 to 100 that a measuring check gave, whose own bar decides `met`; None
        of other checks.
    `judged_by`: the files by which a check that runs code judged; `restored`: those of them that a
        target had changed, and that were put back as they were at the start.
    """

    met: bool | None
    note: str | None = None
    sandbox: str | None = None
    score: float | None = None
    judged_by: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


# (key, who is called, call): what the call gave, from the record where it is there, else by making
# it. Raises CallFailed.
Once: TypeAlias = "Callable[[str, str, Callable[[], Awaitable[JsonObject]]], Awaitable[JsonObject]]"


class Checker(Protocol):
    """Runs the checks of a rubric on a version, or on the text that a target produced."""

    def identity(self, check: Check) -> Identity:
        """The check with the digest of every argument that is an existing file, and the sandbox if
        code runs.
        """
        ...

    def preflight(self, checks: Sequence[Check], version: Version | None = None) -> None:
        """Raises UsageError for checks that cannot be started. `version` is the only one that is
        judged, if it is.
        """
        ...

    def judging_files(self, checks: Sequence[Check]) -> list[Path]:
        """The files that judge, such as tests and schemas: no part of an artifact they lie in."""
        ...

    def would_judge(self, checks: Sequence[Check], before: Version, after: Version) -> list[str]:
        """The names of files that differ between two versions and judge: a proposal may not touch
        them.
        """
        ...

    def compile(self, check: Check) -> TextCheck | None:
        """A check of a text alone, ready for many texts; None when it needs files or runs code."""
        ...

    def run_texts(self, compiled: Sequence[TextCheck], text: str) -> list[CheckAnswer]:
        """What each check says of a text, in order, at once: each in bounded time."""
        ...

    async def run(
        self,
        checks: Sequence[Check],
        version: Version,
        output: Output | None = None,
        *,
        input: str | None = None,
        reference: str | None = None,
        once: Once | None = None,
    ) -> list[Finding]:
        """One finding a check, in order. `output` is what a target made of it; None: the version
        itself is checked.

        `input` and `reference` are the case's, for graders. `once` makes the calls that cost; None:
        each is made. Code runs in private copies made once per version, never on the user's path.
        """
        ...


# ----------------------------------------------------------------------------------------------------------
# targets


class Task(Struct, frozen=True, kw_only=True):
    """One run of a target: a case's input, the artifact, and where to work.

    `folder` is the case's workspace; None runs in the working directory. `isolated`: the run gets a
    fresh HOME and a fresh working folder outside the user's, with nothing in them but `skill` (None
    is a run without one) and `more_skills`, which are installed next to it. `timeout` in seconds
    overrides the target's own.
    """

    messages: tuple[Message, ...]
    version: Version | None = None
    case: str = ""
    attempt: int = 1
    folder: Path | None = None
    timeout: float | None = None
    isolated: bool = False
    skill: Skill | None = None
    more_skills: tuple[Skill, ...] = ()

    @property
    def prompt(self) -> str:
        from honestone.core.suite.case import as_prompt

        return as_prompt(self.messages)


class Output(Struct, frozen=True, kw_only=True):
    """What a target produced for one case, or why it could not (`error`; never a low score).

    `diff` is what it changed in its workspace, as a unified diff, `files` the workspace as it left
    it, `start` the workspace as it was set up (None where nothing differs), and `folder` where that
    is while it is judged: the engine adds them. `duration_ms` is measured, the trace's is reported.
    `was_run`: False where nothing could be started, which costs nothing.
    """

    text: str
    error: str | None = None
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    trace: Trace | None = None
    diff: str | None = None
    files: Version | None = None
    start: Version | None = None
    folder: str | None = None
    was_run: bool = True


@runtime_checkable
class Target(Protocol):
    """Turns artifact and case input into an output. The identity target is None: the artifact
    itself is judged.

    Ends what it started before it returns. `refuse` says why a whole suite cannot run on it (a
    recorded output is missing, a program is not there) before anything is spent: raises UsageError.
    """

    @property
    def identity(self) -> Identity: ...

    def refuse(self, cases: Sequence[Case]) -> None: ...

    async def run(self, task: Task) -> Output: ...

    async def close(self) -> None: ...


@runtime_checkable
class TargetWithNotes(Target, Protocol):
    """A target that has something to say about itself before a run."""

    @property
    def notes(self) -> Sequence[str]: ...


# ----------------------------------------------------------------------------------------------------------
# workers


class Brief(Struct, frozen=True, kw_only=True):
    """What a worker is asked to improve. `text` says it in words; the rest is for workers that are
    programs.

    `unmet` are the keys of the focus's unmet items; `fixes` the rubric's own fix commands for them,
    in order. `candidate` counts the proposals of a round from 0, `round` the rounds from 1.
    """

    text: str
    focus: tuple[str, ...]
    unmet: tuple[Key, ...] = ()
    fixes: tuple[str, ...] = ()
    candidate: int = 0
    round: int = 1


class WorkDone(Struct, frozen=True, kw_only=True):
    """How a worker ended. What it achieved is read from the bytes in its copy, not from here.

    "denied": it was not allowed to edit; "not-applied": it replied with edits that do not fit the
    files. `calls`: what it was asked, each request to a model by itself.
    """

    ended: Ending | Literal["not-applied"]
    exit: int | None = None
    message: str = ""
    usage: Usage = field(default_factory=Usage)
    calls: int = 1


@runtime_checkable
class Worker(Protocol):
    """Edits the artifact at `place` inside a private copy. `place` is the file or folder,
    `brief_file` holds the brief.
    """

    @property
    def id(self) -> str: ...

    @property
    def identity(self) -> Identity: ...

    def can_work_on(self, fixes: Sequence[str]) -> bool:
        """Whether a focus with these fix commands is worth proposing to it (every worker but `fix`
        says yes).
        """
        ...

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone: ...

    async def close(self) -> None: ...


# ----------------------------------------------------------------------------------------------------------
# store


class RunInfo(Struct, frozen=True, kw_only=True):
    """One line about a run, for `runs`. `person` started it for `project`; None where that was not
    recorded.
    """

    id: str
    kind: str
    subject: str
    identity: str
    contract: str
    started: str
    finished: str | None
    result: str | None
    project: str | None = None
    person: str | None = None


class RunOrigin(Struct, frozen=True, kw_only=True):
    """Who starts runs, as `person@host`, and for which project; empty where neither is known."""

    project: str = ""
    person: str = ""


# An event; its JSON object only until all who write have events.
Recordable: TypeAlias = "Event | Mapping[str, Any]"


class Store(Protocol):
    """Where runs are kept, for commands. Append-only; what a call wrote survives a kill of the
    process; safe for several processes.

    A call may wait for a server, so it has no place in an event loop that works on a run: that uses
    `journal`. One thread at a time uses it, apart from what its journal does. Raises StoreError
    when it cannot read or write.
    """

    @property
    def root(self) -> Path:
        """The folder for files that belong to its runs, such as reports. It may not exist yet."""
        ...

    @property
    def journal(self) -> Journal:
        """The same store for what runs in an event loop; always the same object. `close` ends it."""
        ...

    def lock(self, identity: str) -> bool:
        """Claim the run of this identity until `unlock` or `close`. False: it is claimed, by
        another process, by another thread, or by this store itself. Claims of different identities
        never meet.
        """
        ...

    def unlock(self, identity: str) -> None:
        """Give up a claim; nothing happens without one."""
        ...

    def claim_reply(self, key: str) -> bool:
        """Claim the right to ask a request, until `give_back_reply` or `close`. False: another
        store has it, in whichever process. It ends with its process.
        """
        ...

    def give_back_reply(self, key: str) -> None:
        """Give up a claim; nothing happens without one."""
        ...

    def open_grants(self, run: str, least: RunGrants) -> RunGrants:
        """What all processes of a run have taken; at least so much from now on."""
        ...

    def grant(self, run: str, request: GrantRequest) -> tuple[bool, RunGrants]:
        """Adds to the grants of a run in one step, or nothing where a limit would be passed;
        whether it was added, and the grants now. Open them first.
        """
        ...

    def take_slot(self, line: str, seconds: float) -> float:
        """Lengthen a line by so many seconds, by the store's clock; in how many seconds what was
        added begins (0: now, and the line was empty). A negative number shortens it: less was used
        than had been taken.
        """
        ...

    def start_run(
        self, *, kind: str, subject: str, identity: str, contract: str, first: Recordable
    ) -> str:
        """A new run with its first event; returns its id (sortable by time)."""
        ...

    def append(
        self, run: str, event: Recordable, blobs: Mapping[str, bytes] | None = None
    ) -> Event | None:
        """One event, with the content it speaks of, in one transaction. None: it is on record.

        The output of an attempt, its judgement (unless a limit refused it) and that a case was
        passed by are on record once in a run: of several writers the first one counts, and the
        others are given what it wrote.
        """
        ...

    def append_many(self, run: str, events: Iterable[Recordable]) -> Mapping[int, Event | None]:
        """Several, in one transaction. Those that are not on record, by their place among them,
        with the event that is there instead; None for one that was left out because an event of the
        same attempt before it was not kept.
        """
        ...

    def finish_run(self, run: str, result: str, event: Recordable) -> None: ...

    def result_of(self, run: str) -> str | None:
        """How a run ended; None while it is unfinished. One small query, for who asks often."""
        ...

    def events(self, run: str) -> list[Event]:
        """All of a run, in order; none for a run that is not there. The cases of a suite's run are
        read when they are gone through, as long as the store is open.
        """
        ...

    def cases_of(self, run: str, ids: Sequence[str]) -> Mapping[str, CaseOnRecord]:
        """Those of a suite's run that it has, by id, without reading the others. It costs the same
        however long the run is.
        """
        ...

    def iter_events(self, run: str, after: int = 0) -> Iterator[Event]:
        """The same, one at a time, so that a run over many artifacts is read in flat memory;
        without the first `after`.

        Whoever counts what was read and reads on after that misses nothing, whichever processes
        write meanwhile: the events of a run are in the order in which they were committed.
        """
        ...

    def last_event(self, run: str) -> bytes:
        """The newest event of a run as it is kept, JSON; empty where there is none."""
        ...

    def event_count(self, run: str) -> int:
        """How many events a run has."""
        ...

    def keep_live(self, run: str, record: Callable[[], LiveRun]) -> None:
        """What `record` says is kept for other processes from now on, until the run is finished or
        the store is closed: at most four times a second, at least once. A thread calls it. What
        cannot be kept is lost in silence.
        """
        ...

    def live(self, run: str) -> StoredLive | None:
        """What was last kept of a run, by whichever process; None where nothing was."""
        ...

    def by_case(self, run: str) -> Callable[[str], Iterator[Event]]:
        """What is on record of one case of a suite's run, in order. Rows of cases that follow may
        be read with it: most are asked for in order.
        """
        ...

    def runs(self, *, limit: int | None = None, own: bool = False) -> list[RunInfo]:
        """Newest first. `own`: where several projects share the store, those of this one alone."""
        ...

    def find_run(self, name: str) -> RunInfo:
        """The run named by its id, by an unambiguous beginning of it, or by `last`, which is the
        newest run of this project. Raises StoreError with near names.
        """
        ...

    def unfinished(self, identity: str) -> RunInfo | None:
        """The newest unfinished run of this identity."""
        ...

    def reply(self, key: str, since: str | None = None) -> dict[str, Any] | None:
        """The newest recorded reply to this request, unless it is older than `since` (ISO time)."""
        ...

    def answers(self, keys: Sequence[str]) -> Mapping[str, Sequence[StoredReply]]:
        """Every recorded reply to many requests, oldest first; a request without one may be left
        out.
        """
        ...

    def keep_reply(
        self, key: str, judge: str, reply: Mapping[str, Any], known: int | None = None
    ) -> StoredReply | None:
        """`known`: how many replies to the request were on record when it was asked. Where there
        are
            more, this one came late: it is not kept, and the first of the others is returned. None:
            it was kept.
        """
        ...

    def replies(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The newest recorded replies to many requests, each as the JSON it was kept as."""
        ...

    def keep_replies(self, replies: Mapping[str, Any], judge: str) -> None:
        """Many at once, in one transaction."""
        ...

    def blob(self, digest: str) -> bytes | None: ...

    def keep_blobs(self, blobs: Mapping[str, bytes]) -> None: ...

    def close(self) -> None: ...


class Journal(Protocol):
    """What the engine does with a store while it works on a run. Its methods do what those of
    `Store` with the same names do.

    The event loop is free while a call waits. Calls are made in the order in which they were begun,
    and one that was begun is made whatever becomes of its task: a task that is cancelled meanwhile
    gets its answer first, and is cancelled at what it awaits next. Without an answer for ten
    seconds it is cancelled at once. Raises StoreError and StoreAway.
    """

    async def recall(self, key: str) -> Sequence[StoredReply]:
        """Every recorded reply to a request, oldest first. What several tasks ask for at the same
        time is looked up at once.
        """
        ...

    async def reply(self, key: str, since: str | None = None) -> dict[str, Any] | None: ...

    async def keep_reply(
        self, key: str, judge: str, reply: Mapping[str, Any], known: int | None = None
    ) -> StoredReply | None: ...

    async def claim_reply(self, key: str) -> bool: ...

    async def give_back_reply(self, key: str) -> None: ...

    async def grant(self, run: str, request: GrantRequest) -> tuple[bool, RunGrants]: ...

    async def take_slot(self, line: str, seconds: float) -> float: ...

    async def append(
        self, run: str, event: Recordable, blobs: Mapping[str, bytes] | None = None
    ) -> Event | None: ...

    async def append_many(
        self, run: str, events: Iterable[Recordable]
    ) -> Mapping[int, Event | None]:
        """Several, in one transaction with those that other tasks append to the run at the same
        time.
        """
        ...

    async def finish_run(self, run: str, result: str, event: Recordable) -> None: ...

    async def result_of(self, run: str) -> str | None: ...

    async def case_of(self, run: str, id: str) -> CaseOnRecord | None:
        """One of `Store.cases_of`. What several tasks ask for at the same time is looked up at
        once.
        """
        ...

    async def blob(self, digest: str) -> bytes | None: ...

    async def keep_blobs(self, blobs: Mapping[str, bytes]) -> None: ...

    def keep_live(self, run: str, record: Callable[[], LiveRun]) -> None:
        """It waits for nothing: a thread writes."""
        ...


StoreTable: TypeAlias = Literal["runs", "events", "cases", "replies", "blobs"]
StoreRow: TypeAlias = "tuple[str | int | bytes | None, ...]"


class StoreState(Struct, frozen=True, kw_only=True):
    """What a store holds. `shown` names it without a password; `format` is that of its tables,
    `version` of its engine.
    """

    shown: str
    engine: str
    version: str
    format: int
    runs: int
    unfinished: int
    replies: int


@runtime_checkable
class PortableStore(Store, Protocol):
    """A store that says what it holds, and whose rows can be copied into another one."""

    def state(self) -> StoreState:
        """Raises StoreError for a store that is damaged."""
        ...

    def rows_of(self, table: StoreTable) -> Iterator[StoreRow]:
        """Every row, in the order it was kept, in the columns of `COLUMNS_OF`, one at a time."""
        ...

    def add_rows(self, table: StoreTable, rows: Iterable[StoreRow]) -> int:
        """Add those that are not there yet; how many. A run without a project gets this store's."""
        ...


@runtime_checkable
class DeletingStore(Store, Protocol):
    """A store that deletes runs, and can be looked through for what mentions them."""

    def rows_of(self, table: StoreTable) -> Iterator[StoreRow]: ...

    def delete_runs(self, runs: Sequence[RunInfo], content: Sequence[str]) -> int:
        """Delete runs with their events, cases and grants, and content by digest, in one
        transaction; returns the bytes given back. `find_run` says of a deleted run that it was.
        """
        ...


@runtime_checkable
class SharedStore(Store, Protocol):
    """A store whose runners may only work on runs that were ordered: what one of them puts there
    counts in its run alone.
    """

    def in_run(self, run: str) -> SharedStore:
        """A view of the same store for work on one run, over the same connection: it also reads
        what runners were replied in that run. Several threads may use views of one store.
        """
        ...

    def end_view(self) -> None:
        """The work of a view is done; the store itself stays open."""
        ...

    def make_roles(self) -> None:
        """Roles for readers, coordinators and runners, with the rights of each. Raises StoreError
        where this user may not.
        """
        ...


# ----------------------------------------------------------------------------------------------------------
# queue


class Queue(Protocol):
    """Cases that wait for runners, in the store that the runs are in. Use it from one thread at a
    time.

    What it says has happened did happen once, also where the connection broke. Raises StoreError
    and StoreAway.
    """

    def order(
        self, start: Callable[[], str], plan: bytes, cases: Sequence[str], *, priority: int
    ) -> str:
        """Start a run, with its plan and its cases in the queue, in one transaction; the run."""
        ...

    def queue_again(self, run: str, cases: Sequence[str], *, priority: int) -> None:
        """The cases that are left of a run that is taken up again. Those that are in the queue
        already stay there.
        """
        ...

    def orders(self) -> list[str]:
        """The runs that are open and not paused, those of a high priority first."""
        ...

    def plan_of(self, run: str) -> bytes | None:
        """Its plan; None where the run was not ordered."""
        ...

    def pause(self, run: str) -> None:
        """Runners take no more cases of the run until it is ordered again. A server that does not
        answer is waited for only seconds; then the connection is given up.
        """
        ...

    def end(self, run: str) -> None:
        """The run is over: nothing of it is left in the queue."""
        ...

    def take(
        self, runs: Sequence[str], runner: int, most: int = 1, *, done: Sequence[QueuedCase] = ()
    ) -> list[QueuedCase]:
        """Up to `most` cases of these runs for a runner, in their order. The cases that are `done`
        leave the queue with that.
        """
        ...

    def done(self, cases: Sequence[QueuedCase]) -> None:
        """The cases are on record."""
        ...

    def give_back(self, case: QueuedCase, runner: int, *, is_error: bool = False) -> None:
        """Another runner may take it; nothing happens where this one has it no more. `is_error`: it
        ended in an error, which is counted.
        """
        ...

    def waiting(self, run: str) -> CasesLeft:
        """How many cases are left."""
        ...

    def beat(self, runner: int | None, card: RunnerCard) -> int:
        """A heartbeat; the runner's number, another one where it had none or was given up
        meanwhile.
        """
        ...

    def leave(self, runner: int) -> None:
        """The runner ends in order. As for `pause`, a server is waited for only seconds."""
        ...

    def runners(self) -> list[SeenRunner]:
        """Those that have not left and were not given up, oldest first."""
        ...

    def sweep(self, silence: float) -> list[QueuedCase]:
        """Give back the cases of runners that were silent for so many seconds, and forget those;
        the cases that were lost too often, which are left to the caller. Nothing happens while
        another process does it, nor soon after the server was started, when every heartbeat is old.
        """
        ...

    def close(self) -> None: ...


# ----------------------------------------------------------------------------------------------------------
# settings


class StoreSettings(Struct, frozen=True, kw_only=True):
    """The table `[store]`. `url` is the address of a shared store, without a password; `project`
    the name that its runs are kept under; `patience` and `heartbeat` are in seconds. `include` are
    files and folders, from that of the settings, that runners need and that the suite does not
    name.
    """

    url: str | None = None
    project: str | None = None
    patience: float = PATIENCE
    heartbeat: float = HEARTBEAT
    include: tuple[str, ...] = ()


class Settings(Struct, frozen=True, kw_only=True):
    """Named judges, workers, targets and embeddings, prices and limits. `folder` holds the `file`
    (None: there is none). Relative paths in commands are looked up from `here`, the folder that is
    worked in.
    """

    folder: Path | None = None
    file: Path | None = None
    here: Path = Path("/")
    judges: Mapping[str, ModelTable] = field(default_factory=dict)
    workers: Mapping[str, ModelTable] = field(default_factory=dict)
    targets: Mapping[str, ModelTable] = field(default_factory=dict)
    embeddings: Mapping[str, ModelTable] = field(default_factory=dict)
    prices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    limits: LimitsTable = field(default_factory=LimitsTable)
    store: StoreSettings = field(default_factory=StoreSettings)

    @property
    def concurrency(self) -> int | None:
        """`concurrency` of `[limits]`: how much runs at once, where the command does not say."""
        limit = self.limits.get("concurrency")
        return None if limit is None else int(limit)

    @property
    def words(self) -> list[str]:
        """Every word of every command: some name files of the checkout."""
        tables = (*self.judges.values(), *self.workers.values(), *self.targets.values())
        commands = [entry["command"] for entry in tables if entry.get("command")]
        return [
            str(word)
            for one in commands
            for word in ([one, *one.split()] if isinstance(one, str) else one)
        ]


# ----------------------------------------------------------------------------------------------------------
# observer


class Observer(Protocol):
    """Hears what happens, as it happens, to show it. It decides nothing and must not raise."""

    def note(self, text: str) -> None:
        """A line for a person."""
        ...

    def progress(self, done: int, total: int, doing: str) -> None: ...

    def event(self, event: Event) -> None: ...


# ----------------------------------------------------------------------------------------------------------
# telemetry


class Span(Protocol):
    """One activity while it lasts. Nothing here raises or waits."""

    def here(self) -> AbstractContextManager[None]:
        """Meanwhile what begins in this task, and in tasks that it starts, is a part of it."""
        ...

    def answered(self, answer: CallAnswer) -> None: ...

    def failed(self, kind: str, reason: str) -> None:
        """`kind` is one of few words, `reason` may hold any text."""
        ...

    def scored(self, scores: Iterable[TracedScore]) -> None: ...

    def end(self) -> None: ...


class Telemetry(Protocol):
    """Hears what is done and for how long, and carries it elsewhere. It decides nothing; nothing
    here raises or waits, but `close`, for a few seconds at most.
    """

    def begin(self, activity: Activity) -> Span: ...

    def from_record(self, judge: str) -> None:
        """A reply of this judge was on record: no call was made."""
        ...

    def variables(self) -> Mapping[str, str]:
        """The variables that make what a program traces a part of what is under way here."""
        ...

    def close(self) -> Sequence[str]:
        """Send what is left; lines for a person about what could not be sent."""
        ...
