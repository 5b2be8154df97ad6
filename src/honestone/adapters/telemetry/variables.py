"""The standard variables of OpenTelemetry that decide whether and what is sent. The rest of them is
read by its SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

SignalName: TypeAlias = Literal["traces", "metrics", "logs"]
SIGNALS: Final[tuple[SignalName, ...]] = ("traces", "metrics", "logs")
_DEFAULT_ENDPOINT: Final = "http://localhost:4318"
_CAPTURED: Final = ("true", "span_only", "event_only", "span_and_event")
_KNOWN: Final = ("otlp", "console", "none", "")


class SignalSettings(Struct, frozen=True, kw_only=True):
    """By signal, the exporters that it goes to (`otlp`, `console`). `captures`: texts are sent too.
    `problems`: settings that cannot be followed, as lines for a person.
    """

    exporters: Mapping[SignalName, frozenset[str]]
    captures: bool = False
    problems: tuple[str, ...] = ()

    @property
    def is_on(self) -> bool:
        return any(self.exporters.values())


def read_signals(environment: Mapping[str, str]) -> SignalSettings:
    """What the variables ask for. A signal is on where its exporter, its endpoint or the common
    endpoint is set.
    """
    if _value(environment, "OTEL_SDK_DISABLED").lower() == "true":
        return SignalSettings(exporters={})
    found: dict[SignalName, frozenset[str]] = {}
    problems: list[str] = []
    for signal in SIGNALS:
        found[signal] = _exporters(environment, signal, problems)
    captures = (
        _value(environment, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").lower()
        in _CAPTURED
    )
    return SignalSettings(
        exporters=found, captures=captures, problems=tuple(dict.fromkeys(problems))
    )


def collector_of(environment: Mapping[str, str], signal: SignalName) -> str:
    """Where a signal goes, without what may be secret in an address."""
    own = _value(environment, f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT")
    url = own or _value(environment, "OTEL_EXPORTER_OTLP_ENDPOINT") or _DEFAULT_ENDPOINT
    try:
        parts = urlsplit(url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    except ValueError:
        return "an address that cannot be read"


def _exporters(
    environment: Mapping[str, str], signal: SignalName, problems: list[str]
) -> frozenset[str]:
    name = f"OTEL_{signal.upper()}_EXPORTER"
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT")
    default = "otlp" if any(_value(environment, one) for one in endpoints) else "none"
    words = [word.strip().lower() for word in (_value(environment, name) or default).split(",")]
    problems += [
        f"{name} names an exporter that honestone does not have"
        for word in words
        if word not in _KNOWN
    ]
    wanted = {word for word in words if word in ("otlp", "console")}
    if "otlp" in wanted and not _speaks_http(environment, signal):
        problems.append(
            "the OTLP protocol of the variables is not http/protobuf, the only one that honestone sends"
        )
        wanted.remove("otlp")
    return frozenset(wanted)


def _speaks_http(environment: Mapping[str, str], signal: SignalName) -> bool:
    own = _value(environment, f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
    protocol = own or _value(environment, "OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    return protocol.lower() == "http/protobuf"


def _value(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip()
