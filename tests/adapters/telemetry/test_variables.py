"""The standard variables: what is sent where, and what cannot be followed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.telemetry.variables import collector_of, read_signals

OTLP = frozenset({"otlp"})


@pytest.mark.parametrize(
    ("environment", "on"),
    [
        ({}, ""),
        ({"OTEL_SERVICE_NAME": "x"}, ""),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, "traces metrics logs"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, ""),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/v1/traces"}, "traces"),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "traces"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_LOGS_EXPORTER": "none"},
            "traces metrics",
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "TRUE"}, ""),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "",
        ),
    ],
)
def test_a_signal_is_on_where_a_variable_says_so(environment: dict[str, str], on: str) -> None:
    """By its exporter, its endpoint or the common endpoint."""
    found = read_signals(environment)
    assert " ".join(name for name, exporters in found.exporters.items() if exporters == OTLP) == on
    assert found.is_on == bool(on)


def test_what_cannot_be_followed_is_said_once() -> None:
    """Another protocol, another exporter."""
    grpc = read_signals(
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    )
    assert len(grpc.problems) == 1 and "http/protobuf" in grpc.problems[0]
    assert (
        "OTEL_METRICS_EXPORTER" in read_signals({"OTEL_METRICS_EXPORTER": "prometheus"}).problems[0]
    )


@given(
    st.dictionaries(
        st.sampled_from(["OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT"]),
        st.text(max_size=20),
    )
)
def test_any_value_is_read(environment: dict[str, str]) -> None:
    """And no address shows what may be secret in it."""
    read_signals(environment)
    collector_of(environment, "traces")
    secret = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://me:SECRET@c.example:4318/x?token=SECRET"}
    assert collector_of(secret, "traces") == "c.example:4318"
