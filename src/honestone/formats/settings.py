"""`honestone.toml`, or `[tool.honestone]` of a `pyproject.toml`: named judges, workers, targets and
embeddings, prices, limits.

Keys live in the environment only; a setting names the variable (`api_key_env`).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, Final

from msgspec.structs import replace

from honestone.core.errors import FileError, SettingsError, StoreError
from honestone.core.json_value import JsonObject, built
from honestone.core.record.store_address import SHORTEST_HEARTBEAT, store_address
from honestone.core.tables import table_text
from honestone.formats.project import settings_bytes, settings_file
from honestone.formats.syntax.marked import Marked
from honestone.formats.syntax.toml_nodes import toml_marked
from honestone.ports import Settings, StoreSettings

_PROGRAMS: Final = ("script", "cmd", "record", "agent", "python", "http", "https")
_KINDS: Final = (*_PROGRAMS, "openai", "anthropic", "google", "ollama", "vllm", "compatible")
# Names that no table of settings may take: whoever reads a command line knows what they are.
BUILT_IN: Final = (
    "codex",
    "gemini",
    "claude",
    "human",
    "mock",
    "fix",
    "step",
    "identity",
    "check",
    "self",
)

_KEYS: Final[dict[str, dict[str, str]]] = tomllib.loads(table_text("settings_keys", __package__))
# What a key may take: the type of its value, and how messages call it.
_TYPES: Final[dict[str, tuple[type | UnionType, str]]] = {
    "text": (str, "text"),
    "whole": (int, "a number"),
    "number": (int | float, "a number"),
    "table": (dict, "a table"),
    "list": (list, "a list"),
    "flag": (bool, "true or false"),
}
MOST_REASKS: Final = 5
# Above this a database or a JSON reader may refuse a whole number; no setting means more.
LARGEST: Final = 10**15
_TABLES: Final = ("judges", "workers", "targets", "embeddings", "prices", "limits", "store")


def find_settings(start: Path, allows: Callable[[Path], bool] = lambda path: False) -> Settings:
    """The settings that hold in a folder: those of the nearest `honestone.toml` or
    `[tool.honestone]` upwards. Files of another owner count where `allows` says so.
    """
    path = settings_file(start, allows)
    return replace(Settings() if path is None else read_settings(path), here=start)


def read_settings(path: Path) -> Settings:
    """Raises SettingsError with the place of what is wrong."""
    return _read_settings(path, settings_bytes(path))


@lru_cache(maxsize=4)  # whoever calls `evaluate` a thousand times reads the same bytes each time
def _read_settings(path: Path, data: bytes) -> Settings:
    above = ("tool", "honestone") if path.name == "pyproject.toml" else ()
    marked = _marked(path, data, above)
    plain: Any = marked.value
    for name in above:
        plain = plain.get(name, {})
        if not isinstance(plain, dict):
            raise SettingsError(f"`{'.'.join(above)}` must be a table", place=marked.key_at(above))
    place = _Place(marked, above)
    place.check_keys(plain, _TABLES, "table")
    for table in ("judges", "workers", "targets"):
        for name, entry in place.mapping(plain, table).items():
            _check_model(place, (table, name), entry)
    for name, entry in place.mapping(plain, "embeddings").items():
        _check_embeddings(place, ("embeddings", name), entry)
    place.check_types(place.mapping(plain, "limits"), "limits", ("limits",))
    for name, number in plain.get("limits", {}).items():
        _check_limit(place, name, number)
    tables = {
        name: plain.get(name, {})
        for name in ("judges", "workers", "targets", "embeddings", "limits")
    }
    prices, store = place.mapping(plain, "prices"), _store(place, place.mapping(plain, "store"))
    return Settings(folder=path.parent, file=path, prices=prices, store=store, **tables)


def _marked(path: Path, data: bytes, above: tuple[str, ...]) -> Marked:
    """The file with the places of its values. `above` are the tables that all of ours are in."""
    try:
        return toml_marked(data.decode("utf-8-sig"), str(path), above)
    except UnicodeDecodeError as error:
        raise SettingsError(f"it is not UTF-8 (byte {error.start})", place=str(path)) from None
    except FileError as error:
        hint = "values need quotes, tables need [brackets]"
        raise SettingsError(error.message, place=error.place, hint=hint) from None


def _check_model(place: _Place, where: tuple[str, str], entry: object) -> None:
    """Raises SettingsError for a table of a judge, worker or target that cannot be used."""
    _, name = where
    # `agent` and the like alone name nothing that is built in; with a colon they do.
    if name in BUILT_IN or (name not in _PROGRAMS and name.partition(":")[0] in _KINDS):
        raise place.wrong(where, "takes a built-in name", f"call it my-{name.partition(':')[0]}")
    if not isinstance(entry, dict):
        raise place.wrong(where, "must be a table")
    place.check_types(entry, "agent", where)
    if "provider" not in entry and "command" not in entry:
        raise place.wrong(where, "needs a `provider`", 'for example provider = "openai"')
    for key in ("requests_per_minute", "tokens_per_minute", "concurrency"):
        if not (math.isfinite(number := entry.get(key, 1)) and number > 0):
            raise place.wrong((*where, key), f"is {number}, but must be above 0")
    reasks = entry.get("reasks", 0)
    if not 0 <= reasks <= MOST_REASKS:
        hint = "it is how often a reply that cannot be used is asked for again; each is a call"
        raise place.wrong(
            (*where, "reasks"), f"is {reasks}, but must be from 0 to {MOST_REASKS}", hint
        )


def _check_embeddings(place: _Place, where: tuple[str, str], entry: object) -> None:
    """Raises SettingsError for a table of embeddings that cannot be used."""
    if not isinstance(entry, dict):
        raise place.wrong(where, "must be a table")
    place.check_types(entry, "embeddings", where)
    for key in ("provider", "model"):
        if key not in entry:
            hint = 'for example provider = "openai", model = "text-embedding-3-small"'
            raise place.wrong(where, f"needs a `{key}`", hint)


def _check_limit(place: _Place, name: str, number: float) -> None:
    """Raises SettingsError for a limit that would be none."""
    least = 1 if name == "concurrency" else 0
    # Neither is below any number, so they would be no limit at all.
    if not math.isfinite(number) or number < least or (name == "max_size" and number == 0):
        above_what = f"at least {least}" if name != "max_size" else "above 0"
        raise place.wrong(("limits", name), f"is {number}, but must be {above_what}")


def _store(place: _Place, plain: JsonObject) -> StoreSettings:
    place.check_types(plain, "store", ("store",))
    if "url" in plain:
        try:
            address = store_address(str(plain["url"]))
        except StoreError as error:
            raise place.error(("store", "url"), error.message, error.hint) from None
        if address is None:
            hint = "for example postgresql://HOST/DATABASE; a folder is named with --store or HONESTONE_HOME"
            raise place.wrong(("store", "url"), "is not an address", hint)
        if address.has_password:
            hint = "leave it out: set PGPASSWORD, or write it to ~/.pgpass; and change it, if others can read this file"
            raise place.wrong(
                ("store", "url"), "holds a password, and which must not be in a settings file", hint
            )
    for name, least in (("patience", 0.0), ("heartbeat", SHORTEST_HEARTBEAT)):
        seconds = plain.get(name, least)
        assert isinstance(seconds, int | float)
        if not (math.isfinite(seconds) and seconds >= least):
            least_words = f" of at least {least:g}" if least else ""
            raise place.wrong(
                ("store", name), f"is {seconds}, but must be a number of seconds{least_words}"
            )
    include = plain.get("include", [])
    if not isinstance(include, list) or not all(isinstance(name, str) for name in include):
        raise place.wrong(("store", "include"), "must be a list of files and folders")
    return built(StoreSettings, {**plain, "include": tuple(map(str, include))})


class _Place:
    """The places of a file's settings. `above` are the tables that all of ours are in."""

    def __init__(self, marked: Marked, above: tuple[str, ...]) -> None:
        self._marked, self._above = marked, above

    def error(self, where: Sequence[str], message: str, hint: str | None = None) -> SettingsError:
        """An error at the key that `where` leads to, or at the nearest one above it."""
        return SettingsError(message, place=self._marked.key_at((*self._above, *where)), hint=hint)

    def wrong(self, where: Sequence[str], what: str, hint: str | None = None) -> SettingsError:
        """What is wrong with the value at `where`; the message begins with its name."""
        return self.error(where, f"`{'.'.join(where)}` {what}", hint)

    def mapping(self, plain: Mapping[str, object], name: str) -> Mapping[str, Any]:
        found = plain.get(name, {})
        if not isinstance(found, dict):
            raise self.wrong((name,), "must be a table")
        return found

    def check_keys(
        self,
        plain: Mapping[str, object],
        allowed: tuple[str, ...],
        what: str,
        where: tuple[str, ...] = (),
    ) -> None:
        for key in plain:
            if key not in allowed:
                from difflib import get_close_matches

                near = get_close_matches(key, allowed, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(allowed)}"
                raise self.error((*where, key), f"unknown {what} `{key}`", hint)

    def check_types(self, plain: Mapping[str, object], kind: str, where: tuple[str, ...]) -> None:
        """Whether a table has only keys of its kind, each with a value of its type."""
        name = ".".join(where)
        self.check_keys(plain, tuple(_KEYS[kind]), f"key of `{name}`:", where)
        for key, value in plain.items():
            types = [_TYPES[taken] for taken in _KEYS[kind][key].split()]
            if not any(_is_of(value, one) for one, _ in types):
                wanted = " or ".join(words for _, words in types)
                raise self.wrong((*where, key), f"is {value!r}, but must be {wanted}")
            if isinstance(value, int | float) and value > LARGEST:
                raise self.wrong((*where, key), f"is {value:g}, but must be at most {LARGEST:g}")


def _is_of(value: object, kind: type | UnionType) -> bool:
    """Whether a value has a type; true and false do not count as numbers."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


__all__ = ["Settings", "find_settings", "read_settings"]
