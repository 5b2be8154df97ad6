"""Names to judges, workers and targets. Nothing is imported before it is named; other people's come by entry points.

    judges    script:COMMAND  cmd:COMMAND  record:FILE  mock  human  agent:NAME  codex  gemini  claude  PROVIDER:MODEL  a settings name
    workers   cmd:COMMAND  fix  human  codex  gemini  claude  PROVIDER:MODEL  a settings name
    targets   identity  cmd:COMMAND  python:MODULE:FUNCTION  record:FILE  http(s):URL  mock  codex  gemini  claude  PROVIDER:MODEL
              a settings name

An entry point in the group `honestone.judges` (or `.workers`, `.targets`) named `foo` is asked for `foo` and `foo:REST`:
it is called with (REST, AdapterContext) and returns what the port asks for.
"""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honestone.core.ballot import JudgeKind
from honestone.core.errors import SettingsError
from honestone.core.packing import MAX_INPUT_TOKENS, Budget, Pack
from honestone.ports import CallFailed, Completion, Judge, Model, Prompt, Target, Worker

if TYPE_CHECKING:
    from honestone.core.suite.case import Case
    from honestone.ports import Settings

CLIS = ("codex", "gemini", "claude")
PROVIDERS = ("openai", "anthropic", "google", "ollama", "vllm", "compatible")
DEFAULT_MODELS = {
    "openai": "openai:gpt-5.1",
    "anthropic": "anthropic:claude-sonnet-4-5",
    "google": "google:gemini-2.5-pro",
}
"""What a provider's key alone stands for when a panel is chosen without a name."""

JUDGE_TIMEOUT = 300.0
WORKER_TIMEOUT = 900.0
TARGET_TIMEOUT = 300.0


@dataclass(frozen=True, kw_only=True)
class AdapterContext:
    """What every factory may need. `artifact` is the resolved path of what is improved; `person` gives whoever sits at
    the terminal (a `judges.human.Person`), where there is one. `cases` are those of the suite that a target is for, in
    `suite_folder`; `target_output` says whether its output is JSON. `hidden` are paths in a folder artifact that a worker
    is not shown; `ask` makes calls to a worker's model with retries around them."""

    cwd: Path
    settings: Settings
    judge_timeout: float = JUDGE_TIMEOUT
    worker_timeout: float = WORKER_TIMEOUT
    target_timeout: float = TARGET_TIMEOUT
    target_output: str = "text"
    cases: Sequence[Case] = ()
    suite_folder: Path | None = None
    pass_env: tuple[str, ...] = ()
    pack: str = "none"
    artifact: Path | None = None
    rubric_folder: Path | None = None
    fixes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    ask: Callable[[Model], Callable[[Prompt], Awaitable[Completion]]] | None = None
    person: Callable[[], Any] | None = None


def make_judge(spec: str, context: AdapterContext, *, id: str | None = None) -> Judge:
    """The judge of a `--judge` value. Raises SettingsError or UsageError; one that is not there is an absent judge."""
    from honestone.system.calls import require_program
    from honestone.system.process import split_command

    name = id or spec
    kind, _, rest = spec.partition(":")
    if kind in ("script", "cmd") and ":" in spec:
        argv = split_command(rest)
        require_program(argv, context.cwd, what=f"the judge `{spec}`")
        if kind == "script":
            from honestone.adapters.judges.script import ScriptJudge

            return ScriptJudge(name, argv, cwd=context.cwd, timeout=context.judge_timeout, pass_env=context.pass_env)
        from honestone.adapters.models.command import CommandModel

        model = CommandModel(argv, cwd=context.cwd, timeout=context.judge_timeout, pass_env=context.pass_env)
        return _prompted(name, model, context)
    if kind == "record" and rest:
        from honestone.adapters.judges.record import RecordJudge

        return RecordJudge(name, context.cwd / rest)
    if spec == "mock":
        from honestone.adapters.judges.mock import MockJudge

        return MockJudge(name)
    if spec == "human":
        from honestone.adapters.judges.human import HumanJudge

        return HumanJudge(name, _person(context))
    if kind == "agent" and rest:
        from honestone.adapters.judges.agent import agent_judge

        return agent_judge(name, rest)
    if spec in context.settings.judges or spec in CLIS or (kind in PROVIDERS and rest):
        entry = context.settings.judges.get(spec)
        try:
            return _prompted(name, _model(spec, entry, context, context.judge_timeout), context, entry)
        except CallFailed as failed:
            from honestone.adapters.judges.absent import AbsentJudge

            return AbsentJudge(name, failed.reason)
    found = _plugin("honestone.judges", kind, rest, context)
    if found is None:
        raise _unknown(
            "judge",
            spec,
            [
                "script:",
                "cmd:",
                "record:",
                "agent:",
                "human",
                "mock",
                *CLIS,
                *(f"{p}:MODEL" for p in PROVIDERS),
                *context.settings.judges,
            ],
        )
    return found  # type: ignore[no-any-return]


_KINDS: dict[str, JudgeKind] = {
    "script": "program",
    "record": "recorded",
    "mock": "mock",
    "human": "person",
    "agent": "agent",
}


def judge_kind(spec: str, context: AdapterContext) -> JudgeKind:
    """What answers behind the name of a judge."""
    name, colon, _ = spec.partition(":")
    return _KINDS.get(name, "model") if colon or name in ("mock", "human") else "model"


def make_worker(spec: str, context: AdapterContext) -> Worker:
    """The worker of a `--worker` value. Raises SettingsError or UsageError when it cannot work."""
    from honestone.system.calls import anchor_program, require_program
    from honestone.system.process import split_command

    kind, _, rest = spec.partition(":")
    artifact = context.artifact or context.cwd / "artifact"
    if kind == "cmd" and rest:
        from honestone.adapters.workers.command import CommandWorker

        argv = anchor_program(split_command(rest), context.cwd, artifact=artifact)
        require_program(argv, context.cwd, what=f"the worker `{spec}`")
        return CommandWorker(spec, argv, base=context.cwd, timeout=context.worker_timeout, pass_env=context.pass_env)
    if spec == "fix":
        from honestone.adapters.workers.fix import FixWorker

        if not context.fixes:
            raise SettingsError(
                "the worker `fix` runs the rubric's own fix commands, but this rubric has none",
                hint="give an item a `fix:` command, or name another --worker",
            )
        return FixWorker(
            context.fixes,
            beside=context.rubric_folder or context.cwd,
            artifact=artifact,
            timeout=context.worker_timeout,
            pass_env=context.pass_env,
        )
    if spec == "human":
        from honestone.adapters.workers.human import HumanWorker

        return HumanWorker(spec, _person(context))
    if spec == "step":
        from honestone.adapters.workers.step import StepWorker

        return StepWorker()
    if spec in context.settings.workers or spec in CLIS or (kind in PROVIDERS and rest):
        return _model_worker(spec, context.settings.workers.get(spec), context)
    found = _plugin("honestone.workers", kind, rest, context)
    if found is None:
        raise _unknown("worker", spec, ["cmd:", "fix", "human", *CLIS, *context.settings.workers])
    return found  # type: ignore[no-any-return]


def make_target(spec: str, context: AdapterContext) -> Target | None:
    """The target of a `--target` value; None is the identity: the artifact itself is judged."""
    from honestone.system.calls import require_program
    from honestone.system.process import split_command

    kind, _, rest = spec.partition(":")
    if spec == "identity":
        return None
    if kind == "cmd" and rest:
        from honestone.adapters.targets.command import CommandTarget

        argv = split_command(rest)
        require_program(argv, context.cwd, what=f"the target `{spec}`")
        return CommandTarget(
            argv,
            cwd=context.cwd,
            timeout=context.target_timeout,
            pass_env=context.pass_env,
            output="json" if context.target_output == "json" else "text",
        )
    if kind == "python" and rest:
        from honestone.adapters.targets.python import PythonTarget

        places = [context.suite_folder] if context.suite_folder is not None else []
        return PythonTarget(
            rest, cwd=context.cwd, places=places, timeout=context.target_timeout, pass_env=context.pass_env
        )
    if kind == "record" and rest:
        from honestone.adapters.targets.record import RecordTarget

        return RecordTarget(_recorded(rest, context), name=rest)
    if kind in ("http", "https") and rest:
        from honestone.adapters.targets.http import HttpTarget

        return HttpTarget(spec, timeout=context.target_timeout)
    if spec == "mock":
        from honestone.adapters.targets.mock import MockTarget

        return MockTarget(context.cases)
    if spec in context.settings.targets or spec in CLIS or (kind in PROVIDERS and rest):
        return _model_target(spec, context.settings.targets.get(spec), context)
    found = _plugin("honestone.targets", kind, rest, context)
    if found is None:
        kinds = ["identity", "cmd:", "python:", "record:", "http:", "https:", "mock", *CLIS]
        raise _unknown("target", spec, [*kinds, *(f"{p}:MODEL" for p in PROVIDERS), *context.settings.targets])
    return found  # type: ignore[no-any-return]


def _recorded(name: str, context: AdapterContext) -> Path:
    """A record is looked up in the working directory, then beside the suite."""
    places = [context.cwd, *([context.suite_folder] if context.suite_folder is not None else [])]
    return next((place / name for place in places if (place / name).exists()), context.cwd / name)


def _model_target(spec: str, entry: Mapping[str, Any] | None, context: AdapterContext) -> Target:
    """A target that is a model API, an agent CLI or, by settings, a server."""
    known = dict(entry or {})
    provider = str(known.get("provider", "cli")) if entry is not None else spec.partition(":")[0]
    seconds = float(known.get("timeout", context.target_timeout))
    if provider in CLIS or provider == "cli":
        from honestone.adapters.targets.agent_cli import make_cli_target, make_custom_cli_target

        if provider == "cli":
            return make_custom_cli_target(spec, **_custom(spec, known), timeout=seconds)
        return make_cli_target(provider, **_cli(known), timeout=seconds)
    if provider in ("http", "https"):
        from honestone.adapters.targets.http import HttpTarget

        return HttpTarget(str(known.get("base_url", "")), timeout=seconds, key_env=known.get("api_key_env"))
    from honestone.adapters.targets.model import ModelTarget

    try:
        # The limit is the case's or the target's own, and holds for all tries together: the model brings none.
        unlimited = None if entry is None else {k: value for k, value in known.items() if k != "timeout"}
        return ModelTarget(_model(spec, unlimited, context, _A_DAY), timeout=seconds)
    except CallFailed as failed:
        raise SettingsError(
            f"the target `{spec}` is not there: {failed.reason}", hint="`honestone doctor` says how to get it"
        ) from None


_A_DAY = 86_400.0


def _prompted(name: str, model: Model, context: AdapterContext, entry: Mapping[str, Any] | None = None) -> Judge:
    from honestone.adapters.judges.prompted import PromptedJudge

    known = entry or {}
    images = known.get("images", False)
    if images and known.get("provider", "cli") not in PROVIDERS:
        raise SettingsError(
            f"`{name}` is an agent CLI, and those are not sent images",
            hint=f"take `images` out of its settings, or use a model API: {', '.join(PROVIDERS)}",
        )
    return PromptedJudge(name, model, budget=_budget(name, context, known), images=images)


def _budget(name: str, context: AdapterContext, entry: Mapping[str, Any]) -> Budget:
    tokens = entry.get("max_input_tokens", MAX_INPUT_TOKENS)
    if tokens < 1:
        raise SettingsError(f"`max_input_tokens` of `{name}` is {tokens}, but must be above 0")
    return Budget(tokens=tokens, pack=Pack(context.pack))


def _model(spec: str, entry: Mapping[str, Any] | None, context: AdapterContext, timeout: float) -> Model:
    """The model behind a settings name, an agent CLI or PROVIDER:MODEL. Raises CallFailed when it is not installed."""
    known = dict(entry or {})
    provider, _, model = spec.partition(":")
    if entry is not None:
        provider, model = str(known.get("provider", "cli")), str(known.get("model", ""))
    seconds = float(known.get("timeout", timeout))
    if provider in CLIS or provider == "cli":
        from honestone.adapters.models.agent_cli import make_cli_model, make_custom_cli_model

        if provider == "cli":
            return make_custom_cli_model(spec, **_custom(spec, known), timeout=seconds)
        return make_cli_model(provider, **_cli(known), timeout=seconds)
    from honestone.adapters.models.catalog import make_model

    if not model:
        raise SettingsError(
            f"`{spec}` names no model", hint=f'add model = "..." to [judges.{spec}], or say {provider}:MODEL'
        )
    made = make_model(
        provider,
        model,
        base_url=known.get("base_url"),
        api_key_env=known.get("api_key_env"),
        timeout=seconds,
        parameters=known.get("parameters"),
        concurrency=known.get("concurrency"),
    )
    from honestone.adapters.models.priced import PricedModel

    return PricedModel(made, provider, model, context.settings.prices)


def make_self_judge(worker: str, context: AdapterContext) -> Judge | None:
    """The worker's own model as a judge (`--self`), or None where the worker is no model."""
    entry = context.settings.workers.get(worker)
    if entry is None and worker not in CLIS and worker.partition(":")[0] not in PROVIDERS:
        return None
    try:
        return _prompted(f"self:{worker}", _model(worker, entry, context, context.judge_timeout), context, entry)
    except CallFailed:
        return None


def _cli(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: known.get(name) for name in ("model", "base_url", "auth", "api_key_env", "command")}


def _custom(spec: str, known: Mapping[str, Any]) -> dict[str, Any]:
    from honestone.system.process import split_command

    command = known.get("command")
    if not command:
        raise SettingsError(f"`{spec}` needs a `command`", hint='for example command = ["mycli", "--print"]')
    words = split_command(command) if isinstance(command, str) else [str(word) for word in command]
    return {
        "command": words,
        "output": str(known.get("output", "text")),
        **{name: known.get(name) for name in ("model", "base_url", "auth", "api_key_env")},
    }


def _model_worker(spec: str, entry: Mapping[str, Any] | None, context: AdapterContext) -> Worker:
    """A worker that is an agent CLI or a model API."""
    known = dict(entry or {})
    provider = str(known.get("provider", "cli")) if entry is not None else spec.partition(":")[0]
    seconds = float(known.get("timeout", context.worker_timeout))
    try:
        if provider in CLIS or provider == "cli":
            from honestone.adapters.workers.agent_cli import make_cli_worker, make_custom_cli_worker

            if provider == "cli":
                return make_custom_cli_worker(spec, **_custom(spec, known), timeout=seconds, id=spec)
            return make_cli_worker(provider, **_cli(known), timeout=seconds, id=spec)
        from honestone.adapters.workers.model_edit import ModelEditWorker

        model = _model(spec, entry, context, seconds)
        return ModelEditWorker(
            spec, model, hidden=context.hidden, ask=None if context.ask is None else context.ask(model)
        )
    except CallFailed as failed:
        raise SettingsError(
            f"the worker `{spec}` is not there: {failed.reason}", hint="`honestone doctor` says how to get it"
        ) from None


def _person(context: AdapterContext) -> Any:
    if context.person is None:
        raise SettingsError("nobody can be asked here: `human` needs the command and its terminal")
    return context.person()


def _plugin(group: str, kind: str, rest: str, context: AdapterContext) -> Any:
    for point in entry_points(group=group):
        if point.name == kind:
            try:
                return point.load()(rest, context)
            except (ImportError, AttributeError) as error:
                raise SettingsError(f"the plugin `{point.value}` for `{kind}` cannot be loaded: {error}") from error
    return None


def _unknown(what: str, spec: str, known: Sequence[str]) -> SettingsError:
    if spec in ("cmd:", "script:", "record:", "agent:", "python:", "http:", "https:"):
        return SettingsError(f"the {what} `{spec}` names nothing", hint=f"write what it is after the colon: {spec}...")
    near = get_close_matches(spec, known, n=1) or get_close_matches(spec.partition(":")[0], known, n=1)
    if not near and (" " in spec or shutil.which(spec)) and "cmd:" in known:
        near = [f"cmd:{spec}"]
    hint = f"did you mean `{near[0]}`? " if near else ""
    return SettingsError(f"unknown {what} `{spec}`", hint=f"{hint}known: {', '.join(known)}")
