"""Ctrl-C while the program starts and while it ends: one line and exit code 130, and never a
traceback.

Python raises KeyboardInterrupt wherever it is. In the middle of an import that may be in a
callback, which prints a traceback and continues, or while a class is made, which turns it into
another error. Nothing is open at these times, so the process ends at once. In between the command
decides.
"""

import os
import signal
import types

_LINE = b"interrupted\n"


def _end_now(_signal: int, _frame: types.FrameType | None) -> None:
    try:
        os.write(2, _LINE)
    finally:
        os._exit(130)


def end_at_once() -> None:
    """Let Ctrl-C end the process from now on, unless whoever started it wants it ignored or handles
    it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_now)


def leave_to_command() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from now on: the command closes what it opened, and says
    how to resume.
    """
    if signal.getsignal(signal.SIGINT) is _end_now:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_quietly() -> None:
    """Let Ctrl-C and SIGTERM end the process with exit code 0 from now on, for a server that is
    announced while it loads: they are its usual end. Its event loop handles them once it runs.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
