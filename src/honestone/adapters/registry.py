"""Names to judges, workers, targets and stores. Nothing is imported before it is named.

JUDGES, WORKERS and TARGETS are all the names there are, besides those of the settings and of
plugins: error messages, `doctor` and the docs read them.

Packages add more of each kind by entry points: `core/plugins.py` has their contracts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import Struct

from honestone import ports
from honestone.adapters.context import CLIS, PROVIDERS, AdapterContext
from honestone.core.errors import CommandRefused, SettingsError, StoreError
from honestone.core.judging.ballot import JudgeKind
from honestone.core.judging.settings_tables import ModelTable
from honestone.core.plugins import JUDGES as JUDGE_PLUGINS
from honestone.core.plugins import STORES, ExtensionPoint
from honestone.core.plugins import TARGETS as TARGET_PLUGINS
from honestone.core.plugins import WORKERS as WORKER_PLUGINS
from honestone.core.record.store_address import POSTGRESQL
from honestone.system.plugins import plugins

if TYPE_CHECKING:
    from honestone import ports
    from honestone.adapters.stores.place import StorePlace
    from honestone.adapters.targets.command import TargetBox
    from honestone.system.processes.program import Program


# ----------------------------------------------------------------------------------------------------------
# the tables


class Named(Struct, frozen=True):
    """What a factory is given: the name as written, what follows its colon, and what the adapter is
    to be called.
    """

    spec: str
    rest: str
    id: str
    context: AdapterContext


Made = TypeVar("Made", bound=ports.Judge | ports.Worker | ports.Target | None, covariant=True)


class RegistryEntry(Struct, Generic[Made], frozen=True):
    """One row of a table: a name, what it takes after a colon ("" is nothing), what it is, and how
    it is made.

    `kind` is what answers behind the name of a judge. Models need a program or a key; the others
    are always there.
    """

    name: str
    takes: str
    help: str
    make: Callable[[Named], Made]
    kind: JudgeKind = "model"
    is_model: bool = False
    is_listed: bool = True

    @property
    def written(self) -> str:
        return f"{self.name}:{self.takes}" if self.takes else self.name

    def fits(self, spec: str) -> bool:
        name, _, rest = spec.partition(":")
        return name == self.name and bool(rest) if self.takes else spec == self.name


def _script_judge(named: Named) -> ports.Judge:
    from honestone.adapters.judges.script import ScriptJudge

    return ScriptJudge(named.id, _program("judge", named, named.context.judge_timeout))


def _command_judge(named: Named) -> ports.Judge:
    from honestone.adapters.models.command import CommandModel
    from honestone.adapters.named_models import prompted_judge

    return prompted_judge(
        named.id, CommandModel(_program("judge", named, named.context.judge_timeout)), named.context
    )


def _program(what: str, named: Named, timeout: float, *, artifact: Path | None = None) -> Program:
    """The command of a name. With `artifact` it works in any folder, and what is in the artifact is
    found in its copy.
    """
    from honestone.system.processes.commands import anchor_program, require_program, split_command
    from honestone.system.processes.program import Program

    context, argv = named.context, split_command(named.rest)
    if artifact is not None:
        argv = anchor_program(argv, context.cwd, artifact=artifact)
    require_program(argv, context.cwd, what=f"the {what} `{named.spec}`")
    return Program(argv=argv, cwd=context.cwd, timeout=timeout, pass_env=context.pass_env)


def _record_judge(named: Named) -> ports.Judge:
    from honestone.adapters.judges.record import RecordJudge

    return RecordJudge(named.id, named.context.cwd / named.rest)


def _python_judge(named: Named) -> ports.Judge:
    from honestone.adapters.judges.function import NamedFunctionJudge
    from honestone.adapters.named_functions import function_named

    found = function_named(named.rest, _places(named.context))
    return NamedFunctionJudge(
        named.id, found.function, found.identity, timeout=named.context.judge_timeout
    )


def _python_worker(named: Named) -> ports.Worker:
    from honestone.adapters.named_functions import function_named
    from honestone.adapters.workers.function import NamedFunctionWorker

    found = function_named(named.rest, _places(named.context))
    return NamedFunctionWorker(
        named.id, found.function, found.identity, timeout=named.context.worker_timeout
    )


def _places(context: AdapterContext) -> list[Path]:
    """Where files that a name has are looked up: the working directory, then next to the suite."""
    return [context.cwd, *([context.suite_folder] if context.suite_folder is not None else [])]


def _mock_judge(named: Named) -> ports.Judge:
    from honestone.adapters.judges.mock import MockJudge

    return MockJudge(named.id)


def _human_judge(named: Named) -> ports.Judge:
    from honestone.adapters.judges.human import HumanJudge

    return HumanJudge(named.id, _person(named.context))


def _agent_judge(named: Named) -> ports.Judge:
    from honestone.adapters.judges.agent import agent_judge

    return agent_judge(named.id, named.rest)


def _model_judge(named: Named) -> ports.Judge:
    from honestone.adapters.named_models import model_of, prompted_judge

    context = named.context
    entry = context.settings.judges.get(named.spec)
    model: ports.Model
    try:
        model = model_of(named.spec, entry, context, context.judge_timeout, batches=context.batches)
    except ports.CallFailed as absent:
        from honestone.adapters.agent_clis.setup import CliMissing
        from honestone.adapters.models.absent import AbsentModel

        if not isinstance(absent, CliMissing):
            raise
        model = AbsentModel(identity=absent.identity, needs=absent.needs, reason=absent.reason)
    return prompted_judge(named.id, model, context, entry)


def _models(make: Callable[[Named], Made]) -> tuple[RegistryEntry[Made], ...]:
    clis = tuple(
        RegistryEntry(cli, "", f"the agent CLI {cli}", make, is_model=True) for cli in CLIS
    )
    return (
        *clis,
        *(
            RegistryEntry(one, "MODEL", f"a model of {one}", make, is_model=True)
            for one in PROVIDERS
        ),
    )


JUDGES: tuple[RegistryEntry[ports.Judge], ...] = (
    RegistryEntry(
        "script",
        "COMMAND",
        "a program: JSON on stdin, JSON or an exit code out",
        _script_judge,
        "program",
    ),
    RegistryEntry("cmd", "COMMAND", "a program that answers our prompt", _command_judge),
    RegistryEntry(
        "python", "FILE:FUNCTION", "a function of yours, of a file or a module", _python_judge
    ),
    RegistryEntry("record", "FILE", "recorded answers", _record_judge, "recorded"),
    RegistryEntry(
        "agent",
        "NAME",
        "a host agent that hands its reply in",
        _agent_judge,
        "agent",
        is_listed=False,
    ),
    RegistryEntry("human", "", "the person at the terminal", _human_judge, "person"),
    RegistryEntry("mock", "", "approves everything, for a dry run", _mock_judge, "mock"),
    *_models(_model_judge),
)


def make_judge(
    spec: str | ports.Function, context: AdapterContext, *, id: str | None = None
) -> ports.Judge:
    """The judge of a `--judge` value, or a function as one. Raises SettingsError or UsageError; one
    that is not there is an absent judge.
    """
    if not isinstance(spec, str):
        from honestone.adapters.judges.function import FunctionJudge

        return FunctionJudge(spec, timeout=context.judge_timeout)
    return _make("judge", JUDGES, spec, context, context.settings.judges, _model_judge, id=id)


def is_batched(judge: ports.Judge) -> bool:
    """Whether a judge is asked through a batch API."""
    from honestone.adapters.judges.prompted import PromptedJudge
    from honestone.adapters.models.prices import PricedModel

    return (
        isinstance(judge, PromptedJudge)
        and isinstance(judge.model, PricedModel)
        and judge.model.is_batched
    )


def require_harmless_judge(spec: str, context: AdapterContext) -> None:
    """Raises CommandRefused for a judge that may not be made here, whether it will be asked or not."""
    if not context.commands:
        _require_harmless("judge", JUDGES, spec, context.settings.judges)


def judge_kind(spec: str, context: AdapterContext) -> JudgeKind:
    """What answers behind the name of a judge."""
    return next((one.kind for one in JUDGES if one.fits(spec)), "model")


def _command_worker(named: Named) -> ports.Worker:
    from honestone.adapters.workers.command import CommandWorker

    timeout, artifact = named.context.worker_timeout, _artifact(named.context)
    return CommandWorker(named.spec, _program("worker", named, timeout, artifact=artifact))


def _artifact(context: AdapterContext) -> Path:
    return context.artifact or context.cwd / "artifact"


def _fix_worker(named: Named) -> ports.Worker:
    from honestone.adapters.workers.fix import FixWorker

    context = named.context
    if not context.fixes:
        raise SettingsError(
            "the worker `fix` runs the rubric's own fix commands, but this rubric has none",
            hint="give an item a `fix:` command, or name another --worker",
        )
    return FixWorker(
        context.fixes,
        base=context.rubric_folder or context.cwd,
        artifact=_artifact(context),
        timeout=context.worker_timeout,
        pass_env=context.pass_env,
    )


def _human_worker(named: Named) -> ports.Worker:
    from honestone.adapters.workers.human import HumanWorker

    return HumanWorker(named.spec, _person(named.context))


def _step_worker(named: Named) -> ports.Worker:
    from honestone.adapters.workers.step import StepWorker

    return StepWorker()


def _model_worker(named: Named) -> ports.Worker:
    from honestone.adapters.named_models import model_worker

    entry = named.context.settings.workers.get(named.spec)
    return model_worker(named.spec, entry, named.context)


WORKERS: tuple[RegistryEntry[ports.Worker], ...] = (
    RegistryEntry("cmd", "COMMAND", "a program that edits the artifact", _command_worker),
    RegistryEntry(
        "python", "FILE:FUNCTION", "a function of yours, of a file or a module", _python_worker
    ),
    RegistryEntry("fix", "", "the fix commands of the rubric", _fix_worker),
    RegistryEntry("human", "", "the person at the terminal", _human_worker),
    RegistryEntry("step", "", "whoever submits the steps", _step_worker, is_listed=False),
    *_models(_model_worker),
)


def make_worker(spec: str | ports.Function, context: AdapterContext) -> ports.Worker:
    """The worker of a `--worker` value, or a function as one. Raises SettingsError or UsageError
    when it cannot work.
    """
    if not isinstance(spec, str):
        from honestone.adapters.workers.function import FunctionWorker

        return FunctionWorker(spec, timeout=context.worker_timeout)
    return _make("worker", WORKERS, spec, context, context.settings.workers, WORKERS[-1].make)


def _command_target(named: Named) -> ports.Target:
    from honestone.adapters.targets.command import CommandTarget

    context = named.context
    program = _program("target", named, context.target_timeout)
    return CommandTarget(program, output=context.target_output, box=_target_box(context))


def _target_box(context: AdapterContext) -> TargetBox | None:
    if context.target_sandbox == "none":
        return None
    from honestone.adapters.targets.command import TargetBox
    from honestone.system.processes.sandbox import Sandbox, hidden_from_programs

    base = context.suite_folder or context.cwd
    hidden = hidden_from_programs(base, context.cwd, context.closed, context.allowed)
    return TargetBox(
        sandbox=Sandbox.choose(context.target_sandbox),
        base=base,
        allowed=context.allowed,
        hidden=hidden,
        is_asked=context.is_sandbox_asked,
    )


def _python_target(named: Named) -> ports.Target:
    from honestone.adapters.targets.python import PythonTarget

    context = named.context
    places = [context.suite_folder] if context.suite_folder is not None else []
    return PythonTarget(
        named.rest,
        cwd=context.cwd,
        places=places,
        timeout=context.target_timeout,
        pass_env=context.pass_env,
    )


def _record_target(named: Named) -> ports.Target:
    from honestone.adapters.targets.record import RecordTarget

    return RecordTarget(_recorded(named.rest, named.context), name=named.rest)


def _http_target(named: Named) -> ports.Target:
    from honestone.adapters.targets.http import HttpTarget

    return HttpTarget(named.spec, timeout=named.context.target_timeout)


def _mock_target(named: Named) -> ports.Target:
    from honestone.adapters.targets.mock import MockTarget

    return MockTarget(named.context.cases)


def _model_target(named: Named) -> ports.Target:
    from honestone.adapters.named_models import model_target

    entry = named.context.settings.targets.get(named.spec)
    return model_target(named.spec, entry, named.context)


TARGETS: tuple[RegistryEntry[ports.Target | None], ...] = (
    RegistryEntry("identity", "", "the artifact itself is judged", lambda named: None),
    RegistryEntry("cmd", "COMMAND", "a program", _command_target),
    RegistryEntry(
        "python", "FILE:FUNCTION", "a function of yours, of a file or a module", _python_target
    ),
    RegistryEntry("http", "//ADDRESS", "a server", _http_target),
    RegistryEntry("https", "//ADDRESS", "a server", _http_target, is_listed=False),
    RegistryEntry("record", "FILE", "recorded outputs", _record_target),
    RegistryEntry("mock", "", "repeats the reference, for a dry run", _mock_target),
    *_models(_model_target),
)


def make_target(spec: str | ports.Function, context: AdapterContext) -> ports.Target | None:
    """The target of a `--target` value, or a function as one; None is the identity: the artifact
    itself is judged.
    """
    if not isinstance(spec, str):
        from honestone.adapters.targets.function import FunctionTarget

        return FunctionTarget(spec, timeout=context.target_timeout)
    if context.target_server is not None:
        from honestone.adapters.named_models import require_model_api

        require_model_api(spec, context)
    made = _make("target", TARGETS, spec, context, context.settings.targets, TARGETS[-1].make)
    if context.target_sandbox != "none" and not spec.startswith("cmd:") and made is not None:
        raise SettingsError(
            f"the target `{spec}` is not a command: it has no `sandbox`",
            hint="leave it out, or use cmd:COMMAND",
        )
    if context.target_parameters:
        from honestone.adapters.targets.model import ModelTarget

        if not isinstance(made, ModelTarget):
            raise SettingsError(
                f"the target `{spec}` is not a model API: it has no `parameters`",
                hint="leave them out",
            )
    return made


def always_there(entries: Sequence[RegistryEntry[Made]]) -> tuple[str, ...]:
    """The names that need no program, key or login, as they are written."""
    return tuple(one.written for one in entries if one.is_listed and not one.is_model)


def _make(
    what: str,
    entries: Sequence[RegistryEntry[Made]],
    spec: str,
    context: AdapterContext,
    names: Mapping[str, ModelTable],
    named: Callable[[Named], Made],
    *,
    id: str | None = None,
) -> Made:
    """Make what a name stands for: a row of our table, a name of the settings, or one that a
    package adds.
    """
    kind, _, rest = spec.partition(":")
    if not context.commands:
        _require_harmless(what, entries, spec, names)
    given = Named(spec=spec, rest=rest, id=id or spec, context=context)
    for one in entries:
        if one.fits(spec):
            return one.make(given)
    if spec in names:
        return named(given)
    plugin = plugins(_PLUGINS[what]).get(kind)
    if plugin is None:
        raise _unknown(what, spec, entries, names)
    return plugin.make(rest, context)  # type: ignore[no-any-return]


_HARMLESS: Final = ("agent", "human", "mock", "identity", "step")


def _require_harmless(
    what: str,
    entries: Sequence[RegistryEntry[Made]],
    spec: str,
    names: Mapping[str, ModelTable],
) -> None:
    """Raises CommandRefused where this name, or its table in the settings, chooses a program, an
    address or a file.
    """
    one = next((one for one in entries if one.fits(spec)), None)
    if one is not None:
        can_choose = not one.is_model and one.name not in _HARMLESS
    elif spec in names:
        from honestone.adapters.keys import leaves

        can_choose = leaves(names[spec])
    else:
        can_choose = spec.partition(":")[0] in plugins(_PLUGINS[what])
    if can_choose:
        raise CommandRefused(f"the {what} `{spec}`")


_PLUGINS: Final[Mapping[str, ExtensionPoint]] = {
    "judge": JUDGE_PLUGINS,
    "worker": WORKER_PLUGINS,
    "target": TARGET_PLUGINS,
}


def _recorded(name: str, context: AdapterContext) -> Path:
    """A record is looked up in the working directory, then next to the suite."""
    places = [context.cwd, *([context.suite_folder] if context.suite_folder is not None else [])]
    return next((place / name for place in places if (place / name).exists()), context.cwd / name)


def _person(context: AdapterContext) -> Any:
    if context.person is None:
        raise SettingsError("no one can be asked here: `human` needs the command and its terminal")
    return context.person()


def open_store(place: StorePlace, *, readonly: bool = False, migrates: bool = False) -> ports.Store:
    """A folder's store is SQLite; others are PostgreSQL, or the plugin that the address begins
    with. `migrates`: a shared store gets the newest format, as that of a folder always does. Raises
    StoreError.
    """
    address = place.address
    if address is None:
        from honestone.adapters.stores.sqlite import SqliteStore

        return SqliteStore(place.folder, readonly=readonly, origin=place.origin)
    if address.kind == POSTGRESQL:
        try:
            from honestone.adapters.stores.postgres import PostgresStore
        except ImportError as error:
            raise StoreError(
                f"a shared store needs the extra `cluster`, which cannot be used here: {error}",
                hint="pip install 'honestone[cluster]'",
            ) from None

        return PostgresStore(
            address,
            place.folder,
            readonly=readonly,
            origin=place.origin,
            patience=place.patience,
            migrates=migrates,
        )
    plugin = plugins(STORES).get(address.kind)
    if plugin is None:
        raise StoreError(
            f"the store {address.shown} is of a kind that is not installed: `{address.kind}`",
            hint="postgresql://HOST/DATABASE names a shared store; other kinds come with packages",
        )
    return plugin.make(address.rest, place.folder, readonly)  # type: ignore[no-any-return]


def open_queue(place: StorePlace, store: ports.Store | None = None) -> ports.Queue:
    """The queue of a shared store, over a connection of its own or over that of `store`. Raises
    StoreError where the store is not shared.
    """
    if place.address is None or place.address.kind != POSTGRESQL:
        raise StoreError(
            f"runners work on a store that several machines share, and {place.shown} is not one",
            hint="name it with HONESTONE_STORE=postgresql://USER@HOST/DATABASE, or with --store",
        )
    try:
        from honestone.adapters.queues.procrastinate import ProcrastinateQueue
        from honestone.adapters.stores.postgres import PostgresStore
        from honestone.adapters.stores.postgres_connection import PostgresConnection
    except ImportError as error:
        raise StoreError(
            f"runners need the extra `cluster`, which cannot be used here: {error}",
            hint="pip install 'honestone[cluster]'",
        ) from None
    if store is None:
        return ProcrastinateQueue(PostgresConnection(place.address, patience=place.patience))
    assert isinstance(store, PostgresStore)
    return ProcrastinateQueue(store.connection)


def _unknown(
    what: str, spec: str, entries: Sequence[RegistryEntry[Made]], names: Iterable[str]
) -> SettingsError:
    from honestone.adapters.near_names import meant_name, service_hint

    kinds = [
        f"{one.name}:" if one.takes else one.name
        for one in entries
        if not (one.is_model and one.takes)
    ]
    if spec in kinds and spec.endswith(":"):
        return SettingsError(
            f"the {what} `{spec}` names nothing",
            hint=f"write what it is after the colon: {spec}...",
        )
    known = [*kinds, *(one.written for one in entries if one.is_model and one.takes), *names]
    meant = service_hint(spec)
    if meant is None and (near := meant_name(spec, known)) is not None:
        meant = f"did you mean `{near}`?"
    return SettingsError(
        f"unknown {what} `{spec}`",
        hint=f"{f'{meant} ' if meant else ''}known: {', '.join(known)}",
    )
