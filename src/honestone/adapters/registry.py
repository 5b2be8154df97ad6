"""Names to judges, workers, targets and stores. Nothing is imported before it is named.

JUDGES, WORKERS and TARGETS are all the names there are, besides those of the settings and of
plugins: error messages, `doctor` and the docs read them.

Packages add more of each kind by entry points: `core/plugins.py` has their contracts.
"""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from honestone import ports
from honestone.core.errors import CommandRefused, SettingsError, StoreError
from honestone.core.judging.ballot import JudgeKind
from honestone.core.judging.choices import Pack, SandboxChoice
from honestone.core.judging.packing import MAX_INPUT_TOKENS, Budget
from honestone.core.plugins import JUDGES as JUDGE_PLUGINS
from honestone.core.plugins import STORES, ExtensionPoint
from honestone.core.plugins import TARGETS as TARGET_PLUGINS
from honestone.core.plugins import WORKERS as WORKER_PLUGINS
from honestone.core.record.store_address import POSTGRESQL
from honestone.system.plugins import plugins

if TYPE_CHECKING:
    from honestone import ports
    from honestone.adapters.models.batches.options import BatchOptions
    from honestone.adapters.stores.place import StorePlace
    from honestone.adapters.targets.command import TargetBox
    from honestone.core.suite.case import Case, OutputForm
    from honestone.system.processes.process import Program

CLIS = ("codex", "gemini", "claude")
PROVIDERS = ("openai", "anthropic", "google", "ollama", "vllm", "compatible")
# The model that a provider's key alone gives when a panel is chosen without a name.
DEFAULT_MODELS = {
    "openai": "openai:gpt-5.1",
    "anthropic": "anthropic:claude-sonnet-4-5",
    "google": "google:gemini-2.5-pro",
}

JUDGE_TIMEOUT = 300.0
WORKER_TIMEOUT = 900.0
TARGET_TIMEOUT = 300.0


@dataclass(frozen=True, kw_only=True)
class AdapterContext:
    """What every factory may need. `artifact` is the resolved path of what is improved; `person`
    gives whoever sits at the terminal (a `judges.human.Person`), where there is one. `cases` are
    those of the suite that a target is for, in `suite_folder`; `target_output` says what form its
    output has, and `target_parameters` are those of a model API. `hidden` are paths in a folder
    artifact that a worker is not shown; `ask` makes calls to a worker's model with retries around
    them. Without `commands` nothing is made that runs a program or contacts a host which its name
    or the settings choose. `batches`: judges that are models of a provider with a batch API are
    asked through it.
    """

    cwd: Path
    settings: ports.Settings
    judge_timeout: float = JUDGE_TIMEOUT
    worker_timeout: float = WORKER_TIMEOUT
    target_timeout: float = TARGET_TIMEOUT
    target_output: OutputForm = "text"
    target_sandbox: SandboxChoice = "none"
    is_sandbox_asked: bool = True
    closed: tuple[Path, ...] = ()
    target_parameters: Mapping[str, Any] = field(default_factory=dict)
    cases: Sequence[Case] = ()
    suite_folder: Path | None = None
    pass_env: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    pack: str = "none"
    artifact: Path | None = None
    rubric_folder: Path | None = None
    fixes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    ask: Callable[[ports.Model], Callable[[ports.Prompt], Awaitable[ports.Completion]]] | None = (
        None
    )
    person: Callable[[], Any] | None = None
    commands: bool = True
    batches: BatchOptions | None = None


# ----------------------------------------------------------------------------------------------------------
# the tables


@dataclass(frozen=True, slots=True)
class Named:
    """What a factory is given: the name as written, what follows its colon, and what the adapter is
    to be called.
    """

    spec: str
    rest: str
    id: str
    context: AdapterContext


Made = TypeVar("Made", bound=ports.Judge | ports.Worker | ports.Target | None, covariant=True)


@dataclass(frozen=True, slots=True)
class RegistryEntry(Generic[Made]):
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

    return _prompted(
        named.id, CommandModel(_program("judge", named, named.context.judge_timeout)), named.context
    )


def _program(what: str, named: Named, timeout: float, *, artifact: Path | None = None) -> Program:
    """The command of a name. With `artifact` it works in any folder, and what is in the artifact is
    found in its copy.
    """
    from honestone.system.processes.process import (
        Program,
        anchor_program,
        require_program,
        split_command,
    )

    context, argv = named.context, split_command(named.rest)
    if artifact is not None:
        argv = anchor_program(argv, context.cwd, artifact=artifact)
    require_program(argv, context.cwd, what=f"the {what} `{named.spec}`")
    return Program(argv=argv, cwd=context.cwd, timeout=timeout, pass_env=context.pass_env)


def _record_judge(named: Named) -> ports.Judge:
    from honestone.adapters.judges.record import RecordJudge

    return RecordJudge(named.id, named.context.cwd / named.rest)


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
    context = named.context
    entry = context.settings.judges.get(named.spec)
    model: ports.Model
    try:
        model = _model(named.spec, entry, context, context.judge_timeout, batches=context.batches)
    except ports.CallFailed as absent:
        from honestone.adapters.agent_clis.setup import CliMissing
        from honestone.adapters.models.absent import AbsentModel

        if not isinstance(absent, CliMissing):
            raise
        model = AbsentModel(identity=absent.identity, needs=absent.needs, reason=absent.reason)
    return _prompted(named.id, model, context, entry)


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


WORKERS: tuple[RegistryEntry[ports.Worker], ...] = (
    RegistryEntry("cmd", "COMMAND", "a program that edits the artifact", _command_worker),
    RegistryEntry("fix", "", "the fix commands of the rubric", _fix_worker),
    RegistryEntry("human", "", "the person at the terminal", _human_worker),
    RegistryEntry("step", "", "whoever submits the steps", _step_worker, is_listed=False),
    *_models(
        lambda named: _model_worker(
            named.spec, named.context.settings.workers.get(named.spec), named.context
        )
    ),
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
    hidden = hidden_from_programs(base, context.cwd, context.closed)
    return TargetBox(
        sandbox=Sandbox.choose(context.target_sandbox),
        base=base,
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


TARGETS: tuple[RegistryEntry[ports.Target | None], ...] = (
    RegistryEntry("identity", "", "the artifact itself is judged", lambda named: None),
    RegistryEntry("cmd", "COMMAND", "a program", _command_target),
    RegistryEntry("python", "MODULE:FUNCTION", "a function of yours", _python_target),
    RegistryEntry("http", "//ADDRESS", "a server", _http_target),
    RegistryEntry("https", "//ADDRESS", "a server", _http_target, is_listed=False),
    RegistryEntry("record", "FILE", "recorded outputs", _record_target),
    RegistryEntry("mock", "", "repeats the reference, for a dry run", _mock_target),
    *_models(
        lambda named: _model_target(
            named.spec, named.context.settings.targets.get(named.spec), named.context
        )
    ),
)


def make_target(spec: str | ports.Function, context: AdapterContext) -> ports.Target | None:
    """The target of a `--target` value, or a function as one; None is the identity: the artifact
    itself is judged.
    """
    if not isinstance(spec, str):
        from honestone.adapters.targets.function import FunctionTarget

        return FunctionTarget(spec, timeout=context.target_timeout)
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
    names: Mapping[str, Mapping[str, Any]],
    named: Callable[[Named], Made],
    *,
    id: str | None = None,
) -> Made:
    """By our table, the settings' names, or a package that adds one."""
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
    names: Mapping[str, Mapping[str, Any]],
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


def _model_target(
    spec: str, entry: Mapping[str, Any] | None, context: AdapterContext
) -> ports.Target:
    """A target that is a model API, an agent CLI or, by settings, a server."""
    provider, _, known = _named_model(spec, entry, context)
    seconds = float(known.get("timeout", context.target_timeout))
    if provider in CLIS or provider == "cli":
        from honestone.adapters.targets.agent_cli import AgentCliTarget

        return AgentCliTarget(**_cli(spec, provider, known, seconds, context.cwd))
    if provider in ("http", "https"):
        from honestone.adapters.targets.http import HttpTarget

        return HttpTarget(
            str(known.get("base_url", "")), timeout=seconds, key_env=known.get("api_key_env")
        )
    from honestone.adapters.targets.model import ModelTarget

    # The limit is the case's or the target's own, and holds for all tries together: the model
    # brings none.
    unlimited = (
        None if entry is None else {k: value for k, value in known.items() if k != "timeout"}
    )
    model = _model(spec, unlimited, context, _A_DAY, parameters=context.target_parameters)
    return ModelTarget(model, timeout=seconds)


_A_DAY = 86_400.0


def _named_model(
    spec: str, entry: Mapping[str, Any] | None, context: AdapterContext
) -> tuple[str, str, dict[str, Any]]:
    """The provider and the model of PROVIDER:MODEL, or of a settings table, with what that table
    says.
    """
    if entry is None:
        provider, _, model = spec.partition(":")
        return provider, model, {}
    known = _safe(spec, entry, context)
    return str(known.get("provider", "cli")), str(known.get("model", "")), known


def _safe(name: str, entry: Mapping[str, Any], context: AdapterContext) -> dict[str, Any]:
    from honestone.adapters.keys import keep_keys

    return keep_keys(name, entry, context.settings, context.allow_hosts)


def _prompted(
    name: str, model: ports.Model, context: AdapterContext, entry: Mapping[str, Any] | None = None
) -> ports.Judge:
    from honestone.adapters.judges.prompted import PromptedJudge

    known = entry or {}
    images = known.get("images", False)
    if images and known.get("provider", "cli") not in PROVIDERS:
        raise SettingsError(
            f"`{name}` is an agent CLI, and those are not sent images",
            hint=f"take `images` out of its settings, or use a model API: {', '.join(PROVIDERS)}",
        )
    reasks = known.get("reasks", ports.REASKS)
    return PromptedJudge(
        name, model, budget=_budget(name, context, known), images=images, reasks=reasks
    )


def _budget(name: str, context: AdapterContext, entry: Mapping[str, Any]) -> Budget:
    tokens = entry.get("max_input_tokens", MAX_INPUT_TOKENS)
    if tokens < 1:
        raise SettingsError(f"`max_input_tokens` of `{name}` is {tokens}, but must be above 0")
    return Budget(tokens=tokens, pack=Pack(context.pack))


def _model(
    spec: str,
    entry: Mapping[str, Any] | None,
    context: AdapterContext,
    timeout: float,
    *,
    batches: BatchOptions | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> ports.Model:
    """The model behind a settings name, an agent CLI or PROVIDER:MODEL. Raises CallFailed when it
    is not installed.
    """
    provider, model, known = _named_model(spec, entry, context)
    seconds = float(known.get("timeout", timeout))
    if provider in CLIS or provider == "cli":
        from honestone.adapters.models.agent_cli import AgentCliModel

        return AgentCliModel(**_cli(spec, provider, known, seconds, context.cwd))
    from honestone.adapters.models.catalog import make_model

    if not model:
        raise SettingsError(
            f"`{spec}` names no model",
            hint=f'add model = "..." to [judges.{spec}], or say {provider}:MODEL',
        )
    server = {name: known.get(name) for name in ("base_url", "api_key_env", "concurrency")}
    given = {**_parameters(spec, known), **(parameters or {})}
    made = make_model(
        provider, model, api=given.pop("api", None), parameters=given, timeout=seconds, **server
    )
    from honestone.adapters.models.batches import ask_in_batches
    from honestone.adapters.models.prices import PricedModel

    batched = batches is not None and ask_in_batches(made, batches)
    return PricedModel(made, provider, model, context.settings.prices, batched=batched)


def make_embedder(spec: str, context: AdapterContext) -> ports.Embedder:
    """The embeddings model of a `--embeddings` value: a name of the settings, or PROVIDER:MODEL.
    Raises SettingsError, and CommandRefused where the settings choose an address that may not be
    contacted here.
    """
    from honestone.adapters.keys import leaves
    from honestone.adapters.models.embeddings import make_embedder

    names = context.settings.embeddings
    entry = names.get(spec)
    provider, _, model = spec.partition(":")
    if entry is None and (provider not in PROVIDERS or not model):
        written = [f"{one}:MODEL" for one in PROVIDERS if one != "anthropic"]
        raise SettingsError(
            f"unknown embeddings `{spec}`", hint=f"known: {', '.join([*names, *written])}"
        )
    if entry is not None and leaves(entry) and not context.commands:
        raise CommandRefused(f"the embeddings `{spec}`")
    known = {"provider": provider, "model": model} if entry is None else _safe(spec, entry, context)
    if not known.get("model"):
        raise SettingsError(
            f"`{spec}` names no model", hint=f'add model = "..." to [embeddings.{spec}]'
        )
    return make_embedder(**known)


def _parameters(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a settings table; `max_tokens` is a shorter way to write the one that bounds a
    reply.
    """
    given = dict(known.get("parameters", {}))
    if "max_tokens" in known:
        if "max_output_tokens" in given:
            raise SettingsError(
                f"`{name}` has `max_tokens` and `max_output_tokens`, which are the same: leave one out"
            )
        given["max_output_tokens"] = known["max_tokens"]
    return given


def make_self_judge(worker: str, context: AdapterContext) -> ports.Judge | None:
    """The worker's own model as a judge (`--self`), or None where the worker is not a model."""
    entry = context.settings.workers.get(worker)
    if entry is None and worker not in CLIS and worker.partition(":")[0] not in PROVIDERS:
        return None
    try:
        return _prompted(
            f"self:{worker}", _model(worker, entry, context, context.judge_timeout), context, entry
        )
    except ports.CallFailed:
        return None


def _cli(
    spec: str, provider: str, known: Mapping[str, Any], seconds: float, here: Path
) -> dict[str, Any]:
    """A CLI by its own name, or by that of the settings table which describes it (`provider =
    "cli"`).
    """
    from honestone.system.processes.process import program_from, split_command

    names = ("model", "base_url", "auth", "api_key_env", "command")
    settings = {
        "name": provider,
        "timeout": seconds,
        **{name: known[name] for name in names if name in known},
    }
    if "max_tokens" in known:
        raise SettingsError(
            f"`{spec}` is an agent CLI, which has no `max_tokens`",
            hint="take it out of its settings",
        )
    command = settings.get("command")
    if provider != "cli":
        if command is not None and not isinstance(command, str):
            raise SettingsError(
                f"`command` of `{spec}` is a list", hint=f"it is the path of {provider}, as a text"
            )
        return settings if command is None else {**settings, "command": program_from(command, here)}
    if not command:
        raise SettingsError(
            f"`{spec}` needs a `command`", hint='for example command = ["mycli", "--print"]'
        )
    words = split_command(command) if isinstance(command, str) else [str(word) for word in command]
    return {
        **settings,
        "name": spec,
        "command": words,
        "output": str(known.get("output", "text")),
        "here": here,
    }


def _model_worker(
    spec: str, entry: Mapping[str, Any] | None, context: AdapterContext
) -> ports.Worker:
    """A worker that is an agent CLI or a model API."""
    provider, _, known = _named_model(spec, entry, context)
    seconds = float(known.get("timeout", context.worker_timeout))
    if provider in CLIS or provider == "cli":
        from honestone.adapters.workers.agent_cli import AgentCliWorker

        return AgentCliWorker(**_cli(spec, provider, known, seconds, context.cwd), id=spec)
    from honestone.adapters.workers.model_edit import ModelEditWorker

    model = _model(spec, entry, context, seconds)
    return ModelEditWorker(spec, model, hidden=context.hidden, ask=context.ask)


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
    near = get_close_matches(spec, known, n=1) or get_close_matches(
        spec.partition(":")[0], known, n=1
    )
    if not near:
        near = _as_command(spec)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return SettingsError(f"unknown {what} `{spec}`", hint=f"{hint}known: {', '.join(known)}")


def _as_command(spec: str) -> list[str]:
    """The command that a name without `cmd:` may be meant as. A file that cannot be executed is one
    for its shell.
    """
    if " " in spec or shutil.which(spec):
        return [f"cmd:{spec}"]
    program = {".sh": "sh", ".py": "python3", ".js": "node"}.get(Path(spec).suffix)
    return [f"cmd:{program} {spec}"] if program and Path(spec).is_file() else []
