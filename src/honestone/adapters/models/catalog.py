"""The providers by name: where they are, which variable holds their key, which family a model
belongs to.

Nothing here loads an HTTP library; a model does when it is first called.
"""

from __future__ import annotations

import os
import re
import tomllib
import urllib.parse
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict, Unpack

from msgspec import Struct
from msgspec.structs import replace

from honestone.adapters.answers import clean, decode
from honestone.adapters.endpoint import Endpoint, KeyVariable, is_loopback
from honestone.adapters.transport import hold, let_go
from honestone.core.errors import SettingsError
from honestone.ports import CallFailed, Model

if TYPE_CHECKING:
    from honestone.adapters.models.api_model import ApiModel

Api = Literal["responses", "chat", "messages", "generateContent"]

DEFAULT_TIMEOUT: Final = 120.0


class Provider(Struct, frozen=True, kw_only=True):
    """`version` is what a server root in a variable lacks: theirs name the root, our base URLs go
    up
    to the version.

    `concurrency`: calls under way at most where a table says nothing.
    """

    name: str
    api: Api
    version: str
    base_url: str | None = None
    keys: Sequence[str] = ()
    url_variables: Sequence[str] = ()
    is_local: bool = False
    concurrency: int = 64
    get: str = ""


_DATA: Final = tomllib.loads(Path(__file__).with_name("providers.toml").read_text("utf-8"))
PROVIDERS: Final = {one["name"]: Provider(**one) for one in _DATA["providers"]}
# Variables (by their beginning) that people set for everything, and the one host that each is for.
KEY_HOMES: Final[Mapping[str, str]] = _DATA["key_homes"]
_LARGE_DOMAINS: Final[Sequence[str]] = _DATA["large_domains"]
_FAMILIES: Final[Mapping[str, str]] = _DATA["families"]
ALIASES: Final = {
    "openai-compatible": "compatible",
    "gemini-api": "google",
    "claude-api": "anthropic",
}


def find_provider(name: str) -> Provider:
    """Raises SettingsError with the nearest name."""
    known = PROVIDERS.get(ALIASES.get(name, name))
    if known is not None:
        return known
    near = get_close_matches(name.lower(), [*PROVIDERS, *ALIASES], n=1)
    raise SettingsError(
        f"no provider {name!r} is known",
        hint=f"{f'did you mean {near[0]!r}? ' if near else ''}known: {', '.join(PROVIDERS)}; the agent CLIs"
        " codex, gemini, claude; a service that speaks the protocol of OpenAI is `compatible`, with"
        " its base_url",
    )


def family_of(provider: str, model: str | None = None) -> str:
    """Who trained the model: judges of one family share their blind spots. By the model's name
    where it tells.
    """
    name = (model or "").lower().rpartition("/")[2]
    for family, pattern in _FAMILIES.items():
        if re.match(pattern, name):
            return family
    known = ALIASES.get(provider, provider)
    if known in ("openai", "anthropic", "google"):
        return known
    return re.split(r"[-:.@_\d]", name)[0] or known


class EndpointSettings(TypedDict, total=False):
    """Where a model is, and how it is called. `api_key_env` None: the provider's usual variable;
    "": no key. `timeout` in seconds.
    """

    base_url: str | None
    api_key_env: str | None
    timeout: float | None
    concurrency: int | None


def make_model(
    provider: str,
    model: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    api: str | None = None,
    **server: Unpack[EndpointSettings],
) -> Model:
    """A model by provider and name. Raises SettingsError for anything that can be seen to be wrong
    without a call.

    `api` is "responses" or "chat" for OpenAI's two.
    """
    known = find_provider(provider)
    if not model or not model.strip() or not model.isprintable() or ".." in model:
        raise SettingsError(
            f"{model!r} is not the name of a model", hint=f"write it as {known.name}:MODEL"
        )
    chosen = _choose_api(known, api, _base_url(known, server.get("base_url")))
    endpoint = make_endpoint(known, **server)
    from honestone.adapters.models.options import read_options

    return _class_of(chosen)(
        endpoint=endpoint, model=model.strip(), options=read_options(parameters or {})
    )


def make_endpoint(known: Provider, **server: Unpack[EndpointSettings]) -> Endpoint:
    base_url, timeout, concurrency = (
        server.get("base_url"),
        server.get("timeout"),
        server.get("concurrency"),
    )
    if timeout is not None and not 0 < timeout <= 86_400:
        raise SettingsError(
            f"the time limit is {timeout:g} s, but must be above 0 and at most a day"
        )
    if concurrency is not None and not (isinstance(concurrency, int) and 1 <= concurrency <= 1000):
        raise SettingsError(f"`concurrency` is {concurrency!r}, but must be from 1 to 1000")
    auth = {"messages": "x-api-key", "generateContent": "x-goog-api-key"}.get(
        known.api, "authorization"
    )
    url = _base_url(known, base_url)
    return Endpoint(
        provider=known.name,
        base_url=url,
        is_own=_is_own(known, url),
        key=key_variable(known, base_url, server.get("api_key_env")),
        auth=auth,
        headers={"anthropic-version": "2023-06-01"} if known.api == "messages" else {},
        timeout=timeout or DEFAULT_TIMEOUT,
        concurrency=concurrency or known.concurrency,
        is_found_out=concurrency is None and is_loopback(url),
    )


def _is_own(known: Provider, url: str) -> bool:
    """A gateway may speak a large provider's API for it, so another address is not enough where
    only they have the API.
    """
    if is_loopback(url):
        return True
    host = urllib.parse.urlsplit(url).hostname or ""
    is_large = any(_same_host(url, one.base_url) for one in PROVIDERS.values() if not one.is_local)
    is_large |= any(host == domain or host.endswith(f".{domain}") for domain in _LARGE_DOMAINS)
    return known.api in ("chat", "responses") and not is_large


def key_variable(known: Provider, base_url: str | None, api_key_env: str | None) -> KeyVariable:
    """Which variable holds the key. A foreign server named in a settings file never gets the
    provider's own key unasked.

    A base URL that the person put into the environment is trusted like the key next to it.
    """
    if api_key_env is not None:
        if api_key_env and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", api_key_env):
            raise SettingsError(
                "`api_key_env` is not the name of a variable",
                hint="write the name of the environment variable that holds the key, never the key",
            )
        return KeyVariable((api_key_env,) if api_key_env else ())
    if base_url is None or _same_host(base_url, known.base_url):
        return KeyVariable(tuple(known.keys))
    if is_loopback(base_url):
        return KeyVariable(tuple(known.keys), required=False)
    return KeyVariable()


class Probe(NamedTuple):
    """Whether a provider can be used here: what was found, and what to type to get it."""

    ready: bool
    what: str
    hint: str


async def probe(
    provider: str, *, base_url: str | None = None, api_key_env: str | None = None
) -> Probe:
    """Look at variables and ask a local server for its version, for `doctor`; never spend a call
    or show a key.
    """
    known = find_provider(provider)
    try:
        endpoint = make_endpoint(known, base_url=base_url, api_key_env=api_key_env, timeout=1.0)
        name, _ = endpoint.key.read()
    except (CallFailed, SettingsError) as error:
        # A base URL of one's own needs another hint than the provider's.
        hint = (
            f"export {api_key_env}=..."
            if api_key_env
            else getattr(error, "hint", None) or known.get
        )
        return Probe(False, str(error), hint)
    has_key = f"{name} is set" if name else "no key needed"
    if not (known.is_local or is_loopback(endpoint.base_url)):
        return Probe(True, has_key, "")
    found = await _look(endpoint, is_ollama=known.name == "ollama")
    if found is None:
        return Probe(False, f"nothing answers at {endpoint.base_url}", known.get)
    return Probe(True, f"{found} at {endpoint.base_url}" + (f", {has_key}" if name else ""), "")


async def _look(endpoint: Endpoint, *, is_ollama: bool) -> str | None:
    """What a local server says it is, without a key and within the endpoint's time limit."""

    class Visit: ...

    visit = Visit()
    transport = hold(visit)
    try:
        if is_ollama:
            root = replace(
                endpoint, base_url=endpoint.base_url.removesuffix("/v1"), key=KeyVariable()
            )
            answer = await transport.get(root, "/api/version")
            reply = decode(answer.body) if answer is not None and answer.status == 200 else None
            if isinstance(reply, dict) and "version" in reply:
                return f"Ollama {clean(str(reply['version']), '', limit=40)}"
        answer = await transport.get(endpoint, "/models")
        if answer is None:
            return None
        reply = decode(answer.body)
        listed = reply.get("data") if isinstance(reply, dict) else None
        if answer.status == 200 and isinstance(listed, list):
            return f"a server with {len(listed)} model{'' if len(listed) == 1 else 's'}"
        # It may keep its list behind the key.
        return "a server" if answer.status in (401, 403) else None
    finally:
        await let_go(visit)


def _choose_api(known: Provider, api: str | None, base_url: str) -> Api:
    if api is None:
        # Only OpenAI itself is sure to speak Responses; every compatible server speaks Chat
        # Completions.
        return (
            "chat"
            if known.name == "openai" and not _same_host(base_url, known.base_url)
            else known.api
        )
    mine: tuple[Api, ...] = (
        ("responses", "chat") if known.api in ("responses", "chat") else (known.api,)
    )
    for one in mine:
        if api == one:
            return one
    raise SettingsError(f"`api` is {api!r}, but {known.name} has {' and '.join(mine)}")


_CLASSES: Final[Mapping[Api, tuple[str, str]]] = {
    "responses": ("openai", "OpenAIResponses"),
    "chat": ("openai", "OpenAIChat"),
    "messages": ("anthropic", "AnthropicMessages"),
    "generateContent": ("google", "GoogleGenerate"),
}


def _class_of(api: Api) -> type[ApiModel]:
    module, name = _CLASSES[api]
    found: type[ApiModel] = getattr(import_module(f"honestone.adapters.models.{module}"), name)
    return found


def _base_url(known: Provider, given: str | None) -> str:
    """What was given, as it is; else what the environment names, completed; else the provider's
    own.
    """
    if given:
        return _checked(given, "`base_url`")
    for variable in known.url_variables:
        value = os.environ.get(variable, "").strip()
        if value:
            return _checked(_completed(value, known), variable)
    if known.base_url is None:
        raise SettingsError(f"{known.name} needs a `base_url`", hint=known.get)
    return known.base_url


def _completed(value: str, known: Provider) -> str:
    """A root as the provider's own tools take it, with scheme, port and version put in where they
    are left out.
    """
    url = value if "://" in value else f"http://{value}"
    parts = urllib.parse.urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        return url  # said to be wrong by the check that follows
    host = parts.hostname or ""
    if known.name == "ollama":
        # Where a server listens is not always where it can be reached.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
        port = port or (11434 if "://" not in value else None)
        name = f"[{host}]" if ":" in host else host
        parts = parts._replace(netloc=f"{name}:{port}" if port else name)
    path = parts.path.rstrip("/")
    if not re.search(r"/v\d+(beta\d*|alpha)?$", path):
        path += known.version
    return urllib.parse.urlunsplit(parts._replace(path=path))


def _checked(url: str, name: str) -> str:
    """An address fit to be shown and recorded: no login, no query. Never repeats one that has them."""
    try:
        parts = urllib.parse.urlsplit(url)
        sound = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and url.isprintable()
            and " " not in url
        )
        _ = parts.port
    except ValueError:
        raise SettingsError(f"{name} is not an address such as https://host/v1") from None
    if parts.username is not None or parts.query or parts.fragment:
        raise SettingsError(
            f"{name} holds a login or a query, which would be recorded with every result",
            hint="put the key into an environment variable and name it with `api_key_env`",
        )
    if not sound:
        raise SettingsError(f"{name} is {url!r}, which is not an address such as https://host/v1")
    return url.rstrip("/")


def _same_host(url: str, other: str | None) -> bool:
    return (
        other is not None
        and urllib.parse.urlsplit(url).hostname == urllib.parse.urlsplit(other).hostname
    )
