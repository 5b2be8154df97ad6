"""Judges, workers, targets and embedders that are models: a provider's, an agent CLI's, or one that
the settings name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from honestone import ports
from honestone.adapters.context import CLIS, PROVIDERS, AdapterContext, TargetServer
from honestone.core.errors import CommandRefused, SettingsError
from honestone.core.judging.choices import Pack
from honestone.core.judging.packing import MAX_INPUT_TOKENS, Budget
from honestone.core.judging.settings_tables import EmbeddingsTable, ModelTable

if TYPE_CHECKING:
    from honestone import ports
    from honestone.adapters.models.batches.options import BatchOptions


def model_target(spec: str, entry: ModelTable | None, context: AdapterContext) -> ports.Target:
    """A target that is a model API, an agent CLI or, by settings, a server."""
    if entry is None and context.target_server is not None:
        entry = server_of_suite(spec, context.target_server, context)
    provider, _, known = named_model(spec, entry, context)
    seconds = float(known.get("timeout", context.target_timeout))
    if provider in CLIS or provider == "cli":
        from honestone.adapters.targets.agent_cli import AgentCliTarget

        agent = AgentCliTarget(**_cli(spec, provider, known, seconds, context.cwd))
        agent.concurrency = known.get("concurrency", agent.concurrency)
        return agent
    if provider in ("http", "https"):
        from honestone.adapters.targets.http import HttpTarget

        return HttpTarget(
            str(known.get("base_url", "")), timeout=seconds, key_env=known.get("api_key_env")
        )
    from honestone.adapters.targets.model import ModelTarget

    # The limit is the case's or the target's own, and holds for all tries together: the model
    # brings none.
    unlimited = None if entry is None else known.copy()
    if unlimited is not None:
        unlimited.pop("timeout", None)
    model = model_of(spec, unlimited, context, _A_DAY, parameters=context.target_parameters)
    return ModelTarget(model, timeout=seconds)


_A_DAY = 86_400.0


def require_model_api(spec: str, context: AdapterContext) -> None:
    """Raises SettingsError for a target of a suite with a server or a key of its own that would not
    be used: a command or an agent, or a name of the settings, which have both.
    """
    from honestone.adapters.models.catalog import PROVIDERS as MODELS

    whose = f"the target `{spec}` has a server or a key of its own, but is"
    if spec in context.settings.targets:
        raise SettingsError(
            f"{whose} a name of the settings",
            hint="say `base_url` and `api_key_env` in the settings, and leave them out of the suite",
        )
    if spec.partition(":")[0] not in MODELS:
        raise SettingsError(
            f"{whose} not a model API",
            hint=f"`base_url` and `api_key_env` are for {', '.join(MODELS)}",
        )


def server_of_suite(spec: str, server: TargetServer, context: AdapterContext) -> ModelTable:
    """The model PROVIDER:MODEL on a server that a suite names. Whoever wrote the suite may not send
    questions or a variable to a host of their choice: raises SettingsError where no person named the
    host, and CommandRefused where no host may be chosen at all.
    """
    from honestone.adapters.models.catalog import PROVIDERS as MODELS
    from honestone.system.trust.trust import host_of, is_allowed, is_same_server

    require_model_api(spec, context)
    provider, _, model = spec.partition(":")
    if not context.commands:
        raise CommandRefused(f"the target `{spec}`")
    own = MODELS[provider]
    url = server.base_url or own.base_url or ""
    is_own = is_same_server(url, own.base_url or "")
    is_usual = server.api_key_env is None or server.api_key_env in own.keys
    host = host_of(url)
    if not (is_own and is_usual) and not is_allowed(url, context.allow_hosts):
        key = f", with the key in {server.api_key_env}" if server.api_key_env else ""
        raise SettingsError(
            f"the suite asks `{spec}` at {host or url}{key}, and no person named that host; nothing was sent",
            hint=f"read the suite, then --allow-host {host or 'HOST'} allows it",
        )
    table: ModelTable = {"provider": provider, "model": model}
    if server.base_url is not None:
        table["base_url"] = server.base_url
    if server.api_key_env is not None:
        table["api_key_env"] = server.api_key_env
    return table


def named_model(
    spec: str, entry: ModelTable | None, context: AdapterContext
) -> tuple[str, str, ModelTable]:
    """The provider and the model of PROVIDER:MODEL, or of a settings table, with what that table
    says.
    """
    if entry is None:
        provider, _, model = spec.partition(":")
        return provider, model, {}
    known = _safe(spec, entry, context)
    return str(known.get("provider", "cli")), str(known.get("model", "")), known


def _safe(name: str, entry: ModelTable, context: AdapterContext) -> ModelTable:
    from honestone.adapters.keys import keep_keys

    return keep_keys(name, entry, context.settings, context.allow_hosts)


def prompted_judge(
    name: str, model: ports.Model, context: AdapterContext, entry: ModelTable | None = None
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


def _budget(name: str, context: AdapterContext, entry: ModelTable) -> Budget:
    tokens = entry.get("max_input_tokens", MAX_INPUT_TOKENS)
    if tokens < 1:
        raise SettingsError(f"`max_input_tokens` of `{name}` is {tokens}, but must be above 0")
    return Budget(tokens=tokens, pack=Pack(context.pack))


def model_of(
    spec: str,
    entry: ModelTable | None,
    context: AdapterContext,
    timeout: float,
    *,
    batches: BatchOptions | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> ports.Model:
    """The model behind a settings name, an agent CLI or PROVIDER:MODEL. Raises CallFailed when it
    is not installed.
    """
    provider, model, known = named_model(spec, entry, context)
    seconds = float(known.get("timeout", timeout))
    if provider in CLIS or provider == "cli":
        from honestone.adapters.models.agent_cli import AgentCliModel

        agent = AgentCliModel(**_cli(spec, provider, known, seconds, context.cwd))
        agent.concurrency = known.get("concurrency")
        return agent
    from honestone.adapters.models.catalog import EndpointSettings, make_model

    if not model:
        raise SettingsError(
            f"`{spec}` names no model",
            hint=f'add model = "..." to [judges.{spec}], or say {provider}:MODEL',
        )
    server: EndpointSettings = {
        "base_url": known.get("base_url"),
        "api_key_env": known.get("api_key_env"),
        "concurrency": known.get("concurrency"),
        "timeout": seconds,
    }
    given = {**_parameters(spec, known), **(parameters or {})}
    made = make_model(provider, model, api=given.pop("api", None), parameters=given, **server)
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
    return make_embedder(**cast(EmbeddingsTable, known))


def _parameters(name: str, known: ModelTable) -> dict[str, Any]:
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
        return prompted_judge(
            f"self:{worker}",
            model_of(worker, entry, context, context.judge_timeout),
            context,
            entry,
        )
    except ports.CallFailed:
        return None


def _cli(spec: str, provider: str, known: ModelTable, seconds: float, here: Path) -> dict[str, Any]:
    """A CLI by its own name, or by that of the settings table which describes it (`provider =
    "cli"`).
    """
    from honestone.system.processes.commands import program_from, split_command

    names = ("model", "base_url", "auth", "api_key_env", "command")
    settings: dict[str, Any] = {
        "name": provider,
        "timeout": seconds,
        **{name: value for name, value in known.items() if name in names},
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


def model_worker(spec: str, entry: ModelTable | None, context: AdapterContext) -> ports.Worker:
    """A worker that is an agent CLI or a model API."""
    provider, _, known = named_model(spec, entry, context)
    seconds = float(known.get("timeout", context.worker_timeout))
    if provider in CLIS or provider == "cli":
        from honestone.adapters.workers.agent_cli import AgentCliWorker

        return AgentCliWorker(**_cli(spec, provider, known, seconds, context.cwd), id=spec)
    from honestone.adapters.workers.model_edit import ModelEditWorker

    model = model_of(spec, entry, context, seconds)
    return ModelEditWorker(spec, model, hidden=context.hidden, ask=context.ask)
