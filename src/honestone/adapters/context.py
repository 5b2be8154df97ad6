"""What every factory of an adapter may need, and the names of agent CLIs and providers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from honestone import ports
from honestone.core.judging.choices import SandboxChoice

if TYPE_CHECKING:
    from honestone import ports
    from honestone.adapters.models.batches.options import BatchOptions
    from honestone.core.suite.case import Case, OutputForm


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


class TargetServer(Struct, frozen=True, kw_only=True):
    """The server of a model API as a suite names it: None is the provider's own."""

    base_url: str | None = None
    api_key_env: str | None = None


class AdapterContext(Struct, frozen=True, kw_only=True):
    """What every factory may need. `artifact` is the resolved path of what is improved; `person`
    gives whoever sits at the terminal (a `judges.human.Person`), where there is one. `cases` are
    those of the suite that a target is for, in `suite_folder`; `target_output` says what form its
    output has, and `target_parameters` are those of a model API; `target_server` is its address and
    the variable with its key, where a suite names them. `allowed` are folders out of the project
    that a sandboxed target may read. `hidden` are paths in a folder artifact that a worker is not
    shown; `ask` makes calls to a worker's model with retries around them. Without `commands` nothing is made that runs a program or contacts a host which its name
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
    allowed: tuple[Path, ...] = ()
    target_parameters: Mapping[str, Any] = field(default_factory=dict)
    target_server: TargetServer | None = None
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
