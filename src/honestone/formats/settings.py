"""`honestone.toml`, or `[tool.honestone]` of a `pyproject.toml`: named judges, workers and targets, prices, limits.

Keys live in the environment only; a setting names the variable (`api_key_env`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from honestone.core.errors import SettingsError

NAME: Final = "honestone.toml"

_AGENT_KEYS: Final[dict[str, type | tuple[type, ...]]] = {
    "provider": str, "model": str, "base_url": str, "api_key_env": str, "auth": str, "command": (str, list), "timeout": (int, float),
    "parameters": dict, "pass_env": list, "family": str, "output": str, "concurrency": int, "probability": bool, "max_input_tokens": int,
}  # fmt: skip
_LIMIT_KEYS: Final[dict[str, type | tuple[type, ...]]] = {
    "max_calls": int, "max_usd": (int, float), "max_minutes": (int, float), "rounds": int, "max_diff": int, "max_size": (int, float),
    "concurrency": int,
}  # fmt: skip
_TABLES: Final = ("judges", "workers", "targets", "prices", "limits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the nearest settings file says. `folder` is where it lies (None: there is none)."""

    folder: Path | None = None
    judges: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    targets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    prices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)


def find_settings(start: Path) -> Settings:
    """The settings that hold in a folder: those of the nearest `honestone.toml` or `[tool.honestone]` upwards."""
    for folder in (start, *start.parents):
        path = folder / NAME
        if path.is_file():
            return read_settings(path)
        project = folder / "pyproject.toml"
        if project.is_file() and b"[tool.honestone" in project.read_bytes():
            return read_settings(project)
    return Settings()


def read_settings(path: Path) -> Settings:
    """Raises SettingsError with the place of what is wrong."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        plain = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise SettingsError(f"it is not UTF-8 (byte {error.start})", place=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"it is no TOML: {error}", place=str(path)) from None
    if path.name == "pyproject.toml":
        plain = plain.get("tool", {}).get("honestone", {})
    place = _Place(path, text)
    place.check_keys(plain, _TABLES, "table")
    for table in ("judges", "workers", "targets"):
        for name, entry in place.mapping(plain, table).items():
            if not isinstance(entry, dict):
                raise place.error(name, f"`{table}.{name}` must be a table")
            place.check_types(entry, _AGENT_KEYS, f"{table}.{name}")
            if "provider" not in entry and "command" not in entry:
                raise place.error(
                    name, f"`{table}.{name}` needs a `provider`", 'for example provider = "openai"'
                )
    place.check_types(place.mapping(plain, "limits"), _LIMIT_KEYS, "limits")
    return Settings(
        folder=path.parent,
        judges=plain.get("judges", {}),
        workers=plain.get("workers", {}),
        targets=plain.get("targets", {}),
        prices=place.mapping(plain, "prices"),
        limits=plain.get("limits", {}),
    )


class _Place:
    """Finds the line of a key, which tomllib does not tell."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def error(self, key: str, message: str, hint: str | None = None) -> SettingsError:
        line = next((n for n, text in enumerate(self._lines, 1) if key in text.partition("=")[0]), None)
        return SettingsError(message, place=f"{self._path}:{line}" if line else str(self._path), hint=hint)

    def mapping(self, plain: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        found = plain.get(name, {})
        if not isinstance(found, dict):
            raise self.error(name, f"`{name}` must be a table")
        return found

    def check_keys(self, plain: Mapping[str, Any], allowed: tuple[str, ...], what: str) -> None:
        for key in plain:
            if key not in allowed:
                near = get_close_matches(key, allowed, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(allowed)}"
                raise self.error(key, f"unknown {what} `{key}`", hint)

    def check_types(
        self, plain: Mapping[str, Any], types: Mapping[str, type | tuple[type, ...]], where: str
    ) -> None:
        self.check_keys(plain, tuple(types), f"key of `{where}`:")
        for key, value in plain.items():
            expected = types[key]
            if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
                names = expected if isinstance(expected, tuple) else (expected,)
                words = {
                    "str": "text",
                    "int": "a number",
                    "float": "a number",
                    "dict": "a table",
                    "list": "a list",
                }
                wanted = " or ".join(dict.fromkeys(words.get(t.__name__, t.__name__) for t in names))
                raise self.error(key, f"`{where}.{key}` is {value!r}, but must be {wanted}")
