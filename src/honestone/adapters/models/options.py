"""The parameters of a model as people write them in settings, checked before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct, field

from honestone.core.errors import SettingsError
from honestone.core.json_value import is_number

# Body fields that `extra` may not set: they decide what is asked and how the answer comes.
_OURS: Final = frozenset({"model", "messages", "input", "contents", "stream", "n"})


class Options(Struct, frozen=True, kw_only=True):
    """What changes a model's replies. None leaves a value to the provider.

    `effort` is how long a reasoning model may think, in its provider's words. `probability` keeps
    how sure the model was of each true and false that it wrote. `extra` is put into the request
    body as it is, for what one server alone knows.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_output_tokens: int | None = None
    effort: str | None = None
    probability: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Those that were set, as plain JSON values."""
        return {
            name: value
            for name in names()
            if (value := getattr(self, name)) not in (None, False, {})
        }


def names() -> list[str]:
    return list(Options.__struct_fields__)


def read_options(parameters: Mapping[str, Any]) -> Options:
    """Raises SettingsError for a name or a value that we do not know."""
    for name in parameters:
        if name not in names():
            from difflib import get_close_matches

            near = get_close_matches(str(name), names(), n=1)
            raise SettingsError(
                f"`{name}` is not a parameter of a model",
                hint=f"did you mean `{near[0]}`?" if near else f"there are {', '.join(names())}",
            )
    return Options(
        **{
            name: _READ[name](name, value)
            for name, value in parameters.items()
            if value is not None
        }
    )


def merged(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A request body with `extra` laid over it, table by table."""
    out = dict(body)
    for name, value in extra.items():
        ours = out.get(name)
        out[name] = (
            merged(ours, value) if isinstance(ours, dict) and isinstance(value, Mapping) else value
        )
    return out


def _number_within(low: float, high: float) -> Callable[[str, object], float]:
    def read(name: str, value: object) -> float:
        if not is_number(value) or not math.isfinite(value):
            raise SettingsError(f"`{name}` is {value!r}, but must be a number")
        if not low <= value <= high:
            raise SettingsError(f"`{name}` is {value!r}, but must be from {low:g} to {high:g}")
        return value

    return read


def _options_of(
    kind: type, words: str, is_fit: Callable[[Any], object] = lambda value: True
) -> Callable[[str, object], Any]:
    def read(name: str, value: object) -> Any:
        if type(value) is not kind or not is_fit(value):
            raise SettingsError(f"`{name}` is {value!r}, but must be {words}")
        return value

    return read


def _extra(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"`{name}` is {value!r}, but must be a table")
    for key in value:
        if key in _OURS:
            raise SettingsError(f"`{name}` may not set `{key}`: it decides what is asked")
    return dict(value)


_READ: Final[Mapping[str, Callable[[str, object], Any]]] = {
    "temperature": _number_within(0, 10),
    "top_p": _number_within(0, 1),
    "seed": _options_of(int, "a whole number", lambda seed: -(2**63) <= seed < 2**63),
    "max_output_tokens": _options_of(
        int, "a whole number above 0", lambda tokens: 0 < tokens < 2**63
    ),
    "effort": _options_of(str, "a word such as low or high", str.strip),
    "probability": _options_of(bool, "true or false"),
    "extra": _extra,
}
