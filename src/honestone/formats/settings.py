"""`honestone.toml`, or `[tool.honestone]` of a `pyproject.toml`: named judges, workers and targets, prices, limits.

Keys live in the environment only; a setting names the variable (`api_key_env`).
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from honestone.core.errors import SettingsError
from honestone.ports import Settings

NAME: Final = "honestone.toml"

_PROGRAMS: Final = ("script", "cmd", "record", "agent", "python", "http", "https")
_KINDS: Final = (*_PROGRAMS, "openai", "anthropic", "google", "ollama", "vllm", "compatible")
BUILT_IN: Final = ("codex", "gemini", "claude", "human", "mock", "fix", "step", "identity", "check", "self")
"""Names that no table of settings may take: whoever reads a command line knows what they are."""

_AGENT_KEYS: Final[dict[str, type | tuple[type, ...]]] = {
    "provider": str,
    "model": str,
    "base_url": str,
    "api_key_env": str,
    "auth": str,
    "command": (str, list),
    "timeout": (int, float),
    "parameters": dict,
    "pass_env": list,
    "family": str,
    "output": str,
    "concurrency": int,
    "probability": bool,
    "max_input_tokens": int,
    "images": bool,
}
_LIMIT_KEYS: Final[dict[str, type | tuple[type, ...]]] = {
    "max_calls": int,
    "max_usd": (int, float),
    "max_minutes": (int, float),
    "rounds": int,
    "max_diff": int,
    "max_size": (int, float),
    "concurrency": int,
}
_TABLES: Final = ("judges", "workers", "targets", "prices", "limits")


def find_settings(start: Path) -> Settings:
    """The settings that hold in a folder: those of the nearest `honestone.toml` or `[tool.honestone]` upwards."""
    path = settings_file(start)
    return Settings() if path is None else read_settings(path)


def settings_file(start: Path) -> Path | None:
    """The file that says which settings hold in a folder."""
    for folder in (start, *start.parents):
        path = folder / NAME
        if path.is_file():
            return path
        project = folder / "pyproject.toml"
        if project.is_file() and _SPEAKS_OF_US.search(_read(project)):
            return project
    return None


_SPEAKS_OF_US: Final = re.compile(rb"(?m)^\s*\[\[?\s*tool\.honestone\s*[.\]]")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"the settings cannot be read: {error.strerror or error}", place=str(path), hint="make the file readable"
        ) from None


def read_settings(path: Path) -> Settings:
    """Raises SettingsError with the place of what is wrong."""
    try:
        text = _read(path).decode("utf-8-sig")
        plain = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise SettingsError(f"it is not UTF-8 (byte {error.start})", place=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(error, path) from None
    above = ("tool", "honestone") if path.name == "pyproject.toml" else ()
    for name in above:
        plain = plain.get(name, {})
    place = _Place(path, text, above)
    place.check_keys(plain, _TABLES, "table")
    for table in ("judges", "workers", "targets"):
        for name, entry in place.mapping(plain, table).items():
            # `agent` and the like alone name nothing that is built in; with a colon they do.
            if name in BUILT_IN or (name not in _PROGRAMS and name.partition(":")[0] in _KINDS):
                raise place.error(
                    (table, name), f"`{table}.{name}` takes a built-in name", f"call it my-{name.partition(':')[0]}"
                )
            if not isinstance(entry, dict):
                raise place.error((table, name), f"`{table}.{name}` must be a table")
            place.check_types(entry, _AGENT_KEYS, (table, name))
            if "provider" not in entry and "command" not in entry:
                raise place.error(
                    (table, name), f"`{table}.{name}` needs a `provider`", 'for example provider = "openai"'
                )
    place.check_types(place.mapping(plain, "limits"), _LIMIT_KEYS, ("limits",))
    for name, number in plain.get("limits", {}).items():
        least = 1 if name == "concurrency" else 0
        # Neither is below any number, so they would be no limit at all.
        if not math.isfinite(number) or number < least or (name == "max_size" and number == 0):
            above_what = f"at least {least}" if name != "max_size" else "above 0"
            raise place.error(("limits", name), f"`limits.{name}` is {number}, but must be {above_what}")
    return Settings(
        folder=path.parent,
        file=path,
        judges=plain.get("judges", {}),
        workers=plain.get("workers", {}),
        targets=plain.get("targets", {}),
        prices=place.mapping(plain, "prices"),
        limits=plain.get("limits", {}),
    )


class _Place:
    """Finds the line of a key, which tomllib does not tell. `above` are the tables that all of ours lie in."""

    def __init__(self, path: Path, text: str, above: tuple[str, ...]) -> None:
        self._path = path
        self._above = above
        self._keys = list(_keys_in(text))

    def error(self, where: Sequence[str], message: str, hint: str | None = None) -> SettingsError:
        """An error at the key that `where` leads to, or at the nearest one above it."""
        wanted = (*self._above, *where)
        found = max(self._keys, key=lambda key: _shared(key[0], wanted), default=None)
        known = found is not None and _shared(found[0], wanted) > len(self._above)
        place = f"{self._path}:{found[1]}:{found[2]}" if found and known else str(self._path)
        return SettingsError(message, place=place, hint=hint)

    def mapping(self, plain: Mapping[str, object], name: str) -> Mapping[str, Any]:
        found = plain.get(name, {})
        if not isinstance(found, dict):
            raise self.error((name,), f"`{name}` must be a table")
        return found

    def check_keys(
        self, plain: Mapping[str, object], allowed: tuple[str, ...], what: str, where: tuple[str, ...] = ()
    ) -> None:
        for key in plain:
            if key not in allowed:
                near = get_close_matches(key, allowed, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(allowed)}"
                raise self.error((*where, key), f"unknown {what} `{key}`", hint)

    def check_types(
        self, plain: Mapping[str, object], types: Mapping[str, type | tuple[type, ...]], where: tuple[str, ...]
    ) -> None:
        name = ".".join(where)
        self.check_keys(plain, tuple(types), f"key of `{name}`:", where)
        for key, value in plain.items():
            expected = types[key]
            if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
                names = expected if isinstance(expected, tuple) else (expected,)
                wanted = " or ".join(dict.fromkeys(_WORDS[kind] for kind in names))
                raise self.error((*where, key), f"`{name}.{key}` is {value!r}, but must be {wanted}")


_WORDS: Final[dict[type, str]] = {
    str: "text",
    int: "a number",
    float: "a number",
    dict: "a table",
    list: "a list",
    bool: "true or false",
}
_HEADER: Final = re.compile(r"\s*\[\[?([^\[\]]+)\]")
_KEY: Final = re.compile(r"\s*([\w.\-\s\"']+?)\s*=")
_TOML_PLACE: Final = re.compile(r"\s*\(at line (\d+), column (\d+)\)")


def _keys_in(text: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Every table and key of a TOML text as (its path, line, column). Good enough to point at one."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _path(header[1])
            yield table, number, header.start(1) + 1
        elif key := _KEY.match(line):
            yield (*table, *_path(key[1])), number, key.start(1) + 1


def _path(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _shared(path: Sequence[str], wanted: Sequence[str]) -> int:
    """How many steps two paths have in common, from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, wanted, strict=False)))


def _toml_error(error: tomllib.TOMLDecodeError, path: Path) -> SettingsError:
    said = str(error)
    at = _TOML_PLACE.search(said)
    place = f"{path}:{at[1]}:{at[2]}" if at else str(path)
    return SettingsError(
        f"it is not TOML: {_TOML_PLACE.sub('', said)}", place=place, hint="values need quotes, tables need [brackets]"
    )


__all__ = ["NAME", "Settings", "find_settings", "read_settings"]
