"""Telemetry for the doors: on where the standard variables say so, made with the first run or call."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from honestone.system.telemetry import NO_TELEMETRY, close_telemetry, provide

if TYPE_CHECKING:
    from honestone.ports import Telemetry


def provide_telemetry(say: Callable[[str], None]) -> None:
    """Have telemetry made when it is first used, if a variable asks for it. `say` gets lines for a
    person.
    """
    if any(name.startswith("OTEL_") for name in os.environ):
        provide(partial(_made, say))


def end_telemetry(say: Callable[[str], None]) -> None:
    """Send what is left, within a few seconds. `say` gets lines about what could not be sent."""
    for line in close_telemetry():
        say(line)


@cache
def telemetry_of_python(say: Callable[[str], None]) -> None:
    """The same for calls from Python: sent at the latest when the program ends."""
    provide_telemetry(say)
    atexit.register(end_telemetry, say)


def _made(say: Callable[[str], None]) -> Telemetry:
    from honestone.adapters.telemetry.variables import read_signals

    settings = read_signals(os.environ)
    for problem in settings.problems:
        say(f"telemetry: {problem}")
    if not settings.is_on:
        return NO_TELEMETRY
    try:
        from honestone.adapters.telemetry.otel import make_telemetry

        return make_telemetry(settings)
    except ImportError:
        say("telemetry is off: it needs the extra; install it with: pip install 'honestone[otel]'")
    except Exception as error:  # a variable that the SDK cannot read: never a reason not to run
        say(f"telemetry is off: OpenTelemetry could not be set up ({type(error).__name__})")
    return NO_TELEMETRY
